//! Checks hashes, roots, signatures and accounts of chains in both layouts, after appends
//! and unwinds.

use crate::{
    raw::{self, Chain, Tables, number_of},
    verify::verify,
};
use alloy_consensus::proofs;
use alloy_primitives::{Address, U256, keccak256};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use txgraph_chaingen::{Appender, Config, Error, Layout, Profile};

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::V1, Layout::V2];

pub(crate) fn small(layout: Layout) -> Config {
    Config::small(11, layout)
}

fn create(config: Config) -> (tempfile::TempDir, Appender) {
    let folder = tempfile::tempdir().unwrap();
    let chain = Appender::create(folder.path(), config).unwrap();
    (folder, chain)
}

#[test]
fn blocks_are_linked_and_valid_in_both_layouts() {
    for layout in LAYOUTS {
        for profile in [
            Profile::Mainnet,
            Profile::Tokens,
            Profile::Odd,
            Profile::Exchanges,
        ] {
            let (folder, mut chain) = create(Config {
                profile,
                ..small(layout)
            });
            let tip = chain.append(70).unwrap();
            drop(chain);
            let read = verify(folder.path(), layout);
            let last = read.blocks.last().unwrap();
            assert_eq!((tip.number, tip.hash), (70, last.hash));
            assert_eq!(
                tip.transactions,
                last.first_tx + last.transactions.len() as u64
            );
            let kinds: BTreeSet<u8> = read
                .blocks
                .iter()
                .flat_map(|block| &block.transactions)
                .map(|tx| tx.tx_type().into())
                .collect();
            assert_eq!(
                kinds,
                BTreeSet::from([0, 1, 2, 3, 4]),
                "transactions of all types"
            );
        }
    }
}

#[test]
fn genesis_matches_its_specification() {
    let (folder, chain) = create(small(Layout::V2));
    let hash = chain.tip().hash;
    drop(chain);
    let genesis: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("genesis.json")).unwrap())
            .unwrap();
    // Computes the state root from the specification alone.
    let alloc = genesis["alloc"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(address, account)| {
            let code = account["code"]
                .as_str()
                .map(|code| code.parse::<alloy_primitives::Bytes>().unwrap());
            let state = alloy_consensus::TrieAccount {
                nonce: 0,
                balance: account["balance"].as_str().unwrap().parse().unwrap(),
                storage_root: alloy_consensus::EMPTY_ROOT_HASH,
                code_hash: keccak256(code.unwrap_or_default()),
            };
            (address.parse::<Address>().unwrap(), state)
        });
    let read = verify(folder.path(), Layout::V2);
    let header = &read.blocks[0].header;
    assert_eq!(proofs::state_root_unhashed(alloc), header.state_root);
    assert_eq!(header.hash_slow(), hash);
    let text = |key: &str| {
        genesis[key]
            .as_str()
            .unwrap()
            .parse::<U256>()
            .unwrap()
            .to::<u64>()
    };
    assert_eq!(text("timestamp"), header.timestamp);
    assert_eq!(text("gasLimit"), header.gas_limit);
    assert_eq!(Some(text("baseFeePerGas")), header.base_fee_per_gas);
}

fn static_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder.join("static_files")).unwrap();
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn storage_settings_do_not_change_the_chain() {
    let (at_once, mut chain) = create(Config {
        blocks_per_file: 16,
        ..small(Layout::V2)
    });
    chain.append(60).unwrap();
    let config = Config {
        blocks_per_file: 16,
        commit_blocks: 7,
        ..small(Layout::V2)
    };
    let (in_steps, mut steps) = create(config);
    for step in [1, 9, 0, 30, 20] {
        steps.append(step).unwrap();
    }
    assert_eq!(static_files(at_once.path()), static_files(in_steps.path()));
    drop((chain, steps));
    assert_eq!(Tables::read(at_once.path()), Tables::read(in_steps.path()));

    let (other, mut chain) = create(Config {
        seed: 12,
        ..small(Layout::V2)
    });
    chain.append(60).unwrap();
    drop(chain);
    let files = (static_files(at_once.path()), static_files(other.path()));
    assert_ne!(
        files.0["static_file_receipts_0_15"],
        files.1["static_file_receipts_0_499999"]
    );
}

