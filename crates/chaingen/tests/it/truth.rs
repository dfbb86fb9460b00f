//! Compares the known answers with the naive decoder and the naive search, which do not
//! know the intentions of the writer.

use crate::{
    chain::small,
    raw::{Block, Chain},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_chaingen::{Appender, Config, Layout, Profile, Truth};
use txgraph_testkit::naive::{self, Decoded, Rules};
use txgraph_transfers::Transfer;

/// Converts a block to the answers of a node.
fn answers(block: &Block, log_index: &mut u64) -> (Value, Value) {
    let hex = |number: u64| format!("{number:#x}");
    let transactions: Vec<Value> = block
        .transactions
        .iter()
        .zip(&block.senders)
        .map(|(tx, sender)| {
            json!({
                "hash": tx.tx_hash(),
                "from": sender,
                "to": tx.to(),
                "value": format!("{:#x}", tx.value()),
            })
        })
        .collect();
    *log_index = 0;
    let receipts: Vec<Value> = block
        .receipts
        .iter()
        .zip(block.transactions.iter().zip(&block.senders))
        .map(|(receipt, (tx, sender))| {
            let logs: Vec<Value> = receipt
                .logs
                .iter()
                .map(|log| {
                    let index = *log_index;
                    *log_index += 1;
                    json!({
                        "address": log.address,
                        "topics": log.data.topics(),
                        "data": log.data.data,
                        "logIndex": hex(index),
                    })
                })
                .collect();
            json!({
                "status": hex(u64::from(receipt.success)),
                "contractAddress": sender.create(tx.nonce()),
                "logs": logs,
            })
        })
        .collect();
    let withdrawals: Vec<Value> = block
        .withdrawals
        .iter()
        .map(|it| json!({ "address": it.address, "amount": hex(it.amount) }))
        .collect();
    let answer = json!({
        "number": hex(block.header.number),
        "timestamp": hex(block.header.timestamp),
        "transactions": transactions,
        "withdrawals": withdrawals,
    });
    (answer, Value::Array(receipts))
}

struct Answers {
    truth: Truth,
    intended: Vec<Transfer>,
    decoded: Decoded,
}

fn answers_of(profile: Profile, blocks: u64) -> Answers {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        profile,
        txs_per_block: 12,
        ..small(Layout::V2)
    };
    let mut chain = Appender::create(folder.path(), config).unwrap();
    let mut intended = Vec::new();
    chain
        .append_with(blocks, &mut |transfers| {
            intended.extend_from_slice(transfers);
        })
        .unwrap();
    let truth = chain.truth();
    let again: Vec<Transfer> = (0..=blocks)
        .flat_map(|block| chain.transfers(block))
        .collect();
    assert_eq!(
        again, intended,
        "blocks generated again have other transfers"
    );
    drop(chain);
    let mut decoded = Decoded::default();
    let read = Chain::read(folder.path(), true);
    for block in &read.blocks {
        let (answer, receipts) = answers(block, &mut 0);
        naive::decode_block(&answer, &receipts, &mut decoded);
    }
    Answers {
        truth,
        intended,
        decoded,
    }
}

#[test]
fn transfers_match_the_naive_decoder() {
    for (profile, blocks) in [
        (Profile::Mainnet, 300),
        (Profile::Tokens, 60),
        (Profile::Odd, 120),
        (Profile::Exchanges, 210),
    ] {
        let Answers {
            truth,
            intended,
            decoded,
        } = answers_of(profile, blocks);
        for (intended, decoded) in intended.iter().zip(&decoded.transfers) {
            assert_eq!(intended, decoded);
        }
        assert_eq!(intended.len(), decoded.transfers.len());
        assert!(intended.is_sorted_by_key(Transfer::position));
        let counts = truth.counts;
        assert_eq!(
            (counts.blocks, counts.transactions, counts.logs),
            (decoded.blocks, decoded.receipts, decoded.logs)
        );
        assert_eq!(counts.malformed, decoded.malformed);
        assert_eq!(counts.wraps_deduplicated, decoded.wraps_deduplicated);
        if profile == Profile::Odd {
            assert!(counts.malformed > 200 && counts.malformed_erc1155 > 50);
            assert!(counts.dirty_addresses > 10 && counts.wraps_deduplicated > 10);
        }
        let mut sorts = BTreeMap::new();
        for transfer in &intended {
            *sorts
                .entry((transfer.token_standard, transfer.kind))
                .or_insert(0u64) += 1;
        }
        let counted: BTreeMap<_, _> = truth
            .transfers
            .iter()
            .map(|t| ((t.standard, t.kind), t.count))
            .collect();
        assert_eq!(counted, sorts);
        for token in &truth.tokens {
            let of_token = |t: &&Transfer| t.token_address == Some(token.token.address);
            assert_eq!(
                token.transfers,
                intended.iter().filter(of_token).count() as u64
            );
        }
    }
}

