//! Reads one chunk: what a worker does.
//!
//! A chunk is read under a snapshot of its own, renewed in long chunks, so that
//! no read transaction holds the node back for more than seconds. Whatever goes
//! wrong may be the node's doing (it truncates, prunes and replaces files), so a
//! chunk is read again under a fresh snapshot before its error is believed.

use crate::{
    availability,
    error::{Error, Result},
    merge::{Outcome, Piece},
    options::CancelFlag,
    patience::{ATTEMPTS_MAX, pause},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use txgraph_nodedb::{
    self as nodedb, Block, Blocks, BodyIndices, NodeDb, Parts, Scratch, Snapshot,
};
use txgraph_transfers::{
    BlockRange, Decoder, Kind, LogView, ScanRequest, TransactionView, Transfer, TransferFilter,
    WithdrawalView,
};

/// A snapshot is renewed inside a chunk after this time …
const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(5);

/// … or after so many blocks, unless told otherwise.
pub(crate) const SNAPSHOT_BLOCKS_MAX: u64 = 100_000;

/// A chunk whose blocks are above the tip, although they were not when the scan
/// began, is waited for a little longer than others (2.5 s): the node is replacing
/// them.
const ATTEMPTS_ABOVE_TIP_MAX: u32 = 10;

/// Which parts of the blocks a question needs.
pub(crate) fn parts(filter: &TransferFilter, with_hashes: bool) -> Parts {
    Parts {
        receipts: true,
        transactions: filter.needs_transactions() || with_hashes,
        senders: filter.needs_transactions(),
        withdrawals: filter.needs_withdrawals(),
    }
}

/// What is the same for all chunks of a scan.
pub(crate) struct ChunkReader<'a> {
    pub(crate) db: &'a NodeDb,
    pub(crate) request: &'a ScanRequest,
    pub(crate) chain_id: u64,
    pub(crate) parts: Parts,
    /// A piece ends with the block that makes its transfers larger than this.
    pub(crate) piece_bytes: u64,
    pub(crate) snapshot_blocks_max: u64,
    pub(crate) cancel: &'a CancelFlag,
    /// Set when the scan has ended and outcomes are no longer wanted.
    pub(crate) over: AtomicBool,
}

/// Why reading stops between two blocks.
enum Halt {
    /// The piece is large enough.
    Full,
    /// The snapshot is old enough.
    Renew,
    /// The scan is to end.
    Stopped,
    /// The blocks do not fit together.
    Broken(Error),
}

/// What has been read of a chunk so far.
struct Partial {
    /// The next block.
    next: u64,
    /// Parent hash of the first block, hash of the last.
    ends: Option<(B256, B256)>,
    /// Number of the next block's first transaction, if known.
    next_tx: Option<u64>,
    transfers: Vec<Transfer>,
}

