//! Gaps that files show in themselves are reported, and contradictions are refused.

use crate::support::{A, B, Files, TOKEN, mainnet, read, try_read, warns};
use std::io::Write as _;
use txgraph_import::{Family, ImportOptions, ImportedFiles};
use txgraph_testkit::says;
use txgraph_transfers::{Kind, TRANSFER, Transfer};

const BLOCKS: &str = "number,hash,parent_hash,timestamp,transaction_count\n";
const TRANSACTIONS: &str =
    "hash,nonce,block_number,transaction_index,from_address,to_address,value,receipt_status\n";
const LOGS: &str =
    "log_index,transaction_hash,transaction_index,block_hash,block_number,address,data,topics\n";
const TRACES: &str = "block_number,transaction_hash,transaction_index,from_address,to_address,\
                      value,trace_type,call_type,subtraces,trace_address,error,status\n";

fn word(number: u64) -> String {
    format!("0x{number:064x}")
}

/// Blocks 5 and 6 with these numbers of transactions. The hash of a block is its number.
fn blocks(counts: [u32; 2]) -> String {
    let [first, second] = counts;
    let row = |number: u64, count: u32| {
        format!(
            "{number},{},{},{},{count}\n",
            word(number),
            word(number - 1),
            number * 12
        )
    };
    format!("{BLOCKS}{}{}", row(5, first), row(6, second))
}

fn transaction(block: u64, index: u64, status: &str) -> String {
    format!(
        "{},0,{block},{index},{A},{B},7,{status}\n",
        word(block * 100 + index)
    )
}

fn log(index: u64, hash: u64, transaction: u64, block_hash: u64) -> String {
    let topic = |end: &str| format!("0x{:0>64}", &end[2..]);
    format!(
        "{index},{},{transaction},{},5,{TOKEN},{},\"{TRANSFER},{},{}\"\n",
        word(hash),
        word(block_hash),
        word(9),
        topic(A),
        topic(B)
    )
}

fn answer(files: &Files) -> (Vec<Transfer>, Vec<String>) {
    answer_of(files, Family::Etl)
}

fn answer_of(files: &Files, family: Family) -> (Vec<Transfer>, Vec<String>) {
    let (transfers, report) = read(files.open(family).unwrap());
    (transfers, report.caveats)
}

fn values(files: &Files) -> (usize, Vec<String>) {
    let (transfers, caveats) = answer(files);
    let native = |it: &&Transfer| it.kind == Kind::Value;
    let words = |it: &String| !it.contains("no tables of");
    (
        transfers.iter().filter(native).count(),
        caveats.into_iter().filter(words).collect(),
    )
}

#[test]
fn transactions_without_an_outcome_are_counted() {
    let files = Files::one("blocks.csv", blocks([2, 1]));
    let rows = |status: [&str; 3]| {
        let [a, b, c] = status;
        let rows = [
            transaction(5, 0, a),
            transaction(5, 1, b),
            transaction(6, 0, c),
        ];
        format!("{TRANSACTIONS}{}", rows.concat())
    };
    files.add("transactions.csv", rows(["1", "1", "0"]));
    assert_eq!(values(&files), (2, vec![]));
    files.add("transactions.csv", rows(["1", "", ""]));
    let caveat = "transactions with an unknown outcome, whose values are left out: 2";
    assert_eq!(values(&files), (1, vec![caveat.to_owned()]));
    // A table of receipts has them.
    let receipt = |block: u64, index: u64, status: &str| {
        format!(
            "{},{index},{},{block},,{status}\n",
            word(block * 100 + index),
            word(block)
        )
    };
    let header =
        "transaction_hash,transaction_index,block_hash,block_number,contract_address,status\n";
    let text = format!("{header}{}{}", receipt(5, 1, "1"), receipt(6, 0, "0"));
    files.add("receipts.csv", text);
    assert_eq!(values(&files), (2, vec![]));
    files.add("receipts.csv", format!("{header}{}", receipt(5, 0, "0")));
    let error = files.refused(Family::Etl);
    says(&error, "block 5: the outcome of a transaction differs");
    // A query for tokens does not depend on outcomes.
    let files = Files::one("transactions.csv", rows(["", "", ""]));
    files.add("logs.csv", format!("{LOGS}{}", log(0, 500, 0, 5)));
    let (found, report) = try_read(files.open(Family::Etl).unwrap(), |request| {
        request.filter.kinds = vec![Kind::Transfer];
    })
    .unwrap();
    assert_eq!(found.len(), 1);
    assert!(!warns(&report, "outcome"), "{report:?}");
}

