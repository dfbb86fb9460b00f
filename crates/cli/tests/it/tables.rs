//! Tables and trees for people.

use crate::{
    harness::{CHAIN, HUB, ROOT, Row, Run, Sample, USD6, rows},
    pty::run_in_terminal,
};
use std::collections::{BTreeMap, BTreeSet};
use txgraph::Measure;

const WIDTHS: [u16; 3] = [80, 120, 200];

fn seen(sample: &Sample, line: &str, columns: u16) -> Run {
    let mut command = sample.command();
    command.args(line.split_whitespace());
    run_in_terminal(command, columns).ended(0)
}

/// The queries whose answers are tables on a terminal.
fn queries() -> [String; 5] {
    [
        "transfers -b 10:20".to_owned(),
        format!("graph -r {ROOT} -n 3"),
        format!("graph -r {HUB} -d both --merge"),
        format!("graph -r {ROOT} -n all -t 0xd601451207128971898aab8654521699f35222e2"),
        format!("query trace-token-out --set root={ROOT}"),
    ]
}

fn body(page: &str) -> Vec<&str> {
    let lines = page.lines().skip_while(|line| !line.starts_with('╞'));
    let lines = lines.skip(1).take_while(|line| line.starts_with('│'));
    lines.collect()
}

#[test]
fn a_terminal_gets_tables_that_fit_and_a_pipe_gets_csv() {
    let sample = Sample::small();
    for line in queries() {
        let piped = sample.ok(&line).stdout;
        assert_eq!(piped, sample.ok(&format!("{line} --format csv")).stdout);
        let expected = rows(&piped).len();
        for width in WIDTHS {
            let page = seen(&sample, &line, width).stdout;
            assert_eq!(body(&page).len(), expected, "{line} {width}: {page}");
            let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width), "{line} {width}: {page}");
        }
        // Data goes to a terminal only if it is asked for.
        let csv = seen(&sample, &format!("{line} --format csv"), 80).stdout;
        assert_eq!(csv, piped);
        let csv = seen(&sample, &format!("{line} --output -"), 80).stdout;
        assert_eq!(csv, piped);
    }
}

/// Every short address of a table stands for one address of the result.
#[test]
fn short_addresses_differ() {
    let sample = Sample::small();
    for line in ["transfers", &format!("graph -r {HUB} -n 2 -d both")] {
        let all = sample.rows(line);
        let addresses: BTreeSet<&String> = all
            .iter()
            .take(1000)
            .flat_map(|row| {
                [
                    &row["from_address"],
                    &row["to_address"],
                    &row["token_address"],
                ]
            })
            .collect();
        let page = seen(&sample, &format!("{line} --format table"), 200).stdout;
        let words = page.split_whitespace().filter(|word| word.contains('…'));
        // Symbols that two tokens have are followed by their addresses.
        let words = words.map(|word| word.trim_matches(['(', ')']));
        let short: BTreeSet<String> = words.map(str::to_lowercase).collect();
        assert!(short.len() > 20, "{page}");
        for word in short {
            let (begin, end) = word.split_once('…').unwrap();
            let found = addresses
                .iter()
                .filter(|address| address.starts_with(begin) && address.ends_with(end));
            assert_eq!(found.count(), 1, "{word}");
        }
    }
}

/// Addresses are copied from pipes.
#[test]
fn addresses_in_pipes_are_whole() {
    let sample = Sample::small();
    for line in [
        "transfers -f table".to_owned(),
        "transfers --malformed".to_owned(),
        format!("graph -r {HUB} -n 2 -d both -f table --merge"),
        format!("graph -r {ROOT} -n 3 -f tree"),
    ] {
        let page = sample.ok(&line).stdout;
        assert!(page.contains("0x") && !page.contains('…'), "{line}: {page}");
    }
}

/// Tables name transactions as commands read them.
#[test]
fn tables_name_transactions_by_block_and_index() {
    let sample = Sample::small();
    for line in [
        "transfers --malformed".to_owned(),
        "transfers -b 10:20 -f table".to_owned(),
        format!("analyze taint -r {ROOT} -n all --table ledger -f table"),
        format!("analyze taint -r {ROOT} -n all --table ledger -f table --method execution"),
    ] {
        let page = sample.ok(&line).stdout;
        assert!(
            page.contains(" date ") || page.contains(" block timestamp "),
            "{line}: {page}"
        );
        assert!(page.contains(" transaction "), "{line}: {page}");
        assert!(
            !page.contains("block number") && !page.contains("transaction index"),
            "{line}: {page}"
        );
        let first = body(&page)[0].split_whitespace();
        let mut named = first.filter(|word| {
            let numbers = word
                .split_once(':')
                .map(|(block, index)| (block.parse::<u64>(), index.parse::<u64>()));
            matches!(numbers, Some((Ok(_), Ok(_))))
        });
        let name = named.next().unwrap_or_else(|| panic!("{line}: {page}"));
        sample.ok(&format!("tx {name}"));
    }
}

