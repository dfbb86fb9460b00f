//! Writes executed blocks completely, with state, change sets and history.

use super::{
    Error, ExecutedBlock, FirstAccount, Tip,
    config::{Layout, Storage},
    encode::{self, Account, StoredRow},
    error::Io,
    header::specification,
    histories::Histories,
    jar::Segment,
    masking,
    segments::{self, Pruned, Segments},
    tables::{Changes, Frontier, Tables},
};
use alloy_primitives::{Address, B256, U256, keccak256};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    thread,
    time::Duration,
};

/// The prune segments of senders, receipts, logs of contracts, and bodies (reth
/// `crates/prune/types/src/segment.rs`).
const PRUNED_WITH_BODIES: [u8; 4] = [0, 2, 3, 9];
/// The prune segments of receipts and logs of contracts.
const PRUNED_WITH_RECEIPTS: [u8; 2] = [2, 3];

/// A data directory whose blocks are executed by the caller.
///
/// Files and tables change in the order of reth (`DatabaseProvider::commit` and `commit_unwind` in
/// `crates/storage/provider/src/providers/database/provider.rs`). Forward, static files change
/// first and MDBX last; backward, MDBX first, then static files. Readers in other processes may
/// have the directory open at the same time.
///
/// In layout v1 the history indices are written too. In v2 they would be in RocksDB, so their
/// stages are at block 0. There are no tries.
///
/// With `masking_blocks` ([`Storage`]), hashed state stays behind the blocks. Plain state, which
/// only layout v1 has, is always at the tip.
///
/// [`Self::create`] starts a chain with its state. [`Self::create_from`] writes blocks from the
/// middle of a chain, without state.
#[derive(Debug)]
pub struct BlockWriter {
    storage: Storage,
    /// Whether accounts, change sets and, in layout v1, history indices are written.
    with_state: bool,
    tables: Tables,
    segments: Segments,
    account_history: Histories,
    slot_history: Histories,
    tip: Tip,
    /// The blocks that can be unwound or whose state is not written, and the block below them.
    /// The last one is the tip.
    recent: VecDeque<Recent>,
    finalized: u64,
    /// The block up to which hashed state is written. `None` before the first block.
    state: Option<u64>,
    uncommitted: Uncommitted,
    pause: Duration,
}

/// A block that can be unwound.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) block: ExecutedBlock,
    pub(super) tip: Tip,
    tx_hashes: Vec<B256>,
}

/// Rows that the next commit writes after the rows of its blocks.
#[derive(Debug, Default)]
struct Uncommitted {
    /// Hashed state up to [`BlockWriter::state`].
    accounts: BTreeMap<Address, Option<Account>>,
    slots: BTreeMap<(Address, B256), U256>,
    /// In layout v1, hashes of transactions with their numbers.
    lookup: Vec<(B256, u64)>,
}

impl BlockWriter {
    /// Creates a data directory with block 0 and `genesis.json` in `folder`, which must
    /// be empty or not exist. The header must have the state root of `accounts`.
    pub fn create(
        folder: &Path,
        storage: Storage,
        chain_id: u64,
        header: alloy_consensus::Header,
        accounts: &BTreeMap<Address, FirstAccount>,
    ) -> Result<Self, Error> {
        let genesis = specification(chain_id, header.gas_limit, accounts);
        let block = ExecutedBlock::first(header, accounts);
        Self::begin(folder, storage, &genesis, block)
    }

    /// Creates a data directory with block 0, which creates all accounts of the start, and
    /// `genesis.json`.
    pub(super) fn begin(
        folder: &Path,
        storage: Storage,
        genesis: &Value,
        block: ExecutedBlock,
    ) -> Result<Self, Error> {
        let mut writer = Self::empty(folder, storage, true, Tip::default())?;
        let file = folder.join("genesis.json");
        let json = serde_json::to_vec_pretty(genesis).map_err(|e| Error::Config(e.to_string()))?;
        std::fs::write(&file, json).io(&file, "write")?;

        let changes = writer.begin_commit()?;
        writer.tables.identify(&changes, block.header.timestamp)?;
        writer.write(&changes, block, [].iter())?;
        writer.settle(0);
        writer.commit(changes)?;
        Ok(writer)
    }