#[test]
fn missing_transactions_are_counted() {
    let files = Files::one("blocks.csv", blocks([2, 1]));
    let text = format!(
        "{TRANSACTIONS}{}{}",
        transaction(5, 0, "1"),
        transaction(6, 0, "1")
    );
    files.add("transactions.csv", &text);
    let caveat = "transactions that are counted, but are not in the files: 1";
    assert_eq!(values(&files), (2, vec![caveat.to_owned()]));
    // More than are stated are a contradiction.
    files.add("blocks.csv", blocks([0, 1]));
    let error = files.refused(Family::Etl);
    says(&error, "block 5: the number of transactions (0, but");
    // Without a table of blocks, an index that is skipped shows it.
    let files = Files::one(
        "transactions.csv",
        format!("{TRANSACTIONS}{}", transaction(5, 3, "1")),
    );
    let (_, caveats) = values(&files);
    let caveat = "transactions that are counted, but are not in the files: 3";
    assert!(caveats.iter().any(|it| it == caveat), "{caveats:?}");
}

#[test]
fn missing_traces_are_counted() {
    let trace = |index: u64, path: &str, children: u32| {
        let hash = word(500 + index);
        format!("5,{hash},{index},{A},{B},7,call,call,{children},\"{path}\",,1\n")
    };
    let transactions: String = (0..2).map(|index| transaction(5, index, "1")).collect();
    let files = Files::one("transactions.csv", format!("{TRANSACTIONS}{transactions}"));
    files.add("blocks.csv", blocks([2, 0]));
    let ask = |traces: &[String]| {
        files.add("traces.csv", format!("{TRACES}{}", traces.concat()));
        values(&files).1
    };
    let whole = [
        trace(0, "", 2),
        trace(0, "0", 0),
        trace(0, "1", 0),
        trace(1, "", 0),
    ];
    assert_eq!(ask(&whole), [""; 0]);
    assert_eq!(ask(&whole[..3]), ["transactions without traces: 1"]);
    let frames = "call frames that others count or are in, but are not in the files: ";
    // By the count, by the paths, and by frames around others.
    assert_eq!(
        ask(&[whole[0].clone(), whole[1].clone(), whole[3].clone()]),
        [format!("{frames}1")]
    );
    assert_eq!(
        ask(&[whole[0].clone(), whole[2].clone(), whole[3].clone()]),
        [format!("{frames}1")]
    );
    assert_eq!(
        ask(&[trace(0, "0,0", 0), whole[3].clone()]),
        [format!("{frames}2")]
    );
    // What both tables have must be the same.
    let other = whole[0].replace(",7,", ",8,");
    files.add("traces.csv", format!("{TRACES}{other}"));
    let error = files.refused(Family::Etl);
    says(&error, "the value of a transaction differs");
}

#[test]
fn logs_are_compared_with_their_blocks_and_transactions() {
    let files = Files::one("blocks.csv", blocks([2, 0]));
    let transactions: String = (0..2).map(|index| transaction(5, index, "1")).collect();
    files.add("transactions.csv", format!("{TRANSACTIONS}{transactions}"));
    let ask = |logs: &[String]| files.add("logs.csv", format!("{LOGS}{}", logs.concat()));
    ask(&[log(0, 500, 0, 5), log(1, 501, 1, 5)]);
    assert_eq!(answer(&files).1, [""; 0]);
    ask(&[log(0, 500, 0, 5), log(3, 501, 1, 5)]);
    let caveat = "logs whose index is skipped, because they are not in the files: 2";
    assert_eq!(answer(&files).1, [caveat]);
    for (logs, problem) in [
        // Of a block that was replaced.
        (
            [log(0, 500, 0, 5), log(1, 501, 1, 99)],
            "block 5: its hash differs between",
        ),
        (
            [log(0, 500, 0, 5), log(1, 777, 1, 5)],
            "the hash of transaction 1 differs",
        ),
        (
            [log(0, 500, 0, 5), log(1, 777, 9, 5)],
            "the number of transactions (2, but transaction 9",
        ),
        (
            [log(1, 500, 0, 5), log(0, 501, 1, 5)],
            "the order of logs and transactions",
        ),
    ] {
        ask(&logs);
        let error = files.refused(Family::Etl);
        says(&error, problem);
        says(&error, ".csv, row ");
    }
}

