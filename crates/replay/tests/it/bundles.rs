//! Bundles: written from a node and replayed without it, with the same results.

use crate::{
    history::everything,
    support::{Opened, Present, genesis},
    witness,
};
use alloy_primitives::U256;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_bundle::{Bundle, BundleWriter, Missing, TrieError};
use txgraph_nodedb::BlockRange;
use txgraph_replay::{
    BlockReplay, ChainRules, Error, RecordedBlock, ReplayOptions, Replayer, Verify,
};
use txgraph_testkit::fixtures;

/// Records everything, and compares with what a bundle has.
pub(crate) fn options() -> ReplayOptions {
    let mut options = everything();
    options.verify.receipts = false;
    options
}

/// Replays the block of a bundle, with the rules that are known for it.
pub(crate) fn replay(bundle: &Bundle, options: ReplayOptions) -> Result<BlockReplay, Error> {
    let rules = ChainRules::of_bundle(bundle, None)?;
    let number = bundle.block().header.number;
    Replayer::new(rules, bundle, bundle, options)?.block(number)
}

/// All outputs of a replay, as text.
fn outputs(replay: &BlockReplay) -> String {
    let transactions = replay.transactions.iter().map(|it| {
        (
            it.hash,
            it.call_trace(true),
            it.internal_transfers(replay.timestamp),
            it.fees(&replay.environment, 1),
            serde_json::to_string(&it.state_diff()).unwrap(),
            it.outcome.clone(),
        )
    });
    format!("{:#?}", transactions.collect::<Vec<_>>())
}

fn write(recorded: &RecordedBlock, directory: &Path) -> PathBuf {
    let writer = BundleWriter::new(directory, true).unwrap();
    let RecordedBlock {
        chain,
        block,
        state,
        ..
    } = recorded;
    writer.write(chain, block, state).unwrap()
}

/// The committed bundles: of our own chain, flat and as witness.
fn committed() -> Vec<PathBuf> {
    Bundle::list(&fixtures::testdata().join("bundles")).unwrap()
}

/// Every block of the small chain: the bundle has the same outputs as the node.
#[test]
fn bundles_of_a_node_have_its_outputs() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["small/v1", "small/v2"] {
        let opened = Opened::fixture(name).unwrap();
        let options = ReplayOptions {
            verify: Verify::default(),
            ..options()
        };
        let replayer = opened.replayer(options);
        for number in opened.blocks.first..=opened.blocks.last {
            let recorded = replayer.record(number).unwrap();
            assert_eq!(recorded.replay.mismatches, []);
            let bundle = Bundle::open(&write(&recorded, directory.path())).unwrap();
            let node = replayer.block(number).unwrap();
            let ours = replay(&bundle, self::options()).unwrap();
            assert_eq!(ours.mismatches, [], "{name} {number}");
            assert!(ours.verified.header && !ours.verified.changes);
            assert_eq!(outputs(&ours), outputs(&node), "{name} {number}");
            assert_eq!(ours.changes, node.changes, "{name} {number}");
        }
    }
}

