//! Scans beside a node that writes, replaces its newest blocks and prunes, in
//! another process, in the order in which a real one changes its files: every
//! result belongs to one committed state of the chain, or is a clear error.
//!
//! `TXGRAPH_STRESS_ROUNDS` sets the number of changes (default 1000).

use crate::support::{ask, database, everything, range};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{
    io::Write,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_reader::{NodeSource, ScanOptions, Threads};
use txgraph_transfers::{
    BlockRange, BlockRanges, Kind, ScanReport, SourceError, Transfer, TransferSource,
};

const ROUNDS_ENV: &str = "TXGRAPH_STRESS_ROUNDS";

/// The node's process. Not a test of its own: does nothing otherwise.
#[test]
fn imitated_node() {
    serve_if_asked();
}

/// A committed state of the chain.
#[derive(Clone, Default)]
struct State {
    /// Transfers of every block.
    blocks: Vec<Arc<Vec<Transfer>>>,
    /// Blocks below have no receipts any more (unless they have no transactions).
    pruned: u64,
    /// How many times blocks were taken back so far.
    unwinds: u64,
}

impl State {
    fn tip(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    fn transfers(&self, blocks: &BlockRanges) -> Option<Vec<Transfer>> {
        let mut transfers = Vec::new();
        for block in blocks.iter().flat_map(|range| range.first..=range.last) {
            transfers.extend(
                self.blocks
                    .get(usize::try_from(block).ok()?)?
                    .iter()
                    .cloned(),
            );
        }
        Some(transfers)
    }
}

/// All states so far. The last may not be committed yet, or not be recorded yet.
#[derive(Default)]
struct History {
    inner: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    states: Vec<State>,
    /// Changes that were begun; all but the last are in `states`, which has a first state, too.
    begun: usize,
    /// The states in which the open queries began.
    asked: Vec<usize>,
}

/// Changes beside one query. A reader makes more attempts than that, so that it answers on a
/// slow machine, too.
const CHANGES_MAX: usize = 5;

impl History {
    /// Begins a change, after the queries that saw [`CHANGES_MAX`] have ended.
    fn begin(&self) {
        let known = self.inner.lock().unwrap();
        let busy = |known: &mut Known| {
            let begun = known.begun;
            known.asked.iter().any(|first| begun - first >= CHANGES_MAX)
        };
        self.changed.wait_while(known, busy).unwrap().begun += 1;
    }

    fn record(&self, state: State) {
        self.inner.lock().unwrap().states.push(state);
        self.changed.notify_all();
    }

    /// Begins a query.
    fn ask(&self) -> Asked<'_> {
        let mut known = self.inner.lock().unwrap();
        let first = known.states.len() - 1;
        known.asked.push(first);
        Asked {
            history: self,
            first,
        }
    }

    fn last(&self) -> State {
        self.inner.lock().unwrap().states.last().unwrap().clone()
    }
}

/// An open query. `first` is the newest state that was surely committed when it began.
struct Asked<'a> {
    history: &'a History,
    first: usize,
}

impl Asked<'_> {
    /// The states since it began, with all that may have begun until now.
    fn states(&self) -> Vec<State> {
        let mut known = self.history.inner.lock().unwrap();
        let begun = known.begun;
        // Fewer, if the change panics.
        while known.states.len() <= begun.min(known.begun) {
            known = self.history.changed.wait(known).unwrap();
        }
        known.states[self.first..=begun.min(known.begun)].to_vec()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        // Also of a query that panics.
        let known = self.history.inner.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = known.asked.iter().position(|it| *it == self.first);
        at.map(|at| known.asked.swap_remove(at));
        self.history.changed.notify_all();
    }
}

/// The changes that a node makes, in random order.
struct Changes {
    node: LiveNode,
    state: State,
    chance: SmallRng,
    prunes: bool,
}

impl Changes {
    /// Starts a node and lets it grow.
    fn start(path: &Path, config: Config, prunes: bool, blocks: u64) -> Self {
        let seed = config.seed;
        let mut changes = Self {
            node: LiveNode::start("stress::imitated_node", path, config).unwrap(),
            state: State::default(),
            chance: SmallRng::seed_from_u64(seed),
            prunes,
        };
        changes.grow(blocks);
        changes
    }

    fn grow(&mut self, blocks: u64) {
        self.node.append(blocks).unwrap();
        self.learn();
    }

    /// Asks the node what its new blocks hold.
    fn learn(&mut self) {
        let known = self.state.blocks.len() as u64;
        for block in known..=self.node.tip().number {
            let transfers = self.node.transfers(block).unwrap();
            self.state.blocks.push(Arc::new(transfers));
        }
    }