/// Golden outputs and expected benchmark answers depend on these chains. A change of the
/// writer must keep them or update all of those.
#[test]
fn the_chain_of_a_seed_is_stable() {
    let hash_at = |config: Config, blocks: u64| {
        let (_folder, mut chain) = create(config);
        chain.append(blocks).unwrap().hash.to_string()
    };
    assert_eq!(
        hash_at(small(Layout::V1), 60),
        "0x09ee5dfebd88415bc432e943e94a8b37d3da3f411ca62551168c89dc9b64c05f"
    );
    assert_eq!(
        hash_at(Config::default(), 200),
        "0x8b2d9961298b7a31c1778de57f0c24e89fd19b0e9930f42002c38424668d0340"
    );
}

#[test]
fn both_layouts_contain_the_same_chain() {
    let (v1, v2) = (create(small(Layout::V1)), create(small(Layout::V2)));
    let (mut in_v1, mut in_v2) = (v1.1, v2.1);
    assert_eq!(in_v1.append(50).unwrap(), in_v2.append(50).unwrap());
    let (in_v1, in_v2) = (static_files(v1.0.path()), static_files(v2.0.path()));
    for (name, bytes) in &in_v1 {
        assert_eq!(Some(bytes), in_v2.get(name), "{name}");
    }
    assert_eq!((in_v1.len(), in_v2.len()), (9, 20));
}

#[test]
fn full_files_are_followed_by_new_ones() {
    for layout in LAYOUTS {
        let (folder, mut chain) = create(Config {
            blocks_per_file: 10,
            ..small(layout)
        });
        for step in [9, 1, 1, 24] {
            chain.append(step).unwrap();
        }
        drop(chain);
        verify(folder.path(), layout);
        let blocks: Vec<_> = raw::jars(folder.path(), "receipts")
            .iter()
            .map(|jar| jar.blocks)
            .collect();
        assert_eq!(blocks, [(0, 9), (10, 19), (20, 29), (30, 35)].map(Some));
    }
}

#[test]
fn unwind_restores_the_earlier_state() {
    for layout in LAYOUTS {
        let (folder, mut chain) = create(Config {
            blocks_per_file: 10,
            ..small(layout)
        });
        chain.append(25).unwrap();
        let tip = chain.tip();
        let files = static_files(folder.path());
        let more = chain.append(18).unwrap();
        assert_ne!(static_files(folder.path()), files);
        assert_eq!(chain.unwind(25).unwrap(), tip);
        assert_eq!(
            static_files(folder.path()).keys().collect::<Vec<_>>(),
            files.keys().collect::<Vec<_>>()
        );
        for (name, bytes) in static_files(folder.path()) {
            // The length of the longest row is never reduced, as in the files of a node.
            if !name.ends_with(".conf") {
                assert_eq!(bytes, files[&name], "{name}");
            }
        }
        let (fresh, mut twin) = create(Config {
            blocks_per_file: 10,
            ..small(layout)
        });
        twin.append(25).unwrap();
        drop((chain, twin));
        assert_eq!(Tables::read(folder.path()), Tables::read(fresh.path()));
        verify(folder.path(), layout);
        assert!(more.number == 43 && more.hash != tip.hash);
    }
}

