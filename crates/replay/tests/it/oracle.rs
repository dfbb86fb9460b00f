//! Replays with revm, and with both engines compared.

use crate::support::{Opened, open};
use txgraph_replay::{EngineKind, FrameDetail, Record, ReplayOptions};
use txgraph_testkit::{fixtures, or_skip};

/// Results of revm agree with the node, and every instruction of both engines agrees.
#[test]
fn both_engines_replay_whole_chains() {
    for name in [
        "small/v1",
        "small/v2",
        "dev-v1",
        "long-v2",
        "odd/migrated-v2",
        // From Frontier and proof of work to Prague.
        "odd/import-v2",
    ] {
        let opened = or_skip!(Opened::fixture(name));
        for engine in [EngineKind::Revm, EngineKind::Both] {
            let options = ReplayOptions {
                engine,
                ..ReplayOptions::default()
            };
            opened.replay(options, &mut |_| {});
        }
    }
}

/// Internal transfers and call traces do not depend on the engine.
#[test]
fn both_engines_record_the_same_frames() {
    for fixture in fixtures::committed() {
        let opened = open(&fixture);
        let frames = |engine| {
            let options = ReplayOptions {
                engine,
                record: Record {
                    frames: Some(FrameDetail::Everything),
                    ..Record::default()
                },
                ..ReplayOptions::default()
            };
            let mut all = Vec::new();
            opened.replay(options, &mut |replay| {
                for tx in replay.transactions {
                    all.push((tx.internal_transfers(replay.timestamp), tx.call_trace(true)));
                }
            });
            all
        };
        let (own, revm) = (frames(EngineKind::Txgraph), frames(EngineKind::Revm));
        assert_eq!(own.len(), revm.len());
        for (own, revm) in own.iter().zip(&revm) {
            assert_eq!(own.0, revm.0);
        }
    }
}