    /// Creates a data directory in `folder`, which must be empty or not exist, with `blocks`
    /// from the middle of a chain. `first_tx` is the number of their first transaction.
    ///
    /// Nothing is stored of earlier blocks, as in a node whose chain has a first block other
    /// than 0 (`number` of its genesis): the first static files have the block ranges
    /// that contain the first block, and their `block_range` begins with it (reth
    /// `crates/storage/db-common/src/init.rs`). In a node, the first block has no transactions,
    /// and `first_tx` is 0.
    ///
    /// There is no state, so blocks must not change any. Stages that need state are at block 0,
    /// as after `reth import --no-state`. Ommers are not written.
    pub fn create_from(
        folder: &Path,
        storage: Storage,
        first_tx: u64,
        blocks: Vec<ExecutedBlock>,
    ) -> Result<Self, Error> {
        let Some(first) = blocks.first().map(|block| &block.header) else {
            return Err(Error::Config("a directory without a block".to_owned()));
        };
        let before = Tip {
            number: first.number.saturating_sub(1),
            hash: first.parent_hash,
            timestamp: 0,
            transactions: first_tx,
        };
        let (number, timestamp) = (first.number, first.timestamp);
        let mut writer = Self::empty(folder, storage, false, before)?;
        writer.finalized = number;
        let changes = writer.begin_commit()?;
        writer.tables.identify(&changes, timestamp)?;
        writer.append_in(changes, blocks, 0)?;
        Ok(writer)
    }

    /// Creates the files of a directory without blocks. `before` is the block before the first.
    fn empty(
        folder: &Path,
        storage: Storage,
        with_state: bool,
        before: Tip,
    ) -> Result<Self, Error> {
        check_empty(folder)?;
        let files = folder.join("static_files");
        std::fs::create_dir_all(&files).io(&files, "create")?;
        let Storage {
            layout,
            blocks_per_file,
            durable,
            ..
        } = storage;
        Ok(Self {
            segments: Segments::new(&files, layout, blocks_per_file, durable, with_state),
            tables: Tables::create(&folder.join("db"), layout, durable)?,
            tip: before,
            storage,
            with_state,
            account_history: Histories::new("AccountsHistory"),
            slot_history: Histories::new("StoragesHistory"),
            recent: VecDeque::new(),
            finalized: 0,
            state: None,
            uncommitted: Uncommitted::default(),
            pause: Duration::ZERO,
        })
    }

    /// The newest block.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// The block up to which hashed state is written, less the keys that later blocks change.
    pub fn state_block(&self) -> u64 {
        self.state.unwrap_or(0)
    }

    /// The newest block that [`unwind`](Self::unwind) keeps. It does not go back when blocks are
    /// removed.
    pub fn finalized(&self) -> u64 {
        self.finalized
    }

    /// Sets a pause between the static files and MDBX in every commit, so that readers are more
    /// likely to see the state in between.
    pub fn set_pause(&mut self, pause: Duration) {
        self.pause = pause;
    }

    /// Appends consecutive blocks after the tip, in one commit.
    pub fn append(&mut self, blocks: Vec<ExecutedBlock>) -> Result<Tip, Error> {
        let changes = self.begin_commit()?;
        let masking = match self.with_state {
            true => self.storage.masking_blocks,
            false => 0,
        };
        self.append_in(changes, blocks, masking)
    }

    /// Appends blocks, if any, and writes all state, as a node does when it is stopped.
    pub fn flush(&mut self, blocks: Vec<ExecutedBlock>) -> Result<Tip, Error> {
        let changes = self.begin_commit()?;
        self.append_in(changes, blocks, 0)
    }

