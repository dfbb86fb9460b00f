//! Seeded kills of processes in the middle of a query: each ends with the right result or an
//! error, and leaves nothing that a continued run would trust wrongly.

use crate::harness::{Cluster, ROOT, Run, driver, run};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};
use txgraph_testkit::fixtures;

/// The number of kills; `TXGRAPH_KILLS` sets another one.
const KILLS: u64 = 9;

/// The process to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Executor,
    Driver,
    Scheduler,
}

#[test]
fn killed_processes_leave_no_wrong_answer() {
    let kills = std::env::var("TXGRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let fixture = fixtures::fixture("dev-v2");
    let [_, small] = fixtures::committed();
    let (source, root) = match &fixture {
        Some(fixture) => (fixture.path(), sender(fixture.path())),
        None => (small.path(), ROOT.to_owned()),
    };
    let mut cluster = Cluster::start(&[Some(source), Some(source)]);
    let queries = [
        format!("graph -q -r {root} -n 3 --format csv -o -"),
        "motifs".to_owned(),
        "analyze components -q --format json".to_owned(),
        "sql -q @pairs.sql".to_owned(),
    ];
    let pairs = "SELECT a.kind, count(*), count(DISTINCT b.to_address) FROM transfers a \
                 JOIN transfers b ON a.to_address = b.from_address GROUP BY a.kind ORDER BY 1";
    fs::write(cluster.folder.path().join("pairs.sql"), pairs).unwrap();
    // Small chunks, so that there is always something to lose.
    cluster.configure("chunks = 60\nstall-seconds = 20");
    let mut answers = Vec::new();
    for line in &queries {
        let start = Instant::now();
        let whole = cluster.ok(line);
        answers.push((whole.stdout, start.elapsed()));
    }
    let mut outcomes = [0; 2];
    for seed in 0..kills {
        let mut chance = SmallRng::seed_from_u64(seed);
        let victim = [Victim::Executor, Victim::Driver, Victim::Scheduler][(seed % 3) as usize];
        let which = chance.random_range(0..queries.len());
        let (expected, time) = &answers[which];
        let moment = Duration::from_secs_f64(time.as_secs_f64() * chance.random_range(0.0..1.0));
        let folder = format!("run-{seed}");
        let what = format!("seed {seed}: {victim:?} after {moment:?} of {time:?}");

        let mut command = cluster.driver(&queries[which]);
        command.args(["--run", &folder]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(moment);
        let executor = chance.random_range(0..cluster.executors.len());
        match victim {
            Victim::Executor => cluster.executors[executor].kill(),
            Victim::Driver => child.kill().unwrap(),
            Victim::Scheduler => cluster.scheduler.kill(),
        }
        let found = Run::new(what.clone(), child.wait_with_output().unwrap());
        if found.status == 0 {
            assert_eq!(&found.stdout, expected, "{what}");
            outcomes[0] += 1;
        } else {
            if victim == Victim::Driver {
                assert_eq!(found.status, -1, "{what}: {found:?}");
            } else {
                assert_eq!(found.status, 1, "{what}: {found:?}");
                found.says("error: ");
            }
            outcomes[1] += 1;
        }
        match victim {
            Victim::Executor => cluster.replace_executor(executor, Some(source)),
            Victim::Driver => {}
            Victim::Scheduler => cluster.restart_scheduler(),
        }
        cluster.wait(2);
        // The run is continued, or answers again from its steps.
        let place = cluster.folder.path();
        let resumed = match found.status {
            // A driver that was killed early has no run.
            -1 if !place.join(&folder).join("run.json").exists() => cluster.ask(&queries[which]),
            _ => run(&mut driver(place, &format!("runs resume {folder}"))),
        };
        assert_eq!(resumed.status, 0, "{what}: {resumed:?}\n{}", cluster.logs());
        assert_eq!(&resumed.stdout, expected, "{what}");
    }
    println!(
        "{kills} kills: {} answered, {} failed and were continued",
        outcomes[0], outcomes[1]
    );
}

/// The sender of a transfer in the middle of a chain.
fn sender(data_directory: &std::path::Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = driver(
        folder.path(),
        "transfers -q --kind transfer --format csv -o -",
    );
    let all = run(command.arg("--datadir").arg(data_directory));
    let lines: Vec<_> = all.stdout.lines().collect();
    let mut cells = lines[lines.len() / 2].split(',');
    cells.nth(7).unwrap().to_owned()
}
