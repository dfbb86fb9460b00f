//! The program on data directories of the OP stack.

use crate::{
    harness::rows,
    mainnet::{ask, ok},
};
use alloy_primitives::{U256, address};
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;
use txgraph_chaingen::{BlockSample, BlockWriter, Layout, op_block};
use txgraph_testkit::{
    edit,
    naive::{Rules, bfs},
    op, or_skip,
};

/// A sample, and directories of it as `data` in a folder to run in, for each layout.
fn directories() -> (BlockSample, [TempDir; 2]) {
    let sample = BlockSample::op(901, 50, 10);
    let folders = [Layout::V1, Layout::V2].map(|layout| {
        let folder = tempfile::tempdir().unwrap();
        sample
            .write(&folder.path().join("data"), layout.into())
            .unwrap();
        folder
    });
    (sample, folders)
}

#[test]
fn commands_answer_from_an_op_directory() {
    let (sample, folders) = directories();
    let root = sample.transfers[0].to_address;
    let rules = Rules {
        hops: Some(2),
        ..Rules::default()
    };
    let reached = bfs(&sample.transfers, &[root], &rules);
    assert!(reached.edges.len() > 20);
    for folder in &folders {
        let folder = folder.path();
        let info = ok(folder, "info --json").json();
        assert_eq!(info["chain"]["chain_id"], 901);
        assert_eq!(info["chain"]["family"], "op-stack");
        assert!(ok(folder, "info").stdout.contains("OP stack"));

        let all = "transfers -q --from-block 50 --format csv -o -";
        let plain = ok(folder, all).stdout;
        let found = rows(&plain);
        assert_eq!(found.len(), sample.transfers.len());
        for (row, expected) in found.iter().zip(&sample.transfers) {
            assert_eq!(row["kind"], expected.kind.to_string());
            assert_eq!(row["value"], expected.value.to_string());
            assert_eq!(row["sub_index"], expected.sub_index.to_string());
        }
        assert_eq!(ok(folder, &format!("{all} --check-roots")).stdout, plain);

        let graph = format!("graph -q -r {root} -n 2 -b 50: --format csv -o -");
        let found = ok(folder, &graph).stdout;
        assert_eq!(rows(&found).len(), reached.edges.len());
        ok(
            folder,
            "index build -q --index index --from-block 50 --reorg-buffer 0",
        );
        ok(folder, "index verify -q --index index");
        assert_eq!(ok(folder, &format!("{graph} --index index")).stdout, found);
        assert_eq!(ok(folder, &format!("{all} --index index")).stdout, plain);
        ok(folder, "analyze summary -q -b 50:");
    }
}

/// A deposit has no signature, and moves things before its value.
#[test]
fn transactions_of_an_op_directory_are_shown() {
    let (_, folders) = directories();
    for folder in &folders {
        let folder = folder.path();
        let mut moved: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for row in ok(folder, "transfers -q -b 52 --format csv -o -").rows() {
            let of_one = moved.entry(row["transaction_index"].clone()).or_default();
            of_one.push((row["kind"].clone(), row["value"].clone()));
        }
        let is_mint = |of_one: &Vec<(String, String)>| of_one[0].0 == "mint" && of_one.len() > 1;
        assert!(moved.values().any(is_mint), "{moved:?}");
        for (index, expected) in moved {
            let found = ok(folder, &format!("tx 52:{index} --json")).json();
            let transfers = found["transfers"].as_array().unwrap().iter();
            let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
            let transfers = transfers.map(|it| (text(it, "kind"), text(it, "value")));
            assert_eq!(transfers.collect::<Vec<_>>(), expected, "{index}");
            // Nothing moved inside of a transaction that failed.
            assert_eq!(found["internal_transfers"], found["success"] == false);
        }
        let first = ok(folder, "tx 52:0").stdout;
        assert!(first.contains("fee          0 ETH"), "{first}");
        ask(folder, "era export -b 52: -o archive")
            .ended(2)
            .says("blocks of the OP stack are not written");
    }
}

#[test]
fn replay_of_an_op_directory_is_refused() {
    let (_, folders) = directories();
    for folder in &folders {
        for line in ["replay transfers -b 52", "transfers -b 52 --with-internal"] {
            let run = ask(folder.path(), line).ended(2);
            let expected = "blocks of the OP stack cannot be replayed";
            run.says(expected);
        }
    }
}

/// The fees of a real block are computed without a replay. The fees of a chain that is not known
/// are refused.
#[test]
fn fees_of_an_op_directory_are_computed() {
    let (_, folders) = directories();
    for kind in ["fee", "priority", "l1-fee", "operator-fee"] {
        let line = format!("transfers -b 52 --with-internal --kind {kind}");
        let run = ask(folders[0].path(), &line).ended(2);
        let expected = "the fees of chain 901";
        run.says(expected);
        ask(folders[0].path(), &line.replace("--with-internal", ""))
            .ended(2)
            .says("add --with-internal");
    }
    let blocks = or_skip!(op::balanced_blocks());
    let block = &blocks[0];
    let executed = [&block.parent, &block.block].map(|it| op_block(it).unwrap());
    let named = (executed[0].header.number, executed[0].header.hash_slow());
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    BlockWriter::create_from(&data, Layout::V2.into(), 0, executed.to_vec()).unwrap();
    edit::rename_block(&data, named, op::OP_MAINNET_GENESIS);
    let line = "transfers -q -b 107728767 --with-internal --kind l1-fee --format csv -o -";
    let fees = ok(folder.path(), line).rows();
    assert_eq!(fees.len(), 14);
    let vault = address!("420000000000000000000000000000000000001a");
    let amounts = fees.iter().map(|row| row["value"].parse::<U256>().unwrap());
    let (before, after) = block.balances[&vault];
    assert_eq!(amounts.sum::<U256>(), after - before);
    // A search follows them like all transfers.
    let payer = &fees[0]["from_address"];
    let graph = format!(
        "graph -q -r {payer} -n 1 -b 107728767 --with-internal --kind l1-fee --format csv -o -"
    );
    let edges = ok(folder.path(), &graph).rows();
    let own: Vec<_> = fees
        .iter()
        .filter(|row| row["from_address"] == *payer)
        .collect();
    assert_eq!(edges.len(), own.len());
    assert_eq!(edges[0]["value"], own[0]["value"]);
}

#[test]
fn info_warns_about_a_newer_version_once() {
    let (_, folders) = directories();
    let text = |text: &str| {
        let mut row = vec![u8::try_from(text.len()).unwrap()];
        row.extend(text.bytes().flat_map(|byte| [1, byte]));
        row
    };
    for (folder, version) in folders.iter().zip(["2.5.1", "2.6.0"]) {
        let data = folder.path().join("data");
        edit::clear(&data, "VersionHistory");
        let row = [text(version), text("abc"), text("")].concat();
        edit::put(&data, "VersionHistory", &5u64.to_be_bytes(), &row);
        let run = ok(folder.path(), "info");
        run.prints(&format!("reth {version}"));
        let warnings = run.stderr.matches("2.5.1 is the newest version").count();
        assert_eq!(warnings, usize::from(version == "2.6.0"), "{run:?}");
    }
}
