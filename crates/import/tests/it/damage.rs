//! Damaged files and wrong values.

use crate::support::{A, B, Files, TOKEN};
use txgraph_import::Family;

const HEADER: &str =
    "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n";

fn row(value: &str) -> String {
    format!("{TOKEN},{A},{B},{value},0x{:064x},1,5\n", 1)
}

#[test]
fn wrong_cells_are_named_by_path_row_and_column() {
    let good = row("1").replace(",1,5", ",0,5");
    let over = "9".repeat(78);
    for (bad, column, problem) in [
        (row("1e18"), "value", "not exact"),
        (row("12.5"), "value", "not exact"),
        (row("-5"), "value", "not a whole number"),
        (row(&over), "value", "not below 2^256"),
        (row(""), "value", "no value instead of a number"),
        (
            row("1").replace(TOKEN, "0xzz"),
            "token_address",
            "not an address",
        ),
        (
            row("1").replace(A, ""),
            "from_address",
            "no value instead of an address",
        ),
        (
            row("1").replace(",1,5", ",4294967296,5"),
            "log_index",
            "too large",
        ),
        (
            row("1").replace(",1,5", ",1,x"),
            "block_number",
            "not a whole number",
        ),
        (
            row("1").replace(",1,5", ",1,99999999999999999999"),
            "block_number",
            "too large",
        ),
        (
            row("1").replace("0x000", "0x00"),
            "transaction_hash",
            "not a hash",
        ),
    ] {
        let error = Files::one("a.csv", format!("{HEADER}{good}{bad}")).refused(Family::Etl);
        let place = format!("a.csv, row 2, column {column}: ");
        assert!(
            error.contains(&place) && error.contains(problem),
            "{bad}: {error}"
        );
    }
}

#[test]
fn wrong_files_are_described() {
    let good = row("1");
    for (name, text, message) in [
        ("a.csv", HEADER.to_owned(), "rows"),
        ("a.csv", String::new(), "no header"),
        (
            "a.csv",
            format!("{HEADER}{good}1,2\n"),
            "row 2: 2 fields, but the header has 7",
        ),
        ("a.csv", format!("{HEADER}{good}{TOKEN}"), "row 2: 1 fields"),
        ("a.csv", "a,b\n1,2\n".to_owned(), "no known table"),
        (
            "a.json",
            "<html><body>".to_owned(),
            "neither JSON lines nor an array",
        ),
        ("a.json", "[]".to_owned(), "no objects"),
        (
            "a.json",
            "{\"number\": 1,".to_owned(),
            "ends inside of an object",
        ),
        ("a.parquet", "PAR1".to_owned(), "a.parquet: "),
        ("a.parquet", good.clone(), "a.parquet: "),
        (
            "a.txt",
            good.clone(),
            "no file with transfers; files with the extensions .parquet, .csv",
        ),
    ] {
        let files = Files::one(name, &text);
        if message == "rows" {
            // A header alone is an export without transfers: nothing states its blocks.
            let opened = files.open(Family::Etl).unwrap();
            use txgraph_stored::StoredBlocks;
            assert!(opened.available().is_empty());
            continue;
        }
        let error = files.refused(Family::Etl);
        assert!(error.contains(message), "{name} {text}: {error}");
    }
    let missing = txgraph_import::ImportedFiles::open(
        std::path::Path::new("/nonexistent/x"),
        &crate::support::mainnet(Family::Etl),
    );
    assert!(missing.unwrap_err().to_string().contains("/nonexistent/x"));
}

#[test]
fn wrong_topics_and_traces_are_refused() {
    let topic = format!("0x{:064x}", 7);
    let header = "log_index,transaction_hash,transaction_index,block_number,address,data,topics\n";
    let log =
        |topics: &str, data: &str| format!("{header}0,{topic},0,5,{TOKEN},{data},\"{topics}\"\n");
    for (text, message) in [
        (
            log(&[topic.as_str(); 5].join(","), "0x"),
            "more than 4 topics",
        ),
        (log("0x12", "0x"), "column topics"),
        (log(&topic, "0xabc"), "column data"),
    ] {
        // Logs of no transfer are not converted further, so the signature is a known one.
        let known = match message {
            "column data" => text.replace(
                &format!("\"{topic}"),
                &format!("\"{}", txgraph_transfers::TRANSFER),
            ),
            _ => text,
        };
        let error = Files::one("l.csv", known).refused(Family::Etl);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn every_changed_byte_is_an_error_or_an_answer() {
    let text = format!("{HEADER}{}{}", row("1"), row("2").replace(",1,5", ",2,6"));
    for at in 0..text.len() {
        for byte in [b'\0', b'"', b',', 0xff, b'9'] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let folder = tempfile::tempdir().unwrap();
            txgraph_import::fuzzing::read(folder.path(), "csv", &bytes);
        }
    }
}
