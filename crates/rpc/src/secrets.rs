//! Keys and passwords of a location, which no message may contain.

use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt;

/// The replacement of a secret.
const MASK: &str = "…";

/// Secrets of fewer bytes are replaced only where no letter or digit precedes or follows them:
/// `eth` may be a part of a path, and is in the name of each method.
const ALONE_BELOW: usize = 8;

/// Parts of a path with fewer bytes are versions, e.g. `v2`, and not keys.
const PART_MIN: usize = 3;

/// The parts of a URL that may be secret, in lower case, the longest first.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of user info, and of a path with its query.
    pub(crate) fn new(user: Option<&str>, path: &str) -> Self {
        let mut all = vec![path.trim_matches(['/', '?']).to_owned()];
        let parts = path.split(['/', '?', '&', '=', ';', '+']);
        all.extend(
            parts
                .filter(|part| part.len() >= PART_MIN)
                .map(str::to_owned),
        );
        if let Some(user) = user {
            let decoded = percent_decoded(user);
            // Servers may return the header, with or without its end.
            let encoded = BASE64_STANDARD.encode(&decoded);
            all.push(encoded.trim_end_matches('=').to_owned());
            all.push(user.to_owned());
            all.extend(user.split(':').map(str::to_owned));
            let decoded = String::from_utf8_lossy(&decoded);
            all.extend(
                decoded
                    .split_once(':')
                    .map(|(_, password)| password.to_owned()),
            );
        }
        let decoded = all
            .iter()
            .map(|text| String::from_utf8_lossy(&percent_decoded(text)).into_owned());
        let decoded: Vec<String> = decoded.collect();
        all.extend(decoded);
        for text in &mut all {
            text.make_ascii_lowercase();
        }
        all.retain(|text| !text.is_empty());
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self(all)
    }

    /// The text with each secret replaced, whatever the case of its letters.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            let lower = text.to_ascii_lowercase();
            let mut kept = String::with_capacity(text.len());
            let mut end = 0;
            for (at, found) in lower.match_indices(secret) {
                let before = lower[..at].chars().next_back();
                let after = lower[at + found.len()..].chars().next();
                let is_word =
                    |next: Option<char>| next.is_some_and(|c| c.is_alphanumeric() || c == '_');
                if secret.len() < ALONE_BELOW && (is_word(before) || is_word(after)) {
                    continue;
                }
                kept.push_str(&text[end..at]);
                kept.push_str(MASK);
                end = at + found.len();
            }
            kept.push_str(&text[end..]);
            text = kept;
        }
        text
    }
}

/// Without the secrets.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Replaces `%41` by `A`. Other characters stay.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_in_every_form() {
        let secrets = Secrets::new(
            Some("us%65r:pa%20ss"),
            "/v2/SeCreTKEY99?apikey=tok%2Fen1234",
        );
        for text in [
            "Cannot POST /v2/SeCreTKEY99?apikey=tok%2Fen1234",
            "the key secretkey99 is not known",
            "SECRETKEY99SECRETKEY99",
            "bad token: tok/en1234",
            "Basic dXNlcjpwYSBzcw==",
            "no user user with password pa ss, pa%20ss",
        ] {
            let masked = secrets.masked(text);
            for secret in [
                "KEY99",
                "en1234",
                "dXNlcjpwYSBzcw",
                "pa ss",
                "pa%20ss",
                "user user",
            ] {
                assert!(
                    !masked.to_lowercase().contains(&secret.to_lowercase()),
                    "{masked}"
                );
            }
        }
    }

    #[test]
    fn short_parts_do_not_change_other_words() {
        let secrets = Secrets::new(None, "/eth/v1/abc");
        assert_eq!(
            secrets.masked("eth_getLogs: no method abc for v1 of /eth"),
            "eth_getLogs: no method … for v1 of /…"
        );
        assert_eq!(Secrets::new(None, "").masked("as it is é"), "as it is é");
    }
}
