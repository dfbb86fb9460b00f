//! Tables of typed values in every table format.

use crate::columns::{chosen, footer, read};
use alloy_primitives::{Address, B256, U256};
use std::fs;
use txgraph_export::{
    Column, ColumnType, Error, Metadata, TableFormat, TableWriter, Target, TransferTableOptions,
    Value,
};
use txgraph_graph::AmountSum;

fn columns() -> Vec<Column> {
    [
        ("text", ColumnType::Text),
        ("small", ColumnType::U32),
        ("large", ColumnType::U64),
        ("amount", ColumnType::Amount),
        ("change", ColumnType::SignedAmount),
        ("share", ColumnType::F64),
        ("flag", ColumnType::Bool),
        ("address", ColumnType::Address),
        ("hash", ColumnType::Hash),
        ("path", ColumnType::Indices),
        ("nested", ColumnType::Json),
    ]
    .map(|(name, column_type)| Column::new(name, column_type))
    .to_vec()
}

fn values() -> [Vec<Value<'static>>; 3] {
    [
        vec![
            "a, \"b\"\u{2028}".into(),
            7u32.into(),
            u64::MAX.into(),
            U256::MAX.into(),
            Value::SignedAmount {
                is_negative: true,
                magnitude: U256::MAX,
            },
            0.5.into(),
            true.into(),
            Address::repeat_byte(0xAB).into(),
            B256::repeat_byte(0xCD).into(),
            vec![0, 12, 3].into(),
            Value::Json(br#"{"a":[1,"b"]}"#.to_vec()),
        ],
        vec![
            String::new().into(),
            0u32.into(),
            0u64.into(),
            AmountSum::ZERO.into(),
            Value::SignedAmount {
                is_negative: false,
                magnitude: U256::ZERO,
            },
            (-1.5).into(),
            false.into(),
            Address::ZERO.into(),
            B256::ZERO.into(),
            Vec::new().into(),
            Value::Json(b"[]".to_vec()),
        ],
        vec![Value::Absent; 11],
    ]
}

fn write(format: TableFormat, options: &TransferTableOptions) -> (tempfile::TempDir, Target) {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("t"));
    let mut writer = TableWriter::new(format, columns(), options, &target, false).unwrap();
    values().iter().for_each(|row| writer.push(row).unwrap());
    let metadata = Metadata::new("replay", serde_json::json!({"block": 1}));
    let written = writer.finish(Some(&metadata)).unwrap();
    assert_eq!(written.rows, Some(3));
    assert_eq!(written.metadata_path.is_some(), format.has_metadata_file());
    if !format.is_text() {
        let path = target.path().unwrap();
        let expected = serde_json::to_value(&metadata).unwrap();
        assert_eq!(footer(format, path), expected);
    }
    (folder, target)
}

#[test]
fn text_tables_hold_every_type() {
    let options = TransferTableOptions::new(1);
    let text = |format| {
        let (_folder, target) = write(format, &options);
        fs::read_to_string(target.path().unwrap()).unwrap()
    };
    let amount = U256::MAX;
    let (address, hash) = ("ab".repeat(20), "cd".repeat(32));
    let (zeros, long_zeros) = ("0".repeat(40), "0".repeat(64));
    assert_eq!(
        text(TableFormat::Csv),
        format!(
            "text,small,large,amount,change,share,flag,address,hash,path,nested\n\
             \"a, \"\"b\"\" \",7,18446744073709551615,{amount},-{amount},0.5,true,0x{address},\
             0x{hash},0_12_3,\"{{\"\"a\"\":[1,\"\"b\"\"]}}\"\n\
             ,0,0,0,0,-1.5,false,0x{zeros},0x{long_zeros},,[]\n\
             ,,,,,,,,,,\n"
        )
    );
    assert_eq!(
        text(TableFormat::Jsonl),
        format!(
            "{{\"text\":\"a, \\\"b\\\"\\u2028\",\"small\":7,\"large\":18446744073709551615,\
             \"amount\":\"{amount}\",\"change\":\"-{amount}\",\"share\":0.5,\"flag\":true,\
             \"address\":\"0x{address}\",\"hash\":\"0x{hash}\",\"path\":[0,12,3],\
             \"nested\":{{\"a\":[1,\"b\"]}}}}\n\
             {{\"text\":\"\",\"small\":0,\"large\":0,\"amount\":\"0\",\"change\":\"0\",\
             \"share\":-1.5,\"flag\":false,\"address\":\"0x{zeros}\",\"hash\":\"0x{long_zeros}\",\
             \"path\":[],\"nested\":[]}}\n\
             {{\"text\":null,\"small\":null,\"large\":null,\"amount\":null,\"change\":null,\
             \"share\":null,\"flag\":null,\"address\":null,\"hash\":null,\"path\":null,\
             \"nested\":null}}\n"
        )
    );
}

#[test]
fn binary_tables_read_back() {
    for format in [TableFormat::Parquet, TableFormat::Ipc] {
        for group_rows in [1, 100] {
            let options = TransferTableOptions {
                group_rows,
                ..chosen("all:string")
            };
            let (_folder, target) = write(format, &options);
            let rows = read(format, target.path().unwrap()).rows();
            let amount = U256::MAX.to_string();
            assert_eq!(
                rows[0],
                [
                    "a, \"b\"\u{2028}",
                    "7",
                    "18446744073709551615",
                    &amount,
                    &format!("-{amount}"),
                    "0.5",
                    "true",
                    &format!("0x{}", "ab".repeat(20)),
                    &format!("0x{}", "cd".repeat(32)),
                    "0_12_3",
                    r#"{"a":[1,"b"]}"#,
                ]
            );
            assert_eq!(rows[1][2..5], ["0", "0", "0"]);
            assert_eq!(rows[2], [""; 11]);
        }
    }
}

#[test]
fn rows_that_do_not_fit_their_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("t"));
    let columns = vec![
        Column::new("a", ColumnType::U32),
        Column::new("b", ColumnType::Text),
    ];
    for format in TableFormat::ALL {
        let options = TransferTableOptions::new(1);
        let mut writer =
            TableWriter::new(*format, columns.clone(), &options, &target, false).unwrap();
        let error = writer.push(&[7u32.into()]).unwrap_err();
        assert!(
            matches!(
                error,
                Error::RowLength {
                    columns: 2,
                    values: 1
                }
            ),
            "{error}"
        );
        let error = writer.push(&[7u64.into(), "x".into()]).unwrap_err();
        assert!(matches!(error, Error::RowType { .. }), "{error}");
        assert!(error.to_string().contains("`a`"), "{error}");
    }
}

#[test]
fn without_metadata_there_is_no_second_file() {
    for format in TableFormat::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let target = Target::File(path.clone());
        let options = TransferTableOptions::new(1);
        let mut writer = TableWriter::new(*format, columns(), &options, &target, false).unwrap();
        writer.push(&values()[0]).unwrap();
        assert_eq!(writer.finish(None).unwrap().metadata_path, None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        if !format.is_text() {
            assert_eq!(read(*format, &path).rows().len(), 1);
        }
    }
}

#[test]
fn repeated_columns_are_refused_before_a_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("t"));
    let options = chosen("value,hop,value:f64");
    for format in TableFormat::ALL {
        let error = TableWriter::new(*format, columns(), &options, &target, false).unwrap_err();
        assert!(matches!(error, Error::ColumnTwice(_)));
        let options = chosen("value,value:f64");
        let transfers =
            txgraph_export::TransferWriter::new(*format, &options, &target, false).unwrap_err();
        assert!(matches!(transfers, Error::ColumnTwice(_)));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
