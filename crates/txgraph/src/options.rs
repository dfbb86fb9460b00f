//! Options by name: as they are written, and as the metadata of a result states them.

use crate::{Error, Result};
use alloy_primitives::{Address, keccak256};
use serde::{Serialize, Serializer, de::DeserializeOwned, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, fmt};
use txgraph_transfers::{AmountFilter, TokenFilter, WrappedNative};

/// Options by name.
pub(crate) type Options = Map<String, Value>;

/// Addresses of one option that are listed.
const LISTED_MAX: usize = 100;

/// All options of a struct, also those without a value.
pub(crate) fn all(options: &impl Serialize) -> Result<Options> {
    read(serde_json::to_value(options).map_err(unreadable)?)
}

/// The options of a struct that have a value, ordered by name.
///
/// # Errors
///
/// If a value cannot be written, such as a path that is not UTF-8.
pub fn given(options: &impl Serialize) -> Result<Map<String, Value>> {
    all(options).map(with_value)
}

/// Leaves out options without a value, and orders the others by name. `false` and an empty list are
/// no values.
pub(crate) fn with_value(mut options: Options) -> Options {
    options.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
    options.sort_keys();
    options
}

/// Reads options into a struct.
pub(crate) fn read<T: DeserializeOwned>(options: Value) -> Result<T> {
    serde_json::from_value(options).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::usage(error.to_string())
}

/// Whether an option has no effect.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A value in the word that is read.
pub(crate) fn word<S: Serializer>(
    value: &impl fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Values in the words that are read.
pub(crate) fn words<S: Serializer, T: fmt::Display>(
    values: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(ToString::to_string))
}

/// Addresses in ascending order. Of many, as in a list of names, the number and the Keccak-256 of
/// all of them.
pub(crate) fn addresses<'a>(addresses: impl IntoIterator<Item = &'a Address>) -> Value {
    let all: BTreeSet<&Address> = addresses.into_iter().collect();
    if all.len() <= LISTED_MAX {
        return all
            .into_iter()
            .map(|address| token_word(Some(address)))
            .collect();
    }
    let bytes: Vec<u8> = all.iter().flat_map(|address| address.0.0).collect();
    json!({ "addresses": all.len(), "keccak256": keccak256(bytes) })
}

/// A set of addresses, see [`addresses`].
pub(crate) fn set<S: Serializer>(
    set: &BTreeSet<Address>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    addresses(set).serialize(serializer)
}

/// Tokens, ascending, and the native coin after them.
pub(crate) fn tokens<S: Serializer>(
    filter: &TokenFilter,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let TokenFilter::Only { tokens, native } = filter else {
        return serializer.serialize_none();
    };
    let sorted: BTreeSet<&Address> = tokens.iter().collect();
    let tokens = sorted.into_iter().map(|token| token_word(Some(token)));
    serializer.collect_seq(tokens.chain(native.then(|| token_word(None))))
}

/// The word for a token (`None`: the native coin).
fn token_word(token: Option<&Address>) -> String {
    token.map_or_else(|| "native".to_owned(), |token| format!("{token:#x}"))
}

/// Conditions on amounts, in the smallest unit, and on ids.
pub(crate) fn amounts<S: Serializer>(
    filter: &AmountFilter,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let least = filter.min_values().iter();
    let least = least.map(|(token, least)| (token_word(token.as_ref()), json!(least.to_string())));
    let ids = filter.token_ids().iter().map(ToString::to_string);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("min-values", &least.collect::<Options>())?;
    map.serialize_entry("token-id", &ids.collect::<Vec<_>>())?;
    map.end()
}

/// Which contracts wrap the native coin. No word stands for the default.
pub(crate) fn wrapped_native<S: Serializer>(
    wrapped: &WrappedNative,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match wrapped {
        WrappedNative::Auto => serializer.serialize_none(),
        WrappedNative::Any => ["any"].serialize(serializer),
        WrappedNative::None => ["none"].serialize(serializer),
        WrappedNative::Only(contracts) => addresses(contracts).serialize(serializer),
    }
}
