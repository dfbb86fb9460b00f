//! Writers that are killed at any step.

use crate::{
    again::{again, paths},
    steps,
    stores::Kind,
    support::{chain, node, until},
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{env, fs, path::Path};
use txgraph_chaingen::Profile;
use txgraph_reader::NodeSource;
use txgraph_testkit::queries::{Reference, ask, assert_same, everything, range};
use txgraph_transfers::ScanRequest;

/// The number of kills. Before a release: `TXGRAPH_KILLS=200`.
const KILLS: u64 = 16;

const BLOCKS: u64 = 500;

for_both_stores!(killed_writers_leave_a_valid_store_and_can_continue);

/// Builds, updates in small steps, and settles now and then.
fn write_all(kind: &Kind, place: &Path, node: &NodeSource) {
    (kind.build)(place, node.into(), &until(130, 64)).unwrap();
    for last in (140..=BLOCKS).step_by(20) {
        (kind.update)(place, node.into(), &until(last, 64)).unwrap();
        if last % 60 == 0 || last == BLOCKS {
            kind.settled(place);
        }
    }
}

fn killed_writers_leave_a_valid_store_and_can_continue(kind: &Kind, name: &str) {
    if let Some([chain, place, step]) = paths() {
        steps::end_before(&step);
        write_all(kind, &place, &node(&chain));
        fs::write(chain.join("steps"), steps::done().to_string()).unwrap();
        return;
    }
    let kills = env::var("TXGRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let (folder, node) = chain(Profile::Mainnet, BLOCKS);
    let reference = Reference::of(&node);
    // Whether the writer was finished before this step.
    let write_until = |place: &Path, step: u64| {
        let step = step.to_string();
        let mut child = again(name, &[folder.path(), place, step.as_ref()]);
        child.output().unwrap().status.success()
    };

    // The steps without a kill.
    let mut place = tempfile::tempdir().unwrap();
    assert!(write_until(place.path(), u64::MAX));
    kind.assert_tidy(place.path(), &node);
    let steps = fs::read_to_string(folder.path().join("steps")).unwrap();
    let steps: u64 = steps.parse().unwrap();
    assert!(steps > 300, "{steps}");

    let mut chance = SmallRng::seed_from_u64(13);
    place = tempfile::tempdir().unwrap();
    let (mut midway, mut finished) = (0, 0);
    for kill in 0..kills {
        let is_finished = write_until(place.path(), chance.random_range(1..=steps));
        if !place.path().join(kind.manifest).exists() {
            assert!(!is_finished);
            continue;
        }
        let open = kind.opened(place.path(), &node);
        let last = open.blocks().span().map(|span| span.last);
        let request = ScanRequest {
            blocks: open.answered(BLOCKS),
            ..everything(range(0, 0))
        };
        let (found, _) = ask(&*open.source(&node), &request).unwrap();
        assert_same(&found, &reference.answer(&request), "after a kill");
        open.verify(&node, kill % 5 != 0).unwrap();
        match last {
            Some(BLOCKS) => finished += 1,
            Some(_) => midway += 1,
            None => {}
        }
        assert!(!is_finished || last == Some(BLOCKS));
        // An open lake keeps replaced partitions.
        drop(open);
        // Most continue the store, and some start again.
        if last == Some(BLOCKS) || kill % 7 == 6 {
            finish(kind, place.path(), &node);
            place = tempfile::tempdir().unwrap();
        }
    }
    assert!(midway > 0, "{midway} midway, {finished} finished");
    (kind.build)(place.path(), (&node).into(), &until(BLOCKS, 64)).unwrap();
    finish(kind, place.path(), &node);
}

/// Updates a store and checks that it is complete, and that no unfinished files are left.
fn finish(kind: &Kind, place: &Path, node: &NodeSource) {
    (kind.update)(place, node.into(), &until(BLOCKS, 64)).unwrap();
    kind.settled(place);
    kind.assert_tidy(place, node);
    assert_eq!(kind.verified(place, node), range(0, BLOCKS).into());
}
