//! `txgraph case`: folders with answers, and their reports.

use crate::{
    harness::{ROOT, Sample, ask, run},
    signals::{read_until, send, status},
};
use std::{
    ffi::OsStr,
    fs,
    io::{BufReader, Write},
    os::unix::ffi::OsStrExt,
    process::Stdio,
};
use txgraph_testkit::fixtures;

/// A case with a graph, an analysis and a look-up.
fn filled() -> Sample {
    let sample = Sample::small();
    sample.ok("case new c --title '</title><script>alert(1)</script>' --author 'A & B'");
    sample.ok(&format!("case label c {ROOT} '<b>|Thief' --category scam"));
    sample
        .ok(&format!(
            "case add c --title 'Where | to?' -- graph -r {ROOT} -n 3"
        ))
        .says("kept c/answers/01-graph");
    sample
        .ok("case add c --name patterns -- analyze patterns")
        .prints("peel-chain");
    sample
        .ok(&format!("case add c -- address {ROOT}"))
        .prints("first funder");
    sample.ok("case note c '<img src=x onerror=alert(1)>'");
    sample.ok("case note c 'second\nline' --on 01-graph");
    sample
}

#[test]
fn a_case_keeps_answers_with_their_evidence() {
    let sample = filled();
    let answer = sample.read_json("c/answers/01-graph/answer.json");
    assert_eq!(answer["command"][0], "graph");
    assert_eq!(
        answer["blocks"],
        serde_json::json!([{ "first": 0, "last": 40 }])
    );
    assert_eq!((&answer["tip"], &answer["status"]), (&40.into(), &0.into()));
    let metadata = sample.read_json("c/answers/01-graph/graph.csv.meta.json");
    let hash = &answer["last_block_hash"];
    assert!(hash.is_string() && *hash == metadata["scan"]["last_block_hash"]);
    assert!(
        answer["program"]
            .as_str()
            .unwrap()
            .starts_with("txgraph 0.")
    );
    let names = answer["files"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|file| file["name"].as_str().unwrap()).collect();
    let expected = [
        "graph.csv",
        "graph.csv.meta.json",
        "graph.svg",
        "graph.svg.meta.json",
        "labels.csv",
        "stderr.txt",
        "stdout.txt",
    ];
    assert_eq!(names, expected);
    assert_eq!(answer["files"][0]["rows"], 6);
    let csv = sample.read("c/answers/01-graph/graph.csv");
    assert!(
        csv.contains("<b>|Thief") && csv.contains(",8790,USD6"),
        "{csv}"
    );
    // Standard error names files without the folder in which they were written.
    let log = sample.read("c/answers/01-graph/stderr.txt");
    assert!(log.contains("wrote graph.svg (6 rows"), "{log}");
    let list = sample.ok("case list c");
    list.prints("01-graph")
        .prints("0:41")
        .prints("analyze patterns");
    let list = sample.json("case list c --json");
    assert_eq!(list["answers"].as_array().unwrap().len(), 3);
    assert_eq!(list["case"]["notes"][1]["on"], "01-graph");
}

