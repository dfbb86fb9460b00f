//! Messages between the driver and the executors, besides rows.
//!
//! A [`Task`] is a part of the plan: which source an executor reads, and which transfers it
//! writes. A [`Chunk`] is one row of the plan's leaf: some blocks. A [`ChunkReport`] comes back
//! with the names of the files that were written, or a [`Refusal`] instead of it.

use crate::{Error, Result, error::Refusal, store::Store};
use alloy_primitives::{Address, B256, U256};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};
use txgraph_analysis::partitioned::Stage;
use txgraph_transfers::{
    AddressFilter, AddressSet, AmountFilter, BlockAnchor, BlockRange, ChainInfo, Direction, Kind,
    ScanReport, ScanRequest, TokenFilter, TokenStandard, TransferFilter, WrappedNative,
};

/// The data that is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Input {
    /// The source that each executor was started with.
    Executors,
    /// A lake, at a path or location that every executor can read.
    Lake(PathBuf),
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executors => f.write_str("the sources of the executors"),
            Self::Lake(path) => write!(f, "lake:{}", path.display()),
        }
    }
}

/// The part of a plan that every task has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The location of the run ([`Store`]). Executors open a source once for each run.
    pub(crate) run: String,
    /// The folder of the step in the run, for rows; empty if none are written.
    pub(crate) step: String,
    pub(crate) input: Input,
    pub(crate) mode: Mode,
    /// The chain that the executor must have; absent when the driver asks for it.
    pub(crate) chain: Option<ChainInfo>,
    pub(crate) request: Request,
    /// The files of earlier steps that it reads, for [`Mode::Scan`], [`Mode::Measure`] and
    /// [`Mode::Stored`].
    pub(crate) inputs: Vec<Earlier>,
    /// The partitions into which rows between steps are divided.
    pub(crate) partitions: u32,
}

/// Files of an earlier step that a task reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Earlier {
    /// The folder of the step.
    pub(crate) folder: String,
    /// Its job: a step that is repeated, because its folder was deleted, has other files.
    pub(crate) job: String,
    /// The table, of those that the tasks of the step wrote.
    pub(crate) table: u32,
    /// Whether it reads all rows of the tasks whose numbers are the blocks of its chunk. Otherwise
    /// it reads the partition with the number of its chunk, of all tasks.
    pub(crate) of_tasks: bool,
}

impl Task {
    /// A task without a request.
    pub(crate) fn new(run: &str, input: &Input, mode: Mode) -> Self {
        Self {
            run: run.to_owned(),
            step: String::new(),
            input: input.clone(),
            mode,
            chain: None,
            request: Request::default(),
            inputs: Vec::new(),
            partitions: 0,
        }
    }
}

/// The output of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// A [`SourceInfo`].
    Describe,
    /// The number of the first block at or after a time, in seconds since 1970.
    BlockAt(u64),
    /// A [`ChunkReport`] for each chunk, whose transfers are written. With a first scan as the input, they
    /// are from what it kept, if it did.
    Scan,
    /// The same. The report covers the request without its frontier. Few transfers of all addresses are
    /// kept as a table of their own: then the facts are their number.
    FirstScan,
    /// The columns of transfers at these positions: a table for SQL.
    Rows(Vec<usize>),
    /// Rows of an earlier part of a statement, with columns as in this batch.
    Stored(String),
    /// A [`ChunkReport`] for each chunk: the partition with its number, of the plan in this object, was
    /// written.
    Statement(String),
    /// A [`ChunkReport`] for each chunk, for which a step of a measure was done.
    Measure(Stage),
}

/// The conditions of a [`ScanRequest`], without its blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Token contracts, and whether the native coin is wanted; `None`: every asset.
    tokens: Option<(Vec<Address>, bool)>,
    frontier: Option<Frontier>,
    min_value: U256,
    #[serde(default)]
    amounts: AmountFilter,
    standards: Vec<TokenStandard>,
    kinds: Vec<Kind>,
    internal: bool,
    wrapped_native: WrappedNative,
    with_times: bool,
    with_hashes: bool,
    allow_partial: bool,
}

