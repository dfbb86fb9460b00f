//! A transaction or call that differs from what happened.

use crate::{Error, Result};
use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Deserializer, de};
use std::{
    collections::BTreeMap,
    fmt::{self, Debug},
    fs,
    marker::PhantomData,
    path::Path,
};
use txgraph_evm::{AccountOverride, Fork, State, StateSource, Transaction};

/// Changes of the state and the transaction, right before a transaction or a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides {
    /// Accounts of the state.
    pub accounts: BTreeMap<Address, AccountOverride>,
    /// The transaction. Calls do not use it.
    pub transaction: TransactionOverride,
}

/// Changes of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TransactionOverride {
    /// The sender. The nonce becomes the nonce of this account.
    pub from: Option<Address>,
    /// The account that it calls.
    #[serde(deserialize_with = "stated")]
    pub to: Option<Address>,
    /// The calldata.
    #[serde(alias = "data")]
    pub input: Option<Bytes>,
    /// The value in wei.
    #[serde(deserialize_with = "number")]
    pub value: Option<U256>,
    /// The gas limit.
    #[serde(deserialize_with = "small_number")]
    pub gas: Option<u64>,
}

/// The file, with accounts as in the state overrides of `eth_call` in geth.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde(deserialize_with = "distinct")]
    state: BTreeMap<Address, FileAccount>,
    transaction: TransactionOverride,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FileAccount {
    #[serde(deserialize_with = "number")]
    balance: Option<U256>,
    #[serde(deserialize_with = "small_number")]
    nonce: Option<u64>,
    code: Option<Bytes>,
    #[serde(deserialize_with = "distinct")]
    state_diff: BTreeMap<Number, Number>,
}

/// A JSON number, or a text in decimal or hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number(U256);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        let text = match Form::deserialize(deserializer) {
            Ok(Form::Number(number)) => return Ok(Self(U256::from(number))),
            Ok(Form::Text(text)) => text,
            Err(_) => {
                return Err(de::Error::custom(
                    "a value is neither a whole number nor a text",
                ));
            }
        };
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (text.as_str(), 10),
        };
        let is_digit = |digit: char| digit.is_digit(radix);
        let is_number = !digits.is_empty() && digits.chars().all(is_digit);
        let number = U256::from_str_radix(digits, radix.into());
        match number.ok().filter(|_| is_number) {
            Some(number) => Ok(Self(number)),
            None => Err(de::Error::custom(format!(
                "`{text}` is not a number of at most 256 bits in decimal or after 0x in hex"
            ))),
        }
    }
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<U256>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.map(|Number(number)| number))
}

fn small_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let small = |number: U256| {
        let small = u64::try_from(number);
        small.map_err(|_| de::Error::custom(format!("{number} has more than 64 bits")))
    };
    number(deserializer)?.map(small).transpose()
}

/// A value that is not `null`.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Address>, D::Error> {
    Address::deserialize(deserializer).map(Some)
}

