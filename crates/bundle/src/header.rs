//! Headers in a witness: RLP as reth writes them, or objects as geth does.

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256};
use serde::Deserialize;

/// A header in the answer of `debug_executionWitness`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum AnswerHeader {
    Rlp(Bytes),
    Object(Box<HeaderObject>),
}

/// A header as an object, with the keys of `eth_getBlockByNumber`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeaderObject {
    parent_hash: B256,
    #[serde(rename = "sha3Uncles")]
    ommers_hash: B256,
    #[serde(rename = "miner")]
    beneficiary: Address,
    state_root: B256,
    transactions_root: B256,
    receipts_root: B256,
    logs_bloom: Bloom,
    difficulty: U256,
    number: U256,
    gas_limit: U256,
    gas_used: U256,
    timestamp: U256,
    extra_data: Bytes,
    mix_hash: B256,
    nonce: B64,
    base_fee_per_gas: Option<U256>,
    withdrawals_root: Option<B256>,
    blob_gas_used: Option<U256>,
    excess_blob_gas: Option<U256>,
    parent_beacon_block_root: Option<B256>,
    requests_hash: Option<B256>,
    block_access_list_hash: Option<B256>,
    slot_number: Option<U256>,
}

impl AnswerHeader {
    /// Returns the RLP. Numbers that do not fit have a wrong value, and so a wrong hash.
    pub(crate) fn rlp(self) -> Bytes {
        let object = match self {
            Self::Rlp(bytes) => return bytes,
            Self::Object(object) => *object,
        };
        let number = |number: U256| number.saturating_to::<u64>();
        let header = Header {
            parent_hash: object.parent_hash,
            ommers_hash: object.ommers_hash,
            beneficiary: object.beneficiary,
            state_root: object.state_root,
            transactions_root: object.transactions_root,
            receipts_root: object.receipts_root,
            logs_bloom: object.logs_bloom,
            difficulty: object.difficulty,
            number: number(object.number),
            gas_limit: number(object.gas_limit),
            gas_used: number(object.gas_used),
            timestamp: number(object.timestamp),
            extra_data: object.extra_data,
            mix_hash: object.mix_hash,
            nonce: object.nonce,
            base_fee_per_gas: object.base_fee_per_gas.map(number),
            withdrawals_root: object.withdrawals_root,
            blob_gas_used: object.blob_gas_used.map(number),
            excess_blob_gas: object.excess_blob_gas.map(number),
            parent_beacon_block_root: object.parent_beacon_block_root,
            requests_hash: object.requests_hash,
            block_access_list_hash: object.block_access_list_hash,
            slot_number: object.slot_number.map(number),
        };
        alloy_rlp::encode(header).into()
    }
}