/// The addresses of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Frontier {
    direction: Direction,
    /// An object with the addresses one after another, ascending. Its name is the hash of its bytes.
    object: String,
}

/// The folder of objects that are named by their hash.
const OBJECTS: &str = "objects";

/// The name of an object with these bytes.
fn name_of(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    format!("{OBJECTS}/{}", alloy_primitives::hex::encode(hash))
}

/// Writes an object that tasks read. Returns its name.
pub(crate) fn put_object(store: &Store, bytes: Vec<u8>) -> Result<String> {
    let name = name_of(&bytes);
    // The same bytes, if it exists.
    store.create(&name, bytes)?;
    Ok(name)
}

/// Reads an object of a run.
pub(crate) fn object(run: &str, name: &str) -> Result<bytes::Bytes> {
    let store = Store::shared(run)?;
    let place = store.place(name);
    let bytes = store.read(name)?.ok_or_else(|| {
        let missing = std::io::ErrorKind::NotFound.into();
        Error::io(&place, missing)
            .hint("the folder of a run must be at the same path on all hosts, or in a bucket")
    })?;
    match name_of(&bytes) == name {
        true => Ok(bytes),
        false => Err(Error::Plan(format!("{} has another hash", place.display()))),
    }
}

impl Request {
    /// Translates a request. A frontier is written to `store`.
    pub(crate) fn new(request: &ScanRequest, store: &Store) -> Result<Self> {
        let filter = &request.filter;
        let tokens = match &filter.tokens {
            TokenFilter::All => None,
            TokenFilter::Only { tokens, native } => Some((sorted(tokens.iter().copied()), *native)),
        };
        let frontier = match &filter.touching {
            None => None,
            Some(touching) => {
                let addresses = sorted(touching.addresses.iter().copied());
                let bytes = addresses.iter().flat_map(|one| one.0.0).collect();
                Some(Frontier {
                    direction: touching.direction,
                    object: put_object(store, bytes)?,
                })
            }
        };
        Ok(Self {
            tokens,
            frontier,
            min_value: filter.min_value,
            amounts: filter.amounts.clone(),
            standards: filter.standards.clone(),
            kinds: filter.kinds.clone(),
            internal: filter.internal,
            wrapped_native: request.wrapped_native.clone(),
            with_times: request.with_times,
            with_hashes: request.with_hashes,
            allow_partial: request.allow_partial,
        })
    }

    /// The request for some blocks. A frontier is in the store at `run`.
    pub(crate) fn of(&self, blocks: BlockRange, run: &str) -> Result<ScanRequest> {
        let tokens = match &self.tokens {
            None => TokenFilter::All,
            Some((tokens, native)) => TokenFilter::Only {
                tokens: tokens.iter().copied().collect(),
                native: *native,
            },
        };
        let touching = self.frontier.as_ref();
        let touching = touching.map(|frontier| frontier.read(run)).transpose()?;
        Ok(ScanRequest {
            blocks: blocks.into(),
            filter: TransferFilter {
                tokens,
                touching,
                min_value: self.min_value,
                amounts: self.amounts.clone(),
                standards: self.standards.clone(),
                kinds: self.kinds.clone(),
                internal: self.internal,
            },
            wrapped_native: self.wrapped_native.clone(),
            with_times: self.with_times,
            with_hashes: self.with_hashes,
            allow_partial: self.allow_partial,
        })
    }
}