/// A map in which each key is stated once, in any spelling.
fn distinct<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord + Debug,
    V: Deserialize<'de>,
{
    struct Distinct<K, V>(PhantomData<(K, V)>);

    impl<'de, K, V> de::Visitor<'de> for Distinct<K, V>
    where
        K: Deserialize<'de> + Ord + Debug,
        V: Deserialize<'de>,
    {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry()? {
                if map.contains_key(&key) {
                    return Err(de::Error::custom(format!("{key:?} is stated twice")));
                }
                map.insert(key, value);
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Distinct(PhantomData))
}

impl StateOverrides {
    /// Reads a JSON file: `{"state": {"0x…": {"balance", "nonce", "code", "stateDiff"}},
    /// "transaction": {"from", "to", "input", "value", "gas"}}`. Everything can be absent. Numbers
    /// are JSON numbers, or texts in decimal or hex.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has something else.
    pub fn open(path: &Path) -> Result<Self> {
        let wrong = |problem: String| Error::StateOverrides {
            path: path.to_path_buf(),
            problem,
        };
        let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        Self::read(&text).map_err(wrong)
    }

    /// Like [`open`](Self::open), for a call: a file that changes a transaction is refused.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_for_call(path: &Path) -> Result<Self> {
        let overrides = Self::open(path)?;
        match overrides.transaction == TransactionOverride::default() {
            true => Ok(overrides),
            false => Err(Error::StateOverrides {
                path: path.to_path_buf(),
                problem: "a call is in no transaction that could be changed".to_owned(),
            }),
        }
    }

    fn read(text: &[u8]) -> Result<Self, String> {
        // A list would be taken for the fields in order.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err("it is not a JSON object".to_owned());
        }
        let File { state, transaction } =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let mut accounts = BTreeMap::new();
        for (address, account) in state {
            let slots = account.state_diff.into_iter();
            let changed = AccountOverride {
                balance: account.balance,
                nonce: account.nonce,
                code: account.code,
                slots: slots.map(|(slot, value)| (slot.0, value.0)).collect(),
            };
            accounts.insert(address, changed);
        }
        Ok(Self {
            accounts,
            transaction,
        })
    }

    /// Changes the accounts.
    pub(crate) fn apply<S: StateSource>(
        &self,
        fork: Fork,
        state: &mut State<S>,
    ) -> Result<(), S::Error> {
        for (address, changed) in &self.accounts {
            state.override_account(fork, *address, changed)?;
        }
        Ok(())
    }

    /// The changed transaction, after the accounts were changed.
    pub(crate) fn transaction<S: StateSource>(
        &self,
        original: &Transaction,
        state: &mut State<S>,
    ) -> Result<Transaction, S::Error> {
        let mut changed = original.clone();
        let TransactionOverride {
            from,
            to,
            input,
            value,
            gas,
        } = &self.transaction;
        changed.caller = from.unwrap_or(changed.caller);
        changed.to = to.or(changed.to);
        changed.input = input.clone().unwrap_or(changed.input);
        changed.value = value.unwrap_or(changed.value);
        changed.gas_limit = gas.unwrap_or(changed.gas_limit);
        // Overrides are not meant to make it invalid.
        let account = state.account(changed.caller)?;
        changed.nonce = account.map_or(0, |account| account.nonce);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files() {
        let text = br#"{
            "state": {"0x0000000000000000000000000000000000000007": {
                "balance": "1000", "nonce": 2, "code": "0x6001", "stateDiff": {"0x1": "0x02"}
            }},
            "transaction": {"data": "0x01", "value": 5, "gas": "0x10"}
        }"#;
        let found = StateOverrides::read(text).unwrap();
        let account = &found.accounts[&Address::with_last_byte(7)];
        assert_eq!(account.balance, Some(U256::from(1000)));
        assert_eq!(account.nonce, Some(2));
        assert_eq!(account.slots[&U256::from(1)], U256::from(2));
        assert_eq!(found.transaction.input, Some(Bytes::from_static(&[1])));
        assert_eq!(found.transaction.value, Some(U256::from(5)));
        assert_eq!(found.transaction.gas, Some(16));
        assert_eq!(
            StateOverrides::read(b"{}").unwrap(),
            StateOverrides::default()
        );
        for text in [
            &br#"{"0x0000000000000000000000000000000000000007": {}}"#[..],
            br#"{"state": {"0x07": {}}}"#,
            br#"{"state": {"0x0000000000000000000000000000000000000007": {"state": {}}}}"#,
            br#"{"transaction": {"nonce": 1}}"#,
            // It is not clear what these mean.
            br#"{"transaction": {"to": null}}"#,
            b"[]",
            br#"{"state": {"0x0000000000000000000000000000000000000007": {"balance": "0x"}}}"#,
            br#"{"state": {"0x0000000000000000000000000000000000000007": {"nonce": ""}}}"#,
            br#"{"state": {"0x0000000000000000000000000000000000000007": {"stateDiff": {"0x0": "0x1", "0": "0x2"}}}}"#,
            br#"{"state": {"0x000000000000000000000000000000000000000a": {}, "0x000000000000000000000000000000000000000A": {}}}"#,
        ] {
            assert!(
                StateOverrides::read(text).is_err(),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
