//! Executors with damaged or missing data, a full disk, or little time: the right result, or an error
//! that names the cause.

use crate::{
    answers::build_lake,
    harness::{Cluster, TRANSFERS},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use txgraph_testkit::fixtures;

#[test]
fn pruned_chunks_are_named_with_the_executor() {
    let names = ["dev-v2", "pruned/dev-v2-distance"];
    let [Some(full), Some(pruned)] = names.map(fixtures::fixture) else {
        return;
    };
    // The last executor gives no rows for blocks before 500, whichever one describes the chain.
    let cluster = Cluster::start(&[Some(full.path()), Some(pruned.path())]);
    cluster.configure("chunks = 40");
    let found = cluster.ask(&format!("{TRANSFERS} --blocks 300:700"));
    assert_eq!(found.status, 3, "{found:?}\n{}", cluster.logs());
    assert_eq!(found.stdout, "");
    found.says("executor ");
    found.says("not available");

    cluster.ok(&format!("{TRANSFERS} --blocks 600:700"));
}

#[test]
fn damaged_parquet_files_are_named() {
    let [_, v2] = fixtures::committed();
    let cluster = Cluster::start(&[None, None]);
    let folder = cluster.folder.path();
    build_lake(folder, v2.path());
    let line = format!("{TRANSFERS} --source lake:x.lake");
    let whole = cluster.ok(&line);
    let file = largest_file(&folder.join("x.lake"), "parquet");
    let bytes = fs::read(&file).unwrap();

    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    let truncated = bytes[..middle].to_vec();
    for damaged in [flipped, truncated] {
        fs::write(&file, damaged).unwrap();
        let found = cluster.ask(&line).refused(1);
        let name = file.file_name().unwrap().to_str().unwrap();
        found.says(name);
    }
    fs::write(&file, bytes).unwrap();
    assert_eq!(cluster.ok(&line).stdout, whole.stdout);
}

/// The largest file with an extension.
fn largest_file(folder: &Path, extension: &str) -> PathBuf {
    let files = fixtures::files_below(folder).into_iter();
    let files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
    files
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap()
}

#[test]
fn a_full_disk_is_named_or_avoided() {
    let (v2, mut cluster) = Cluster::small(1);
    let expected = cluster.ok(TRANSFERS);
    // A file system with room for no file, where the rows of the run go.
    let folder = cluster.folder.path().join("run");
    if !cluster.add_with_own(Some(v2.path()), &folder, "size=64k,nr_inodes=2") {
        return;
    }
    cluster.wait(2);
    // Many chunks, so that both executors have some.
    cluster.configure("chunks = 40");
    let found = cluster.ask(&format!("{TRANSFERS} --run run"));
    if found.status == 0 {
        assert_eq!(found.stdout, expected.stdout);
    } else {
        assert_eq!(found.status, 1, "{found:?}");
        assert_eq!(found.stdout, "");
        found.says("No space left");
    }
    let log = fs::read_to_string(&cluster.executors[1].log).unwrap();
    let noticed = log.contains("No space left") || found.stderr.contains("No space left");
    assert!(noticed, "the disk was not full: {log}");

    cluster.executors[1].kill();
    cluster.wait(1);
    assert_eq!(cluster.ok(TRANSFERS).stdout, expected.stdout);
}

#[test]
fn a_folder_that_hosts_do_not_share_is_named() {
    let [_, v2] = fixtures::committed();
    let mut cluster = Cluster::start(&[]);
    let folder = cluster.folder.path().join("run");
    if !cluster.add_with_own(Some(v2.path()), &folder, "size=64m") {
        return;
    }
    cluster.wait(1);
    let found = cluster.ask(&format!("{TRANSFERS} --run run")).refused(1);
    found.says("executor ");
    found.says("same path on all hosts");
}

#[test]
fn a_slow_executor_delays_the_answer() {
    let (_v2, cluster) = Cluster::small(2);
    cluster.configure("chunks = 40");
    let expected = [cluster.ok(TRANSFERS), cluster.ok("motifs")];
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // It runs for a tenth of the time, and its heartbeats are in time.
            while !done.load(Ordering::Relaxed) {
                cluster.executors[1].signal("-STOP");
                thread::sleep(Duration::from_millis(450));
                cluster.executors[1].signal("-CONT");
                thread::sleep(Duration::from_millis(50));
            }
        });
        let answers = [TRANSFERS, "motifs"].map(|line| cluster.ask(line));
        done.store(true, Ordering::Relaxed);
        for (found, expected) in answers.iter().zip(&expected) {
            assert_eq!(found.status, 0, "{found:?}\n{}", cluster.logs());
            assert_eq!(found.stdout, expected.stdout);
        }
    });
}
