//! Statements: the bytes that the library writes, and the same in answers.

use super::{
    BUSY, get, open, refused, rows,
    written::{CSV, check_fields, check_file, written},
};
use crate::harness::{Served, small};
use serde_json::json;
use txgraph::{AccountStatement, AnalysisFormat, TokenList};

#[test]
fn statements_are_those_of_the_library() {
    let fixture = small();
    let (served, source) = (Served::new(&fixture), open(&fixture));
    let asked = || source.statement(BUSY.parse().unwrap());
    for (query, options, asked) in [
        ("", "", asked()),
        ("&year=2024", " --year 2024", asked().year(2024).unwrap()),
        (
            "&blocks=10:30&internal=true",
            " --blocks 10:30 --with-internal",
            asked().blocks(10..30).every_block(),
        ),
    ] {
        let mut wanted = asked.run().unwrap();
        let of = |statement: &AccountStatement<'_>, format, table| {
            written(format, table, |to| statement.write(to))
        };
        let path = format!("/v1/statement?address={BUSY}{query}");
        let json = of(&wanted, AnalysisFormat::Json, None);
        let file = format!("{path}&format=json");
        check_file(&served, &file, "application/json", &json);
        // What was downloaded is verified as any other file.
        let verified = source.verify_statement(served.get(&file).body.as_bytes());
        assert_eq!(verified.unwrap().difference, None);
        let answer = get(&served, &path[4..]);
        check_fields(&answer, &json);
        assert!(!rows(&answer, "movements").is_empty());
        let command = format!("txgraph statement {BUSY}{options} -f json");
        assert_eq!(answer["command"], command);
        let lacks = [wanted.notes.as_slice(), &wanted.scan.caveats].concat();
        assert_eq!(answer["incomplete"], json!(lacks));
        let is_cut = lacks.iter().any(|it| it.contains("end with block 40"));
        assert_eq!(is_cut, query.contains("year"), "{lacks:?}");
        let mut tokens = TokenList::default();
        let shown = wanted.balances.iter();
        let shown: Vec<_> = shown.filter_map(|it| it.asset.token_address).collect();
        let blocks = wanted.blocks.into();
        source.name_tokens(&mut tokens, shown, &blocks).unwrap();
        wanted.add_accounting(&tokens).unwrap();
        for table in ["movements", "balances", "koinly", "rotki"] {
            let csv = of(&wanted, CSV, Some(table));
            let path = format!("{path}&format=csv&table={table}");
            check_file(&served, &path, "text/csv; charset=utf-8", &csv);
        }
    }
}

#[test]
fn wrong_requests_are_refused_and_large_answers_bounded() {
    let served = Served::new(&small());
    for (query, status, why) in [
        (
            format!("statement?address={BUSY}&blocks=3:5,8:9"),
            400,
            "consecutive",
        ),
        (
            format!("statement?address={BUSY}&year=2024&blocks=3:5"),
            400,
            "excludes",
        ),
        (
            format!("statement?address={BUSY}&year=1999"),
            422,
            "is before the first block",
        ),
        (
            format!("statement?address={BUSY}&format=xml"),
            400,
            "one of answer, json, csv",
        ),
        (
            format!("statement?address={BUSY}&table=ledger"),
            400,
            "one of movements",
        ),
    ] {
        let (found, _, message) = refused(&served, &query);
        assert_eq!(found, status, "{query}: {message}");
        assert!(message.contains(why), "{query}: {message}");
    }
    let served = Served::limited(&small(), |limits| limits.rows = 3);
    for query in ["", "&format=csv", "&format=json"] {
        let query = format!("statement?address={BUSY}{query}");
        let (status, code, message) = refused(&served, &query);
        assert_eq!((status, code.as_str()), (413, "too_much"), "{message}");
        assert!(message.contains("more than 3 transfers"), "{message}");
    }
}
