//! Imitates a writing node: appends blocks, unwinds the newest blocks, prunes.

use super::{
    BlockWriter, Error, ExecutedBlock, Storage, Tip,
    block::{Body, Order},
    config::{CHAIN_ID, Config},
    header,
    state::{Accounts, Values},
    tables::Changes,
    truth::Truth,
    world::World,
};
use alloy_primitives::B256;
use rayon::prelude::*;
use std::{
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use txgraph_transfers::Transfer;

/// The approximate number of transactions that are generated together, which bounds
/// memory, and blocks at most. Hashed state behind the blocks depends on these numbers.
const BATCH_TXS: u64 = 1 << 14;
const BATCH_BLOCKS: u64 = 1 << 10;

/// A data directory that is being written.
#[derive(Debug)]
pub struct Appender {
    world: Arc<World>,
    writer: BlockWriter,
    accounts: Accounts,
    /// For every block, the number of ordinary transactions before it. The last entry is
    /// for the next block.
    signed: Vec<u64>,
    /// First block and number of every branch, ascending.
    branches: Vec<(u64, u64)>,
    genesis_hash: B256,
    truth: Option<Truth>,
}

impl Appender {
    /// Creates a data directory with the genesis block and `genesis.json` in `folder`,
    /// which must be empty or not exist.
    pub fn create(folder: &Path, config: Config) -> Result<Self, Error> {
        let world = World::new(config)?;
        let config = &world.config;
        let accounts = world.genesis_accounts();
        let header = header::first_header(header::state_root(&accounts), config.gas_limit());
        let specification = header::specification(CHAIN_ID, header.gas_limit, &accounts);
        let mut block = ExecutedBlock::first(header, &accounts);
        // Accounts will have this code, too.
        block
            .codes
            .push((world.delegation_hash, world.delegation.clone()));
        let storage = Storage::from(config);
        let writer = BlockWriter::begin(folder, storage, &specification, block)?;
        Ok(Self {
            genesis_hash: writer.tip().hash,
            writer,
            accounts: Accounts::new(config.layout),
            signed: vec![0, 0],
            branches: vec![(0, 0)],
            truth: config.truth.then(|| Truth::new(&world)),
            world: Arc::new(world),
        })
    }

    /// The newest block.
    pub fn tip(&self) -> Tip {
        self.writer.tip()
    }

    /// The block up to which hashed state is written, less the keys that later blocks change.
    pub fn state_block(&self) -> u64 {
        self.writer.state_block()
    }

    /// See [`BlockWriter::set_pause`].
    pub fn set_pause(&mut self, pause: Duration) {
        self.writer.set_pause(pause);
    }

    /// Appends `blocks` blocks.
    pub fn append(&mut self, blocks: u64) -> Result<Tip, Error> {
        self.append_with(blocks, &mut |_| ())
    }

    /// Appends `blocks` blocks, and passes the intended transfers of each to `sink`, in
    /// order.
    pub fn append_with(
        &mut self,
        blocks: u64,
        sink: &mut dyn FnMut(&[Transfer]),
    ) -> Result<Tip, Error> {
        let world = Arc::clone(&self.world);
        let commit_blocks = world.config.commit_blocks;
        let together = BATCH_TXS / (world.config.txs_per_block + 1);
        let together = together.clamp(1, BATCH_BLOCKS.min(commit_blocks));
        let (_, branch) = *self.branches.last().expect("there is at least one branch");
        let mut signed = *self.signed.last().expect("there is at least one branch");
        let next = self.tip().number + 1;
        let mut numbers = next..next + blocks;
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
                    let bodies = orders.into_par_iter().map(|order| order.body(&world));
                    let bodies: Vec<Body> = bodies.collect();
                    if bodies.is_empty() || send.send(bodies).is_err() {
                        break;
                    }
                }
            });
            let mut batches = receive.into_iter().peekable();
            while batches.peek().is_some() {
                let changes = self.writer.begin_commit()?;
                let mut left = commit_blocks;
                while let Some(bodies) = batches.next_if(|bodies| bodies.len() as u64 <= left) {
                    left -= bodies.len() as u64;
                    for body in &bodies {
                        self.write(&changes, body)?;
                        sink(&body.transfers);
                    }
                    self.writer.settle(self.world.config.masking_blocks);
                }
                self.writer.commit(changes)?;
                self.forget_accounts();
            }
            Ok(self.tip())
        })
    }

    /// Writes the rows of the next block.
    fn write(&mut self, changes: &Changes, body: &Body) -> Result<(), Error> {
        let parent = self.writer.newest().expect("there is a genesis block");
        let hash = self.tip().hash;
        let header = header::on_top_of(&parent.header, hash, body);
        if header.gas_used > header.gas_limit {
            let problem = format!("block {} needs more gas than there is", body.number);
            return Err(Error::Config(problem));
        }
        let block = ExecutedBlock {
            accounts: self.accounts.apply(changes, &header, body)?,
            header,
            withdrawals: body.withdrawals.clone().unwrap_or_default(),
            ..ExecutedBlock::default()
        };
        let rows = body.transactions.iter().map(|done| &done.row);
        self.writer.write(changes, block, rows)?;
        if let Some(truth) = &mut self.truth {
            truth.add(&self.world, body);
        }
        self.signed.push(body.signed_after);
        Ok(())
    }

    /// Forgets accounts, except those whose hashed state is of an earlier block than the tip.
    fn forget_accounts(&mut self) {
        let behind = self.writer.behind();
        let behind = behind.flat_map(|it| it.block.accounts.keys().copied());
        self.accounts.keep(&behind.collect());
    }

    /// Returns the intended transfers of a block with hashes, in total order. They are
    /// generated again from the seed, not read.
    pub fn transfers(&self, block: u64) -> Vec<Transfer> {
        self.order(block)
            .map_or_else(Vec::new, |it| it.body(&self.world).transfers)
    }

    /// The order of a block of the chain. `None` for the genesis block and above the tip.
    pub(super) fn order(&self, number: u64) -> Option<Order> {
        if number == 0 || number > self.tip().number {
            return None;
        }
        let after = self.branches.partition_point(|branch| branch.0 <= number);
        let branch = self.branches[after - 1].1;
        let signed = self.signed[usize::try_from(number).expect("fits")];
        Some(Order::new(&self.world, number, branch, signed))
    }

    /// Returns the known answers about the chain. After an unwind this generates the
    /// whole chain again.
    pub fn truth(&mut self) -> Truth {
        let tip = self.tip();
        let truth = self.truth.take().unwrap_or_else(|| {
            let mut truth = Truth::new(&self.world);
            for number in 1..=tip.number {
                let order = self.order(number).expect("a block of the chain");
                truth.add(&self.world, &order.body(&self.world));
            }
            truth
        });
        self.truth = Some(truth.clone());
        truth.at(tip, self.genesis_hash)
    }

    /// Removes all blocks above `to`. The next blocks belong to another branch. Finalized
    /// blocks cannot be removed.
    pub fn unwind(&mut self, to: u64) -> Result<Tip, Error> {
        let mut values = Values::new();
        // The oldest block comes last.
        for gone in self.writer.unwind(to)? {
            let before = gone.accounts.iter().map(|(key, it)| (*key, it.before));
            values.extend(before);
        }
        self.accounts.set(&values);
        self.forget_accounts();
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
        Ok(self.tip())
    }

    /// Deletes the receipts files that contain only blocks below `below`, like the pruner
    /// of a v2 node, without waiting for readers. Returns the last pruned block if a file
    /// was deleted. Never deletes the newest file.
    pub fn prune_receipts(&mut self, below: u64) -> Result<Option<u64>, Error> {
        self.writer.prune_receipts(below)
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.writer.sync()
    }
}
