//! Blocks of mainnet with the state that they read, from the large fixtures
//! (`fixtures/mainnet/README.md`, whose traps are tests here).

use crate::bundles::{options, replay};
use alloy_consensus::Transaction;
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256, address};
use alloy_rlp::Decodable;
use alloy_trie::{TrieAccount, nodes::TrieNode};
use serde_json::Value;
use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Mutex,
    thread,
};
use txgraph_bundle::{Bundle, Missing};
use txgraph_evm::StateSource;
use txgraph_replay::{BlockReplay, Difference, Error};
use txgraph_testkit::{fixtures, or_skip, says};

/// A witness that lacks an account which its block reads.
const INCOMPLETE: &str = "22188088-keth";

/// The files of blocks; `None` without the large fixtures.
fn files() -> Option<Vec<PathBuf>> {
    let blocks = fixtures::require_root()?.join("mainnet/blocks");
    Some(Bundle::list(&blocks).unwrap())
}

/// All files but the one that lacks a part of the state.
fn complete(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.retain(|file| !file.to_string_lossy().contains(INCOMPLETE));
    files
}

/// The file of a block from a source, as `11114732-pevm`.
fn file(name: &str) -> Option<Bundle> {
    let files = files()?;
    let name = format!("{name}.json.zst");
    let file = files.iter().find(|file| file.ends_with(&name));
    Some(Bundle::open(file.unwrap_or_else(|| panic!("{name}"))).unwrap())
}

/// Opens all files on two threads.
fn for_each(files: &[PathBuf], check: impl Fn(&Bundle) + Sync) {
    let next = Mutex::new(files.iter());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let file = next.lock().unwrap().next();
                    let Some(file) = file else { return };
                    check(&Bundle::open(file).unwrap());
                }
            });
        }
    });
}

fn replayed(bundle: &Bundle) -> BlockReplay {
    let path = bundle.path().display();
    let replay = replay(bundle, options()).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(replay.mismatches, [], "{path}");
    replay
}

/// Gas, bloom filter, receipts root since Byzantium, requests hash since Prague; for witnesses the
/// state root before and after the block.
#[test]
fn every_block_has_the_results_of_its_header() {
    let Some(files) = files() else { return };
    assert!(files.len() >= 63, "{} files", files.len());
    let sums = Mutex::new((0, 0, 0));
    for_each(&complete(files), |bundle| {
        let replay = replayed(bundle);
        assert!(replay.verified.header);
        assert_eq!(replay.verified.changes, bundle.is_witness());
        assert_eq!(replay.gas_used, bundle.block().header.gas_used);
        let mut sums = sums.lock().unwrap();
        sums.0 += replay.transactions.len();
        sums.1 += replay.gas_used;
        sums.2 += usize::from(bundle.is_witness());
    });
    let (transactions, gas, witnesses) = sums.into_inner().unwrap();
    assert!(
        transactions >= 11_000 && gas >= 562_000_000,
        "{transactions} {gas}"
    );
    assert!(witnesses >= 15, "{witnesses}");
}

#[cfg(feature = "oracle")]
#[test]
fn both_engines_agree_on_every_block() {
    let Some(files) = files() else { return };
    for_each(&complete(files), |bundle| {
        let options = txgraph_replay::ReplayOptions {
            engine: txgraph_replay::EngineKind::Both,
            ..options()
        };
        let path = bundle.path().display();
        let replay = replay(bundle, options).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(replay.mismatches, [], "{path}");
    });
}

/// Trap 1: the account 0x…2 has neither nonce nor balance and exists; a call of it pays no 25,000.
#[test]
fn empty_account_exists_in_block_2674998() {
    let bundle = or_skip!(file("2674998-pevm"));
    replayed(&bundle);
    let json: Value = serde_json::from_slice(&decompressed(&bundle)).unwrap();
    let mut without = json;
    let pre = without["pre"].as_object_mut().unwrap();
    let listed = pre.len();
    pre.retain(|_, account| {
        account["nonce"] != 0 || account["balance"] != "0x0" || !account["code_hash"].is_null()
    });
    assert_eq!(pre.len() + 1, listed);
    let bundle = Bundle::parse(without.to_string().as_bytes(), bundle.path()).unwrap();
    let replay = replay(&bundle, options()).unwrap();
    let gas = replay.mismatches.iter().find_map(|it| match it.difference {
        Difference::BlockGasUsed { header, replayed } => Some(replayed - header),
        _ => None,
    });
    assert_eq!(gas, Some(25_000));
}

fn decompressed(bundle: &Bundle) -> Vec<u8> {
    let bytes = std::fs::read(bundle.path()).unwrap();
    zstd::decode_all(&bytes[..]).unwrap()
}

/// Trap 2: a contract destroys itself and is created again. Its old storage is gone; a slot that
/// gets its old value again is a change.
#[test]
fn storage_of_recreated_contract_in_block_11114732() {
    const CONTRACT: Address = address!("0000000000007f150bd6f54c40a34d7c3d5e9f56");
    let bundle = or_skip!(file("11114732-pevm"));
    let replay = replayed(&bundle);
    let change = replay.changes.iter().find(|it| it.address == CONTRACT);
    let change = change.unwrap();
    assert!(change.storage_cleared);
    let slot = change
        .slots
        .iter()
        .find(|slot| slot.key == U256::from(0x33));
    let slot = slot.unwrap();
    assert_eq!(
        (slot.original, slot.present),
        (U256::from(53), U256::from(53))
    );
}