    fn append_in(
        &mut self,
        changes: Changes,
        blocks: Vec<ExecutedBlock>,
        masking: u64,
    ) -> Result<Tip, Error> {
        for block in blocks {
            let number = block.header.number;
            if block.header.parent_hash != self.tip.hash {
                let problem = format!("block {number} does not follow the tip");
                return Err(Error::Impossible(problem));
            }
            if !self.with_state && block.changes_state() {
                let problem = format!("block {number} changes state in a directory without state");
                return Err(Error::Impossible(problem));
            }
            let rows = block.rows();
            self.write(&changes, block, rows.iter())?;
        }
        self.settle(masking);
        self.commit(changes)?;
        Ok(self.tip)
    }

    /// Removes all blocks above `to`, the newest first. Finalized blocks cannot be
    /// removed.
    ///
    /// Data that the removed blocks changed has its value after block `to` again, in hashed state
    /// too (reth `remove_block_and_execution_above` in
    /// `crates/storage/provider/src/providers/database/provider.rs`): hashed state that was
    /// behind `to` stays behind, and partly is not any more.
    pub fn unwind(&mut self, to: u64) -> Result<Vec<ExecutedBlock>, Error> {
        if to < self.finalized || to > self.tip.number {
            return Err(Error::Impossible(format!(
                "unwinding to block {to}: the tip is {} and block {} is finalized",
                self.tip.number, self.finalized
            )));
        }
        let changes = self.tables.begin()?;
        let mut gone = Vec::new();
        while self.tip.number > to {
            let recent = self.recent.pop_back().expect("kept while not finalized");
            self.take_back(&changes, &recent)?;
            gone.push(recent.block);
            self.tip = self.recent.back().expect("the finalized one is kept").tip;
        }
        let (mut accounts, mut slots) = (BTreeMap::new(), BTreeMap::new());
        // The oldest block comes last.
        for block in &gone {
            accounts.extend(block.accounts.iter().map(|(key, it)| (*key, it.before)));
            slots.extend(block.slots.iter().map(|(key, it)| (*key, it.before)));
        }
        self.write_plain(&changes, &accounts, &slots)?;
        write_hashed(&changes, &accounts, &slots)?;
        self.state = self.state.min(Some(to));
        self.write_indices(&changes)?;
        self.write_checkpoints(&changes)?;
        changes.commit()?;
        if self.storage.wait_for_readers {
            self.tables.wait_for_readers()?;
        }
        self.segments.truncate(to, self.tip.transactions)?;
        Ok(gone)
    }

    /// Deletes the transactions, receipts and senders files that contain only blocks below
    /// `below`, like the pruner of a v2 node. Returns the last pruned block if a file was
    /// deleted. Never deletes the newest file.
    pub fn prune_bodies(&mut self, below: u64) -> Result<Option<u64>, Error> {
        self.prune(below, &PRUNED_WITH_BODIES, Segments::prune_bodies)
    }

    /// The same for the receipts files alone.
    pub fn prune_receipts(&mut self, below: u64) -> Result<Option<u64>, Error> {
        self.prune(below, &PRUNED_WITH_RECEIPTS, |segments, below| {
            segments.receipts.prune(below)
        })
    }

    /// Deletes files, and records that in the checkpoints of these prune segments.
    fn prune(
        &mut self,
        below: u64,
        pruned: &[u8],
        delete: impl FnOnce(&mut Segments, u64) -> Result<Pruned, Error>,
    ) -> Result<Option<u64>, Error> {
        if self.storage.layout == Layout::V1 {
            let why = "pruning static receipts in v1, where pruned receipts live in MDBX";
            return Err(Error::Impossible(why.to_owned()));
        }
        let Some((block, tx)) = delete(&mut self.segments, below)? else {
            return Ok(None);
        };
        let changes = self.tables.begin()?;
        let checkpoint = encode::prune_checkpoint(block, tx, below);
        for segment in pruned {
            changes.put("PruneCheckpoints", &[*segment], &checkpoint)?;
        }
        changes.commit()?;
        Ok(Some(block))
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.segments.all().try_for_each(Segment::sync)?;
        self.tables.sync()
    }