/// A bundle contains nothing that is not read: without any part of it the replay fails, and names
/// what is missing.
#[test]
fn missing_flat_state_is_named() {
    let opened = Opened::fixture("small/v2").unwrap();
    let replayer = opened.replayer(options());
    let directory = tempfile::tempdir().unwrap();
    let (mut accounts, mut slots, mut codes) = (0, 0, 0);
    for number in (opened.blocks.first..=opened.blocks.last).step_by(7) {
        let full = replayer.record(number).unwrap();
        let fails = |recorded: &RecordedBlock, expected: Missing| {
            let bundle = Bundle::open(&write(recorded, directory.path())).unwrap();
            let error = replay(&bundle, options()).unwrap_err();
            let Error::State { block, source, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!(*block, number);
            assert_eq!(source.downcast_ref::<Missing>(), Some(&expected), "{error}");
            let text = error.to_string();
            assert!(text.contains(&expected.to_string()), "{text}");
        };
        let copy = || RecordedBlock {
            replay: full.replay.clone(),
            chain: full.chain.clone(),
            block: full.block.clone(),
            state: full.state.clone(),
        };
        for (address, account) in &full.state.accounts {
            let mut without = copy();
            without.state.accounts.remove(address);
            fails(&without, Missing::Account(*address));
            accounts += 1;
            for key in account.iter().flat_map(|it| it.storage.keys()) {
                let mut without = copy();
                let account = without.state.accounts.get_mut(address).unwrap();
                account.as_mut().unwrap().storage.remove(key);
                let (address, key) = (*address, *key);
                fails(&without, Missing::Slot { address, key });
                slots += 1;
            }
        }
        for hash in full.state.codes.keys() {
            let mut without = copy();
            without.state.codes.remove(hash);
            fails(&without, Missing::Code(*hash));
            codes += 1;
        }
    }
    assert!(
        accounts > 50 && slots > 50 && codes > 5,
        "{accounts} {slots} {codes}"
    );
}

/// The error names the transaction that reads what is missing.
#[test]
fn missing_state_names_the_transaction() {
    let opened = Opened::fixture("small/v2").unwrap();
    let replayer = opened.replayer(options());
    let number = (opened.blocks.first..=opened.blocks.last)
        .find(|number| replayer.block(*number).unwrap().transactions.len() > 3)
        .unwrap();
    let mut recorded = replayer.record(number).unwrap();
    let last = recorded.replay.transactions.last().unwrap();
    let senders = recorded.replay.transactions.iter();
    let (index, sender) = senders
        .map(|it| (it.index, it.transaction.caller))
        .rfind(|(index, sender)| {
            let mut others = recorded.replay.transactions.iter();
            !others.any(|it| it.index < *index && it.transaction.caller == *sender)
        })
        .unwrap();
    assert!(index <= last.index);
    recorded.state.accounts.remove(&sender);
    let directory = tempfile::tempdir().unwrap();
    let bundle = Bundle::open(&write(&recorded, directory.path())).unwrap();
    let error = replay(&bundle, options()).unwrap_err();
    let Error::State { transaction, .. } = &error else {
        panic!("{error}");
    };
    assert!(transaction.unwrap() <= index, "{error}");
    assert!(error.to_string().contains(" in transaction "), "{error}");
}

/// The small chain from its genesis, each block as an execution witness: the state root equals
/// the header's, and without any node the replay fails or does not need it.
#[test]
fn witnesses_end_in_the_state_root_of_the_header() {
    let fixture = &fixtures::committed()[1];
    let genesis = genesis(fixture);
    let opened = Opened::fixture("small/v2").unwrap();
    let present = Present::new(genesis.state);
    let replayer = Replayer::new(genesis.rules.clone(), &*opened.db, &present, options()).unwrap();
    let node = opened.replayer(options());
    let (mut needed, mut errors) = (0, 0);
    for number in 1..=opened.blocks.last {
        let recorded = node.record(number).unwrap();
        let before = replayer.block(number).unwrap();
        let json = witness::json(&recorded, &present.get(), &before.changes, &opened.db);
        let bundle = Bundle::parse(json.to_string().as_bytes(), Path::new("witness")).unwrap();
        let ours = replay(&bundle, options()).unwrap();
        assert_eq!(ours.mismatches, []);
        assert!(ours.verified.changes && ours.verified.header);
        assert_eq!(outputs(&ours), outputs(&before));
        let nodes = json["witness"]["state"].as_array().unwrap().len();
        for at in (0..nodes).filter(|_| number % 10 == 3) {
            let mut without = json.clone();
            without["witness"]["state"]
                .as_array_mut()
                .unwrap()
                .remove(at);
            let bundle = Bundle::parse(without.to_string().as_bytes(), Path::new("witness"));
            needed += 1;
            match replay(&bundle.unwrap(), options()) {
                Ok(ours) => assert_eq!(ours.mismatches, []),
                Err(Error::State { source, .. } | Error::Changes { source, .. }) => {
                    errors += 1;
                    let missing = source.downcast_ref::<Missing>();
                    assert!(
                        matches!(
                            missing,
                            Some(Missing::AccountNode {
                                source: TrieError::Missing { .. },
                                ..
                            }) | Some(Missing::SlotNode {
                                source: TrieError::Missing { .. },
                                ..
                            })
                        ),
                        "{missing:?}"
                    );
                }
                Err(error) => panic!("{error}"),
            }
        }
        present.advance(number, before.hash, &before.changes);
    }
    assert!(errors > 100 && errors * 2 > needed, "{errors} of {needed}");
}

/// A header with another state root is a difference, not an error.
#[test]
fn wrong_changes_have_another_state_root() {
    for path in committed() {
        let bundle = Bundle::open(&path).unwrap();
        if !bundle.is_witness() {
            continue;
        }
        let changes = replay(&bundle, options()).unwrap().changes;
        let root = bundle.state_root_after(&changes).unwrap();
        assert_eq!(root, bundle.block().header.state_root);
        for at in 0..changes.len() {
            let mut other = changes.clone();
            let present = other[at].present.get_or_insert_default();
            present.balance += U256::from(1);
            assert_ne!(bundle.state_root_after(&other).unwrap(), root);
        }
        return;
    }
    panic!("no witness is committed");
}

#[test]
fn committed_bundles_replay() {
    let mut kinds = [0, 0];
    for path in committed() {
        let bundle = Bundle::open(&path).unwrap();
        let ours = replay(&bundle, options()).unwrap();
        assert_eq!(ours.mismatches, [], "{}", path.display());
        assert!(!ours.transactions.is_empty() && ours.verified.header);
        assert_eq!(ours.verified.changes, bundle.is_witness());
        kinds[usize::from(bundle.is_witness())] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
}

/// Both engines read what the protocol reads, so one bundle serves both.
#[cfg(feature = "oracle")]
#[test]
fn both_engines_agree_on_committed_bundles() {
    for path in committed() {
        let bundle = Bundle::open(&path).unwrap();
        let options = ReplayOptions {
            engine: txgraph_replay::EngineKind::Both,
            ..options()
        };
        let ours = replay(&bundle, options).unwrap();
        assert_eq!(ours.mismatches, [], "{}", path.display());
    }
}

/// A range of one block is the only one that a bundle has.
#[test]
fn other_blocks_are_refused() {
    let bundle = Bundle::open(&committed()[0]).unwrap();
    let number = bundle.block().header.number;
    let rules = ChainRules::of_bundle(&bundle, None).unwrap();
    let replayer = Replayer::new(rules, &bundle, &bundle, options()).unwrap();
    for number in [number - 1, number + 1] {
        let error = replayer.block(number).unwrap_err();
        assert!(matches!(error, Error::NotInBundle { .. }), "{error}");
    }
    let both = BlockRange::from_to(number, number + 1);
    let mut seen = 0;
    let error = replayer.range(both, &mut |_| {
        seen += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(seen, 1);
    assert!(matches!(error, Err(Error::NotInBundle { .. })), "{error:?}");
}

/// Rules of an unknown chain come with the bundle; rules of another chain are refused.
#[test]
fn rules_of_unknown_chains_are_in_the_bundle() {
    let opened = Opened::fixture("small/v2").unwrap();
    let replayer = opened.replayer(options());
    let mut recorded = replayer.record(3).unwrap();
    let directory = tempfile::tempdir().unwrap();
    recorded.chain.rules = None;
    let bundle = Bundle::open(&write(&recorded, directory.path())).unwrap();
    let error = replay(&bundle, options()).unwrap_err();
    assert!(matches!(error, Error::UnknownBundleChain { .. }), "{error}");
    let rules = opened.rules.clone();
    let replayer = Replayer::new(rules, &bundle, &bundle, options()).unwrap();
    assert_eq!(replayer.block(3).unwrap().mismatches, []);
    let mainnet = ChainRules::known(alloy_consensus::constants::MAINNET_GENESIS_HASH).unwrap();
    let error = Replayer::new(mainnet, &bundle, &bundle, options()).unwrap_err();
    assert!(matches!(error, Error::WrongChain { .. }), "{error}");
}

/// Writes the committed bundles again: `cargo test --test it -- --ignored write_committed_bundles`.
#[test]
#[ignore = "writes into testdata/"]
fn write_committed_bundles() {
    let directory = fixtures::testdata().join("bundles");
    let opened = Opened::fixture("small/v2").unwrap();
    let node = opened.replayer(options());
    let present = Present::new(genesis(&fixtures::committed()[1]).state);
    let replayer = Replayer::new(opened.rules.clone(), &*opened.db, &present, options()).unwrap();
    for number in 1..=20 {
        let recorded = node.record(number).unwrap();
        let before = replayer.block(number).unwrap();
        if number == 11 {
            let json = witness::json(&recorded, &present.get(), &before.changes, &opened.db);
            let bytes = zstd::encode_all(json.to_string().as_bytes(), 19).unwrap();
            std::fs::write(directory.join("11-witness.json.zst"), bytes).unwrap();
        }
        if number == 20 {
            write(&recorded, &directory);
        }
        present.advance(number, before.hash, &before.changes);
    }
}
