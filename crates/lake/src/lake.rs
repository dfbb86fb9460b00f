//! An open lake: its partitions, their files and their addresses.

use crate::{
    checksummed_file::{BLOCK_BYTES, CheckedFile},
    error::{Error, Result, damaged},
    manifest::{FileInfo, Manifest, PartitionInfo, hex},
    names::{CHECKSUMS, PARTITIONS},
    schema::Table,
    store::{Blob, Store},
    table::TableFile,
    writer::Checksums,
};
use alloy_primitives::{Address, B256};
use serde::Serialize;
use std::{
    cell::Cell,
    collections::HashSet,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use txgraph_base::KnownChain;
use txgraph_stored::{Stop, folder::FolderLock, run_jobs};
use txgraph_transfers::{BlockRange, BlockRanges, ChainInfo, WrappedNative};
use txgraph_work::WorkContext;

/// The number of addresses that an open lake keeps in memory, in 256 MiB. They are from its first
/// partitions, because most addresses that occur often are old. Others are read again for each chunk.
const ADDRESSES_KEPT: u64 = (256 << 20) / 20;

/// The number of addresses from which they are looked up among all addresses in memory. The
/// pages of fewer are found by bloom filters and the page index.
const MANY_ADDRESSES: usize = 1 << 8;

/// Partitions that are looked up before the first of them is used, for each thread.
pub(crate) const PARTITIONS_AHEAD: usize = 2;

/// An open lake. It does not change: later partitions are visible after opening it again.
///
/// A writer keeps the partitions of an open lake, even if it replaces them. In a bucket, it
/// deletes them: open the lake again.
///
/// A lake in a bucket waits for requests on a runtime of its own. Opening, using or dropping it inside of
/// another asynchronous runtime panics; there, do it in a blocking task.
#[derive(Debug)]
pub struct Lake {
    store: Store,
    _lock: Option<FolderLock>,
    pub(crate) manifest: Manifest,
    pub(crate) partitions: Vec<Partition>,
    chain: ChainInfo,
    blocks: BlockRanges,
    addresses_kept: u64,
}

/// A partition of an open lake. Its files are opened when they are used.
#[derive(Debug)]
pub(crate) struct Partition {
    store: Store,
    path: PathBuf,
    pub(crate) info: PartitionInfo,
    checksums: OnceLock<Checksums>,
    tables: [OnceLock<TableFile>; Table::ALL.len()],
    /// The new addresses, by id.
    addresses: OnceLock<Vec<[u8; 20]>>,
}

/// A human-readable summary of a lake.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its directory or location.
    pub path: PathBuf,
    /// Chain id.
    pub chain_id: u64,
    /// Genesis hash.
    pub genesis_hash: B256,
    /// The contracts whose events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether it has movements inside of transactions that left no log.
    pub internal: bool,
    /// Its blocks.
    pub blocks: BlockRanges,
    /// The number of partitions.
    pub partitions: usize,
    /// The number of partitions that compaction would rewrite.
    pub unsettled_partitions: usize,
    /// The number of transfers.
    pub transfers: u64,
    /// The number of addresses.
    pub addresses: u64,
    /// The bytes of all files.
    pub bytes: u64,
    /// The same for each kind of file.
    pub files: Vec<FileStatus>,
}

