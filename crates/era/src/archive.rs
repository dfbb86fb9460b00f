//! An archive: the files of one chain, as stored blocks.

use crate::{
    accumulator,
    chain::{Facts, identify},
    error::{Error, Result},
    file::EraFile,
    name::{FileName, has_extension},
    record::{ACCUMULATOR, Format, HEAD_BYTES},
    records::{Fault, Records},
    scratch::{BlockReader, Scratch},
    transaction::Payment,
};
use alloy_primitives::{B256, U256};
use std::{
    fs,
    path::{Path, PathBuf},
};
use txgraph_stored::{StoredBlocks, StoredChunk};
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockTime, ChainInfo, Kind, ScanRequest, SourceError, SourceFailure,
    Transfer,
};

/// The compressed bytes that a thread reads at a time.
const CHUNK_BYTES: u64 = 4 << 20;

const CHUNK_BLOCKS_MAX: u64 = 1024;

/// The newest blocks that are searched for a transaction with a chain ID.
const SIGNED_BLOCKS: u64 = 16;

/// Settings of an archive.
#[derive(Clone, Copy, Debug, Default)]
pub struct EraOptions {
    /// The chain ID, where nothing in the files identifies the chain. A contradiction is refused.
    pub chain_id: Option<u64>,
    /// The number of blocks that a thread reads at a time; `None`: chosen by their size.
    pub chunk_blocks: Option<u64>,
    /// Whether bodies are proven even where they are not needed, and accumulators are recomputed.
    pub verify: bool,
}

/// The files of one chain.
#[derive(Debug)]
pub struct Archive {
    /// Files with receipts, ascending by their blocks.
    files: Vec<EraFile>,
    available: BlockRanges,
    missing_reason: String,
    pub(crate) chain: ChainInfo,
    chunk_blocks: Option<u64>,
    pub(crate) verify: bool,
}