#[test]
fn branches_after_unwinds_differ_and_are_valid() {
    for layout in LAYOUTS {
        let (folder, mut chain) = create(Config {
            blocks_per_file: 8,
            finality: 12,
            ..small(layout)
        });
        let mut hashes = BTreeSet::new();
        for round in 0..12u64 {
            hashes.insert(chain.append(5 + round % 3).unwrap().hash);
            let back = 1 + round * 5 % 11;
            chain
                .unwind(chain.tip().number.saturating_sub(back).max(1))
                .unwrap();
        }
        hashes.insert(chain.append(3).unwrap().hash);
        assert_eq!(hashes.len(), 13, "a branch occurred twice");
        let expected: Vec<_> = (0..=chain.tip().number)
            .map(|n| chain.transfers(n))
            .collect();
        let truth = chain.truth();
        drop(chain);
        let read = verify(folder.path(), layout);
        let transactions: u64 = read
            .blocks
            .iter()
            .map(|b| b.transactions.len() as u64)
            .sum();
        assert_eq!(truth.counts.transactions, transactions);
        for (block, transfers) in read.blocks.iter().zip(expected) {
            let hashes: BTreeSet<_> = block.transactions.iter().map(|tx| *tx.tx_hash()).collect();
            let intended = transfers.iter().filter_map(|t| t.transaction_hash);
            assert!(intended.into_iter().all(|hash| hashes.contains(&hash)));
        }
    }
}

#[test]
fn finalized_blocks_cannot_be_unwound() {
    let (_folder, mut chain) = create(Config {
        finality: 10,
        ..small(Layout::V1)
    });
    chain.append(30).unwrap();
    assert!(matches!(chain.unwind(19), Err(Error::Impossible(_))));
    assert!(matches!(chain.unwind(31), Err(Error::Impossible(_))));
    assert_eq!(chain.unwind(20).unwrap().number, 20);
    // The tip is below what was final only ten blocks later.
    assert!(matches!(chain.unwind(19), Err(Error::Impossible(_))));
    chain.append(1).unwrap();
}

#[test]
fn pruning_deletes_whole_files_and_records_it() {
    let config = Config {
        blocks_per_file: 10,
        ..small(Layout::V2)
    };
    let (folder, mut chain) = create(config);
    chain.append(34).unwrap();
    assert_eq!(chain.prune_receipts(10).unwrap(), Some(9));
    assert_eq!(chain.prune_receipts(19).unwrap(), None);
    assert_eq!(
        chain.prune_receipts(1_000).unwrap(),
        Some(29),
        "the newest file stays"
    );
    chain.append(3).unwrap();
    drop(chain);
    let chain = Chain::read(folder.path(), true);
    for (number, block) in chain.blocks.iter().enumerate() {
        let kept = if number < 30 {
            0
        } else {
            block.transactions.len()
        };
        assert_eq!(block.receipts.len(), kept);
    }
    let last_tx = chain.blocks[30].first_tx - 1;
    for segment in [2, 3] {
        let row = chain.tables.get("PruneCheckpoints", &[segment]).unwrap();
        assert_eq!((row[0], row[1], row[2]), (3, 1, 29));
        assert_eq!(number_of(&row[4..4 + usize::from(row[3])]), last_tx);
    }
    let (_folder, mut v1) = create(small(Layout::V1));
    assert!(matches!(v1.prune_receipts(5), Err(Error::Impossible(_))));
}

#[test]
fn rejects_impossible_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |config: Config| {
        let error = Appender::create(&folder.path().join("new"), config).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
    };
    refused(Config {
        sends_per_round: 100,
        ..Config::default()
    });
    refused(Config {
        tokens: 3,
        ..Config::default()
    });
    refused(Config {
        blocks_per_file: 0,
        ..Config::default()
    });
    assert!(!folder.path().join("new").exists());
    std::fs::write(folder.path().join("note"), "mine").unwrap();
    let error = Appender::create(folder.path(), small(Layout::V1)).unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn blocks_with_many_transactions_fit() {
    let (folder, mut chain) = create(Config {
        txs_per_block: 120,
        ..small(Layout::V2)
    });
    chain.append(6).unwrap();
    drop(chain);
    let read = verify(folder.path(), Layout::V2);
    let txs: usize = read
        .blocks
        .iter()
        .map(|block| block.transactions.len())
        .sum();
    assert!(txs > 300, "{txs}");
    let (folder, mut chain) = create(Config {
        txs_per_block: 0,
        ..small(Layout::V1)
    });
    chain.append(20).unwrap();
    drop(chain);
    verify(folder.path(), Layout::V1);
}
