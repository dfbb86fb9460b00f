//! A chain with more rows and more chunks than two executors hold at a time.
//!
//! `TXGRAPH_CLUSTER_CHAIN` names a data directory of a sample chain; `scripts/test-cluster.sh large`
//! writes one. Without it, the test says that it is skipped.

use crate::{
    harness::{Cluster, driver, run, settings},
    sql,
};
use std::path::PathBuf;

#[test]
fn large_chains_have_the_same_answers() {
    let Some(chain) = std::env::var_os("TXGRAPH_CLUSTER_CHAIN").map(PathBuf::from) else {
        println!("skipped: TXGRAPH_CLUSTER_CHAIN names no data directory");
        return;
    };
    let cluster = Cluster::start(&[Some(&chain), Some(&chain)]);
    let folder = cluster.folder.path();
    let path = settings(folder, "local-frontier = 0\nchunks = 64");
    let local = format!("--datadir {} --index off", chain.display());
    let some = format!("transfers -q --blocks 1000:1100 --kind transfer --format csv -o - {local}");
    let some = run(&mut driver(folder, &some));
    let lines: Vec<_> = some.stdout.lines().collect();
    let cells: Vec<_> = lines[lines.len() / 2].split(',').collect();
    let (token, root) = (cells[6], cells[7]);
    let mut rows = 0;
    for line in [
        "transfers -q --format csv -o -".to_owned(),
        format!("graph -q -r {root} -n 3 -t {token} --format csv -o -"),
        format!("graph -q -r {root} -n 3 -d in -t {token} --max-degree 50 --format csv -o -"),
        format!("graph -q -r {root} -n 3 -t {token} --time-respecting --format csv -o -"),
        "analyze components -q --format json".to_owned(),
        "analyze degrees -q --format json".to_owned(),
    ] {
        let expected = run(&mut driver(folder, &format!("{line} {local}")));
        assert_eq!(expected.status, 0, "{line}: {expected:?}");
        let mut command = cluster.driver(&line);
        let found = run(command.env("TXGRAPH_CLUSTER_CONFIG", &path));
        assert_eq!(found.status, 0, "{line}: {found:?}\n{}", cluster.logs());
        assert!(found.stdout == expected.stdout, "{line}");
        rows += found.stdout.lines().count();
    }
    println!("{rows} rows compared");
    sql::check(&cluster, "", &local);

    let mut build = driver(folder, "lake build -q large.lake");
    let built = run(build.arg("--datadir").arg(&chain));
    assert_eq!(built.status, 0, "{built:?}");
    sql::check(&cluster, "--source lake:large.lake", &local);
}