#[test]
fn a_report_has_everything_and_no_markup_from_outside() {
    let sample = filled();
    sample.ok("case report c");
    let page = sample.read("c/report.html");
    for text in [
        "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>",
        "&lt;img src=x onerror=alert(1)&gt;",
        "Author: A &amp; B",
        "second\nline",
        "txgraph graph -r 0x4545",
        "data:image/svg+xml;base64,",
        "graph.csv: 6 of 6 rows",
        "&lt;b&gt;|Thief",
        "question.hops",
        "at least 3 addresses in a row",
        "0x5aab93eb36231dd53e1f2ca4fce0e2b597765f1e514a90b59cb7c1ce27a59ce8",
        "first funder",
        "txgraph case verify DIR --rerun",
    ] {
        assert!(page.contains(text), "no {text}: {page}");
    }
    for absent in [
        "<script",
        "<img src=x",
        "<b>",
        "http://",
        "https://",
        " onerror=alert(1)>",
    ] {
        assert!(!page.contains(absent), "{absent}");
    }
    let names: Vec<_> = (page.split("not shown here").skip(1))
        .map(|text| text.split('<').next().unwrap_or_default())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].ends_with(": answers/patterns/analysis.json"));
    assert!(names[1].ends_with(": answers/03-address/address.json"));
    assert!(page.contains("Parameters and evidence, from address.json"));
    // The hashes of the files are in the report.
    let answer = sample.read_json("c/answers/patterns/answer.json");
    for file in answer["files"].as_array().unwrap() {
        assert!(page.contains(file["sha256"].as_str().unwrap()));
    }
    // The same case gives the same report, and a report is not replaced.
    sample.fails("case report c", 1, "already exists");
    sample.ok("case report c --overwrite");
    assert_eq!(sample.read("c/report.html"), page);
    sample.ok("case report c -o c/report.md");
    let text = sample.read("c/report.md");
    assert!(
        text.starts_with("# &lt;/title&gt;&lt;script&gt;alert(1)"),
        "{text}"
    );
    assert!(text.contains("](<answers/01-graph/graph.svg>)"), "{text}");
    assert!(text.contains("### 1\\. Where \\| to?"), "{text}");
    sample.fails("case report c -o x.md", 2, "HTML contains them");
    sample.fails("case report c -o x.pdf", 2, ".html or .md");
}

#[test]
fn verify_names_the_file_that_differs() {
    let sample = filled();
    sample.ok("case verify c").prints("all as recorded");
    sample
        .ok("case verify c --rerun")
        .prints("patterns: the same bytes again: analysis.json, stdout.txt");
    let table = "c/answers/01-graph/graph.csv";
    let csv = sample.read(table);
    fs::write(sample.path(table), csv.replacen("8790", "8791", 1)).unwrap();
    sample.fails(
        "case verify c",
        1,
        "graph.csv: the file differs from its record",
    );
    sample.fails("case report c", 1, "differs from its record");
    fs::write(sample.path(table), csv).unwrap();
    sample.ok("case verify c");
    fs::write(sample.path("c/answers/01-graph/more.csv"), "").unwrap();
    sample.fails("case verify c", 1, "more.csv: the answer has no such file");
    fs::remove_file(sample.path("c/answers/01-graph/more.csv")).unwrap();
    // A changed record is found, too.
    let record = "c/answers/01-graph/answer.json";
    let text = sample.read(record).replace("\"graph\"", "\"path\"");
    fs::write(sample.path(record), text).unwrap();
    sample.fails("case verify c", 1, "answer.json: the file differs");
}

#[test]
fn a_rerun_asks_for_the_blocks_of_the_answer() {
    let sample = Sample::small();
    sample.ok("case new c");
    fs::write(
        sample.path("tokens.txt"),
        "0xd601451207128971898aab8654521699f35222e2\n",
    )
    .unwrap();
    let added = sample.ok("case add c -- transfers -t @tokens.txt -b -10: -b 5:7");
    added.says("follow the tip; it asked for 5:7, 31:41");
    sample.ok(&format!("case add c -- balance {ROOT}"));
    sample.ok(&format!("case add c -- approvals {ROOT}"));
    sample.ok("case add c -- query cycles --set token=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2");
    // Its metadata states the blocks by number, too.
    sample.ok("case add c -- transfers --since 35 -o t.parquet");
    let data = sample.fixture.path().display().to_string();
    let done = sample.ok(&format!("case verify c --rerun --datadir {data}"));
    let program = format!("txgraph --datadir={data}");
    done.says(&format!(
        "01-transfers: {program} transfers --token=@tokens.txt --blocks=5:7 --blocks=31:41 -o"
    ));
    done.says(&format!("02-balance: {program} balance --block=40 0x4545"));
    assert_eq!(
        done.stdout.matches("the same bytes again").count(),
        5,
        "{done:?}"
    );
    // A changed input is named.
    fs::write(sample.path("tokens.txt"), "eth\n").unwrap();
    let failed = sample.run("case verify c --rerun").ended(1);
    failed.says("01-transfers: the command gives another answer: transfers.csv");
    failed.says("hint: tokens.txt has changed");
    // The first row that differs is named.
    let before = sample.read("c/answers/01-transfers/transfers.csv");
    let now =
        sample.ok("transfers -t @tokens.txt -b 5:7 -b 31:41 --columns all,amount,symbol -f csv -q");
    let rows = before.lines().zip(now.stdout.lines()).enumerate();
    let (line, (was, is)) = rows.clone().find(|(_, (was, is))| was != is).unwrap();
    let line = line + 1;
    failed.says(&format!(
        "transfers.csv, line {line}: it was `{was}`, and is `{is}`"
    ));
}

