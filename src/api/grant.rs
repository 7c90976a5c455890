//! The document `PrivacyGrant`: what one room may know of another, or of a person's own room. Its presence grants, its removal revokes.

use parlor_core::Millis;
use serde::{Deserialize, Serialize};

use super::{
    check::Found,
    room::Metadata,
    scalar::{Lasting, Moment},
};

/// Messages that one grant may name.
const ITEMS: usize = 256;

/// A PrivacyGrant document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrivacyGrant {
    /// `parlor.dev/v1alpha1`.
    pub api_version: String,
    /// `PrivacyGrant`.
    pub kind: String,
    /// Name and namespace.
    pub metadata: Metadata,
    /// What is granted.
    pub spec: GrantSpec,
}

/// What is granted. The whole of it is immutable: a changed one is another grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantSpec {
    /// Where it was said.
    pub from: From,
    /// Who may know it.
    pub to: To,
    /// Which messages, at most 256.
    pub items: Items,
    /// What may be done with them.
    pub mode: GrantMode,
    /// Why, 10 to 500 characters.
    pub purpose: String,
    /// It ends by itself after this long, at most 2160h.
    pub duration: Lasting,
    /// Who grants it.
    pub granted_by: String,
}

/// Where it was said: exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct From {
    /// A room of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_ref: Option<RoomRef>,
    /// The room of one person, by the person's authenticated id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

/// Who may know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct To {
    /// A room of the same namespace.
    pub room_ref: RoomRef,
}

/// A room of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomRef {
    /// Its name.
    pub name: String,
}

/// Which messages: by their platform ids, by their places, or what somebody said in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Items {
    /// The newest version of each of these messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platform_ids: Vec<String>,
    /// These numbers of the room, as `parlor tail` shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seqs: Vec<i64>,
    /// Authenticated id; with `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When they said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// From then on.
    pub from: Moment,
    /// Before then.
    pub to: Moment,
}

/// What may be done with the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantMode {
    /// The room's personas may read them.
    Read,
    /// They are copied into the room, once, for all to see.
    Release,
}

/// A grant whose document fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantConfig {
    /// Resource name.
    pub name: String,
    /// What is granted.
    pub spec: GrantSpec,
}

impl GrantConfig {
    /// How long it lasts, ms.
    #[must_use]
    pub fn lasts(&self) -> Millis {
        self.spec.duration.0
    }
}

/// Bounds inside one document.
pub(crate) fn check(spec: &GrantSpec) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |path: &str, message: String| found.push((path.to_owned(), message));
    if spec.from.room_ref.is_some() == spec.from.person.is_some() {
        add("spec.from", "expected exactly one of roomRef, person".to_owned());
    }
    if spec.from.room_ref.as_ref() == Some(&spec.to.room_ref) {
        add("spec.to.roomRef.name", format!("{:?} is the room that is granted from", spec.to.room_ref.name));
    }
    let items = &spec.items;
    let ways = [!items.platform_ids.is_empty(), !items.seqs.is_empty(), items.author.is_some() || items.window.is_some()];
    if ways.iter().filter(|w| **w).count() != 1 || items.author.is_some() != items.window.is_some() {
        add("spec.items", "expected exactly one of platformIds, seqs, author with window".to_owned());
    }
    for (path, count) in [("spec.items.platformIds", items.platform_ids.len()), ("spec.items.seqs", items.seqs.len())] {
        if count > ITEMS {
            add(path, format!("has {count} entries, expected at most {ITEMS}"));
        }
    }
    for (path, text) in
        [("spec.from.person", &spec.from.person), ("spec.items.author", &items.author), ("spec.grantedBy", &Some(spec.granted_by.clone()))]
    {
        if let Some(bytes) = text.as_ref().map(String::len).filter(|n| !(1..=256).contains(n)) {
            add(path, format!("has {bytes} bytes, expected 1 to 256"));
        }
    }
    if items.window.is_some_and(|w| w.from >= w.to) {
        add("spec.items.window", "ends before it begins".to_owned());
    }
    let chars = spec.purpose.chars().count();
    if !(10..=500).contains(&chars) {
        add("spec.purpose", format!("has {chars} characters, expected 10 to 500"));
    }
    if spec.duration.0 < 1_000 {
        add("spec.duration", "is shorter than a second".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
        let mut spec = serde_json::json!({
            "from": {"roomRef": {"name": "bench"}}, "to": {"roomRef": {"name": "kiln"}}, "items": {"seqs": [1]}, "mode": "Read",
            "purpose": "for tonight's firing", "duration": "2h", "grantedBy": "owner",
        });
        change(&mut spec);
        check(&serde_json::from_value(spec).unwrap()).into_iter().map(|(path, message)| format!("{path}: {message}")).collect()
    }

    #[test]
    fn bounds_and_choices() {
        assert!(said(|_| {}).is_empty());
        let window = serde_json::json!({"author": "ada", "window": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}});
        assert!(said(|s| s["items"] = window.clone()).is_empty());
        assert!(said(|s| s["from"] = serde_json::json!({"person": "ada"})).is_empty());
        let one_of = "spec.items: expected exactly one of platformIds, seqs, author with window";
        for (change, wanted) in [
            (serde_json::json!({"from": {}}), "spec.from: expected exactly one of roomRef, person"),
            (serde_json::json!({"from": {"roomRef": {"name": "kiln"}}}), "spec.to.roomRef.name: \"kiln\" is the room that is granted from"),
            (serde_json::json!({"items": {}}), one_of),
            (serde_json::json!({"items": {"seqs": [1], "platformIds": ["a"]}}), one_of),
            (serde_json::json!({"items": {"author": "ada"}}), one_of),
            (serde_json::json!({"items": {"seqs": vec![1; 257]}}), "spec.items.seqs: has 257 entries, expected at most 256"),
            (serde_json::json!({"purpose": "too short"}), "spec.purpose: has 9 characters, expected 10 to 500"),
            (serde_json::json!({"grantedBy": ""}), "spec.grantedBy: has 0 bytes, expected 1 to 256"),
            (serde_json::json!({"duration": "1ms"}), "spec.duration: is shorter than a second"),
        ] {
            let all = said(|s| s.as_object_mut().unwrap().extend(change.as_object().unwrap().clone()));
            assert_eq!(all, [wanted], "{change}");
        }
    }
}