    fn unwind(&mut self) {
        let tip = self.state.tip();
        let most = if self.chance.random_ratio(1, 5) {
            30
        } else {
            6
        };
        let to = tip.saturating_sub(self.chance.random_range(1..=most));
        // A node never takes back what its pruner has dropped.
        let to = to.max(self.state.pruned).min(tip);
        self.node.unwind(to).unwrap();
        self.state.blocks.truncate(usize::try_from(to + 1).unwrap());
        self.state.unwinds += 1;
    }

    fn change(&mut self) {
        match self.chance.random_range(0..20) {
            0..11 => {
                // On the whole more than is taken back.
                let blocks = self.chance.random_range(1..=8);
                self.grow(blocks);
            }
            11..17 => self.unwind(),
            17 if self.prunes => {
                let below = self
                    .state
                    .tip()
                    .saturating_sub(self.chance.random_range(60..90));
                if let Some(last) = self.node.prune_receipts(below).unwrap() {
                    self.state.pruned = last + 1;
                }
            }
            _ => {
                // Between static files and MDBX.
                let pause = Duration::from_micros(self.chance.random_range(0..3000));
                self.node.set_pause(pause).unwrap();
            }
        }
    }
}

/// How scans ended.
#[derive(Debug, Default)]
struct Tally {
    answers: u64,
    /// Queries among them that ran while something was changed.
    beside_changes: u64,
    partial: u64,
    reorged: u64,
    unavailable: u64,
    failed: u64,
}

/// Makes random requests until it is stopped.
fn ask_on(
    path: &Path,
    history: &History,
    over: &AtomicBool,
    strict: bool,
    mut chance: SmallRng,
) -> Tally {
    let db = database(path);
    let mut tally = Tally::default();
    while !over.load(Ordering::Relaxed) {
        let options = ScanOptions {
            threads: Threads::new(chance.random_range(1..=3)).unwrap(),
            chunk_blocks: *[None, Some(1), Some(2), Some(5), Some(30)]
                .choose(&mut chance)
                .unwrap(),
            snapshot_blocks_max: *[None, Some(1), Some(4)].choose(&mut chance).unwrap(),
            ..ScanOptions::default()
        };
        let source = NodeSource::new(Arc::clone(&db), options, None).unwrap();
        for _ in 0..20 {
            query(&source, history, strict, &mut chance, &mut tally);
        }
    }
    tally
}

fn query(
    source: &NodeSource,
    history: &History,
    strict: bool,
    chance: &mut SmallRng,
    tally: &mut Tally,
) {
    let asked = history.ask();
    let tip = history.last().tip();
    let length = *[5, 40, 120].choose(chance).unwrap();
    let last = (tip + 2).saturating_sub(chance.random_range(0..30));
    let mut request = everything(range(last.saturating_sub(length), last));
    request.allow_partial = chance.random_ratio(2, 3);
    // Either way the hashes must be right.
    request.with_hashes = chance.random();
    let result = ask(source, &request).and_then(|(mut transfers, report)| {
        if !request.with_hashes {
            source.fill_hashes(&mut transfers, &report.anchors)?;
        }
        Ok((transfers, report))
    });
    let states = asked.states();
    drop(asked);
    let what = format!("blocks {}, {} states", request.blocks, states.len());
    match result {
        Ok((transfers, report)) => {
            check_answer(&states, &transfers, &report, &what);
            tally.answers += 1;
            tally.beside_changes += u64::from(states.len() > 1);
            tally.partial += u64::from(!report.missing.is_empty());
        }
        Err(SourceError::Reorged { block }) => {
            assert_ne!(
                states[0].unwinds,
                states[states.len() - 1].unwinds,
                "{what}: {block}"
            );
            tally.reorged += 1;
        }
        Err(SourceError::Unavailable { missing, .. }) => {
            let missing: BlockRanges = missing.iter().map(|gap| gap.blocks).collect();
            check_missing(&states, &missing, &what);
            tally.unavailable += 1;
        }
        Err(error) => {
            assert!(!strict, "{what}: {error}");
            tally.failed += 1;
        }
    }
}

/// The result belongs to one of `states`.
#[track_caller]
fn check_answer(states: &[State], transfers: &[Transfer], report: &ScanReport, what: &str) {
    let missing: BlockRanges = report.missing.iter().map(|gap| gap.blocks).collect();
    check_missing(states, &missing, what);
    let right = |state: &State| {
        state
            .transfers(&report.covered)
            .is_some_and(|t| t == transfers)
    };
    assert!(
        states.iter().any(right),
        "{what}: {} transfers of blocks {} are of no state of the chain (missing {missing})",
        transfers.len(),
        report.covered,
    );
}