/// A slot has a block, its history blocks.
#[test]
fn slots_and_their_history_are_kept() {
    let sample = Sample::small();
    sample.ok("case new c");
    let slot = "0xd601451207128971898aab8654521699f35222e2 0";
    sample.ok(&format!("case add c -- storage {slot}"));
    sample.ok(&format!("case add c -- storage {slot} --history"));
    sample.ok(&format!("case add c -- storage {slot} --history -b -10:"));
    sample.ok(&format!("case add c -- approvals {ROOT} -b -10:"));
    sample.ok(&format!("case add c -- address {ROOT} --until 2100-01-01"));
    let done = sample.ok("case verify c --rerun");
    done.says("01-storage: txgraph storage --block=40 0xd601");
    done.says("02-storage: txgraph storage --history --blocks=0:41 0xd601");
    done.says("03-storage: txgraph storage --history --blocks=31:41 0xd601");
    done.says("04-approvals: txgraph approvals --blocks=31:41 -o");
    done.says("05-address: txgraph address --blocks=0:41 -o address.json -o - --block=40 0x4545");
}

#[test]
fn a_rerun_gives_the_same_after_the_chain_has_grown() {
    let sample = Sample::small();
    sample.ok("lake build l --reorg-buffer 10");
    sample.ok("case new c");
    let add = "case add c --source lake:l --";
    sample.ok(&format!("{add} graph -r {ROOT} -n 9"));
    sample.ok(&format!("{add} transfers -b -10:"));
    sample.ok("lake append l --reorg-buffer 0");
    let done = sample.ok("case verify c --rerun");
    done.prints("01-graph: the same bytes again: graph.csv, graph.csv.meta.json, graph.svg");
    done.prints(
        "02-transfers: the same bytes again: stdout.txt, transfers.csv, transfers.csv.meta.json;",
    );
    // A node has symbols, which the lake does not have.
    let data = sample.fixture.path().display().to_string();
    let failed = sample.run(&format!("case verify c --rerun --datadir {data}"));
    failed
        .ended(1)
        .says("hint: the source was lake:l, and is reth:");
    // A lake refuses the genesis file of the node that it replaces.
    sample.ok("case new d");
    sample.ok("case add d --chain genesis.json -- transfers -b 3:5 --columns value");
    let run = sample.run("case verify d --rerun --source lake:l");
    run.says("01-transfers: txgraph --source=lake:l transfers");
    assert!(!run.stderr.contains("does not use"), "{run:?}");
}

/// Equal rows of another chain are another answer.
#[test]
fn a_rerun_names_another_chain() {
    let sample = Sample::small();
    let example = fixtures::workspace().join("docs/examples/taint.csv");
    for name in ["t.csv", "other.csv"] {
        fs::copy(&example, sample.path(name)).unwrap();
    }
    sample.ok("case new c");
    sample.ok(
        "case add c --source csv:t.csv --chain-id 1337 --covers 1:5 -- analyze taint \
         -r 0xa000000000000000000000000000000000000000 -n all --table ledger -f csv",
    );
    for source in ["", "--source csv:other.csv --covers 1:5"] {
        let rerun = format!("case verify c --rerun {source}");
        let failed = sample.run(&format!("{rerun} --chain-id 5")).ended(1);
        failed.says("the source is of chain 5, and answer 01-analyze of this case of chain 1337");
        let done = sample.ok(&format!("{rerun} --chain-id 1337"));
        let remark = "the hash of the last block was not compared: a source does not have it";
        assert_eq!(done.stdout.contains(remark), !source.is_empty(), "{done:?}");
    }
}

