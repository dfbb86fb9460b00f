//! The program on a data directory of mainnet, whose first block is 15,000,001.

use crate::harness::{self, Run, rows};
use std::path::Path;
use tempfile::TempDir;
use txgraph::{Kind, Transfer};
use txgraph_chaingen::{BlockWriter, ExecutedBlock, Layout};
use txgraph_testkit::{
    mainnet,
    naive::{Rules, bfs},
    or_skip,
};

/// The directory as `data` in a folder to run in, for each layout.
pub(crate) fn directories() -> Option<[TempDir; 2]> {
    let blocks = mainnet::blocks()?;
    Some([Layout::V1, Layout::V2].map(|layout| {
        let folder = tempfile::tempdir().unwrap();
        let executed = blocks.iter().map(|block| {
            ExecutedBlock::decode(&block.header, &block.transactions, &block.receipts).unwrap()
        });
        let data = folder.path().join("data");
        let written = BlockWriter::create_from(&data, layout.into(), 1 << 30, executed.collect());
        drop(written.unwrap());
        folder
    }))
}

pub(crate) fn ask(folder: &Path, line: &str) -> Run {
    harness::ask(folder, &format!("{line} --datadir data"))
}

pub(crate) fn ok(folder: &Path, line: &str) -> Run {
    harness::ok(folder, &format!("{line} --datadir data"))
}

/// Transfers as the program decodes them: only WETH of mainnet is a wrapped coin.
fn naive() -> Vec<Transfer> {
    let weth = alloy_primitives::address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2");
    let mut transfers = mainnet::transfers(&mainnet::blocks().unwrap()).transfers;
    transfers.retain(|it| {
        !matches!(it.kind, Kind::Wrap | Kind::Unwrap) || it.token_address == Some(weth)
    });
    transfers
}

#[test]
fn info_lists_the_blocks_of_a_mainnet_directory() {
    let directories = or_skip!(directories());
    for folder in &directories {
        let info = ok(folder.path(), "info --json").json();
        assert_eq!(info["chain"]["chain_id"], 1);
        let all = serde_json::json!([{ "first": 15_000_001, "last": 15_000_020 }]);
        for part in ["headers", "transactions", "senders", "receipts"] {
            assert_eq!(info[part], all, "{part}");
        }
        assert_eq!(info["account_state"], serde_json::json!([]));
    }
}

#[test]
fn transfers_and_graph_of_a_mainnet_directory_equal_the_naive_ones() {
    let directories = or_skip!(directories());
    let expected = naive();
    // A sender in the middle of the range.
    let root = expected[expected.len() / 2].from_address;
    let rules = Rules {
        hops: Some(2),
        ..Rules::default()
    };
    let reached = bfs(&expected, &[root], &rules);
    assert!(reached.edges.len() > 2);
    for folder in &directories {
        let folder = folder.path();
        let all = "transfers -q --from-block 15000001 --format csv -o -";
        let plain = ok(folder, all).stdout;
        assert_eq!(rows(&plain).len(), expected.len());
        assert_eq!(ok(folder, &format!("{all} --check-roots")).stdout, plain);
        let usdt = format!(
            "transfers -q -t {} -b 15000001:15000005 --format csv -o -",
            mainnet::USDT
        );
        assert_eq!(ok(folder, &usdt).rows().len(), 99);

        let graph = format!("graph -q -r {root} -n 2 -b 15000001: --format csv -o -");
        let found = ok(folder, &graph).stdout;
        let positions = rows(&found).into_iter().map(|row| {
            let number = |name: &str| row[name].parse::<u64>().unwrap();
            (
                number("block_number"),
                number("transaction_index"),
                row["log_index"].parse::<u64>().ok(),
                number("hop"),
            )
        });
        let positions: Vec<_> = positions.collect();
        let known: Vec<_> = reached
            .edges
            .iter()
            .map(|(at, hop)| (at.block, at.tx.into(), at.log.map(u64::from), (*hop).into()))
            .collect();
        assert_eq!(positions, known);

        let saved = format!("graph -q -r {root} -n 2 -b 15000001: -o g.gs");
        ok(folder, &saved);
        assert!(folder.join("g.gs.meta.json").exists());
        let bytes = std::fs::metadata(folder.join("g.gs")).unwrap().len();
        assert!(bytes > 0 && bytes % 4 == 0, "{bytes}");

        ok(
            folder,
            "index build -q --index index --from-block 15000001 --reorg-buffer 0",
        );
        ok(folder, "index verify -q --index index");
        assert_eq!(ok(folder, &format!("{graph} --index index")).stdout, found);
        assert_eq!(ok(folder, &format!("{all} --index index")).stdout, plain);
    }
}

#[test]
fn blocks_before_the_first_of_a_mainnet_directory_are_status_3() {
    let directories = or_skip!(directories());
    for folder in &directories {
        let root = mainnet::USDT;
        for line in [
            "transfers".to_owned(),
            "transfers -b 14999990:15000003".to_owned(),
            "transfers --check-roots --from-block 15000000".to_owned(),
            format!("graph -r {root} -n 2"),
            "analyze summary".to_owned(),
            "index build --index index --reorg-buffer 0".to_owned(),
        ] {
            let answer = ask(folder.path(), &line).ended(3);
            assert_eq!(answer.stdout, "", "{line}");
            // An index has no partial answers.
            let (hint, other) = if line.starts_with("index") {
                ("--from-block 15000001 (they end with", "--allow-partial")
            } else {
                ("--from-block 15000001 --to-block 15000020", "they end with")
            };
            assert!(!answer.stderr.contains(other), "{line}: {}", answer.stderr);
            for part in [
                ":15000001 (before the first block of the chain, 15000001)",
                "available: 15000001:15000021",
                hint,
            ] {
                answer.says(part);
            }
        }
        let partial = ok(folder.path(), "transfers --allow-partial --format csv -o -");
        assert_eq!(partial.rows().len(), naive().len());
    }
}
