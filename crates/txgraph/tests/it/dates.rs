//! Dates in queries.

use crate::{open, small};
use txgraph::{BlockSpec, ErrorKind, Source, parse::utc};

/// The times of all blocks of the sample chain.
fn times(source: &Source) -> Vec<u64> {
    let blocks = 0..=source.tip().unwrap();
    blocks
        .map(|block| source.block_time(block).unwrap().unwrap())
        .collect()
}

/// Compares the block of every time that matters with a search from the first block on.
fn check(source: &Source, times: &[u64]) {
    let asked = times
        .iter()
        .flat_map(|time| [time.saturating_sub(1), *time, time + 1]);
    for seconds in asked {
        let naive = times.iter().position(|time| *time >= seconds);
        let found = source.block_at(seconds);
        match naive {
            Some(0) if times[0] > seconds => {
                let error = found.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Unavailable);
                assert!(error.message.contains("before the first block"), "{error}");
            }
            Some(block) => assert_eq!(found.unwrap(), block as u64, "{}", utc(seconds)),
            None => {
                let error = found.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Unavailable);
                assert!(error.message.contains("after the last block"), "{error}");
            }
        }
    }
}

#[test]
fn every_kind_of_source_finds_the_blocks_of_dates() {
    let fixture = small();
    let node = open(&fixture);
    let times = times(&node);
    check(&node, &times);

    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("era");
    node.export_era().write(&archive).unwrap();
    let archive = Source::open(format!("era:{}", archive.display()).as_str()).unwrap();
    check(&archive, &times);
}

#[test]
fn queries_take_dates() {
    let fixture = small();
    let source = open(&fixture);
    let times = times(&source);
    let at = |block: usize| utc(times[block])[..19].replace(' ', "T");
    let range = format!("{}:{}", at(10), at(20));
    let spec: BlockSpec = range.parse().unwrap();
    let dated = source.transfers().blocks(spec).collect().unwrap();
    let numbered = source.transfers().blocks(10..20).collect().unwrap();
    assert!(!dated.is_empty());
    assert_eq!(dated, numbered);
    let spec: BlockSpec = "2100-01-01:".parse().unwrap();
    let error = source.transfers().blocks(spec).collect().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(
        error
            .message
            .starts_with("2100-01-01 00:00:00 UTC is after the last block"),
        "{error}"
    );
}

/// A table has times only of blocks with a row.
#[test]
fn tables_find_the_first_row_of_a_date() {
    let fixture = small();
    let node = open(&fixture);
    let all = node.transfers().collect().unwrap();
    let token = all.iter().find_map(|it| it.token_address).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.csv");
    node.transfers().token(token).write(&path).unwrap();
    let table = Source::open(format!("csv:{}", path.display()).as_str()).unwrap();
    let rows = table.transfers().collect().unwrap();
    let seconds = |it: &txgraph::Transfer| it.block_timestamp.unwrap().seconds();
    let last = seconds(rows.last().unwrap());
    let mut gaps = 0;
    for second in seconds(&rows[0])..=last {
        let first = rows.iter().find(|it| seconds(it) >= second).unwrap();
        assert_eq!(
            table.block_at(second).unwrap(),
            first.block_number,
            "{}",
            utc(second)
        );
        gaps += u32::from(seconds(first) > second);
        // Nothing is lost on either side.
        let [before, after] = [format!(":{}", utc(second)), format!("{}:", utc(second))];
        let count = |spec: String| {
            let spec: BlockSpec = spec.replace(" UTC", "").replace(' ', "T").parse().unwrap();
            table.transfers().blocks(spec).collect().unwrap().len()
        };
        if second > seconds(&rows[0]) {
            assert_eq!(count(before) + count(after), rows.len(), "{}", utc(second));
        }
    }
    assert!(gaps > 0);
    let error = table.block_at(last + 1).unwrap_err();
    assert!(error.message.contains("after the last block"), "{error}");
}
