//! The manifest: the list of segments of an index, and the chain they belong to.
//!
//! The first line has the format, its version and a checksum of the rest. The rest is JSON,
//! so that people can read it when something is wrong. The manifest is only replaced as a
//! whole, after every segment in it is on disk.

use crate::{
    error::{Error, Result, damaged},
    layout::Format,
};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use txgraph_stored::{Contents, StoreKind, Unit, folder};
use txgraph_transfers::{BlockRange, WrappedNative};

/// The name of the manifest.
pub(crate) const FILE: &str = "MANIFEST";
/// The name of a new manifest until it is complete.
const NEW_FILE: &str = "MANIFEST.tmp";
/// The first word of a manifest.
const WORD: &str = "txgraph-index";

/// An entry of the manifest: one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentInfo {
    /// The name of its file.
    pub file: String,
    /// Its blocks.
    #[serde(flatten)]
    pub blocks: BlockRange,
    /// Parent hash of its first block.
    pub parent_hash: B256,
    /// Hash of its last block.
    pub last_hash: B256,
    /// The number of transfers.
    pub rows: u64,
    /// The number of addresses.
    pub addresses: u64,
    /// Length of its file in bytes.
    pub bytes: u64,
    /// CRC-32 of the head of its file, on which the checksums of all its bytes depend.
    pub checksum: u32,
}

impl Unit for SegmentInfo {
    fn name(&self) -> &str {
        &self.file
    }

    fn chain(&self) -> (BlockRange, B256, B256) {
        (self.blocks, self.parent_hash, self.last_hash)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) genesis_hash: B256,
    pub(crate) chain_id: u64,
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
    pub(crate) wrapped_native: WrappedNative,
    /// Whether it has movements inside of transactions that left no log.
    #[serde(default)]
    pub(crate) internal: bool,
    /// Whether it has transactions by address.
    #[serde(default)]
    pub(crate) transactions: bool,
    /// The lowest block to index.
    pub(crate) first_block: u64,
    /// The number of blocks of a full segment, which begins at a multiple of it.
    pub(crate) segment_blocks: u64,
    /// Ascending, without overlaps.
    pub(crate) segments: Vec<SegmentInfo>,
    /// The number of blocks that were read from the node, and the milliseconds that took.
    pub(crate) read_blocks: u64,
    pub(crate) read_time_ms: u64,
}

impl Manifest {
    /// A manifest without segments.
    pub(crate) fn new(contents: Contents, segment_blocks: u64) -> Self {
        Self {
            genesis_hash: contents.genesis_hash,
            chain_id: contents.chain_id,
            wrapped_native: contents.wrapped_native,
            internal: contents.internal,
            transactions: contents.transactions,
            first_block: contents.first_block,
            segment_blocks,
            segments: Vec::new(),
            read_blocks: 0,
            read_time_ms: 0,
        }
    }

    /// Reads the manifest of an index.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let exists = folder.is_dir();
                return Err(Error::not_a_store(StoreKind::Index, folder, FILE, exists));
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(damaged(path, "it is not UTF-8"));
            }
            Err(error) => return Err(Error::io("read", path, error)),
        };
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let damaged = |what: &str| damaged(path, what);
        let (line, json) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = line.split(' ');
        if words.next() != Some(WORD) {
            return Err(damaged(&format!("it does not start with `{WORD}`")));
        }
        let version = words.next().and_then(|word| word.parse().ok());
        let version = version.ok_or_else(|| damaged("it has no version"))?;
        let format = Format::of_version(version).ok_or_else(|| Error::Version {
            kind: StoreKind::Index,
            path: path.parent().unwrap_or(path).to_owned(),
            found: version,
            known: Format::NEWEST,
        })?;
        if words.next() != Some(&checksum(json)) {
            return Err(damaged("it does not match its checksum"));
        }
        let manifest: Self =
            serde_json::from_str(json).map_err(|error| damaged(&error.to_string()))?;
        if manifest.format() != format {
            return Err(damaged("its version is that of other contents"));
        }
        let ascending = |pair: &[SegmentInfo]| pair[0].blocks.last < pair[1].blocks.first;
        let named = |segment: &SegmentInfo| {
            // A plain name, not a path to another directory.
            Path::new(&segment.file).file_name() == Some(segment.file.as_ref())
                && segment.blocks.first <= segment.blocks.last
        };
        if !manifest.segments.windows(2).all(ascending)
            || !manifest.segments.iter().all(named)
            || manifest.segment_blocks == 0
        {
            return Err(damaged("its list of segments is invalid"));
        }
        Ok(manifest)
    }

    /// Replaces the manifest. When this returns the new one is on disk. On failure the old
    /// one is unchanged.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| Error::io("write", folder.join(FILE), error.into()))?;
        let version = self.format().version();
        let text = format!("{WORD} {version} {}\n{json}", checksum(&json));
        Ok(folder::replace(folder, FILE, text.as_bytes())?)
    }

    /// Returns the format of its segments.
    pub(crate) const fn format(&self) -> Format {
        Format::with_transactions(self.transactions)
    }

    /// Returns the contents of the index.
    pub(crate) fn contents(&self) -> Contents {
        Contents {
            kind: StoreKind::Index,
            chain_id: self.chain_id,
            genesis_hash: self.genesis_hash,
            wrapped_native: self.wrapped_native.clone(),
            internal: self.internal,
            transactions: self.transactions,
            first_block: self.first_block,
        }
    }

    /// Inserts a segment at its place in the order.
    pub(crate) fn add(&mut self, segment: SegmentInfo) {
        let at = self
            .segments
            .partition_point(|other| other.blocks.first < segment.blocks.first);
        self.segments.insert(at, segment);
    }
}

fn checksum(json: &str) -> String {
    format!("{:08x}", crc32fast::hash(json.as_bytes()))
}

/// Returns the name of a segment's file. The hash distinguishes segments of two branches.
pub(crate) fn segment_file(blocks: BlockRange, last_hash: B256) -> String {
    let BlockRange { first, last } = blocks;
    let [a, b, c, d, ..] = last_hash.0;
    format!("{first:010}-{last:010}-{a:02x}{b:02x}{c:02x}{d:02x}.segment")
}

/// Whether a file in the directory of an index is a segment or an unfinished file.
pub(crate) fn is_ours(name: &str) -> bool {
    name.ends_with(".segment") || name.ends_with(".segment.tmp") || name == NEW_FILE
}

/// Returns the path of a segment until it is complete.
pub(crate) fn unfinished(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:010}.segment.tmp"))
}
