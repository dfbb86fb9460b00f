//! Fees, balances, gas profiles and token metadata derived from a replay.

use crate::support::open;
use alloy_primitives::{Address, U256};
use std::collections::BTreeMap;
use txgraph_replay::{
    BalanceCounter, BlockReplay, FrameDetail, GasProfile, Record, ReplayOptions, TokenMetadata,
};
use txgraph_testkit::fixtures::{self, Fixture};
use txgraph_transfers::{Kind, WrappedNative};

fn for_each(fixture: &Fixture, see: &mut dyn FnMut(BlockReplay)) {
    let options = ReplayOptions::recording(Record {
        frames: Some(FrameDetail::Calls),
        transitions: true,
        changes: true,
        ..Record::default()
    });
    open(fixture).replay(options, see);
}

/// Transaction values, internal transfers and fees add up to the changes of all balances.
#[test]
fn native_movements_add_up_to_balance_changes() {
    for fixture in fixtures::committed() {
        let mut fees = 0;
        for_each(&fixture, &mut |block| {
            for tx in &block.transactions {
                let mut expected: BTreeMap<Address, (U256, U256)> = BTreeMap::new();
                let mut moved = |from: Address, to: Address, value: U256| {
                    expected.entry(from).or_default().1 += value;
                    // Burnt wei belong to no account.
                    if to != Address::ZERO {
                        expected.entry(to).or_default().0 += value;
                    }
                };
                let sent = &tx.transaction;
                if tx.outcome.is_success() {
                    let to = sent.to.or(tx.outcome.created).unwrap();
                    moved(sent.caller, to, sent.value);
                }
                let mut native = tx.internal_transfers(block.timestamp);
                let paid = tx.fees(&block.environment, 1);
                assert_eq!(paid[0].transfer.kind, Kind::Fee);
                fees += paid.len();
                native.extend(paid);
                for one in native {
                    moved(
                        one.transfer.from_address,
                        one.transfer.to_address,
                        one.transfer.value,
                    );
                }
                let found = BalanceCounter::new(1, &WrappedNative::Auto).count(tx);
                let found = found.into_iter().filter(|change| change.token.is_none());
                let net = |(plus, minus): (U256, U256)| plus.wrapping_sub(minus);
                let found: BTreeMap<_, _> = found
                    .map(|change| (change.holder, net((change.received, change.sent))))
                    .collect();
                let expected: BTreeMap<_, _> = expected
                    .into_iter()
                    .map(|(holder, both)| (holder, net(both)))
                    .filter(|(_, net)| !net.is_zero())
                    .collect();
                assert_eq!(
                    found, expected,
                    "{} {}/{}",
                    fixture.name, tx.block, tx.index
                );
            }
        });
        assert!(fees > 900, "{fees}");
    }
}

#[test]
fn token_transfers_are_balanced() {
    let [fixture, _] = fixtures::committed();
    let mut tokens = 0;
    for_each(&fixture, &mut |block| {
        let mut counter = BalanceCounter::new(fixture.chain_id().unwrap(), &WrappedNative::Any);
        for tx in &block.transactions {
            let mut sums: BTreeMap<_, (U256, U256)> = BTreeMap::new();
            for change in counter
                .count(tx)
                .iter()
                .filter(|change| change.token.is_some())
            {
                let sum = sums.entry((change.token, change.token_id)).or_default();
                sum.0 = sum.0.wrapping_add(change.received);
                sum.1 = sum.1.wrapping_add(change.sent);
                tokens += 1;
            }
            assert!(sums.values().all(|(received, sent)| received == sent));
        }
    });
    assert!(tokens > 300, "{tokens}");
}

/// The gas of a profile adds up to the gas used, before refunds.
#[test]
fn gas_profile_contains_all_gas() {
    let [fixture, _] = fixtures::committed();
    let (mut profile, mut gas_used, mut refunded) = (GasProfile::default(), 0, 0);
    for_each(&fixture, &mut |block| {
        gas_used += block.gas_used;
        let mut own = GasProfile::default();
        for tx in &block.transactions {
            own.add(tx);
            refunded += tx.outcome.gas_refunded;
        }
        profile.merge(&own);
    });
    let sum: u64 = profile.paths().map(|(_, gas)| gas).sum();
    // Refunds are not subtracted.
    assert!(
        sum >= gas_used && sum <= gas_used + refunded,
        "{sum} {gas_used} {refunded}"
    );
    let has = |is_it: fn(&str) -> bool| profile.paths().any(|(path, _)| is_it(path));
    assert!(has(|path| path == "intrinsic"));
    assert!(has(
        |path| path.matches(';').count() == 1 && path.contains(".0x")
    ));
    let contracts = profile.contracts();
    assert!(contracts.len() > 10 && contracts.is_sorted_by(|a, b| a.1 >= b.1));
}

/// Names, symbols and decimals equal those in the description of the fixture.
#[test]
fn token_metadata_equals_fixture() {
    for fixture in fixtures::committed() {
        let opened = open(&fixture);
        let replayer = opened.replayer(ReplayOptions::default());
        let emitters = fixture.chain_info["counts"]["transfer_logs_by_emitter"]
            .as_object()
            .unwrap();
        let known = emitters
            .iter()
            .filter(|(_, token)| token.get("symbol").is_some());
        let known: Vec<_> = known.collect();
        let mut tokens: Vec<Address> = known
            .iter()
            .map(|(token, _)| token.parse().unwrap())
            .collect();
        // An account without code, and a precompiled contract.
        tokens.extend([Address::repeat_byte(0x99), Address::with_last_byte(4)]);
        let found = replayer
            .token_metadata(&tokens, opened.blocks.last)
            .unwrap();
        for ((address, expected), found) in known.iter().zip(&found) {
            assert_eq!(
                found.symbol.as_deref(),
                expected["symbol"].as_str(),
                "{address}"
            );
            assert_eq!(
                found.name.as_deref(),
                expected["name"].as_str(),
                "{address}"
            );
            let decimals = expected["decimals"]
                .as_u64()
                .filter(|_| expected["kind"] != "erc721");
            assert_eq!(found.decimals.map(u64::from), decimals, "{address}");
        }
        assert!(known.len() >= 5);
        assert_eq!(
            found[known.len()..],
            [TokenMetadata::default(), TokenMetadata::default()]
        );
    }
}
