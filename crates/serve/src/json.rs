//! Blocks, transactions, receipts and logs as nodes write them in JSON.

use alloy_consensus::Transaction;
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, U256, logs_bloom};
use serde_json::{Map, Value, json};
use std::fmt::LowerHex;
use txgraph::{
    Header, NodeBlock, NodeLog, NodeTransaction, SignedTransaction, StoredTransaction, Withdrawal,
};

/// The blob gas of a blob.
const GAS_PER_BLOB: u64 = 1 << 17;

/// A number in hexadecimal digits without leading zeros.
pub(crate) fn quantity(number: impl LowerHex) -> Value {
    Value::String(format!("{number:#x}"))
}

/// Bytes in hexadecimal digits.
pub(crate) fn data(bytes: impl AsRef<[u8]>) -> Value {
    Value::String(alloy_primitives::hex::encode_prefixed(bytes))
}

/// An address in lower case, as nodes and Etherscan write it.
pub(crate) fn address(address: Address) -> Value {
    data(address)
}

fn optional<T>(value: Option<T>, write: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, write)
}

/// A block; with whole transactions if `full`, else with their hashes.
pub(crate) fn block(block: &NodeBlock, full: bool) -> Map<String, Value> {
    let transactions = block.transactions.iter();
    let transactions: Vec<_> = match full {
        true => transactions
            .map(|it| Value::Object(transaction(it)))
            .collect(),
        false => transactions.map(|it| data(it.hash)).collect(),
    };
    let mut map = block_without_transactions(block);
    map.insert("transactions".to_owned(), transactions.into());
    map
}

/// A block without the field for its transactions.
pub(crate) fn block_without_transactions(block: &NodeBlock) -> Map<String, Value> {
    let mut map = header(&block.header);
    map.insert("size".to_owned(), quantity(block.size));
    let ommers = block.ommers.iter().map(|it| data(it.recompute_hash()));
    map.insert("uncles".to_owned(), ommers.collect());
    if let Some(withdrawals) = &block.withdrawals {
        let withdrawals = withdrawals.iter().map(withdrawal);
        map.insert("withdrawals".to_owned(), withdrawals.collect());
    }
    map
}

/// A header.
pub(crate) fn header(header: &Header) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |name: &str, value| map.insert(name.to_owned(), value);
    put("hash", data(header.hash));
    put("parentHash", data(header.parent_hash));
    put("sha3Uncles", data(header.ommers_hash));
    put("miner", address(header.beneficiary));
    put("stateRoot", data(header.state_root));
    put("transactionsRoot", data(header.transactions_root));
    put("receiptsRoot", data(header.receipts_root));
    put("logsBloom", data(header.logs_bloom));
    put("difficulty", quantity(header.difficulty));
    put("number", quantity(header.number));
    put("gasLimit", quantity(header.gas_limit));
    put("gasUsed", quantity(header.gas_used));
    put("timestamp", quantity(header.timestamp));
    put("extraData", data(&header.extra_data));
    put("mixHash", data(header.mix_hash));
    put("nonce", data(header.nonce));
    for (name, number) in [
        ("baseFeePerGas", header.base_fee_per_gas),
        ("blobGasUsed", header.blob_gas_used),
        ("excessBlobGas", header.excess_blob_gas),
        ("slotNumber", header.slot_number),
    ] {
        if let Some(number) = number {
            put(name, quantity(number));
        }
    }
    for (name, hash) in [
        ("withdrawalsRoot", header.withdrawals_root),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root),
        ("requestsHash", header.requests_hash),
        ("blockAccessListHash", header.block_access_list_hash),
    ] {
        if let Some(hash) = hash {
            put(name, data(hash));
        }
    }
    map
}

fn withdrawal(it: &Withdrawal) -> Value {
    json!({
        "index": quantity(it.index),
        "validatorIndex": quantity(it.validator_index),
        "address": address(it.address),
        "amount": quantity(it.amount),
    })
}

/// A transaction of a block.
pub(crate) fn transaction(it: &NodeTransaction) -> Map<String, Value> {
    let mut map = match &it.transaction {
        StoredTransaction::Signed(signed) => signed_transaction(signed),
        StoredTransaction::Deposit(deposit) => {
            let mut map = Map::new();
            let mut put = |name: &str, value| map.insert(name.to_owned(), value);
            put("type", "0x7e".into());
            put("sourceHash", data(deposit.source_hash));
            put("to", optional(deposit.to.to().copied(), address));
            put("mint", quantity(deposit.mint));
            put("value", quantity(deposit.value));
            put("gas", quantity(deposit.gas_limit));
            put("isSystemTx", deposit.is_system.into());
            put("input", data(&deposit.input));
            put("nonce", quantity(it.nonce()));
            let zero = || quantity(0_u64);
            for name in ["r", "s", "v", "yParity"] {
                put(name, zero());
            }
            map
        }
        StoredTransaction::PostExec(content) => {
            let mut map = Map::new();
            map.insert("type".to_owned(), "0x7d".into());
            map.insert("input".to_owned(), data(content));
            map
        }
    };
    let mut put = |name: &str, value| map.insert(name.to_owned(), value);
    put("hash", data(it.hash));
    put("blockHash", data(it.header.hash));
    put("blockNumber", quantity(it.header.number));
    put("blockTimestamp", quantity(it.header.timestamp));
    put("transactionIndex", quantity(it.index));
    put("from", address(it.sender));
    put("gasPrice", quantity(it.gas_price()));
    map
}

