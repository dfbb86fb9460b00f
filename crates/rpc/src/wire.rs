//! The answers of a server: the fields that are used, and the JSON around them.
//!
//! The types are our own, not `alloy-rpc-types-eth`. Its types are enums over the known
//! types of transactions, so they refuse a block with a new type, and their messages do not name
//! the field that is missing.

use crate::error::ErrorObject;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U64, U256};
use serde::{Deserialize, Deserializer, de};

/// Topics of a log (EVM instructions `LOG0` to `LOG4`).
const TOPICS_MAX: usize = 4;

/// A number that is written in hexadecimal.
fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    U64::deserialize(deserializer).map(|number| number.to())
}

fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<U64>::deserialize(deserializer).map(|number| number.map(|number| number.to()))
}

fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = quantity(deserializer)?;
    u32::try_from(number).map_err(|_| de::Error::custom(format!("{number} is not an index")))
}

fn topics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[u8; 32]>, D::Error> {
    let topics = Vec::<B256>::deserialize(deserializer)?;
    match topics.len() {
        ..=TOPICS_MAX => Ok(topics.into_iter().map(|topic| topic.0).collect()),
        count => Err(de::Error::custom(format!("a log has {count} topics"))),
    }
}

/// A number alone, e.g. the answer of `eth_blockNumber`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Quantity(#[serde(deserialize_with = "quantity")] pub(crate) u64);

/// A log of `eth_getLogs` or of a receipt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Log {
    pub(crate) address: Address,
    #[serde(deserialize_with = "topics")]
    pub(crate) topics: Vec<[u8; 32]>,
    pub(crate) data: Bytes,
    pub(crate) block_hash: B256,
    #[serde(deserialize_with = "quantity")]
    pub(crate) block_number: u64,
    /// Not in every server's answer.
    #[serde(default, deserialize_with = "optional")]
    pub(crate) block_timestamp: Option<u64>,
    pub(crate) transaction_hash: B256,
    #[serde(deserialize_with = "index")]
    pub(crate) transaction_index: u32,
    #[serde(deserialize_with = "index")]
    pub(crate) log_index: u32,
    #[serde(default)]
    pub(crate) removed: bool,
}

impl Log {
    /// The time of its block. Some versions of geth return zero for none.
    pub(crate) fn time(&self) -> Option<u64> {
        self.block_timestamp.filter(|time| *time > 0)
    }
}

/// A header, without transactions.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    pub(crate) hash: B256,
    pub(crate) parent_hash: B256,
    #[serde(deserialize_with = "quantity")]
    pub(crate) number: u64,
    #[serde(deserialize_with = "quantity")]
    pub(crate) timestamp: u64,
    #[serde(default, deserialize_with = "optional")]
    pub(crate) gas_used: Option<u64>,
    #[serde(default)]
    pub(crate) logs_bloom: Option<Bloom>,
    /// EIP-7928, since Amsterdam.
    #[serde(default)]
    pub(crate) block_access_list_hash: Option<B256>,
}

impl Header {
    /// Whether logs report the movements of the native coin inside of transactions (EIP-7708).
    pub(crate) const fn is_logged(&self) -> bool {
        self.block_access_list_hash.is_some()
    }
}

/// A block with the hashes of its transactions.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ListedBlock {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) transactions: Vec<B256>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(from = "BlockFields")]
pub(crate) struct Block {
    pub(crate) header: Header,
    pub(crate) receipts_root: B256,
    pub(crate) miner: Address,
    pub(crate) base_fee_per_gas: Option<U256>,
    /// Since Cancun.
    parent_beacon_block_root: Option<B256>,
    /// Since Cancun.
    excess_blob_gas: Option<u64>,
    pub(crate) transactions: Vec<Transaction>,
    /// Since Shanghai.
    pub(crate) withdrawals_root: Option<B256>,
    pub(crate) withdrawals: Option<Vec<Withdrawal>>,
}

/// The fields of a block in one object. With `#[serde(flatten)]` for the header's fields, a copy of
/// all transactions would be made first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockFields {
    hash: B256,
    parent_hash: B256,
    #[serde(deserialize_with = "quantity")]
    number: u64,
    #[serde(deserialize_with = "quantity")]
    timestamp: u64,
    #[serde(default, deserialize_with = "optional")]
    gas_used: Option<u64>,
    logs_bloom: Option<Bloom>,
    block_access_list_hash: Option<B256>,
    receipts_root: B256,
    miner: Address,
    base_fee_per_gas: Option<U256>,
    parent_beacon_block_root: Option<B256>,
    #[serde(default, deserialize_with = "optional")]
    excess_blob_gas: Option<u64>,
    transactions: Vec<Transaction>,
    withdrawals_root: Option<B256>,
    withdrawals: Option<Vec<Withdrawal>>,
}

