//! `txgraph statement`: what it prints, writes and refuses.

use crate::harness::{CHAIN, Sample};
use txgraph_testkit::or_skip;

const ACCOUNT: &str = "0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c";

#[test]
fn files_have_the_rows_that_are_printed() {
    let sample = Sample::small();
    let statement = format!("statement {ACCOUNT} {CHAIN}");
    let page = sample.ok(&statement).stdout;
    assert!(page.starts_with("Balances of 0x07EDa8E2"), "{page}");
    assert!(
        page.contains("Movements of 0x07EDa8E2") && page.contains("0.0001 ETH"),
        "{page}"
    );
    sample.ok(&format!("{statement} -o s.json -o s.csv"));
    let json = sample.read_json("s.json");
    let movements = json["movements"].as_array().unwrap();
    assert_eq!(movements.len(), 2);
    assert_eq!(sample.read("s.csv").lines().count(), 3);
    assert_eq!(movements[1]["balance"], "0");
    let balances = sample
        .ok(&format!("{statement} --table balances -f csv -q"))
        .stdout;
    assert_eq!(
        balances.lines().nth(1),
        Some(",native,,0,100000000000000,100000000000000,,,0")
    );
    // The first row that differs is named, and the status is 1.
    sample.ok(&format!("statement verify s.json {CHAIN}"));
    let damaged = sample.read("s.json").replacen("100000000000000", "1", 1);
    std::fs::write(sample.path("bad.json"), damaged).unwrap();
    let failed = sample.run(&format!("statement verify bad.json {CHAIN}"));
    let failed = failed.ended(1);
    assert!(
        failed.stderr.contains("`balances`: `received` is \"1\""),
        "{}",
        failed.stderr
    );
}

