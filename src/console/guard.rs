//! Which requests are heard at all, and what every answer says to the browser.
//!
//! The console listens on this machine only, but every page that the user's browser opens can send requests here. Three walls:
//! the Host header must name this machine (a foreign name that was made to point here is refused), a request that changes
//! anything must come from our own page, and the answers forbid the browser to load or run anything that is not ours.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};

use super::{App, fault::Fault};

/// Nothing may be loaded but our own script, style and icon, and nothing may frame the page.
pub(super) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// The names under which this console may be asked for.
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// The three names of this machine, with the port that is listened on.
    pub(super) fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            // Browsers leave the scheme's own port out.
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(String::from));
        }
        Self(hosts)
    }

    /// The host of a request, if it has exactly one and that is ours.
    pub(super) fn check<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut all = headers.get_all(header::HOST).iter();
        let host = all.next()?.to_str().ok()?;
        (all.next().is_none() && self.0.iter().any(|ours| ours.eq_ignore_ascii_case(host))).then_some(host)
    }
}

/// Whether a request that changes something comes from a page of ours at `host`.
///
/// `Sec-Fetch-Site` is set by the browser itself and cannot be set by a page. `Origin: null` comes with it on a plain form,
/// since our pages send no referrer; without `Sec-Fetch-Site` only a matching `Origin` will do.
pub(super) fn from_our_page(headers: &HeaderMap, host: &str) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let origin = text(header::ORIGIN);
    let ours = origin.map(|origin| origin.strip_prefix("http://").is_some_and(|of| of.eq_ignore_ascii_case(host)));
    match text(HeaderName::from_static("sec-fetch-site")) {
        Some("same-origin") => ours != Some(false) || origin == Some("null"),
        Some(_) => false,
        None => ours == Some(true),
    }
}

/// Whether a foreign page asks for one of ours other than by leading its visitor here, such as to hold event streams open.
fn drawn_by_another_page(headers: &HeaderMap) -> bool {
    let is = |name: &'static str, wanted: &[&str]| {
        headers.get(HeaderName::from_static(name)).and_then(|v| v.to_str().ok()).is_some_and(|v| wanted.contains(&v))
    };
    is("sec-fetch-site", &["cross-site", "same-site"]) && !is("sec-fetch-mode", &["navigate"])
}

/// Refuses what is not for us, and puts the headers on every answer, refusals too.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let json = request.uri().path().starts_with("/api/") || super::fault::wants_json(request.headers());
    let mut response = match refuse(&app.hosts, &request) {
        Some(fault) => fault.answer(json),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages hold what people said; only the assets, which are the same for everybody, may stay in a cache.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn refuse(hosts: &Hosts, request: &Request) -> Option<Fault> {
    let headers = request.headers();
    let Some(host) = hosts.check(headers) else {
        return Some(Fault::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This console answers only under 127.0.0.1, localhost or [::1] with its own port. Open the address that it printed.",
        ));
    };
    // The interface for programs is closed to pages by its bearer token, which a page cannot know.
    let program = request.uri().path().starts_with("/api/");
    let refused = match *request.method() {
        Method::GET | Method::HEAD => drawn_by_another_page(headers),
        _ if program => headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site"),
        _ => !from_our_page(headers, host),
    };
    refused.then(|| {
        Fault::new(StatusCode::FORBIDDEN, "This request came from another site's page, so it was refused. Use the console's own page.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn only_the_names_of_this_machine_with_this_port() {
        let hosts = Hosts::of("127.0.0.1:7080".parse().unwrap());
        for good in ["127.0.0.1:7080", "localhost:7080", "LOCALHOST:7080", "[::1]:7080"] {
            assert!(hosts.check(&headers(&[("host", good)])).is_some(), "{good}");
        }
        for bad in
            ["evil.example:7080", "127.0.0.1", "127.0.0.1:80", "localhost:7081", "127.0.0.1.evil.example:7080", "", "localhost:7080@evil"]
        {
            assert!(hosts.check(&headers(&[("host", bad)])).is_none(), "{bad}");
        }
        assert!(hosts.check(&headers(&[])).is_none());
        assert!(hosts.check(&headers(&[("host", "localhost:7080"), ("host", "evil")])).is_none());
        let plain = Hosts::of("127.0.0.1:80".parse().unwrap());
        assert!(plain.check(&headers(&[("host", "localhost")])).is_some());
    }

    #[test]
    fn what_changes_something_must_come_from_our_page() {
        let ours = |pairs: &[_]| from_our_page(&headers(pairs), "localhost:7080");
        assert!(ours(&[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:7080")]));
        assert!(ours(&[("sec-fetch-site", "same-origin"), ("origin", "null")]), "a plain form of a page without referrer");
        assert!(ours(&[("sec-fetch-site", "same-origin")]));
        assert!(ours(&[("origin", "http://localhost:7080")]));
        for bad in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "http://localhost:7081")],
            &[("origin", "https://localhost:7080")],
            &[("origin", "http://evil.example")],
            &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:7080")],
            &[("sec-fetch-site", "cross-site"), ("origin", "null")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "same-origin"), ("origin", "http://evil.example")],
        ] {
            assert!(!ours(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_foreign_page_may_lead_here_but_not_draw_on_us() {
        assert!(!drawn_by_another_page(&headers(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")])));
        assert!(drawn_by_another_page(&headers(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")])));
        assert!(drawn_by_another_page(&headers(&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")])));
        assert!(!drawn_by_another_page(&headers(&[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")])));
        assert!(!drawn_by_another_page(&headers(&[])));
    }

    #[test]
    fn the_policy_allows_nothing_inline_and_nothing_from_elsewhere() {
        let policy = CONTENT_SECURITY_POLICY;
        assert!(policy.starts_with("default-src 'none'"));
        for forbidden in ["unsafe", "data:", "blob:", "http:", "https:", "*"] {
            assert!(!policy.contains(forbidden), "{forbidden}");
        }
        for wanted in ["script-src 'self'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(wanted), "{wanted}");
        }
    }
}