/// The files of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct FileStatus {
    /// The name of the file in each partition.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Lake {
    /// Opens the lake in a directory, or, with the feature `s3`, at a location
    /// `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    ///
    /// If there is none, or its manifest is damaged. Other files are checked when they are
    /// read.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::at(&Store::at(folder)?)
    }

    /// Opens the lake at a place.
    pub(crate) fn at(store: &Store) -> Result<Self> {
        // Before the manifest is read, so that what it lists stays.
        let lock = store.lock_for_reading();
        let manifest = Manifest::load(store)?;
        let partition = |info: &PartitionInfo| Partition {
            store: store.clone(),
            path: store.path().join(PARTITIONS).join(&info.folder),
            info: info.clone(),
            checksums: OnceLock::new(),
            tables: Default::default(),
            addresses: OnceLock::new(),
        };
        let genesis_hash = manifest.genesis_hash;
        let name = KnownChain::by_genesis(&genesis_hash).and_then(|chain| chain.name);
        Ok(Self {
            store: store.clone(),
            _lock: lock,
            partitions: manifest.partitions.iter().map(partition).collect(),
            chain: ChainInfo {
                chain_id: manifest.chain_id,
                genesis_hash,
                name: name.map(str::to_owned),
            },
            blocks: manifest.blocks().into_iter().collect(),
            addresses_kept: ADDRESSES_KEPT,
            manifest,
        })
    }

    /// Its directory or location.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Its chain.
    pub const fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    /// Its blocks.
    pub const fn blocks(&self) -> &BlockRanges {
        &self.blocks
    }

    /// Its partitions, ascending.
    pub fn partitions(&self) -> &[PartitionInfo] {
        &self.manifest.partitions
    }

    /// Whether it has movements inside of transactions that left no log.
    pub const fn has_internal(&self) -> bool {
        self.manifest.internal
    }

    /// Returns the time of a block, in seconds since 1970; `None` if the lake does not have it.
    pub fn block_time(&self, block: u64) -> Result<Option<u64>> {
        let mut partitions = self.partitions.iter();
        let partition = partitions.find(|partition| partition.info.blocks.contains(block));
        partition.map(|it| it.block_time(block)).transpose()
    }

    /// Checks that every file exists and has its length. In a bucket, only the partitions are looked for.
    ///
    /// # Errors
    ///
    /// The first file that is missing, or has another length.
    pub fn check_files(&self) -> Result<()> {
        let found: HashSet<String> = self.store.partitions()?.into_iter().collect();
        for partition in &self.partitions {
            if !found.contains(&partition.info.folder) {
                return Err(partition.missing(&partition.path));
            }
            if !self.store.is_remote() {
                for file in &partition.info.files {
                    partition.open(file)?;
                }
                partition.checksums()?;
            }
        }
        Ok(())
    }

    /// Returns a summary.
    pub fn status(&self) -> Status {
        let partitions = self.partitions();
        let files = Table::ALL.iter().map(|table| {
            let all = partitions.iter().flat_map(|partition| &partition.files);
            let of_table = all.filter(|file| file.name == table.as_str());
            let (rows, bytes) = of_table.fold((0, 0), |(rows, bytes), file| {
                (rows + file.rows, bytes + file.bytes)
            });
            FileStatus {
                name: table.as_str().to_owned(),
                rows,
                bytes,
            }
        });
        Status {
            path: self.path().to_owned(),
            chain_id: self.chain.chain_id,
            genesis_hash: self.chain.genesis_hash,
            wrapped_native: self.manifest.wrapped_native.clone(),
            internal: self.manifest.internal,
            blocks: self.blocks.clone(),
            partitions: partitions.len(),
            unsettled_partitions: self.manifest.unsettled().len(),
            transfers: partitions.iter().map(|it| it.transfers).sum(),
            addresses: self.manifest.addresses(),
            bytes: partitions.iter().map(PartitionInfo::bytes).sum(),
            files: files.collect(),
        }
    }

    /// Returns the partitions with requested blocks, each with its number and these blocks.
    pub(crate) fn parts(
        &self,
        blocks: &BlockRanges,
    ) -> impl Iterator<Item = (usize, BlockRange)> + use<'_> {
        let mut parts = Vec::new();
        for range in blocks.iter() {
            let first = (self.partitions)
                .partition_point(|partition| partition.info.blocks.last < range.first);
            for (number, partition) in self.partitions.iter().enumerate().skip(first) {
                match partition.info.blocks.intersect(&range) {
                    Some(blocks) => parts.push((number, blocks)),
                    None => break,
                }
            }
        }
        parts.into_iter()
    }

    /// Returns the ids of addresses, which are ascending; `None` for those in no transfer. Partitions are
    /// read on several threads, until every address is found.
    pub(crate) fn ids(
        &self,
        addresses: &[Address],
        work: &WorkContext,
    ) -> Result<Vec<Option<u64>>> {
        let mut ids = vec![None; addresses.len()];
        if addresses.is_empty() {
            return Ok(ids);
        }
        let are_many = addresses.len() >= MANY_ADDRESSES;
        let missing = Cell::new(addresses.len());
        run_jobs(
            (work, PARTITIONS_AHEAD * work.threads.count()),
            &Stop::new(&work.cancel),
            self.partitions.iter().take_while(|_| missing.get() > 0),
            || (),
            |(), partition| match are_many && self.keeps_addresses(partition) {
                true => partition.kept_ids(addresses),
                false => partition.ids(addresses),
            },
            |found| {
                missing.set(missing.get().saturating_sub(found.len()));
                for (at, id) in found {
                    ids[at] = Some(id);
                }
                Ok(())
            },
        )?;
        Ok(ids)
    }

    /// Keeps another number of addresses, for tests.
    #[doc(hidden)]
    pub const fn keep_addresses(&mut self, number: u64) {
        self.addresses_kept = number;
    }

    /// Whether the addresses of a partition are kept in memory once they were read.
    pub(crate) const fn keeps_addresses(&self, partition: &Partition) -> bool {
        let info = &partition.info;
        info.first_address_id.saturating_add(info.new_addresses) <= self.addresses_kept
    }

    /// The partition that introduced an address.
    pub(crate) fn partition_of_id(&self, id: u64) -> Option<&Partition> {
        let after =
            (self.partitions).partition_point(|partition| partition.info.first_address_id <= id);
        let partition = self.partitions.get(after.checked_sub(1)?)?;
        (id - partition.info.first_address_id < partition.info.new_addresses).then_some(partition)
    }
}

