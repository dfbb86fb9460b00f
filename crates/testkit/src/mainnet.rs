//! 20 consecutive blocks of mainnet with their receipts, from 15,000,001 on, and what others
//! found in them (`fixtures/mainnet/README.md`).
//!
//! Everything is decoded here from RLP, without the code under test and without the crates that
//! it uses.

use crate::{
    fixtures,
    naive::{Decoded, decode_block},
};
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_rlp::{Header, PayloadView};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;
use txgraph_transfers::Transfer;

/// The first of the blocks.
pub const FIRST_BLOCK: u64 = 15_000_001;

/// The last of the blocks.
pub const LAST_BLOCK: u64 = 15_000_020;

/// Tether USD.
pub const USDT: Address = address!("dac17f958d2ee523a2206206994597c13d831ec7");

/// A block as an archive of the chain contains it.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedBlock {
    /// The RLP of the header.
    #[serde(rename = "header_rlp")]
    pub header: Bytes,
    /// The block hash.
    pub hash: B256,
    /// The transactions as EIP-2718 envelopes.
    pub transactions: Vec<Bytes>,
    /// The sender of each transaction.
    pub senders: Vec<Address>,
    /// The RLP list of receipts without blooms: type, status, cumulative gas, logs.
    #[serde(rename = "slim_receipts_rlp")]
    pub receipts: Bytes,
}

/// A transfer as block, transaction, sender, recipient and amount.
pub type Row = (u64, u64, Address, Address, U256);

/// Reads the blocks. A missing fixture is handled as in [`fixtures::fixture`].
pub fn blocks() -> Option<Vec<RecordedBlock>> {
    #[derive(Deserialize)]
    struct Recorded {
        blocks: Vec<RecordedBlock>,
    }
    let text = fixtures::content("mainnet/receipts-15000001-15000020.json.zst")?;
    let recorded: Recorded = serde_json::from_slice(&text).expect("recorded blocks");
    Some(recorded.blocks)
}

/// Decodes all transfers of the blocks with the naive decoder.
pub fn transfers(blocks: &[RecordedBlock]) -> Decoded {
    let mut decoded = Decoded::default();
    for block in blocks {
        let (block, receipts) = block.answers();
        decode_block(&block, &receipts, &mut decoded);
    }
    decoded
}

/// Returns the USDT transfers of `transfers` in blocks 15,000,001 to 15,000,004, sorted.
pub fn usdt_rows(transfers: &[Transfer]) -> Vec<Row> {
    let usdt = transfers
        .iter()
        .filter(|it| it.token_address == Some(USDT) && it.block_number <= 15_000_004);
    let mut rows: Vec<_> = usdt
        .map(|it| {
            let index = u64::from(it.transaction_index);
            (
                it.block_number,
                index,
                it.from_address,
                it.to_address,
                it.value,
            )
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// Returns the USDT transfers that the GraphSense reference has in blocks 15,000,001 to
/// 15,000,004, sorted.
pub fn usdt_reference() -> Option<Vec<Row>> {
    let output = Command::new("tar")
        .args(["--zstd", "-xOf"])
        .arg(fixtures::require_root()?.join("mainnet/graphsense-15000000-15000004.tar.zst"))
        .args(["--wildcards", "*reference/USDT_token_transfers.json"])
        .output()
        .expect("`tar` runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let number = |key: &str| row[key].as_u64().expect("a number");
        let address = |key: &str| Address::from_slice(&base64(row[key].as_str().expect("text")));
        assert_eq!(address("tokenAddress"), USDT);
        (
            number("blockId"),
            number("transactionIndex"),
            address("from"),
            address("to"),
            U256::from(number("value")),
        )
    });
    let mut rows: Vec<Row> = rows.filter(|row| row.0 >= FIRST_BLOCK).collect();
    rows.sort_unstable();
    Some(rows)
}

impl RecordedBlock {
    /// The block number.
    pub fn number(&self) -> u64 {
        number(items(&self.header)[8])
    }

    /// Returns the block and its receipts in the form of a node's answers, with the fields that
    /// the naive decoder reads.
    pub fn answers(&self) -> (Value, Value) {
        let header = items(&self.header);
        let mut transactions = Vec::new();
        let mut receipts = Vec::new();
        let mut log_index = 0;
        let pairs = self.transactions.iter().zip(&self.senders);
        for ((bytes, sender), receipt) in pairs.zip(items(&self.receipts)) {
            let (nonce, to, value) = payment(bytes);
            let created = to.is_none().then(|| sender.create(nonce));
            transactions.push(json!({
                "hash": keccak256(bytes), "from": sender, "to": to, "value": value,
            }));
            let [_, status, _, logs] = items(receipt)[..] else {
                panic!("a receipt has four fields");
            };
            let logs: Vec<Value> = items(logs)
                .into_iter()
                .map(|log| {
                    let log = json_log(log, log_index);
                    log_index += 1;
                    log
                })
                .collect();
            let status = format!("{:#x}", number(status));
            receipts.push(json!({
                "status": status, "contractAddress": created, "logs": logs,
            }));
        }
        assert_eq!(receipts.len(), self.transactions.len());
        let block = json!({
            "number": U256::from(number(header[8])),
            "timestamp": U256::from(number(header[11])),
            "transactions": transactions,
        });
        (block, Value::Array(receipts))
    }
}

/// Nonce, recipient and value of a transaction.
fn payment(bytes: &[u8]) -> (u64, Option<Address>, U256) {
    // A legacy transaction is a list, others have a type before it.
    let (fields, nonce, to) = match bytes[0] {
        1 => (items(&bytes[1..]), 1, 4),
        2 => (items(&bytes[1..]), 1, 5),
        _ => (items(bytes), 0, 3),
    };
    let recipient = payload(fields[to]);
    let recipient = (!recipient.is_empty()).then(|| Address::from_slice(recipient));
    let value = U256::from_be_slice(payload(fields[to + 1]));
    (number(fields[nonce]), recipient, value)
}

fn json_log(log: &[u8], index: u64) -> Value {
    let [address, topics, data] = items(log)[..] else {
        panic!("a log has three fields");
    };
    let topics: Vec<B256> = items(topics)
        .into_iter()
        .map(|topic| B256::from_slice(payload(topic)))
        .collect();
    json!({
        "address": Address::from_slice(payload(address)),
        "topics": topics,
        "data": Bytes::copy_from_slice(payload(data)),
        "logIndex": format!("{index:#x}"),
    })
}

/// The encoded items of an RLP list.
fn items(mut list: &[u8]) -> Vec<&[u8]> {
    match Header::decode_raw(&mut list).expect("RLP") {
        PayloadView::List(items) => items,
        PayloadView::String(_) => panic!("an RLP list"),
    }
}

/// The content of an RLP string.
fn payload(mut item: &[u8]) -> &[u8] {
    match Header::decode_raw(&mut item).expect("RLP") {
        PayloadView::String(payload) => payload,
        PayloadView::List(_) => panic!("an RLP string"),
    }
}

fn number(item: &[u8]) -> u64 {
    U256::from_be_slice(payload(item)).to()
}

/// Decodes base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for digit in text.trim_end_matches('=').chars() {
        bits = bits << 6 | u32::try_from(DIGITS.find(digit).expect("a digit")).expect("below 64");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).expect("8 bits"));
        }
    }
    bytes
}
