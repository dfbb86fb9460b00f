//! The node database as a source for an index: blocks one after the other on the caller's
//! thread, with counts for each, and the hashes of the canonical chain.

use crate::{
    availability,
    ends::transaction_ends,
    error::Error,
    fees,
    merge::{Outcome, Piece},
    read::{ChunkReader, SNAPSHOT_BLOCKS_MAX, parts},
    source::NodeSource,
    workers::reread,
};
use alloy_primitives::Address;
use std::sync::{Mutex, PoisonError, atomic::AtomicBool};
use txgraph_nodedb::{Block, Parts, Scratch};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockReader, BlockRun, BlockSummary, DecodeCounts, Indexable,
    Participation, ScanRequest, SourceError,
};

/// The maximum size of the transfers of a [`BlockRun`] in bytes. They stay in a cache of the
/// processor until they are copied elsewhere, and the cost of a snapshot for each run (0.3 ms,
/// with every `.conf` read again) is small.
const RUN_BYTES: u64 = 4 << 20;

/// The reader of [`Indexable::block_reader`], with its own buffers.
struct NodeBlockReader<'a> {
    source: &'a NodeSource,
    request: &'a ScanRequest,
    /// Whether to read who takes part in transactions.
    participations: bool,
    scratch: Scratch,
    /// The number of transfers of the run before, and a few more.
    rows_expected: usize,
}

impl Indexable for NodeSource {
    fn tip(&self) -> Result<u64, SourceError> {
        let tip = reread("tip", || Ok(self.db().snapshot()?.tip()));
        Ok(tip.map_err(Error::NodeDb)?)
    }

    fn block_reader<'a>(
        &'a self,
        request: &'a ScanRequest,
        participations: bool,
    ) -> Box<dyn BlockReader + 'a> {
        Box::new(NodeBlockReader {
            source: self,
            request,
            participations,
            scratch: Scratch::default(),
            rows_expected: 0,
        })
    }
}

impl BlockReader for NodeBlockReader<'_> {
    fn read(&mut self, blocks: BlockRange) -> Result<BlockRun, SourceError> {
        let kept = Mutex::new((Vec::new(), Vec::new(), Vec::new(), Vec::new()));
        let observer = |block: &mut Block<'_>,
                        summary: BlockSummary,
                        hash,
                        odd: Vec<(Address, DecodeCounts)>| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (summaries, hashes, anomalies, participations) = &mut *kept;
            if summary.number == blocks.first {
                summaries.clear();
                hashes.clear();
                anomalies.clear();
                participations.clear();
            }
            summaries.push(summary);
            hashes.push(hash);
            anomalies.extend(odd.into_iter().map(|(emitter, counts)| AnomalousLogs {
                block: summary.number,
                emitter,
                counts,
            }));
            let before = participations.len();
            if self.participations {
                transaction_ends(block, |it| participations.push(it))?;
            }
            Ok(size_of::<Participation>() * (participations.len() - before))
        };
        let options = self.source.options();
        let parts = parts(self.request, self.source.db().family(), options.verify);
        let reader = ChunkReader {
            db: self.source.db(),
            request: self.request,
            chain_id: self.source.chain_id(),
            parts: Parts {
                transactions: parts.transactions || self.participations,
                senders: parts.senders || self.participations,
                ..parts
            },
            fees: fees::rules(self.request, self.source.db(), self.source.chain_id())?,
            verify: options.verify,
            tokens: None,
            piece_bytes: RUN_BYTES,
            snapshot_blocks_max: options.snapshot_blocks_max.unwrap_or(SNAPSHOT_BLOCKS_MAX),
            cancel: &options.cancel,
            rows_expected: self.rows_expected,
            observer: Some(&observer),
            stopped: AtomicBool::new(false),
        };
        let Piece {
            blocks,
            parent,
            hash,
            transfers,
            ..
        } = match reader.read(blocks, &mut self.scratch) {
            Outcome::Read(piece) => piece,
            Outcome::Gone(missing) => {
                let available = availability::everything(reader.db, reader.parts, &options.cancel)?;
                return Err(SourceError::Unavailable { missing, available });
            }
            Outcome::Unwound { block } => return Err(SourceError::Reorged { block }),
            Outcome::Failed(error) => return Err(SourceError::Failed(error)),
            Outcome::Stopped => return Err(SourceError::Interrupted),
        };
        self.rows_expected = transfers.len() + transfers.len() / 16;
        let (summaries, hashes, anomalies, mut participations) =
            kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if summaries.len() as u64 != blocks.blocks() {
            return Err(Error::Incomplete {
                block: blocks.first,
                what: "summaries of blocks",
                given: summaries.len() as u64,
                expected: blocks.blocks(),
            }
            .into());
        }
        Participation::settle(&mut participations);
        Ok(BlockRun {
            blocks,
            parent_hash: parent,
            last_hash: hash,
            summaries,
            hashes,
            anomalies,
            transfers,
            participations,
        })
    }
}
