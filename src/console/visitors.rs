//! Who is asking: the people of a browser, kept in one signed cookie, and the owner, in another.
//!
//! One browser may hold several people, so that several can talk from several tabs; each page's address says which of them it
//! speaks for (`?as=2`). The number is only a place in the browser's own signed list: writing another number there can only
//! reach another person of the same browser.

use axum::http::{HeaderMap, HeaderValue, header};
use parlor_core::Millis;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{fault::Fault, keys::Keys};

/// The most people of one browser; with names of 40 characters they stay below the 4 KiB that a cookie may have.
pub(super) const PEOPLE_MAX: usize = 8;

const PEOPLE_AGE_S: i64 = 365 * 24 * 3600;
const OWNER_AGE_S: i64 = 30 * 24 * 3600;

/// One person of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Visitor {
    /// Random, in hex.
    pub(super) id: String,
    /// What is shown.
    pub(super) name: String,
}

impl Visitor {
    pub(super) fn new(name: String) -> Self {
        Self { id: Uuid::new_v4().simple().to_string(), name }
    }
}

/// Everybody that this browser may speak for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) people: Vec<Visitor>,
    pub(super) owner: bool,
}

/// For whom a page speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Viewer {
    /// Nobody yet: may read.
    Watcher,
    /// The n-th person of the browser, from 1.
    Person { n: usize, visitor: Visitor },
    /// The owner.
    Owner,
}

impl Viewer {
    /// The authenticated id that lines are stored under.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Watcher => None,
            Self::Person { visitor, .. } => Some(&visitor.id),
            Self::Owner => Some("owner"),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Watcher => None,
            Self::Person { visitor, .. } => Some(&visitor.name),
            Self::Owner => Some("Owner"),
        }
    }

    /// What stands for them in an address.
    pub(super) fn mark(&self) -> String {
        match self {
            Self::Watcher => "new".into(),
            Self::Person { n, .. } => n.to_string(),
            Self::Owner => "owner".into(),
        }
    }
}

impl Holder {
    /// Reads the cookies; one that was not signed here, or is too old, counts as none.
    pub(super) fn of(headers: &HeaderMap, keys: &Keys, now: Millis) -> Self {
        let people = cookie(headers, &people_name(keys)).and_then(|signed| keys.verify("people", signed));
        let people: Vec<Visitor> = people.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        let since = cookie(headers, &owner_name(keys)).and_then(|signed| keys.verify("owner", signed));
        let since: Option<Millis> = since.and_then(|ms| String::from_utf8(ms).ok()).and_then(|ms| ms.parse().ok());
        let owner = since.is_some_and(|since| (0..OWNER_AGE_S * 1000).contains(&(now - since).max(0)));
        Self { people: people.into_iter().take(PEOPLE_MAX).collect(), owner }
    }

    /// Whom the address asks for; without one, the only person there is.
    pub(super) fn viewer(&self, mark: Option<&str>) -> Viewer {
        match mark {
            Some("owner") if self.owner => Viewer::Owner,
            Some(mark) => mark.parse().ok().and_then(|n| self.person(n)).unwrap_or(Viewer::Watcher),
            None if self.people.len() == 1 && !self.owner => self.person(1).unwrap_or(Viewer::Watcher),
            None if self.people.is_empty() && self.owner => Viewer::Owner,
            None => Viewer::Watcher,
        }
    }

    /// The one of this browser who has this authenticated id.
    pub(super) fn find(&self, id: &str) -> Option<Viewer> {
        let all = (1..=self.people.len()).filter_map(|n| self.person(n)).chain(self.owner.then_some(Viewer::Owner));
        all.into_iter().find(|viewer| viewer.id() == Some(id))
    }

    fn person(&self, n: usize) -> Option<Viewer> {
        let visitor = self.people.get(n.checked_sub(1)?)?.clone();
        Some(Viewer::Person { n, visitor })
    }

    /// The cookie that holds these people.
    pub(super) fn people_cookie(&self, keys: &Keys) -> Result<HeaderValue, Fault> {
        let json = serde_json::to_vec(&self.people).map_err(|_| Fault::broken())?;
        set(&people_name(keys), &keys.sign("people", &json), PEOPLE_AGE_S)
    }
}

/// The cookie that makes its holder the owner for a month.
pub(super) fn owner_cookie(keys: &Keys, now: Millis) -> Result<HeaderValue, Fault> {
    set(&owner_name(keys), &keys.sign("owner", now.to_string().as_bytes()), OWNER_AGE_S)
}

fn people_name(keys: &Keys) -> String {
    format!("parlor_people_{}", keys.label())
}

fn owner_name(keys: &Keys) -> String {
    format!("parlor_owner_{}", keys.label())
}

fn set(name: &str, value: &str, age_s: i64) -> Result<HeaderValue, Fault> {
    let cookie = format!("{name}={value}; Max-Age={age_s}; Path=/; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&cookie).map_err(|_| Fault::broken())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|line| line.split(';')).find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(holder: &Holder, keys: &Keys) -> HeaderMap {
        let set = holder.people_cookie(keys).unwrap();
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("other=1; {pair}").parse().unwrap());
        headers
    }

    #[test]
    fn people_come_back_and_a_foreign_cookie_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::load(&dir.path().join("a")).unwrap();
        let holder = Holder { people: vec![Visitor::new("Ada".into()), Visitor::new("مريم".into())], owner: false };
        let headers = round(&holder, &keys);
        assert_eq!(Holder::of(&headers, &keys, 0), holder);
        let other = Keys::load(&dir.path().join("b")).unwrap();
        assert_eq!(Holder::of(&headers, &other, 0), Holder::default());
    }

    #[test]
    fn eight_people_with_long_names_fit_into_a_cookie() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::load(dir.path()).unwrap();
        let people = (0..PEOPLE_MAX).map(|_| Visitor::new("🦊".repeat(40))).collect();
        let cookie = Holder { people, owner: false }.people_cookie(&keys).unwrap();
        assert!(cookie.len() < 4096, "{} bytes", cookie.len());
        let text = cookie.to_str().unwrap();
        for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(text.contains(flag), "{flag}");
        }
    }

    #[test]
    fn an_address_reaches_only_people_of_the_same_browser() {
        let people = vec![Visitor::new("Ada".into()), Visitor::new("Ben".into())];
        let holder = Holder { people, owner: false };
        assert_eq!(holder.viewer(Some("2")).name(), Some("Ben"));
        for mark in ["0", "3", "-1", "99999999999999999999", "new", "", "owner"] {
            assert_eq!(holder.viewer(Some(mark)), Viewer::Watcher, "{mark}");
        }
        assert_eq!(holder.viewer(None), Viewer::Watcher, "two people: the page asks which");
        let one = Holder { people: holder.people[..1].to_vec(), owner: false };
        assert_eq!(one.viewer(None).name(), Some("Ada"));
        assert_eq!(Holder { people: vec![], owner: true }.viewer(None), Viewer::Owner);
    }

    #[test]
    fn the_owners_cookie_ends_after_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::load(dir.path()).unwrap();
        let set = owner_cookie(&keys, 1_000).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, set.to_str().unwrap().split(';').next().unwrap().parse().unwrap());
        assert!(Holder::of(&headers, &keys, 2_000).owner);
        assert!(!Holder::of(&headers, &keys, 1_000 + OWNER_AGE_S * 1000).owner);
    }
}