impl From<BlockFields> for Block {
    fn from(fields: BlockFields) -> Self {
        Self {
            header: Header {
                hash: fields.hash,
                parent_hash: fields.parent_hash,
                number: fields.number,
                timestamp: fields.timestamp,
                gas_used: fields.gas_used,
                logs_bloom: fields.logs_bloom,
                block_access_list_hash: fields.block_access_list_hash,
            },
            receipts_root: fields.receipts_root,
            miner: fields.miner,
            base_fee_per_gas: fields.base_fee_per_gas,
            parent_beacon_block_root: fields.parent_beacon_block_root,
            excess_blob_gas: fields.excess_blob_gas,
            transactions: fields.transactions,
            withdrawals_root: fields.withdrawals_root,
            withdrawals: fields.withdrawals,
        }
    }
}

impl Block {
    /// Whether the rules of Cancun hold. Not every server returns all fields of a header.
    pub(crate) const fn is_cancun(&self) -> bool {
        self.parent_beacon_block_root.is_some() || self.excess_blob_gas.is_some()
    }
}

/// A block with all fields that its hash covers.
#[derive(Debug, Deserialize)]
#[serde(from = "HashedFields")]
pub(crate) struct HashedBlock {
    pub(crate) block: Block,
    /// The hash of the fields.
    pub(crate) computed: B256,
}

