//! `txgraph graph`.

use crate::harness::{HUB, ROOT, Sample, rows};
use serde_json::Value;
use std::{collections::BTreeSet, process::Command};
use txgraph::{
    Direction,
    parse::{Checksum, parse_address},
};
use txgraph_testkit::naive::{Rules, bfs, decode_fixture};

/// Every search whose answer is known, because its transfers were planted.
#[test]
fn finds_planted_scenarios() {
    for sample in Sample::full() {
        for search in sample.fixture.truth["searches"].as_array().unwrap() {
            let text = |name: &str| search[name].as_str().unwrap();
            let hops = search["hops"]
                .as_u64()
                .map_or("all".to_owned(), |hops| hops.to_string());
            let time = if search["time_respecting"] == true {
                "--time-respecting"
            } else {
                ""
            };
            let root = text("root");
            let line = format!(
                "graph -q -r {root} -t {} -d {} -n {hops} {time}",
                text("token"),
                text("direction")
            );
            let found = sample.rows(&line);
            let mut reached: BTreeSet<String> = found
                .iter()
                .flat_map(|row| [row["from_address"].clone(), row["to_address"].clone()])
                .collect();
            reached.remove(root);
            let known = search["reached"].as_array().unwrap();
            let known: BTreeSet<String> = known
                .iter()
                .map(|address| address.as_str().unwrap().to_owned())
                .collect();
            assert_eq!(reached, known, "{line}");
        }
    }
}

#[test]
fn edges_are_those_of_a_naive_search() {
    for sample in Sample::both() {
        let transfers = decode_fixture(&sample.fixture).transfers;
        let roots = [
            "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0",
            "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba",
        ];
        let addresses = roots.map(|root| parse_address(root, Checksum::Verify).unwrap());
        for (direction, word) in [
            (Direction::Out, "out"),
            (Direction::In, "in"),
            (Direction::Both, "both"),
        ] {
            for hops in [0, 1, 2, 3] {
                let rules = Rules {
                    hops: Some(hops),
                    direction,
                    ..Rules::default()
                };
                let known = bfs(&transfers, &addresses, &rules);
                let line = format!("graph -q -r {} -d {word} -n {hops}", roots.join(","));
                let found = sample.rows(&line);
                let number = |text: &str| text.parse::<u64>().ok();
                let found: Vec<_> = found
                    .iter()
                    .map(|row| {
                        [
                            "block_number",
                            "transaction_index",
                            "log_index",
                            "sub_index",
                            "hop",
                        ]
                        .map(|name| number(&row[name]))
                    })
                    .collect();
                let known: Vec<_> = known
                    .edges
                    .iter()
                    .map(|(at, hop)| {
                        [
                            Some(at.block),
                            Some(at.tx.into()),
                            at.log.map(u64::from),
                            Some(at.sub.into()),
                            Some((*hop).into()),
                        ]
                    })
                    .collect();
                assert_eq!(found, known, "{line}");
            }
        }
    }
}

const TRACE: &str = "-r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n all \
                     -t 0xd601451207128971898aab8654521699f35222e2";

/// Before the search, and no other output is written.
#[test]
fn save_files_of_graphsense_are_for_mainnet() {
    let sample = Sample::small();
    let run = sample.run(&format!("graph {TRACE} -o g.csv -o g.gs"));
    run.ended(2)
        .says("a save file of GraphSense is for Ethereum mainnet (chain 1), not for chain 735703")
        .says("write GraphML, GEXF or HTML");
    assert!(sample.files().iter().all(|name| !name.starts_with("g.")));
}

#[test]
fn one_search_writes_many_files() {
    let sample = Sample::small();
    let files =
        "-o g.csv -o g.jsonl -o g.parquet -o g.ipc -o g.json -o g.dot -o g.graphml -o g.gexf";
    let run = sample.ok(&format!("graph {TRACE} {files} --vertices v.csv"));
    assert_eq!(run.stdout, "");
    for name in [
        "g.csv",
        "g.jsonl",
        "g.json",
        "g.dot",
        "g.graphml",
        "g.gexf",
        "v.csv",
    ] {
        run.says(&format!("wrote {name} ("));
        assert!(!sample.read(name).is_empty());
    }
    let edges = rows(&sample.read("g.csv"));
    let vertices = rows(&sample.read("v.csv"));
    assert_eq!(vertices.len(), 13);
    let json = sample.read_json("g.json");
    assert_eq!(json["vertices"].as_array().unwrap().len(), vertices.len());
    assert_eq!(json["edges"].as_array().unwrap().len(), edges.len());
    let expected = format!(
        "graph of 13 addresses and {} transfers, up to hop 6",
        edges.len()
    );
    run.says(&expected);
    assert!(
        sample.files().iter().all(|name| !name.contains("tmp")),
        "{:?}",
        sample.files()
    );
}

