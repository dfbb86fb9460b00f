//! One consistent view of a data directory, by the protocol that keeps a reader
//! right beside a running node: begin the read transaction, take the tip from
//! it, then list the static files. The node commits them before MDBX, so all of
//! a block at or below the tip is there; rows above it may vanish again.

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
use std::{
    cell::{Cell, OnceCell, RefCell},
    fmt,
    sync::Arc,
};
use txgraph_keccak::{LANES_MAX, keccak256_parts};

/// One consistent view: an MDBX read transaction and the static files listed
/// after it began. Keep it for seconds, not minutes: it holds back the node
/// (`wait_for_pre_commit_readers`, reth 2.0 and later, stalls an on-disk reorg
/// until all older readers are gone).
///
/// Not `Sync`: every worker takes its own. Two snapshots with the same
/// [`id`](Snapshot::id) see the same blocks.
pub struct Snapshot<'db> {
    pub(crate) db: &'db NodeDb,
    pub(crate) txn: Txn,
    pub(crate) files: StaticFiles,
    tip: u64,
    /// Asked with every account and slot, and the same for all of them.
    pub(crate) layout: OnceCell<Layout>,
    pub(crate) changes_pruned_to: OnceCell<[Option<u64>; 2]>,
    /// Caught up with this snapshot; only where it was asked.
    pub(crate) rocks: OnceCell<Arc<Rocks>>,
    /// Of accounts and of storage, each with the view it was found in.
    pub(crate) first_indexed: [Cell<Option<(u64, u64)>>; 2],
    /// For the calls that take no scratch.
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
            rocks: OnceCell::new(),
            first_indexed: Default::default(),
            own_scratch: RefCell::default(),
        };
        let stale = |what: String| Err(Error::stale(db.dir().static_files_path(), what));
        if snapshot.files.find(Segment::Headers, tip).is_none() {
            return stale(format!(
                "no headers file holds block {tip}, the tip of the database"
            ));
        }
        // Files that were listed too late: a node before reth 2.0 may have put
        // another branch into them since the transaction began.
        match snapshot.block_hash(tip) {
            Err(Error::Inconsistent { what, .. }) => stale(format!("block {tip}: {what}")),
            Err(error) => Err(error),
            Ok(_) => Ok(snapshot),
        }
    }

    /// The `Finish` checkpoint: the highest block that may be read. Static files
    /// may hold more, which is not part of the chain yet, or no longer.
    pub const fn tip(&self) -> u64 {
        self.tip
    }

    /// Number of the MDBX commit this snapshot sees.
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

    /// The canonical hash of a block.
    pub fn block_hash(&self, block: u64) -> Result<B256> {
        self.check_tip(block)?;
        let hash = self.hash_of(block, &mut self.own_scratch.borrow_mut(), block)?;
        self.check_committed(block, hash)
            .map_err(|error| self.settle(error))?;
        Ok(hash)
    }

    /// That a hash from the static files is that of the block in this snapshot.
    fn check_committed(&self, block: u64, hash: B256) -> Result<()> {
        let number = self
            .txn
            .get(Table::HeaderNumbers, hash.as_slice())?
            .map(tables::plain_u64)
            .transpose()
            .map_err(|what| self.bad_row(Table::HeaderNumbers, &hash.to_string(), what))?;
        if number == Some(block) {
            return Ok(());
        }
        Err(Error::Inconsistent {
            block,
            what: format!("hash {hash} of the static files is not that of the database"),
        })
    }

    /// That the static files hold this block of the snapshot, now, after the last row
    /// was read; `hash`: as it was read before, if it was. Before reth 2.0 nothing
    /// keeps a node from replacing rows under a reader by those of another branch, and
    /// whatever was read may then be a mixture. Other branches come only after all
    /// segments were cut back, so the header of the last block tells.
    pub(crate) fn check_undisturbed(&self, block: u64, hash: Option<B256>) -> Result<()> {
        let again = self.hash_of(block, &mut Scratch::default(), block)?;
        if let Some(hash) = hash.filter(|hash| *hash != again) {
            let (jar, _) = self.header_row(block)?;
            return Err(jar.stale(format!("block {block} was {hash}, and now is {again}")));
        }
        self.check_committed(block, again)
    }

    /// Contradictions between files that changed since this snapshot are no damage.
    #[cold]
    pub(crate) fn settle(&self, error: Error) -> Error {
        match error {
            Error::Corrupt { .. } | Error::Inconsistent { .. } | Error::WrongSender { .. }
                if !self.files.are_current() =>
            {
                Error::stale(self.db.dir().static_files_path(), error.to_string())
            }
            error => error,
        }
    }

    /// The header of a block.
    pub fn header(&self, block: u64) -> Result<Header> {
        self.check_tip(block)?;
        let header = self.header_of(block, &mut self.own_scratch.borrow_mut(), block)?;
        self.check_committed(block, header.hash)
            .map_err(|error| self.settle(error))?;
        Ok(header)
    }

    /// First and last transaction number of a range are cheap: used to size chunks.
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

    /// Column 2 of the headers jar; `last` ends the read-ahead.
    pub(crate) fn hash_of(&self, block: u64, scratch: &mut Scratch, last: u64) -> Result<B256> {
        let (jar, row) = self.header_row(block)?;
        let reader = scratch.headers.reader(jar)?;
        let hash = reader.cell(row, 2, row + (last - block))?;
        B256::try_from(hash).map_err(|_| jar.bad_row(row, "the block hash is not 32 bytes long"))
    }

    /// The header of a block, which has the hash stored beside it. Of many that lie
    /// close together `last` is the last: reading goes ahead to it. Whether it is
    /// the canonical one of this snapshot is not looked up, unlike by
    /// [`Self::header`].
    pub fn header_of(&self, block: u64, scratch: &mut Scratch, last: u64) -> Result<Header> {
        let header = self.unchecked_header_of(block, scratch, last)?;
        self.check_hash(&header, scratch)?;
        Ok(header)
    }

    /// The same without [`Self::check_hash`].
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
            return Err(jar.bad_row(row, &format!("it is block {}, not {block}", header.number)));
        }
        Ok(header)
    }

    /// The bloom filter of a header over the addresses and topics of the block's logs,
    /// without decoding the rest; nothing of it is checked.
    pub fn logs_bloom<'s>(&'s self, block: u64, scratch: &'s mut Scratch) -> Result<LogsBloom<'s>> {
        self.check_tip(block)?;
        self.bloom_of(block, scratch, block)
    }

    /// The same; `last` ends the read-ahead.
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

    /// That a header has the hash stored beside it: the strongest check there is,
    /// and with about 2 µs the dearest.
    pub(crate) fn check_hash(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        if header.recompute_hash_with(&mut scratch.rlp) == header.hash {
            return Ok(());
        }
        Err(self.wrong_hash(header.number))
    }

    /// The same, done by the next [`Self::check_queued`] or before.
    pub(crate) fn queue_check(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        let Unchecked {
            rlp,
            forms,
            headers,
        } = &mut scratch.unchecked;
        let start = rlp.len();
        header.encode(rlp);
        forms.push(start..rlp.len());
        headers.push((header.number, header.hash));
        match headers.len() {
            LANES_MAX => self.check_queued(scratch),
            _ => Ok(()),
        }
    }

    /// Checks the headers that [`Self::queue_check`] has left, eight for the price of one
    /// where the machine can.
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
            Ok((jar, row)) => {
                jar.bad_row(row, "the header does not have the hash stored beside it")
            }
            Err(error) => error,
        }
    }

    fn header_row(&self, block: u64) -> Result<(&Arc<crate::jar::Jar>, u64)> {
        self.files
            .find(Segment::Headers, block)
            .ok_or_else(|| Error::Missing {
                part: Part::Header,
                block,
                reason: "no static file holds it".into(),
            })
    }

    /// A value of an MDBX table that cannot be decoded.
    pub(crate) fn bad_value(&self, table: Table, key: u64, what: &str) -> Error {
        self.bad_row(table, &key.to_string(), what)
    }

    /// The same for keys that are no numbers.
    pub(crate) fn bad_row(&self, table: Table, key: &str, what: &str) -> Error {
        Error::corrupt(
            self.txn.path(),
            format!(
                "table {}, key {key}: {what}",
                table.name().to_string_lossy()
            ),
        )
    }
}

/// The tip. A directory that only holds the genesis has no checkpoint above 0.
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
