//! Blocks one after the other on the caller's thread, with an account of each: for
//! those who keep what they read and bring their own threads.

use crate::{
    availability,
    error::Error,
    merge::{Outcome, Piece},
    patience::retry,
    read::{BlockAccount, ChunkReader, SNAPSHOT_BLOCKS_MAX, parts},
    source::NodeSource,
    threads::canonical,
};
use alloy_primitives::{Address, B256};
use std::{
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};
use txgraph_nodedb::Scratch;
use txgraph_transfers::{BlockRange, DecodeCounts, ScanRequest, SourceError, Transfer};

/// Transfers of a [`Stretch`] take about so many bytes at most: few enough to stay in
/// one of the processor's caches until they are kept elsewhere, and so many that a
/// snapshot of its own (0.3 ms, with every `.conf` read again) does not count.
const STRETCH_BYTES: u64 = 4 << 20;

/// How often blocks that are being replaced are asked for again.
const UNWOUND_MAX: u32 = 3;

/// Consecutive blocks that were read, each naming the hash of the one before.
#[derive(Debug)]
pub struct Stretch {
    /// The blocks.
    pub blocks: BlockRange,
    /// Parent hash of the first block.
    pub parent_hash: B256,
    /// Hash of the last block.
    pub hash: B256,
    /// An account of every block, in order.
    pub accounts: Vec<BlockAccount>,
    /// What was odd in them, by block and contract, ascending.
    pub odd: Vec<OddLogs>,
    /// The wanted transfers, in total order.
    pub transfers: Vec<Transfer>,
}

/// What was odd about the logs of one contract in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OddLogs {
    /// Number of the block.
    pub block: u64,
    /// The contract.
    pub emitter: Address,
    /// What was odd alone.
    pub counts: DecodeCounts,
}

/// A worker of [`NodeSource::block_reader`], with buffers of its own.
#[derive(Debug)]
pub struct BlockReader<'a> {
    source: &'a NodeSource,
    request: &'a ScanRequest,
    scratch: Scratch,
}

impl NodeSource {
    /// A reader of blocks for one thread. Of `request` the filter, the wrapped coins
    /// and `with_hashes` count; which blocks is said to [`BlockReader::read`].
    pub fn block_reader<'a>(&'a self, request: &'a ScanRequest) -> BlockReader<'a> {
        BlockReader {
            source: self,
            request,
            scratch: Scratch::default(),
        }
    }

    /// The highest block that can be read now.
    pub fn tip(&self) -> Result<u64, SourceError> {
        let tip = retry("tip", || Ok(self.db().snapshot()?.tip()));
        Ok(tip.map_err(Error::NodeDb)?)
    }

    /// Hash of a block in the chain of now; `None` above its tip.
    pub fn canonical_hash(&self, block: u64) -> Result<Option<B256>, SourceError> {
        canonical(self.db(), block)
    }

    /// Hashes of blocks, all under one snapshot: what is canonical together is one chain.
    pub fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let hashes = retry("block hashes", || {
            let snapshot = self.db().snapshot()?;
            let there = |block: &u64| *block <= snapshot.tip();
            let hash = |block: &u64| {
                there(block)
                    .then(|| snapshot.block_hash(*block))
                    .transpose()
            };
            blocks.iter().map(hash).collect()
        });
        Ok(hashes.map_err(Error::NodeDb)?)
    }

    /// Takes the word of a caller who knows the hash of the last of these blocks from
    /// elsewhere, and that they are one unbroken chain: hashes of their transactions
    /// are then resolved as after a scan, and the last block's hash is checked instead
    /// of every header.
    pub fn pin(&self, blocks: BlockRange, hash: B256) {
        self.pins().add(&[(blocks, hash)]);
    }
}

impl BlockReader<'_> {
    /// Reads the first of `blocks`, as many as fit into a stretch; all of them must be
    /// there. Whether the stretch follows what was read before, and is still canonical
    /// at the end, is the caller's to check.
    pub fn read(&mut self, blocks: BlockRange) -> Result<Stretch, SourceError> {
        let kept = Mutex::new((Vec::new(), Vec::new()));
        let books = |account: BlockAccount, odd: Vec<(Address, DecodeCounts)>| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (accounts, all_odd) = &mut *kept;
            if account.number == blocks.first {
                accounts.clear();
                all_odd.clear();
            }
            accounts.push(account);
            all_odd.extend(odd.into_iter().map(|(emitter, counts)| OddLogs {
                block: account.number,
                emitter,
                counts,
            }));
        };
        let options = self.source.options();
        let reader = ChunkReader {
            db: self.source.db(),
            request: self.request,
            chain_id: self.source.chain_id(),
            parts: parts(self.request, options.verify),
            verify: options.verify,
            tokens: None,
            piece_bytes: STRETCH_BYTES,
            snapshot_blocks_max: options.snapshot_blocks_max.unwrap_or(SNAPSHOT_BLOCKS_MAX),
            cancel: &options.cancel,
            books: Some(&books),
            over: AtomicBool::new(false),
        };
        let mut unwound = 0;
        let Piece {
            blocks,
            parent,
            hash,
            transfers,
            ..
        } = loop {
            match reader.read(blocks, &mut self.scratch) {
                Outcome::Read(piece) => break piece,
                Outcome::Gone(missing) => {
                    let available =
                        availability::everything(reader.db, reader.parts, &options.cancel)?;
                    return Err(SourceError::Unavailable { missing, available });
                }
                Outcome::Unwound { block } if unwound == UNWOUND_MAX => {
                    return Err(SourceError::Reorged { block });
                }
                Outcome::Unwound { .. } => {
                    unwound += 1;
                    std::thread::sleep(Duration::from_millis(50));
                }
                Outcome::Failed(error) => return Err(SourceError::Failed(error)),
                Outcome::Stopped => return Err(SourceError::Interrupted),
            }
        };
        let (accounts, odd) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() as u64 != blocks.blocks() {
            return Err(Error::Incomplete {
                block: blocks.first,
                what: "accounts of blocks",
                given: accounts.len() as u64,
                expected: blocks.blocks(),
            }
            .into());
        }
        Ok(Stretch {
            odd,
            blocks,
            parent_hash: parent,
            hash,
            accounts,
            transfers,
        })
    }
}
