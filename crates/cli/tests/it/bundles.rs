//! `txgraph replay` on bundles, and writing them.

use crate::harness::{CHAIN, ROOT, Run, Sample, ask, ok};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use txgraph_testkit::{fixtures, or_skip};

/// The bundles of all blocks have the outputs of the node, and need no genesis file.
#[test]
fn bundles_replay_without_the_node() {
    let sample = Sample::small();
    let written = sample.ok(&format!("replay bundle bundles {CHAIN}"));
    assert_eq!(written.stdout, "");
    written.says("wrote 40 bundles into bundles");
    let again = sample
        .run(&format!("replay bundle bundles --blocks 3 {CHAIN}"))
        .ended(2);
    again.says("3.json.zst").says("--overwrite");
    sample.ok(&format!(
        "replay bundle bundles --blocks 3 --overwrite {CHAIN}"
    ));

    let folder = tempfile::tempdir().unwrap();
    let bundles = sample.path("bundles");
    let bundle = |line: &str| {
        let line = format!("replay {line} --source bundle:{}", bundles.display());
        ask(folder.path(), &line)
    };
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for outputs in [
        "transfers -q --fees",
        "trace call -q",
        "trace diff -q",
        "trace gas -q",
        "trace struct -q --tx 20:3",
        "transfers -q --blocks 5:8",
    ] {
        let node = sample.ok(&format!("replay {outputs} {CHAIN}"));
        let run = bundle(outputs).ended(0);
        assert!(!run.stdout.is_empty());
        // Files are read in the order of their names.
        assert_eq!(sorted(&run.stdout), sorted(&node.stdout), "{outputs}");
    }
    sample.ok(&format!(
        "replay trace struct -q --tx 20:3 -o trace.jsonl {CHAIN}"
    ));
    let trace = sample.path("trace.jsonl");
    bundle(&format!("compare --tx 20:3 {}", trace.display()))
        .ended(0)
        .says("steps agree");
    bundle("verify")
        .ended(0)
        .says("replayed 40 blocks, 521 transactions")
        .says("40 blocks whose changes could not be compared");
    let absent = bundle("transfers --blocks 100");
    assert_ne!(absent.status, 0, "{absent:?}");
    bundle("trace call --tx 99:0")
        .ended(3)
        .says("no bundle contains block 99");
}

#[test]
fn bundles_are_not_overwritten_by_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let from = fixtures::testdata().join("bundles/20.json.zst");
    let file = folder.path().join("20.jsonl");
    fs::copy(from, &file).unwrap();
    let line = "replay trace call --source bundle:20.jsonl --output 20.jsonl --overwrite";
    ask(folder.path(), line)
        .ended(2)
        .says("20.jsonl is an input");
}

/// Execution witnesses prove the state root before and after.
#[test]
fn witness_is_verified_completely() {
    let file = fixtures::testdata().join("bundles/11-witness.json.zst");
    let folder = tempfile::tempdir().unwrap();
    let line = format!("replay verify --source bundle:{}", file.display());
    let run = ok(folder.path(), &line);
    assert!(!run.stderr.contains("warning"), "{run:?}");
}

/// A bundle without a slot that a transaction reads: the error names all of it.
#[test]
fn missing_state_is_named_with_status_3() {
    let bytes = fs::read(fixtures::testdata().join("bundles/20.json.zst")).unwrap();
    let text = zstd::decode_all(&bytes[..]).unwrap();
    let mut json: Value = serde_json::from_slice(&text).unwrap();
    let accounts = json["pre"].as_object_mut().unwrap();
    let with_slots = accounts.iter_mut().find(|(address, account)| {
        // Contracts of the protocol are called around the transactions.
        if address.starts_with("0x000") {
            return false;
        }
        let storage = account.get("storage").and_then(Value::as_object);
        storage.is_some_and(|storage| !storage.is_empty())
    });
    let (address, account) = with_slots.unwrap();
    let address = address.clone();
    account.as_object_mut().unwrap().remove("storage");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.json"), json.to_string()).unwrap();
    let run = ask(folder.path(), "replay transfers --source bundle:x.json").ended(3);
    let error = run.stderr.to_lowercase();
    assert!(
        error.contains("block 20") && error.contains("transaction"),
        "{run:?}"
    );
    assert!(
        error.contains(&address.to_lowercase()) && error.contains("slot 0x"),
        "{run:?}"
    );
}

/// `balanceOf` reads slots that the block does not: bundles have them if they were asked for.
#[test]
fn bundles_have_the_balances_that_they_were_written_with() {
    const TOKEN: &str = "0x5d0099f6bff140a5de14430d77f1f2faa7aa60df";
    let sample = Sample::small();
    let compared = |run: &Run| {
        let note = run.stderr.lines().find(|line| line.contains("compared"));
        note.unwrap_or_else(|| panic!("{run:?}")).to_owned()
    };
    let node = sample.ok(&format!("replay balances {TOKEN} {CHAIN}"));
    assert!(!compared(&node).contains("compared 0 "), "{node:?}");
    let folder = tempfile::tempdir().unwrap();
    let bundle = |name: &str| {
        let source = format!("bundle:{}", sample.path(name).display());
        let line = format!("replay balances {TOKEN} --source {source}");
        ask(folder.path(), &line)
    };
    let written = sample.ok(&format!("replay bundle with --balances {TOKEN} {CHAIN}"));
    assert_eq!(compared(&written), compared(&node));
    let with = bundle("with");
    assert_eq!((with.status, &with.stdout), (0, &node.stdout), "{with:?}");
    assert_eq!(compared(&with), compared(&node));
    sample.ok(&format!("replay bundle without {CHAIN}"));
    bundle("without").ended(3).says("is not in the bundle");
}

