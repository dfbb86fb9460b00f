//! Writes executed blocks completely, with state, change sets and history.

use super::{
    Changed, Error, ExecutedBlock, FirstAccount, Tip,
    config::{Layout, Storage},
    encode::{self, Account},
    error::Io,
    executed::genesis_file,
    histories::Histories,
    masking,
    segments::{self, Segments},
    tables::{Changes, Frontier, StateRows, Tables},
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    thread,
    time::Duration,
};

/// The prune segments of senders, receipts, logs of contracts, and bodies (reth
/// `crates/prune/types/src/segment.rs`).
const PRUNED_WITH_BODIES: [u8; 4] = [0, 2, 3, 9];

/// A data directory whose blocks are executed by the caller.
///
/// Appends and unwinds like [`Appender`](super::Appender). In layout v1 the history
/// indices are written too. In v2 they would be in RocksDB, so their stages are at block
/// 0. There are no tries.
///
/// With `masking_blocks` ([`Storage`]), hashed state stays behind the blocks. Plain state, which
/// only layout v1 has, is always at the tip.
///
/// [`Self::create`] starts a chain with its state. [`Self::create_from`] writes blocks from the
/// middle of a chain, without state.
#[derive(Debug)]
pub struct BlockWriter {
    storage: Storage,
    rows: StateRows,
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
    pause: Duration,
}

#[derive(Debug)]
struct Recent {
    block: ExecutedBlock,
    tip: Tip,
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
        let rows = match storage.layout {
            Layout::V1 => StateRows::Indexed,
            Layout::V2 => StateRows::Changes,
        };
        let mut writer = Self::begin(folder, storage, rows, Tip::default())?;
        let file = folder.join("genesis.json");
        let json = serde_json::to_vec_pretty(&genesis_file(chain_id, header.gas_limit, accounts));
        let json = json.map_err(|e| Error::Config(e.to_string()))?;
        std::fs::write(&file, json).io(&file, "write")?;