#[test]
fn blocks_must_follow_each_other() {
    let text = blocks([1, 0]).replace(&format!(",{},72", word(5)), &format!(",{},72", word(4)));
    let files = Files::one("blocks.csv", text);
    files.add(
        "transactions.csv",
        format!("{TRANSACTIONS}{}", transaction(5, 0, "1")),
    );
    let error = files.refused(Family::Etl);
    says(&error, "block 5: its hash differs between");
    says(&error, "the parent hash in");
    let text = blocks([1, 0]).replace(",72,", ",59,");
    let files = Files::one("blocks.csv", text);
    files.add(
        "transactions.csv",
        format!("{TRANSACTIONS}{}", transaction(5, 0, "1")),
    );
    let error = files.refused(Family::Etl);
    says(&error, "block 6 has time 59 in ");
    says(
        &error,
        "blocks.csv, row 2, but block 5 before it has the later time 60",
    );
}

#[test]
fn cut_files_are_noticed() {
    let whole = format!("{LOGS}{}", log(0, 500, 0, 5));
    let cut = |bytes: usize| Files::one("logs.csv", &whole[..whole.len() - bytes]);
    // Inside of the last field, which is quoted.
    let error = cut(10).refused(Family::Etl);
    says(&error, "logs.csv: the file ends inside of a quoted field");
    let (found, caveats) = answer(&cut(1));
    assert_eq!(found.len(), 1);
    assert!(
        caveats
            .iter()
            .any(|it| it.contains("does not end with a line break")),
        "{caveats:?}"
    );
    let error = Files::one("logs.json", "[{\"number\": 5}").refused(Family::Etl);
    says(&error, "ends inside of an array");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(whole.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    assert_eq!(answer(&Files::one("logs.csv.gz", &gz)).0, found);
    let error = Files::one("logs.csv.gz", &gz[..gz.len() - 9]).refused(Family::Etl);
    says(&error, "logs.csv.gz");
}

#[test]
fn files_with_the_name_of_a_table_are_not_skipped() {
    let logs = format!("{LOGS}{}", log(0, 500, 0, 5));
    for (name, text, problem) in [
        (
            "transactions_00000000_00000009.csv",
            "hash,value\n",
            "are missing",
        ),
        ("x/traces.csv.lz4", "", "its name belongs to a table"),
        ("token_transfers", "", "its name belongs to a table"),
    ] {
        let files = Files::one("logs.csv", &logs);
        files.add(name, text);
        let error = files.open(Family::Etl).unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains(problem),
            "{error}"
        );
    }
    let header = "block_number,transaction_index,transaction_hash,nonce,from_address,to_address,\
                  value,chain_id\n";
    let files = Files::one("ethereum__transactions__5_to_5.csv", header);
    let error = files.open(Family::Cryo).unwrap_err().to_string();
    says(&error, "the columns success are missing");
    // Tables of other contents are only named.
    let files = Files::one("logs.csv", &logs);
    files.add("contracts.csv", "address,bytecode\n");
    files.add("notes.txt", "");
    let opened = files.open(Family::Etl).unwrap();
    let note = opened.notes().last().unwrap();
    says(&note, "nothing of ");
    says(&note, "notes.txt");
    // A part of a table without its header.
    files.add("p01.csv", log(1, 501, 0, 5));
    let opened = files.open(Family::Etl).unwrap();
    let caveat = opened.caveats().last().unwrap();
    says(caveat, "p01.csv has no names of columns");
    // A cryo table of other traces is not `traces`.
    let header = "block_number,block_hash,transaction_index,log_index,transaction_hash,erc20,\
                  from_address,to_address,value_string\n";
    let row = format!("5,{},0,0,{},{TOKEN},{A},{B},1\n", word(5), word(500));
    let files = Files::one(
        "ethereum__erc20_transfers__5_to_5.csv",
        format!("{header}{row}"),
    );
    files.add("ethereum__vm_traces__5_to_5.csv", "pc,cost\n");
    let (_, report) = read(files.open(Family::Cryo).unwrap());
    let caveat = "cryo erc20_transfers has no wrapped coins";
    assert!(warns(&report, caveat), "{report:?}");
}