/// The rows of a ledger do not depend on the source, and a row that was changed is named.
#[test]
fn a_ledger_is_computed_again_from_another_source() {
    let sample = Sample::small();
    sample.ok("lake build l --reorg-buffer 0");
    sample.ok("case new c");
    let methods = ["fifo", "lifo", "haircut", "poison"];
    for method in methods {
        sample.ok(&format!(
            "case add c -- analyze taint -r {ROOT} -n all --method {method} --table ledger -o ledger.csv"
        ));
    }
    let done = sample.ok("case verify c --rerun --source lake:l");
    for number in 1..=methods.len() {
        done.prints(&format!(
            "0{number}-analyze: the same bytes again: ledger.csv, stdout.txt; the same but for"
        ));
    }
    done.prints("the same but for statements about the source, which was reth:");
    done.prints(", and is lake:l: ");
    // A row of the ledger is changed.
    let path = "c/answers/02-analyze/ledger.csv";
    let ledger = sample.read(path);
    let row = ledger.lines().nth(2).unwrap();
    let changed = row.replacen(',', ",1", 1);
    fs::write(sample.path(path), ledger.replacen(row, &changed, 1)).unwrap();
    let failed = sample.run("case verify c --rerun --source lake:l").ended(1);
    failed.says("ledger.csv: the file differs");
    failed.says(&format!(
        "02-analyze: the command gives ledger.csv as it was recorded; the file in the case, line 3: it was \
         `{row}`, and is `{changed}`"
    ));
    failed.prints("03-analyze: the same bytes again: ledger.csv");
}

#[test]
fn a_failure_leaves_no_answer() {
    let sample = Sample::small();
    sample.ok("case new c");
    for (line, status, why) in [
        (
            "case add c -- graph -r 0x12",
            2,
            "the command ended with status 2",
        ),
        ("case add c -- transfers -b 50:60", 3, "above the tip"),
        (
            "case add c -- serve",
            2,
            "gives no answer that a case can keep",
        ),
        ("case add c -- case list c", 2, "gives no answer"),
        (
            "case add c -- graph --hop",
            2,
            "the command of the answer: unexpected argument",
        ),
        (
            "case add c -- graph --help",
            2,
            "error: a help is no answer that a case can keep\nhint: ask txgraph for it",
        ),
        (
            "case add c -- transfers --explain",
            2,
            "the query is not run",
        ),
        (
            "case add c -- transfers --stats s.json",
            2,
            "the case keeps the cost itself",
        ),
        (
            "case add c -- transfers -o ../x.csv",
            2,
            "../x.csv: the case keeps the files of an answer in a folder of its own",
        ),
        (
            "case add c -- transfers -o answer.json",
            2,
            "a file of every answer",
        ),
        ("case add c --name a/b -- info", 2, "no name of an answer"),
        ("case add d -- info", 2, "not a case"),
        ("case add c transfers", 2, "unexpected argument"),
        ("case note c x --on y", 2, "no answer `y`"),
        ("case label c 0x12 x", 2, "0x12"),
        ("case new c", 2, "not empty"),
    ] {
        sample.fails(line, status, why);
    }
    // The errors of the command are shown, also if its notes are not.
    let args = ["case", "add", "c", "--quiet", "--", "graph", "-r", ROOT];
    let no_graphviz = run(sample
        .command()
        .env("PATH", sample.folder.path())
        .args(args));
    no_graphviz
        .ended(1)
        .says("needs Graphviz\nhint: install it")
        .says("the command ended with status 1");
    assert_eq!(fs::read_dir(sample.path("c/answers")).unwrap().count(), 0);
    assert_eq!(
        sample.read_json("c/case.json")["answers"],
        serde_json::json!([])
    );
    let args = [
        OsStr::new("case"),
        OsStr::new("new"),
        OsStr::from_bytes(b"c\xff"),
    ];
    run(sample.command().args(args))
        .ended(2)
        .says("the path is not UTF-8");
    sample.ok("case add c --name info -- info");
    sample.fails("case add c --name info -- info", 2, "already");
}

