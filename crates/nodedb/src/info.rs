//! The content of `txgraph info`: chain and layout, the tip, and which parts of the chain
//! exist.

use crate::{
    BlockRange, Chain, Error, Gap, Layout, Part, PruneCheckpoint, Result, Snapshot,
    StageCheckpoint, TxRange,
    conf::Segment,
    escape::escaped,
    jar::Jar,
    jar_reader::JarReader,
    tables::{self, Table},
};
use alloy_primitives::B256;
use serde::Serialize;
use std::{path::PathBuf, sync::Arc};
use txgraph_base::{BlockRanges, number};

/// A summary of a data directory, serialized as the output of `txgraph info --json`. Block
/// ranges are inclusive, ascending and disjoint, and end at the tip.
///
/// Texts from the directory (names, versions) are escaped for terminals.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// The data directory.
    pub path: PathBuf,
    /// The chain.
    pub chain: Chain,
    /// `v1` or `v2`.
    pub layout: &'static str,
    /// The node's row `storage_settings` (reth 1.10 and later), as JSON.
    pub storage_settings: Option<String>,
    /// The versions of reth that opened the directory for writing, oldest first. Each
    /// version is listed once, with its first time.
    pub written_by: Vec<Writer>,
    /// The highest block that can be read.
    pub tip: Tip,
    /// The last block whose state is stored: the tip, or an earlier block on a node that stores
    /// states later than blocks (reth 2.6 and later). `None` if this cannot be read.
    pub state_block: Option<u64>,
    /// The last finalized block the node has stored, if it follows a beacon node.
    pub finalized: Option<u64>,
    /// The last safe block that the node has stored.
    pub safe: Option<u64>,
    /// Blocks whose headers exist.
    pub headers: Vec<BlockRange>,
    /// Blocks whose transactions exist.
    pub transactions: Vec<BlockRange>,
    /// Blocks whose senders are stored; others are recovered from signatures.
    pub senders: Vec<BlockRange>,
    /// Blocks whose receipts all exist.
    pub receipts: Vec<BlockRange>,
    /// First and last block with a withdrawal.
    pub withdrawals: Option<BlockRange>,
    /// Blocks after which balance, nonce and code of every account are available.
    pub account_state: Vec<BlockRange>,
    /// Blocks after which the storage of every account is available.
    pub storage_state: Vec<BlockRange>,
    /// Where transactions are looked up by hash: `MDBX`, `RocksDB`, or why they cannot be.
    pub hash_index: String,
    /// Where the blocks that changed an account or slot are looked up, as for `hash_index`.
    pub history_index: String,
    /// Where receipts are: `static files`, `MDBX`, `both` or `none`.
    pub receipts_source: &'static str,
    /// The progress of the node's pruner.
    pub prune_checkpoints: Vec<PruneCheckpoint>,
    /// The progress of the node's stages.
    pub stage_checkpoints: Vec<StageCheckpoint>,
    /// All static files.
    pub static_files: Vec<StaticFile>,
    /// Remarks for users, in sentences.
    pub notes: Vec<String>,
}

/// A version of reth that wrote to a directory (`VersionHistory`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Writer {
    /// The version, e.g. `2.5.1`.
    pub version: String,
    /// The commit that it was built from.
    pub git_sha: String,
    /// Its build time, as text.
    pub build_time: String,
    /// When it first opened the directory, in unix seconds.
    pub first_opened: u64,
}

/// The highest block that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tip {
    /// The block number.
    pub number: u64,
    /// The block hash.
    pub hash: B256,
    /// The block time in unix seconds.
    pub timestamp: u64,
}

/// A static file, as described by its `.conf`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StaticFile {
    /// The segment, e.g. `receipts`.
    pub segment: &'static str,
    /// The file name.
    pub name: String,
    /// The blocks that it is reserved for.
    pub expected_blocks: BlockRange,
    /// The blocks that the node has processed. Rows of some may be absent.
    pub blocks: Option<BlockRange>,
    /// The numbers of the transactions whose rows it has.
    pub txs: Option<TxRange>,
    /// The number of rows.
    pub rows: u64,
}

