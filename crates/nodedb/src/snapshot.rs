//! A consistent view of a data directory next to a running node: begin the MDBX read
//! transaction, read the tip, then list the static files. The node commits static files
//! before MDBX, so blocks up to the tip are complete. Rows above the tip may disappear. See
//! `docs/node-reader.md`.

use crate::{
    BodyIndices, Error, Header, Layout, LogsBloom, NodeDb, Part, Result, Scratch,
    conf::Segment,
    header,
    mdbx::Txn,
    rocks::Rocks,
    scratch::Unchecked,
    static_files::StaticFiles,
    tables::{self, Table},
};
use alloy_primitives::B256;
use alloy_rlp::Encodable;
use std::{
    cell::{Cell, OnceCell, RefCell},
    fmt,
    sync::Arc,
};
use txgraph_keccak::{LANES_MAX, keccak256_parts};

/// A consistent view: an MDBX read transaction, and the static files as listed after it
/// began. Keep it for seconds, not minutes: since reth 2.0 a reorganization on disk waits
/// for all older readers (`wait_for_pre_commit_readers`).
///
/// Not `Sync`: every worker takes its own. Two snapshots with the same
/// [`id`](Snapshot::id) see the same blocks.
pub struct Snapshot<'db> {
    pub(crate) db: &'db NodeDb,
    pub(crate) txn: Txn,
    pub(crate) files: Arc<StaticFiles>,
    tip: u64,
    /// Cached because it is needed for every account and slot.
    pub(crate) layout: OnceCell<Layout>,
    pub(crate) changes_pruned_to: OnceCell<[Option<u64>; 2]>,
    /// Cached because it is needed for every block that is proven.
    pub(crate) byzantium: OnceCell<Option<u64>>,
    /// Set at the first use, after catching up with this snapshot.
    pub(crate) rocks: OnceCell<Arc<Rocks>>,
    /// The first indexed block for accounts and for storage, each with its RocksDB commit.
    pub(crate) first_indexed: [Cell<Option<(u64, u64)>>; 2],
    /// For methods without a scratch parameter.
    pub(crate) own_scratch: RefCell<Scratch>,
}

impl fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("tip", &self.tip)
            .finish_non_exhaustive()
    }
}

impl<'db> Snapshot<'db> {
    pub(crate) fn begin(db: &'db NodeDb) -> Result<Self> {
        let txn = db.env().begin()?;
        let tip = finish_checkpoint(&txn)?;
        let files = db.list_static_files()?;
        let snapshot = Self {
            db,
            txn,
            files,
            tip,
            layout: OnceCell::new(),
            changes_pruned_to: OnceCell::new(),
            byzantium: OnceCell::new(),
            rocks: OnceCell::new(),
            first_indexed: Default::default(),
            own_scratch: RefCell::default(),
        };
        let stale = |what: String| {
            db.forget_listing();
            Err(Error::stale(db.dir().static_files_path(), what))
        };
        if snapshot.files.find(Segment::Headers, tip).is_none() {
            return stale(format!(
                "no headers file has block {tip}, the tip of the database"
            ));
        }
        // The listing may be too late: before reth 2.0, a node can write another branch
        // after the transaction began.
        match snapshot.block_hash(tip) {
            Err(Error::Inconsistent { what, .. }) => stale(format!("block {tip}: {what}")),
            Err(error) => Err(error),
            Ok(_) => Ok(snapshot),
        }
    }

    /// Returns the `Finish` checkpoint: the highest block that can be read. Static files may
    /// have later blocks, which are not part of the chain yet, or no longer.
    pub const fn tip(&self) -> u64 {
        self.tip
    }

    /// Returns the number of the MDBX commit of this snapshot.
    pub fn id(&self) -> u64 {
        self.txn.id()
    }

    /// Refuses blocks above the tip.
    pub(crate) const fn check_tip(&self, block: u64) -> Result<()> {
        if block > self.tip {
            Err(Error::AboveTip {
                block,
                tip: self.tip,
            })
        } else {
            Ok(())
        }
    }

    /// Returns the canonical hash of a block.
    pub fn block_hash(&self, block: u64) -> Result<B256> {
        self.check_tip(block)?;
        let hash = self.hash_of(block, &mut self.own_scratch.borrow_mut(), block)?;
        self.check_committed(block, hash)
            .map_err(|error| self.stale_if_changed(error))?;
        Ok(hash)
    }

    /// Returns the number of the canonical block with this hash; `None` if there is none up to the
    /// tip.
    pub fn block_with_hash(&self, hash: B256) -> Result<Option<u64>> {
        let Some(block) = self.number_of(hash)?.filter(|block| *block <= self.tip) else {
            return Ok(None);
        };
        // The table may keep hashes of abandoned branches.
        let canonical = self.hash_of(block, &mut self.own_scratch.borrow_mut(), block)?;
        Ok((canonical == hash).then_some(block))
    }