/// The fields that the sender signed.
fn signed_transaction(signed: &SignedTransaction) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |name: &str, value| map.insert(name.to_owned(), value);
    let kind = alloy_consensus::Typed2718::ty(signed);
    put("type", quantity(kind));
    if let Some(chain_id) = signed.chain_id() {
        put("chainId", quantity(chain_id));
    }
    put("nonce", quantity(signed.nonce()));
    put("gas", quantity(signed.gas_limit()));
    if kind >= 2 {
        put("maxFeePerGas", quantity(signed.max_fee_per_gas()));
        let tip = signed.max_priority_fee_per_gas();
        put("maxPriorityFeePerGas", quantity(tip.unwrap_or_default()));
    }
    put("to", optional(signed.to(), address));
    put("value", quantity(signed.value()));
    put("input", data(signed.input()));
    if let Some(list) = signed.access_list() {
        let items = list.iter().map(|item| {
            let keys = item.storage_keys.iter().map(data);
            json!({ "address": address(item.address), "storageKeys": keys.collect::<Vec<_>>() })
        });
        put("accessList", items.collect());
    }
    if let Some(hashes) = signed.blob_versioned_hashes() {
        put("blobVersionedHashes", hashes.iter().map(data).collect());
    }
    if let Some(fee) = signed.max_fee_per_blob_gas() {
        put("maxFeePerBlobGas", quantity(fee));
    }
    if let Some(list) = signed.authorization_list() {
        let items = list.iter().map(|it| {
            json!({
                "chainId": quantity(it.chain_id),
                "address": address(it.address),
                "nonce": quantity(it.nonce),
                "yParity": quantity(it.y_parity()),
                "r": quantity(it.r()),
                "s": quantity(it.s()),
            })
        });
        put("authorizationList", items.collect());
    }
    let signature = signed.signature();
    let parity = u64::from(signature.v());
    put("r", quantity(signature.r()));
    put("s", quantity(signature.s()));
    if kind == 0 {
        let v = match signed.chain_id() {
            Some(chain_id) => u128::from(chain_id) * 2 + 35 + u128::from(parity),
            None => 27 + u128::from(parity),
        };
        put("v", quantity(v));
    } else {
        put("v", quantity(parity));
        put("yParity", quantity(parity));
    }
    map
}

/// The receipt of a transaction that was read with it. `blob_price` is the price in its block.
pub(crate) fn receipt(it: &NodeTransaction, blob_price: Option<U256>) -> Map<String, Value> {
    let mut map = Map::new();
    let Some(receipt) = &it.receipt else {
        return map;
    };
    let header = &it.header;
    let mut put = |name: &str, value| map.insert(name.to_owned(), value);
    put(
        "type",
        quantity(alloy_consensus::Typed2718::ty(&it.transaction)),
    );
    put("status", quantity(u8::from(receipt.success)));
    put("cumulativeGasUsed", quantity(receipt.cumulative_gas_used));
    put("logsBloom", data(bloom(&receipt.logs)));
    let logs = (receipt.first_log..)
        .zip(&receipt.logs)
        .map(|(index, log)| {
            let place = Place {
                block: header.number,
                block_hash: header.hash,
                timestamp: header.timestamp,
                transaction: it.index,
                transaction_hash: it.hash,
            };
            place.log(index, log)
        });
    put("logs", logs.collect());
    put("transactionHash", data(it.hash));
    put("transactionIndex", quantity(it.index));
    put("blockHash", data(header.hash));
    put("blockNumber", quantity(header.number));
    put("gasUsed", quantity(receipt.gas_used));
    put("effectiveGasPrice", quantity(it.gas_price()));
    put("from", address(it.sender));
    put("to", optional(it.transaction.to(), address));
    put("contractAddress", optional(it.created(), address));
    if let StoredTransaction::Signed(signed) = &it.transaction
        && let Some(hashes) = signed.blob_versioned_hashes()
    {
        put("blobGasUsed", quantity(GAS_PER_BLOB * hashes.len() as u64));
        put("blobGasPrice", optional(blob_price, quantity));
    }
    if let Some(nonce) = receipt.deposit_nonce {
        put("depositNonce", quantity(nonce));
    }
    if let Some(version) = receipt.deposit_version {
        put("depositReceiptVersion", quantity(version));
    }
    map
}

fn bloom(logs: &[Log]) -> Bloom {
    logs_bloom(logs.iter())
}

/// Where a log is.
struct Place {
    block: u64,
    block_hash: B256,
    timestamp: u64,
    transaction: u32,
    transaction_hash: B256,
}

impl Place {
    fn log(&self, index: u32, log: &Log) -> Value {
        json!({
            "address": address(log.address),
            "topics": log.topics().iter().map(data).collect::<Vec<_>>(),
            "data": data(&log.data.data),
            "blockHash": data(self.block_hash),
            "blockNumber": quantity(self.block),
            "blockTimestamp": quantity(self.timestamp),
            "transactionHash": data(self.transaction_hash),
            "transactionIndex": quantity(self.transaction),
            "logIndex": quantity(index),
            "removed": false,
        })
    }
}

/// A log that was searched for.
pub(crate) fn log(it: &NodeLog) -> Value {
    let place = Place {
        block: it.block,
        block_hash: it.block_hash,
        timestamp: it.timestamp,
        transaction: it.transaction_index,
        transaction_hash: it.transaction_hash,
    };
    place.log(it.log_index, &it.log)
}

/// About how many bytes a log has in JSON.
pub(crate) fn log_bytes(it: &NodeLog) -> usize {
    600 + 2 * it.log.data.data.len()
}

/// The first four bytes of the input.
pub(crate) fn selector(input: &[u8]) -> Bytes {
    Bytes::copy_from_slice(input.get(..4).unwrap_or_default())
}
