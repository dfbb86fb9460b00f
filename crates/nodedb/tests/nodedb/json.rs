//! Parses fields of the nodes' JSON answers.

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use serde_json::Value;

pub(crate) fn number(value: &Value) -> u64 {
    let text = value
        .as_str()
        .unwrap_or_else(|| panic!("not a number: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

pub(crate) fn u256(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

pub(crate) fn hash(value: &Value) -> B256 {
    value.as_str().unwrap().parse().unwrap()
}

pub(crate) fn address(value: &Value) -> Address {
    value.as_str().unwrap().parse().unwrap()
}

pub(crate) fn optional_address(value: &Value) -> Option<Address> {
    (!value.is_null()).then(|| address(value))
}

pub(crate) fn bytes(value: &Value) -> Bytes {
    hex::decode(value.as_str().unwrap()).unwrap().into()
}

pub(crate) fn optional_number(value: &Value) -> Option<u64> {
    (!value.is_null()).then(|| number(value))
}
