//! Headers, which depend on the parent block.

use super::{
    FirstAccount,
    block::Body,
    config::{self, timestamp},
};
use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, TrieAccount,
    proofs::{calculate_withdrawals_root, state_root_unhashed, storage_root_unhashed},
};
use alloy_eips::{
    eip1559::{BaseFeeParams, calc_next_block_base_fee},
    eip7685::EMPTY_REQUESTS_HASH,
    eip7840::BlobParams,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Base fee of the genesis block in wei.
const GENESIS_BASE_FEE: u64 = 1_000_000_000;
/// Extra data of the genesis block.
const GENESIS_EXTRA: &[u8] = b"txgraph sample chain";

/// Returns the state root of block 0.
pub(super) fn state_root(accounts: &BTreeMap<Address, FirstAccount>) -> B256 {
    state_root_unhashed(accounts.iter().map(|(address, first)| {
        let storage = first.storage.iter().map(|(slot, value)| (*slot, *value));
        let account = TrieAccount {
            nonce: first.nonce,
            balance: first.balance,
            storage_root: storage_root_unhashed(storage),
            code_hash: keccak256(&first.code),
        };
        (*address, account)
    }))
}

/// Returns the header of a block 0 with this state root.
pub fn first_header(state_root: B256, gas_limit: u64) -> Header {
    Header {
        state_root,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        gas_limit,
        timestamp: timestamp(0),
        extra_data: Bytes::from_static(GENESIS_EXTRA),
        base_fee_per_gas: Some(GENESIS_BASE_FEE),
        ..Header::default()
    }
}

/// Returns the header of `body` after `parent`.
pub(super) fn on_top_of(parent: &Header, parent_hash: B256, body: &Body) -> Header {
    let own = &body.header;
    let next = next(parent, parent_hash);
    Header {
        beneficiary: own.beneficiary,
        transactions_root: own.transactions_root,
        receipts_root: own.receipts_root,
        logs_bloom: own.logs_bloom,
        gas_used: own.gas_used,
        withdrawals_root: body.withdrawals.as_deref().map(calculate_withdrawals_root),
        blob_gas_used: next.blob_gas_used.and(own.blob_gas_used),
        ..next
    }
}

/// Returns the header of an empty block after `parent`, with everything that its
/// transactions see except the beneficiary. Forks begin at fixed blocks.
///
/// Everything follows from the parent except the state root: there are no tries, so a
/// hash of the parent's state root and the number replaces it.
pub(super) fn next(parent: &Header, parent_hash: B256) -> Header {
    let number = parent.number + 1;
    let (cancun, prague) = (number >= config::CANCUN, number >= config::PRAGUE);
    let mut random = [0; 40];
    random[..32].copy_from_slice(parent.state_root.as_slice());
    random[32..].copy_from_slice(&number.to_be_bytes());
    let state_root = keccak256(random);
    Header {
        parent_hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        state_root,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        number,
        gas_limit: parent.gas_limit,
        timestamp: timestamp(number),
        mix_hash: keccak256(state_root),
        base_fee_per_gas: Some(calc_next_block_base_fee(
            parent.gas_used,
            parent.gas_limit,
            parent.base_fee_per_gas.unwrap_or(GENESIS_BASE_FEE),
            BaseFeeParams::ethereum(),
        )),
        withdrawals_root: (number >= config::SHANGHAI).then(|| calculate_withdrawals_root(&[])),
        blob_gas_used: cancun.then_some(0),
        excess_blob_gas: cancun.then(|| excess_blob_gas(parent, number)),
        parent_beacon_block_root: cancun.then(|| keccak256(parent_hash)),
        requests_hash: prague.then_some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    }
}

/// Excess blob gas (EIP-4844, and EIP-7918 from Osaka on). The first block with blobs
/// starts at zero.
fn excess_blob_gas(parent: &Header, number: u64) -> u64 {
    match (parent.excess_blob_gas, parent.blob_gas_used) {
        (Some(excess), Some(used)) => blob_params(number).next_block_excess_blob_gas_osaka(
            excess,
            used,
            parent.base_fee_per_gas.unwrap_or_default(),
        ),
        _ => 0,
    }
}

/// Returns the blob parameters of a block.
fn blob_params(number: u64) -> BlobParams {
    match number {
        _ if number >= config::OSAKA => BlobParams::osaka(),
        _ if number >= config::PRAGUE => BlobParams::prague(),
        _ => BlobParams::cancun(),
    }
}

/// Returns `genesis.json`, the chain specification that a node reads.
pub(super) fn specification(
    chain_id: u64,
    gas_limit: u64,
    accounts: &BTreeMap<Address, FirstAccount>,
) -> Value {
    let alloc = accounts.iter().map(|(address, account)| {
        let value = json!({
            "balance": account.balance,
            "nonce": format!("{:#x}", account.nonce),
            "code": account.code,
            "storage": account.storage,
        });
        (format!("{address:#x}"), value)
    });
    let alloc: Map<String, Value> = alloc.collect();
    let hex = |number: u64| format!("{number:#x}");
    let mut config = json!({
        "chainId": chain_id,
        "terminalTotalDifficulty": 0,
        "terminalTotalDifficultyPassed": true,
        "shanghaiTime": timestamp(config::SHANGHAI),
        "cancunTime": timestamp(config::CANCUN),
        "pragueTime": timestamp(config::PRAGUE),
        "osakaTime": timestamp(config::OSAKA),
        "depositContractAddress": "0x00000000219ab540356cbb839cbe05303d7705fa",
    });
    for fork in [
        "homestead",
        "eip150",
        "eip155",
        "eip158",
        "byzantium",
        "constantinople",
        "petersburg",
        "istanbul",
        "muirGlacier",
        "berlin",
        "london",
        "arrowGlacier",
        "grayGlacier",
        "mergeNetsplit",
    ] {
        config[format!("{fork}Block")] = json!(0);
    }
    let schedule = |params: BlobParams| {
        json!({
            "target": params.target_blob_count,
            "max": params.max_blob_count,
            "baseFeeUpdateFraction": u64::try_from(params.update_fraction).unwrap_or(u64::MAX),
        })
    };
    config["blobSchedule"] = json!({
        "cancun": schedule(BlobParams::cancun()),
        "prague": schedule(BlobParams::prague()),
        "osaka": schedule(BlobParams::osaka()),
    });
    json!({
        "config": config,
        "nonce": "0x0",
        "timestamp": hex(timestamp(0)),
        "extraData": Bytes::from_static(GENESIS_EXTRA),
        "gasLimit": hex(gas_limit),
        "difficulty": "0x0",
        "mixHash": B256::ZERO,
        "coinbase": Address::ZERO,
        "baseFeePerGas": hex(GENESIS_BASE_FEE),
        "alloc": alloc,
    })
}

/// Returns the blob gas price of the block with this header.
pub(super) fn blob_fee(header: &Header) -> U256 {
    let excess = header.excess_blob_gas.unwrap_or_default();
    U256::from(blob_params(header.number).calc_blob_fee(excess))
}
