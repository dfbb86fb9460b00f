//! Transactions by address compared with a naive reader: a filter over all transactions, each of
//! which is decoded as a whole.

use crate::{
    damage::segments,
    support::{chain, open, options, range, until},
};
use alloy_primitives::Address;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{collections::BTreeSet, fs, ops::ControlFlow, path::Path};
use txgraph_chaingen::Profile;
use txgraph_index::{BuildOptions, Error, Index, build, fuzzing, update, verify};
use txgraph_nodedb::{Block, Parts, Scratch};
use txgraph_reader::NodeSource;
use txgraph_testkit::says;
use txgraph_transfers::{BlockRange, Participation, Roles};

/// Who sends, receives and is created by the transactions of a chain, in order.
pub(crate) fn naive(node: &NodeSource, tip: u64) -> Vec<Participation> {
    let mut all = Vec::new();
    let parts = Parts {
        headers: false,
        withdrawals: false,
        ..Parts::ALL
    };
    let snapshot = node.db().snapshot().unwrap();
    let mut read = |block: &mut Block<'_>| {
        for index in 0..u32::try_from(block.body.tx_count).unwrap() {
            let sender = block.sender(index)?;
            let transaction = block.transaction(index)?;
            let (other, role) = match transaction.to {
                Some(to) => (to, Roles::RECEIVER),
                None => (sender.create(transaction.nonce), Roles::CREATED),
            };
            let mut add = |address, roles| {
                all.push(Participation::new(block.number, index, address, roles));
            };
            match other == sender {
                true => add(sender, Roles::SENDER | role),
                false => {
                    add(sender, Roles::SENDER);
                    add(other, role);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    let blocks = range(0, tip);
    (snapshot.for_each_block(blocks, parts, &mut Scratch::default(), &mut read)).unwrap();
    all
}

/// Asks for the first `most` transactions of an address.
pub(crate) fn asked(
    index: &Index,
    address: Address,
    blocks: BlockRange,
    newest_first: bool,
    most: usize,
) -> Result<Vec<Participation>, Error> {
    let mut found = Vec::new();
    let _ = index.transactions_of(address, blocks, newest_first, &mut |it| {
        found.push(it);
        match found.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(found)
}

/// Compares random queries. Returns the number of transactions in the answers.
fn compare(index: &Index, all: &[Participation], tip: u64, seed: u64) -> usize {
    let mut chance = SmallRng::seed_from_u64(seed);
    let addresses: BTreeSet<_> = all.iter().map(|it| it.address).collect();
    let mut addresses: Vec<_> = addresses.into_iter().collect();
    addresses.extend([Address::ZERO, Address::repeat_byte(0xee)]);
    let mut count = 0;
    for _ in 0..400 {
        let address = *addresses.choose(&mut chance).unwrap();
        let first = chance.random_range(0..=tip);
        let blocks = range(first, chance.random_range(first..=tip + 3));
        let blocks = [range(0, tip), blocks][chance.random_range(0..2)];
        let newest_first = chance.random();
        let most = [1, 3, usize::MAX][chance.random_range(0..3)];
        let own = |it: &&Participation| it.address == address && blocks.contains(it.block);
        let mut expected: Vec<_> = all.iter().filter(own).copied().collect();
        if newest_first {
            expected.reverse();
        }
        expected.truncate(most);
        let found = asked(index, address, blocks, newest_first, most).unwrap();
        assert_eq!(found, expected, "{address} {blocks} {newest_first}");
        count += found.len();
    }
    count
}

#[test]
fn transactions_are_those_of_a_naive_reader() {
    for (profile, seed) in [(Profile::Mainnet, 1), (Profile::Tokens, 2)] {
        let (_folder, node) = chain(profile, 150);
        let all = naive(&node, 150);
        for segment_blocks in [1, 32, 1 << 20] {
            let place = tempfile::tempdir().unwrap();
            build(place.path(), &node, &options(segment_blocks)).unwrap();
            let index = open(place.path(), &node);
            assert!(index.has_transactions(false) && !index.has_transactions(true));
            let count = compare(&index, &all, 150, seed);
            assert!(count > 500, "{count}");
            let verified = verify(&index, &node, false).unwrap();
            assert_eq!(verified.blocks, 151);
        }
    }
}

/// Segments that are joined keep them.
#[test]
fn updates_in_small_steps_give_the_same() {
    let (_folder, node) = chain(Profile::Mainnet, 120);
    let place = tempfile::tempdir().unwrap();
    for last in (10..=120).step_by(11).chain([120]) {
        let until = until(last, 64);
        match last {
            10 => build(place.path(), &node, &until).unwrap(),
            _ => update(place.path(), &node, &until).unwrap(),
        };
    }
    let index = open(place.path(), &node);
    assert!(index.segments().len() < 6, "{}", index.segments().len());
    assert!(compare(&index, &naive(&node, 120), 120, 3) > 500);
    verify(&index, &node, false).unwrap();
    // The joined segment of a full range is the one that is built at once.
    let whole = tempfile::tempdir().unwrap();
    build(whole.path(), &node, &options(64)).unwrap();
    let first = |place: &Path| fs::read(&segments(place)[0]).unwrap();
    assert!(first(whole.path()) == first(place.path()));
}

/// An index without them has the format that it had before, and keeps it.
#[test]
fn an_index_without_transactions_stays_as_it_is() {
    let (_folder, node) = chain(Profile::Mainnet, 80);
    let place = tempfile::tempdir().unwrap();
    let without = BuildOptions {
        transactions: false,
        last_block: Some(40),
        ..options(32)
    };
    build(place.path(), &node, &without).unwrap();
    let manifest = || fs::read_to_string(place.path().join("MANIFEST")).unwrap();
    // Programs that do not know transactions wrote no such line.
    let text = manifest();
    let (line, json) = text.split_once('\n').unwrap();
    assert!(line.starts_with("txgraph-index 4 "), "{line}");
    let json = json.replace("\"transactions\": false,", "");
    let checksum = crc32fast::hash(json.as_bytes());
    let older = format!("txgraph-index 4 {checksum:08x}\n{json}");
    fs::write(place.path().join("MANIFEST"), older).unwrap();
    let bytes = fs::read(&segments(place.path())[0]).unwrap();
    assert_eq!(bytes[8..16], [4, 0, 0, 0, 0x98, 2, 0, 0]);
    let parts: Vec<_> = fuzzing::regions(&bytes)
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert!(!parts.iter().any(|part| part == "Places"), "{parts:?}");

    let index = open(place.path(), &node);
    assert!(!index.has_transactions(false));
    let all = naive(&node, 80);
    let sender = all[0].address;
    let none = asked(&index, sender, range(0, 40), false, usize::MAX).unwrap();
    assert_eq!(none, []);
    // It is continued, and cannot get them later.
    update(place.path(), &node, &options(32)).unwrap();
    let index = open(place.path(), &node);
    assert_eq!(index.blocks(), range(0, 80).into());
    assert!(!index.has_transactions(false));
    verify(&index, &node, false).unwrap();
    let refused = build(place.path(), &node, &options(32)).unwrap_err();
    let message = refused.to_string();
    says(&message, "without transactions by address");
    says(&message, "drop the index first");
    // Nor does an index lose them.
    let with = tempfile::tempdir().unwrap();
    build(with.path(), &node, &options(32)).unwrap();
    let refused = build(with.path(), &node, &without).unwrap_err();
    let message = refused.to_string();
    says(&message, "with transactions by address");
}

/// Content that was changed together with its checksums is found by comparing it with the node.
#[test]
fn wrong_transactions_with_right_checksums_are_found() {
    let (_folder, node) = chain(Profile::Mainnet, 40);
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(64)).unwrap();
    let index = open(place.path(), &node);
    verify(&index, &node, false).unwrap();
    drop(index);
    let path = &segments(place.path())[0];
    let good = fs::read(path).unwrap();
    let regions = fuzzing::regions(&good);
    let (_, places) = regions.iter().find(|(name, _)| name == "Places").unwrap();
    let mut bad = good.clone();
    // The roles of one place.
    bad[places.start] ^= Roles::INSIDE.bits();
    let bad = fuzzing::with_checksums(bad);
    assert_ne!(bad, good);
    fs::write(path, &bad).unwrap();
    let text = fs::read_to_string(place.path().join("MANIFEST")).unwrap();
    let (_, json) = text.split_once('\n').unwrap();
    let mut json: serde_json::Value = serde_json::from_str(json).unwrap();
    let head = u32::from_le_bytes(bad[724..728].try_into().unwrap());
    json["segments"][0]["checksum"] = head.into();
    let json = serde_json::to_string_pretty(&json).unwrap();
    let line = format!("txgraph-index 5 {:08x}", crc32fast::hash(json.as_bytes()));
    fs::write(place.path().join("MANIFEST"), format!("{line}\n{json}")).unwrap();
    let index = open(place.path(), &node);
    verify(&index, &node, true).unwrap();
    let error = verify(&index, &node, false).unwrap_err();
    says(&error, "transactions of addresses differ");
}
