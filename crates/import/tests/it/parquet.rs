//! Parquet files as cryo and others write them.

use crate::support::{A, B, Files, TOKEN, read, try_read};
use alloy_primitives::{U256, hex};
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, ListArray,
    RecordBatch, StringArray, UInt32Array, UInt64Array,
    builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder},
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::{
        metadata::ParquetMetaDataReader,
        properties::{EnabledStatistics, WriterProperties},
    },
};
use std::{fs, sync::Arc};
use txgraph_import::Family;
use txgraph_testkit::says;
use txgraph_transfers::{TRANSFER, Transfer};

/// The rows of the tests: block, transaction, log, amount.
fn rows() -> Vec<(u32, u32, u32, U256)> {
    let row = |n: u32| (100 + n / 7, n % 7 / 2, n % 7, U256::MAX >> (n % 250));
    (0..3000).map(row).collect()
}

fn write(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn properties(statistics: EnabledStatistics) -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(500))
        .set_statistics_enabled(statistics)
        .set_compression(Compression::SNAPPY)
        .build()
}

fn column<T>(get: impl Fn(&(u32, u32, u32, U256)) -> T) -> Vec<T> {
    rows().iter().map(get).collect()
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn numbers(get: impl Fn(&(u32, u32, u32, U256)) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from(column(get)))
}

fn texts(get: impl Fn(&(u32, u32, u32, U256)) -> String) -> ArrayRef {
    Arc::new(StringArray::from(column(get)))
}

fn words(text: &str) -> ArrayRef {
    texts(|_| text.to_owned())
}

fn binaries<T: AsRef<[u8]>>(get: impl Fn(&(u32, u32, u32, U256)) -> T) -> ArrayRef {
    Arc::new(BinaryArray::from_iter_values(column(get)))
}

fn binary(text: &str) -> ArrayRef {
    let bytes = hex::decode(text).unwrap();
    binaries(|_| bytes.clone())
}

fn floats(number: f64) -> ArrayRef {
    Arc::new(Float64Array::from(column(|_| number)))
}