impl Frontier {
    /// The addresses. The last ones are kept in memory, for the other chunks.
    fn read(&self, run: &str) -> Result<AddressFilter> {
        static LAST: Mutex<Option<(String, AddressSet)>> = Mutex::new(None);
        let filter = |addresses| AddressFilter {
            addresses,
            direction: self.direction,
        };
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, addresses)) = &*last
            && *known == self.object
        {
            return Ok(filter(addresses.clone()));
        }
        let addresses = self.addresses(run)?;
        *last = Some((self.object.clone(), addresses.clone()));
        Ok(filter(addresses))
    }

    fn addresses(&self, run: &str) -> Result<AddressSet> {
        let bytes = object(run, &self.object)?;
        let (addresses, _) = bytes.as_chunks::<20>();
        Ok(addresses.iter().map(Address::from).collect())
    }
}

fn sorted(addresses: impl Iterator<Item = Address>) -> Vec<Address> {
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_unstable();
    addresses
}

/// Some blocks, which one task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    /// The position among the chunks of the request.
    pub(crate) number: u64,
    pub(crate) blocks: BlockRange,
    /// Whether the chunk before it ends at the block before `blocks`.
    pub(crate) follows: bool,
    /// The hash that the block before `blocks` must have, and the hash of the last of `blocks`;
    /// `None` if they are not known. Rows without a report are only linked by them.
    pub(crate) hashes: [Option<B256>; 2],
}

impl Chunk {
    /// A chunk whose blocks are not linked with others, or stand for something else.
    pub(crate) const fn new(number: u64, blocks: BlockRange) -> Self {
        Self {
            number,
            blocks,
            follows: false,
            hashes: [None; 2],
        }
    }
}

/// A file with rows, which an executor wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The name in the folder of the step.
    pub(crate) name: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// The checksum of the index.
    pub(crate) crc32: u32,
    /// The bytes of the index at its end.
    pub(crate) index: u64,
}

/// The output of a task: its files, and [`ChunkReport::facts`].
pub(crate) type Written = (Vec<Part>, serde_json::Value);

/// The report on a chunk, or on a partition of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkReport {
    pub(crate) number: u64,
    /// The host and process that read the chunk.
    pub(crate) executor: String,
    /// The files with its rows, in their order.
    pub(crate) parts: Vec<Part>,
    pub(crate) report: ScanReport,
    /// Counts and anchors that a report does not serialize.
    skipped_blocks: u64,
    transactions: u64,
    logs: u64,
    anchors: Vec<(BlockRange, Option<B256>, B256)>,
    /// The hash of the block before the chunk, if the chunk follows another.
    pub(crate) parent_hash: Option<B256>,
    /// A small result of a measure: not rows.
    pub(crate) facts: serde_json::Value,
}

impl ChunkReport {
    pub(crate) fn new(
        number: u64,
        executor: String,
        (parts, facts): Written,
        report: ScanReport,
        parent_hash: Option<B256>,
    ) -> Self {
        Self {
            number,
            executor,
            parts,
            facts,
            skipped_blocks: report.counts.skipped_blocks,
            transactions: report.counts.transactions,
            logs: report.counts.logs,
            anchors: report
                .anchors
                .iter()
                .map(|anchor| (anchor.blocks, anchor.parent_hash, anchor.hash))
                .collect(),
            report,
            parent_hash,
        }
    }

    /// The whole report.
    pub(crate) fn into_report(self) -> ScanReport {
        let mut report = self.report;
        report.counts.skipped_blocks = self.skipped_blocks;
        report.counts.transactions = self.transactions;
        report.counts.logs = self.logs;
        let anchor = |(blocks, parent_hash, hash)| BlockAnchor {
            blocks,
            parent_hash,
            hash,
        };
        report.anchors = self.anchors.into_iter().map(anchor).collect();
        report
    }
}

/// A description of the source of an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceInfo {
    /// The host and process.
    pub(crate) executor: String,
    pub(crate) chain: ChainInfo,
    pub(crate) tip: u64,
    /// The blocks of a query that names none.
    pub(crate) everything: BlockRange,
    /// The times of the first and the last of them, in seconds since 1970, if they are known.
    #[serde(default)]
    pub(crate) times: [Option<u64>; 2],
    /// Whether it finds transfers inside of transactions.
    pub(crate) internal: bool,
}

