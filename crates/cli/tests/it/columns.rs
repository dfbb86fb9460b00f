//! Chosen columns, and compressed text.

use crate::{
    amounts::with_list,
    harness::{ROOT, Sample, USD6, ask},
};
use std::{fs, io::Read};

#[test]
fn columns_are_chosen_in_order() {
    let sample = with_list();
    let all = sample.rows("transfers -q");
    let chosen = "value,block_number,to_address,transaction_hash,kind";
    let answer = sample.ok(&format!("transfers -q --columns {chosen}"));
    assert_eq!(answer.stdout.lines().next(), Some(chosen));
    let found = answer.rows();
    assert_eq!(found.len(), all.len());
    for (found, all) in found.iter().zip(&all) {
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|(name, value)| all[name] == *value));
    }
    let answer = sample.ok("transfers -q --columns -token_id,-chain_id,-sub_index");
    assert_eq!(
        answer.stdout.lines().next(),
        Some(
            "block_number,block_timestamp,transaction_index,log_index,transaction_hash,\
             token_address,from_address,to_address,value,token_standard,kind"
        )
    );
    // With everything chosen, the table equals the default, which has an encoder of its own.
    let header = sample
        .ok("transfers -q")
        .stdout
        .lines()
        .next()
        .unwrap()
        .to_owned();
    for format in ["csv", "jsonl"] {
        let plain = sample.ok(&format!("transfers -q -f {format}")).stdout;
        let chosen = sample
            .ok(&format!("transfers -q -f {format} --columns {header}"))
            .stdout;
        assert_eq!(chosen, plain, "{format}");
    }
}

