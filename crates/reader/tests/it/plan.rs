//! The choices of a scan, and that they do not show in the result; roots
//! recomputed on request.

use crate::support::{answer, ask, everything, open, open_with, range};
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use txgraph_reader::{ScanOptions, ScanPlan};
use txgraph_testkit::{fixtures, says};
use txgraph_transfers::{TokenFilter, TransferFilter};

#[test]
fn skips_blocks_without_the_token_if_cheaper() {
    let [_, fixture] = fixtures::committed();
    let plans: Arc<Mutex<Vec<ScanPlan>>> = Arc::default();
    let heard = Arc::clone(&plans);
    let source = open_with(
        fixture.path(),
        ScanOptions {
            explain: Some(Arc::new(move |plan| {
                heard.lock().unwrap().push(plan.clone())
            })),
            ..ScanOptions::default()
        },
    );
    let all = everything(range(0, 40));
    let (rows, _) = answer(&source, &all);
    assert_eq!(plans.lock().unwrap()[0].bloom_hits, None, "all tokens");
    let tokens: BTreeSet<_> = rows.iter().filter_map(|row| row.token_address).collect();

    let (mut skipping, mut skipped) = (0, 0);
    for token in &tokens {
        let request = txgraph_transfers::ScanRequest {
            filter: TransferFilter {
                tokens: TokenFilter::only([*token]),
                ..TransferFilter::default()
            },
            ..all.clone()
        };
        let (found, report) = answer(&source, &request);
        let expected = rows.iter().filter(|row| request.filter.matches(row));
        assert!(found.iter().eq(expected), "{token}");
        let plan = plans.lock().unwrap().last().cloned().unwrap();
        let saved = (1.0 - plan.bloom_hits.unwrap()) * plan.transactions_per_block;
        assert_eq!(plan.skips_by_bloom, saved > 3.5, "{plan}");
        assert!(plan.skips_by_bloom || report.counts.skipped_blocks == 0);
        skipping += u32::from(plan.skips_by_bloom);
        skipped += report.counts.skipped_blocks;
    }
    assert!(
        skipping > 0 && skipped > 0,
        "{skipping} of {}",
        tokens.len()
    );
}

/// A flipped bit in what an address or amount is made of fits every count and every
/// gas figure. Only the receipts root detects it.
#[test]
fn recomputed_roots_find_changes_that_a_scan_accepts() {
    let [_, fixture] = fixtures::committed();
    let verify = ScanOptions {
        verify: true,
        ..ScanOptions::default()
    };
    let all = everything(range(0, 40));
    let (rows, report) = answer(&open(fixture.path()), &all);
    let proven = answer(&open_with(fixture.path(), verify.clone()), &all);
    assert_eq!(proven, (rows.clone(), report));

    let copy = fixture.unpack();
    let folder = copy.path().join("static_files");
    let is_receipts = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("static_file_receipts_") && !name.contains('.')
    };
    let file = (fixtures::paths_in(&folder).into_iter()).find(is_receipts);
    let file = file.unwrap();
    let whole = fs::read(&file).unwrap();
    let mut unseen = 0;
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, bytes).unwrap();
        let Ok((found, _)) = ask(&open(copy.path()), &all) else {
            continue;
        };
        if found == rows {
            continue;
        }
        unseen += 1;
        let error = ask(&open_with(copy.path(), verify.clone()), &all).unwrap_err();
        says(&error, "does not have the header's");
        if unseen == 5 {
            return;
        }
    }
    panic!("only {unseen} flips went unseen");
}
