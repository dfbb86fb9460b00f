//! Scans of a simulated chain that is reorganized, unwound, extended and pruned
//! while its chunks finish in any order.

use super::*;
use crate::{
    chunk::{Chunks, Density, Sizing},
    merge::Limits,
};
use alloy_primitives::U256;
use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use txgraph_transfers::{BlockRange, BlockRanges, DecodeCounts, testing};

/// The hashes of a chain. A hash contains the number of the reorganization that made its block.
#[derive(Clone, Debug)]
struct Chain {
    hashes: Vec<B256>,
    pruned: u64,
}

impl Chain {
    fn extend(&mut self, tip: u64, fork: u64) {
        for block in self.hashes.len() as u64..=tip {
            self.hashes
                .push(B256::from(U256::from(fork) << 64 | U256::from(block + 1)));
        }
    }

    fn tip(&self) -> u64 {
        self.hashes.len() as u64 - 1
    }

    fn hash(&self, block: u64) -> B256 {
        self.hashes[usize::try_from(block).unwrap()]
    }

    fn parent(&self, block: u64) -> B256 {
        block
            .checked_sub(1)
            .map_or(B256::ZERO, |parent| self.hash(parent))
    }
}

#[derive(Debug)]
struct Simulation {
    chance: SmallRng,
    chain: Chain,
    limits: Limits,
    /// Each with the chain at the start of the task.
    running: Vec<(RunningTask<Chunk>, Chain)>,
    events_left: u32,
    forks: u64,
    replaced: BlockRanges,
}

impl Simulation {
    /// Changes the chain.
    fn event(&mut self) {
        self.events_left -= 1;
        let tip = self.chain.tip();
        if self.chance.random_ratio(1, 3) {
            let pruned = self.chance.random_range(0..=tip);
            self.chain.pruned = self.chain.pruned.max(pruned);
            return;
        }
        let ancestor = self.chance.random_range(tip / 2..=tip);
        let replaced = BlockRange::new(ancestor + 1, tip).into_iter();
        self.replaced = self.replaced.iter().chain(replaced).collect();
        self.chain
            .hashes
            .truncate(usize::try_from(ancestor + 1).unwrap());
        self.forks += 1;
        // Mostly longer than before, sometimes not yet as long.
        let up = if self.chance.random_ratio(3, 4) {
            tip + 2
        } else {
            ancestor + 1
        };
        self.chain.extend(up, self.forks);
    }

    fn read(&mut self, blocks: BlockRange, at_start: Chain) -> Outcome {
        // Under a snapshot from the start of the task, or a new one.
        let chain = if self.chance.random() {
            at_start
        } else {
            self.chain.clone()
        };
        let BlockRange { first, last } = blocks;
        if chain.tip() < last {
            return Outcome::Unwound {
                block: chain.tip() + 1,
            };
        }
        if first < chain.pruned {
            let blocks = BlockRange::from_to(first, last.min(chain.pruned - 1));
            return Outcome::Gone(vec![Unavailable::new(blocks, "pruned")]);
        }
        let bytes = self.limits.piece_bytes() / size_of::<Transfer>() as u64;
        let most = self.chance.random_range(1..=bytes.max(1));
        let last = last.min(first + most - 1);
        Outcome::Read(Piece {
            blocks: BlockRange { first, last },
            parent: chain.parent(first),
            hash: chain.hash(last),
            transfers: (first..=last)
                .map(|block| transfer(block, chain.hash(block)))
                .collect(),
            counts: DecodeCounts {
                blocks: last - first + 1,
                ..Default::default()
            },
        })
    }
}

fn transfer(block: u64, hash: B256) -> Transfer {
    Transfer {
        transaction_hash: Some(hash),
        ..testing::transfer(block)
    }
}

impl Workers for Simulation {
    fn start(&mut self, task: RunningTask<Chunk>) {
        assert!(self.running.iter().all(|(other, _)| other.id != task.id));
        assert!(
            self.running.iter().all(|(other, _)| other
                .task
                .blocks
                .intersect(&task.task.blocks)
                .is_none())
        );
        self.running.push((task, self.chain.clone()));
        assert!(
            self.running.len() <= self.limits.window + 1,
            "more than the window"
        );
    }

