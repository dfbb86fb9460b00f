//! Parameters of methods.

use crate::{
    ask::{Ask, parse_address, parse_hash, parse_word},
    fault::{Answer, Fault},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;

/// The parameters of a method, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params<'a>(pub(crate) &'a [Value]);

impl Params<'_> {
    /// A parameter; `None` if it is absent or `null`.
    pub(crate) fn get(&self, at: usize) -> Option<&Value> {
        self.0.get(at).filter(|value| !value.is_null())
    }

    /// A text that `read` understands.
    fn text<T>(&self, at: usize, what: &str, read: impl FnOnce(&str) -> Option<T>) -> Answer<T> {
        let text = self.get(at).and_then(Value::as_str);
        text.and_then(read).ok_or_else(|| missing(at, what))
    }

    /// An address.
    pub(crate) fn address(&self, at: usize) -> Answer<Address> {
        self.text(at, "an address", parse_address)
    }

    /// A hash.
    pub(crate) fn hash(&self, at: usize) -> Answer<B256> {
        self.text(at, "a hash of 32 bytes", parse_hash)
    }

    /// A word of up to 32 bytes.
    pub(crate) fn word(&self, at: usize) -> Answer<U256> {
        self.text(at, "a number in hexadecimal digits", parse_word)
    }

    /// A number in hexadecimal digits, or as JSON writes it.
    pub(crate) fn number(&self, at: usize) -> Answer<u64> {
        number(self.get(at)).ok_or_else(|| missing(at, "a number"))
    }

    /// A flag; absent: `false`.
    pub(crate) fn flag(&self, at: usize) -> Answer<bool> {
        match self.get(at) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| missing(at, "true or false")),
        }
    }

    /// A block by number, tag or hash; absent: the newest.
    pub(crate) fn block(&self, ask: &Ask<'_>, at: usize) -> Answer<u64> {
        ask.block(self.get(at))
    }

    /// A block by hash.
    pub(crate) fn block_hash(&self, ask: &Ask<'_>, at: usize) -> Answer<u64> {
        ask.block_by_hash(self.hash(at)?)
    }
}

/// No address, one, or a list of them; `None` if a value is no address.
pub(crate) fn addresses(value: Option<&Value>) -> Option<Vec<Address>> {
    let one = |value: &Value| value.as_str().and_then(parse_address);
    match value {
        None => Some(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(one).collect(),
        Some(value) => Some(vec![one(value)?]),
    }
}

/// A number in hexadecimal digits, or as JSON writes it.
pub(crate) fn number(value: Option<&Value>) -> Option<u64> {
    wide(value?)?.try_into().ok()
}

/// A number of up to 256 bits in hexadecimal digits, or as JSON writes it.
pub(crate) fn wide(value: &Value) -> Option<U256> {
    match value {
        Value::Number(number) => number.as_u64().map(U256::from),
        value => parse_word(value.as_str()?),
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn bytes(value: &Value) -> Option<Bytes> {
    value
        .as_str()
        .filter(|text| text.starts_with("0x"))?
        .parse()
        .ok()
}

pub(crate) fn missing(at: usize, what: &str) -> Fault {
    Fault::Params(format!("invalid argument {at}: {what} is expected"))
}