#[test]
fn amounts_have_symbols_or_units() {
    let sample = Sample::small();
    // What the token claims.
    let page = sample.ok(&format!("transfers -t {USD6} -f table")).stdout;
    assert!(page.contains(" USD6 "), "{page}");
    assert!(!page.contains("unit"), "{page}");
    std::fs::write(
        sample.path("tokens.csv"),
        format!("address,symbol,decimals\n{USD6},DOLLAR,6\n"),
    )
    .unwrap();
    let line = format!("transfers -t {USD6} -f table --token-list tokens.csv");
    let page = sample.ok(&line).stdout;
    assert!(page.contains(" DOLLAR "), "{page}");
    // A column with one value is in the title.
    let line = format!("transfers -t {USD6} --kind transfer");
    let page = seen(&sample, &line, 120).stdout;
    assert!(page.contains("kind: transfer"), "{page}");
}

/// A tree has every edge once, indented by its hop.
#[test]
fn trees_have_every_edge_at_its_hop() {
    let sample = Sample::small();
    for search in [
        format!("-r {ROOT} -n all"),
        format!("-r {HUB} -n 2 -d in"),
        format!("-r {ROOT} -n 3 -d both --max-degree 20"),
        format!("-r {ROOT},{HUB} -n 2"),
    ] {
        let edges = sample.rows(&format!("graph {search} --merge -f csv"));
        let mut expected: BTreeMap<usize, usize> = BTreeMap::new();
        for edge in &edges {
            *expected.entry(edge["hop"].parse().unwrap()).or_default() += 1;
        }
        let run = sample.ok(&format!("graph {search} --format tree"));
        assert!(
            !run.stderr.contains("stopped after"),
            "{search}: too large for this test"
        );
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for line in run.stdout.lines() {
            let text = line.trim_start_matches(' ');
            if text.starts_with(['→', '←']) {
                *found.entry((line.len() - text.len()) / 2).or_default() += 1;
            }
        }
        assert_eq!(found, expected, "{search}:\n{}", run.stdout);
    }
}

#[test]
fn tables_for_people_go_to_stdout() {
    let sample = Sample::small();
    for line in [
        "transfers -f table -o t.csv".to_owned(),
        format!("graph -r {ROOT} -f tree -o t.txt"),
        "transfers -f table --columns value".to_owned(),
        format!("graph -r {ROOT} -f table --vertices -"),
    ] {
        sample.run(&line).refused(2);
    }
    let line = format!("graph -r {ROOT} -f tree --vertices v.csv");
    assert!(sample.ok(&line).stdout.starts_with("0x4545Aa9C2A6019f5"));
    assert!(sample.read("v.csv").starts_with("id,"));
    // Chosen columns are columns of data.
    let csv = seen(&sample, "transfers -b 10:12 --columns value", 80).stdout;
    assert!(csv.starts_with("value\n"), "{csv}");
}

/// Tables of measures fit, and no ranking becomes a list of its rows.
#[test]
fn measures_fit_the_terminal() {
    let sample = Sample::small();
    for measure in Measure::ALL.iter().filter(|it| **it != Measure::Taint) {
        let line = format!("analyze {measure} -r {HUB} -d both -n 2");
        for width in WIDTHS {
            let page = seen(&sample, &line, width).stdout;
            assert!(!page.contains("─ 1 of"), "{line} {width}: {page}");
            for text in page.lines() {
                let is_row = text.starts_with(['┌', '│', '╞', '└']);
                let chars = text.chars().count();
                assert!(
                    !is_row || chars <= usize::from(width),
                    "{line} {width}: {page}"
                );
            }
        }
    }
    let line = format!("analyze summary -r {HUB}");
    let run = seen(&sample, &line, 120);
    assert_eq!(run.stdout.matches('┌').count(), 3, "{}", run.stdout);
    run.says("by --table NAME: by-hop, ");
    assert_eq!(sample.ok(&line).stdout.matches('┌').count(), 9);
}

#[test]
fn degrees_name_the_hubs() {
    let sample = Sample::small();
    let hubs = sample.rows("analyze degrees -f csv --table hubs");
    let of = |hub: &Row, name: &str| hub[name].parse::<u64>().unwrap();
    let degrees = hubs
        .iter()
        .map(|hub| of(hub, "in_degree") + of(hub, "out_degree"));
    assert!(degrees.is_sorted_by(|a, b| a >= b));
    let stats = sample.rows("analyze degrees -f csv");
    for (line, name) in stats.iter().zip(["in_degree", "out_degree"]) {
        let most = hubs.iter().map(|hub| of(hub, name)).max().unwrap();
        assert_eq!(line["max"], most.to_string(), "{name}");
    }
    let page = sample.ok("analyze degrees --limit 3").stdout;
    assert!(page.to_lowercase().contains(&hubs[0]["address"]), "{page}");
    let top = sample.rows("analyze degrees --limit 3 -f csv --table hubs");
    assert_eq!(top, hubs[..3]);
}

#[test]
fn transfers_of_a_replay_are_a_table() {
    let sample = Sample::small();
    for line in [
        format!("replay transfers -b -10: {CHAIN}"),
        format!("replay transfers --tx 20:3 {CHAIN}"),
    ] {
        let expected = sample.rows(&line);
        let page = seen(&sample, &line, 80).stdout;
        assert_eq!(body(&page).len(), expected.len(), "{line}: {page}");
        assert_eq!(
            body(&sample.ok(&format!("{line} -f table")).stdout).len(),
            expected.len()
        );
    }
    sample
        .run(&format!("replay trace call -f table {CHAIN}"))
        .refused(2);
}
