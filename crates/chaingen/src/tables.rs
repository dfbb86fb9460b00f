//! The MDBX half of a data directory.

use super::{
    Error,
    config::Layout,
    encode::{self, Account},
    error::{Db, Io},
};
use alloy_primitives::{B256, U256};
use signet_libmdbx::{
    Database, DatabaseFlags, Environment, EnvironmentFlags, Geometry, Mode, ReadResult, SyncMode,
    WriteFlags, sys::PageSize, tx::aliases::RwTxUnsync,
};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long a writer waits for readers of an older snapshot.
const READERS_WAIT_MAX: Duration = Duration::from_secs(120);

/// Every table that reth 2.5.1 creates, and whether it has sorted duplicates (reth
/// `crates/storage/db-api/src/tables/mod.rs`).
const TABLES: [(&str, bool); 31] = [
    ("AccountChangeSets", true),
    ("AccountsHistory", false),
    ("AccountsTrie", false),
    ("BlockAccessListBlockNumbers", false),
    ("BlockAccessLists", false),
    ("BlockBodyIndices", false),
    ("BlockOmmers", false),
    ("BlockWithdrawals", false),
    ("Bytecodes", false),
    ("CanonicalHeaders", false),
    ("ChainState", false),
    ("HashedAccounts", false),
    ("HashedStorages", true),
    ("HeaderNumbers", false),
    ("HeaderTerminalDifficulties", false),
    ("Headers", false),
    ("Metadata", false),
    ("PlainAccountState", false),
    ("PlainStorageState", true),
    ("PruneCheckpoints", false),
    ("Receipts", false),
    ("StageCheckpointProgresses", false),
    ("StageCheckpoints", false),
    ("StorageChangeSets", true),
    ("StoragesHistory", false),
    ("StoragesTrie", true),
    ("TransactionBlocks", false),
    ("TransactionHashNumbers", false),
    ("TransactionSenders", false),
    ("Transactions", false),
    ("VersionHistory", false),
];

/// The last stage: the tip, and how far hashed state is behind it.
const FINISH_STAGE: &str = "Finish";

/// Other stages that writing a block completes.
const BLOCK_STAGES: [&str; 4] = ["Bodies", "Era", "Headers", "SenderRecovery"];

/// Stages that writing a block with its state completes. Without state they stay at block 0, as
/// after `reth import --no-state` (`StageId::STATE_REQUIRED` in
/// `crates/stages/types/src/id.rs`).
const STATE_STAGES: [&str; 7] = [
    "AccountHashing",
    "Execution",
    "MerkleExecute",
    "MerkleUnwind",
    "Prune",
    "PruneSenderRecovery",
    "StorageHashing",
];

/// Complete in v1 if writing a block writes its state. In v2 they write to RocksDB and stay at
/// block 0: a node would build the indices from the change sets at its next start.
const HISTORY_STAGES: [&str; 2] = ["IndexAccountHistory", "IndexStorageHistory"];

/// Complete in v1, too.
const LOOKUP_STAGE: &str = "TransactionLookup";

/// How far a directory is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    /// The newest block.
    pub(super) tip: u64,
    /// The block up to which hashed state is written; at most the tip.
    pub(super) state: u64,
}

/// The database, open for writing.
#[derive(Debug)]
pub(super) struct Tables {
    env: Environment,
    layout: Layout,
}

