//! Files that ethereum-etl wrote for two blocks of mainnet.

use crate::support::{Files, fixture, mainnet, read};
use txgraph_import::{Family, ImportedFiles};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

const NAME: &str = "sources/ethereum-etl-blocks_17173049_17173050-expected_";

/// A folder with some of the tables.
fn files(tables: &[&str]) -> Option<Files> {
    let files = Files::new();
    for table in tables {
        files.add(
            &format!("{table}.json"),
            fixture(&format!("{NAME}{table}.json.zst"))?,
        );
    }
    Some(files)
}

fn tokens(transfers: Vec<Transfer>) -> Vec<Transfer> {
    let is_token = |it: &Transfer| matches!(it.kind, Kind::Transfer | Kind::Mint | Kind::Burn);
    transfers
        .into_iter()
        .filter(|it| is_token(it) && it.token_address.is_some())
        // ethereum-etl has no ERC-1155, and the token ID of ERC-721 as the amount.
        .filter(|it| it.token_standard != TokenStandard::Erc1155)
        .map(|it| Transfer {
            value: it.token_id.unwrap_or(it.value),
            token_id: None,
            token_standard: TokenStandard::Erc20,
            transaction_index: 0,
            ..it
        })
        .collect()
}

#[test]
fn token_transfers_equal_those_decoded_from_logs() {
    let (Some(logs), Some(expected)) = (files(&["logs"]), files(&["token_transfers"])) else {
        return;
    };
    let (logs, expected) = (
        tokens(logs.all(Family::Etl)),
        tokens(expected.all(Family::Etl)),
    );
    let lines = fixture(&format!("{NAME}token_transfers.json.zst")).unwrap();
    let rows = lines.iter().filter(|byte| **byte == b'\n').count();
    assert!(
        rows > 200 && logs.len() + 1 >= rows && logs.len() <= rows + 1,
        "{rows}"
    );
    assert_eq!(logs, expected);
}

#[test]
fn tables_complete_each_other() {
    let tables = ["blocks", "transactions", "logs", "token_transfers"];
    let Some(files) = files(&tables) else { return };
    let opened = ImportedFiles::open(files.path(), &mainnet(Family::Etl)).unwrap();
    assert!(
        opened
            .notes()
            .iter()
            .any(|note| note.contains("token_transfers") && note.contains("not read"))
    );
    let (transfers, report) = read(opened);
    // The table of blocks states which blocks there are.
    assert_eq!(report.caveats, Vec::<String>::new());
    assert_eq!(report.covered.blocks(), 2);
    assert_eq!(report.anchors.len(), 1);
    assert!(transfers.iter().all(|it| it.block_timestamp.is_some()));
    let count = |kind: Kind| transfers.iter().filter(|it| it.kind == kind).count();
    assert_eq!(count(Kind::Withdrawal), 32);
    assert!(count(Kind::Value) > 100);
    let plain = |it: &&Transfer| it.kind != Kind::Withdrawal;
    assert!(
        transfers
            .iter()
            .filter(plain)
            .all(|it| it.transaction_hash.is_some())
    );
    let last = transfers
        .iter()
        .rfind(|it| it.block_number == 17_173_050)
        .unwrap();
    assert_eq!((last.kind, last.transaction_index), (Kind::Withdrawal, 182));
}

#[test]
fn missing_indices_come_from_the_order_of_logs() {
    let Some(files) = files(&["token_transfers"]) else {
        return;
    };
    let (transfers, report) = read(files.open(Family::Etl).unwrap());
    assert!(transfers.is_sorted_by_key(|it| (it.block_number, it.log_index)));
    let first = transfers.iter().filter(|it| it.block_number == 17_173_050);
    assert_eq!(first.map(|it| it.transaction_index).min(), Some(0));
    assert!(
        report
            .caveats
            .iter()
            .any(|it| it.contains("do not state which blocks")),
        "{report:?}"
    );
    assert!(
        report.caveats.iter().any(|it| it.contains("no tables of")),
        "{report:?}"
    );
}