        let changes = writer.tables.begin()?;
        writer.tables.identify(&changes, header.timestamp)?;
        writer.write(&changes, first_block(header, accounts))?;
        writer.finish(changes, 1, 0)?;
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
        let mut writer = Self::begin(folder, storage, StateRows::None, before)?;
        writer.finalized = number;
        let changes = writer.tables.begin()?;
        writer.tables.identify(&changes, timestamp)?;
        writer.append_in(changes, blocks, 0)?;
        Ok(writer)
    }

    /// Creates the files of a directory without blocks. `before` is the block before the first.
    fn begin(folder: &Path, storage: Storage, rows: StateRows, before: Tip) -> Result<Self, Error> {
        super::appender::check_empty(folder)?;
        let files = folder.join("static_files");
        std::fs::create_dir_all(&files).io(&files, "create")?;
        let Storage {
            layout,
            blocks_per_file,
            durable,
            ..
        } = storage;
        Ok(Self {
            segments: Segments::new(&files, layout, blocks_per_file, durable, rows),
            tables: Tables::create(&folder.join("db"), layout, durable)?,
            tip: before,
            storage,
            rows,
            account_history: Histories::new("AccountsHistory"),
            slot_history: Histories::new("StoragesHistory"),
            recent: VecDeque::new(),
            finalized: 0,
            state: None,
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

    /// Sets a pause between the static files and MDBX in every commit.
    pub fn set_pause(&mut self, pause: Duration) {
        self.pause = pause;
    }

    /// Appends consecutive blocks after the tip, in one commit.
    pub fn append(&mut self, blocks: Vec<ExecutedBlock>) -> Result<Tip, Error> {
        let changes = self.tables.begin()?;
        let masking = match self.rows {
            StateRows::None => 0,
            _ => self.storage.masking_blocks,
        };
        self.append_in(changes, blocks, masking)
    }

    /// Appends blocks, if any, and writes all state, as a node does when it is stopped.
    pub fn flush(&mut self, blocks: Vec<ExecutedBlock>) -> Result<Tip, Error> {
        let changes = self.tables.begin()?;
        self.append_in(changes, blocks, 0)
    }

    fn append_in(
        &mut self,
        changes: Changes,
        blocks: Vec<ExecutedBlock>,
        masking: u64,
    ) -> Result<Tip, Error> {
        let count = blocks.len();
        for block in blocks {
            let number = block.header.number;
            if block.header.parent_hash != self.tip.hash {
                let problem = format!("block {number} does not follow the tip");
                return Err(Error::Impossible(problem));
            }
            if self.rows == StateRows::None && block.changes_state() {
                let problem = format!("block {number} changes state in a directory without state");
                return Err(Error::Impossible(problem));
            }
            self.write(&changes, block)?;
        }
        self.finish(changes, count, masking)?;
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
        if self.storage.layout == Layout::V1 {
            let why = "pruning static receipts in v1, where pruned receipts live in MDBX";
            return Err(Error::Impossible(why.to_owned()));
        }
        let Some((block, tx)) = self.segments.prune_bodies(below)? else {
            return Ok(None);
        };
        let changes = self.tables.begin()?;
        let checkpoint = encode::prune_checkpoint(block, tx, below);
        for segment in PRUNED_WITH_BODIES {
            changes.put("PruneCheckpoints", &[segment], &checkpoint)?;
        }
        changes.commit()?;
        Ok(Some(block))
    }

    /// Flushes everything to the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.segments.all().try_for_each(|segment| segment.sync())?;
        self.tables.sync()
    }

    /// Writes everything except the current state, and does not commit.
    fn write(&mut self, changes: &Changes, block: ExecutedBlock) -> Result<(), Error> {
        let (number, first_tx) = (block.header.number, self.tip.transactions);
        let hash = block.header.hash_slow();
        self.segments.begin_block(changes, &block.header, hash)?;
        let stored = block.rows();
        let transactions = self.segments.write_body(
            changes,
            number,
            first_tx,
            stored.iter(),
            &block.withdrawals,
        )?;
        let lookup = stored.iter().map(|row| row.hash).zip(first_tx..).collect();
        segments::write_lookup(changes, self.storage.layout, lookup)?;
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
        let tip = self.tip;
        self.recent.push_back(Recent { block, tip });
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
        if self.rows == StateRows::Indexed {
            for address in block.accounts.keys() {
                self.account_history.note(address.to_vec(), number);
            }
            for (address, slot) in block.slots.keys() {
                self.slot_history.note(slot_key(address, slot), number);
            }
        }
        Ok(())
    }

    /// Commits the newest `count` blocks: files first, then tables. Hashed state stays
    /// `masking` blocks behind.
    fn finish(&mut self, changes: Changes, count: usize, masking: u64) -> Result<(), Error> {
        self.segments
            .all()
            .try_for_each(|segment| segment.commit())?;
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        let (mut accounts, mut slots) = (BTreeMap::new(), BTreeMap::new());
        for Recent { block, .. } in self.recent.iter().skip(self.recent.len() - count) {
            accounts.extend(block.accounts.iter().map(|(key, it)| (*key, it.after)));
            slots.extend(block.slots.iter().map(|(key, it)| (*key, it.after)));
        }
        self.write_plain(&changes, &accounts, &slots)?;
        let before = self.state;
        let state = Some(self.tip.number.saturating_sub(masking)).max(before);
        self.state = state;
        let behind = || {
            let blocks = self.recent.iter().map(|it| (it.tip.number, &it.block));
            blocks.filter(move |(number, _)| Some(*number) > before)
        };
        let written = state.unwrap_or(0);
        write_hashed(
            &changes,
            &masking::written(behind().map(|(number, it)| (number, &it.accounts)), written),
            &masking::written(behind().map(|(number, it)| (number, &it.slots)), written),
        )?;
        let finality = self.storage.finality;
        self.finalized = self.finalized.max(self.tip.number.saturating_sub(finality));
        let oldest = self.finalized.min(written);
        let kept = usize::try_from(self.tip.number - oldest + 1).unwrap_or(usize::MAX);
        let old = self.recent.len().saturating_sub(kept);
        self.recent.drain(..old);
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
            .checkpoints(changes, frontier, self.finalized, self.rows)
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
        let Recent { block, tip } = gone;
        let hashes: Vec<_> = block.rows().iter().map(|row| row.hash).collect();
        let first_tx = tip.transactions - hashes.len() as u64;
        let layout = self.storage.layout;
        let place = (tip.number, tip.hash);
        Segments::take_back(changes, layout, place, first_tx, &hashes)?;
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

fn slot_key(address: &Address, slot: &B256) -> Vec<u8> {
    [address.as_slice(), slot.as_slice()].concat()
}

/// Block 0 creates all accounts of the start.
fn first_block(
    header: alloy_consensus::Header,
    accounts: &BTreeMap<Address, FirstAccount>,
) -> ExecutedBlock {
    let mut block = ExecutedBlock {
        header,
        ..ExecutedBlock::default()
    };
    let mut codes: BTreeMap<B256, Bytes> = BTreeMap::new();
    for (address, first) in accounts {
        let code_hash = (!first.code.is_empty()).then(|| keccak256(&first.code));
        codes.extend(code_hash.map(|hash| (hash, first.code.clone())));
        let account = Account {
            nonce: first.nonce,
            balance: first.balance,
            code_hash,
        };
        let changed = Changed {
            before: None,
            after: Some(account),
        };
        block.accounts.insert(*address, changed);
        for (slot, value) in &first.storage {
            let changed = Changed {
                before: U256::ZERO,
                after: *value,
            };
            block.slots.insert((*address, *slot), changed);
        }
    }
    block.codes = codes.into_iter().collect();
    block
}

fn write_hashed(
    changes: &Changes,
    accounts: &BTreeMap<Address, Option<Account>>,
    slots: &BTreeMap<(Address, B256), U256>,
) -> Result<(), Error> {
    for (address, account) in accounts {
        let hashed = keccak256(address);
        changes.put_account("HashedAccounts", hashed.as_slice(), account.as_ref())?;
    }
    for ((address, slot), value) in slots {
        let (account, slot) = (keccak256(address), keccak256(slot));
        changes.put_slot("HashedStorages", account.as_slice(), slot, *value)?;
    }
    Ok(())
}
