//! The manifest: the chain of a lake and its partitions. It is replaced as a whole, after
//! every file in it is on disk.

use crate::{
    error::{Error, Result, damaged},
    names::FILE,
    store::Store,
};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{ops::Range, path::Path};
use txgraph_stored::{Contents, StoreKind, Unit};
use txgraph_transfers::{BlockRange, DecodeCounts, WrappedNative};

const FORMAT: &str = "txgraph-lake";
const VERSION: u32 = 1;

/// A file of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of rows.
    pub rows: u64,
    /// CRC-32 of the whole file, in hexadecimal.
    pub crc32: String,
}

/// The sums of the counts of a partition's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) transactions: u64,
    pub(crate) logs: u64,
    pub(crate) malformed: u64,
    pub(crate) malformed_erc1155: u64,
    pub(crate) dirty_addresses: u64,
    pub(crate) wraps_deduplicated: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, counts: &DecodeCounts) {
        self.transactions += counts.transactions;
        self.logs += counts.logs;
        self.malformed += counts.malformed;
        self.malformed_erc1155 += counts.malformed_erc1155;
        self.dirty_addresses += counts.dirty_addresses;
        self.wraps_deduplicated += counts.wraps_deduplicated;
    }

    /// Whether there were anomalous logs.
    pub(crate) fn has_anomalies(&self) -> bool {
        [
            self.malformed,
            self.malformed_erc1155,
            self.dirty_addresses,
            self.wraps_deduplicated,
        ]
        .iter()
        .any(|count| *count > 0)
    }
}

/// An entry of the manifest: one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionInfo {
    /// The name of its folder in `partitions`.
    pub folder: String,
    /// Its blocks.
    #[serde(flatten)]
    pub blocks: BlockRange,
    /// Parent hash of its first block.
    pub parent_hash: B256,
    /// Hash of its last block.
    pub last_hash: B256,
    /// The number of transfers.
    pub transfers: u64,
    /// The id of the first address that is new in it.
    pub first_address_id: u64,
    /// The number of new addresses.
    pub new_addresses: u64,
    pub(crate) counts: Counts,
    /// Its files.
    pub files: Vec<FileInfo>,
    /// CRC-32 of the file with the checksums of blocks of the files, in hexadecimal.
    pub checksums_crc32: String,
}

impl Unit for PartitionInfo {
    fn name(&self) -> &str {
        &self.folder
    }

    fn chain(&self) -> (BlockRange, B256, B256) {
        (self.blocks, self.parent_hash, self.last_hash)
    }
}

impl PartitionInfo {
    /// The bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) chain_id: u64,
    pub(crate) genesis_hash: B256,
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
    pub(crate) wrapped_native: WrappedNative,
    /// Whether it has movements inside of transactions that left no log.
    pub(crate) internal: bool,
    /// The lowest block.
    pub(crate) first_block: u64,
    /// The number of blocks of a full partition, which begins at a multiple of it.
    pub(crate) partition_blocks: u64,
    /// A partition ends after the block in which it reaches this number of transfers.
    pub(crate) partition_transfers: u64,
    /// Part of the names of new partitions. It grows with each compaction, and while replaced
    /// partitions are read, so a new partition never has the name of one that it replaces.
    pub(crate) generation: u64,
    /// Consecutive and linked.
    pub(crate) partitions: Vec<PartitionInfo>,
}

/// The file around it.
#[derive(Serialize, Deserialize)]
struct Envelope {
    format: String,
    version: u32,
    /// CRC-32 of `lake`, written without spaces.
    crc32: String,
    lake: Value,
}

impl Manifest {
    /// A manifest without partitions, which end at these numbers of blocks and transfers.
    pub(crate) fn new(contents: Contents, partition_blocks: u64, partition_transfers: u64) -> Self {
        Self {
            chain_id: contents.chain_id,
            genesis_hash: contents.genesis_hash,
            wrapped_native: contents.wrapped_native,
            internal: contents.internal,
            first_block: contents.first_block,
            partition_blocks,
            partition_transfers,
            generation: 0,
            partitions: Vec::new(),
        }
    }

    /// Reads the manifest of a lake.
    pub(crate) fn load(store: &Store) -> Result<Self> {
        if let Some(bytes) = store.read(FILE)? {
            return Self::parse(&bytes, &store.path().join(FILE));
        }
        let (path, exists) = (store.path(), store.exists());
        Err(Error::not_a_store(StoreKind::Lake, path, FILE, exists))
    }

    pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |what: &str| damaged(path, what);
        let envelope: Envelope =
            serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
        if envelope.format != FORMAT {
            return Err(damaged(&format!("its format is not `{FORMAT}`")));
        }
        if envelope.version != VERSION {
            return Err(Error::Version {
                kind: StoreKind::Lake,
                path: path.to_owned(),
                found: envelope.version,
                known: VERSION,
            });
        }
        if envelope.crc32 != hex(crc32fast::hash(envelope.lake.to_string().as_bytes())) {
            return Err(damaged("it does not match its checksum"));
        }
        let manifest: Self =
            serde_json::from_value(envelope.lake).map_err(|error| damaged(&error.to_string()))?;
        manifest.check().map_err(damaged)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.partition_blocks == 0 || self.partition_transfers == 0 {
            return Err("its partitions have no size");
        }
        let (mut next, mut next_id, mut hash) = (Some(self.first_block), Some(0), None);
        for partition in &self.partitions {
            let PartitionInfo {
                folder,
                blocks,
                parent_hash,
                last_hash,
                first_address_id,
                new_addresses,
                files,
                ..
            } = partition;
            // A plain name, not a path to another directory.
            let plain = |name: &String| Path::new(name).file_name() == Some(name.as_ref());
            if !plain(folder) || !files.iter().all(|file| plain(&file.name)) {
                return Err("it names files outside of the lake");
            }
            if Some(blocks.first) != next || blocks.first > blocks.last {
                return Err("its partitions are not consecutive");
            }
            if hash.is_some_and(|hash| hash != *parent_hash) {
                return Err("its partitions belong to different chains");
            }
            if Some(*first_address_id) != next_id {
                return Err("its address ids are not consecutive");
            }
            next = blocks.last.checked_add(1);
            next_id = first_address_id.checked_add(*new_addresses);
            hash = Some(*last_hash);
        }
        Ok(())
    }

    /// Replaces the manifest. When this returns the new one is on disk. On failure the old
    /// one is unchanged.
    pub(crate) fn save(&self, store: &Store) -> Result<()> {
        let json = || {
            let lake = serde_json::to_value(self)?;
            serde_json::to_string_pretty(&Envelope {
                format: FORMAT.to_owned(),
                version: VERSION,
                crc32: hex(crc32fast::hash(lake.to_string().as_bytes())),
                lake,
            })
        };
        let failed =
            |error: serde_json::Error| Error::io("write", store.path().join(FILE), error.into());
        store.replace(FILE, json().map_err(failed)?.as_bytes())
    }

    /// Returns the contents of the lake.
    pub(crate) fn contents(&self) -> Contents {
        Contents {
            kind: StoreKind::Lake,
            chain_id: self.chain_id,
            genesis_hash: self.genesis_hash,
            wrapped_native: self.wrapped_native.clone(),
            internal: self.internal,
            transactions: false,
            first_block: self.first_block,
        }
    }

    pub(crate) fn blocks(&self) -> Option<BlockRange> {
        let (first, last) = (self.partitions.first()?, self.partitions.last()?);
        BlockRange::new(first.blocks.first, last.blocks.last)
    }

    /// The number of addresses, which is the next id.
    pub(crate) fn addresses(&self) -> u64 {
        let last = self.partitions.last();
        last.map_or(0, |last| {
            last.first_address_id.saturating_add(last.new_addresses)
        })
    }

    /// The partitions that a compaction rewrites.
    pub(crate) fn unsettled(&self) -> Range<usize> {
        let count = self.partitions.len();
        // The last one may be small.
        match self.partitions.iter().position(|it| !self.is_full(it)) {
            Some(first) if first + 1 < count => first..count,
            _ => count..count,
        }
    }

    /// Whether a partition will not grow: it ends a unit of blocks, or has enough transfers.
    fn is_full(&self, partition: &PartitionInfo) -> bool {
        let next = partition.blocks.last.checked_add(1);
        partition.transfers >= self.partition_transfers
            || next.is_none_or(|next| next % self.partition_blocks == 0)
    }
}

/// A checksum as text.
pub(crate) fn hex(crc32: u32) -> String {
    format!("{crc32:08x}")
}