#[test]
fn amounts_and_symbols_are_columns_on_request() {
    let sample = with_list();
    let found = sample.rows(
        "transfers -q --token-list tokens.csv \
         --columns token_address,token_standard,value,amount,amount_f64,symbol,decimals",
    );
    let mut seen = [0; 3];
    for row in &found {
        let (symbol, decimals) = match (
            row["token_standard"].as_str(),
            row["token_address"].as_str(),
        ) {
            ("native", _) => ("ETH", 18),
            (_, USD6) => ("USD6", 6),
            _ => {
                // What the token claims: see `names.rs`.
                assert_ne!(row["symbol"], "USD6");
                seen[2] += 1;
                continue;
            }
        };
        seen[usize::from(symbol == "USD6")] += 1;
        assert_eq!(
            (&*row["symbol"], &*row["decimals"]),
            (symbol, &*decimals.to_string())
        );
        let (whole, fraction) = row["amount"]
            .split_once('.')
            .unwrap_or((&row["amount"], ""));
        let digits = format!("{whole}{fraction:0<decimals$}");
        let digits = digits.trim_start_matches('0');
        assert_eq!(digits, row["value"].trim_start_matches('0'));
        let nearest: f64 = row["amount"].parse().unwrap();
        assert_eq!(row["amount_f64"].parse(), Ok(nearest));
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn graphs_and_saved_queries_take_columns() {
    let sample = with_list();
    let graph = sample.ok(&format!(
        "graph -q -r {ROOT} -n 2 --columns hop,from_address"
    ));
    assert_eq!(graph.stdout.lines().next(), Some("hop,from_address"));
    let query = sample.ok(&format!(
        "query -q trace-token-out -f csv --set root={ROOT} --columns hop,from_address"
    ));
    assert_eq!(query.stdout.lines().next(), Some("hop,from_address"));
    for (line, message) in [
        (
            "transfers --columns nonsense",
            "no column `nonsense`; one of block_number,",
        ),
        (
            "query top-counterparties --set address=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \
             --columns value",
            "has no columns of transfers to choose",
        ),
    ] {
        sample.fails(line, 2, message);
    }
}

#[test]
fn options_that_columns_replaced_are_refused() {
    let sample = Sample::small();
    fs::create_dir(sample.path("queries")).unwrap();
    let saved = "purpose = 'Mints.'\nask = { command = 'transfers', kind = 'mint', hex = true }";
    fs::write(sample.path("queries/mints.toml"), saved).unwrap();
    for (line, list) in [
        ("transfers --schema cryo", "cryo"),
        ("transfers --hex --types rich", "all:hex+rich"),
        ("transfers --columns kind --exclude kind", "kind,-kind"),
        ("transfers --columns value --u256-types f64", "value:f64"),
        (
            &format!("graph -r {ROOT} --exclude hop,kind"),
            "all,-hop,-kind",
        ),
        (
            &format!("query who-funded --set root={ROOT} --hex"),
            "all:hex",
        ),
        ("query mints", "all:hex"),
    ] {
        let answer = sample.run(line).ended(2);
        let refusal = "the list of columns replaces the options: ";
        answer.says(refusal);
        let hint = format!("hint: write --columns {list}\n");
        assert!(answer.stderr.ends_with(&hint), "{line} {answer:?}");
    }
    sample.run("analyze summary --hex").ended(2);
    let help = sample.ok("transfers --help").stdout;
    for old in ["--schema", "--u256-types", "--exclude", "--hex", "--types"] {
        assert!(!help.contains(old), "{old}");
    }
}

#[test]
fn removed_columns_need_nothing() {
    let sample = Sample::small();
    let kept =
        sample.ok("transfers -q --columns all,-from_label,-to_label,-symbol,-decimals,-amount");
    assert!(kept.stdout.starts_with("block_number,"), "{}", kept.stdout);
    assert!(!kept.stdout.contains("from_label"));
}

#[test]
fn bad_columns_are_refused_before_the_search() {
    let sample = Sample::small();
    let unknown = sample.run("transfers -q --columns hop").ended(2);
    let unknown = unknown.stderr;
    assert!(unknown.contains("`hop`"), "{unknown}");
    assert!(!unknown.contains(", hop"), "{unknown}");
    // The root does not exist: a search would fail with another error.
    let root = "0x00000000000000000000000000000000000000aa";
    let rich = sample
        .run(&format!("graph -q -r {root} --columns all:rich -o g.csv"))
        .ended(2);
    let rich = rich.stderr;
    assert!(rich.contains("rich"), "{rich}");
    assert!(!sample.path("g.csv").exists());
}

#[test]
fn text_is_compressed_by_its_name() {
    let sample = Sample::small();
    let plain = sample.ok("transfers -q").stdout;
    sample.ok("transfers -q -o t.csv.zst");
    let packed = fs::read(sample.path("t.csv.zst")).unwrap();
    assert!(packed.len() < plain.len() / 2);
    assert_eq!(zstd::decode_all(&*packed).unwrap(), plain.as_bytes());
    sample.ok("transfers -q -o t.csv.gz");
    let packed = fs::read(sample.path("t.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .unwrap();
    assert!(text == plain);
    assert!(sample.path("t.csv.gz.meta.json").exists());
    // Equal answers are equal bytes.
    sample.ok("transfers -q -o again.csv.gz --threads 1");
    assert!(fs::read(sample.path("again.csv.gz")).unwrap() == packed);
    sample.run("transfers -o t.parquet.gz").ended(2);
}

#[test]
fn rich_types_are_written_to_parquet() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let sample = with_list();
    let options = "--columns all:rich --token-list tokens.csv";
    sample.ok(&format!("transfers -q {options} -o t.parquet"));
    let file = fs::File::open(sample.path("t.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let column = |name: &str| {
        let columns = schema.columns();
        columns.iter().position(|it| it.name() == name).unwrap()
    };
    let group = metadata.row_group(0);
    for name in ["token_address", "from_address", "to_address"] {
        let chunk = group.column(column(name));
        assert_eq!(schema.column(column(name)).type_length(), 20);
        assert!(chunk.bloom_filter_offset().is_some(), "{name}");
        assert!(chunk.column_index_offset().is_some(), "{name}");
    }
    assert_eq!(schema.column(column("transaction_hash")).type_length(), 32);
    let time = schema.column(column("block_timestamp"));
    assert!(time.logical_type_ref().is_some(), "{time:?}");
    let sorting = group.sorting_columns().unwrap();
    let sorting: Vec<_> = sorting.iter().map(|it| it.column_idx).collect();
    assert_eq!(sorting, [0, 2]);
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "txgraph"), "{pairs:?}");
    let rows_of = sample.ok("transfers -q").stdout.lines().count() - 1;
    assert_eq!(
        metadata.file_metadata().num_rows(),
        i64::try_from(rows_of).unwrap()
    );
    // Equal answers are equal bytes.
    sample.ok(&format!("transfers -q {options} --threads 1 -o u.parquet"));
    assert!(
        fs::read(sample.path("t.parquet")).unwrap() == fs::read(sample.path("u.parquet")).unwrap()
    );
}

/// The names and physical types of the columns of a Parquet file.
fn parquet_columns(sample: &Sample, name: &str) -> Vec<(String, String)> {
    let file = fs::File::open(sample.path(name)).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let schema = parquet::file::reader::FileReader::metadata(&reader)
        .file_metadata()
        .schema_descr_ptr();
    let columns = schema.columns().iter();
    columns
        .map(|column| {
            let kind = match column.logical_type_ref() {
                Some(logical) => format!("{logical:?}"),
                None => column.physical_type().to_string(),
            };
            (column.name().to_owned(), kind)
        })
        .collect()
}

#[test]
fn tables_of_other_tools_are_exact() {
    let sample = Sample::small();
    let cryo = "block_number,transaction_index,log_index,transaction_hash,erc20,from_address,\
                to_address";
    let etl = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";
    for (options, header) in [
        (
            "--columns cryo --standard erc20",
            format!("{cryo},value_binary,value_string,value_f64,chain_id"),
        ),
        (
            "--columns cryo --standard erc721",
            format!("{cryo},token_id_binary,token_id_string,token_id_f64,chain_id"),
        ),
        ("--columns etl --standard erc20,erc721", etl.to_owned()),
        ("--columns etl --standard erc721", etl.to_owned()),
    ] {
        let answer = sample.ok(&format!("transfers -q {options}"));
        assert_eq!(answer.stdout.lines().next(), Some(&*header), "{options}");
        assert!(answer.stdout.lines().count() > 5, "{options}");
        sample.ok(&format!("transfers -q {options} -o t.parquet --overwrite"));
        let columns = parquet_columns(&sample, "t.parquet");
        let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.join(","), header, "{options}");
        let (_, block) = columns
            .iter()
            .find(|(name, _)| name == "block_number")
            .unwrap();
        let bits = if options.contains("cryo") { "32" } else { "64" };
        assert!(
            block.contains(bits) && block.contains("false"),
            "{options}: {block}"
        );
        if options.contains("etl") {
            assert!(columns[0].1.contains("String"), "{columns:?}");
        }
    }

    // The id of a token is the value in ethereum-etl's table.
    let ids = sample.rows("transfers -q --standard erc721");
    let etl = sample.rows("transfers -q --columns etl --standard erc721");
    assert_eq!(ids.len(), etl.len());
    for (ours, theirs) in ids.iter().zip(&etl) {
        assert_eq!(ours["token_id"], theirs["value"]);
    }

    // Files are read back as files of these tools.
    let columns = "transfers -q --standard erc20 \
                   --columns block_number,log_index,token_address,from_address,to_address,value";
    let expected = sample.ok(columns).stdout;
    let name = "cryo/ethereum__erc20_transfers__00000000_to_00000040.parquet";
    fs::create_dir(sample.path("cryo")).unwrap();
    sample.ok(&format!(
        "transfers -q --columns cryo --standard erc20 -o {name}"
    ));
    let line = format!("{columns} --source cryo:cryo");
    let found = ask(sample.folder.path(), &line);
    assert_eq!(found.stdout, expected, "{found:?}");
}
