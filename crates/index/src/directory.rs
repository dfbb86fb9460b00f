//! An open index: which blocks it has, in which segments, of which chain.

use crate::{
    error::{Error, Result},
    manifest::{Manifest, SegmentInfo},
    segment::Segment,
};
use alloy_primitives::B256;
use serde::Serialize;
use std::path::{Path, PathBuf};
use txgraph_transfers::{
    BlockRange, BlockRanges, ChainInfo, ScanRequest, TransferFilter, WrappedNative,
};

/// Consecutive blocks of one chain: segments of which each names the hash of the one
/// before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The blocks.
    pub blocks: BlockRange,
    /// Hash of the last block; it pins all of them.
    pub last_hash: B256,
    /// Which segments, by number.
    #[serde(skip)]
    pub(crate) segments: std::ops::Range<usize>,
}

/// An open index. Immutable: what is built meanwhile is seen when it is opened anew.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) segments: Vec<Segment>,
    runs: Vec<Run>,
}

/// What an index is, for people.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Where it is.
    pub path: PathBuf,
    /// Chain id.
    pub chain_id: u64,
    /// Genesis hash.
    pub genesis_hash: B256,
    /// Whose wraps it tells.
    pub wrapped_native: WrappedNative,
    /// Whether it holds movements inside of transactions, which no log tells.
    pub internal: bool,
    /// The blocks it has.
    pub blocks: BlockRanges,
    /// How many segments.
    pub segments: usize,
    /// Transfers in all.
    pub transfers: u64,
    /// Addresses in all segments together: one in two segments counts twice.
    pub addresses: u64,
    /// Length of all files.
    pub bytes: u64,
    /// Blocks that were read from the node for it, rebuilt ones each time.
    pub read_blocks: u64,
    /// How long that took, in milliseconds.
    pub read_time_ms: u64,
}

/// How often a manifest is read again because what it names is gone: a writer replaced
/// it in between.
const ATTEMPTS_MAX: u32 = 5;

impl Index {
    /// Opens the index in `folder`, which must be of `chain`.
    pub fn open(folder: &Path, chain: &ChainInfo) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::attempt(folder, chain) {
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempt < ATTEMPTS_MAX =>
                {
                    attempt += 1;
                }
                opened => return opened,
            }
        }
    }

    fn attempt(folder: &Path, chain: &ChainInfo) -> Result<Self> {
        let manifest = Manifest::load(folder)?;
        check_chain(folder, &manifest, chain)?;
        let mut segments = Vec::with_capacity(manifest.segments.len());
        for info in &manifest.segments {
            let segment = Segment::open(&folder.join(&info.file))?;
            let head = segment.head();
            if head.genesis_hash != manifest.genesis_hash
                || head.chain_id != manifest.chain_id
                || head.blocks != info.blocks
                || head.parent_hash != info.parent_hash
                || head.last_hash != info.last_hash
                || segment.checksum() != info.checksum
            {
                return Err(segment.damaged("it is not the segment that the manifest lists"));
            }
            segments.push(segment);
        }
        let runs = runs(&manifest.segments);
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            segments,
            runs,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The blocks it has, as unbroken runs, ascending.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The blocks it has.
    pub fn blocks(&self) -> BlockRanges {
        self.runs.iter().map(|run| run.blocks).collect()
    }

    /// Whether it holds what a question asks for: the wraps that it means, and
    /// movements inside of transactions if it wants them. Fees are in no index.
    pub fn tells(&self, request: &ScanRequest) -> bool {
        let wraps = resolved(&request.wrapped_native, self.manifest.chain_id);
        wraps == self.manifest.wrapped_native && self.tells_movements(&request.filter)
    }

    /// The same without the wraps.
    pub fn tells_movements(&self, filter: &TransferFilter) -> bool {
        !filter.internal || (self.manifest.internal && !filter.names_fees())
    }

    /// Whether it holds movements inside of transactions.
    pub fn has_internal(&self) -> bool {
        self.manifest.internal
    }

    /// Its segments, ascending.
    pub fn segments(&self) -> &[SegmentInfo] {
        &self.manifest.segments
    }

    /// What it is.
    pub fn status(&self) -> Status {
        let sum = |of: fn(&SegmentInfo) -> u64| self.manifest.segments.iter().map(of).sum();
        Status {
            path: self.folder.clone(),
            chain_id: self.manifest.chain_id,
            genesis_hash: self.manifest.genesis_hash,
            wrapped_native: self.manifest.wrapped_native.clone(),
            internal: self.manifest.internal,
            blocks: self.blocks(),
            segments: self.manifest.segments.len(),
            transfers: sum(|segment| segment.rows),
            addresses: sum(|segment| segment.addresses),
            bytes: sum(|segment| segment.bytes),
            read_blocks: self.manifest.read_blocks,
            read_time_ms: self.manifest.read_time_ms,
        }
    }
}

/// That a manifest is of this chain.
pub(crate) fn check_chain(folder: &Path, manifest: &Manifest, chain: &ChainInfo) -> Result<()> {
    if manifest.genesis_hash == chain.genesis_hash && manifest.chain_id == chain.chain_id {
        return Ok(());
    }
    Err(Error::WrongChain {
        path: folder.to_owned(),
        index_id: manifest.chain_id,
        index_genesis: manifest.genesis_hash,
        node_id: chain.chain_id,
        node_genesis: chain.genesis_hash,
    })
}

/// Segments that follow one another, joined.
pub(crate) fn runs(segments: &[SegmentInfo]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if run.blocks.last.checked_add(1) == Some(segment.blocks.first)
                    && run.last_hash == segment.parent_hash =>
            {
                run.blocks.last = segment.blocks.last;
                run.last_hash = segment.last_hash;
                run.segments.end = number + 1;
            }
            _ => runs.push(Run {
                blocks: segment.blocks,
                last_hash: segment.last_hash,
                segments: number..number + 1,
            }),
        }
    }
    runs
}

/// What a choice of wrapped coins means on a chain, in one way of saying it.
pub(crate) fn resolved(wrapped: &WrappedNative, chain_id: u64) -> WrappedNative {
    let only = |addresses: &[alloy_primitives::Address]| {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        match sorted.is_empty() {
            true => WrappedNative::None,
            false => WrappedNative::Only(sorted),
        }
    };
    match wrapped {
        WrappedNative::Auto => match WrappedNative::known(chain_id) {
            [] => WrappedNative::Any,
            known => only(known),
        },
        WrappedNative::Only(addresses) => only(addresses),
        WrappedNative::Any | WrappedNative::None => wrapped.clone(),
    }
}