impl From<HashedFields> for HashedBlock {
    fn from(mut fields: HashedFields) -> Self {
        let block = BlockFields {
            hash: fields.hash,
            parent_hash: fields.parent_hash,
            number: fields.number,
            timestamp: fields.timestamp,
            gas_used: Some(fields.gas_used),
            logs_bloom: Some(fields.logs_bloom),
            block_access_list_hash: fields.block_access_list_hash,
            receipts_root: fields.receipts_root,
            miner: fields.miner,
            base_fee_per_gas: fields.base_fee_per_gas.map(U256::from),
            parent_beacon_block_root: fields.parent_beacon_block_root,
            excess_blob_gas: fields.excess_blob_gas,
            transactions: std::mem::take(&mut fields.transactions),
            withdrawals_root: fields.withdrawals_root,
            withdrawals: fields.withdrawals.take(),
        };
        Self {
            block: block.into(),
            computed: fields.header_hash(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HashedFields {
    hash: B256,
    parent_hash: B256,
    #[serde(rename = "sha3Uncles")]
    ommers_hash: B256,
    miner: Address,
    state_root: B256,
    transactions_root: B256,
    receipts_root: B256,
    logs_bloom: Bloom,
    difficulty: U256,
    #[serde(deserialize_with = "quantity")]
    number: u64,
    #[serde(deserialize_with = "quantity")]
    gas_limit: u64,
    #[serde(deserialize_with = "quantity")]
    gas_used: u64,
    #[serde(deserialize_with = "quantity")]
    timestamp: u64,
    extra_data: Bytes,
    mix_hash: B256,
    nonce: B64,
    #[serde(default, deserialize_with = "optional")]
    base_fee_per_gas: Option<u64>,
    withdrawals_root: Option<B256>,
    #[serde(default, deserialize_with = "optional")]
    blob_gas_used: Option<u64>,
    #[serde(default, deserialize_with = "optional")]
    excess_blob_gas: Option<u64>,
    parent_beacon_block_root: Option<B256>,
    requests_hash: Option<B256>,
    block_access_list_hash: Option<B256>,
    #[serde(default, deserialize_with = "optional")]
    slot_number: Option<u64>,
    transactions: Vec<Transaction>,
    withdrawals: Option<Vec<Withdrawal>>,
}

impl HashedFields {
    fn header_hash(self) -> B256 {
        let header = alloy_consensus::Header {
            parent_hash: self.parent_hash,
            ommers_hash: self.ommers_hash,
            beneficiary: self.miner,
            state_root: self.state_root,
            transactions_root: self.transactions_root,
            receipts_root: self.receipts_root,
            logs_bloom: self.logs_bloom,
            difficulty: self.difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: self.extra_data,
            mix_hash: self.mix_hash,
            nonce: self.nonce,
            base_fee_per_gas: self.base_fee_per_gas,
            withdrawals_root: self.withdrawals_root,
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            parent_beacon_block_root: self.parent_beacon_block_root,
            requests_hash: self.requests_hash,
            block_access_list_hash: self.block_access_list_hash,
            slot_number: self.slot_number,
        };
        header.hash_slow()
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Transaction {
    pub(crate) hash: B256,
    pub(crate) from: Address,
    #[serde(default)]
    pub(crate) to: Option<Address>,
    pub(crate) value: U256,
    #[serde(deserialize_with = "quantity")]
    pub(crate) nonce: u64,
    #[serde(deserialize_with = "quantity")]
    pub(crate) gas: u64,
    #[serde(default, rename = "type", deserialize_with = "optional")]
    pub(crate) kind: Option<u64>,
    /// Deposits of the OP stack.
    #[serde(default)]
    pub(crate) mint: Option<U256>,
    #[serde(default, deserialize_with = "optional")]
    pub(crate) transaction_index: Option<u64>,
}

/// A withdrawal of the consensus layer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Withdrawal {
    #[serde(deserialize_with = "quantity")]
    pub(crate) index: u64,
    #[serde(deserialize_with = "quantity")]
    pub(crate) validator_index: u64,
    pub(crate) address: Address,
    #[serde(deserialize_with = "quantity")]
    pub(crate) amount: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receipt {
    pub(crate) block_hash: B256,
    pub(crate) transaction_hash: B256,
    #[serde(deserialize_with = "index")]
    pub(crate) transaction_index: u32,
    /// Since Byzantium.
    #[serde(default, deserialize_with = "optional")]
    pub(crate) status: Option<u64>,
    /// State root, before Byzantium.
    #[serde(default)]
    pub(crate) root: Option<B256>,
    #[serde(default, rename = "type", deserialize_with = "optional")]
    pub(crate) kind: Option<u64>,
    #[serde(deserialize_with = "quantity")]
    pub(crate) cumulative_gas_used: u64,
    #[serde(deserialize_with = "quantity")]
    pub(crate) gas_used: u64,
    #[serde(default)]
    pub(crate) effective_gas_price: Option<U256>,
    #[serde(default)]
    pub(crate) blob_gas_used: Option<U256>,
    #[serde(default)]
    pub(crate) blob_gas_price: Option<U256>,
    /// Chains of the OP stack: the fee for data.
    #[serde(default)]
    pub(crate) l1_fee: Option<U256>,
    /// Chains of the OP stack since Isthmus, if they are not both zero.
    #[serde(default, deserialize_with = "optional")]
    pub(crate) operator_fee_scalar: Option<u64>,
    #[serde(default, deserialize_with = "optional")]
    pub(crate) operator_fee_constant: Option<u64>,
    #[serde(default)]
    pub(crate) contract_address: Option<Address>,
    #[serde(default)]
    pub(crate) to: Option<Address>,
    pub(crate) logs: Vec<Log>,
}

/// One answer of the JSON-RPC protocol.
#[derive(Debug, Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub(crate) struct Answer<T> {
    #[serde(default)]
    pub(crate) id: Option<Id>,
    /// `Some` also for a result that is `null`.
    #[serde(default, deserialize_with = "present")]
    pub(crate) result: Option<T>,
    #[serde(default)]
    pub(crate) error: Option<ErrorObject>,
}

fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

/// The id of an answer. Some servers return numbers as text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(u64),
    Text(String),
}

impl Id {
    pub(crate) fn number(&self) -> Option<usize> {
        match self {
            Self::Number(number) => usize::try_from(*number).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_missing_fields() {
        let error = serde_json::from_str::<Header>(r#"{"hash":"0x00"}"#).unwrap_err();
        assert!(error.to_string().contains("length"), "{error}");
        let json = format!(r#"{{"hash":"{}","number":"0x1"}}"#, B256::ZERO);
        let error = serde_json::from_str::<Header>(&json).unwrap_err();
        assert!(error.to_string().contains("`parentHash`"), "{error}");
    }

    #[test]
    fn distinguishes_null_results_from_missing_ones() {
        let answer: Answer<Option<Quantity>> =
            serde_json::from_str(r#"{"id":1,"result":null}"#).unwrap();
        assert!(matches!(answer.result, Some(None)));
        let answer: Answer<Option<Quantity>> = serde_json::from_str(r#"{"id":"1"}"#).unwrap();
        assert!(answer.result.is_none());
        assert_eq!(answer.id.and_then(|id| id.number()), Some(1));
    }

    #[test]
    fn refuses_logs_with_five_topics() {
        let topic = B256::ZERO.to_string();
        let all = vec![topic; 5];
        #[derive(Debug, Deserialize)]
        struct Topics {
            #[serde(deserialize_with = "topics")]
            #[expect(dead_code, reason = "the error is tested")]
            all: Vec<[u8; 32]>,
        }
        let json = serde_json::json!({ "all": all });
        let error = serde_json::from_value::<Topics>(json).unwrap_err();
        assert!(error.to_string().contains("5 topics"), "{error}");
    }
}
