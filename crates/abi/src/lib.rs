//! Calldata, return data, events and revert reasons in words.
//!
//! A [`Method`] is a function by its signature: it encodes arguments that people write, and decodes
//! what the function returns. A [`Dictionary`] finds the function, event or error of bytes whose
//! signature is not known, from ABI files, lists of selectors, and common standards.
//!
//! Types and values of Solidity come from alloy.
//!
//! Encoding: <https://docs.soliditylang.org/en/latest/abi-spec.html>.
//!
//! Modules, each using only those before it: error, words, known, dictionary,
//! decoded_size, method.

mod decoded_size;
mod dictionary;
mod error;
mod known;
mod method;
mod words;

pub use alloy_dyn_abi::{DynSolType as AbiType, DynSolValue as AbiValue};
pub use dictionary::{Dictionary, Loaded, Named};
pub use error::{AbiError, Result};
pub use method::Method;