impl Tables {
    /// Creates `folder` and the database in it, with all tables.
    pub(super) fn create(folder: &Path, layout: Layout, durable: bool) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).io(folder, "create")?;
        let version = folder.join("database.version");
        std::fs::write(&version, "2").io(&version, "write")?;
        let sync_mode = if durable {
            SyncMode::Durable
        } else {
            SyncMode::UtterlyNoSync
        };
        let mode = Mode::ReadWrite { sync_mode };
        // Like reth, except for the growth step: 4 GiB per step is useless here.
        let env = Environment::builder()
            .write_map()
            .set_max_dbs(256)
            .set_max_readers(32_000)
            .set_geometry(Geometry {
                size: Some(0..(1 << 40)),
                growth_step: Some(64 << 20),
                shrink_threshold: Some(0),
                page_size: Some(PageSize::Set(4096)),
            })
            .set_flags(EnvironmentFlags {
                mode,
                no_rdahead: true,
                coalesce: true,
                ..EnvironmentFlags::default()
            })
            .open(folder)
            .db(|| format!("create {}", folder.display()))?;
        let tables = Self { env, layout };
        let tx = tables.begin()?;
        for (table, duplicates) in TABLES {
            let flags = if duplicates {
                DatabaseFlags::DUP_SORT
            } else {
                DatabaseFlags::empty()
            };
            tx.tx
                .create_db(Some(table), flags)
                .db(|| format!("create table {table}"))?;
        }
        tx.commit()?;
        Ok(tables)
    }

    /// Starts a write transaction. There can be only one.
    pub(super) fn begin(&self) -> Result<Changes, Error> {
        let tx = self.env.begin_rw_unsync().db(|| "begin".to_owned())?;
        Ok(Changes { tx })
    }

    /// Writes the client version and the layout.
    pub(super) fn identify(&self, changes: &Changes, timestamp: u64) -> Result<(), Error> {
        let settings = format!(r#"{{"storage_v2":{}}}"#, self.layout == Layout::V2);
        changes.put(
            "Metadata",
            b"storage_settings",
            &encode::scale(settings.as_bytes()),
        )?;
        let version = format!("{}-chaingen", env!("CARGO_PKG_VERSION"));
        let version = encode::client_version([&version, "sample", ""]);
        changes.put("VersionHistory", &timestamp.to_be_bytes(), &version)
    }

    /// Sets the checkpoints of all stages and of finality.
    pub(super) fn checkpoints(
        &self,
        changes: &Changes,
        Frontier { tip, state }: Frontier,
        finalized: u64,
        with_state: bool,
    ) -> Result<(), Error> {
        let at_tip = |done| if done { tip } else { 0 };
        let is_v1 = self.layout == Layout::V1;
        let groups = [
            (&BLOCK_STAGES[..], tip),
            (&STATE_STAGES, at_tip(with_state)),
            (&HISTORY_STAGES, at_tip(with_state && is_v1)),
            (&[LOOKUP_STAGE], at_tip(is_v1)),
        ];
        let stages = groups
            .iter()
            .flat_map(|(stages, block)| stages.iter().map(|stage| (*stage, *block)));
        for (stage, block) in stages {
            let value = encode::stage_checkpoint(block);
            changes.put("StageCheckpoints", stage.as_bytes(), &value)?;
        }
        let value = encode::finish_checkpoint(tip, state);
        changes.put("StageCheckpoints", FINISH_STAGE.as_bytes(), &value)?;
        let safe = finalized + (tip - finalized) / 2;
        changes.put("ChainState", &[0], &finalized.to_le_bytes())?;
        changes.put("ChainState", &[1], &safe.to_le_bytes())
    }

    /// Number of the last committed transaction.
    fn last_txn(&self) -> Result<u64, Error> {
        let info = self.env.info().db(|| "ask for the state of".to_owned())?;
        Ok(info.last_txnid() as u64)
    }

    /// Returns the oldest snapshot that any process still reads, or the newest snapshot
    /// if there are no readers.
    #[expect(unsafe_code, reason = "the binding does not expose this number")]
    fn oldest_reader(&self) -> Result<u64, Error> {
        use signet_libmdbx::ffi;
        let mut info = std::mem::MaybeUninit::<ffi::MDBX_envinfo>::zeroed();
        let size = size_of::<ffi::MDBX_envinfo>();
        let code = self.env.with_raw_env_ptr(|env| {
            // SAFETY: `env` is valid within the closure, no transaction is passed, and
            // the buffer has the size that is passed.
            unsafe { ffi::mdbx_env_info_ex(env, std::ptr::null(), info.as_mut_ptr(), size) }
        });
        if code != 0 {
            let what = format!("ask for readers of in the database: error {code}");
            return Err(Error::Failed(what));
        }
        // SAFETY: all zeros are a valid value of this plain struct, and the call has
        // filled it.
        Ok(unsafe { info.assume_init() }.mi_latter_reader_txnid)
    }

    /// Waits until no process reads a snapshot from before the last commit.
    pub(super) fn wait_for_readers(&self) -> Result<(), Error> {
        let (commit, start) = (self.last_txn()?, Instant::now());
        while self.oldest_reader()? < commit {
            if start.elapsed() > READERS_WAIT_MAX {
                return Err(Error::Impossible(format!(
                    "waiting any longer for a reader: it has held its snapshot for {} s",
                    READERS_WAIT_MAX.as_secs()
                )));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Flushes everything to the disk.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.env.sync(true).db(|| "sync".to_owned()).map(|_| ())
    }
}

/// Uncommitted changes.
pub(super) struct Changes {
    tx: RwTxUnsync,
}

impl Changes {
    /// Puts a row. Replaces a row with the same key, or adds a duplicate in tables with
    /// duplicates.
    pub(super) fn put(&self, table: &str, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let db = self.open(table)?;
        self.tx
            .put(db, key, value, WriteFlags::UPSERT)
            .db(|| format!("write {table}"))
    }

    /// Appends a row after all others.
    pub(super) fn append(&self, table: &str, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let db = self.open(table)?;
        self.tx
            .append(db, key, value)
            .db(|| format!("append to {table}"))
    }

    /// Appends a duplicate of the last key.
    pub(super) fn append_duplicate(
        &self,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        let db = self.open(table)?;
        self.tx
            .append_dup(db, key, value)
            .db(|| format!("append to {table}"))
    }

    /// Deletes a row or all duplicates of a key, if there are any.
    pub(super) fn delete(&self, table: &str, key: &[u8]) -> Result<(), Error> {
        let db = self.open(table)?;
        self.tx
            .del(db, key, None)
            .db(|| format!("delete from {table}"))
            .map(|_| ())
    }

    /// Sets an account, or deletes it.
    pub(super) fn put_account(
        &self,
        table: &str,
        key: &[u8],
        account: Option<&Account>,
    ) -> Result<(), Error> {
        match account {
            Some(account) => self.put(table, key, &encode::account(account)),
            None => self.delete(table, key),
        }
    }

    /// Sets a slot of an account, in a table with a duplicate for each slot. Zero deletes it.
    pub(super) fn put_slot(
        &self,
        table: &str,
        account: &[u8],
        slot: B256,
        value: U256,
    ) -> Result<(), Error> {
        let db = self.open(table)?;
        let written = || -> ReadResult<()> {
            let mut cursor = self.tx.cursor(db)?;
            let row: Option<Vec<u8>> = cursor.get_both_range(account, slot.as_slice())?;
            if row.is_some_and(|row| row.starts_with(slot.as_slice())) {
                cursor.del()?;
            }
            if value.is_zero() {
                return Ok(());
            }
            let row = encode::storage_entry(slot, value);
            Ok(self.tx.put(db, account, row, WriteFlags::UPSERT)?)
        };
        written().db(|| format!("write {table}"))
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let db = self.open(table)?;
        self.tx.get(db.dbi(), key).db(|| format!("read {table}"))
    }

    fn open(&self, table: &str) -> Result<Database, Error> {
        self.tx.open_db(Some(table)).db(|| format!("open {table}"))
    }

    /// Commits all changes at once.
    pub(super) fn commit(self) -> Result<(), Error> {
        self.tx.commit().db(|| "commit".to_owned())
    }
}
