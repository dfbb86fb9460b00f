//! The list of segments that make up an index, and whose it is.
//!
//! One line that says what the file is and the checksum of the rest, then JSON: people
//! look into it when something is wrong. It is only ever replaced as a whole, after
//! everything that it names is on disk.

use crate::{
    error::{Error, Result},
    layout::VERSION,
};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};
use txgraph_transfers::{BlockRange, WrappedNative};

/// Its name.
pub(crate) const FILE: &str = "MANIFEST";
/// Its name until it is complete.
const NEW_FILE: &str = "MANIFEST.tmp";
/// How it begins.
const WORD: &str = "txgraph-index";

/// A segment, as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentInfo {
    /// Name of its file.
    pub file: String,
    /// Its blocks.
    #[serde(flatten)]
    pub blocks: BlockRange,
    /// Parent hash of its first block.
    pub parent_hash: B256,
    /// Hash of its last block.
    pub last_hash: B256,
    /// How many transfers it holds.
    pub rows: u64,
    /// How many addresses.
    pub addresses: u64,
    /// Length of its file.
    pub bytes: u64,
    /// CRC-32 of the head of its file, on which the checksums of all its bytes depend.
    pub checksum: u32,
}

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) genesis_hash: B256,
    pub(crate) chain_id: u64,
    /// Whose `Deposit` and `Withdrawal` events are wraps.
    pub(crate) wrapped_native: WrappedNative,
    /// Whether it holds movements inside of transactions, which no log tells.
    #[serde(default)]
    pub(crate) internal: bool,
    /// The lowest block that is to be indexed.
    pub(crate) first_block: u64,
    /// Blocks that a full segment covers, from multiples of it on.
    pub(crate) segment_blocks: u64,
    /// Ascending; they do not overlap.
    pub(crate) segments: Vec<SegmentInfo>,
    /// Blocks that were read from the node to make it, and milliseconds that took.
    pub(crate) read_blocks: u64,
    pub(crate) read_time_ms: u64,
}

impl Manifest {
    /// Reads the manifest of an index.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let what = if folder.is_dir() {
                    format!("it has no {FILE}")
                } else {
                    "there is no such directory".to_owned()
                };
                return Err(Error::NotAnIndex {
                    path: folder.to_owned(),
                    what,
                });
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Error::damaged(path, "it is not UTF-8"));
            }
            Err(error) => return Err(Error::io("read", path, error)),
        };
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let damaged = |what: &str| Error::damaged(path, what);
        let (line, json) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = line.split(' ');
        if words.next() != Some(WORD) {
            return Err(damaged(&format!("it does not start with `{WORD}`")));
        }
        let version = words.next().and_then(|word| word.parse().ok());
        match version {
            Some(VERSION) => {}
            Some(found) => {
                return Err(Error::Version {
                    path: path.parent().unwrap_or(path).to_owned(),
                    found,
                    known: VERSION,
                });
            }
            None => return Err(damaged("it has no version")),
        }
        if words.next() != Some(&checksum(json)) {
            return Err(damaged("it does not match its checksum"));
        }
        let manifest: Self =
            serde_json::from_str(json).map_err(|error| damaged(&error.to_string()))?;
        let ascending = |pair: &[SegmentInfo]| pair[0].blocks.last < pair[1].blocks.first;
        let named = |segment: &SegmentInfo| {
            // A name, not a way out of the directory.
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
        let path = folder.join(NEW_FILE);
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| Error::io("write", &path, error.into()))?;
        let text = format!("{WORD} {VERSION} {}\n{json}", checksum(&json));
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&path, folder.join(FILE))
        };
        write().map_err(|error| {
            discard(&path);
            Error::io("write", &path, error)
        })?;
        sync_folder(folder)
    }

    /// Adds a segment in its place.
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

/// Deletes a file that could not be completed, so that a full disk does not stay full. The
/// error that is returned is the one that stopped the writer; the next writer deletes what
/// this could not.
pub(crate) fn discard(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), %error, "an unfinished file was not removed");
    }
}

/// Makes the names in a directory as lasting as the files are.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::io("sync", folder, error))
}

/// Name of a segment's file. The hash keeps segments of two branches apart.
pub(crate) fn segment_file(blocks: BlockRange, last_hash: B256) -> String {
    let BlockRange { first, last } = blocks;
    let [a, b, c, d, ..] = last_hash.0;
    format!("{first:010}-{last:010}-{a:02x}{b:02x}{c:02x}{d:02x}.segment")
}

/// Whether a file in the directory of an index is a segment, or was to become one.
pub(crate) fn is_ours(name: &str) -> bool {
    name.ends_with(".segment") || name.ends_with(".segment.tmp") || name == NEW_FILE
}

/// Where a segment is written until it is complete.
pub(crate) fn unfinished(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:010}.segment.tmp"))
}
