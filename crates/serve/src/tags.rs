//! Entity tags of answers, and what clients have already.

use crate::ask::Anchor;
use alloy_primitives::keccak256;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use std::{sync::LazyLock, time::SystemTime};

/// The documents that a client has, by its header `If-None-Match`; none if it does not only read.
#[derive(Clone, Debug)]
pub(crate) struct Held(Vec<String>);

impl Held {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        let all = headers.get_all(header::IF_NONE_MATCH).iter();
        let all = all.filter(|_| is_read(method));
        let all = all.filter_map(|value| value.to_str().ok());
        let tags = all.flat_map(|value| value.split(',')).map(str::trim);
        // A weak tag is as good as a strong one.
        let tags = tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag));
        Self(tags.map(str::to_owned).collect())
    }

    /// Whether the client has the document with a tag.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.0.iter().any(|held| held == tag)
    }

    /// Replaces a document that the client has by the statement that it has it.
    pub(crate) fn spare(&self, response: &mut Response) {
        let tag = response.headers().get(header::ETAG);
        let tag = tag.and_then(|tag| tag.to_str().ok());
        if response.status() == StatusCode::OK
            && tag.is_some_and(|tag| self.has("*") || self.has(tag))
        {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
                response.headers_mut().remove(name);
            }
        }
    }
}

/// Whether a request reads a document, which can have a tag.
pub(crate) fn is_read(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

/// The tag of the document at a URL, of a media type, about a block. Another process may have other
/// labels, or another version.
pub(crate) fn tag(anchor: &Anchor, uri: &Uri, media_type: &str) -> String {
    static STARTED: LazyLock<u128> = LazyLock::new(|| {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        time.map_or(0, |time| time.as_nanos())
    });
    let asked = format!("{} {uri} {media_type}", *STARTED);
    let asked = keccak256(asked).to_string();
    let short = asked.get(2..18).unwrap_or_default();
    format!("\"{}-{short}\"", anchor.hash)
}

/// Adds the tag of an answer that stays the same as long as the newest block does.
pub(crate) fn add(response: &mut Response, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    #[test]
    fn tags_are_compared_weakly_and_in_lists() {
        let held = |text: &'static str| {
            let value = HeaderValue::from_static(text);
            let headers = [(header::IF_NONE_MATCH, value)].into_iter().collect();
            Held::of(&Method::GET, &headers)
        };
        let tagged = |tag: &'static str| {
            let mut response = Response::new(Body::from("x"));
            add(&mut response, tag);
            response
        };
        for (text, is_spared) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", W/\"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            let mut response = tagged("\"a\"");
            held(text).spare(&mut response);
            let is_found = response.status() == StatusCode::NOT_MODIFIED;
            assert_eq!(is_found, is_spared, "{text}");
            assert!(response.headers().contains_key(header::ETAG));
        }
        // Without a tag, there is nothing to have.
        let mut response = Response::new(Body::empty());
        held("*").spare(&mut response);
        assert_eq!(response.status(), StatusCode::OK);
    }

    #[test]
    fn documents_at_other_urls_have_other_tags() {
        let anchor = Anchor {
            number: 1,
            hash: B256::ZERO,
        };
        let tags = [("/a", "x"), ("/b", "x"), ("/a", "y")];
        let tags = tags.map(|(uri, kind)| tag(&anchor, &Uri::from_static(uri), kind));
        assert!(tags[0] != tags[1] && tags[0] != tags[2]);
        assert_eq!(tags[0], tag(&anchor, &Uri::from_static("/a"), "x"));
    }
}