    fn outcome(&mut self, wait: Wait) -> Option<(u64, Outcome)> {
        if self.events_left > 0 && self.chance.random_ratio(1, 12) {
            self.event();
        }
        if self.running.is_empty() || (wait == Wait::No && self.chance.random()) {
            assert!(wait == Wait::No, "waiting for nothing: the scan would hang");
            return None;
        }
        let at = self.chance.random_range(0..self.running.len());
        let (task, chain) = self.running.swap_remove(at);
        Some((task.id, self.read(task.task.blocks, chain)))
    }

    fn canonical(&mut self, block: u64) -> Result<Option<B256>, SourceError> {
        Ok((block <= self.chain.tip()).then(|| self.chain.hash(block)))
    }
}

#[derive(Debug)]
struct Case {
    seed: u64,
    wanted: BlockRanges,
    sizing: Sizing,
    limits: Limits,
    events: u32,
    allow_partial: bool,
    /// The sink breaks after this number of batches.
    patience: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let ranges = proptest::collection::vec((0u64..180, 0u64..60), 1..4).prop_map(|ranges| {
        ranges
            .into_iter()
            .map(|(first, more)| BlockRange::from_to(first, (first + more).min(199)))
            .collect::<BlockRanges>()
    });
    let density = Density::new(vec![(0, 0), (100, 50), (200, 4000)]);
    let sizing = prop_oneof![
        (1u64..70).prop_map(Sizing::Blocks),
        (1u64..600).prop_map(move |target| Sizing::Cost {
            density: density.clone(),
            target
        }),
    ];
    let row = size_of::<Transfer>() as u64;
    let limits = (1usize..9, 1u64..40, 2u64..400).prop_map(move |(window, share, memory)| Limits {
        window,
        memory_bytes: memory * row,
        share_bytes: share * row,
    });
    let patience = prop_oneof![3 => Just(usize::MAX), 1 => 1usize..10];
    (
        any::<u64>(),
        ranges,
        sizing,
        limits,
        0u32..7,
        any::<bool>(),
        patience,
    )
        .prop_map(
            |(seed, wanted, sizing, limits, events, allow_partial, patience)| Case {
                seed,
                wanted,
                sizing,
                limits,
                events,
                allow_partial,
                patience,
            },
        )
}

