//! Transfers of bundles: each block is executed again.

use crate::{B256, Error, ErrorKind, Result};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};
use txgraph_base::KnownChain;
use txgraph_replay::{Bundle, ChainRules, FrameDetail, Record, ReplayOptions, Replayer};
use txgraph_stored::{StoredBlocks, StoredChunk};
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockTime, ChainInfo, Decoder, FailureKind, Kind, ScanRequest,
    SourceError, SourceFailure, Transfer, WithdrawalView,
};
use txgraph_work::Threads;

/// The blocks of some bundles.
#[derive(Debug)]
pub(crate) struct BundleBlocks {
    chain: ChainInfo,
    /// The genesis file that describes the chain, if it is named.
    chain_file: Option<PathBuf>,
    /// By block: the file, and the time.
    blocks: BTreeMap<u64, (PathBuf, u64)>,
}

/// The blocks of files of one chain, each once.
#[derive(Debug, Default)]
pub(crate) struct DistinctBlocks {
    /// The number of the chain, the hash of its genesis block, and the first file.
    chain: Option<((u64, B256), PathBuf)>,
    /// By number: the hash, and the first file.
    blocks: BTreeMap<u64, (B256, PathBuf)>,
}

impl DistinctBlocks {
    /// Adds the block of a file. Returns whether it is new: a file can have the same block in another form.
    ///
    /// # Errors
    ///
    /// If it is of another chain, or another block of the same number.
    pub(crate) fn add(
        &mut self,
        rules: &ChainRules,
        (number, hash): (u64, B256),
        file: &Path,
    ) -> Result<bool> {
        let of_file = (rules.chain_id, rules.genesis_hash);
        let (chain, first) = (self.chain).get_or_insert_with(|| (of_file, file.to_path_buf()));
        if *chain != of_file {
            return Err(Error::usage(format!(
                "{}: it is of another chain than {}",
                file.display(),
                first.display()
            )));
        }
        match self.blocks.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert((hash, file.to_path_buf()));
                Ok(true)
            }
            Entry::Occupied(other) if other.get().0 != hash => Err(Error::usage(format!(
                "{} and {} have different blocks {number}",
                other.get().1.display(),
                file.display()
            ))),
            Entry::Occupied(_) => Ok(false),
        }
    }
}

impl BundleBlocks {
    /// Reads which blocks the files have.
    pub(crate) fn open(files: &[PathBuf], chain_file: Option<&Path>) -> Result<Self> {
        let mut distinct = DistinctBlocks::default();
        let mut blocks = BTreeMap::new();
        for file in files {
            let bundle = Bundle::open(file)?;
            let rules = ChainRules::of_bundle(&bundle, chain_file)?;
            let block = bundle.block();
            let number = block.header.number;
            if distinct.add(&rules, (number, block.hash), file)? {
                blocks.insert(number, (file.clone(), block.header.timestamp));
            }
        }
        let (chain_id, genesis_hash) = (distinct.chain).map_or_else(
            || Err(Error::unavailable("there are no bundles")),
            |(of, _)| Ok(of),
        )?;
        let name = KnownChain::by_genesis(&genesis_hash).and_then(|known| known.name);
        Ok(Self {
            chain: ChainInfo {
                chain_id,
                genesis_hash,
                name: name.map(str::to_owned),
            },
            chain_file: chain_file.map(Path::to_path_buf),
            blocks,
        })
    }

    /// The file of a block.
    pub(crate) fn file(&self, block: u64) -> Option<&Path> {
        let (file, _) = self.blocks.get(&block)?;
        Some(file)
    }

    /// The blocks in some ranges, ascending.
    pub(crate) fn within(&self, blocks: &BlockRanges) -> Vec<u64> {
        let numbers = self.blocks.keys().copied();
        numbers.filter(|number| blocks.contains(*number)).collect()
    }

    /// The time of a block, in seconds since 1970.
    pub(crate) fn time(&self, block: u64) -> Option<u64> {
        self.blocks.get(&block).map(|(_, time)| *time)
    }
}

impl StoredBlocks for BundleBlocks {
    type Scratch = ();

    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn available(&self) -> BlockRanges {
        let blocks = self.blocks.keys().copied().map(BlockRange::one);
        BlockRanges::new(blocks.collect())
    }

    fn missing_reason(&self) -> &str {
        "not in a bundle"
    }

    /// A replay finds all.
    fn check(&self, _: &ScanRequest) -> Result<(), SourceError> {
        Ok(())
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        _: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let wanted = self.within(blocks).into_iter();
        Ok(wanted.map(BlockRange::one).collect())
    }

    fn read(
        &self,
        (): &mut Self::Scratch,
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        let failed = |error: txgraph_replay::Error| {
            let error = Error::from(error);
            let kind = match error.kind {
                ErrorKind::Unavailable => FailureKind::Missing,
                _ => FailureKind::Unreadable,
            };
            SourceFailure::new(kind, error)
        };
        let missing =
            || SourceFailure::new(FailureKind::Unreadable, "no bundle contains the block");
        let bundle = open(self.file(chunk.first).ok_or_else(missing)?)?;
        let filter = &request.filter;
        let options = ReplayOptions {
            threads: Threads::one(),
            ..ReplayOptions::recording(Record {
                frames: filter.needs_traces().then_some(FrameDetail::Calls),
                ..Record::default()
            })
        };
        let replayer =
            Replayer::of_bundle(&bundle, self.chain_file.as_deref(), options).map_err(failed)?;
        let replay = replayer.block(chunk.first).map_err(failed)?;
        if let Some(mismatch) = replay.mismatches.first() {
            let error = Error::disagrees(mismatch);
            return Err(SourceFailure::new(FailureKind::Unreadable, error));
        }
        let mut decoder = Decoder::new(self.chain.chain_id, &request.wrapped_native, filter);
        let withdrawals = bundle.block().withdrawals.iter();
        let withdrawals = withdrawals.map(|it| WithdrawalView {
            address: it.address,
            amount_gwei: it.amount,
        });
        let transfers = replay.transfers(&mut decoder, filter, withdrawals);
        Ok(StoredChunk {
            transfers,
            counts: *decoder.counts(),
            parent_hash: Some(replay.parent_hash),
            last_hash: Some(replay.hash),
        })
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceFailure> {
        let mut wanted: Vec<&mut Transfer> = transfers.iter_mut().collect();
        wanted.sort_by_key(|it| it.block_number);
        for of_block in wanted.chunk_by_mut(|a, b| a.block_number == b.block_number) {
            let Some((file, time)) = self.blocks.get(&of_block[0].block_number) else {
                continue;
            };
            let bundle = open(file)?;
            for transfer in of_block {
                transfer.block_timestamp = BlockTime::new(*time);
                if transfer.kind != Kind::Withdrawal {
                    let index = usize::try_from(transfer.transaction_index).unwrap_or(usize::MAX);
                    let signed = bundle.block().transactions.get(index);
                    transfer.transaction_hash = signed.map(|signed| *signed.tx_hash());
                }
            }
        }
        Ok(())
    }
}

/// Opens a bundle during a scan.
fn open(file: &Path) -> std::result::Result<Bundle, SourceFailure> {
    Bundle::open(file).map_err(|error| SourceFailure::new(FailureKind::Unreadable, error))
}