    /// Reads the number that MDBX has for the hash of a block.
    fn number_of(&self, hash: B256) -> Result<Option<u64>> {
        self.txn
            .get(Table::HeaderNumbers, hash.as_slice())?
            .map(tables::plain_u64)
            .transpose()
            .map_err(|what| self.bad_row(Table::HeaderNumbers, &hash.to_string(), what))
    }

    /// Checks that MDBX has the same number for a hash from the static files.
    fn check_committed(&self, block: u64, hash: B256) -> Result<()> {
        if self.number_of(hash)? == Some(block) {
            return Ok(());
        }
        Err(Error::Inconsistent {
            block,
            what: format!("its hash {hash} in the static files is not its hash in the database"),
        })
    }

    /// Checks, after the last row was read, that the static files still have this block of
    /// the snapshot. `hash` is the hash that was read before, if any.
    ///
    /// Before reth 2.0 a node may replace rows under a reader by rows of another branch.
    /// It first truncates all segments to the fork block. So if the hash of the last block is
    /// unchanged, no earlier row was replaced either.
    pub(crate) fn check_unchanged(&self, block: u64, hash: Option<B256>) -> Result<()> {
        let again = self.hash_of(block, &mut Scratch::default(), block)?;
        if let Some(hash) = hash.filter(|hash| *hash != again) {
            let (jar, _) = self.header_row(block)?;
            return Err(jar.stale(format!(
                "block {block} had hash {hash}, and now has {again}"
            )));
        }
        self.check_committed(block, again)
    }

    /// Turns damage into a stale error if files changed since they were listed.
    #[cold]
    pub(crate) fn stale_if_changed(&self, error: Error) -> Error {
        match error {
            Error::Corrupt { .. } | Error::Inconsistent { .. } | Error::WrongSender { .. }
                if !self.files.are_current() =>
            {
                self.db.forget_listing();
                Error::stale(self.db.dir().static_files_path(), error.to_string())
            }
            error => error,
        }
    }

    /// Returns the header of a block.
    pub fn header(&self, block: u64) -> Result<Header> {
        self.check_tip(block)?;
        let header = self.header_of(block, &mut self.own_scratch.borrow_mut(), block)?;
        self.check_committed(block, header.hash)
            .map_err(|error| self.stale_if_changed(error))?;
        Ok(header)
    }

    /// Returns the first block of Amsterdam, or a later one if no earlier header is stored. From it
    /// on, headers have the hash of a block access list (EIP-7928), and logs report the movements
    /// of the native coin (EIP-7708). `None` if the newest block is older.
    ///
    /// # Errors
    ///
    /// If a header cannot be read.
    pub fn amsterdam(&self) -> Result<Option<u64>> {
        // Forks stay active, so a binary search finds the first one.
        let is_active = |block| match self.header(block) {
            Ok(header) => Ok(header.block_access_list_hash.is_some()),
            Err(Error::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let (mut first, mut last) = (0, self.tip());
        if !is_active(last)? {
            return Ok(None);
        }
        while first < last {
            let middle = first.midpoint(last);
            match is_active(middle)? {
                true => last = middle,
                false => first = middle + 1,
            }
        }
        Ok(Some(first))
    }

    /// Returns the transaction numbers of a block. Cheap, so it can be used to size chunks.
    pub fn body(&self, block: u64) -> Result<BodyIndices> {
        self.check_tip(block)?;
        let value = self
            .txn
            .get(Table::BlockBodyIndices, &tables::number_key(block))?;
        let Some(value) = value else {
            return Err(self.missing_body(block));
        };
        tables::body_indices(value)
            .map_err(|what| self.bad_value(Table::BlockBodyIndices, block, what))
    }

    /// Reads column 2 of the headers jar. Read-ahead ends at block `last`.
    pub(crate) fn hash_of(&self, block: u64, scratch: &mut Scratch, last: u64) -> Result<B256> {
        let (jar, row) = self.header_row(block)?;
        let reader = scratch.headers.reader(jar)?;
        let hash = reader.cell(row, 2, row + (last - block))?;
        B256::try_from(hash).map_err(|_| jar.bad_row(row, "the block hash is not 32 bytes long"))
    }

    /// Returns the header of a block, after comparing it with its stored hash. Read-ahead
    /// ends at block `last`, the last one that the caller will read. Unlike
    /// [`Self::header`], this does not look up whether the hash is canonical.
    pub fn header_of(&self, block: u64, scratch: &mut Scratch, last: u64) -> Result<Header> {
        let header = self.unchecked_header_of(block, scratch, last)?;
        self.check_hash(&header, scratch)?;
        Ok(header)
    }

    /// Like [`Self::header_of`], without comparing the hash.
    pub(crate) fn unchecked_header_of(
        &self,
        block: u64,
        scratch: &mut Scratch,
        last: u64,
    ) -> Result<Header> {
        let hash = self.hash_of(block, scratch, last)?;
        let (jar, row) = self.header_row(block)?;
        let cell = scratch
            .headers
            .reader(jar)?
            .cell(row, 0, row + (last - block))?;
        let header = header::decode(cell, hash).map_err(|what| jar.bad_row(row, what))?;
        if header.number != block {
            return Err(jar.bad_row(
                row,
                &format!("it is the header of block {}, not {block}", header.number),
            ));
        }
        Ok(header)
    }

    /// Returns the bloom filter of a header over the addresses and topics of the block's
    /// logs, without decoding the rest. It is not checked.
    pub fn logs_bloom<'s>(&'s self, block: u64, scratch: &'s mut Scratch) -> Result<LogsBloom<'s>> {
        self.check_tip(block)?;
        self.bloom_of(block, scratch, block)
    }

    /// Like [`Self::logs_bloom`], with read-ahead to block `last`.
    pub(crate) fn bloom_of<'s>(
        &'s self,
        block: u64,
        scratch: &'s mut Scratch,
        last: u64,
    ) -> Result<LogsBloom<'s>> {
        let (jar, row) = self.header_row(block)?;
        let reader = scratch.headers.reader(jar)?;
        LogsBloom::new(reader.peek(row, 0, row + (last - block))?)
    }

