//! Available receipts, with some in static files, some in MDBX and some missing, compared
//! with counting them block by block.

use crate::answers::receipts_equal;
use proptest::{collection::btree_set, prelude::*};
use signet_libmdbx::WriteFlags;
use std::{collections::BTreeSet, fs, ops::ControlFlow, path::Path};
use txgraph_nodedb::{BlockRange, DataDir, NodeDb, Parts, Scratch};
use txgraph_testkit::{
    edit::{commit, put},
    fixtures::{Unpacked, committed, fixture},
    or_skip,
};

const RECEIPTS: Parts = Parts {
    headers: true,
    receipts: true,
    transactions: false,
    senders: false,
    withdrawals: false,
};
const TIP: u64 = 40;

/// The small chain in layout v1 with the receipts from transaction `static_rows` on moved to
/// MDBX, as reth 1.x leaves them.
struct Mixed {
    copy: Unpacked,
    rows: Vec<Vec<u8>>,
    /// The first transaction and the number of transactions of every block.
    bodies: Vec<(u64, u64)>,
    static_rows: u64,
}

impl Mixed {
    fn new(static_rows: u64) -> Self {
        let [v1, _] = committed();
        let copy = v1.unpack();
        let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
        let snapshot = db.snapshot().unwrap();
        let (mut rows, mut bodies) = (Vec::new(), Vec::new());
        let whole = BlockRange::up_to(TIP);
        snapshot
            .for_each_block(whole, RECEIPTS, &mut Scratch::default(), &mut |block| {
                bodies.push((block.body.first_tx, block.body.tx_count));
                for index in 0..block.body.tx_count as u32 {
                    rows.push(block.receipt_bytes(index)?.to_vec());
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        drop(snapshot);
        drop(db);
        shorten_receipts(copy.path(), static_rows);
        let mixed = Self {
            copy,
            rows,
            bodies,
            static_rows,
        };
        mixed.set_rows(&BTreeSet::new());
        mixed
    }

    /// Writes all rows except `absent` to MDBX.
    fn set_rows(&self, absent: &BTreeSet<u64>) {
        commit(self.copy.path(), |tx| {
            let table = tx.open_db(Some("Receipts")).unwrap();
            tx.clear_db(table).unwrap();
            for (number, row) in (0u64..).zip(&self.rows).skip(self.static_rows as usize) {
                if !absent.contains(&number) {
                    tx.put(table, number.to_be_bytes(), row, WriteFlags::APPEND)
                        .unwrap();
                }
            }
        });
    }

    fn open(&self) -> NodeDb {
        NodeDb::open(&DataDir::new(self.copy.path())).unwrap()
    }
}

/// Rewrites the `.conf` of the receipts jar so that it has `rows` rows.
fn shorten_receipts(dir: &Path, rows: u64) {
    let conf = dir.join("static_files/static_file_receipts_0_499999.conf");
    let old = fs::read(&conf).unwrap();
    // Version, expected blocks, blocks.
    let mut new = old[..8 + 16 + 17].to_vec();
    if rows == 0 {
        new.push(0);
    } else {
        new.push(1);
        new.extend(0u64.to_le_bytes());
        new.extend((rows - 1).to_le_bytes());
    }
    // Segment and columns.
    new.extend(&old[58..58 + 4 + 8]);
    new.extend(rows.to_le_bytes());
    // Compressor and longest row.
    new.extend(&old[78..]);
    fs::write(conf, new).unwrap();
}

#[test]
fn reads_receipts_from_both_sources() {
    let [v1, _] = committed();
    for static_rows in [0, 1, 260, 520, 521] {
        let mixed = Mixed::new(static_rows);
        let db = mixed.open();
        let snapshot = db.snapshot().unwrap();
        assert_eq!(snapshot.gaps(BlockRange::up_to(TIP), RECEIPTS).unwrap(), []);
        let source = match static_rows {
            0 => "MDBX",
            521 => "static files",
            _ => "both",
        };
        assert_eq!(snapshot.info().unwrap().receipts_source, source);
        drop(snapshot);
        drop(db);
        receipts_equal(mixed.copy.path(), &v1);
    }
}

/// Returns which blocks lack a receipt.
fn incomplete(mixed: &Mixed, absent: &BTreeSet<u64>) -> Vec<bool> {
    let lacks =
        |(first, count): &(u64, u64)| (*first..first + count).any(|tx| absent.contains(&tx));
    mixed.bodies.iter().map(lacks).collect()
}

#[test]
fn finds_every_hole() {
    let mixed = Mixed::new(200);
    let rows = mixed.rows.len() as u64;
    let strategy = (
        btree_set(200..rows, 0..12),
        0..=TIP,
        0..=TIP + 3,
        any::<bool>(),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(60));
    runner
        .run(&strategy, |(mut absent, first, last, dense)| {
            if dense {
                // One long hole, as after pruning.
                if let (Some(low), Some(high)) = (absent.first().copied(), absent.last().copied()) {
                    absent.extend(low..=high);
                }
            }
            mixed.set_rows(&absent);
            let db = mixed.open();
            let snapshot = db.snapshot().unwrap();
            let wanted = BlockRange { first, last };
            let gaps = snapshot.gaps(wanted, RECEIPTS).unwrap();
            let incomplete = incomplete(&mixed, &absent);
            let in_gap = |block: u64| gaps.iter().any(|gap| gap.blocks.contains(block));
            for (block, lacks) in (0u64..).zip(&incomplete) {
                let empty = mixed.bodies[block as usize].1 == 0;
                if !wanted.contains(block) {
                    assert!(!in_gap(block), "block {block} was not requested");
                } else if !empty {
                    assert_eq!(in_gap(block), *lacks, "block {block}");
                }
            }
            for gap in &gaps {
                for edge in [gap.blocks.first, gap.blocks.last] {
                    assert!(
                        edge > TIP || incomplete[edge as usize],
                        "the edge {edge} is whole"
                    );
                }
            }
            assert_eq!(in_gap(TIP + 1), wanted.contains(TIP + 1));
            assert!(
                gaps.windows(2)
                    .all(|pair| pair[0].blocks.last < pair[1].blocks.first)
            );
            Ok(())
        })
        .unwrap();
}

/// Missing and incomplete jars, as while a node deletes them.
#[test]
fn deleted_jars_are_gaps() {
    let fixture = or_skip!(fixture("pruned/small-v2-minimal"));
    for parts in [&["", ".conf", ".off"][..], &[""], &[".conf"], &[".off"]] {
        let copy = fixture.unpack();
        for part in parts {
            let name = format!("static_files/static_file_receipts_10_19{part}");
            fs::remove_file(copy.path().join(name)).unwrap();
        }
        let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
        let snapshot = db.snapshot().unwrap();
        let gaps = snapshot.gaps(BlockRange::up_to(TIP), RECEIPTS).unwrap();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert_eq!(gaps[0].blocks, BlockRange::from_to(10, 19));
        assert!(gaps[0].reason.contains("not stored"), "{gaps:?}");
        drop(snapshot);
        drop(db);
        // With a prune checkpoint.
        put(copy.path(), "PruneCheckpoints", &[2], &[1, 1, 19, 0]);
        let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
        let gaps = db
            .snapshot()
            .unwrap()
            .gaps(BlockRange::up_to(TIP), RECEIPTS)
            .unwrap();
        assert!(gaps[0].reason.contains("pruned up to block 19"), "{gaps:?}");
    }
}

/// After a listed jar is deleted, the reader is stale. The next snapshot reports the gap.
#[test]
fn jar_deleted_under_a_snapshot_is_stale() {
    let fixture = or_skip!(fixture("pruned/small-v2-minimal"));
    let copy = fixture.unpack();
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let snapshot = db.snapshot().unwrap();
    fs::remove_file(copy.path().join("static_files/static_file_receipts_10_19")).unwrap();
    let read = |snapshot: &txgraph_nodedb::Snapshot<'_>| {
        let blocks = BlockRange { first: 9, last: 12 };
        snapshot.for_each_block(blocks, RECEIPTS, &mut Scratch::default(), &mut |block| {
            while block.next_receipt()?.is_some() {}
            Ok(ControlFlow::Continue(()))
        })
    };
    let error = read(&snapshot).unwrap_err();
    assert!(error.is_stale(), "{error}");
    drop(snapshot);
    let error = read(&db.snapshot().unwrap()).unwrap_err();
    assert!(error.is_missing(), "{error}");
}

#[test]
fn missing_headers_and_transactions_are_gaps() {
    let fixture = or_skip!(fixture("odd/pruned-v2"));
    let copy = fixture.unpack();
    for name in ["headers_400_599", "transactions_2800_2999"] {
        fs::remove_file(copy.path().join(format!("static_files/static_file_{name}"))).unwrap();
    }
    let db = NodeDb::open(&DataDir::new(copy.path())).unwrap();
    let snapshot = db.snapshot().unwrap();
    let wanted = BlockRange::from_to(300, 3100);
    let gaps = snapshot.gaps(wanted, Parts::default()).unwrap();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].blocks, BlockRange::from_to(400, 599));
    assert!(
        gaps[0].reason.contains("headers are not stored"),
        "{gaps:?}"
    );
    assert!(snapshot.header(450).unwrap_err().is_missing());
    assert_eq!(snapshot.info().unwrap().headers[0], BlockRange::up_to(399));
}