#[test]
fn pictures_are_drawn_by_graphviz() {
    let sample = Sample::small();
    let there = Command::new("dot").arg("-V").output().is_ok();
    let run = sample.run(&format!("graph {TRACE} -o g.svg -o g.png -o g.csv"));
    if there {
        assert_eq!(run.status, 0, "{run:?}");
        assert!(sample.read("g.svg").contains("<svg"));
        assert!(
            std::fs::read(sample.path("g.png"))
                .unwrap()
                .starts_with(b"\x89PNG")
        );
        assert!(!rows(&sample.read("g.csv")).is_empty());
    } else {
        assert_eq!(run.status, 1);
    }

    let path = tempfile::tempdir().unwrap();
    let mut command = sample.command();
    command
        .env("PATH", path.path())
        .args(["graph", "-o", "h.svg", "-o", "h.csv"]);
    let run = crate::harness::run(command.args(TRACE.split_whitespace())).ended(1);
    run.says("needs Graphviz").says("hint: ");
    // It is missed before anything is read.
    assert!(!sample.path("h.csv").exists() && !sample.path("h.svg").exists());
}

#[test]
fn pictures_are_folded_linked_and_written_as_pages() {
    let sample = Sample::small();
    let link = "https://example.org/{address}";
    let ask = format!("graph -r {HUB} --fold 2 --layout radial --link {link} -o h.html -o h.csv");
    let run = sample.run(&ask).ended(0);
    let folded = "addresses with a single counterparty are drawn as";
    run.says(folded);
    let page = sample.read("h.html");
    assert!(page.contains("https://example.org/0x502"), "{page}");
    // The table has every address.
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let drawn = data["arrows"].as_array().unwrap().len();
    assert!(drawn < rows(&sample.read("h.csv")).len(), "{drawn}");
    assert!(!run.stderr.contains("changes nothing"), "{run:?}");
    let run = sample.ok(&format!("graph -r {HUB} --fold 2 -o n.csv"));
    run.says("--fold changes nothing: no picture is written");
    let run = sample.ok(&format!("graph -r {HUB} --columns value -o n.dot"));
    run.says("--columns changes nothing: no table is written");
    for (options, message) in [
        ("--fold some", "invalid fold `some`"),
        ("--link example.org", "`example.org` is not a link"),
    ] {
        sample.fails(&format!("graph -r {HUB} {options} -o x.html"), 2, message);
    }
}

#[test]
fn limits_are_reported() {
    let sample = Sample::small();
    std::fs::write(
        sample.path("stop.csv"),
        format!("address,label\n{HUB},\"Big, hub\"\n"),
    )
    .unwrap();
    let run = sample.ok(
        "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -d both -n 3 --max-degree 2 -f json",
    );
    run.says("hubs with more than 2 counterparties");
    let json = run.json();
    run.prints("\"hub\"");
    assert_eq!(json["metadata"]["limits"][0]["kind"], "max_degree");

    // From an address that paid the hub, to the hub, and no further.
    let payer = "0x11c6022d46937603aac0a66efab5b8ad75dc8dda";
    sample
        .ok(&format!("graph -r {payer} -n 2 --stop-at stop.csv -f json"))
        .says("not expanded: 1 address of the stop list")
        .prints("Big, hub");

    let run = sample.ok(&format!("graph -r {HUB} -d both --max-edges 3"));
    assert_eq!(run.rows().len(), 3);
    run.says("limit of 3 transfers reached");
}

#[test]
fn roots_and_tokens_come_from_files() {
    let sample = Sample::small();
    std::fs::write(sample.path("roots.txt"), format!("# who\n{ROOT}\n")).unwrap();
    std::fs::write(
        sample.path("tokens.csv"),
        "address,symbol\n0xd601451207128971898aab8654521699f35222e2,USD6\n",
    )
    .unwrap();
    let listed = sample
        .ok("graph -q -r @roots.txt -t @tokens.csv -n all")
        .stdout;
    assert_eq!(listed, sample.ok(&format!("graph -q {TRACE}")).stdout);
}

#[test]
fn merged_edges_add_up() {
    let sample = Sample::small();
    let single = sample.rows(&format!("graph -q {TRACE}"));
    let run = sample.ok(&format!("graph -q {TRACE} --merge -f jsonl"));
    let merged: Vec<Value> = run
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let count: u64 = merged
        .iter()
        .map(|edge| edge["count"].as_u64().unwrap())
        .sum();
    assert_eq!(count, single.len() as u64);
}

#[test]
fn vertices_alone_on_stdout_have_the_format() {
    let sample = Sample::small();
    let line = "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -q --vertices -";
    assert_eq!(sample.rows(&format!("{line} -f csv")), sample.rows(line));
    let lines = sample.ok(&format!("{line} -f jsonl")).stdout;
    assert!(
        lines.lines().all(|it| it.starts_with("{\"id\":")),
        "{lines}"
    );
    sample.fails(&format!("{line} -f svg"), 2, "unknown table format");
}

/// Transfers that cannot have passed on what the root sent are counted.
#[test]
fn transfers_before_an_arrival_are_noted() {
    let sample = Sample::small();
    let line = "graph -r 0xd7c2a46d7ceb859cef23ac4d5102723f805cc7a4 -n 3";
    let note = "24 transfers left their senders before the tokens arrived there";
    sample.ok(&format!("{line} -o all.csv")).says(note);
    let run = sample.ok(&format!("{line} --time-respecting -o timely.csv"));
    assert!(!run.stderr.contains("before the tokens arrived"), "{run:?}");
}
