//! Blocks of mainnet as GraphSense stores them, and the results of its own pipeline.

use crate::support::{blocks, mainnet, try_read, unpacked};
use alloy_primitives::{Address, B256, U256, address};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};
use txgraph_import::{Family, ImportedFiles};
use txgraph_testkit::{or_skip, program::json_lines, says};
use txgraph_transfers::{Kind, Transfer};

const ARCHIVE: &str = "mainnet/graphsense-15000000-15000004.tar.zst";
const USDT: Address = address!("dac17f958d2ee523a2206206994597c13d831ec7");

/// Rows that were added to the fixture by hand: transactions with the index of another one, and
/// traces of transactions that block 15,000,004 does not have.
const INVENTED: [&str; 5] = [
    "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22061",
    "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22062",
    "0x3792604eb7bc1f60e182e0668c680e96e9cee5de599e596f0aea180f014cd0da",
    "0xf6f3f647a3c0a82c4d6c61ca611f78aa531cec6f130a6c9ce5b7599160c0f2e0",
    "0xe92cfaf5a26d98224f2b723312c026daa156649ca009925612d097213db811d",
];

fn transfers(folder: &Path) -> Vec<Transfer> {
    for name in ["transactions.csv", "traces.csv"] {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let is_real = |line: &&str| !INVENTED.iter().any(|hash| line.contains(hash));
        let lines: Vec<_> = text.lines().filter(is_real).collect();
        assert!(lines.len() < text.lines().count());
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    let files = ImportedFiles::open(folder, &mainnet(Family::Etl)).unwrap();
    // Older blocks of the fixture have values such as 199e17, which are refused.
    let wanted = |request: &mut txgraph_transfers::ScanRequest| {
        request.blocks = blocks(15_000_000, 15_000_004);
    };
    let (transfers, report) = try_read(files, wanted).unwrap();
    assert_eq!(report.caveats, Vec::<String>::new());
    assert_eq!(report.counts.duplicates, 0);
    transfers
}

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("reference").join(name)).unwrap();
    json_lines(&text)
}

/// Decodes base64 with padding.
fn bytes(value: &Value) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for digit in value
        .as_str()
        .unwrap()
        .bytes()
        .filter(|digit| *digit != b'=')
    {
        let at = DIGITS.iter().position(|known| *known == digit).unwrap();
        bits = bits << 6 | u32::try_from(at).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    out
}

#[test]
fn transactions_with_one_index_are_refused() {
    let folder = or_skip!(unpacked(ARCHIVE));
    let files = ImportedFiles::open(folder.path(), &mainnet(Family::Etl)).unwrap();
    let read = try_read(files, |request| {
        request.blocks = blocks(15_000_000, 15_000_004)
    });
    let error = read.unwrap_err().to_string();
    // They also have the hash of block 46,147.
    says(&error, "block 15000004: its hash differs");
    says(&error, "transactions.csv, row ");
}

#[test]
fn usdt_transfers_equal_the_reference() {
    let folder = or_skip!(unpacked(ARCHIVE));
    let found: Vec<_> = transfers(folder.path())
        .into_iter()
        .filter(|it| it.token_address == Some(USDT))
        .map(|it| {
            let log = u64::from(it.log_index.unwrap());
            let hash = it.transaction_hash.unwrap();
            let index = u64::from(it.transaction_index);
            (
                it.block_number,
                index,
                log,
                hash,
                it.from_address,
                it.to_address,
                it.value,
            )
        })
        .collect();
    let mut expected: Vec<_> = lines(folder.path(), "USDT_token_transfers.json")
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap();
            let address = |key: &str| Address::from_slice(&bytes(&row[key]));
            (
                number("blockId"),
                number("transactionIndex"),
                number("logIndex"),
                B256::from_slice(&bytes(&row["txHash"])),
                address("from"),
                address("to"),
                U256::from(number("value")),
            )
        })
        .collect();
    expected.sort();
    assert_eq!(expected.len(), 143);
    assert_eq!(found, expected);
}

/// GraphSense adds the value of delegate calls to its relations. That value is the one of the
/// calling frame and does not move, so it is added here, from the traces themselves.
fn delegated(folder: &Path) -> BTreeMap<(Address, Address), U256> {
    let mut sums: BTreeMap<_, U256> = BTreeMap::new();
    let text = fs::read_to_string(folder.join("traces.csv")).unwrap();
    for line in text.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let recent = cells[1].len() == 8;
        if recent && cells[7] == "1" && cells[8] == "delegatecall" {
            let ends = (cells[4].parse().unwrap(), cells[5].parse().unwrap());
            *sums.entry(ends).or_default() += cells[6].parse::<U256>().unwrap();
        }
    }
    sums
}

#[test]
fn native_relations_equal_the_reference() {
    let folder = or_skip!(unpacked(ARCHIVE));
    let mut sums = delegated(folder.path());
    for transfer in transfers(folder.path()) {
        if matches!(transfer.kind, Kind::Value | Kind::Internal) {
            let ends = (transfer.from_address, transfer.to_address);
            *sums.entry(ends).or_default() += transfer.value;
        }
    }
    let addresses: BTreeMap<u64, Address> = lines(folder.path(), "addresses.json")
        .iter()
        .map(|row| {
            (
                row["addressId"].as_u64().unwrap(),
                Address::from_slice(&bytes(&row["address"])),
            )
        })
        .collect();
    // Relations of the older blocks begin with addresses that no recent block has.
    let old = fs::read_to_string(folder.path().join("traces.csv")).unwrap();
    let old: Vec<String> = old
        .lines()
        .filter(|line| line.split(',').nth(1).is_some_and(|block| block.len() < 8))
        .map(|line| line.split(',').nth(4).unwrap().to_owned())
        .collect();
    let mut compared = 0;
    let relations = "address_relations.json";
    let text = fs::read_to_string(folder.path().join("reference").join(relations)).unwrap();
    for (row, line) in lines(folder.path(), relations).iter().zip(text.lines()) {
        let end = |key: &str| addresses.get(&row[key].as_u64().unwrap()).copied();
        let (Some(from), Some(to)) = (end("srcAddressId"), end("dstAddressId")) else {
            continue;
        };
        // From the text: many numbers are above 2^64.
        let (_, value) = line.split_once("\"value\":{\"value\":").unwrap();
        let value: U256 = value.split(',').next().unwrap().parse().unwrap();
        if value.is_zero() || old.contains(&format!("{from:#x}")) {
            continue;
        }
        assert_eq!(sums.get(&(from, to)), Some(&value), "{from} {to}");
        compared += 1;
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn inexact_values_are_refused_in_their_own_blocks_only() {
    let folder = or_skip!(unpacked(ARCHIVE));
    let files = ImportedFiles::open(folder.path(), &mainnet(Family::Etl)).unwrap();
    let error = try_read(files, |request| request.blocks = blocks(46_147, 46_220)).unwrap_err();
    let error = error.to_string();
    says(&error, "traces.csv, row ");
    says(&error, "column value");
    says(&error, "e17");
    says(&error, "not exact");
}