impl Partition {
    /// The error for content that contradicts itself although its checksums match.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> Error {
        damaged(&self.path, what)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a table, opened at the first call.
    pub(crate) fn table(&self, table: Table) -> Result<&TableFile> {
        let place = &self.tables[table as usize];
        if let Some(file) = place.get() {
            return Ok(file);
        }
        let missing = || self.damaged(format!("the manifest does not list {}", table.as_str()));
        let info = (self
            .info
            .files
            .iter()
            .find(|file| file.name == table.as_str()))
        .ok_or_else(missing)?;
        let sums = self.checksums()?.files.iter();
        let sums = sums.into_iter().find(|file| file.name == table.as_str());
        let sums = sums
            .ok_or_else(|| self.damaged(format!("{CHECKSUMS} does not list {}", table.as_str())))?;
        let file = CheckedFile::new(self.open(info)?, sums.crc32.clone())?;
        let file = TableFile::open(file, table, info.rows)?;
        Ok(place.get_or_init(|| file))
    }

    /// Opens one of its files.
    fn open(&self, file: &FileInfo) -> Result<Blob> {
        let blob = self.store.open(&self.name(&file.name), file.bytes);
        blob.map_err(|error| match error.missing_file() {
            Some(path) => self.missing(path),
            None => error,
        })
    }

    /// The name of one of its files in the lake.
    fn name(&self, file: &str) -> String {
        format!("{PARTITIONS}/{}/{file}", self.info.folder)
    }

    fn checksums(&self) -> Result<&Checksums> {
        if let Some(checksums) = self.checksums.get() {
            return Ok(checksums);
        }
        let path = self.path.join(CHECKSUMS);
        let missing = || self.missing(&path);
        let json = self
            .store
            .read(&self.name(CHECKSUMS))?
            .ok_or_else(missing)?;
        if hex(crc32fast::hash(&json)) != self.info.checksums_crc32 {
            return Err(damaged(path, "it does not match its checksum"));
        }
        let checksums: Checksums =
            serde_json::from_slice(&json).map_err(|error| damaged(&path, error.to_string()))?;
        if checksums.block_bytes != BLOCK_BYTES {
            return Err(damaged(
                path,
                format!("its checksums cover {} bytes each", checksums.block_bytes),
            ));
        }
        Ok(self.checksums.get_or_init(|| checksums))
    }

    /// The error for a file that does not exist.
    fn missing(&self, path: &Path) -> Error {
        let listed = |it: &PartitionInfo| it.folder == self.info.folder;
        match Manifest::load(&self.store) {
            Ok(now) if !now.partitions.iter().any(listed) => Error::InUse(format!(
                "{} was replaced while the lake was read; open the lake again",
                self.path.display()
            )),
            _ => damaged(path, "it does not exist"),
        }
    }

    /// Finds which of these addresses, which are ascending, the partition introduced. Returns their
    /// places and ids. All its addresses are read, and kept.
    fn kept_ids(&self, addresses: &[Address]) -> Result<Vec<(usize, u64)>> {
        let known = self.addresses()?;
        let mut from = 0;
        let mut found = Vec::new();
        for (at, address) in addresses.iter().enumerate() {
            from += known[from..].partition_point(|it| *it < address.0.0);
            if known.get(from) == Some(&address.0.0) {
                found.push((at, self.info.first_address_id + from as u64));
            }
        }
        Ok(found)
    }

    /// The same, from the pages that can have the addresses.
    fn ids(&self, addresses: &[Address]) -> Result<Vec<(usize, u64)>> {
        let table = self.table(Table::Addresses)?;
        let rows = table.rows_with(addresses)?;
        let mut found = Vec::new();
        if rows.is_empty() {
            return Ok(found);
        }
        let mut next = 0;
        for batch in table.read(&["address", "id"], Some(rows))? {
            let batch = batch?;
            let all = batch.bytes::<20>("address")?.iter().zip(batch.u64s("id")?);
            for (address, id) in all {
                let is_below = |wanted: &Address| wanted.0.0 < *address;
                while addresses.get(next).is_some_and(is_below) {
                    next += 1;
                }
                if addresses.get(next).is_some_and(|it| it.0.0 == *address) {
                    found.push((next, *id));
                }
            }
        }
        Ok(found)
    }

    /// The row of an address that it introduced.
    pub(crate) fn row_of_id(&self, id: u64) -> usize {
        usize::try_from(id - self.info.first_address_id).unwrap_or(usize::MAX)
    }

    /// The new addresses by id, if they were read.
    pub(crate) fn kept_addresses(&self) -> Option<&[[u8; 20]]> {
        self.addresses.get().map(Vec::as_slice)
    }

    /// The new addresses by id, read at the first call.
    pub(crate) fn addresses(&self) -> Result<&[[u8; 20]]> {
        if let Some(addresses) = self.addresses.get() {
            return Ok(addresses);
        }
        let table = self.table(Table::Addresses)?;
        let mut all = Vec::new();
        for batch in table.read(&["address"], None)? {
            all.extend_from_slice(batch?.bytes::<20>("address")?);
        }
        if all.len() as u64 != self.info.new_addresses {
            return Err(table.damaged(format!(
                "it has {} addresses instead of {}",
                all.len(),
                self.info.new_addresses
            )));
        }
        Ok(self.addresses.get_or_init(|| all))
    }
}