/// Runs a case. Returns whether it succeeded, and the simulation.
fn run(case: &Case) -> (bool, Simulation) {
    let mut simulation = Simulation {
        chance: SmallRng::seed_from_u64(case.seed),
        chain: Chain {
            hashes: Vec::new(),
            pruned: 0,
        },
        limits: case.limits,
        running: Vec::new(),
        events_left: case.events,
        forks: 0,
        replaced: BlockRanges::default(),
    };
    simulation.chain.extend(199, 0);

    let cancel = CancelFlag::new();
    let mut batches: Vec<Batch> = Vec::new();
    let mut sink = |batch| {
        batches.push(batch);
        if batches.len() < case.patience {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let mut scan = Run {
        allow_partial: case.allow_partial,
        cancel: &cancel,
        progress: &ProgressGuard::start(None, 0, "transfers"),
        sink: &mut sink,
        report: ScanReport::default(),
    };
    let merge = Merge::new(Chunks::new(&case.wanted, case.sizing.clone()), case.limits);
    let result = scan.drive(merge, &mut simulation);
    let report = scan.report;

    // In order and without overlap, whatever the result.
    for pair in batches.windows(2) {
        assert!(pair[0].blocks.last < pair[1].blocks.first);
    }
    match result {
        Ok(()) => {
            let covered: BlockRanges = batches.iter().map(|batch| batch.blocks).collect();
            let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
            assert_eq!(report.covered, covered);
            let pinned: Vec<_> = report.anchors.iter().map(|anchor| anchor.blocks).collect();
            assert_eq!(pinned, covered.iter().collect::<Vec<_>>());
            assert_eq!(report.counts.blocks, covered.blocks());
            assert!(covered.intersect(&missing).is_empty());
            assert!(missing.is_empty() || case.allow_partial);
            let both: BlockRanges = covered.iter().chain(missing.iter()).collect();
            if batches.len() < case.patience {
                assert_eq!(both, case.wanted);
            }
            assert!(both.subtract(&case.wanted).is_empty());
            let found: Vec<_> = batches
                .into_iter()
                .flat_map(|batch| batch.transfers)
                .collect();
            let blocks = covered.iter().flat_map(|range| range.first..=range.last);
            let right: Vec<_> = blocks
                .map(|block| transfer(block, simulation.chain.hash(block)))
                .collect();
            assert_eq!(found, right, "not the chain at the end of the scan");
            assert_eq!(
                report.last_block_hash,
                right.last().and_then(|t| t.transaction_hash)
            );
            (true, simulation)
        }
        Err(Stop::Source(SourceError::Reorged { block })) => {
            assert!(
                simulation.replaced.contains(block),
                "{block} was not replaced"
            );
            (false, simulation)
        }
        Err(Stop::Gone(gone)) => {
            assert!(!case.allow_partial);
            assert!(
                gone.iter()
                    .all(|gap| gap.blocks.last < simulation.chain.pruned)
            );
            (false, simulation)
        }
        Err(other) => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_scan_is_of_one_chain_or_fails(case in case()) {
        let (fine, simulation) = run(&case);
        if case.events == simulation.events_left {
            prop_assert!(fine, "nothing happened to the chain");
        }
    }
}

#[test]
fn scans_recover_from_changes_of_the_chain() {
    // A scan that always fails after any change would satisfy the property, too.
    let (mut survived, mut reorganized) = (0, 0);
    for seed in 0..400 {
        let case = Case {
            seed,
            wanted: BlockRange::from_to(50, 199).into(),
            sizing: Sizing::Blocks(7),
            limits: Limits {
                window: 8,
                memory_bytes: 1 << 20,
                share_bytes: 1 << 14,
            },
            events: 1,
            allow_partial: true,
            patience: usize::MAX,
        };
        let (fine, simulation) = run(&case);
        if simulation.forks > 0 {
            reorganized += 1;
            survived += u32::from(fine);
        }
    }
    assert!(reorganized > 150, "{reorganized}");
    assert!(survived * 3 > reorganized, "{survived} of {reorganized}");
}

#[test]
fn canceling_interrupts() {
    let cancel = CancelFlag::new();
    let mut batches = 0;
    let mut sink = |_| {
        batches += 1;
        cancel.cancel();
        ControlFlow::Continue(())
    };
    let case = BlockRanges::from(BlockRange::up_to(199));
    let limits = Limits::new(2, None);
    let mut simulation = Simulation {
        chance: SmallRng::seed_from_u64(1),
        chain: Chain {
            hashes: Vec::new(),
            pruned: 0,
        },
        limits,
        running: Vec::new(),
        events_left: 0,
        forks: 0,
        replaced: BlockRanges::default(),
    };
    simulation.chain.extend(199, 0);
    let mut scan = Run {
        allow_partial: false,
        cancel: &cancel,
        progress: &ProgressGuard::start(None, 0, "transfers"),
        sink: &mut sink,
        report: ScanReport::default(),
    };
    let merge = Merge::new(Chunks::new(&case, Sizing::Blocks(10)), limits);
    let result = scan.drive(merge, &mut simulation);
    assert!(matches!(
        result,
        Err(Stop::Source(SourceError::Interrupted))
    ));
    assert_eq!(batches, 1);
}

#[test]
fn adjacent_gaps_with_one_reason_are_joined() {
    let gap = |first, last, reason: &str| Unavailable::new(BlockRange { first, last }, reason);
    let joined = joined(vec![
        gap(5, 9, "b"),
        gap(3, 4, "a"),
        gap(0, 2, "a"),
        gap(11, 11, "b"),
    ]);
    assert_eq!(joined, [gap(0, 4, "a"), gap(5, 9, "b"), gap(11, 11, "b")]);
}
