//! Movements of the native coin in blocks of Amsterdam, which have logs of them (EIP-7708).

use crate::support::{answer, ask, assert_same, everything, open_with, range};
use txgraph_chaingen::{BlockSample, Layout};
use txgraph_reader::ScanOptions;
use txgraph_transfers::{
    AddressFilter, Direction, EIP7708_LOG_ADDRESS, Indexable, Kind, SourceError, TokenFilter,
    Transfer, TransferSource,
};

const FIRST: u64 = 50;
const FORK: u64 = 65;
const LAST: u64 = 129;

fn is_internal(transfer: &&Transfer) -> bool {
    transfer.kind == Kind::Internal
}

#[test]
fn internal_transfers_of_amsterdam_need_no_replay() {
    for (seed, layout) in [(1, Layout::V1), (2, Layout::V2)] {
        let sample = BlockSample::logged(seed, FIRST, LAST - FIRST + 1, FORK);
        let folder = tempfile::tempdir().unwrap();
        sample.write(folder.path(), layout.into()).unwrap();
        for verify in [false, true] {
            let options = ScanOptions {
                verify,
                chunk_blocks: Some(7),
                ..ScanOptions::default()
            };
            let source = open_with(folder.path(), options);
            let snapshot = source.db().snapshot().unwrap();
            assert_eq!(snapshot.amsterdam().unwrap(), Some(FORK));

            let expected: Vec<_> = sample
                .transfers
                .iter()
                .filter(|it| !is_internal(it))
                .cloned()
                .collect();
            let (found, _) = answer(&source, &everything(range(FIRST, LAST)));
            assert_same(&found, &expected, "without internal transfers");

            let mut request = everything(range(FORK, LAST));
            request.filter.internal = true;
            let of_fork = |it: &&Transfer| it.block_number >= FORK;
            let expected: Vec<_> = sample.transfers.iter().filter(of_fork).cloned().collect();
            assert!(expected.iter().filter(is_internal).count() > 50);
            let (found, report) = answer(&source, &request);
            assert_same(&found, &expected, "with internal transfers");
            assert_eq!(report.counts.malformed, 0);

            // Conditions on sender and receiver leave the numbers of movements as they are.
            for (at, direction) in Direction::ALL.iter().enumerate() {
                request.filter.touching = Some(AddressFilter::new(
                    BlockSample::logged_addresses()
                        .into_iter()
                        .skip(at)
                        .step_by(3),
                    *direction,
                ));
                let wanted = |it: &&Transfer| request.filter.matches(it);
                let expected: Vec<_> = expected.iter().filter(wanted).cloned().collect();
                assert_same(&answer(&source, &request).0, &expected, "touching");
            }

            // No token is at the address of these logs.
            let mut token = everything(range(FIRST, LAST));
            token.filter.tokens = TokenFilter::only([EIP7708_LOG_ADDRESS]);
            assert!(answer(&source, &token).0.is_empty());
        }
    }
}

#[test]
fn blocks_before_amsterdam_are_refused() {
    let sample = BlockSample::logged(3, FIRST, 20, FORK);
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path(), Layout::V2.into()).unwrap();
    let source = open_with(folder.path(), ScanOptions::default());
    let mut request = everything(range(FORK - 1, FORK + 2));
    request.filter.internal = true;
    let refused = |error: SourceError| {
        assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("Amsterdam"), "{error}");
    };
    refused(ask(&source, &request).unwrap_err());
    refused(source.check_available(&request).unwrap_err());
    request.blocks = range(FORK, FORK + 2).into();
    source.check_available(&request).unwrap();
    // What an index is built from: the others are added by replay.
    request.blocks = range(FIRST, LAST).into();
    let blocks = range(FIRST, FORK + 4);
    let run = source.block_reader(&request, false).read(blocks).unwrap();
    assert_eq!(run.blocks, blocks);
    assert_same(&run.transfers, &sample.transfers, "an index");
}
