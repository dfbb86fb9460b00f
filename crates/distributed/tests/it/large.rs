//! A chain with more rows and more chunks than two executors hold at a time.
//!
//! `TXGRAPH_CLUSTER_CHAIN` names a data directory of a sample chain; `scripts/test-cluster.sh large`
//! writes one. Without it, the test says that it is skipped.

use crate::{
    harness::{Cluster, Process, TRANSFERS, driver, ok, run},
    runs, sql,
};
use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// The chain, if there is one.
fn chain() -> Option<PathBuf> {
    let chain = std::env::var_os("TXGRAPH_CLUSTER_CHAIN").map(PathBuf::from);
    if chain.is_none() {
        println!("skipped: TXGRAPH_CLUSTER_CHAIN names no data directory");
    }
    chain
}

#[test]
fn large_chains_have_the_same_answers() {
    let Some(chain) = chain() else { return };
    let cluster = Cluster::start(&[Some(&chain), Some(&chain)]);
    let folder = cluster.folder.path();
    cluster.configure("local-frontier = 0\nchunks = 64");
    let local = format!("--datadir {} --index off", chain.display());
    let some = format!("transfers -q --blocks 1000:1100 --kind transfer --format csv -o - {local}");
    let some = run(&mut driver(folder, &some));
    let lines: Vec<_> = some.stdout.lines().collect();
    let cells: Vec<_> = lines[lines.len() / 2].split(',').collect();
    let (token, root) = (cells[6], cells[7]);
    let mut rows = 0;
    for line in [
        TRANSFERS.to_owned(),
        format!("graph -q -r {root} -n 3 -t {token} --format csv -o -"),
        format!("graph -q -r {root} -n 3 -d in -t {token} --max-degree 50 --format csv -o -"),
        format!("graph -q -r {root} -n 3 -t {token} --time-respecting --format csv -o -"),
        "analyze components -q --format json".to_owned(),
        "analyze degrees -q --format json".to_owned(),
        "analyze summary -q --format json".to_owned(),
        "analyze pairs -q --limit 100 --format json".to_owned(),
    ] {
        let expected = ok(folder, &format!("{line} {local}"));
        let found = cluster.ok(&line);
        assert!(found.stdout == expected.stdout, "{line}");
        rows += found.stdout.lines().count();
    }
    println!("{rows} rows compared");
    cluster.configure("");
    runs::check_received(&cluster);
    sql::check(&cluster, "", &local);

    let mut build = driver(folder, "lake build -q large.lake --reorg-buffer 0");
    run(build.arg("--datadir").arg(&chain)).ended(0);
    sql::check(&cluster, "--source lake:large.lake", &local);
}

/// The addresses of the large frontier.
const FRONTIER: usize = 1_000_000;
/// The limit for the memory of an executor, in KiB.
const MEMORY_KIB: u64 = 2 << 20;

#[test]
fn large_frontiers_and_hubs_need_little_memory() {
    let Some(chain) = chain() else { return };
    let cluster = Cluster::start(&[Some(&chain), Some(&chain)]);
    let folder = cluster.folder.path();
    let local = format!("--datadir {} --index off", chain.display());
    let all = folder.join("all.csv");
    let line = format!("transfers -q --format csv {local} --output");
    run(driver(folder, &line).arg(&all)).ended(0);
    let hub = write_roots(&all, &folder.join("roots.txt"));

    for line in [
        "graph -q -r @roots.txt -n 1 --format csv -o -".to_owned(),
        format!("graph -q -r {hub} -d both -n 1 --format csv -o -"),
    ] {
        let expected = ok(folder, &format!("{line} {local}"));
        let found = cluster.ask(&line).ended(0);
        assert!(found.stdout == expected.stdout, "{line}");
        let peaks: Vec<_> = cluster.executors.iter().map(Process::peak_kib).collect();
        let rows = found.stdout.lines().count();
        println!("{line}: {rows} rows, executors had at most {peaks:?} KiB");
        assert!(peaks.iter().all(|peak| *peak < MEMORY_KIB), "{peaks:?}");
    }
    println!("scheduler: {} KiB", cluster.scheduler.peak_kib());
}

/// Writes a frontier: addresses of transfers, and others that have none. Returns the address that
/// has the most transfers.
fn write_roots(transfers: &Path, to: &Path) -> String {
    let text = fs::read_to_string(transfers).unwrap();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for line in text.lines().skip(1) {
        for end in line.split(',').skip(7).take(2) {
            *counts.entry(end).or_default() += 1;
        }
    }
    let zero = format!("0x{}", "0".repeat(40));
    counts.remove(zero.as_str());
    let mut roots = String::new();
    for address in counts.keys().take(FRONTIER) {
        writeln!(roots, "{address}").unwrap();
    }
    for other in counts.len()..FRONTIER {
        writeln!(roots, "0xffffffff{other:032x}").unwrap();
    }
    fs::write(to, roots).unwrap();
    let most = counts.iter().max_by_key(|(_, count)| **count).unwrap();
    (*most.0).to_owned()
}