impl ChunkReader<'_> {
    /// Reads `chunk`, patiently.
    pub(crate) fn read(&self, chunk: BlockRange, scratch: &mut Scratch) -> Outcome {
        let mut attempt = 1;
        loop {
            let error = match self.attempt(chunk, scratch) {
                Ok(outcome) => return outcome,
                Err(error) => error,
            };
            let above_tip = matches!(error, Error::NodeDb(nodedb::Error::AboveTip { .. }));
            // Once may be by chance; then the blocks may have been deleted.
            if attempt > 1
                && !above_tip
                && let Ok(Some(gone)) = self.gone(chunk)
            {
                return gone;
            }
            let attempts_max = if above_tip {
                ATTEMPTS_ABOVE_TIP_MAX
            } else {
                ATTEMPTS_MAX
            };
            if attempt >= attempts_max {
                return failure(error);
            }
            tracing::debug!(%chunk, attempt, %error, "reading again");
            if !pause(attempt, &|| self.stopped()) {
                return Outcome::Stopped;
            }
            attempt += 1;
        }
    }

    /// Blocks of `chunk` below the tip that are not whole any more.
    fn gone(&self, chunk: BlockRange) -> Result<Option<Outcome>> {
        let snapshot = self.db.snapshot()?;
        let Some(there) = BlockRange::new(chunk.first, chunk.last.min(snapshot.tip())) else {
            return Ok(None);
        };
        let gaps = availability::gaps(&snapshot, there, self.parts)?;
        Ok((!gaps.is_empty()).then_some(Outcome::Gone(gaps)))
    }

    fn stopped(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    fn attempt(&self, chunk: BlockRange, scratch: &mut Scratch) -> Result<Outcome> {
        let mut partial = Partial {
            next: chunk.first,
            ends: None,
            next_tx: None,
            transfers: Vec::new(),
        };
        let request = self.request;
        let mut decoder = Decoder::new(self.chain_id, &request.wrapped_native, &request.filter);
        loop {
            let snapshot = self.db.snapshot()?;
            let tip = snapshot.tip();
            if tip < chunk.last {
                return Err(nodedb::Error::AboveTip {
                    block: tip.saturating_add(1),
                    tip,
                }
                .into());
            }
            if partial.ends.is_none() {
                partial.next_tx = next_tx_after(&snapshot, chunk.first.checked_sub(1))?;
            }
            match self.run(&snapshot, chunk.last, &mut decoder, &mut partial, scratch)? {
                Some(Halt::Renew) => {}
                Some(Halt::Stopped) => return Ok(Outcome::Stopped),
                Some(Halt::Broken(error)) => return Err(error),
                Some(Halt::Full) | None => break,
            }
        }
        let (parent, hash) = partial.ends.ok_or(Error::Incomplete {
            block: chunk.first,
            what: "blocks",
            given: 0,
            expected: chunk.blocks(),
        })?;
        Ok(Outcome::Read(Piece {
            blocks: BlockRange {
                first: chunk.first,
                last: partial.next - 1,
            },
            parent,
            hash,
            transfers: partial.transfers,
            counts: *decoder.counts(),
        }))
    }

    /// Reads on under one snapshot; `None` when `last` is done.
    fn run(
        &self,
        snapshot: &Snapshot<'_>,
        last: u64,
        decoder: &mut Decoder<'_>,
        partial: &mut Partial,
        scratch: &mut Scratch,
    ) -> Result<Option<Halt>> {
        let begun = Instant::now();
        let blocks = Blocks {
            first: partial.next,
            last,
        };
        let mut halt = None;
        snapshot.for_each_block(blocks, self.parts, scratch, &mut |block| {
            halt = self.visit(block, last, decoder, partial)?;
            let read = partial.next - blocks.first;
            if halt.is_none()
                && partial.next <= last
                && (read >= self.snapshot_blocks_max || begun.elapsed() >= SNAPSHOT_TIME_MAX)
            {
                halt = Some(Halt::Renew);
            }
            Ok(if halt.is_none() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        if halt.is_none() && partial.next <= last {
            let (given, expected) = (partial.next - blocks.first, last - blocks.first + 1);
            return Err(Error::Incomplete {
                block: partial.next,
                what: "blocks",
                given,
                expected,
            });
        }
        Ok(halt)
    }

    /// Takes one block. Nothing of it is kept when this fails or halts `Stopped`
    /// or `Broken`, as then nothing of the chunk is.
    fn visit(
        &self,
        block: &mut Block<'_>,
        chunk_last: u64,
        decoder: &mut Decoder<'_>,
        partial: &mut Partial,
    ) -> nodedb::Result<Option<Halt>> {
        if self.stopped() {
            return Ok(Some(Halt::Stopped));
        }
        let (number, hash) = (block.header.number, block.header.hash);
        let parent = block.header.parent_hash;
        let linked = partial.ends.is_none_or(|(_, last)| last == parent);
        if number != partial.next || !linked {
            return Ok(Some(Halt::Broken(Error::Unlinked {
                block: partial.next,
            })));
        }
        let BodyIndices { first_tx, tx_count } = block.body;
        if partial.next_tx.is_some_and(|next_tx| next_tx != first_tx) {
            return Ok(Some(Halt::Broken(Error::Unnumbered { block: number })));
        }
        let first_row = partial.transfers.len();
        let given = self.decode(block, decoder, &mut partial.transfers)?;
        if given != tx_count {
            let error = Error::Incomplete {
                block: number,
                what: "receipts",
                given,
                expected: tx_count,
            };
            return Ok(Some(Halt::Broken(error)));
        }
        // The time of the block goes out with its transfers, and the ends of a chunk
        // are what neighbours are linked by.
        let is_end = partial.ends.is_none() || number == chunk_last;
        if is_end || partial.transfers.len() > first_row {
            block.check_header()?;
        }
        if self.request.with_hashes {
            resolve_hashes(block, &mut partial.transfers[first_row..])?;
        }
        partial.ends = Some((partial.ends.map_or(parent, |(first, _)| first), hash));
        partial.next_tx = first_tx.checked_add(tx_count);
        // Cannot overflow: the next block of a chain that ends at 2^64-1 is never asked for.
        partial.next = number.saturating_add(1);
        let bytes = partial
            .transfers
            .len()
            .saturating_mul(size_of::<Transfer>());
        let full = u64::try_from(bytes).unwrap_or(u64::MAX) >= self.piece_bytes;
        Ok(full.then_some(Halt::Full))
    }

    /// Decodes a block; the number of its receipts.
    fn decode(
        &self,
        block: &mut Block<'_>,
        decoder: &mut Decoder<'_>,
        transfers: &mut Vec<Transfer>,
    ) -> nodedb::Result<u64> {
        decoder.begin_block(block.header.number, block.header.timestamp);
        let mut index = 0;
        loop {
            let mut own_value = None;
            if self.parts.senders && u64::from(index) < block.body.tx_count {
                own_value = own_value_of(block, index)?;
            }
            let Some(receipt) = block.next_receipt()? else {
                break;
            };
            if let Some(own_value) = &mut own_value {
                own_value.success = receipt.success;
            }
            let logs = receipt.logs().map(|log| LogView {
                address: log.address,
                topics: log.topics,
                data: log.data,
            });
            decoder.transaction(index, own_value.as_ref(), logs, transfers);
            index += 1;
        }
        if self.parts.withdrawals {
            let views = block.withdrawals().iter().map(|withdrawal| WithdrawalView {
                address: withdrawal.address,
                amount_gwei: withdrawal.amount_gwei,
            });
            decoder.withdrawals(views, transfers);
        }
        Ok(u64::from(index))
    }
}

/// How reading ends when it has failed often enough.
fn failure(error: Error) -> Outcome {
    match error {
        Error::NodeDb(nodedb::Error::AboveTip { block, .. }) => Outcome::Unwound { block },
        Error::NodeDb(error) => Outcome::Failed(Box::new(error)),
        error => Outcome::Failed(Box::new(error)),
    }
}

/// Number of the first transaction after block `before`. Unknown before the first
/// block of the chain.
fn next_tx_after(snapshot: &Snapshot<'_>, before: Option<u64>) -> nodedb::Result<Option<u64>> {
    match before.map(|before| snapshot.body(before)) {
        Some(Ok(body)) => Ok(body.first_tx.checked_add(body.tx_count)),
        Some(Err(nodedb::Error::Missing { .. })) | None => Ok(None),
        Some(Err(error)) => Err(error),
    }
}

/// The native value that a transaction moves if it succeeds. Nothing when that is
/// zero: then its sender need not be looked up.
fn own_value_of(block: &mut Block<'_>, index: u32) -> nodedb::Result<Option<TransactionView>> {
    // Not `block.transaction`, which also makes the hash: half of a whole scan's time.
    let transaction = block.signed_transaction(index)?;
    let value = transaction.value();
    if value.is_zero() {
        return Ok(None);
    }
    let from = block.sender(index)?;
    let to = transaction.to();
    let to = to.unwrap_or_else(|| from.create(transaction.nonce()));
    Ok(Some(TransactionView {
        from,
        to,
        value,
        success: false,
    }))
}

/// Fills in the hashes of rows of one block, in total order.
fn resolve_hashes(block: &mut Block<'_>, rows: &mut [Transfer]) -> nodedb::Result<()> {
    for rows in rows.chunk_by_mut(|a, b| a.transaction_index == b.transaction_index) {
        if rows[0].kind == Kind::Withdrawal {
            continue;
        }
        let hash = block.transaction_hash(rows[0].transaction_index)?;
        for row in rows {
            row.transaction_hash = hash;
        }
    }
    Ok(())
}
