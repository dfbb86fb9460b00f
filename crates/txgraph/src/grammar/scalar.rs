//! A number can replace a text in a saved query.

use serde::Deserialize;
use std::fmt;

/// A text, or a number where a file could have a text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Number(i64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
