//! Order, duplicates, coverage and chain of a set of files. `import.rs` of `cli` has the options for coverage and
//! columns.

use crate::support::{A, B, Files, TOKEN, blocks, read, try_read, warns};
use proptest::prelude::*;
use txgraph_import::{Family, ImportOptions, ImportedFiles};
use txgraph_testkit::says;
use txgraph_transfers::{Kind, SourceError, Transfer};

const ETL: &str =
    "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n";

fn etl_row(block: u64, log: u32, transaction: u32, value: u64) -> String {
    format!("{TOKEN},{A},{B},{value},0x{transaction:064x},{log},{block}\n")
}

/// Rows of blocks with a few transactions, without the index of these.
fn rows() -> impl Strategy<Value = Vec<String>> {
    let block = proptest::collection::vec((0u32..3, 0u64..1000), 0..6);
    proptest::collection::vec(block, 1..12).prop_map(|blocks| {
        let mut rows = Vec::new();
        for (number, logs) in (100u64..).zip(blocks) {
            let mut transaction = 0;
            for (log, (more, value)) in (0u32..).zip(logs) {
                transaction += more;
                // Hashes do not ascend with the index.
                rows.push(etl_row(number, log, u32::MAX - transaction, value));
            }
        }
        rows
    })
}

fn all(rows: &[String], files: usize) -> Vec<Transfer> {
    let folder = Files::new();
    for number in 0..files {
        let part = rows.iter().skip(number).step_by(files).map(String::as_str);
        folder.add(
            &format!("{number}.csv"),
            format!("{ETL}{}", part.collect::<String>()),
        );
    }
    folder.all(Family::Etl)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_in_any_order_give_the_same_answer(
        (rows, shuffled) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        files in 1usize..4,
    ) {
        let sorted = all(&rows, 1);
        prop_assert_eq!(sorted.len(), rows.len());
        prop_assert_eq!(&all(&shuffled, files), &sorted);
        // Every row twice.
        let twice: Vec<_> = shuffled.iter().chain(&rows).cloned().collect();
        prop_assert_eq!(&all(&twice, files), &sorted);
    }
}

#[test]
fn equal_rows_are_counted_and_different_ones_refused() {
    let row = etl_row(5, 1, 1, 7);
    let files = Files::one("a.csv", format!("{ETL}{row}{row}"));
    files.add("b.csv", format!("{ETL}{row}"));
    let (transfers, report) = read(files.open(Family::Etl).unwrap());
    assert_eq!((transfers.len(), report.counts.duplicates), (1, 2));
    files.add("b.csv", format!("{ETL}{}", etl_row(5, 1, 1, 8)));
    let error = files.refused(Family::Etl);
    says(&error, "block 5: log 1 differs between");
    says(&error, "a.csv, row 1 and");
    says(&error, "b.csv, row 1");
}

#[test]
fn file_names_state_the_covered_blocks() {
    let name = "start_block=00000000/end_block=00000099/token_transfers_00000000_00000099.csv";
    let files = Files::one(name, format!("{ETL}{}", etl_row(5, 1, 1, 7)));
    let (_, report) = read(files.open(Family::Etl).unwrap());
    assert_eq!(report.covered, blocks(0, 99));
    assert!(!warns(&report, "which blocks"), "{report:?}");
    // A block after the last one of the files.
    let outside = try_read(files.open(Family::Etl).unwrap(), |it| {
        it.blocks = blocks(90, 100)
    });
    assert!(matches!(outside, Err(SourceError::Unavailable { .. })));
    files.add(name, format!("{ETL}{}", etl_row(100, 1, 1, 7)));
    let error = files.refused(Family::Etl);
    says(&error, "its name states blocks 0:100");
    // Also of a compressed file.
    let rows = format!("{ETL}{}", etl_row(5, 1, 1, 7));
    let rows = zstd::encode_all(rows.as_bytes(), 1).unwrap();
    let files = Files::one("token_transfers_00000000_00000099.csv.zst", rows);
    let (_, report) = read(files.open(Family::Etl).unwrap());
    assert_eq!(report.covered, blocks(0, 99));
}

