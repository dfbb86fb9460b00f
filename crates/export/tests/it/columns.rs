//! Parquet and Arrow IPC, read back and compared cell by cell.

use crate::{
    frame::Frame,
    text_fields::text_fields,
    tiny::{self, csv_rows, metadata, options, options_merged, tiny, tiny_transfers},
};
use alloy_primitives::{B256, U256};
use arrow_schema::DataType;
use parquet::file::{
    metadata::ParquetMetaData,
    reader::{FileReader, SerializedFileReader},
};
use std::{fs, fs::File, path::Path};
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::{
    ColumnChoice, GraphOptions, Metadata, Schema, TableFormat, Target, TransferTableOptions,
    TransferWriter, write_table, write_vertices,
};
use txgraph_graph::{AmountSum, testing::address};
use txgraph_transfers::{BlockTime, Kind, Transfer, testing::transfer};

const FORMATS: [TableFormat; 2] = [TableFormat::Parquet, TableFormat::Ipc];

pub(crate) fn read(format: TableFormat, path: &Path) -> Frame {
    match format {
        TableFormat::Parquet => Frame::parquet(path),
        _ => Frame::ipc(path),
    }
}

/// Options with a list of columns.
pub(crate) fn chosen(list: &str) -> TransferTableOptions {
    TransferTableOptions {
        columns: list.split(',').map(|it| it.parse().unwrap()).collect(),
        ..TransferTableOptions::new(1)
    }
}

fn parquet_metadata(path: &Path) -> ParquetMetaData {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.metadata().clone()
}

/// Returns the metadata in the footer.
pub(crate) fn footer(format: TableFormat, path: &Path) -> serde_json::Value {
    let text = match format {
        TableFormat::Parquet => {
            let metadata = parquet_metadata(path);
            let pairs = metadata.file_metadata().key_value_metadata().unwrap();
            assert!(pairs.iter().any(|pair| pair.key == "ARROW:schema"));
            let pair = pairs.iter().find(|pair| pair.key == "txgraph").unwrap();
            pair.value.clone().unwrap()
        }
        _ => Frame::ipc(path).schema.metadata()["txgraph"].clone(),
    };
    serde_json::from_str(&text).unwrap()
}

/// Returns the row of a transfer with the three default types.
fn expected(transfer: &Transfer, chain_id: u64) -> Vec<String> {
    let types = |number: Option<U256>| {
        let bytes = number.map(|n| alloy_primitives::hex::encode_prefixed(n.to_be_bytes::<32>()));
        let double = number.map(|n| match n.to_string().parse::<f64>().unwrap() {
            exact if exact < 2f64.powi(53) => exact.to_string(),
            double => format!("{double:e}"),
        });
        [bytes, number.map(|n| n.to_string()), double]
    };
    let mut row = text_fields(transfer, chain_id);
    let numbers = [Some(transfer.value), transfer.token_id];
    row.splice(9..11, numbers.into_iter().flat_map(types));
    row.into_iter().map(Option::unwrap_or_default).collect()
}

fn write_transfers(
    format: TableFormat,
    options: &TransferTableOptions,
    batches: &[&[Transfer]],
    path: &Path,
) {
    let target = Target::File(path.into());
    let mut writer = TransferWriter::new(format, options, &target, true).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    let metadata = Metadata::new("transfers", serde_json::json!({"a": "ä\n\""}));
    let written = writer.finish(&metadata).unwrap();
    assert_eq!(
        written.rows,
        Some(batches.iter().map(|batch| batch.len() as u64).sum())
    );
    assert_eq!(written.bytes, fs::metadata(path).unwrap().len());
    assert_eq!(written.metadata_path, None);
    assert_eq!(
        footer(format, path),
        serde_json::to_value(&metadata).unwrap()
    );
}

#[test]
fn every_cell_of_every_transfer_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let all = tiny_transfers();
    for format in FORMATS {
        let options = TransferTableOptions {
            group_rows: 4,
            ..TransferTableOptions::new(7)
        };
        write_transfers(format, &options, &[&all], &path);
        let frame = read(format, &path);
        assert_eq!(
            frame.rows(),
            all.iter().map(|t| expected(t, 7)).collect::<Vec<_>>()
        );
        assert_eq!(frame.names(), options.names(format).unwrap());
        let fields = frame.schema.fields();
        assert!(fields.iter().all(|field| field.is_nullable()));
        let types: Vec<_> = fields.iter().map(|it| it.data_type().clone()).collect();
        assert_eq!(
            types[..3],
            [DataType::UInt64, DataType::UInt64, DataType::UInt32]
        );
        assert_eq!(types[5], DataType::LargeBinary);
        assert_eq!(
            types[9..12],
            [
                DataType::LargeBinary,
                DataType::LargeUtf8,
                DataType::Float64
            ]
        );
        assert_eq!(types.last(), Some(&DataType::UInt64));
    }
}