/// The columns of positions, and others.
fn with_place(more: impl IntoIterator<Item = (&'static str, ArrayRef)>) -> Columns {
    let chain_id = Arc::new(UInt64Array::from(column(|_| 1)));
    let mut columns: Columns = vec![
        ("block_number", numbers(|row| row.0)),
        ("transaction_index", numbers(|row| row.1)),
        ("log_index", numbers(|row| row.2)),
        ("chain_id", chain_id),
    ];
    columns.extend(more);
    columns
}

/// cryo's erc20_transfers with binary columns.
fn erc20_binary() -> Columns {
    with_place([
        ("erc20", binary(TOKEN)),
        ("from_address", binary(A)),
        ("to_address", binary(B)),
        ("value_binary", binaries(|row| row.3.to_be_bytes::<32>())),
        ("value_f64", floats(1.5)),
    ])
}

/// A file of ethereum-etl with these senders and values.
fn etl(from: ArrayRef, value: ArrayRef) -> Files {
    let columns = with_place([
        ("token_address", words(TOKEN)),
        ("from_address", from),
        ("to_address", words(B)),
        ("value", value),
    ]);
    let bytes = write(columns, properties(EnabledStatistics::Chunk));
    Files::one("t.parquet", bytes)
}

fn transfers(name: &str, bytes: &[u8], family: Family) -> Vec<Transfer> {
    let files = Files::one(name, bytes);
    read(files.open(family).unwrap()).0
}

#[test]
fn all_encodings_give_the_same_transfers() {
    let name = "ethereum__erc20_transfers__00000100_to_00000528.parquet";
    let expected = transfers(
        name,
        &write(erc20_binary(), properties(EnabledStatistics::Chunk)),
        Family::Cryo,
    );
    assert_eq!(expected.len(), 3000);
    let found = expected.iter().map(|it| {
        let block = u32::try_from(it.block_number).unwrap();
        (block, it.transaction_index, it.log_index.unwrap(), it.value)
    });
    assert!(found.eq(rows()));

    for compression in [
        Compression::BROTLI(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ] {
        let properties = WriterProperties::builder().set_compression(compression);
        let bytes = write(erc20_binary(), properties.build());
        assert_eq!(transfers(name, &bytes, Family::Cryo), expected);
    }

    // Without statistics the column of blocks is read.
    let plain = write(erc20_binary(), properties(EnabledStatistics::None));
    assert_eq!(transfers(name, &plain, Family::Cryo), expected);

    let text = with_place([
        ("erc20", words(TOKEN)),
        ("from_address", words(A)),
        ("to_address", words(B)),
        ("value_string", texts(|row| row.3.to_string())),
    ]);
    let text = write(text, properties(EnabledStatistics::Page));
    assert_eq!(transfers(name, &text, Family::Cryo), expected);

    let topic = |text: &str| format!("0x{:0>64}", &text[2..]);
    let no_topic = Arc::new(BinaryArray::from_opt_vec(column(|_| None)));
    let logs = with_place([
        ("address", binary(TOKEN)),
        ("topic0", binary(&TRANSFER.to_string())),
        ("topic1", binary(&topic(A))),
        ("topic2", binary(&topic(B))),
        ("topic3", no_topic as ArrayRef),
        ("data", binaries(|row| row.3.to_be_bytes::<32>())),
    ]);
    let logs = write(logs, properties(EnabledStatistics::Chunk));
    assert_eq!(transfers("logs.parquet", &logs, Family::Cryo), expected);

    // BigQuery: repeated topics, fixed-size data.
    let mut list = ListBuilder::new(StringBuilder::new());
    for _ in rows() {
        for text in [TRANSFER.to_string(), topic(A), topic(B)] {
            list.values().append_value(text);
        }
        list.append(true);
    }
    let list: ListArray = list.finish();
    let data = column(|row| row.3.to_be_bytes::<32>()).into_iter();
    let data = FixedSizeBinaryArray::try_from_iter(data).unwrap();
    let logs = with_place([
        ("address", words(TOKEN)),
        ("topics", Arc::new(list) as ArrayRef),
        ("data", Arc::new(data)),
    ]);
    let logs = write(logs, properties(EnabledStatistics::Chunk));
    assert_eq!(transfers("logs.parquet", &logs, Family::Etl), expected);
}

#[test]
fn row_groups_of_other_blocks_are_not_read() {
    let bytes = write(erc20_binary(), properties(EnabledStatistics::Chunk));
    let files = Files::one("t.parquet", &bytes);
    let opened = files.open(Family::Cryo).unwrap();
    let (found, _) = try_read(opened, |request| {
        request.blocks = crate::support::blocks(300, 310)
    })
    .unwrap();
    assert_eq!(found.len(), 77);
    // Blocks 314 to 385 are in the fourth row group. Damage in it has no effect on others.
    let mut damaged = bytes.clone();
    for byte in &mut damaged[group(&bytes, 3)] {
        *byte ^= 0x55;
    }
    let files = Files::one("t.parquet", &damaged);
    let ask = |first: u64, last: u64| {
        let opened = files.open(Family::Cryo).unwrap();
        try_read(opened, |request| {
            request.blocks = crate::support::blocks(first, last);
        })
    };
    assert_eq!(ask(300, 310).unwrap().0, found);
    let error = ask(300, 330).unwrap_err().to_string();
    says(&error, "t.parquet");
}

/// The bytes of the columns of a row group.
fn group(file: &[u8], number: usize) -> std::ops::Range<usize> {
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&Bytes::copy_from_slice(file))
        .unwrap();
    let columns = metadata.row_group(number).columns();
    let ranges = columns.iter().map(|column| column.byte_range());
    let first = ranges.clone().map(|(start, _)| start).min().unwrap();
    let last = ranges.map(|(start, length)| start + length).max().unwrap();
    usize::try_from(first).unwrap()..usize::try_from(last).unwrap()
}

#[test]
fn decimal_numbers_are_exact() {
    let decimal = |scale: i8, unit: i128| {
        let values = column(|row| i128::from(row.0) * unit);
        let array = Decimal128Array::from(values)
            .with_precision_and_scale(38, scale)
            .unwrap();
        etl(words(A), Arc::new(array))
    };
    for files in [decimal(0, 1), decimal(9, 1_000_000_000)] {
        let found = files.all(Family::Etl);
        assert!(
            found
                .iter()
                .all(|it| it.value == U256::from(it.block_number))
        );
    }
    let error = decimal(9, 1).refused(Family::Etl);
    says(&error, "row 1, column value: a number with a fraction");
}

/// Rows outside of the statistics would be in no query for their blocks.
#[test]
fn statistics_are_used_only_as_far_as_they_are_true() {
    // A decimal number is stored as an integer without its point.
    let blocks = Decimal128Array::from(column(|row| i128::from(row.0) * 100));
    let blocks = blocks.with_precision_and_scale(18, 2).unwrap();
    let mut columns = erc20_binary();
    columns[0].1 = Arc::new(blocks);
    let bytes = write(columns, properties(EnabledStatistics::Chunk));
    let found = transfers("t.parquet", &bytes, Family::Cryo);
    assert_eq!(found.len(), rows().len());
    // The first row group has blocks 100 to 171.
    let mut bytes = write(erc20_binary(), properties(EnabledStatistics::Chunk));
    let footer = group(&bytes, 5).end;
    let max = [4, 171, 0, 0, 0];
    let places = bytes[footer..].windows(5).enumerate();
    let places: Vec<_> = places.filter(|(_, it)| *it == max).map(|it| it.0).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[footer + at + 1] = 150;
    }
    let error = Files::one("t.parquet", &bytes).refused(Family::Cryo);
    says(
        &error,
        "t.parquet: row 358 is of block 151, but the statistics of its row group (0) state blocks \
         100:151",
    );
}

