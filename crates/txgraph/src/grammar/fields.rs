//! How options are written in a saved query: a number can replace a text, and one value
//! can replace a list.

use super::scalar::Scalar;
use serde::{Deserialize, Deserializer, de};
use std::{fmt, str::FromStr};

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

/// Reads one value or a list of values as texts.
pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one.to_string()],
        OneOrMany::Many(many) => many.iter().map(Scalar::to_string).collect(),
    })
}

/// Reads a text or a number as text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(Scalar::deserialize(deserializer)?.to_string()))
}

/// Reads words, in a list or separated by commas. Empty ones are skipped, but a list of nothing
/// else is refused: it does not mean what no list means.
pub(crate) fn words<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    let texts = list(deserializer)?;
    let words = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
    let words = words.filter(|word| !word.is_empty());
    let read: Vec<T> = words
        .map(|word| word.parse().map_err(de::Error::custom))
        .collect::<Result<_, _>>()?;
    match read.is_empty() && !texts.is_empty() {
        true => Err(de::Error::custom("the list is empty")),
        false => Ok(read),
    }
}
