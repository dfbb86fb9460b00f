//! Builds and updates killed at random moments.

use crate::support::{Reference, ask, assert_same, everything, node, open, options, range};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    env,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_index::{BuildOptions, Indexed, build, update, verify};

/// The number of kills. Before a release: `TXGRAPH_KILLS=200`.
const KILLS: u32 = 20;

const CHAIN: &str = "TXGRAPH_TEST_INDEX_CHAIN";
const PLACE: &str = "TXGRAPH_TEST_INDEX_PLACE";
const LAST: &str = "TXGRAPH_TEST_INDEX_LAST";

fn small_steps(last: u64) -> BuildOptions {
    BuildOptions {
        last_block: Some(last),
        ..options(64)
    }
}

/// Not a test: the process that is killed.
#[test]
fn victim() {
    let (Some(chain), Some(place)) = (env::var_os(CHAIN), env::var_os(PLACE)) else {
        return;
    };
    let last: u64 = env::var(LAST).unwrap().parse().unwrap();
    let (node, place) = (node(Path::new(&chain)), Path::new(&place));
    // Small steps, so that a kill nearly always interrupts a write.
    for last in (0..=last).step_by(45).chain([last]) {
        build(place, &node, &small_steps(last)).unwrap();
    }
}

fn start(chain: &Path, place: &Path, last: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "killed::victim",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHAIN, chain)
        .env(PLACE, place)
        .env(LAST, last.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_builds_leave_a_valid_index_and_can_continue() {
    let kills = env::var("TXGRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(3, Layout::V2)).unwrap();
    let blocks = 900;
    appender.append(blocks).unwrap();
    drop(appender);
    let node = node(chain.path());
    let reference = Reference::of(&node);

    // The duration without a kill.
    let place = tempfile::tempdir().unwrap();
    let began = Instant::now();
    assert!(
        start(chain.path(), place.path(), blocks)
            .wait()
            .unwrap()
            .success()
    );
    let time = began.elapsed();

    let mut chance = SmallRng::seed_from_u64(13);
    let mut place = tempfile::tempdir().unwrap();
    let (mut midway, mut finished) = (0, 0);
    for kill in 0..kills {
        let mut child = start(chain.path(), place.path(), blocks);
        thread::sleep(Duration::from_secs_f64(
            time.as_secs_f64() * chance.random_range(0.0..1.0),
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        if !place.path().join("MANIFEST").exists() {
            continue;
        }
        let index = open(place.path(), &node);
        let done = index.blocks().span().map(|span| span.last);
        let request = everything(range(0, blocks));
        let (found, _) = ask(&Indexed::new(&index, &node), &request).unwrap();
        assert_same(&found, &reference.all, "after a kill");
        verify(&index, &node, kill % 5 != 0).unwrap();
        match done {
            Some(last) if last == blocks => finished += 1,
            Some(_) => midway += 1,
            None => {}
        }
        // Most continue the index, and some start again.
        if done == Some(blocks) || kill % 7 == 6 {
            update(place.path(), &node, &small_steps(blocks)).unwrap();
            let index = open(place.path(), &node);
            assert_eq!(index.blocks(), range(0, blocks).into());
            verify(&index, &node, false).unwrap();
            place = tempfile::tempdir().unwrap();
        }
    }
    assert!(
        midway + finished > 0 && midway > 0,
        "{midway} midway, {finished} finished"
    );
    build(place.path(), &node, &small_steps(blocks)).unwrap();
    let index = open(place.path(), &node);
    verify(&index, &node, false).unwrap();
    // No unfinished files are left.
    let files = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(files, index.segments().len() + 2, "manifest and lock");
}
