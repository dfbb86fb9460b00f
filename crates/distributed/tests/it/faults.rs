//! Clusters that cannot answer, or lose processes, give the right result or a precise error.

use crate::harness::{Cluster, ROOT, TRANSFERS, driver, free_port, ok, run};
use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use txgraph_testkit::{fixtures, or_skip};

#[test]
fn a_scheduler_that_does_not_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("graph -r {ROOT} --cluster 127.0.0.1:1 --run run");
    let found = run(&mut driver(folder.path(), &line)).ended(1);
    found.says("scheduler 127.0.0.1:1");
}

#[test]
fn an_executor_without_a_free_port_is_an_error() {
    let cluster = Cluster::start(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let free = free_port();
    for (port, grpc_port, named) in [(port, free, port), (free, port, port), (free, free, free)] {
        let mut executor = Command::new(env!("CARGO_BIN_EXE_txgraph-executor"));
        executor
            .args(["--scheduler", &cluster.address(), "--work-dir"])
            .arg(cluster.folder.path())
            .args(["--port", &port.to_string()])
            .args(["--grpc-port", &grpc_port.to_string()]);
        let found = run(&mut executor).ended(2);
        let message = format!("cannot listen on 127.0.0.1:{named}");
        found.says(&message);
    }
    cluster.wait(0);
}

#[test]
fn an_executor_whose_source_cannot_be_opened_is_an_error() {
    let cluster = Cluster::start(&[]);
    let mut executor = Command::new(env!("CARGO_BIN_EXE_txgraph-executor"));
    executor
        .args(["--scheduler", &cluster.address(), "--work-dir"])
        .arg(cluster.folder.path())
        .args(["--port", &free_port().to_string()])
        .args(["--grpc-port", &free_port().to_string()])
        .args(["--source", "/nonexistent"]);
    let found = run(&mut executor).ended(2);
    found.says("/nonexistent");
    cluster.wait(0);
}

/// Ranges of dates end with the chain, as without a cluster; statements say which blocks they read.
#[test]
fn blocks_are_those_of_the_chain_and_stated() {
    let (v2, cluster) = Cluster::small(1);
    let line = "transfers --since 2020-01-01 --until 2030-01-01 --format csv -o -";
    let local = format!("{line} --datadir {}", v2.path().display());
    let expected = ok(cluster.folder.path(), &local);
    let found = cluster.ok(line);
    assert_eq!(found.stdout, expected.stdout);
    let cut = "the blocks end with block 40";
    found.says(cut);
    expected.says(cut);

    let output = cluster.folder.path().join("tokens.csv");
    let found = cluster.ok(&format!("tokens --to-block 9 -o {}", output.display()));
    found.says("blocks 0:10 (10 blocks)");
    let mode = fs::metadata(&output).unwrap().permissions().mode();
    assert_eq!(mode & 0o400, 0o400);
    assert_eq!(mode & 0o044, 0o044 & !umask(), "{mode:o}");
}

/// The bits that new files of this process do not get.
fn umask() -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    !fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_source_of_this_machine_is_refused() {
    let (v2, cluster) = Cluster::small(1);
    let found = cluster
        .ask(&format!(
            "graph -r {ROOT} --datadir {}",
            v2.path().display()
        ))
        .ended(2);
    found.says("`executors:`");
}

#[test]
fn executors_without_a_source_are_named() {
    let cluster = Cluster::start(&[None]);
    let found = cluster.ask(&format!("graph -r {ROOT}")).ended(2);
    found.says("executor ");
    found.says("no source is named");
}

#[test]
fn missing_blocks_are_named_with_the_executor() {
    let (v2, cluster) = Cluster::small(1);
    let found = cluster
        .ask("transfers --blocks 0:100000 --format csv")
        .refused(3);
    found.says("executor ");
    found.says("not available");

    let local = format!(
        "transfers -q --blocks 0:1000 --allow-partial --format jsonl --datadir {}",
        v2.path().display()
    );
    let expected = run(&mut driver(cluster.folder.path(), &local));
    let found = cluster.ok("transfers -q --blocks 0:1000 --allow-partial --format jsonl");
    assert_eq!(found.stdout, expected.stdout);
}

#[test]
fn an_executor_of_another_chain_fails_the_job() {
    let [_, v2] = fixtures::committed();
    let other = or_skip!(fixtures::fixture("dev-v2"));
    let cluster = Cluster::start(&[Some(v2.path()), Some(other.path())]);
    // Whichever executor describes the chain, the other one has a part of the chunks.
    cluster.configure("chunks = 30");
    let found = cluster.ask("transfers -q --blocks 0:30 --format csv");
    assert_eq!(found.status, 2, "{found:?}\n{}", cluster.logs());
    found.says("is of chain");
    found.says("executor ");
    assert_eq!(found.stdout, "");
}

#[test]
fn an_executor_that_hangs_is_replaced() {
    let (_v2, cluster) = Cluster::small(2);
    let expected = cluster.ok(TRANSFERS);
    cluster.executors[0].signal("-STOP");
    let found = cluster.ok(TRANSFERS);
    assert_eq!(found.stdout, expected.stdout);
    cluster.executors[0].signal("-CONT");
    cluster.wait(2);
    assert_eq!(cluster.ok(TRANSFERS).stdout, expected.stdout);
}

#[test]
fn an_executor_that_dies_is_replaced() {
    let (v2, mut cluster) = Cluster::small(2);
    let expected = cluster.ok(TRANSFERS);
    cluster.executors[0].kill();
    // The scheduler does not know yet.
    let found = cluster.ok(TRANSFERS);
    assert_eq!(found.stdout, expected.stdout);
    cluster.wait(1);
    cluster.add(Some(v2.path()));
    cluster.wait(2);
    let found = cluster.ok(TRANSFERS);
    assert_eq!(found.stdout, expected.stdout);
}

#[test]
fn a_scheduler_that_comes_back_answers() {
    let (_v2, mut cluster) = Cluster::small(1);
    let expected = cluster.ok(TRANSFERS);
    cluster.scheduler.kill();
    cluster.ask(TRANSFERS).refused(1);
    cluster.restart_scheduler();
    cluster.wait(1);
    assert_eq!(cluster.ok(TRANSFERS).stdout, expected.stdout);
}

#[test]
fn a_dead_executor_does_not_stop_new_queries() {
    let [_, v2] = fixtures::committed();
    // The scheduler would not notice by itself before the test ends.
    let mut cluster = Cluster::start_with(&[Some(v2.path()), Some(v2.path())], 600, None);
    let expected = cluster.ok(TRANSFERS);
    cluster.executors[0].kill();
    let found = cluster.ok(TRANSFERS);
    assert_eq!(found.stdout, expected.stdout);
}

#[test]
fn an_executor_waits_for_its_scheduler() {
    let [_, v2] = fixtures::committed();
    let mut cluster = Cluster::start(&[]);
    cluster.scheduler.kill();
    cluster.add(Some(v2.path()));
    let log = cluster.executors[0].log.clone();
    let end = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&log).unwrap().contains("waiting for it") {
        assert!(Instant::now() < end, "{}", cluster.logs());
        thread::sleep(Duration::from_millis(100));
    }
    cluster.restart_scheduler();
    cluster.wait(1);
    cluster.ok(TRANSFERS);
}