impl Archive {
    /// Opens a file, or all files of a directory. Reads their block indexes and the first and the
    /// newest blocks.
    ///
    /// # Errors
    ///
    /// If a file is not an archive, files overlap, or the chain is not known.
    pub fn open(path: &Path, options: &EraOptions) -> Result<Self> {
        let mut files = Vec::new();
        for path in list(path)? {
            files.push(EraFile::open(&path)?);
        }
        let network = common_network(&files)?;
        let mut without = Vec::new();
        files.retain(|file| {
            let has_receipts = file.index.has_receipts();
            if !has_receipts {
                without.push(file.path.clone());
            }
            has_receipts
        });
        files.sort_by_key(|file| file.index.blocks.first);
        for two in files.windows(2) {
            if two[1].index.blocks.first <= two[0].index.blocks.last {
                return Err(Error::Overlap {
                    first: two[0].path.clone(),
                    second: two[1].path.clone(),
                    block: two[1].index.blocks.first,
                });
            }
        }
        let Some(lowest) = files.first() else {
            let path = without.pop().unwrap_or_else(|| path.to_path_buf());
            let what = "the file contains no receipts (profile noreceipts), and transfers are \
                        decoded from receipts; use files of the default profile or of `noproofs`";
            return Err(Error::Missing {
                path,
                what: what.to_owned(),
            });
        };
        let mut archive = Self {
            available: files.iter().map(|file| file.index.blocks).collect(),
            missing_reason: match without.len() {
                0 => "not in the files".to_owned(),
                count => format!("not in the files; files without receipts: {count}"),
            },
            chain: ChainInfo {
                chain_id: 0,
                genesis_hash: B256::ZERO,
                name: None,
            },
            chunk_blocks: options.chunk_blocks,
            verify: options.verify,
            files: Vec::new(),
        };
        let genesis = match lowest.index.blocks.first {
            0 => Some(first_hash(lowest)?),
            _ => None,
        };
        archive.chain = identify(&Facts {
            path: &lowest.path,
            network: network.as_deref(),
            genesis,
            signed: signed_chain_id(&files)?,
            configured: options.chain_id,
        })?;
        archive.files = files;
        Ok(archive)
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// The network of the chain in names of files that are written.
    pub fn network(chain: &ChainInfo) -> String {
        crate::chain::network_of(chain)
    }

    /// Returns the time of a block, in seconds since 1970; `None` if the block is in no file.
    pub fn block_time(&self, block: u64) -> Result<Option<u64>> {
        if !self.available().contains(block) {
            return Ok(None);
        }
        let blocks = BlockRange::one(block);
        let mut scratch = Scratch::default();
        let mut reader = BlockReader::new(self.file_of(block)?, blocks, &mut scratch)?;
        Ok(Some(reader.header(block)?.timestamp))
    }

    fn file_of(&self, block: u64) -> Result<&EraFile> {
        let after = (self.files).partition_point(|file| file.index.blocks.first <= block);
        let file = after.checked_sub(1).map(|at| &self.files[at]);
        let file = file.filter(|file| file.index.blocks.contains(block));
        file.ok_or_else(|| {
            let path = self.files.first().map(|file| file.path.clone());
            Error::Unreadable {
                path: path.unwrap_or_default(),
                what: format!("block {block}: it is not in the files"),
            }
        })
    }

    /// Whether logs report the movements of the native coin in a block and those after it
    /// (EIP-7708, since Amsterdam).
    pub fn is_logged(&self, block: u64) -> Result<bool> {
        let file = self.file_of(block)?;
        let blocks = BlockRange::one(block);
        let mut scratch = Scratch::default();
        let header = BlockReader::new(file, blocks, &mut scratch)?.header(block)?;
        Ok(header.has_access_list)
    }

    /// Recomputes the accumulator of a file, if it has one.
    fn check_accumulator(&self, file: &EraFile, scratch: &mut Scratch) -> Result<()> {
        let fault = |fault| file.fault(file.index.blocks.last, fault);
        let expected = match (stored_accumulator(file).map_err(fault)?, file.index.format) {
            (Some(expected), _) => expected,
            // Optional, and only before the merge.
            (None, Format::Ere) => return Ok(()),
            (None, Format::Era1) => {
                let what = "it has no accumulator before its block index";
                return Err(Error::container(&file.path, what));
            }
        };
        let blocks = file.index.blocks;
        let mut reader = BlockReader::new(file, blocks, scratch)?;
        let mut records: Vec<(B256, U256)> = Vec::new();
        for number in blocks.first..=blocks.last {
            let header = reader.header(number)?;
            // Blocks after the merge are not in the accumulator.
            if header.difficulty.is_zero() {
                break;
            }
            let Some(total) = reader.total_difficulty(number)? else {
                return Err(file.block_error(number, "it has no total difficulty"));
            };
            let before = records.last().map(|(_, before)| *before);
            if before.is_some_and(|before| before.checked_add(header.difficulty) != Some(total)) {
                return Err(file.block_error(
                    number,
                    "its total difficulty is not the sum of the difficulties before",
                ));
            }
            records.push((header.hash, total));
        }
        match accumulator::root(&records) == expected {
            true => Ok(()),
            false => Err(Error::container(
                &file.path,
                "its blocks do not have the accumulator in the file",
            )),
        }
    }

    /// The number of blocks in a chunk of a file.
    fn chunk_of(&self, file: &EraFile) -> u64 {
        let per_block = file.len / file.index.blocks.blocks().max(1);
        let blocks = CHUNK_BYTES / per_block.max(1);
        let chosen = self.chunk_blocks.unwrap_or(blocks);
        chosen.clamp(1, CHUNK_BLOCKS_MAX)
    }
}

impl StoredBlocks for Archive {
    type Scratch = Scratch;

    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn available(&self) -> BlockRanges {
        self.available.clone()
    }

    fn missing_reason(&self) -> &str {
        &self.missing_reason
    }

    fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        if request.filter.needs_fees() {
            return Err(SourceError::Unsupported {
                what: "a request for fees",
                reason: "the archives do not contain them",
            });
        }
        let present = request.blocks.intersect(&self.available);
        if request.filter.needs_traces()
            && let Some(blocks) = present.span()
            && !self.is_logged(blocks.first).map_err(SourceFailure::from)?
        {
            return Err(SourceError::Unsupported {
                what: "a request for internal transfers",
                reason: "blocks before Amsterdam have no logs of them",
            });
        }
        Ok(())
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        _: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let mut chunks = Vec::new();
        for range in blocks.iter() {
            let mut next = Some(range.first);
            while let Some(first) = next.filter(|first| *first <= range.last) {
                let file = self.file_of(first)?;
                let last = first.saturating_add(self.chunk_of(file) - 1);
                let last = last.min(file.index.blocks.last).min(range.last);
                chunks.extend(BlockRange::new(first, last));
                next = last.checked_add(1);
            }
        }
        Ok(chunks)
    }

