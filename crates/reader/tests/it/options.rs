//! Chain ids, stopping, progress.

use crate::support::{Meter, ask, database, everything, open_with, range};
use std::{ops::ControlFlow, sync::Arc};
use txgraph_reader::{CancelFlag, Error, NodeSource, ScanOptions, Threads};
use txgraph_testkit::{fixtures, says};
use txgraph_transfers::{SourceError, TransferSource};

#[test]
fn sources_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<NodeSource>();
}

#[test]
fn chain_id_must_match_the_chain() {
    let [fixture, _] = fixtures::committed();
    let db = database(fixture.path());
    let id = fixture.chain_id().unwrap();
    let open = |given| NodeSource::new(Arc::clone(&db), ScanOptions::default(), given);
    assert_eq!(open(None).unwrap().chain().chain_id, id);
    assert_eq!(open(Some(id)).unwrap().chain().chain_id, id);
    let error = open(Some(id + 1)).unwrap_err();
    assert!(
        matches!(error, Error::ChainIdContradicts { given, found } if given == id + 1 && found == id)
    );

    if let Some(silent) = fixtures::fixture("odd/pruned-v1") {
        let db = database(silent.path());
        let open = |given| NodeSource::new(Arc::clone(&db), ScanOptions::default(), given);
        assert!(matches!(open(None), Err(Error::ChainIdUnknown { .. })));
        assert_eq!(open(Some(1337)).unwrap().chain().chain_id, 1337);
    }

    // Not a missing option: with the transactions the id would be known.
    let [_, fixture] = fixtures::committed();
    let copy = fixture.unpack();
    let files = copy.path().join("static_files");
    std::fs::remove_file(files.join("static_file_transactions_0_499999")).unwrap();
    let refused = NodeSource::new(database(copy.path()), ScanOptions::default(), None);
    let Err(Error::NodeDb(error)) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.is_missing(), "{error}");
    let text = error.to_string();
    says(&text, "transactions of block 39 are missing");
    says(&text, "the chain id is not known without them");
    let given = NodeSource::new(database(copy.path()), ScanOptions::default(), Some(1337));
    assert_eq!(given.unwrap().chain().chain_id, 1337);

    let options = ScanOptions {
        chunk_blocks: Some(0),
        ..ScanOptions::default()
    };
    let refused = NodeSource::new(Arc::clone(&db), options, None);
    assert!(matches!(refused, Err(Error::Options(_))));
    let options = ScanOptions {
        snapshot_blocks_max: Some(0),
        ..ScanOptions::default()
    };
    let refused = NodeSource::new(db, options, None);
    assert!(matches!(refused, Err(Error::Options(_))));
}

#[test]
fn refuses_requests_for_internal_transfers() {
    let [fixture, _] = fixtures::committed();
    let source = open_with(fixture.path(), ScanOptions::default());
    let mut request = everything(range(0, 40));
    request.filter.internal = true;
    for result in [
        ask(&source, &request).map(|_| ()),
        source.check_available(&request),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
    }
}

#[test]
fn cancel_flag_stops_scans() {
    let [fixture, _] = fixtures::committed();
    let cancel = CancelFlag::new();
    let options = ScanOptions {
        cancel: cancel.clone(),
        chunk_blocks: Some(1),
        threads: Threads::new(2).unwrap(),
        ..ScanOptions::default()
    };
    let source = open_with(fixture.path(), options);
    let mut batches = 0;
    let result = source.scan(&everything(range(0, 40)), &mut |_| {
        batches += 1;
        if batches == 3 {
            cancel.cancel();
        }
        ControlFlow::Continue(())
    });
    assert!(
        matches!(result, Err(SourceError::Interrupted)),
        "{result:?}"
    );
    assert_eq!(batches, 3);
    // It stays canceled.
    assert!(matches!(
        ask(&source, &everything(range(0, 0))),
        Err(SourceError::Interrupted)
    ));
}

#[test]
fn sink_can_end_the_scan() {
    let [fixture, _] = fixtures::committed();
    let options = ScanOptions {
        chunk_blocks: Some(4),
        ..ScanOptions::default()
    };
    let source = open_with(fixture.path(), options);
    let mut rows = 0;
    let report = source.scan(&everything(range(5, 40)), &mut |batch| {
        rows += batch.transfers.len() as u64;
        if batch.blocks.contains(14) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let report = report.unwrap();
    assert_eq!(report.covered, range(5, 16).into());
    assert_eq!(report.counts.blocks, 12);
    assert_eq!(report.counts.transfers, rows);
    let hash = source.db().snapshot().unwrap().block_hash(16).unwrap();
    assert_eq!(report.last_block_hash, Some(hash));
}

#[test]
fn progress_counts_all_blocks_and_transfers() {
    let [fixture, _] = fixtures::committed();
    let meter = Arc::new(Meter::default());
    let options = ScanOptions {
        progress: Some(meter.clone()),
        chunk_blocks: Some(3),
        ..ScanOptions::default()
    };
    let source = open_with(fixture.path(), options);
    let (transfers, _) = ask(&source, &everything(range(2, 33))).unwrap();
    let counts = [32, 32, transfers.len() as u64, 1];
    assert_eq!(meter.read("transfers"), counts);
}

#[test]
fn scans_can_be_concurrent_and_nested() {
    let [fixture, _] = fixtures::committed();
    let options = ScanOptions {
        threads: Threads::new(1).unwrap(),
        chunk_blocks: Some(5),
        ..ScanOptions::default()
    };
    let source = open_with(fixture.path(), options);
    let request = everything(range(0, 40));
    let expected = ask(&source, &request).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(ask(&source, &request).unwrap(), expected));
        }
    });
    // From a sink: the only worker is busy with the outer scan.
    let mut inner = 0;
    let outer = source.scan(&request, &mut |mut batch| {
        assert_eq!(ask(&source, &request).unwrap(), expected);
        source.fill_hashes(&mut batch.transfers, &[]).unwrap();
        inner += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(outer.unwrap(), expected.1);
    assert!(inner >= 9);
}