/// Trap 3: witnesses lack the code of contracts that are read and not run.
#[test]
fn witnesses_lack_code_that_does_not_run() {
    let mut absent = 0;
    for name in ["22615247-keth", "23587691-sbv", "24628607-zisk"] {
        let Some(bundle) = file(name) else { return };
        replayed(&bundle);
        let json: Value = serde_json::from_slice(&decompressed(&bundle)).unwrap();
        let mut state = bundle.state();
        for node in json["nodes"].as_array().unwrap() {
            let node: Bytes = serde_json::from_value(node.clone()).unwrap();
            if let Ok(TrieNode::Leaf(leaf)) = TrieNode::decode(&mut &node[..])
                && let Ok(account) = TrieAccount::decode(&mut &leaf.value[..])
                && account.code_hash != KECCAK256_EMPTY
                && state.code(account.code_hash) == Err(Missing::Code(account.code_hash))
            {
                absent += 1;
            }
        }
    }
    assert!(absent > 0);
}

/// This witness lacks the recipient of transaction 19, a call with gas 21,000: whether it succeeds
/// depends on the recipient's code, so the recipient cannot be taken for an account without code.
#[test]
fn witness_of_block_22188088_lacks_a_recipient() {
    let bundle = or_skip!(file(INCOMPLETE));
    let error = replay(&bundle, options()).unwrap_err();
    let Error::State {
        transaction: Some(19),
        source,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    let Some(Missing::AccountNode { address, .. }) = source.downcast_ref() else {
        panic!("{error}");
    };
    let transaction = &bundle.block().transactions[19];
    assert_eq!(transaction.to(), Some(*address));
    assert_eq!(
        (transaction.gas_limit(), transaction.input().len()),
        (21_000, 0)
    );
}

/// Trap 3: without any one of the nodes the replay names it, or has no use for it.
#[test]
fn missing_nodes_of_block_1150001_are_errors() {
    let bundle = or_skip!(file("1150001-zeth"));
    let json: Value = serde_json::from_slice(&decompressed(&bundle)).unwrap();
    let count = json["nodes"].as_array().unwrap().len();
    let mut errors = 0;
    for at in 0..count {
        let mut without = json.clone();
        without["nodes"].as_array_mut().unwrap().remove(at);
        let bundle = Bundle::parse(without.to_string().as_bytes(), bundle.path()).unwrap();
        match replay(&bundle, options()) {
            Ok(replay) => assert_eq!(replay.mismatches, []),
            Err(error @ (Error::State { .. } | Error::Changes { .. })) => {
                says(&error, "is not in the witness");
                errors += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(errors * 2 > count, "{errors} of {count}");
}

/// Four signatures have an `s` in the upper half, which Homestead forbade (EIP-2).
#[test]
fn high_s_in_block_116525() {
    let bundle = or_skip!(file("116525-pevm"));
    let signed = bundle.block().transactions.iter();
    let high = signed.filter(|it| it.signature().normalize_s().is_some());
    assert_eq!(high.count(), 4);
    replayed(&bundle);
}

/// Flat files before the merge may lack the headers of ommers.
#[test]
fn blocks_without_their_ommers_are_accepted() {
    let bundle = or_skip!(file("5283152-pevm"));
    assert!(bundle.block().ommers.is_empty());
    replayed(&bundle);
    let mut json: Value = serde_json::from_slice(&decompressed(&bundle)).unwrap();
    json["ommer_hashes"] = Value::Array(Vec::new());
    let error = Bundle::parse(json.to_string().as_bytes(), bundle.path()).unwrap_err();
    says(&error, "ommers");
}

/// The answers of geth's tracers, which a file of block 22,244,135 contains.
#[test]
fn frames_of_block_22244135_are_those_of_geth() {
    let Some(files) = files() else { return };
    let name = |file: &&PathBuf| file.to_string_lossy().contains("/22244135-");
    let Some(path) = files.iter().find(name) else {
        let _ = writeln!(
            io::stderr(),
            "skipped: the fixtures contain no file of block 22244135"
        );
        return;
    };
    let bundle = Bundle::open(path).unwrap();
    let replay = replayed(&bundle);
    let json: Value = serde_json::from_slice(&decompressed(&bundle)).unwrap();
    let traces = json["call_traces"].as_array().unwrap();
    assert_eq!(traces.len(), replay.transactions.len());
    let (mut frames, mut moving, mut transfers) = (0, 0, 0);
    for (transaction, trace) in replay.transactions.iter().zip(traces) {
        let trace = trace.get("result").unwrap_or(trace);
        let ours = serde_json::to_value(transaction.call_trace(false)).unwrap();
        compare(&ours, trace, &mut frames);
        let internal = transaction.internal_transfers(replay.timestamp);
        transfers += internal.len();
        for call in trace["calls"].as_array().into_iter().flatten() {
            moving += moving_frames(call);
        }
    }
    assert_eq!(frames, 411);
    assert_eq!((moving, transfers), (36, 36));
}

/// Counts the frames below and including one that move wei.
fn moving_frames(frame: &Value) -> usize {
    let failed = frame.get("error").is_some();
    let value = frame["value"].as_str().unwrap_or("0x0");
    let moves = frame["type"] != "DELEGATECALL" && frame["type"] != "CALLCODE" && value != "0x0";
    let below = frame["calls"].as_array().into_iter().flatten();
    match failed {
        true => 0,
        false => usize::from(moves) + below.map(moving_frames).sum::<usize>(),
    }
}

/// Compares a frame and all below it in every field that geth writes.
fn compare(ours: &Value, theirs: &Value, frames: &mut usize) {
    *frames += 1;
    let fields = [
        "from", "to", "gas", "gasUsed", "input", "output", "error", "value", "type",
    ];
    for field in fields {
        assert_eq!(ours.get(field), theirs.get(field), "{field} of {theirs}");
    }
    let children = |frame: &Value| frame["calls"].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (children(ours), children(theirs));
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        compare(ours, theirs, frames);
    }
}
