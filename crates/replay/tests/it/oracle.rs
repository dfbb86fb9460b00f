//! Replays with revm, and with both engines compared.

use crate::support::{Opened, open};
use std::ops::ControlFlow;
use txgraph_replay::{EngineKind, FrameDetail, RangeReport, Record, ReplayOptions};
use txgraph_testkit::{fixtures, or_skip};

fn replay(opened: &Opened, name: &str, options: ReplayOptions) -> RangeReport {
    let report = opened
        .replayer(options)
        .range(opened.blocks, &mut |replay| {
            let first = replay.mismatches.first();
            assert!(first.is_none(), "{name}: {}", first.unwrap());
            ControlFlow::Continue(())
        });
    report.unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Results of revm agree with the node, and every instruction of both engines agrees.
#[test]
fn both_engines_replay_whole_chains() {
    for name in [
        "small/v1",
        "small/v2",
        "dev-v1",
        "long-v2",
        "odd/migrated-v2",
    ] {
        let opened = or_skip!(Opened::fixture(name));
        for engine in [EngineKind::Revm, EngineKind::Both] {
            let options = ReplayOptions {
                engine,
                ..ReplayOptions::default()
            };
            let report = replay(&opened, name, options);
            assert_eq!(report.blocks, opened.blocks.blocks());
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
            let report = opened
                .replayer(options)
                .range(opened.blocks, &mut |replay| {
                    for tx in replay.transactions {
                        all.push((tx.internal_transfers(replay.timestamp), tx.call_trace(true)));
                    }
                    ControlFlow::Continue(())
                });
            report.unwrap();
            all
        };
        let (own, revm) = (frames(EngineKind::Txgraph), frames(EngineKind::Revm));
        assert_eq!(own.len(), revm.len());
        for (own, revm) in own.iter().zip(&revm) {
            assert_eq!(own.0, revm.0);
        }
    }
}

/// From Frontier and proof of work to Prague.
#[test]
fn both_engines_replay_all_forks() {
    let opened = or_skip!(Opened::fixture("odd/import-v2"));
    for engine in [EngineKind::Revm, EngineKind::Both] {
        let options = ReplayOptions {
            engine,
            ..ReplayOptions::default()
        };
        replay(&opened, "odd/import-v2", options);
    }
}