/// Logs and transactions have no withdrawals, and blocks have no values.
#[test]
fn withdrawals_and_values_are_different_tables() {
    let files = Files::one("logs.csv", format!("{LOGS}{}", log(0, 500, 0, 5)));
    files.add("transactions.csv", TRANSACTIONS);
    let open = |chain_id: u64| {
        let options = ImportOptions {
            chain_id: Some(chain_id),
            ..mainnet(Family::Etl)
        };
        ImportedFiles::open(files.path(), &options).unwrap()
    };
    let asked = |kind: Kind| try_read(open(7), |request| request.filter.kinds = vec![kind]);
    let refused = asked(Kind::Withdrawal).unwrap_err();
    says(&refused.to_string(), "no table of the files contains any");
    asked(Kind::Value).unwrap();
    // Ethereum has none in block 5.
    for (chain_id, is_said) in [(7, true), (1, false)] {
        let (_, report) = read(open(chain_id));
        let caveat = "the files have no tables of withdrawal transfers";
        let found = report.caveats.iter().any(|it| it == caveat);
        assert_eq!(found, is_said, "{report:?}");
    }
}

#[test]
fn deep_folders_are_refused() {
    let logs = format!("{LOGS}{}", log(0, 500, 0, 5));
    let deep = Files::one(&format!("{}logs.csv", "x/".repeat(8)), &logs);
    assert_eq!(answer(&deep).0.len(), 1);
    deep.add(&format!("{}logs.csv", "y/".repeat(9)), &logs);
    let error = deep.open(Family::Etl).unwrap_err().to_string();
    says(&error, "too many folders in each other");
}