impl Snapshot<'_> {
    /// Collects the content of `txgraph info`.
    pub fn info(&self) -> Result<Info> {
        let header = self.header(self.tip())?;
        let whole = BlockRange::from_to(self.genesis_block(), self.tip());
        // Without `state_coverage`, which reads change sets: some may be damaged.
        let state_block = match self.state_obstacle()? {
            None => Some(self.state_block()?),
            Some(_) => None,
        };
        let state = |part| -> Result<Option<BlockRange>> {
            let (blocks, _) = self.state_range(part)?;
            Ok(state_block.and_then(|last| BlockRange::new(blocks.first, last)))
        };
        let unreadable = self.unreadable_jars();
        let jars = |segment| {
            let jars = unreadable.iter().map(|(jar, _)| *jar);
            jars.filter(move |jar| jar.segment == segment)
        };
        let body_gaps = self.body_gaps(whole)?;
        let bodies = body_gaps.iter().map(|gap| gap.blocks);
        let readable = |segment, gaps: Vec<BlockRange>| -> Result<Vec<BlockRange>> {
            let lost = self.blocks_in_jars(whole, jars(segment))?;
            let lost = gaps.into_iter().chain(lost).chain(bodies.clone());
            let present = BlockRanges::from(whole).subtract(&lost.collect());
            Ok(present.iter().collect())
        };
        let lost_headers = jars(Segment::Headers)
            .filter_map(|jar| jar.conf.blocks)
            .collect();
        let headers = self.covered_by(Segment::Headers, whole);
        // State after a block needs the change sets of all later blocks.
        let readable_state = |segment, state: Option<BlockRange>| -> Vec<BlockRange> {
            let last_lost = jars(segment)
                .filter_map(|jar| Some(jar.conf.blocks?.last))
                .max();
            let first =
                |blocks: BlockRange| blocks.first.max(last_lost.unwrap_or(0)).min(blocks.last);
            let state = state.map(|blocks| BlockRange {
                first: first(blocks),
                ..blocks
            });
            state.into_iter().collect()
        };
        Ok(Info {
            path: self.db.dir().root.clone(),
            chain: self.chain()?,
            layout: self.layout()?.name(),
            storage_settings: self.storage_settings()?.map(|json| escaped(&json)),
            written_by: self.written_by()?,
            tip: Tip {
                number: self.tip(),
                hash: header.hash,
                timestamp: header.timestamp,
            },
            state_block,
            finalized: self.finalized()?,
            safe: self.safe()?,
            headers: headers.subtract(&lost_headers).iter().collect(),
            transactions: readable(Segment::Transactions, self.transaction_gaps(whole)?)?,
            senders: readable(Segment::TransactionSenders, self.stored_sender_gaps(whole)?)?,
            receipts: readable(Segment::Receipts, self.receipt_gaps(whole)?)?,
            withdrawals: self.key_range(Table::BlockWithdrawals)?,
            account_state: readable_state(Segment::AccountChangeSets, state(Part::AccountChanges)?),
            storage_state: readable_state(Segment::StorageChangeSets, state(Part::StorageChanges)?),
            hash_index: self.index_place(&[Table::TransactionHashNumbers])?,
            history_index: match self.lagging_index()? {
                Some(_) => "incomplete".into(),
                None => self.index_place(&[Table::AccountsHistory, Table::StoragesHistory])?,
            },
            receipts_source: self.receipts_source()?,
            prune_checkpoints: self.prune_checkpoints()?,
            stage_checkpoints: self.stage_checkpoints()?,
            static_files: self.static_files(),
            notes: self.notes(whole, &unreadable, &body_gaps)?,
        })
    }

    /// Static files with rows that cannot be opened, or that are shorter than their rows. A
    /// file that the node replaced since it was listed is not one of them.
    fn unreadable_jars(&self) -> Vec<(&Arc<Jar>, Error)> {
        let jars = self.files.all().filter(|jar| jar.conf.rows > 0);
        jars.filter_map(|jar| {
            let error = JarReader::open(Arc::clone(jar)).err()?;
            jar.is_current().then_some((jar, error))
        })
        .collect()
    }

    /// Where tables are that layout v2 has in RocksDB, or why they cannot be read.
    fn index_place(&self, tables: &[Table]) -> Result<String> {
        Ok(match (self.layout()?, self.unreachable_index(tables)?) {
            (_, Some(obstacle)) => format!("not readable: {obstacle}"),
            (Layout::V1, None) => "MDBX".into(),
            (Layout::V2, None) => "RocksDB".into(),
        })
    }

    pub(crate) fn written_by(&self) -> Result<Vec<Writer>> {
        let mut rows = self.txn.walk_from(Table::VersionHistory, &[])?;
        let mut writers: Vec<Writer> = Vec::new();
        while let Some((key, value)) = rows.next()? {
            let bad = |what: &str| {
                let what = format!("table VersionHistory: {what}");
                Error::corrupt(self.txn.path(), what)
            };
            let first_opened = tables::key_number(key).map_err(bad)?;
            let texts = tables::client_version(value).map_err(bad)?;
            let [version, git_sha, build_time] = texts.map(|text| escaped(&text));
            let writer = Writer {
                version,
                git_sha,
                build_time,
                first_opened,
            };
            let known = writers.iter().any(|known| {
                (&known.version, &known.git_sha) == (&writer.version, &writer.git_sha)
            });
            if !known {
                writers.push(writer);
            }
        }
        Ok(writers)
    }

    /// The last finalized block that the node has stored, or the tip if it is above the tip, because
    /// the node has newer blocks in memory; `None` if the node never followed a beacon node.
    pub fn finalized(&self) -> Result<Option<u64>> {
        self.chain_state(0)
    }

    /// The last safe block that the node has stored: as [`Self::finalized`].
    pub fn safe(&self) -> Result<Option<u64>> {
        self.chain_state(1)
    }

    /// Reads row 0 (finalized) or 1 (safe) of `ChainState`.
    fn chain_state(&self, key: u8) -> Result<Option<u64>> {
        let Some(value) = self.txn.get(Table::ChainState, &[key])? else {
            return Ok(None);
        };
        let block = tables::plain_u64(value)
            .map_err(|what| self.bad_value(Table::ChainState, key.into(), what))?;
        Ok(Some(block.min(self.tip())))
    }

    fn receipts_source(&self) -> Result<&'static str> {
        let in_files = self
            .files
            .jars(Segment::Receipts)
            .iter()
            .any(|jar| jar.conf.rows > 0);
        let in_mdbx = self.txn.rows(Table::Receipts)? > 0;
        Ok(match (in_files, in_mdbx) {
            (true, false) => "static files",
            (false, true) => "MDBX",
            (true, true) => "both",
            (false, false) => "none",
        })
    }

    fn static_files(&self) -> Vec<StaticFile> {
        let jars = self.files.all();
        jars.map(|jar| StaticFile {
            segment: jar.segment.as_str(),
            name: jar
                .path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            expected_blocks: jar.conf.expected_blocks,
            blocks: jar.conf.blocks,
            txs: jar.conf.txs,
            rows: jar.conf.rows,
        })
        .collect()
    }

    fn notes(
        &self,
        whole: BlockRange,
        unreadable: &[(&Arc<Jar>, Error)],
        body_gaps: &[Gap],
    ) -> Result<Vec<String>> {
        let tip = self.tip();
        let bad_meta_pages = self.db.env().bad_meta_pages()?;
        let mut notes: Vec<String> = bad_meta_pages.iter().map(ToString::to_string).collect();
        notes.extend(
            unreadable
                .iter()
                .map(|(_, error)| format!("the rows of a static file are not counted: {error}")),
        );
        if tip == whole.first {
            notes.push(
                "the tip is the genesis block: the node has not finished its first sync".into(),
            );
        }
        let ahead: Vec<String> = ["Headers", "Bodies", "Execution"]
            .into_iter()
            .map(|name| Ok((name, self.stage(name)?.unwrap_or(0))))
            .filter(|stage: &Result<_>| !matches!(stage, Ok((_, block)) if *block <= tip))
            .map(|stage| stage.map(|(name, block)| format!("{name} at block {block}")))
            .collect::<Result<_>>()?;
        if !ahead.is_empty() {
            notes.push(format!(
                "partial sync: {}; blocks above the tip {tip} are read when the node has finished them",
                ahead.join(", ")
            ));
        }
        let ranges = self.files.all().filter_map(|jar| jar.conf.blocks);
        let highest = ranges.map(|blocks| blocks.last).max();
        if let Some(highest) = highest.filter(|highest| *highest > tip && ahead.is_empty()) {
            let cause = if bad_meta_pages.is_empty() {
                "the node is committing them, or was stopped while it did"
            } else {
                "their commit may be the one with the damaged meta page"
            };
            notes.push(format!(
                "static files have rows up to block {highest}, above the tip: {cause}; they are not read"
            ));
        }
        for gap in body_gaps {
            notes.push(format!("blocks {}: {}", gap.blocks, gap.reason));
        }
        let receipts = self.receipt_gaps(whole)?;
        if let Some(last) = receipts.last() {
            let reason = self.reason(Part::Receipts, last.last)?;
            notes.push(format!("blocks {}: {reason}", shortened(&receipts)));
        }
        let transactions = self.transaction_gaps(whole)?;
        if let Some(last) = transactions.last() {
            let reason = self.reason(Part::Transactions, last.last)?;
            notes.push(format!("blocks {}: {reason}", shortened(&transactions)));
        }
        let senders = self.stored_sender_gaps(whole)?;
        if !senders.is_empty() {
            notes.push(format!(
                "blocks {}: senders are not stored; they are recovered from signatures",
                shortened(&senders)
            ));
        }
        match self.state_obstacle()? {
            Some(obstacle) => notes.push(obstacle),
            None => notes.extend(state_behind(self.state_block()?, tip)),
        }
        notes.extend(self.lagging_index()?);
        if !self.files.unknown.is_empty() {
            notes.push(format!(
                "static files that are unknown or damaged are ignored: {}",
                self.files.unknown.join(", ")
            ));
        }
        Ok(notes)
    }
}

/// Explains a state that is behind the blocks.
fn state_behind(state_block: u64, tip: u64) -> Option<String> {
    BlockRange::new(state_block + 1, tip).map(|blocks| {
        format!(
            "blocks {blocks}: the state after them is not stored; it is computed by executing \
             them, by the rules of the chain"
        )
    })
}

/// Formats the first ranges and the number of the others.
fn shortened(ranges: &[BlockRange]) -> String {
    const SHOWN: usize = 3;
    let mut shown: Vec<String> = ranges.iter().take(SHOWN).map(ToString::to_string).collect();
    if let Some(more) = ranges.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let more = number(more as u64, "more range", "more ranges");
        shown.push(format!("and {more}"));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_many_ranges_is_counted() {
        let ranges = [1, 3, 5, 7, 9].map(BlockRange::one);
        assert_eq!(shortened(&ranges[..3]), "1:2, 3:4, 5:6");
        assert_eq!(shortened(&ranges[..4]), "1:2, 3:4, 5:6, and 1 more range");
        assert_eq!(shortened(&ranges), "1:2, 3:4, 5:6, and 2 more ranges");
    }
}
