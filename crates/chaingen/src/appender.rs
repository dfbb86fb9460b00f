//! Imitates a writing node: appends blocks, unwinds the newest blocks, prunes.
//!
//! Files and tables change in the order of reth (`DatabaseProvider::commit` and
//! `commit_unwind` in `crates/storage/provider/src/providers/database/provider.rs`).
//! Forward, static files change first and MDBX last; backward, MDBX first, then static
//! files. Readers in other processes may have the directory open at the same time.

mod commit;

use super::{
    Error, Tip,
    block::{Body, Order},
    config::{Config, Layout},
    encode,
    error::Io,
    header,
    jar::Segment,
    segments::Segments,
    state::{Accounts, Touched, Values},
    tables::{StateRows, Tables},
    truth::Truth,
    world::World,
};
use alloy_consensus::Header;
use alloy_primitives::B256;
use rayon::prelude::*;
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use txgraph_transfers::Transfer;

/// The approximate number of transactions that are generated together, which bounds
/// memory, and blocks at most. Hashed state behind the blocks depends on these numbers.
const BATCH_TXS: u64 = 1 << 14;
const BATCH_BLOCKS: u64 = 1 << 10;

/// Blocks whose transactions are signed together, by one thread.
const SIGNED_BLOCKS: usize = 16;

/// The data that an unwind of a block needs.
#[derive(Debug)]
struct Recent {
    header: Header,
    hash: B256,
    /// Number of the first transaction of the block.
    first_tx: u64,
    tx_hashes: Vec<B256>,
    touched: Touched,
}

/// Rows that the next commit writes after the rows of its blocks.
#[derive(Debug, Default)]
struct Uncommitted {
    /// Hashed state up to [`Appender::state`].
    accounts: Values,
    /// In layout v1, hashes of transactions with their numbers.
    lookup: Vec<(B256, u64)>,
}

/// A data directory that is being written.
#[derive(Debug)]
pub struct Appender {
    folder: PathBuf,
    world: Arc<World>,
    tables: Tables,
    segments: Segments,
    accounts: Accounts,
    header: Header,
    hash: B256,
    /// Number of the next transaction.
    next_tx: u64,
    /// For every block, the number of ordinary transactions before it. The last entry is
    /// for the next block.
    signed: Vec<u64>,
    /// First block and number of every branch, ascending.
    branches: Vec<(u64, u64)>,
    /// The blocks that can be unwound or whose state is not written.
    recent: VecDeque<Recent>,
    finalized: u64,
    /// The block up to which hashed state is written, less what later blocks change.
    state: u64,
    uncommitted: Uncommitted,
    pause: Duration,
    truth: Option<Truth>,
}

impl Appender {
    /// Creates a data directory with the genesis block and `genesis.json` in `folder`,
    /// which must be empty or not exist.
    pub fn create(folder: &Path, config: Config) -> Result<Self, Error> {
        let world = World::new(config)?;
        let config = &world.config;
        check_empty(folder)?;
        let files = folder.join("static_files");
        std::fs::create_dir_all(&files).io(&files, "create")?;
        let header = header::genesis(&world);
        let mut appender = Self {
            folder: folder.to_path_buf(),
            tables: Tables::create(&folder.join("db"), config.layout, config.durable)?,
            segments: Segments::new(
                &files,
                config.layout,
                config.blocks_per_file,
                config.durable,
                StateRows::Changes,
            ),
            accounts: Accounts::new(config.layout),
            hash: header.hash_slow(),
            header,
            next_tx: 0,
            signed: vec![0, 0],
            branches: vec![(0, 0)],
            recent: VecDeque::new(),
            finalized: 0,
            state: 0,
            uncommitted: Uncommitted::default(),
            pause: Duration::ZERO,
            truth: config.truth.then(|| Truth::new(&world)),
            world: Arc::new(world),
        };
        appender.write_genesis()?;
        Ok(appender)
    }

    /// The newest block.
    pub fn tip(&self) -> Tip {
        Tip {
            number: self.header.number,
            hash: self.hash,
            timestamp: self.header.timestamp,
            transactions: self.next_tx,
        }
    }

    /// The block up to which hashed state is written, less the keys that later blocks change.
    pub fn state_block(&self) -> u64 {
        self.state
    }

    /// Sets a pause between the static files and MDBX in every commit, so that readers
    /// are more likely to see the state in between.
    pub fn set_pause(&mut self, pause: Duration) {
        self.pause = pause;
    }

    /// Appends `blocks` blocks.
    pub fn append(&mut self, blocks: u64) -> Result<Tip, Error> {
        self.append_with(blocks, &mut |_| Ok(()))
    }

    /// Appends `blocks` blocks, and passes the intended transfers of each to `sink`, in
    /// order.
    pub fn append_with(
        &mut self,
        blocks: u64,
        sink: &mut dyn FnMut(&[Transfer]) -> Result<(), Error>,
    ) -> Result<Tip, Error> {
        let world = Arc::clone(&self.world);
        let commit_blocks = world.config.commit_blocks;
        let together = BATCH_TXS / (world.config.txs_per_block + 1);
        let together = together.clamp(1, BATCH_BLOCKS.min(commit_blocks));
        let (_, branch) = *self.branches.last().expect("there is at least one branch");
        let mut signed = *self.signed.last().expect("there is at least one branch");
        let mut numbers = self.header.number + 1..self.header.number + 1 + blocks;
        thread::scope(|scope| {
            // One batch is written, one waits, one is generated.
            let (send, receive) = mpsc::sync_channel(1);
            scope.spawn(move || {
                loop {
                    let batch = numbers
                        .by_ref()
                        .take(usize::try_from(together).expect("small"));
                    let orders = batch.map(|number| {
                        let order = Order::new(&world, number, branch, signed);
                        signed = order.signed_after;
                        order
                    });
                    let orders: Vec<Order> = orders.collect();
                    // After an error the receiver is gone.
                    if orders.is_empty() || send.send(make(&world, &orders)).is_err() {
                        break;
                    }
                }
            });
            let mut batches = receive.into_iter().peekable();
            while batches.peek().is_some() {
                let changes = self.tables.begin()?;
                let mut left = commit_blocks;
                while let Some(bodies) = batches.next_if(|bodies| bodies.len() as u64 <= left) {
                    left -= bodies.len() as u64;
                    for body in &bodies {
                        self.write(&changes, body)?;
                        sink(&body.transfers)?;
                    }
                    self.settle();
                }
                self.commit(changes)?;
            }
            Ok(self.tip())
        })
    }