#[test]
fn json_has_white_space_escapes_and_late_fields() {
    let object = |index: u64, status: &str| {
        format!(
            r#"{{"hash":"{}","nonce":0,"block_number":5,"transaction_index":{index},
                "from_address":"{A}","to_address":"\u0030{}","value":7{status}}}"#,
            word(500 + index),
            &B[1..]
        )
    };
    // A field that only later rows have, because nulls are left out.
    let mut rows: Vec<_> = (0..1500).map(|index| object(index, "")).collect();
    rows.push(object(1500, r#","receipt_status":1"#));
    let files = Files::one(
        "transactions.json",
        format!("\u{feff}[\n{}\n]", rows.join(",\n")),
    );
    let (count, caveats) = values(&files);
    assert_eq!(count, 1);
    let caveat = "transactions with an unknown outcome, whose values are left out: 1500";
    assert!(caveats.iter().any(|it| it == caveat), "{caveats:?}");
    let status = r#","receipt_status":1"#;
    let twice = object(0, status) + &object(1, &format!(r#"{status},"value":8"#));
    let error = Files::one("transactions.json", twice).refused(Family::Etl);
    says(&error, "has this field twice");
    let columns = TRANSACTIONS.replace("nonce,", "nonce,value,");
    let error = Files::one("transactions.csv", columns).refused(Family::Etl);
    says(&error, "two columns `value`");
    // As `jq` prints logs.
    let topic = |end: &str| format!("\\u0030x{:0>64}", &end[2..]);
    let log = format!(
        "[\n {{\n \"log_index\": 0, \"transaction_hash\": \"{}\", \"transaction_index\": 0,\n \
         \"block_number\": 5, \"address\": \"{TOKEN}\", \"data\": \"{}\",\n \
         \"topics\": [\n\t\"{TRANSFER}\",\r\n \"{}\",\n \"{}\"\n ]\n }}\n]",
        word(500),
        word(9),
        topic(A),
        topic(B)
    );
    assert_eq!(answer(&Files::one("logs.json", log)).0.len(), 1);
}

#[test]
fn long_headers_are_not_read_to_their_end() {
    let error = Files::one("logs.csv", "x".repeat(3 << 20)).refused(Family::Etl);
    says(&error, "the header is longer than 1 MiB");
    let error = Files::one("a.csv", "x".repeat(1 << 19) + "\n").refused(Family::Etl);
    assert!(error.len() < 3000, "{}", error.len());
}

/// The rest of the file would be one row.
#[test]
fn a_quote_that_is_not_closed_does_not_fill_the_memory() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(gz, "{LOGS}{}0,\"", log(0, 500, 0, 5)).unwrap();
    let part = vec![b'x'; 1 << 20];
    for _ in 0..66 {
        gz.write_all(&part).unwrap();
    }
    let error = Files::one("logs.csv.gz", gz.finish().unwrap()).refused(Family::Etl);
    says(&error, "row 2: it is longer than 64 MiB");
}

#[test]
fn metadata_of_an_answer_restricts_it_again() {
    let header = "block_number,transaction_index,log_index,sub_index,transaction_hash,\
                  token_address,from_address,to_address,value,token_id,token_standard,kind\n";
    let row = format!("7,3,,0,{},,{A},{B},9,,native,value\n", word(1));
    let more = row.replace("7,3", "8,0") + &row.replace("7,3", "9,0");
    let files = Files::one("t.csv", format!("{header}{row}"));
    let meta = r#"{"command":"transfers","limits":[],"scan":{"covered":[{"first":0,"last":9}],
        "caveats":["transactions without traces: 4"],"counts":{"transfers":3}}}"#;
    files.add("t.csv.meta.json", meta);
    let opened = ImportedFiles::open(files.path(), &mainnet(Family::Csv)).unwrap();
    let caveats = read(opened).1.caveats;
    assert_eq!(caveats[0], "transactions without traces: 4");
    assert!(caveats[1].ends_with("t.csv has 1 row, but its metadata states 3 rows"));
    files.add("t.csv", format!("{header}{row}{more}"));
    let whole = ImportedFiles::open(files.path(), &mainnet(Family::Csv)).unwrap();
    assert_eq!(read(whole).1.caveats, ["transactions without traces: 4"]);
    // Of some tokens only, and of a graph.
    let with = |was: &str, is: &str| {
        files.add("t.csv.meta.json", meta.replace(was, is));
        let opened = ImportedFiles::open(files.path(), &mainnet(Family::Csv)).unwrap();
        let caveats = read(opened).1.caveats;
        files.add("t.csv.meta.json", meta);
        caveats[1..].join("; ")
    };
    let limits = r#""limits":[]"#;
    let query = r#""question":{"blocks":["0:9"],"token":["native"]}"#;
    let caveat = with(limits, query);
    says(
        &caveat,
        "t.csv has only the transfers of one query, `transfers` with token",
    );
    assert_eq!(with(limits, r#""question":{"blocks":["0:9"]}"#), "");
    says(
        &with(r#""transfers","#, r#""graph","#),
        "of one query, `graph`",
    );
    let other = row.replace("7,3", "6,0");
    files.add("t.csv", format!("{header}{other}{row}{more}"));
    let added = ImportedFiles::open(files.path(), &mainnet(Family::Csv)).unwrap();
    assert!(read(added).1.caveats[1].ends_with("t.csv has 4 rows, but its metadata states 3 rows"));
}

/// Transfers of one block that have no transaction are not of one transaction.
#[test]
fn rows_without_a_transaction_are_transactions_of_their_own() {
    let rows = |columns: &str| {
        let text = columns
            .replace("TOKEN", A)
            .replace("FROM", A)
            .replace("TO", B);
        let files = Files::one("transfers.csv", text);
        let (transfers, caveats) = answer_of(&files, Family::Csv);
        let indices: Vec<_> = transfers.iter().map(|it| it.transaction_index).collect();
        (
            indices,
            caveats
                .iter()
                .any(|it| it.contains("rows have no transaction")),
        )
    };
    let head = "block_number,log_index,token_address,from_address,to_address,value";
    let (by_log, is_said) = rows(&format!(
        "{head}\n5,3,TOKEN,FROM,TO,1\n5,7,TOKEN,FROM,TO,1\n"
    ));
    assert_eq!((by_log, is_said), (vec![3, 7], true));
    let head =
        "block_number,transaction_index,log_index,token_address,from_address,to_address,value";
    let (known, is_said) = rows(&format!(
        "{head}\n5,4,3,TOKEN,FROM,TO,1\n5,4,7,TOKEN,FROM,TO,1\n"
    ));
    assert_eq!((known, is_said), (vec![4, 4], false));
}
