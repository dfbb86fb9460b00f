//! The page for browsers. Its files are in the binary, so it needs nothing from elsewhere.

use crate::tags;
use alloy_primitives::keccak256;
use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use std::sync::LazyLock;

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    body: &'static [u8],
}

/// All files, as `scripts/page.sh` builds them.
const FILES: [File; 4] = [
    File {
        path: "/",
        kind: "text/html; charset=utf-8",
        body: include_bytes!("../page/dist/index.html"),
    },
    File {
        path: "/page.js",
        kind: "text/javascript; charset=utf-8",
        body: include_bytes!("../page/dist/page.js"),
    },
    File {
        path: "/page.css",
        kind: "text/css; charset=utf-8",
        body: include_bytes!("../page/dist/page.css"),
    },
    File {
        path: "/icon.svg",
        kind: "image/svg+xml",
        body: include_bytes!("../page/dist/icon.svg"),
    },
];

/// The policy of the page: it runs its own script, asks its own server, and is in no frame. `data:` and
/// `blob:` are pictures that the script draws.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The paths of the files.
pub(crate) const PATHS: [&str; 4] = [FILES[0].path, FILES[1].path, FILES[2].path, FILES[3].path];

/// Whether a request is for a file of the page. The files have no data of the node, so they need no token:
/// the page asks for it.
pub(crate) fn is_file(method: &Method, path: &str) -> bool {
    tags::is_read(method) && PATHS.contains(&path)
}

/// Answers a request for a file. One for WebSocket is refused.
pub(crate) async fn respond(request: Request) -> Response {
    let upgrade = request.headers().get(header::UPGRADE);
    if upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket")) {
        let why = "WebSocket is not supported: send JSON-RPC with POST\n";
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    answer(request.uri().path())
}

/// A file with its tag.
fn answer(path: &str) -> Response {
    static TAGS: LazyLock<[String; 4]> =
        LazyLock::new(|| FILES.map(|file| format!("\"{:x}\"", keccak256(file.body))));
    let Some(at) = PATHS.iter().position(|known| *known == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (file, tag) = (&FILES[at], &TAGS[at]);
    let mut response = ([(header::CONTENT_TYPE, file.kind)], file.body).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    tags::add(&mut response, tag);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of all files: a page that loads at once.
    const BYTES_MAX: usize = 1 << 20;

    #[test]
    fn the_page_is_small_and_asks_no_other_host() {
        let bytes: usize = FILES.iter().map(|file| file.body.len()).sum();
        assert!(bytes < BYTES_MAX, "{bytes}");
        for file in &FILES {
            let text = str::from_utf8(file.body).unwrap();
            let (text, _licenses) = text
                .split_once("\n/*\nThis file contains")
                .unwrap_or((text, ""));
            for (at, _) in text.match_indices("://") {
                // The names of the namespaces of SVG and HTML are no requests.
                let is_name =
                    text[..at].ends_with("http") && text[at..].starts_with("://www.w3.org/");
                assert!(
                    is_name,
                    "{}: {:?}",
                    file.path,
                    text.get(at.saturating_sub(20)..at + 40)
                );
            }
        }
    }

    #[test]
    fn every_file_has_a_tag_of_its_own() {
        let tags = PATHS.map(|path| answer(path).headers()[header::ETAG].clone());
        assert!(
            tags.iter()
                .enumerate()
                .all(|(at, tag)| !tags[..at].contains(tag))
        );
        assert_eq!(answer("/other").status(), StatusCode::NOT_FOUND);
    }
}
