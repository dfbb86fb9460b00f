//! Builds, appends and compactions killed at random moments.

use crate::support::{
    Reference, ask, assert_same, assert_tidy, everything, node, open, options, range, source, work,
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    env,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_lake::{BuildOptions, append, build, check, compact, verify};
use txgraph_transfers::ScanRequest;

/// The number of kills. Before a release: `TXGRAPH_KILLS=200`.
const KILLS: u32 = 12;

const BLOCKS: u64 = 500;
const CHAIN: &str = "TXGRAPH_TEST_LAKE_CHAIN";
const PLACE: &str = "TXGRAPH_TEST_LAKE_PLACE";

fn until(last: u64) -> BuildOptions {
    BuildOptions {
        last_block: Some(last),
        ..options(64)
    }
}

/// Not a test: the process that is killed. It builds, appends in small steps and compacts.
#[test]
fn victim() {
    let (Some(chain), Some(place)) = (env::var_os(CHAIN), env::var_os(PLACE)) else {
        return;
    };
    let (node, place) = (node(Path::new(&chain)), Path::new(&place));
    build(place, &node, &until(130)).unwrap();
    for last in (140..=BLOCKS).step_by(20) {
        append(place, &node, &until(last)).unwrap();
        if last % 60 == 0 {
            compact(place, &work()).unwrap();
        }
    }
    append(place, &node, &until(BLOCKS)).unwrap();
    compact(place, &work()).unwrap();
}

fn start(chain: &Path, place: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "killed::victim",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHAIN, chain)
        .env(PLACE, place)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_writers_leave_a_valid_lake_and_can_continue() {
    let kills = env::var("TXGRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(3, Layout::V2)).unwrap();
    appender.append(BLOCKS).unwrap();
    drop(appender);
    let node = node(chain.path());
    let reference = Reference::of(&node);

    // The duration without a kill.
    let place = tempfile::tempdir().unwrap();
    let began = Instant::now();
    assert!(start(chain.path(), place.path()).wait().unwrap().success());
    let time = began.elapsed();
    assert_tidy(place.path());

    let mut chance = SmallRng::seed_from_u64(13);
    let mut place = tempfile::tempdir().unwrap();
    let (mut midway, mut finished) = (0, 0);
    for kill in 0..kills {
        let mut child = start(chain.path(), place.path());
        thread::sleep(Duration::from_secs_f64(
            time.as_secs_f64() * chance.random_range(0.0..1.0),
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        if !place.path().join("manifest.json").exists() {
            continue;
        }
        let lake = open(place.path());
        let last = lake.blocks().span().map(|span| span.last);
        let request = ScanRequest {
            blocks: lake.blocks().clone(),
            ..everything(range(0, 0))
        };
        let (found, _) = ask(&source(&lake), &request).unwrap();
        assert_same(&found, &reference.answer(&request), "after a kill");
        match kill % 5 {
            0 => verify(&lake, &node).unwrap(),
            _ => check(&lake, &work()).unwrap(),
        };
        match last {
            Some(BLOCKS) => finished += 1,
            Some(_) => midway += 1,
            None => {}
        }
        // An open lake keeps replaced partitions.
        drop(lake);
        // Most continue the lake, and some start again.
        if last == Some(BLOCKS) || kill % 7 == 6 {
            append(place.path(), &node, &until(BLOCKS)).unwrap();
            compact(place.path(), &work()).unwrap();
            assert_tidy(place.path());
            let lake = open(place.path());
            assert_eq!(*lake.blocks(), range(0, BLOCKS).into());
            verify(&lake, &node).unwrap();
            place = tempfile::tempdir().unwrap();
        }
    }
    assert!(midway > 0, "{midway} midway, {finished} finished");
    build(place.path(), &node, &until(BLOCKS)).unwrap();
    compact(place.path(), &work()).unwrap();
    verify(&open(place.path()), &node).unwrap();
    assert_tidy(place.path());
}
