//! Flows of amounts through contracts whose code is known.

use crate::support::database;
use alloy_primitives::{Address, U256, keccak256};
use std::{collections::BTreeMap, sync::Arc};
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Chain, Plan};
use txgraph_nodedb::BlockRange;
use txgraph_replay::{
    AmountTracer, ChainRules, FrameDetail, Record, ReplayOptions, Replayer, TransactionLocation,
    TransactionReplay,
};
use txgraph_state::{StateDb, StateOptions};
use txgraph_transfers::{
    AmountFlows, ChangedSlot, FlowEnd, Kind, Position, TokenStandard, Transfer,
};

const BLOCKS: u64 = 60;

/// The address of a contract of the chain.
fn place(what: &str) -> Address {
    Address::from_word(keccak256([what.as_bytes(), &0u64.to_be_bytes()].concat()))
}

/// The value of a transaction, and the transfers inside of it.
fn transfers(replay: &TransactionReplay) -> Vec<Transfer> {
    let own = Transfer {
        transaction_index: replay.index,
        transaction_hash: Some(replay.hash),
        token_address: None,
        from_address: replay.transaction.caller,
        to_address: replay.transaction.to.unwrap_or_default(),
        value: replay.transaction.value,
        token_standard: TokenStandard::Native,
        kind: Kind::Value,
        ..txgraph_transfers::testing::transfer(replay.block)
    };
    let own = Transfer {
        log_index: None,
        sub_index: 0,
        ..own
    };
    let own = (!own.value.is_zero()).then_some(own);
    let inside = replay.internal_transfers(0).into_iter();
    own.into_iter()
        .chain(inside.map(|it| it.transfer))
        .collect()
}

#[test]
fn slots_and_payments_are_those_of_the_code() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let chain = Chain::create(&folder, Plan::new(11, Layout::V1, 2_500_000));
    chain.unwrap().append(BLOCKS).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let state = StateDb::new(Arc::clone(&db), StateOptions::default());
    let states = state.range(BlockRange::up_to(BLOCKS - 1)).unwrap();
    let options = ReplayOptions {
        record: Record {
            frames: Some(FrameDetail::Calls),
            transitions: true,
            ..Record::default()
        },
        ..ReplayOptions::default()
    };
    let replayer = Replayer::new(rules, &*db, &states, options).unwrap();
    let (vault, splitter) = (place("vault"), place("splitter"));
    let mut counts = BTreeMap::<&str, usize>::new();
    for block in 1..=BLOCKS {
        for index in 0..replayer.block(block).unwrap().transactions.len() {
            let location = TransactionLocation {
                block,
                index: u32::try_from(index).unwrap(),
                hash: None,
            };
            let mut tracer = AmountTracer::new();
            let (replay, _) = replayer.transaction(location, Some(&mut tracer)).unwrap();
            let to = replay.transaction.to.unwrap_or_default();
            if !replay.outcome.is_success() {
                let flows = tracer.flows(&replay, &[]);
                assert_eq!(flows, AmountFlows::default());
            } else if to == vault {
                let what = check_vault(&mut tracer, &replay);
                *counts.entry(what).or_default() += 1;
            } else if to == splitter {
                let transfers = transfers(&replay);
                let flows = tracer.flows(&replay, &transfers).flows;
                let ends = transfers.iter().map(|it| FlowEnd::Transfer(it.position()));
                let ends: Vec<_> = ends.collect();
                let paid = transfers.iter().zip(&ends).skip(1);
                let paid = paid.filter(|(it, _)| it.from_address == splitter);
                let expected: Vec<_> = paid.map(|(_, end)| (ends[0], *end)).collect();
                *counts.entry("split").or_default() += expected.len();
                // Who is paid may be a contract that accounts for it.
                let flows: Vec<_> = flows
                    .into_iter()
                    .filter(|(from, _)| *from == ends[0])
                    .collect();
                assert_eq!(flows, expected, "{block}:{index}");
            }
        }
    }
    for what in ["deposit", "withdrawal", "split"] {
        assert!(counts[what] > 10, "{counts:?}");
    }
}

/// A deposit raises the slot of the caller by what is paid, and a withdrawal lowers it.
fn check_vault(tracer: &mut AmountTracer, replay: &TransactionReplay) -> &'static str {
    let transfers = transfers(replay);
    let AmountFlows {
        writes: slots,
        flows,
    } = tracer.flows(replay, &transfers);
    let caller = replay.transaction.caller;
    let [transfer] = &transfers[..] else {
        // Nothing is paid in or out.
        assert!(transfers.is_empty() && flows.is_empty());
        return "nothing";
    };
    let [
        ChangedSlot {
            contract,
            slot,
            key,
            before,
            after,
        },
    ] = slots[..]
    else {
        panic!("{slots:?}")
    };
    let hashed = [caller.into_word().0, [0; 32]].concat();
    assert_eq!(slot, U256::from_be_bytes(keccak256(hashed).0));
    assert_eq!((contract, key), (place("vault"), Some(caller)));
    let end = FlowEnd::Transfer(Position {
        block: replay.block,
        tx: replay.index,
        log: None,
        sub: transfer.sub_index,
    });
    if replay.transaction.input.is_empty() {
        assert_eq!(after, before + transfer.value);
        assert_eq!(flows, [(end, FlowEnd::Slot(0))]);
        "deposit"
    } else {
        assert_eq!(after, before - transfer.value);
        assert_eq!(flows, [(FlowEnd::Slot(0), end)]);
        "withdrawal"
    }
}