#[test]
fn files_do_not_depend_on_batches() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let mut all = Vec::new();
    for i in 0..50 {
        all.extend(tiny_transfers().into_iter().map(|mut transfer| {
            transfer.block_number += 100 * i;
            transfer
        }));
    }
    for format in FORMATS {
        let options = TransferTableOptions {
            group_rows: 64,
            ..TransferTableOptions::new(1)
        };
        write_transfers(format, &options, &[&all], &whole);
        if format == TableFormat::Parquet {
            let metadata = parquet_metadata(&whole);
            let groups = metadata.row_groups().iter();
            let groups: Vec<_> = groups.map(|group| group.num_rows()).collect();
            assert_eq!(groups, [64, 64, 64, 64, 64, 64, 64, 2]);
        }
        let batches: Vec<_> = all.chunks(7).collect();
        write_transfers(format, &options, &batches, &parts);
        assert!(
            fs::read(&whole).unwrap() == fs::read(&parts).unwrap(),
            "{format}"
        );
        assert_eq!(read(format, &parts).rows().len(), 450);
    }
}

#[test]
fn empty_file_has_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    for format in FORMATS {
        let options = TransferTableOptions::new(1);
        write_transfers(format, &options, &[], &path);
        let frame = read(format, &path);
        assert_eq!(
            (frame.rows().len(), frame.names()),
            (0, options.names(format).unwrap())
        );
    }
}

#[test]
fn columns_are_those_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let format = TableFormat::Parquet;
    for schema in Schema::ALL {
        for types in ["f64", "string+binary"] {
            let options = chosen(&format!("{schema}:{types}"));
            write_transfers(format, &options, &[&tiny_transfers()], &path);
            let frame = read(format, &path);
            assert_eq!(frame.names(), options.names(format).unwrap());
        }
    }
}