#[test]
fn metadata_of_txgraph_states_chain_and_blocks() {
    let header = "block_number,block_timestamp,transaction_index,log_index,sub_index,\
                  transaction_hash,token_address,from_address,to_address,value,token_id,\
                  token_standard,kind,chain_id\n";
    let row = format!(
        "7,1700000000,3,,2,0x{:064x},,{A},{B},9,,native,internal,130\n",
        1
    );
    let files = Files::one("t.csv", format!("{header}{row}"));
    let meta = r#"{"chain":{"chain_id":130,"genesis_hash":"0x0000000000000000000000000000000000000000000000000000000000000007","name":null},"scan":{"covered":[{"first":0,"last":50}]}}"#;
    files.add("t.csv.meta.json", meta);
    let opened = ImportedFiles::open(files.path(), &ImportOptions::new(Family::Csv)).unwrap();
    let (transfers, report) = read(opened);
    assert_eq!(report.covered, blocks(0, 50));
    assert_eq!((transfers.len(), transfers[0].sub_index), (1, 2));
    let error = files.open(Family::Csv).unwrap_err().to_string();
    says(&error, "chain id 130, but 1 is configured");
    // Two dates in a name are no blocks, and metadata is before names.
    for name in ["t_20240101_20240131.csv", "logs_00000000_00000099.csv"] {
        let files = Files::one(name, format!("{header}{row}"));
        files.add(&format!("{name}.meta.json"), meta);
        let opened = ImportedFiles::open(files.path(), &ImportOptions::new(Family::Csv)).unwrap();
        assert_eq!(read(opened).1.covered, blocks(0, 50), "{name}");
    }
    // The file was compressed later.
    let compressed = zstd::encode_all(format!("{header}{row}").as_bytes(), 1).unwrap();
    let files = Files::one("t.csv.zst", compressed);
    files.add("t.csv.meta.json", meta);
    let opened = ImportedFiles::open(files.path(), &ImportOptions::new(Family::Csv)).unwrap();
    assert_eq!(read(opened).1.covered, blocks(0, 50));
    // JSON of no rows has no names of columns.
    for (name, command, is_table) in [
        ("t.jsonl", "transfers", true),
        ("t.jsonl", "balance", false),
        ("t.csv", "transfers", false),
    ] {
        let files = Files::one(name, "");
        let command = format!(r#"{{"command":"{command}","limits":[],"#);
        files.add(
            &format!("{name}.meta.json"),
            meta.replacen('{', &command, 1),
        );
        let opened = ImportedFiles::open(files.path(), &ImportOptions::new(Family::Csv));
        match opened {
            Ok(opened) if is_table => {
                let (transfers, report) = read(opened);
                assert_eq!((transfers.len(), report.covered), (0, blocks(0, 50)));
                assert_eq!(report.caveats, [""; 0]);
            }
            Err(error) if !is_table => says(&error, "there "),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_of_different_chains_are_refused() {
    let header = "block_number,transaction_index,log_index,transaction_hash,erc20,from_address,to_address,value_string,chain_id\n";
    let row =
        |chain: u64, block: u64| format!("{block},0,1,0x{:064x},{TOKEN},{A},{B},1,{chain}\n", 1);
    let files = Files::one("a.csv", format!("{header}{}", row(1, 5)));
    assert_eq!(files.all(Family::Cryo).len(), 1);
    // In one file.
    files.add("a.csv", format!("{header}{}{}", row(1, 5), row(10, 6)));
    let error = files.refused(Family::Cryo);
    says(&error, "a.csv: chain id 10, but 1");
    // In two files.
    files.add("a.csv", format!("{header}{}", row(1, 5)));
    files.add("b.csv", format!("{header}{}", row(10, 6)));
    let plain = ImportOptions::new(Family::Cryo);
    let error = ImportedFiles::open(files.path(), &plain)
        .unwrap_err()
        .to_string();
    says(&error, "b.csv: chain id 10, but 1 in ");
    // In the name and in the rows.
    let files = Files::one(
        "network_10__erc20_transfers__0_to_9.csv",
        format!("{header}{}", row(1, 5)),
    );
    assert_eq!(files.all(Family::Cryo).len(), 1);
    let files = Files::one("x.csv", format!("{ETL}{}", etl_row(5, 1, 1, 7)));
    let error = ImportedFiles::open(files.path(), &ImportOptions::new(Family::Etl)).unwrap_err();
    says(&error, "do not contain the chain id");
}

#[test]
fn failed_parents_undo_their_calls() {
    let header = "block_number,transaction_index,transaction_hash,action_from,action_to,action_value,\
                  action_type,action_call_type,trace_address,error,result_address,chain_id\n";
    let hash = format!("0x{:064x}", 1);
    let row = |call: &str, path: &str, value: u64, error: &str| {
        format!("5,0,{hash},{A},{B},{value},call,{call},{path},{error},,1\n")
    };
    let text = format!(
        "{header}{}{}{}{}{}{}{}",
        row("call", "", 1, ""),
        row("call", "0", 2, "Reverted"),
        row("call", "0_0", 3, ""),
        row("delegate_call", "1", 4, ""),
        row("call", "1_0", 5, ""),
        row("static_call", "1_1", 0, ""),
        format_args!("5,0,{hash},{A},,6,create,,2,,{TOKEN},1\n"),
    );
    let transfers = Files::one("t.csv", text).all(Family::Cryo);
    let found: Vec<_> = transfers
        .iter()
        .map(|it| (it.sub_index, it.value.to::<u64>(), it.kind.as_str()))
        .collect();
    assert_eq!(
        found,
        [(0, 1, "value"), (1, 5, "internal"), (2, 6, "internal")]
    );
    assert_eq!(format!("{:#x}", transfers[2].to_address), TOKEN);
}

#[test]
fn tables_of_the_op_stack_lack_mints() {
    let header = "hash,nonce,block_number,transaction_index,from_address,to_address,value,\
                  receipt_status\n";
    let files = Files::one(
        "transactions.csv",
        format!("{header}0x{:064x},0,5,0,{A},{B},7,1\n", 1),
    );
    for (chain_id, is_warned) in [(10, true), (1, false)] {
        let options = ImportOptions {
            chain_id: Some(chain_id),
            ..ImportOptions::new(Family::Etl)
        };
        let files = ImportedFiles::open(files.path(), &options).unwrap();
        let mut caveats = files.caveats().iter();
        assert_eq!(
            caveats.any(|it| it.contains("deposits mint")),
            is_warned,
            "{chain_id}"
        );
    }
}

#[test]
fn refusals_name_the_tables_that_are_missing() {
    let header = "hash,nonce,block_number,transaction_index,from_address,to_address,value,\
                  receipt_status\n";
    let row = format!("0x{:064x},0,5,0,{A},{B},7,1\n", 1);
    let files = Files::one("transactions.csv", format!("{header}{row}"));
    let text = files.open(Family::Etl).unwrap().tables_without_internal();
    assert_eq!(
        text,
        "no table has transfers inside of transactions; found: ethereum-etl transactions. Add for \
         the same blocks: ethereum-etl traces, or GraphSense traces"
    );
    // No table of other tools has fees.
    let error = try_read(files.open(Family::Etl).unwrap(), |request| {
        request.filter.internal = true;
        request.filter.kinds = vec![Kind::Fee];
    });
    let text = error.unwrap_err().to_string();
    says(&text, "no table has transfers inside");
    let header = "block_number,transaction_index,transaction_hash,from_address,to_address,value,\
                  transfer_index\n";
    let row = format!("5,0,0x{:064x},{A},{B},7,0\n", 1);
    let files = Files::one("native_transfers.csv", format!("{header}{row}"));
    let error = try_read(files.open(Family::Cryo).unwrap(), |request| {
        request.filter.kinds = vec![Kind::Fee];
    });
    let text = error.unwrap_err().to_string();
    says(&text, "a request for fees cannot be answered");
}