/// A block that two files have is one block.
#[test]
fn copies_of_a_bundle_are_one_block() {
    let sample = Sample::small();
    sample.ok(&format!("replay bundle bundles {CHAIN} --blocks 10:21"));
    let rows = || {
        let line = "replay transfers --fees -f csv --source bundle:bundles";
        ask(sample.folder.path(), line)
    };
    let one = rows();
    assert_eq!(one.status, 0, "{one:?}");
    assert!(one.stdout.lines().count() > 1, "{one:?}");
    let file = sample.path("bundles/20.json.zst");
    std::fs::copy(&file, sample.path("bundles/copy.json.zst")).unwrap();
    let two = rows();
    assert_eq!((two.status, two.stdout), (0, one.stdout));
}

/// Bundles have the transfers, graphs and taint of the node that they were written from.
#[test]
fn bundles_are_a_source_of_transfers() {
    let sample = Sample::small();
    sample.ok(&format!("replay bundle bundles {CHAIN}"));
    let folder = tempfile::tempdir().unwrap();
    let bundles = sample.path("bundles");
    let bundle = |line: &str| {
        let line = format!("{line} --source bundle:{}", bundles.display());
        ask(folder.path(), &line)
    };
    for line in [
        "transfers -q -f csv -b 1:40".to_owned(),
        "transfers -q -f csv -b 1:40 --with-internal --kind transfer,internal,fee,priority"
            .to_owned(),
        "transfers -q -f csv -b 20 --with-internal".to_owned(),
        format!("graph -q -r {ROOT} -n 3 -d both -b 1:40 --with-internal -f csv"),
        format!(
            "analyze taint -q -r {ROOT} -n all -b 1:40 --with-internal --method haircut --table ledger -f csv"
        ),
        format!(
            "analyze taint -q -r {ROOT} -n all -b 1:40 --with-internal --method execution --table ledger -f csv"
        ),
    ] {
        let node = sample.ok(&format!("{line} {CHAIN}"));
        assert!(node.stdout.lines().count() > 1, "{line}");
        assert_eq!(bundle(&line).ended(0).stdout, node.stdout, "{line}");
    }
    // Without a range, all blocks of the files.
    let all = bundle("transfers -q -f csv").ended(0).stdout;
    assert_eq!(all, bundle("transfers -q -f csv -b 1:40").ended(0).stdout);

    fs::remove_file(bundles.join("7.json.zst")).unwrap();
    bundle("transfers -q -f csv")
        .ended(3)
        .says("not in a bundle");
    bundle("transfers -f csv --allow-partial")
        .ended(0)
        .says("7");
}

/// All tokens that a root of a mainnet block sent, and all that were got for them, are somewhere at the
/// end of the block.
#[test]
fn tainted_amounts_of_mainnet_blocks_add_up() {
    let root = or_skip!(fixtures::require_root());
    let folder = tempfile::tempdir().unwrap();
    let mut rules = BTreeSet::new();
    for (block, root_address) in [
        (
            "19934116-pevm",
            "0x906f31eb6331b6d069cac3a7158ffed09bc93d38",
        ),
        (
            "17034869-pevm",
            "0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
        ),
        (
            "19929064-pevm",
            "0x80a64c6d7f12c47b7c66c5b4e20e72bc1fcd5d9e",
        ),
    ] {
        let file = root.join(format!("mainnet/blocks/{block}.json.zst"));
        let line = format!(
            "analyze taint -q -r {root_address} --with-internal --through-swaps --method execution \
             -f json --source bundle:{}",
            file.display()
        );
        let answer = ask(folder.path(), &line).ended(0);
        let result = serde_json::from_str::<Value>(&answer.stdout).unwrap()["result"].take();
        let mut amounts = BTreeMap::<String, i128>::new();
        let mut add = |row: &Value, token: &str, amount: &str, sign: i128| {
            let value: i128 = row[amount].as_str().unwrap().parse().unwrap();
            let id = format!("{} {}", row[token], row["token_id"]);
            *amounts.entry(id).or_default() += sign * value;
        };
        for (table, token, amount, sign) in [
            ("sources", "token_address", "value", 1),
            ("swaps", "got_token_address", "tainted_got", 1),
            ("ends", "token_address", "amount", -1),
        ] {
            for row in result[table].as_array().unwrap() {
                add(row, token, amount, sign);
            }
        }
        assert!(!amounts.is_empty(), "{block}");
        assert!(amounts.values().all(|it| *it == 0), "{block}: {amounts:?}");
        let ledger = result["ledger"].as_array().unwrap();
        rules.extend(
            ledger
                .iter()
                .map(|row| row["rule"].as_str().unwrap().to_owned()),
        );
    }
    let all = ["given", "got", "passed_on", "slot", "transfer"];
    assert!(rules.iter().eq(all), "{rules:?}");
}

/// Commands that need a node say what works without one.
#[test]
fn hints_name_what_bundles_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = fixtures::testdata().join("bundles/20.json.zst");
    for command in [
        "tx 20:3",
        "statement 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0",
    ] {
        let line = format!("{command} --source bundle:{}", bundle.display());
        let run = ask(folder.path(), &line).ended(2);
        run.says("this source cannot read whole blocks");
        run.says("txgraph transfers --blocks BLOCK --with-internal");
    }
    let line = format!(
        "transfers --blocks 20 --with-internal --source bundle:{}",
        bundle.display()
    );
    ask(folder.path(), &line).ended(0);
}
