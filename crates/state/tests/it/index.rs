//! The node's index and its change sets give the same state, for every division of the
//! index into shards.

use crate::support::{check, odd, open, queries, walking};
use alloy_primitives::{Address, B256, U256};
use roaring::RoaringTreemap;
use signet_libmdbx::WriteFlags;
use std::collections::BTreeSet;
use txgraph_state::{BlockRange, StateOptions};
use txgraph_testkit::{
    edit::commit,
    fixtures::{committed, full, partial},
};

/// Compares everything that changed, after about 15 blocks.
#[test]
fn index_agrees_with_change_sets() {
    let directories = full()
        .into_iter()
        .chain(partial().into_iter().map(|(partial, _)| partial))
        .chain(odd());
    let mut seen = 0_u32;
    for fixture in directories {
        let by_index = open(fixture.path(), StateOptions::default());
        let available = by_index.available().unwrap();
        let first = available.indexed_from;
        println!(
            "{}: from block {first} {:?}",
            fixture.name, available.index_obstacle
        );
        let blocks = BlockRange {
            first,
            ..available.blocks.unwrap()
        };
        seen += u32::from(blocks.first < blocks.last);
        let (mut accounts, mut slots) = (BTreeSet::new(), BTreeSet::new());
        for block in (blocks.first + 1)..=blocks.last {
            let changes = by_index.changes(block).unwrap();
            accounts.extend(changes.accounts.iter().map(|change| change.address));
            slots.extend(
                changes
                    .storage
                    .iter()
                    .map(|change| (change.address, B256::from(change.slot))),
            );
        }
        // Accounts and slots that never existed.
        accounts.insert(Address::repeat_byte(0xee));
        slots.insert((Address::repeat_byte(0xee), B256::ZERO));
        slots.extend(
            accounts
                .iter()
                .map(|address| (*address, B256::repeat_byte(0xee))),
        );
        let walks = open(fixture.path(), walking());
        let walked = walks.range(blocks).unwrap();
        let step = ((blocks.last - blocks.first) / 15).max(1);
        for block in (blocks.first..=blocks.last).rev().step_by(step as usize) {
            let (one, other) = (by_index.at(block).unwrap(), walked.at(block).unwrap());
            for address in &accounts {
                assert_eq!(
                    one.account(*address).unwrap(),
                    other.account(*address).unwrap(),
                    "{}, block {block}: {address}",
                    fixture.name
                );
            }
            for (address, slot) in &slots {
                assert_eq!(
                    one.storage(*address, *slot).unwrap(),
                    other.storage(*address, *slot).unwrap(),
                    "{}, block {block}: {address}, {slot}",
                    fixture.name
                );
            }
        }
    }
    assert!(seen > 0);
}

/// Shards of one or two numbers instead of 2000.
#[test]
fn index_with_many_shards_gives_the_same_answers() {
    let [fixture, _] = committed();
    let copy = fixture.unpack();
    commit(copy.path(), |tx| {
        for table in ["AccountsHistory", "StoragesHistory"] {
            let table = tx.open_db(Some(table)).unwrap();
            let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut cursor = tx.cursor(table).unwrap();
            let mut row = cursor.first().unwrap();
            while let Some(found) = row {
                rows.push(found);
                row = cursor.next().unwrap();
            }
            drop(cursor);
            let mut shards = 0;
            for (key, value) in rows {
                let numbers = RoaringTreemap::deserialize_from(&value[..]).unwrap();
                let numbers: Vec<u64> = numbers.iter().collect();
                let (whose, _) = key.split_at(key.len() - 8);
                assert!(tx.del(table, &key, None).unwrap());
                let pieces = numbers.chunks(1 + numbers.len() % 2);
                let last = pieces.len() - 1;
                for (index, piece) in pieces.enumerate() {
                    let mut value = Vec::new();
                    let shard: RoaringTreemap = piece.iter().copied().collect();
                    shard.serialize_into(&mut value).unwrap();
                    let highest = if index == last {
                        u64::MAX
                    } else {
                        piece[piece.len() - 1]
                    };
                    let key = [whose, &highest.to_be_bytes()].concat();
                    tx.put(table, key, value, WriteFlags::UPSERT).unwrap();
                    shards += usize::from(index > 0);
                }
            }
            assert!(shards > 50, "{shards}");
        }
    });
    let db = open(copy.path(), StateOptions::default());
    for (block, queries) in queries(&fixture) {
        let state = db.at(block).unwrap();
        for query in queries {
            check(&query, &state, "index with many shards");
        }
    }
    let walks = open(copy.path(), walking());
    let walked = walks
        .range(db.available().unwrap().blocks.unwrap())
        .unwrap();
    let mut nonzero = 0;
    for block in 0..40 {
        let (one, other) = (db.at(block).unwrap(), walked.at(block).unwrap());
        for later in block + 1..=40 {
            for change in db.changes(later).unwrap().storage {
                let slot = change.slot.into();
                let value = one.storage(change.address, slot).unwrap();
                assert_eq!(value, other.storage(change.address, slot).unwrap());
                nonzero += usize::from(value != U256::ZERO);
            }
        }
    }
    assert!(nonzero > 100);
}
