//! Hashes and times that are filled in later, and indices that follow from traces.

use crate::support::{A, B, Files, mainnet, read};
use txgraph_import::{Family, ImportedFiles};
use txgraph_stored::StoredSource;
use txgraph_testkit::{fixtures::content, or_skip};
use txgraph_transfers::{Transfer, TransferSource};
use txgraph_work::WorkContext;

#[test]
fn hashes_and_times_are_filled_in() {
    for tables in [
        &["blocks", "transactions", "logs"][..],
        &["logs"],
        &["token_transfers"],
    ] {
        let files = Files::new();
        for table in tables {
            let name =
                format!("sources/ethereum-etl-blocks_17173049_17173050-expected_{table}.json.zst");
            let text = or_skip!(content(&name));
            files.add(&format!("{table}.json"), text);
        }
        let (expected, _) = read(files.open(Family::Etl).unwrap());
        // A graph keeps neither.
        let cleared = expected.iter().map(|it| Transfer {
            transaction_hash: None,
            block_timestamp: None,
            ..it.clone()
        });
        let mut found: Vec<_> = cleared.collect();
        // Rows of a graph are in the order of its edges.
        found.reverse();
        let source = StoredSource::new(files.open(Family::Etl).unwrap(), WorkContext::default());
        source.fill_hashes(&mut found, &[]).unwrap();
        found.reverse();
        assert!(expected.iter().any(|it| it.transaction_hash.is_some()));
        assert_eq!(found, expected, "{tables:?}");
    }
}

fn hash(number: u32) -> String {
    format!("0x{:064x}", u32::MAX - number)
}

/// Five transactions with one call each, of which only some are in the table of transactions.
fn graphsense(known: &[(u32, u32)], count: &str) -> Files {
    let files = Files::new();
    let mut traces: Vec<String> = (0..5)
        .map(|at| {
            let hash = hash(at);
            format!("7,call_{hash}_,{at},{A},{B},{},1,call,{hash}\n", 100 + at)
        })
        .collect();
    traces.reverse();
    files.add(
        "traces.csv",
        format!(
            "blockId,traceId,traceIndex,fromAddress,toAddress,value,status,callType,txHash\n{}",
            traces.concat()
        ),
    );
    let rows = known.iter().map(|(transaction, index)| {
        let value = 100 + transaction;
        format!("7,{index},{},{A},{B},{value},0\n", hash(*transaction))
    });
    files.add(
        "transactions.csv",
        format!(
            "blockId,transactionIndex,txHash,fromAddress,toAddress,value,nonce\n{}",
            rows.collect::<String>()
        ),
    );
    let (this, parent) = (hash(100), hash(101));
    files.add(
        "blocks.csv",
        format!(
            "blockId,blockHash,parentHash,timestamp,transactionCount\n7,{this},{parent},9,{count}\n"
        ),
    );
    files
}

#[test]
fn indices_follow_from_the_order_of_traces() {
    for (known, count) in [
        (&[(0, 0), (3, 3)][..], "5"),
        (&[(0, 0), (3, 3)], ""),
        (&[(2, 2)], "5"),
        (&[(4, 4)], ""),
    ] {
        let found = graphsense(known, count).all(Family::Etl);
        let found = found.iter().map(|it| {
            let hash = it.transaction_hash.unwrap().to_string();
            (it.transaction_index, hash)
        });
        assert!(found.eq((0..5).map(|at| (at, hash(at)))), "{known:?}");
    }
}

#[test]
fn indices_that_do_not_follow_are_refused() {
    // A transaction is missing before a known one, or at the end.
    for (known, count, unknown) in [
        (&[(0, 0), (3, 4)][..], "6", 1),
        (&[(1, 2)], "6", 0),
        (&[(0, 0), (3, 3)], "6", 4),
        (&[(0, 0), (3, 2)], "5", 1),
    ] {
        let files = graphsense(known, count);
        let opened = ImportedFiles::open(files.path(), &mainnet(Family::Etl)).unwrap();
        let error = crate::support::try_read(opened, |_| {}).unwrap_err();
        let error = error.to_string();
        let expected = format!("block 7: the index of transaction {}", hash(unknown));
        assert!(error.contains(&expected), "{known:?}: {error}");
        assert!(error.contains("order of traces"), "{error}");
    }
}