#[test]
fn ctrl_c_leaves_no_answer() {
    let sample = Sample::small();
    sample.ok("case new c");
    let made = std::process::Command::new("mkfifo")
        .arg(sample.path("tokens"))
        .status();
    assert!(made.unwrap().success());
    let mut command = sample.command();
    command.args(["case", "add", "c", "--", "transfers", "-t", "@tokens"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // Opens when the command has opened its end.
    let mut fifo = fs::OpenOptions::new()
        .write(true)
        .open(sample.path("tokens"))
        .unwrap();
    send("-INT", &child);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut stderr, "interrupted");
    let _ = fifo.write_all(b"all\n");
    assert_eq!(status(child), Some(130));
    assert_eq!(fs::read_dir(sample.path("c/answers")).unwrap().count(), 0);
}

#[test]
fn labels_and_notes_are_kept() {
    let sample = Sample::small();
    sample.ok("case new c");
    sample.ok(&format!("case label c {ROOT} Thief --category scam"));
    let again = sample.ok(&format!("case label c {ROOT} Victim"));
    again.says("the label replaces `Thief`; the category is still `scam`");
    let head = "address,name,category\n0x4545Aa9C2A6019f57dE4D3c92661C6482E9aB8B0";
    let labels = sample.read("c/labels.csv");
    assert_eq!(labels, format!("{head},Victim,scam\n"));
    let label = ["case", "label", "c", ROOT, "Victim", "--category", ""];
    run(sample.command().args(label)).ended(0);
    let labels = sample.read("c/labels.csv");
    assert_eq!(labels, format!("{head},Victim,\n"));
    // A label that is changed by hand is found, and recorded with the next note.
    sample
        .ok("case verify c")
        .prints("and the labels, all as recorded");
    let changed = labels.replace("Victim", "Mule");
    fs::write(sample.path("c/labels.csv"), changed).unwrap();
    let differs = "c/labels.csv: the file differs from its record";
    sample.fails("case verify c", 1, differs);
    sample.ok("case note c changed");
    sample.ok("case verify c");
    let mut command = sample.command();
    let mut child = command
        .args(["case", "note", "c", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"one\ntwo\n")
        .unwrap();
    assert_eq!(status(child), Some(0));
    let notes = sample.read_json("c/case.json")["notes"].clone();
    assert_eq!(notes[1]["text"], "one\ntwo");
    assert!(notes[1]["time"].as_str().unwrap().ends_with(" UTC"));
    // A file of one line without a header is used, too.
    fs::write(sample.path("c/labels.csv"), format!("{ROOT},Courier\n")).unwrap();
    sample.ok(&format!("case add c -- transfers --address {ROOT}"));
    let csv = sample.read("c/answers/01-transfers/transfers.csv");
    assert!(csv.contains("Courier"), "{csv}");
}

/// Labels and notes of a case are about one chain.
#[test]
fn answers_of_another_chain_are_refused() {
    let sample = Sample::small();
    sample.ok("transfers -o t.csv --columns all,-chain_id");
    fs::remove_file(sample.path("t.csv.meta.json")).unwrap();
    sample.ok("case new c");
    sample.ok(&format!("case add c -- nonce {ROOT}"));
    let other = "--source csv:t.csv --chain-id 5 --covers 0:41";
    let line = format!("case add c {other} -- transfers");
    ask(sample.folder.path(), &line)
        .ended(2)
        .says("of chain 5,")
        .says("answer 01-nonce of this case of chain 735703")
        .says("case new DIR");
    assert_eq!(
        sample.json("case list c --json")["answers"][0]["chain"]["chain_id"],
        735_703
    );
    sample
        .ok("case list c")
        .prints("chain 735703, last block 40");
    sample.ok("case report c");
    assert!(
        sample
            .read("c/report.html")
            .contains("Source: chain 735703, last block 40.")
    );
}