    /// Begins a commit: blocks are [written](Self::write), [settled](Self::settle), and
    /// [committed](Self::commit).
    pub(super) fn begin_commit(&self) -> Result<Changes, Error> {
        self.tables.begin()
    }

    /// Writes everything of the next block except the current state. `stored` are the rows of its
    /// transactions.
    pub(super) fn write<'a>(
        &mut self,
        changes: &Changes,
        block: ExecutedBlock,
        stored: impl Iterator<Item = &'a StoredRow> + Clone,
    ) -> Result<(), Error> {
        let (number, first_tx) = (block.header.number, self.tip.transactions);
        let hash = block.header.hash_slow();
        self.segments.begin_block(changes, &block.header, hash)?;
        let transactions = self.segments.write_body(
            changes,
            number,
            first_tx,
            stored.clone(),
            &block.withdrawals,
        )?;
        let tx_hashes: Vec<_> = stored.map(|row| row.hash).collect();
        let lookup = tx_hashes.iter().copied().zip(first_tx..);
        self.uncommitted.lookup.extend(lookup);
        for (hash, code) in &block.codes {
            let delegation = code.starts_with(&[0xef, 0x01, 0x00]);
            let row = encode::bytecode(code, delegation);
            changes.put("Bytecodes", hash.as_slice(), &row)?;
        }
        self.write_before(changes, &block)?;
        self.tip = Tip {
            number,
            hash,
            timestamp: block.header.timestamp,
            transactions,
        };
        self.recent.push_back(Recent {
            block,
            tip: self.tip,
            tx_hashes,
        });
        Ok(())
    }

    /// Writes change sets, and the blocks that they belong to.
    fn write_before(&mut self, changes: &Changes, block: &ExecutedBlock) -> Result<(), Error> {
        let number = block.header.number;
        let accounts: Vec<_> = block
            .accounts
            .iter()
            .map(|(address, it)| encode::account_before(*address, it.before.as_ref()))
            .collect();
        let slots: Vec<_> = block
            .slots
            .iter()
            .map(|((address, slot), it)| (*address, encode::storage_entry(*slot, it.before)))
            .collect();
        self.segments
            .write_before(changes, number, &accounts, &slots)?;
        if self.storage.layout == Layout::V1 {
            for address in block.accounts.keys() {
                self.account_history.note(address.to_vec(), number);
            }
            for (address, slot) in block.slots.keys() {
                self.slot_history.note(slot_key(address, slot), number);
            }
        }
        Ok(())
    }

    /// Takes over hashed state up to `masking` blocks before the newest block, as far as a node
    /// would write it, and forgets blocks that are final.
    pub(super) fn settle(&mut self, masking: u64) {
        let tip = self.tip.number;
        let state = Some(tip.saturating_sub(masking)).max(self.state);
        let written = state.unwrap_or(0);
        let behind = || self.behind().map(|it| (it.tip.number, &it.block));
        let accounts = behind().map(|(number, it)| (number, &it.accounts));
        let accounts = masking::written(accounts, written);
        let slots = behind().map(|(number, it)| (number, &it.slots));
        let slots = masking::written(slots, written);
        self.uncommitted.accounts.extend(accounts);
        self.uncommitted.slots.extend(slots);
        self.state = state;
        let finality = self.storage.finality;
        self.finalized = self.finalized.max(tip.saturating_sub(finality));
        // Keeps the finalized block itself, which may become the tip.
        let oldest = self.finalized.min(written);
        let old = self.recent.partition_point(|it| it.tip.number < oldest);
        self.recent.drain(..old);
    }

    /// The blocks whose hashed state is not written.
    pub(super) fn behind(&self) -> impl Iterator<Item = &Recent> {
        let is_behind = |it: &&Recent| Some(it.tip.number) > self.state;
        self.recent.iter().filter(is_behind)
    }

    /// The newest block, after the first was written.
    pub(super) fn newest(&self) -> Option<&ExecutedBlock> {
        self.recent.back().map(|it| &it.block)
    }

    /// Commits what was written: files first, then tables.
    pub(super) fn commit(&mut self, changes: Changes) -> Result<(), Error> {
        self.segments.all().try_for_each(Segment::commit)?;
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        let Uncommitted {
            mut accounts,
            mut slots,
            lookup,
        } = std::mem::take(&mut self.uncommitted);
        segments::write_lookup(&changes, self.storage.layout, lookup)?;
        write_hashed(&changes, &accounts, &slots)?;
        for Recent { block, .. } in self.behind() {
            accounts.extend(block.accounts.iter().map(|(key, it)| (*key, it.after)));
            slots.extend(block.slots.iter().map(|(key, it)| (*key, it.after)));
        }
        self.write_plain(&changes, &accounts, &slots)?;
        self.write_indices(&changes)?;
        self.write_checkpoints(&changes)?;
        changes.commit()
    }

    fn write_indices(&mut self, changes: &Changes) -> Result<(), Error> {
        self.account_history.write(changes)?;
        self.slot_history.write(changes)
    }

    fn write_checkpoints(&self, changes: &Changes) -> Result<(), Error> {
        let frontier = Frontier {
            tip: self.tip.number,
            state: self.state_block(),
        };
        self.tables
            .checkpoints(changes, frontier, self.finalized, self.with_state)
    }

    /// Writes the state of layout v1.
    fn write_plain(
        &self,
        changes: &Changes,
        accounts: &BTreeMap<Address, Option<Account>>,
        slots: &BTreeMap<(Address, B256), U256>,
    ) -> Result<(), Error> {
        if self.storage.layout == Layout::V2 {
            return Ok(());
        }
        for (address, account) in accounts {
            changes.put_account("PlainAccountState", address.as_slice(), account.as_ref())?;
        }
        for ((address, slot), value) in slots {
            changes.put_slot("PlainStorageState", address.as_slice(), *slot, *value)?;
        }
        Ok(())
    }

    fn take_back(&mut self, changes: &Changes, gone: &Recent) -> Result<(), Error> {
        let Recent {
            block,
            tip,
            tx_hashes,
        } = gone;
        let first_tx = tip.transactions - tx_hashes.len() as u64;
        let layout = self.storage.layout;
        let place = (tip.number, tip.hash);
        Segments::take_back(changes, layout, place, first_tx, tx_hashes)?;
        if layout == Layout::V2 {
            return Ok(());
        }
        let mut account = None;
        for address in block.accounts.keys() {
            self.account_history.take_back(changes, address.to_vec())?;
        }
        for (address, slot) in block.slots.keys() {
            if account.replace(*address) != Some(*address) {
                let key = [&tip.number.to_be_bytes()[..], address.as_slice()].concat();
                changes.delete("StorageChangeSets", &key)?;
            }
            self.slot_history
                .take_back(changes, slot_key(address, slot))?;
        }
        Ok(())
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        // Best effort. Callers that need certainty call `sync`.
        let _ = self.tables.sync();
    }
}

/// Refuses a folder that is not empty.
fn check_empty(folder: &Path) -> Result<(), Error> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(Error::Exists(folder.to_path_buf())),
            None => Ok(()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).io(folder, "read"),
    }
}

fn slot_key(address: &Address, slot: &B256) -> Vec<u8> {
    [address.as_slice(), slot.as_slice()].concat()
}

fn write_hashed(
    changes: &Changes,
    accounts: &BTreeMap<Address, Option<Account>>,
    slots: &BTreeMap<(Address, B256), U256>,
) -> Result<(), Error> {
    let mut rows: Vec<_> = accounts
        .iter()
        .map(|(address, account)| (keccak256(address), account))
        .collect();
    rows.sort_unstable_by_key(|row| row.0);
    for (hashed, account) in rows {
        changes.put_account("HashedAccounts", hashed.as_slice(), account.as_ref())?;
    }
    for ((address, slot), value) in slots {
        let (account, slot) = (keccak256(address), keccak256(slot));
        changes.put_slot("HashedStorages", account.as_slice(), slot, *value)?;
    }
    Ok(())
}
