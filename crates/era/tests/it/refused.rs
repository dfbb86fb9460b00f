//! Files that are refused, and the reasons.

use crate::support::{
    Block, Content, chain, erc20, open, range, read_all, request, scan, try_write, write,
};
use alloy_primitives::{Address, U256};
use std::{fs, path::Path};
use txgraph_era::{EraBlock, EraOptions, EraWriter, Error, Format};
use txgraph_testkit::says;
use txgraph_transfers::{FailureKind, SourceError, TokenFilter};

fn blocks() -> Vec<Block> {
    let content = |number: u64| Content {
        transactions: vec![(5, vec![erc20(1, 2, 3, number)])],
        difficulty: 3,
        ..Content::default()
    };
    chain(100, &[content(4), content(5), content(6)])
}

fn refused(path: &Path, options: &EraOptions) -> Error {
    open(path, options).unwrap_err()
}

#[test]
fn files_without_receipts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = EraWriter::create(folder.path(), "mainnet", Format::Ere).unwrap();
    for block in blocks() {
        let (header, body, _) = block.encode();
        let block = EraBlock {
            header: &header,
            body: &body,
            receipts: None,
            total_difficulty: None,
        };
        writer.push(&block).unwrap();
    }
    let path = writer.finish().unwrap();
    assert!(path.to_str().unwrap().ends_with("-noproofs-noreceipts.ere"));
    let error = refused(&path, &EraOptions::default());
    says(&error, "contains no receipts");
    assert_eq!(error.failure_kind(), FailureKind::Missing);
    // Next to a file with receipts, its blocks are missing.
    let more = chain(200, &[Content::default()]);
    write(folder.path(), Format::Ere, &more);
    let source = open(folder.path(), &EraOptions::default()).unwrap();
    let error = scan(&source, &request(range(100, 200))).unwrap_err();
    says(&error, "files without receipts: 1");
}

#[test]
fn paths_without_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(folder.path(), &EraOptions::default());
    says(&error, "no .ere or .era1 files in this directory");
    let error = refused(&folder.path().join("none"), &EraOptions::default());
    assert!(matches!(error, Error::Io { .. }), "{error}");
    for content in [&b""[..], b"<html>not found</html>", &[0; 4096]] {
        let path = folder.path().join("mainnet-00000-00000000.ere");
        fs::write(&path, content).unwrap();
        let error = refused(folder.path(), &EraOptions::default());
        says(
            &error,
            "mainnet-00000-00000000.ere: not a complete .ere or .era1 file",
        );
    }
}

#[test]
fn files_of_other_chains_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = try_write(folder.path(), "sepolia", Format::Era1, &blocks()).unwrap();
    // The transactions are signed for mainnet.
    let error = refused(&path, &EraOptions::default());
    let text = "a transaction is of chain 1, but the file name is of chain 11155111";
    says(&error, text);
    assert_eq!(error.failure_kind(), FailureKind::Options);
    let options = EraOptions {
        chain_id: Some(5),
        ..EraOptions::default()
    };
    let error = refused(&path, &options);
    assert!(error.is_configured(), "{error}");
    let other = chain(200, &[Content::default()]);
    write(folder.path(), Format::Ere, &other);
    let error = refused(folder.path(), &EraOptions::default());
    says(&error, "network");
    // An unknown network without a chain ID in its transactions.
    let folder = tempfile::tempdir().unwrap();
    let path = try_write(folder.path(), "gnosis", Format::Ere, &other).unwrap();
    let error = refused(&path, &EraOptions::default());
    assert!(matches!(error, Error::UnknownChain { .. }), "{error}");
    let options = EraOptions {
        chain_id: Some(100),
        ..EraOptions::default()
    };
    assert!(open(&path, &options).is_ok());
}

