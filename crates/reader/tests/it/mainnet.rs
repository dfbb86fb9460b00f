//! Logs of 20 consecutive blocks of mainnet, decoded by our decoder, by the naive one, and by an
//! independent product (`fixtures/mainnet/README.md`).

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_rlp::{Decodable, Header};
use serde_json::{Value, json};
use std::{path::Path, process::Command};
use txgraph_testkit::{
    fixtures,
    naive::{Decoded, decode_logs},
};
use txgraph_transfers::{Decoder, LogView, Transfer, TransferFilter, WrappedNative, testing};

const USDT: Address = address!("dac17f958d2ee523a2206206994597c13d831ec7");

/// A log: address, topics, data.
type RawLog = (Address, Vec<B256>, Bytes);

/// Reads `[[type, status, cumulative gas, [[address, topics, data]…]]…]`.
fn receipts(mut rlp: &[u8]) -> Vec<Vec<RawLog>> {
    let list = |rlp: &mut &[u8]| Header::decode_bytes(rlp, true).unwrap().to_vec();
    let all = list(&mut rlp);
    let mut all = &all[..];
    let mut receipts = Vec::new();
    while !all.is_empty() {
        let receipt = list(&mut all);
        let mut receipt = &receipt[..];
        for _ in 0..3 {
            u64::decode(&mut receipt).unwrap();
        }
        let logs = list(&mut receipt);
        let mut logs = &logs[..];
        let mut read = Vec::new();
        while !logs.is_empty() {
            let log = list(&mut logs);
            let mut log = &log[..];
            let address = Address::decode(&mut log).unwrap();
            let topics = Vec::<B256>::decode(&mut log).unwrap();
            read.push((address, topics, Bytes::decode(&mut log).unwrap()));
        }
        receipts.push(read);
    }
    receipts
}

/// Decodes base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for digit in text.trim_end_matches('=').chars() {
        bits = bits << 6 | u32::try_from(DIGITS.find(digit).unwrap()).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

/// The USDT transfers of the reference: block, transaction, sender, recipient, amount.
fn reference(archive: &Path) -> Vec<(u64, u64, Address, Address, U256)> {
    let file = "reference/USDT_token_transfers.json";
    let output = Command::new("tar")
        .args(["--zstd", "-xOf"])
        .arg(archive)
        .arg("--wildcards")
        .arg(format!("*{file}"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let address = |key: &str| Address::from_slice(&base64(row[key].as_str().unwrap()));
        assert_eq!(address("tokenAddress"), USDT);
        (
            row["blockId"].as_u64().unwrap(),
            row["transactionIndex"].as_u64().unwrap(),
            address("from"),
            address("to"),
            U256::from(row["value"].as_u64().unwrap()),
        )
    });
    rows.collect()
}

#[test]
fn transfers_of_mainnet_blocks_agree_with_other_decoders() {
    let Some(root) = fixtures::require_root() else {
        return;
    };
    let folder = root.join("mainnet");
    let file = std::fs::File::open(folder.join("receipts-15000001-15000020.json.zst")).unwrap();
    let file: Value = serde_json::from_reader(zstd::Decoder::new(file).unwrap()).unwrap();
    let everything = TransferFilter::default();
    let mut decoder = Decoder::new(1, &WrappedNative::Any, &everything);
    let (mut ours, mut naive) = (Vec::<Transfer>::new(), Decoded::default());
    for block in file["blocks"].as_array().unwrap() {
        let number = block["number"].as_u64().unwrap();
        let rlp: Bytes = serde_json::from_value(block["slim_receipts_rlp"].clone()).unwrap();
        decoder.begin_block(number, None);
        let mut log_index = 0;
        for (index, logs) in (0..).zip(receipts(&rlp)) {
            let topics: Vec<Vec<[u8; 32]>> = logs
                .iter()
                .map(|(_, topics, _)| topics.iter().map(|topic| topic.0).collect())
                .collect();
            let views = logs
                .iter()
                .zip(&topics)
                .map(|((address, _, data), topics)| LogView {
                    address,
                    topics,
                    data,
                });
            decoder.transaction(index, None, views, &mut ours);
            let json: Vec<Value> = logs
                .iter()
                .map(|(address, topics, data)| {
                    let log = json!({ "address": address, "topics": topics, "data": data,
                        "logIndex": format!("{log_index:#x}") });
                    log_index += 1;
                    log
                })
                .collect();
            let row = Transfer {
                transaction_index: index,
                ..testing::transfer(number)
            };
            decode_logs(&row, &Value::Array(json), &mut naive);
        }
    }
    for transfers in [&mut ours, &mut naive.transfers] {
        for transfer in transfers {
            (transfer.block_timestamp, transfer.transaction_hash) = (None, None);
        }
    }
    assert!(ours.len() > 2_000, "{} transfers", ours.len());
    assert_eq!(ours, naive.transfers);

    let expected = reference(&folder.join("graphsense-15000000-15000004.tar.zst"));
    let expected: Vec<_> = expected
        .into_iter()
        .filter(|row| row.0 > 15_000_000)
        .collect();
    let usdt = ours
        .iter()
        .filter(|it| it.token_address == Some(USDT) && it.block_number <= 15_000_004);
    let mut usdt: Vec<_> = usdt
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
    let mut expected = expected;
    usdt.sort_unstable();
    expected.sort_unstable();
    assert_eq!(expected.len(), 99);
    assert_eq!(usdt, expected);
}