/// BigQuery exports the withdrawals of a block as a list of records.
#[test]
fn records_of_withdrawals_are_read() {
    let field = |name: &str, kind| Field::new(name, kind, true);
    let fields = vec![
        field("index", DataType::Int64),
        field("address", DataType::Utf8),
        field("amount", DataType::Utf8),
    ];
    let mut list = ListBuilder::new(StructBuilder::from_fields(fields, 2));
    for items in [vec![(A, "7"), (B, "8")], vec![], vec![(B, "9")]] {
        for (address, amount) in items {
            let item = list.values();
            let index = item.field_builder::<Int64Builder>(0).unwrap();
            index.append_value(1);
            for (at, text) in [(1, address), (2, amount)] {
                let text_builder = item.field_builder::<StringBuilder>(at).unwrap();
                text_builder.append_value(text);
            }
            item.append(true);
        }
        list.append(true);
    }
    let hash = |number: u64| format!("0x{number:064x}");
    let words = |numbers: [u64; 3]| Arc::new(StringArray::from_iter_values(numbers.map(hash)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(UInt64Array::from(vec![5, 6, 7]))),
        ("hash", words([5, 6, 7])),
        ("parent_hash", words([4, 5, 6])),
        ("timestamp", Arc::new(UInt64Array::from(vec![60, 72, 84]))),
        ("withdrawals", Arc::new(list.finish())),
    ];
    let bytes = write(columns, WriterProperties::default());
    let files = Files::one("blocks.parquet", bytes);
    let header = "hash,nonce,block_number,transaction_index,from_address,to_address,value,\
                  receipt_status\n";
    files.add("transactions.csv", header);
    let found = files.all(Family::Etl);
    let found: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.block_number,
                it.to_address.to_string().to_lowercase(),
                it.value,
            )
        })
        .collect();
    let gwei = |number: u64| U256::from(number * 1_000_000_000);
    let row = |block: u64, to: &str, amount: u64| (block, to.to_owned(), gwei(amount));
    assert_eq!(found, [row(5, A, 7), row(5, B, 8), row(7, B, 9)]);
}

#[test]
fn floating_point_amounts_are_refused() {
    let error = etl(words(A), floats(1.0)).refused(Family::Etl);
    says(&error, "t.parquet: column value: a floating-point number");
    says(&error, "--u256-types string");
}

#[test]
fn wrong_types_are_refused() {
    let error = etl(numbers(|_| 7), words("1")).refused(Family::Etl);
    says(
        &error,
        "column from_address: a number instead of an address",
    );
}

#[test]
fn truncated_and_changed_files_are_errors_or_answers() {
    let bytes = write(erc20_binary(), properties(EnabledStatistics::Chunk));
    let folder = tempfile::tempdir().unwrap();
    for length in (0..bytes.len()).step_by(bytes.len() / 60) {
        let path = folder.path().join("t.parquet");
        fs::write(&path, &bytes[..length]).unwrap();
        let opened =
            txgraph_import::ImportedFiles::open(&path, &crate::support::mainnet(Family::Cryo));
        assert!(
            opened.unwrap_err().to_string().contains("t.parquet"),
            "{length}"
        );
    }
    let quiet = std::panic::take_hook();
    // Panics of the Parquet library are caught, but reported by the hook.
    std::panic::set_hook(Box::new(|_| {}));
    let step = bytes.len() / 300;
    let result = std::panic::catch_unwind(|| {
        for at in (0..bytes.len()).step_by(step) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            txgraph_import::fuzzing::read(folder.path(), "parquet", &changed);
        }
    });
    std::panic::set_hook(quiet);
    result.unwrap();
}
