//! Columns that the user chose.

use crate::support::{A, B, Files, TOKEN, mainnet, read};
use txgraph_import::{Columns, Error, Family, ImportOptions, ImportedFiles};
use txgraph_testkit::says;
use txgraph_transfers::TokenStandard;

const ITEMS: &str = "block=h,from=s,to=r,token=c,token-id=id,log-index=log";

fn open(files: &Files, columns: &str) -> Result<ImportedFiles, Error> {
    let options = ImportOptions {
        columns: Some(Columns::parse(columns)?),
        ..mainnet(Family::Csv)
    };
    ImportedFiles::open(files.path(), &options)
}

#[test]
fn token_ids_with_amounts_are_of_erc1155() {
    use TokenStandard::{Erc721, Erc1155};
    let row = |log: &str, id: u64, amount: &str| format!("5,{A},{B},{TOKEN},{id},{log},{amount}\n");
    let text = [
        "h,s,r,c,id,log,n\n".to_owned(),
        row("1", 70, "1"),
        row("2", 71, "12"),
        row("2", 72, "13"),
        row("3", 73, ""),
        row("", 74, "14"),
    ];
    let files = Files::one("x.csv", text.concat());
    let found = |columns: &str| -> Vec<_> {
        let (transfers, _) = read(open(&files, columns).unwrap());
        let row = |it: &txgraph_transfers::Transfer| {
            let (log, sub) = (it.log_index, it.sub_index);
            (
                log,
                sub,
                it.token_id.unwrap().to::<u64>(),
                it.value.to::<u64>(),
                it.token_standard,
            )
        };
        let mut rows: Vec<_> = transfers.iter().map(row).collect();
        rows.sort_by_key(|row| row.2);
        rows
    };
    assert_eq!(
        found(&format!("{ITEMS},value=n")),
        [
            (Some(1), 0, 70, 1, Erc721),
            (Some(2), 0, 71, 12, Erc1155),
            (Some(2), 1, 72, 13, Erc1155),
            (Some(3), 0, 73, 1, Erc721),
            (None, 0, 74, 14, Erc1155),
        ]
    );
    // Without amounts, every row is one token of ERC-721.
    let text = format!("h,s,r,c,id,log\n5,{A},{B},{TOKEN},70,1\n6,{A},{B},{TOKEN},71,\n");
    files.add("x.csv", text);
    assert_eq!(
        found(ITEMS),
        [(Some(1), 0, 70, 1, Erc721), (None, 0, 71, 1, Erc721)]
    );
    let error = open(&files, &format!("{ITEMS},value=id")).unwrap_err();
    says(
        &error,
        "the column `id` is named for both token-id and value",
    );
}

#[test]
fn rows_without_a_log_index_may_be_exported_twice() {
    let caveat = "rows have no log index: equal rows look like rows that were exported twice";
    let text = format!("h,s,r,n,log\n5,{A},{B},7,1\n");
    let files = Files::one("x.csv", &text);
    files.add("y.csv", &text);
    for (columns, count, is_said) in [
        ("block=h,from=s,to=r,value=n", 2, true),
        ("block=h,from=s,to=r,value=n,log-index=log", 1, false),
    ] {
        let (transfers, report) = read(open(&files, columns).unwrap());
        let said = report.caveats.iter().any(|it| it == caveat);
        assert_eq!((transfers.len(), said), (count, is_said), "{report:?}");
    }
}