    /// Compares a header with its stored hash: the strongest check, and the most expensive
    /// (about 2 µs).
    pub(crate) fn check_hash(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        if header.recompute_hash_with(&mut scratch.rlp) == header.hash {
            return Ok(());
        }
        Err(self.wrong_hash(header.number))
    }

    /// Like [`Self::check_hash`], but delayed until [`Self::check_queued`] at the latest.
    pub(crate) fn queue_check(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        let Unchecked {
            rlp,
            forms,
            headers,
        } = &mut scratch.unchecked;
        let start = rlp.len();
        header.fields.encode(rlp);
        forms.push(start..rlp.len());
        headers.push((header.number, header.hash));
        match headers.len() {
            LANES_MAX => self.check_queued(scratch),
            _ => Ok(()),
        }
    }

    /// Checks the queued headers. Eight cost as much as one where the machine has wide
    /// vector registers.
    pub(crate) fn check_queued(&self, scratch: &mut Scratch) -> Result<()> {
        let unchecked = &mut scratch.unchecked;
        let mut hashes = [B256::ZERO; LANES_MAX];
        let hashes = &mut hashes[..unchecked.forms.len()];
        keccak256_parts(&unchecked.rlp, &unchecked.forms, hashes);
        let mut checked = unchecked.headers.iter().zip(hashes);
        let wrong = checked.find(|((_, stored), hash)| stored != *hash);
        let wrong = wrong.map(|((block, _), _)| *block);
        unchecked.clear();
        wrong.map_or(Ok(()), |block| Err(self.wrong_hash(block)))
    }

    #[cold]
    fn wrong_hash(&self, block: u64) -> Error {
        match self.header_row(block) {
            Ok((jar, row)) => jar.bad_row(row, "the header does not have its stored hash"),
            Err(error) => error,
        }
    }

    fn header_row(&self, block: u64) -> Result<(&Arc<crate::jar::Jar>, u64)> {
        self.files
            .find(Segment::Headers, block)
            .ok_or_else(|| Error::Missing {
                part: Part::Header,
                block,
                reason: "no static file has it".into(),
            })
    }

    /// The error for a value of an MDBX table that cannot be decoded.
    pub(crate) fn bad_value(&self, table: Table, key: u64, what: &str) -> Error {
        self.bad_row(table, &key.to_string(), what)
    }

    /// Like [`Self::bad_value`], for keys that are not numbers.
    pub(crate) fn bad_row(&self, table: Table, key: &str, what: &str) -> Error {
        Error::corrupt(
            self.txn.path(),
            format!(
                "table {}, key {key}: {what}{}",
                table.name().to_string_lossy(),
                self.newest_writer()
            ),
        )
    }
}

/// Reads the tip. A directory with only the genesis has no checkpoint above 0.
fn finish_checkpoint(txn: &Txn) -> Result<u64> {
    let Some(value) = txn.get(Table::StageCheckpoints, b"Finish")? else {
        return Ok(0);
    };
    let (block, _) = tables::stage_checkpoint(value).map_err(|what| {
        Error::corrupt(
            txn.path(),
            format!("table StageCheckpoints, key Finish: {what}"),
        )
    })?;
    Ok(block)
}