/// Before and after a refusal inside of an engine's error message.
const MARKS: [&str; 2] = ["[[txgraph:", "]]"];

impl Refusal {
    /// A text from which [`Refusal::find`] recovers the refusal, after it was quoted, escaped and
    /// wrapped by several layers of an engine.
    pub(crate) fn to_text(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let [before, after] = MARKS;
        format!("{before}{}{after}", BASE64_STANDARD.encode(json))
    }

    /// Finds the first refusal in an engine's error message.
    pub(crate) fn find(message: &str) -> Option<Self> {
        let start = message.find(MARKS[0])? + MARKS[0].len();
        let end = start + message[start..].find(MARKS[1])?;
        let json = BASE64_STANDARD.decode(&message[start..end]).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RefusalKind;

    #[test]
    fn requests_survive_the_wire() {
        let touching = |count: u16| {
            AddressFilter::new(
                (0..count).map(|n| Address::left_padding_from(&n.to_be_bytes())),
                Direction::Both,
            )
        };
        let blocks = BlockRange { first: 3, last: 9 };
        let request = ScanRequest {
            blocks: blocks.into(),
            filter: TransferFilter {
                tokens: TokenFilter::Only {
                    tokens: [Address::repeat_byte(7)].into_iter().collect(),
                    native: true,
                },
                touching: Some(touching(700)),
                min_value: U256::MAX,
                amounts: AmountFilter::new([(None, U256::from(5))], [U256::MAX]),
                standards: vec![TokenStandard::Native],
                kinds: vec![Kind::Mint],
                internal: true,
            },
            wrapped_native: WrappedNative::Only(vec![Address::repeat_byte(9)]),
            with_times: true,
            with_hashes: false,
            allow_partial: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        let wire = Request::new(&request, &store).unwrap();
        let json = serde_json::to_string(&wire).unwrap();
        let back: Request = serde_json::from_str(&json).unwrap();
        let read = back.of(blocks, store.location()).unwrap();
        assert_eq!(read.blocks, request.blocks);
        let (ours, theirs) = (read.filter.touching.unwrap(), touching(700));
        assert_eq!(
            (ours.addresses, ours.direction),
            (theirs.addresses, theirs.direction)
        );
        assert_eq!(read.filter.min_value, U256::MAX);
        assert_eq!(read.filter.amounts, request.filter.amounts);
        assert_eq!(read.wrapped_native, request.wrapped_native);
        assert!(read.with_times && !read.with_hashes && read.allow_partial);

        // The addresses are an object, with their hash as the name.
        assert!(json.len() < 1000, "{json}");
        let objects = store.list(OBJECTS).unwrap();
        let [(name, _)] = &objects[..] else {
            panic!("one frontier is one object");
        };
        let path = store.place(&format!("{OBJECTS}/{name}"));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[5] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        // Not those that are kept.
        let frontier = wire.frontier.as_ref().unwrap();
        let again = || {
            frontier
                .addresses(store.location())
                .unwrap_err()
                .to_string()
        };
        assert!(again().contains("another hash"));
        std::fs::remove_file(&path).unwrap();
        assert!(again().contains("all hosts"));
    }

    #[test]
    fn refusals_are_found_in_quoted_messages() {
        let refusal = Refusal {
            executor: "host-1 (process 7)".to_owned(),
            kind: RefusalKind::Failed,
            message: "line \"1\"\nline 2".to_owned(),
        };
        let message = format!("{:?}", format!("{:?}", refusal.to_text()));
        assert_eq!(Refusal::find(&message), Some(refusal));
        assert_eq!(Refusal::find("[[txgraph:####]]"), None);
        assert_eq!(Refusal::find("task failed"), None);
    }
}