#[test]
fn searches_match_the_naive_search() {
    let Answers { truth, decoded, .. } = answers_of(Profile::Mainnet, 300);
    let mut names = BTreeSet::new();
    for search in &truth.searches {
        let wanted = |t: &&Transfer| t.token_address == search.token;
        let of_token: Vec<Transfer> = decoded.transfers.iter().filter(wanted).cloned().collect();
        let rules = Rules {
            hops: search.hops,
            direction: search.direction,
            time_respecting: search.time_respecting,
            ..Rules::default()
        };
        let found = naive::bfs(&of_token, &[search.root], &rules);
        let found: Vec<Address> = found
            .hops
            .into_keys()
            .filter(|address| *address != search.root)
            .collect();
        assert_eq!(found, search.reached, "{search:?}");
        names.insert(search.scenario);
    }
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!(truth.scenarios_planted, 17);
    assert_eq!(truth.scenarios.len(), 17);
}

#[test]
fn planted_edges_are_on_the_chain() {
    let of = |profile| answers_of(profile, 220);
    for answers in [Profile::Tokens, Profile::Exchanges].map(of) {
        check_planted(&answers);
    }
}

fn check_planted(Answers { truth, decoded, .. }: &Answers) {
    for scenario in &truth.scenarios {
        assert!(!scenario.edges.is_empty());
        let taking_part: BTreeSet<&Address> = scenario.roles.values().flatten().collect();
        for edge in &scenario.edges {
            let there = decoded.transfers.iter().any(|t| {
                (
                    t.transaction_hash,
                    t.block_number,
                    t.transaction_index,
                    t.log_index,
                ) == (Some(edge.tx), edge.block, edge.tx_index, edge.log_index)
                    && (t.from_address, t.to_address, t.value) == (edge.from, edge.to, edge.value)
                    && (t.token_address, t.token_id) == (edge.token, edge.token_id)
            });
            assert!(there, "{}: {edge:?}", scenario.scenario);
            for end in [edge.from, edge.to] {
                assert!(end.is_zero() || taking_part.contains(&end));
            }
        }
    }
}

/// The mix of transactions follows the profile.
#[test]
fn the_mix_resembles_mainnet() {
    let Answers {
        truth, intended, ..
    } = answers_of(Profile::Mainnet, 300);
    let counts = truth.counts;
    let per_tx = |count: u64| count * 100 / counts.transactions;
    assert!(
        (150..400).contains(&per_tx(counts.logs)),
        "{} logs per 100",
        per_tx(counts.logs)
    );
    assert!((2..8).contains(&per_tx(counts.failed)));
    let head: u64 = truth.tokens[..3].iter().map(|token| token.transfers).sum();
    let all: u64 = truth.tokens.iter().map(|token| token.transfers).sum();
    assert!(
        (45..75).contains(&(head * 100 / all)),
        "the heads have {} %",
        head * 100 / all
    );
    // Hubs: the ten busiest of thousands of addresses have a large share.
    let mut degree: BTreeMap<Address, u64> = BTreeMap::new();
    for transfer in &intended {
        *degree.entry(transfer.to_address).or_default() += 1;
    }
    let mut counts: Vec<u64> = degree.values().copied().collect();
    counts.sort_unstable();
    let top: u64 = counts.iter().rev().take(10).sum();
    assert!(counts.len() > 1_000 && top * 100 / intended.len() as u64 > 15);
}

/// Every scenario has a transfer from an exchange and to one, all in one part of the graph.
#[test]
fn exchanges_join_the_scenarios() {
    let Answers { truth, decoded, .. } = answers_of(Profile::Exchanges, 220);
    let mut counts: BTreeMap<Address, BTreeSet<u64>> = BTreeMap::new();
    let mut kinds = BTreeSet::new();
    for scenario in &truth.scenarios {
        kinds.insert(scenario.scenario);
        let parts: BTreeSet<&Address> = scenario.roles.values().flatten().collect();
        let planted: BTreeSet<_> = (scenario.edges.iter())
            .map(|edge| (edge.block, edge.tx_index, edge.log_index))
            .collect();
        for transfer in &decoded.transfers {
            let place = (
                transfer.block_number,
                transfer.transaction_index,
                transfer.log_index,
            );
            if scenario.token.is_none()
                || transfer.token_address != scenario.token
                || planted.contains(&place)
            {
                continue;
            }
            let (from, to) = (transfer.from_address, transfer.to_address);
            for (inside, outside) in [(from, to), (to, from)] {
                if parts.contains(&inside) && !parts.contains(&outside) {
                    counts.entry(outside).or_default().insert(scenario.number);
                }
            }
        }
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
    let joined: BTreeSet<u64> = counts.values().flatten().copied().collect();
    let of_token = truth.scenarios.iter().filter(|it| it.token.is_some());
    assert_eq!(joined, of_token.map(|it| it.number).collect());
    assert!(counts.len() <= 8, "{counts:?}");
    assert!(counts.values().any(|scenarios| scenarios.len() >= 4));
}