/// The page has all rows with names and units, what is not known, and how to verify it.
#[test]
fn a_page_has_the_tables_and_the_proof() {
    let sample = Sample::small();
    std::fs::write(
        sample.path("labels.csv"),
        format!("address,label\n{ACCOUNT},<b>Ann & Co</b>\n"),
    )
    .unwrap();
    let statement = format!("statement {ACCOUNT} {CHAIN} --labels labels.csv");
    let run = sample.ok(&format!("{statement} -o s.html -o s.csv"));
    assert_eq!(run.stdout, "");
    run.says("wrote s.html");
    let page = sample.read("s.html");
    for part in [
        "[&lt;b&gt;Ann &amp; Co&lt;/b&gt;]",
        "<p>Blocks 1 to 40 of chain 735703</p>",
        "that cancel out within a block are not listed",
        "<caption>Balances of 0x07EDa8E2",
        "<caption>Movements of 0x07EDa8E2",
        "<td>0.0001 ETH</td>",
        "--blocks 1:+40 -o statement.json",
        "<td>scan.last_block_hash</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let rows = sample.read("s.csv").lines().count() - 1;
    let movements = page.split("<caption>Movements").nth(1).unwrap();
    let movements = movements.split("</table>").next().unwrap();
    assert_eq!(movements.matches("<tr>").count(), 1 + rows);
    // One table, and no file is replaced.
    sample.fails(&format!("{statement} -o s.html"), 1, "already exists");
    sample.ok(&format!(
        "{statement} -o s.html --overwrite --table balances"
    ));
    assert!(!sample.read("s.html").contains("<caption>Movements"));
    let run = sample.run(&format!("{statement} -o t.html -f html"));
    run.ended(2);
}

/// Everything that a statement says is compared, also its notes and the blocks that were read.
#[test]
fn a_changed_note_is_found() {
    let sample = Sample::small();
    let line = format!("statement {ACCOUNT} {CHAIN} --blocks 20:30 -o s.json");
    sample.ok(&line);
    let json = sample.read_json("s.json");
    sample.ok(&format!("statement verify s.json {CHAIN}"));
    for (path, value, why) in [
        ("/notes/0", "nothing is left out".into(), "`notes` is ["),
        ("/notes", serde_json::json!([]), "`notes` is [] in"),
        ("/address", "0x00".into(), "`address` is \"0x00\" in"),
        (
            "/metadata/requested/0/last",
            40.into(),
            "the blocks of the statement are",
        ),
        (
            "/metadata/scan/covered/0/first",
            1.into(),
            "the blocks that were read are",
        ),
    ] {
        let mut changed = json.clone();
        *changed.pointer_mut(path).unwrap() = value;
        std::fs::write(sample.path("bad.json"), changed.to_string()).unwrap();
        let verified = sample.run(&format!("statement verify bad.json {CHAIN}"));
        verified.ended(1).says(why);
    }
}

/// There are no partial statements, so the remedy is other blocks. Those that it names can be asked for.
#[test]
fn missing_receipts_are_refused_with_blocks_that_exist() {
    let sample = or_skip!(Sample::named("pruned/small-v2-logfilter"));
    let statement = format!("statement {ACCOUNT} {CHAIN}");
    for line in [
        statement.clone(),
        format!("approvals {ACCOUNT}"),
        "transfers --malformed".to_owned(),
    ] {
        let refused = sample.run(&line).ended(3);
        refused.says("hint: ask for blocks that exist: --blocks 40:41\n");
    }
    sample.ok(&format!("{statement} --blocks 40:41"));
}

/// The genesis has no transfers. Its allocations are the balances at both ends.
#[test]
fn block_0_has_the_allocations() {
    let sample = Sample::small();
    let genesis = &sample.fixture.genesis["alloc"];
    let (account, allocated) = (genesis.as_object().unwrap().iter())
        .find(|(_, it)| it["balance"] != "0x0")
        .unwrap();
    let allocated = allocated["balance"].as_str().unwrap();
    let allocated = u128::from_str_radix(allocated.trim_start_matches("0x"), 16).unwrap();
    let line = format!("statement {account} {CHAIN} -o s.json");
    for blocks in ["0", ":1"] {
        sample.ok(&format!("{line} --blocks {blocks} --overwrite"));
        let json = sample.read_json("s.json");
        assert_eq!(json["movements"], serde_json::json!([]));
        let balances = &json["balances"][0];
        for end in ["opening", "closing"] {
            assert_eq!(balances[end], allocated.to_string());
        }
        sample.ok(&format!("statement verify s.json {CHAIN}"));
    }
}

#[test]
fn wrong_queries_are_refused() {
    let sample = Sample::small();
    for (line, why) in [
        (format!("{ACCOUNT} --blocks 3:5,8:9"), "must be consecutive"),
        (format!("{ACCOUNT} --table ledger"), "no table `ledger`"),
        (
            format!("{ACCOUNT} --year 2024 --blocks 3:5"),
            "cannot be used with",
        ),
        (
            format!("{ACCOUNT} --year 1999"),
            "2000-01-01 00:00:00 UTC is before",
        ),
        (
            "verify genesis.json".to_owned(),
            "genesis.json: the file is no statement",
        ),
        (String::new(), "ADDRESS"),
    ] {
        let run = sample.run(&format!("statement {line} {CHAIN}"));
        assert!(run.stderr.contains(why), "{line}: {}", run.stderr);
        assert!([2, 3].contains(&run.status), "{line}: {:?}", run.status);
    }
    let year = sample.ok(&format!("statement {ACCOUNT} {CHAIN} --year 2024 -f csv"));
    // The year has not ended.
    let lines = year.stderr.lines();
    let cut: Vec<_> = lines
        .filter(|it| it.contains("the blocks end with"))
        .collect();
    assert!(
        cut[0].starts_with(
            "warning: the answer may be partial: the blocks end with block 40 of 2024"
        ),
        "{cut:?}"
    );
    assert_eq!(year.stdout.lines().count(), 3, "{}", year.stdout);
}

/// Transfers of nothing are no income and no spending.
#[test]
fn accounting_programs_get_no_transfers_of_nothing() {
    let sample = Sample::small();
    let victim = &sample.fixture.truth["scenarios"]["address-poisoning"]["victim"];
    let line = format!("statement {} {CHAIN} --table", victim.as_str().unwrap());
    for (table, amounts) in [
        ("koinly", ["Sent Amount", "Received Amount"]),
        ("rotki", ["Amount"; 2]),
    ] {
        let run = sample.ok(&format!("{line} {table} -f csv"));
        run.says("not in the tables `koinly` and `rotki`: transfers of nothing");
        let rows = run.rows();
        assert!(
            !rows.is_empty()
                && rows
                    .iter()
                    .all(|row| amounts.iter().all(|it| row[*it] != "0"))
        );
    }
}