#[test]
fn transactions_of_another_chain_are_refused_when_they_are_read() {
    // The newest blocks, which are searched for a chain ID, have no transactions.
    let mut contents = vec![Content::default(); 20];
    contents[0].transactions = vec![(5, Vec::new())];
    let folder = tempfile::tempdir().unwrap();
    let path = try_write(
        folder.path(),
        "sepolia",
        Format::Ere,
        &chain(100, &contents),
    )
    .unwrap();
    let source = open(&path, &EraOptions::default()).unwrap();
    let error = scan(&source, &request(range(100, 119))).unwrap_err();
    let text = "block 100: transaction 0: it is for chain 1, but the archive is of chain 11155111";
    says(&error, text);
}

#[test]
fn files_that_overlap_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks();
    write(folder.path(), Format::Ere, &blocks);
    write(folder.path(), Format::Era1, &blocks[1..]);
    let error = refused(folder.path(), &EraOptions::default());
    assert!(
        matches!(error, Error::Overlap { block: 101, .. }),
        "{error}"
    );
}

#[test]
fn files_of_different_branches_are_refused() {
    let content = Content::default();
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        Format::Ere,
        &chain(100, std::slice::from_ref(&content)),
    );
    write(folder.path(), Format::Ere, &chain(101, &[content]));
    let source = open(folder.path(), &EraOptions::default()).unwrap();
    let error = scan(&source, &request(range(100, 101))).unwrap_err();
    says(&error, "block 101 has the parent hash");
}

#[test]
fn unknown_outcomes_before_byzantium_are_refused() {
    let mut content = Content {
        transactions: vec![(5, vec![])],
        before_byzantium: true,
        difficulty: 3,
        ..Content::default()
    };
    // Uses all its gas: it may have failed.
    let gas = 22_000;
    let block = chain(100, std::slice::from_ref(&content))
        .remove(0)
        .with_gas(gas);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Format::Era1, &[block]);
    let source = open(&path, &EraOptions::default()).unwrap();
    let mut request = request(range(100, 100));
    let error = scan(&source, &request).unwrap_err();
    says(&error, "before Byzantium");
    let SourceError::Failed(failure) = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::Missing);
    // Tokens do not depend on it.
    request.filter.tokens = TokenFilter::only([Address::ZERO]);
    assert!(scan(&source, &request).unwrap().0.is_empty());
    // Neither does a transaction with a log, which failed ones do not keep.
    content.transactions[0].1.push(erc20(1, 2, 3, 4));
    let block = chain(100, &[content]).remove(0).with_gas(gas);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Format::Era1, &[block]);
    assert_eq!(read_all(&path, false).unwrap().len(), 2);
}

#[test]
fn the_writer_refuses_blocks_that_cannot_be_proven() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks();
    let parts = blocks.iter().map(Block::encode).collect::<Vec<_>>();
    let block = |header: usize, body: usize, receipts: usize| EraBlock {
        header: &parts[header].0,
        body: &parts[body].1,
        receipts: Some(&parts[receipts].2),
        total_difficulty: Some(U256::from(1)),
    };
    let without_header = EraBlock {
        header: &[0x80],
        ..block(0, 0, 0)
    };
    for (block, reason) in [
        (block(0, 1, 0), "transactions root"),
        (block(0, 0, 1), "receipts root"),
        (without_header, "a header cannot be written"),
    ] {
        let mut writer = EraWriter::create(folder.path(), "mainnet", Format::Ere).unwrap();
        let error = writer.push(&block).unwrap_err();
        says(&error, reason);
        assert!(writer.finish().is_err());
    }
    let mut writer = EraWriter::create(folder.path(), "mainnet", Format::Ere).unwrap();
    writer.push(&block(1, 1, 1)).unwrap();
    let error = writer.push(&block(0, 0, 0)).unwrap_err();
    says(&error, "does not follow");
    let without_difficulty = EraBlock {
        total_difficulty: None,
        ..block(2, 2, 2)
    };
    let error = writer.push(&without_difficulty).unwrap_err();
    says(&error, "same parts");
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