#[test]
fn lists_choose_columns_and_types() {
    use TableFormat::{Csv, Ipc, Parquet};
    for (format, line) in [
        (Csv, "value,kind = value,kind"),
        (Ipc, "value,kind = value_binary,value_string,value_f64,kind"),
        (Parquet, "value:f64,kind:rich = value,kind"),
        (
            Csv,
            "token_id:string+binary = token_id_string,token_id_binary",
        ),
        (
            Ipc,
            "value_f64,kind,value_binary = value_f64,kind,value_binary",
        ),
        (Ipc, "erc20:hex,timestamp,symbol = erc20,timestamp,symbol"),
        (Ipc, "value,kind,-value = kind"),
        (
            Ipc,
            "value,kind,-value_f64 = value_binary,value_string,kind",
        ),
    ] {
        let (list, names) = line.split_once(" = ").unwrap();
        let options = chosen(list);
        assert_eq!(options.names(format).unwrap().join(","), names, "{list}");
        let written = options.columns.iter().map(ToString::to_string);
        assert_eq!(written.collect::<Vec<_>>().join(","), list);
    }
    let names = |list| chosen(list).names(Ipc).unwrap();
    // Columns of a set are replaced at their place, and others come after it.
    let mut expected = names("all:string");
    assert_eq!(names("all:string,value:f64,kind"), expected);
    expected.remove(13);
    expected.push("amount".to_owned());
    assert_eq!(names("-chain_id,all:string,-chain_id,amount"), expected);
    expected.pop();
    assert_eq!(names("-chain_id,-value_binary,-value_f64,-token_id"), {
        expected[9] = "value_string".to_owned();
        expected.remove(10);
        expected
    });
    for (entry, message) in [
        ("vlaue", "no column `vlaue`; one of block_number, block"),
        ("kind_f64", "no column `kind_f64`"),
        ("-all", "no column `all`"),
        ("value:int", "twice; its types: binary, string, f64, rich"),
        ("value:hex", "`value:hex`: the column cannot have this type"),
        ("value:", "`value:`: the column cannot have this type"),
        ("value_f64:string", "its types: rich"),
        ("from_address:string", "its types: binary, hex, rich"),
        ("all:f64+f64", "has it twice"),
        ("-value:f64", "its types: none"),
        ("category:hex", "its types: none"),
    ] {
        let error = entry.parse::<ColumnChoice>().unwrap_err();
        assert!(error.is_usage(), "{entry}");
        assert!(error.to_string().contains(message), "{error}");
    }
    for (list, format, message) in [
        ("value,value:f64", Csv, "the column `value` is chosen twice"),
        ("value,value_string", Ipc, "`value_string` is chosen twice"),
        ("all,cryo", Csv, "`block_number` is chosen twice"),
        ("kind,-kind", Ipc, "no column is left"),
        ("kind:rich", Ipc, "rich types are written to Parquet only"),
        ("hop", Csv, "no column `hop`"),
        ("is_contract", Csv, "no column `is_contract`"),
    ] {
        let error = chosen(list).names(format).unwrap_err();
        assert!(error.is_usage(), "{list}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn edges_vertices_and_tables_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let graph = tiny();
    let metadata = metadata(&graph);
    for format in FORMATS {
        let path = folder.path().join("t");
        let target = Target::File(path.clone());
        tiny::write(&graph, format, &options(), &target, true).unwrap();
        let frame = read(format, &path);
        let mut wanted = Vec::new();
        for edge in graph.graph.edge_weights() {
            wanted.push(expected(&edge.transfer, 1337));
            wanted.last_mut().unwrap().push(edge.hop.to_string());
        }
        assert_eq!(frame.rows(), wanted);
        assert_eq!(
            footer(format, &path),
            serde_json::to_value(&metadata).unwrap()
        );

        // The other tables must equal the text formats, which are checked by golden files.
        let mut strings = options_merged(true);
        strings.table.columns = chosen("all:string").columns;
        let csv = folder.path().join("t.csv");
        let csv_target = Target::File(csv.clone());
        let same = |what: &str, write: &dyn Fn(TableFormat, &Target)| {
            write(format, &target);
            write(TableFormat::Csv, &csv_target);
            let frame = read(format, &path);
            assert_eq!((frame.names(), frame.rows()), csv_rows(&csv), "{what}");
        };
        same("merged", &|format, target| {
            tiny::write(&graph, format, &strings, target, true).unwrap();
        });
        same("vertices", &|format, target| {
            write_vertices(&graph, format, &strings, &metadata, target, true).unwrap();
        });
        let with = |list| GraphOptions {
            table: chosen(list),
            ..options()
        };
        // Types that are named hold in every format.
        let typed = with("value:binary+string+f64,token_id:f64,from_address:hex");
        same("typed", &|format, target| {
            tiny::write(&graph, format, &typed, target, true).unwrap();
        });
        let types = |frame: Frame| -> Vec<_> {
            let fields = frame.schema.fields().iter();
            fields.map(|field| field.data_type().clone()).collect()
        };
        assert_eq!(types(read(format, &path))[4], DataType::LargeUtf8);
        // Types that are named for all columns hold for vertices, too.
        write_vertices(&graph, format, &with("all:hex"), &metadata, &target, true).unwrap();
        assert_eq!(types(read(format, &path))[0], DataType::LargeUtf8);
    }
}

#[test]
fn sums_beyond_256_bits_have_40_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::new(
        "t",
        "t",
        &[
            ("who", ColumnType::Address),
            ("sum", ColumnType::Amount),
            ("n", ColumnType::F64),
        ],
    );
    table.push(vec![address("a").into(), AmountSum::MAX.into(), 0.5.into()]);
    table.push(vec![
        address("b").into(),
        Option::<AmountSum>::None.into(),
        Option::<f64>::None.into(),
    ]);
    for format in FORMATS {
        let path = folder.path().join(format.as_str());
        let target = Target::File(path.clone());
        let metadata = Metadata::new("analyze", serde_json::Value::Null);
        write_table(&table, format, &metadata, &target, false).unwrap();
        let rows = read(format, &path).rows();
        assert_eq!(rows[0][1], format!("0x{}", "ff".repeat(40)));
        assert_eq!(rows[0][2], AmountSum::MAX.to_string());
        assert_eq!(rows[0][3].parse(), Ok(2f64.powi(320)));
        assert_eq!(rows[1][1..], ["", "", "", ""]);
    }
}

#[test]
fn unknown_times_and_hashes_differ_from_zero() {
    let hash = B256::repeat_byte(0xab);
    let all = [
        Transfer {
            block_timestamp: BlockTime::new(0),
            transaction_hash: Some(hash),
            ..transfer(5)
        },
        transfer(5),
        Transfer {
            block_timestamp: BlockTime::new(0),
            kind: Kind::Withdrawal,
            ..transfer(5)
        },
    ];
    let shown = [
        ["0".to_owned(), hash.to_string()],
        [String::new(), String::new()],
        // A withdrawal belongs to no transaction.
        ["0".to_owned(), String::new()],
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let options = TransferTableOptions::new(7);
    for format in FORMATS {
        write_transfers(format, &options, &[&all], &path);
        let rows = read(format, &path).rows();
        let found: Vec<_> = rows.iter().map(|row| [&row[1], &row[5]]).collect();
        assert_eq!(
            found,
            shown.each_ref().map(|row| row.each_ref()),
            "{format}"
        );
    }
    let written = |format| {
        let target = Target::File(path.clone());
        let mut writer = TransferWriter::new(format, &options, &target, true).unwrap();
        writer.write(&all).unwrap();
        writer
            .finish(&Metadata::new("transfers", serde_json::Value::Null))
            .unwrap();
        fs::read_to_string(&path).unwrap()
    };
    let csv = written(TableFormat::Csv);
    for (line, shown) in csv.lines().skip(1).zip(&shown) {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!([fields[1], fields[5]], shown.each_ref().map(String::as_str));
    }
    let jsonl = written(TableFormat::Jsonl);
    for (line, shown) in jsonl.lines().zip(&shown) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let time = row["block_timestamp"].as_u64().map(|time| time.to_string());
        assert_eq!(time.unwrap_or_default(), shown[0]);
        assert_eq!(
            row["transaction_hash"].as_str().unwrap_or_default(),
            shown[1]
        );
        assert_eq!(row["transaction_hash"].is_null(), shown[1].is_empty());
    }
}