    fn read(
        &self,
        scratch: &mut Self::Scratch,
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        let file = self.file_of(chunk.first)?;
        if self.verify && chunk.last == file.index.blocks.last {
            self.check_accumulator(file, scratch)?;
        }
        Ok(self.read_blocks(file, chunk, request, scratch)?)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceFailure> {
        let is_filled = |row: &Transfer| {
            let has_hash = row.transaction_hash.is_some() || row.kind == Kind::Withdrawal;
            has_hash && row.block_timestamp.is_some()
        };
        let wanted = (0..transfers.len()).filter(|at| !is_filled(&transfers[*at]));
        let mut wanted: Vec<(u64, usize)> =
            wanted.map(|at| (transfers[at].block_number, at)).collect();
        wanted.sort_unstable();
        let mut scratch = Scratch::default();
        for rows in wanted.chunk_by(|(block, _), (other, _)| block == other) {
            let number = rows[0].0;
            let file = self.file_of(number)?;
            let block = BlockRange::one(number);
            let mut reader = BlockReader::new(file, block, &mut scratch)?;
            let header = reader.header(number)?;
            reader.body(&header)?;
            for (_, at) in rows {
                let row = &mut transfers[*at];
                row.block_timestamp = BlockTime::new(header.timestamp);
                self.fill_block(file, reader.scratch, number, std::slice::from_mut(row))?;
            }
        }
        Ok(())
    }
}

/// The archives at a path: the file itself, or those in the directory, by name.
fn list(path: &Path) -> Result<Vec<PathBuf>> {
    let io = |source| Error::io(path, source);
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?.path();
        if has_extension(&entry) && entry.is_file() {
            files.push(entry);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::Missing {
            path: path.to_path_buf(),
            what: "no .ere or .era1 files in this directory".to_owned(),
        }),
        false => Ok(files),
    }
}

/// The network in the names of the files. All must be the same.
fn common_network(files: &[EraFile]) -> Result<Option<String>> {
    let network = |file: &EraFile| {
        file.name
            .as_ref()
            .map(|FileName { network }| network.clone())
    };
    let mut named = files.iter().filter_map(|file| Some((file, network(file)?)));
    let Some((_, first)) = named.next() else {
        return Ok(None);
    };
    match named.find(|(_, other)| *other != first) {
        Some((file, other)) => Err(Error::container(
            &file.path,
            &format!("it is of the network {other}, but other files are of {first}"),
        )),
        None => Ok(Some(first)),
    }
}

fn first_hash(file: &EraFile) -> Result<B256> {
    let first = BlockRange::one(0);
    let mut scratch = Scratch::default();
    Ok(BlockReader::new(file, first, &mut scratch)?.header(0)?.hash)
}

/// The chain ID in a transaction of the newest blocks.
fn signed_chain_id(files: &[EraFile]) -> Result<Option<u64>> {
    let Some(file) = files.last() else {
        return Ok(None);
    };
    let BlockRange { first, last } = file.index.blocks;
    let newest = BlockRange::from_to(last.saturating_sub(SIGNED_BLOCKS - 1).max(first), last);
    let mut scratch = Scratch::default();
    let mut reader = BlockReader::new(file, newest, &mut scratch)?;
    for number in (newest.first..=newest.last).rev() {
        let header = reader.header(number)?;
        reader.body(&header)?;
        let Scratch { body, body_rlp, .. } = &*reader.scratch;
        for range in &body.transactions {
            let payment = Payment::of(&body_rlp[range.clone()]);
            let payment = payment.map_err(|what| file.block_error(number, what))?;
            if payment.chain_id.is_some() {
                return Ok(payment.chain_id);
            }
        }
    }
    Ok(None)
}

/// The accumulator in a file. It is the record before the block index.
fn stored_accumulator(file: &EraFile) -> Result<Option<B256>, Fault> {
    let position = file.index.position;
    let bytes = (HEAD_BYTES + B256::len_bytes()) as u64;
    let Some(position) = position.checked_sub(bytes) else {
        return Ok(None);
    };
    let handle = fs::File::open(&file.path).map_err(Fault::Io)?;
    let head = crate::index::head_at(&handle, file.len, position);
    if !head.is_ok_and(|head| head.kind == ACCUMULATOR && u64::from(head.length) == 32) {
        return Ok(None);
    }
    let mut records = Records::default();
    let (root, _) = records.raw((&handle, file.len), position, ACCUMULATOR)?;
    Ok(Some(B256::from_slice(root)))
}