    /// Returns the intended transfers of a block with hashes, in total order. They are
    /// generated again from the seed, not read.
    pub fn transfers(&self, block: u64) -> Vec<Transfer> {
        self.body(block)
            .map_or_else(Vec::new, |body| body.transfers)
    }

    /// Generates a block of the chain again. `None` for the genesis block and above the
    /// tip.
    fn body(&self, number: u64) -> Option<Body> {
        if number == 0 || number > self.header.number {
            return None;
        }
        let after = self.branches.partition_point(|branch| branch.0 <= number);
        let branch = self.branches[after - 1].1;
        let signed = self.signed[usize::try_from(number).expect("fits")];
        let order = Order::new(&self.world, number, branch, signed);
        Body::make(&self.world, &[order]).pop()
    }

    /// Returns the known answers about the chain. After an unwind this generates the
    /// whole chain again.
    pub fn truth(&mut self) -> Truth {
        let tip = self.tip();
        let truth = self.truth.take().unwrap_or_else(|| {
            let mut truth = Truth::new(&self.world);
            for number in 1..=tip.number {
                truth.add(
                    &self.world,
                    &self.body(number).expect("a block of the chain"),
                );
            }
            truth
        });
        self.truth = Some(truth.clone());
        truth.at(tip, header::genesis(&self.world).hash_slow())
    }

    /// Removes all blocks above `to`. The next blocks belong to another branch. Finalized
    /// blocks cannot be removed.
    pub fn unwind(&mut self, to: u64) -> Result<Tip, Error> {
        if to < self.finalized || to > self.header.number {
            return Err(Error::Impossible(format!(
                "unwinding to block {to}: the tip is {} and block {} is finalized",
                self.header.number, self.finalized
            )));
        }
        let changes = self.tables.begin()?;
        let mut values = Values::new();
        while self.header.number > to {
            let gone = self
                .recent
                .pop_back()
                .expect("blocks above the finalized one are kept");
            self.take_back(&changes, &gone)?;
            // The oldest block comes last.
            values.extend(
                gone.touched
                    .iter()
                    .map(|(address, it)| (*address, it.before)),
            );
            self.next_tx = gone.first_tx;
            match self.recent.back() {
                Some(recent) => (self.header, self.hash) = (recent.header.clone(), recent.hash),
                None => {
                    debug_assert_eq!(gone.header.number, 1, "only the genesis is not kept");
                    self.header = header::genesis(&self.world);
                    self.hash = self.header.hash_slow();
                }
            }
        }
        self.signed.truncate(usize::try_from(to + 2).expect("fits"));
        let branch = self
            .branches
            .last()
            .expect("there is at least one branch")
            .1
            + 1;
        self.branches.retain(|branch| branch.0 <= to);
        self.branches.push((to + 1, branch));
        self.truth = None;

        self.state = self.state.min(to);
        self.accounts.set(&values);
        self.accounts.write_plain(&changes, values.iter())?;
        self.accounts.write_hashed(&changes, &values)?;
        self.forget_accounts();
        self.write_checkpoints(&changes)?;
        changes.commit()?;
        if self.world.config.wait_for_readers {
            self.tables.wait_for_readers()?;
        }
        self.segments.truncate(to, self.next_tx)?;
        Ok(self.tip())
    }

    /// Deletes the receipts files that contain only blocks below `below`, like the pruner
    /// of a v2 node, without waiting for readers. Returns the last pruned block if a file
    /// was deleted. Never deletes the newest file.
    pub fn prune_receipts(&mut self, below: u64) -> Result<Option<u64>, Error> {
        if self.world.config.layout == Layout::V1 {
            let why = "pruning static receipts in v1, where pruned receipts live in MDBX";
            return Err(Error::Impossible(why.to_owned()));
        }
        let Some((block, tx)) = self.segments.receipts.prune(below)? else {
            return Ok(None);
        };
        let changes = self.tables.begin()?;
        let checkpoint = encode::prune_checkpoint(block, tx, below);
        for segment in [2, 3] {
            changes.put("PruneCheckpoints", &[segment], &checkpoint)?;
        }
        changes.commit()?;
        Ok(Some(block))
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.segments.all().try_for_each(Segment::sync)?;
        self.tables.sync()
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // Best effort. Callers that need certainty call `sync`.
        let _ = self.tables.sync();
    }
}

/// Refuses a folder that is not empty.
pub(super) fn check_empty(folder: &Path) -> Result<(), Error> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(Error::Exists(folder.to_path_buf())),
            None => Ok(()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).io(folder, "read"),
    }
}

fn make(world: &World, orders: &[Order]) -> Vec<Body> {
    orders
        .par_chunks(SIGNED_BLOCKS)
        .flat_map_iter(|orders| Body::make(world, orders))
        .collect()
}
