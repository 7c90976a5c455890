//! The page's own script, style and icon, inside the binary. Their names hold a hash of their content, so that a browser may
//! keep them for a year and still gets a new one with a new binary.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use super::fault::Fault;

/// A file that is served.
pub(super) struct Asset {
    /// Path, with the hash.
    pub(super) path: String,
    kind: &'static str,
    content: &'static str,
}

impl Asset {
    fn new(ending: &str, kind: &'static str, content: &'static str) -> Self {
        let hash = hex::encode(Sha256::digest(content));
        Self { path: format!("/assets/{}.{ending}", hash.get(..16).unwrap_or(&hash)), kind, content }
    }
}

pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", include_str!("assets/room.js")));
pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", include_str!("assets/parlor.css")));
pub(super) static ICON: LazyLock<Asset> = LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("assets/icon.svg")));

/// Serves one of the three.
pub(super) async fn serve(Path(name): Path<String>) -> Response {
    let found = [&SCRIPT, &STYLE, &ICON].into_iter().find(|asset| asset.path.strip_prefix("/assets/") == Some(&name));
    match found {
        Some(asset) => {
            let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
            (headers, asset.content).into_response()
        }
        None => Fault::new(StatusCode::NOT_FOUND, "There is no such file. Reload the page to get the names of the new ones.").answer(false),
    }
}
