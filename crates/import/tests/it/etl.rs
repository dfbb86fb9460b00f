//! Files that ethereum-etl wrote for two blocks of mainnet.

use crate::support::{A, B, Files, TOKEN, blocks, mainnet, read, warns};
use txgraph_import::{Family, ImportedFiles};
use txgraph_testkit::{fixtures::content, or_skip, says};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

const NAME: &str = "sources/ethereum-etl-blocks_17173049_17173050-expected_";

/// A folder with some of the tables.
fn files(tables: &[&str]) -> Option<Files> {
    let files = Files::new();
    for table in tables {
        files.add(
            &format!("{table}.json"),
            content(&format!("{NAME}{table}.json.zst"))?,
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
    let lines = content(&format!("{NAME}token_transfers.json.zst")).unwrap();
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
    let files = or_skip!(files(&["token_transfers"]));
    let (transfers, report) = read(files.open(Family::Etl).unwrap());
    assert!(transfers.is_sorted_by_key(|it| (it.block_number, it.log_index)));
    let first = transfers.iter().filter(|it| it.block_number == 17_173_050);
    assert_eq!(first.map(|it| it.transaction_index).min(), Some(0));
    assert!(warns(&report, "do not state which blocks"), "{report:?}");
    assert!(warns(&report, "no tables of"), "{report:?}");
}

const TRANSFERS: &str =
    "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";

#[test]
fn token_transfers_state_what_their_amounts_and_positions_are() {
    let row = format!("{TOKEN},{A},{B},9,0x{:064x},1,5", 1);
    let table = "ethereum-etl token_transfers";
    let ids = format!("transfers of ERC-721 are in {table} with their token ID as amount");
    let positions = format!("positions of transactions are not in {table}");
    for (text, is_unnumbered) in [
        (format!("{TRANSFERS}\n{row}\n"), true),
        (format!("{TRANSFERS},transaction_index\n{row},3\n"), false),
    ] {
        let files = Files::one("t.csv", text);
        let (_, report) = read(files.open(Family::Etl).unwrap());
        let has = |text: &str| report.caveats.iter().any(|it| it.starts_with(text));
        assert_eq!(
            (has(&ids), has(&positions)),
            (true, is_unnumbered),
            "{report:?}"
        );
    }
    // cryo takes only logs with an amount.
    let header =
        "block_number,log_index,transaction_hash,erc20,from_address,to_address,value_string";
    let text = format!("{header}\n5,1,0x{:064x},{TOKEN},{A},{B},9\n", 1);
    let (_, report) = read(Files::one("t.csv", text).open(Family::Cryo).unwrap());
    assert!(!warns(&report, "ERC-721"), "{report:?}");
}

/// CSV of ethereum-etl 2.4.2 has the withdrawals of a block without brackets.
#[test]
fn withdrawals_in_csv_are_read() {
    let item = |address: &str, amount: u64| {
        format!(
            "{{\"\"index\"\":2312,\"\"validator_index\"\":731,\"\"address\"\":\"\"{address}\"\",\"\"amount\"\":{amount}}}"
        )
    };
    let text = format!(
        "number,hash,parent_hash,timestamp,withdrawals\n\
         5,0x{:064x},0x{:064x},60,\"{},{}\"\n6,0x{:064x},0x{:064x},72,\"{}\"\n7,0x{:064x},0x{:064x},84,\n",
        5,
        4,
        item(A, 7),
        item(B, 8),
        6,
        5,
        item(B, 9),
        7,
        6
    );
    let files = Files::one("blocks.csv", text);
    files.add("t.csv", format!("{TRANSFERS}\n"));
    let transfers = files.all(Family::Etl);
    let gwei = 1_000_000_000;
    let found: Vec<_> = transfers
        .iter()
        .map(|it| (it.block_number, it.value.to::<u64>() / gwei, it.kind))
        .collect();
    let kind = Kind::Withdrawal;
    assert_eq!(found, [(5, 7, kind), (5, 8, kind), (6, 9, kind)]);
}

/// ethereum-etl writes nothing, not even a header, if a table has no rows.
#[test]
fn empty_files_whose_names_state_table_and_blocks_have_no_rows() {
    let row = format!("{TOKEN},{A},{B},9,0x{:064x},1,5\n", 1);
    let files = Files::one(
        "token_transfers_00000000_00000009.csv",
        format!("{TRANSFERS}\n{row}"),
    );
    files.add("token_transfers_00000010_00000019.csv", "");
    files.add("receipts_00000000_00000019.csv", "");
    for family in [Family::Etl, Family::Csv] {
        let (transfers, report) = read(files.open(family).unwrap());
        assert_eq!((transfers.len(), report.covered), (1, blocks(0, 19)));
        let about_rows = report.caveats.iter().filter(|it| it.starts_with("rows "));
        assert_eq!(about_rows.count(), 0);
    }
    let error = files.open(Family::Cryo).unwrap_err().to_string();
    says(&error, "there is no header");
    files.add("token_transfers.csv", "");
    let error = files.open(Family::Etl).unwrap_err().to_string();
    says(&error, "token_transfers.csv: there is no header");
}