/// Missing blocks were pruned, or above the tip, at some time.
#[track_caller]
fn check_missing(states: &[State], missing: &BlockRanges, what: &str) {
    let tip = states.iter().map(State::tip).min().unwrap();
    let pruned = states.iter().map(|state| state.pruned).max().unwrap();
    let mut there = BlockRanges::from(BlockRange::from_to(pruned, tip));
    if pruned > tip {
        there = BlockRanges::default();
    }
    let denied = missing.intersect(&there);
    assert!(denied.is_empty(), "{what}: {denied} are said to be missing");
}

/// `rounds` changes with scans beside them.
fn stress(layout: Layout, waits: bool, seed: u64, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node");
    let config = Config {
        blocks_per_file: 10,
        wait_for_readers: waits,
        finality: 1000,
        txs_per_block: 3,
        ..Config::small(seed, layout)
    };
    let mut changes = Changes::start(&path, config, layout == Layout::V2, 100);
    let history = History::default();
    history.record(changes.state.clone());

    let over = AtomicBool::new(false);
    // Before 2.0 nothing protects a reader; then an error is all one can ask for.
    let strict = waits;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..2)
            .map(|asker| {
                let chance = SmallRng::seed_from_u64(seed * 100 + asker);
                let (path, history, over) = (&path, &history, &over);
                scope.spawn(move || ask_on(path, history, over, strict, chance))
            })
            .collect();
        // Also when a change panics, so that the readers end.
        let _stop = Stop(&over, &history);
        for _ in 0..rounds {
            if askers.iter().any(|asker| asker.is_finished()) {
                break;
            }
            history.begin();
            changes.change();
            history.record(changes.state.clone());
        }
        over.store(true, Ordering::Relaxed);
        askers
            .into_iter()
            .map(|asker| asker.join().unwrap())
            .collect()
    });
    let answers: u64 = tallies.iter().map(|tally| tally.answers).sum();
    let mut stderr = std::io::stderr();
    for tally in &tallies {
        let _ = writeln!(
            stderr,
            "{layout:?}, waiting {waits}, {rounds} rounds: {tally:?}"
        );
    }
    assert!(answers > rounds / 20, "hardly a scan ended well");
}

/// Ends the askers.
struct Stop<'a>(&'a AtomicBool, &'a History);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if std::thread::panicking() {
            // The change that was begun will not be recorded.
            let mut known = self.1.inner.lock().unwrap();
            known.begun = known.states.len() - 1;
            self.1.changed.notify_all();
        }
    }
}

/// A node dies while it replaces blocks; what it leaves is one state of two.
#[test]
fn reads_after_the_node_was_killed() {
    for (seed, micros) in [
        (1, 0),
        (2, 300),
        (3, 1000),
        (4, 3000),
        (5, 10_000),
        (6, 30_000),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node");
        let layout = if seed % 2 == 0 {
            Layout::V1
        } else {
            Layout::V2
        };
        let config = Config {
            blocks_per_file: 10,
            durable: true,
            ..Config::small(seed, layout)
        };
        let mut changes = Changes::start(&path, config, false, 40);
        changes.node.begin_unwind(25).unwrap();
        std::thread::sleep(Duration::from_micros(micros));
        changes.node.kill().unwrap();

        let source = NodeSource::new(database(&path), ScanOptions::default(), None).unwrap();
        let mut request = everything(range(0, 40));
        request.allow_partial = true;
        let (transfers, report) = ask(&source, &request).unwrap();
        assert!(
            transfers
                .iter()
                .any(|transfer| transfer.kind == Kind::Value)
        );
        let before = changes.state.clone();
        let mut after = before.clone();
        after.blocks.truncate(26);
        check_answer(&[before, after], &transfers, &report, "after a kill");
    }
}

fn rounds() -> u64 {
    let rounds = std::env::var(ROUNDS_ENV)
        .ok()
        .map(|rounds| rounds.parse().unwrap());
    rounds.unwrap_or(1000u64).div_ceil(4)
}

#[test]
fn reads_next_to_a_current_node() {
    stress(Layout::V2, true, 1, rounds());
    stress(Layout::V1, true, 2, rounds());
}

/// Before 2.0 static files are truncated under the feet of readers.
#[test]
fn reads_next_to_a_node_that_does_not_wait_for_readers() {
    stress(Layout::V1, false, 3, rounds());
    stress(Layout::V2, false, 4, rounds());
}
