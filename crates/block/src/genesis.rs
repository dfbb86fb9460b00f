//! Accounts in the form of genesis files: `{"alloc": {ADDRESS: {balance, nonce, code,
//! storage}}}`, or the inner map alone.

use crate::{PlainAccount, PlainState};
use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::BTreeMap;

/// The accounts of a genesis file: the value of its key `alloc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisAccounts(pub PlainState);

impl<'de> Deserialize<'de> for GenesisAccounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let accounts = BTreeMap::<LooseAddress, GenesisAccount>::deserialize(deserializer)?;
        let account = |(LooseAddress(address), account): (LooseAddress, GenesisAccount)| {
            let GenesisAccount {
                balance,
                nonce,
                code,
                storage,
                ..
            } = account;
            let nonce = nonce
                .try_into()
                .map_err(|_| D::Error::custom(format!("nonce of {address}: above 2^64 - 1")))?;
            Ok((
                address,
                PlainAccount {
                    balance,
                    nonce,
                    code,
                    storage,
                },
            ))
        };
        let accounts: Result<_, D::Error> = accounts.into_iter().map(account).collect();
        accounts.map(Self)
    }
}

/// The key of a genesis file that contains its accounts.
#[derive(Deserialize)]
struct Alloc {
    alloc: GenesisAccounts,
}

/// An address with or without `0x`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LooseAddress(Address);

impl<'de> Deserialize<'de> for LooseAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map(Self)
            .map_err(|e| D::Error::custom(format!("address {text:?}: {e}")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenesisAccount {
    #[serde(default)]
    balance: U256,
    #[serde(default)]
    nonce: U256,
    #[serde(default)]
    code: Bytes,
    #[serde(default)]
    storage: BTreeMap<U256, U256>,
    /// Some writers add it. It is not part of the state.
    #[serde(default, rename = "secretKey")]
    _secret_key: Option<String>,
}

/// Parses accounts from the text of a genesis file, or of its `alloc` alone.
///
/// # Errors
///
/// A message that names the faulty key or value.
pub fn parse_accounts(text: &str) -> Result<PlainState, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let accounts = match value.get("alloc") {
        Some(_) => serde_json::from_value(value).map(|Alloc { alloc }| alloc),
        None => serde_json::from_value(value),
    };
    let GenesisAccounts(accounts) = accounts.map_err(|e| e.to_string())?;
    Ok(accounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_give_the_same_accounts() {
        let inner = r#"{"00000000000000000000000000000000000000aa":
            {"balance": "0x10", "nonce": "0x1", "code": "0x6001", "storage": {"0x0": "0x2"}},
            "0x00000000000000000000000000000000000000bb": {"balance": "17"}}"#;
        let state = parse_accounts(inner).unwrap();
        assert_eq!(
            parse_accounts(&format!(r#"{{"config": {{}}, "alloc": {inner}}}"#)).unwrap(),
            state
        );
        let account = &state[&Address::with_last_byte(0xaa)];
        assert_eq!((account.nonce, account.balance), (1, U256::from(16)));
        assert_eq!(account.storage[&U256::ZERO], U256::from(2));
        assert_eq!(
            state[&Address::with_last_byte(0xbb)].balance,
            U256::from(17)
        );
    }

    #[test]
    fn errors_name_the_fault() {
        for (text, what) in [
            (r#"{"xyz": {}}"#, "xyz"),
            (
                r#"{"00000000000000000000000000000000000000aa": {"balanse": "0x1"}}"#,
                "balanse",
            ),
            ("[", "EOF"),
        ] {
            let error = parse_accounts(text).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
