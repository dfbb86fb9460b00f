//! Reads one chunk.
//!
//! A chunk is read under a snapshot of its own, which is renewed in long chunks, so that no read
//! transaction delays the node for more than seconds. Any error may be caused by the node, which
//! truncates, prunes and replaces files. So a chunk is read again under a new snapshot before an
//! error is reported.

use crate::{
    availability,
    error::{Error, Result},
    fees::Fees,
    merge::{Outcome, Piece},
    plan::TokenBits,
};
use alloy_primitives::{Address, B256, U256};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use txgraph_nodedb::{
    self as nodedb, Block, BodyIndices, ChainFamily, NodeDb, Parts, Receipt, Scratch, Snapshot,
    TransactionValue,
};
use txgraph_rollup::FeeRules;
use txgraph_transfers::{
    BlockRange, BlockSummary, BlockTime, DecodeCounts, Decoder, Kind, LogView, ScanRequest,
    TransactionView, Transfer, WithdrawalView,
};
use txgraph_work::{CancelFlag, Retry, RetryStep};

/// A snapshot is renewed inside a chunk after this time.
const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(5);

/// A snapshot is renewed after this number of blocks, unless the options specify another.
pub(crate) const SNAPSHOT_BLOCKS_MAX: u64 = 100_000;

/// The time is checked once in this number of blocks.
const CLOCK_BLOCKS: u64 = 64;

/// Returns the parts of blocks that a request needs. With `verify` there are more, to compare
/// them.
pub(crate) fn parts(request: &ScanRequest, family: ChainFamily, verify: bool) -> Parts {
    let filter = &request.filter;
    let fees = family == ChainFamily::OpStack && filter.needs_fees();
    let transactions = match family {
        ChainFamily::Ethereum => filter.needs_transactions(),
        ChainFamily::OpStack => filter.needs_op_transactions() || fees,
    };
    Parts {
        headers: verify || fees,
        // Withdrawals are in the bodies.
        receipts: filter.kinds != [Kind::Withdrawal] || verify,
        transactions: transactions || request.with_hashes || verify,
        senders: transactions,
        withdrawals: filter.needs_withdrawals() || verify,
    }
}

/// Receives every decoded block with its summary, its hash, and its anomalies by contract. Returns
/// the number of bytes that it keeps of the block.
pub(crate) type BlockObserver<'a> = dyn Fn(&mut Block<'_>, BlockSummary, B256, Vec<(Address, DecodeCounts)>) -> nodedb::Result<usize>
    + Sync
    + 'a;

/// The parameters that all chunks of a scan share.
pub(crate) struct ChunkReader<'a> {
    pub(crate) db: &'a NodeDb,
    pub(crate) request: &'a ScanRequest,
    pub(crate) chain_id: u64,
    pub(crate) parts: Parts,
    /// The rules for fees, if they are wanted and computed.
    pub(crate) fees: Option<FeeRules>,
    /// Whether to recompute the roots of every block.
    pub(crate) verify: bool,
    /// Blocks whose bloom filter excludes all of these tokens are skipped; `None`: no block is.
    pub(crate) tokens: Option<TokenBits>,
    /// A piece ends with the block that makes its transfers larger than this.
    pub(crate) piece_bytes: u64,
    pub(crate) snapshot_blocks_max: u64,
    pub(crate) cancel: &'a CancelFlag,
    /// The number of transfers for which room is made. It avoids copying them while they grow.
    pub(crate) rows_expected: usize,
    /// Called for each block, in order. When a chunk is read again, the calls start again with
    /// its first block.
    pub(crate) observer: Option<&'a BlockObserver<'a>>,
    /// Set when the scan has ended and outcomes are no longer needed.
    pub(crate) stopped: AtomicBool,
}

/// The reasons to stop between two blocks.
enum Halt {
    /// The piece is large enough.
    Full,
    /// The snapshot is old enough.
    Renew,
    /// The scan ends.
    Stopped,
    /// The blocks are not linked.
    Broken(Error),
}

/// The part of a chunk that was read.
struct Partial {
    /// The next block.
    next: u64,
    /// Parent hash of the first block.
    parent: Option<B256>,
    /// Hash of the last block read under the previous snapshot.
    hash: Option<B256>,
    /// Number of the next block's first transaction, if known.
    next_tx: Option<u64>,
    transfers: Vec<Transfer>,
    /// The bytes that the observer keeps.
    observed: usize,
}

impl ChunkReader<'_> {
    /// Reads `chunk`, again if that fails: see [`Retry::REREAD`].
    pub(crate) fn read(&self, chunk: BlockRange, scratch: &mut Scratch) -> Outcome {
        let mut attempts = Retry::REREAD.start();
        loop {
            let error = match self.attempt(chunk, scratch) {
                Ok(outcome) => return outcome,
                Err(error) => error,
            };
            let above_tip = matches!(error, Error::NodeDb(nodedb::Error::AboveTip { .. }));
            // The first error may be accidental. After the second the blocks may have been
            // deleted.
            if attempts.number() > 1
                && !above_tip
                && let Ok(Some(gone)) = self.gone(chunk)
            {
                return gone;
            }
            tracing::debug!(%chunk, attempt = attempts.number(), %error, "reading failed");
            match attempts.next(&|| self.is_stopped()) {
                RetryStep::Retry => {}
                RetryStep::Exhausted => return failure(error),
                RetryStep::Stopped => return Outcome::Stopped,
            }
        }
    }

    /// Returns the blocks of `chunk` below the tip that are no longer complete.
    fn gone(&self, chunk: BlockRange) -> Result<Option<Outcome>> {
        let snapshot = self.db.snapshot()?;
        let Some(there) = BlockRange::new(chunk.first, chunk.last.min(snapshot.tip())) else {
            return Ok(None);
        };
        let gaps = availability::gaps(&snapshot, there, self.parts)?;
        Ok((!gaps.is_empty()).then_some(Outcome::Gone(gaps)))
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.cancel.is_canceled()
    }

    fn attempt(&self, chunk: BlockRange, scratch: &mut Scratch) -> Result<Outcome> {
        let mut partial = Partial {
            next: chunk.first,
            parent: None,
            hash: None,
            next_tx: None,
            transfers: Vec::with_capacity(self.rows_expected),
            observed: 0,
        };
        let request = self.request;
        let mut decoder = Decoder::new(self.chain_id, &request.wrapped_native, &request.filter);
        if self.observer.is_some() {
            decoder = decoder.recording_anomalies();
        }
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
            if partial.parent.is_none() {
                partial.next_tx = next_tx_after(&snapshot, chunk.first.checked_sub(1))?;
            }
            match self.run(&snapshot, chunk.last, &mut decoder, &mut partial, scratch)? {
                Some(Halt::Renew) => {}
                Some(Halt::Stopped) => return Ok(Outcome::Stopped),
                Some(Halt::Broken(error)) => return Err(error),
                Some(Halt::Full) | None => break,
            }
        }
        let ends = partial.parent.zip(partial.hash);
        let (parent, hash) = ends.ok_or(Error::Incomplete {
            block: chunk.first,
            what: "blocks",
            given: 0,
            expected: chunk.blocks(),
        })?;
        Ok(Outcome::Read(Piece {
            blocks: BlockRange::from_to(chunk.first, partial.next - 1),
            parent,
            hash,
            transfers: partial.transfers,
            counts: *decoder.counts(),
        }))
    }

    /// Continues to read under one snapshot; `None` when `last` was read.
    fn run(
        &self,
        snapshot: &Snapshot<'_>,
        last: u64,
        decoder: &mut Decoder<'_>,
        partial: &mut Partial,
        scratch: &mut Scratch,
    ) -> Result<Option<Halt>> {
        let begun = Instant::now();
        let blocks = BlockRange::from_to(partial.next, last);
        let mut halt = None;
        let mut hash = None;
        snapshot.for_each_block(blocks, self.parts, scratch, &mut |block| {
            if block.number == blocks.first
                && let Some(broken) = self.link(block, partial)?
            {
                halt = Some(Halt::Broken(broken));
                return Ok(ControlFlow::Break(()));
            }
            halt = self.visit(block, decoder, partial)?;
            let read = partial.next - blocks.first;
            let is_old =
                || read.is_multiple_of(CLOCK_BLOCKS) && begun.elapsed() >= SNAPSHOT_TIME_MAX;
            if halt.is_none()
                && partial.next <= last
                && (read >= self.snapshot_blocks_max || is_old())
            {
                halt = Some(Halt::Renew);
            }
            if halt.is_none() && partial.next <= last {
                return Ok(ControlFlow::Continue(()));
            }
            hash = Some(block.hash()?);
            Ok(ControlFlow::Break(()))
        })?;
        partial.hash = hash.or(partial.hash);
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

    /// Reads one block. If this fails, or stops with `Stopped` or `Broken`, the whole chunk is
    /// discarded.
    fn visit(
        &self,
        block: &mut Block<'_>,
        decoder: &mut Decoder<'_>,
        partial: &mut Partial,
    ) -> nodedb::Result<Option<Halt>> {
        if self.is_stopped() {
            return Ok(Some(Halt::Stopped));
        }
        let number = block.number;
        if number != partial.next {
            return Ok(Some(Halt::Broken(Error::Unlinked {
                block: partial.next,
            })));
        }
        let BodyIndices { first_tx, tx_count } = block.body;
        if partial.next_tx.is_some_and(|next_tx| next_tx != first_tx) {
            return Ok(Some(Halt::Broken(Error::Contradiction(format!(
                "the transactions of block {number} do not follow those of block {}: the table \
                 BlockBodyIndices is damaged",
                number.saturating_sub(1)
            )))));
        }
        partial.next_tx = first_tx.checked_add(tx_count);
        // Cannot overflow: the block after 2^64-1 is never read.
        partial.next = number.saturating_add(1);
        if let Some(tokens) = &self.tokens
            && !tokens.may_be_in(&mut block.logs_bloom()?)?
        {
            decoder.skip_block();
            return Ok(None);
        }
        let first_row = partial.transfers.len();
        let before = *decoder.counts();
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
        if self.verify {
            block.check_roots()?;
        }
        let kept = &mut partial.transfers[first_row..];
        // The time is part of the result, so its header is checked.
        let timed = self.request.with_times && !kept.is_empty();
        if timed || self.observer.is_some() {
            let header = block.check_header_later()?;
            let (timestamp, hash) = (header.timestamp, header.hash);
            let time = BlockTime::new(timestamp);
            for transfer in kept.iter_mut().filter(|_| timed) {
                transfer.block_timestamp = time;
            }
            if let Some(observer) = self.observer {
                let summary = BlockSummary {
                    number,
                    timestamp,
                    counts: decoder.counts().since(&before),
                };
                partial.observed += observer(block, summary, hash, decoder.take_anomalies())?;
            }
        }
        if self.request.with_hashes {
            resolve_hashes(block, kept)?;
        }
        let bytes = partial
            .transfers
            .len()
            .saturating_mul(size_of::<Transfer>())
            .saturating_add(partial.observed);
        let full = u64::try_from(bytes).unwrap_or(u64::MAX) >= self.piece_bytes;
        Ok(full.then_some(Halt::Full))
    }

    /// Decodes a block and returns the number of its receipts.
    fn decode(
        &self,
        block: &mut Block<'_>,
        decoder: &mut Decoder<'_>,
        transfers: &mut Vec<Transfer>,
    ) -> nodedb::Result<u64> {
        // The time is filled in if a transfer of the block is kept.
        decoder.begin_block(block.number, None);
        let given = match self.parts.receipts {
            true => self.decode_receipts(block, decoder, transfers)?,
            false => {
                let count = block.body.tx_count;
                decoder.skip_transactions(u32::try_from(count).unwrap_or(u32::MAX));
                count
            }
        };
        if self.parts.withdrawals {
            let views = block.withdrawals().iter().map(|withdrawal| WithdrawalView {
                address: withdrawal.address,
                amount_gwei: withdrawal.amount,
            });
            decoder.withdrawals(views, transfers);
        }
        Ok(given)
    }

    /// Decodes the transactions of a block and returns the number of its receipts.
    fn decode_receipts(
        &self,
        block: &mut Block<'_>,
        decoder: &mut Decoder<'_>,
        transfers: &mut Vec<Transfer>,
    ) -> nodedb::Result<u64> {
        let mut fees = match &self.fees {
            Some(rules) => Fees::of_block(rules, block)?,
            None => None,
        };
        let mut index = 0;
        loop {
            let (mut moved, mut payer) = (None, None);
            if self.parts.senders && u64::from(index) < block.body.tx_count {
                moved = transaction_value_of(block, index)?;
                if let Some(fees) = &fees {
                    payer = fees.payer(block, index)?;
                }
            }
            let number = block.number;
            let Some(receipt) = block.next_receipt()? else {
                break;
            };
            let view = match moved {
                Some(moved) => Some(moved.view(number, &receipt)?),
                None => None,
            };
            let cumulative_gas = receipt.cumulative_gas_used;
            let first = transfers.len();
            let mut logs = receipt.logs();
            let views = logs.by_ref().map(|log| LogView {
                address: log.address,
                topics: log.topics,
                data: log.data,
            });
            decoder.transaction(index, view.as_ref(), views, transfers);
            logs.finish()?;
            if let Some(fees) = &mut fees {
                let out = (&mut *decoder, &mut *transfers);
                fees.add((number, index), payer, cumulative_gas, first, out)?;
            }
            index += 1;
        }
        Ok(u64::from(index))
    }

    /// Checks the link between the first block under a snapshot and the blocks before. Also, if
    /// internal transfers are read from logs, that the block has logs of them; then those after it
    /// have them, too.
    fn link(&self, block: &mut Block<'_>, partial: &mut Partial) -> nodedb::Result<Option<Error>> {
        let number = block.number;
        let header = block.check_header()?;
        // An index gets the logs of older blocks from a replay.
        let from_logs = self.request.filter.needs_traces() && self.observer.is_none();
        if from_logs && header.block_access_list_hash.is_none() {
            return Ok(Some(Error::Contradiction(format!(
                "block {number} is from before Amsterdam now and has no logs of internal transfers; ask again"
            ))));
        }
        let parent = header.parent_hash;
        if partial.parent.is_none() {
            partial.parent = Some(parent);
        }
        let linked = partial.hash.is_none_or(|before| before == parent);
        Ok((!linked).then_some(Error::Unlinked { block: number }))
    }
}

/// Converts the error of the last attempt.
fn failure(error: Error) -> Outcome {
    match error {
        Error::NodeDb(nodedb::Error::AboveTip { block, .. }) => Outcome::Unwound { block },
        error => Outcome::Failed(error.into()),
    }
}

/// Returns the number of the first transaction after block `before`. `None` before the first
/// block of the chain.
fn next_tx_after(snapshot: &Snapshot<'_>, before: Option<u64>) -> nodedb::Result<Option<u64>> {
    match before.map(|before| snapshot.body(before)) {
        Some(Ok(body)) => Ok(body.first_tx.checked_add(body.tx_count)),
        Some(Err(nodedb::Error::Missing { .. })) | None => Ok(None),
        Some(Err(error)) => Err(error),
    }
}

/// The native value of a transaction, with its sender.
struct Moved {
    from: Address,
    value: TransactionValue,
}

impl Moved {
    /// Adds what only the receipt has: the status, and the nonce of a deposit.
    fn view(&self, block: u64, receipt: &Receipt<'_>) -> nodedb::Result<TransactionView> {
        let Self { from, value } = *self;
        let nonce = match value.deposit {
            Some(_) => receipt.deposit_nonce,
            None => Some(value.nonce),
        };
        let to = match (value.to, nonce) {
            (Some(to), _) => to,
            (None, Some(nonce)) => from.create(nonce),
            // The value does not move, so the address is not needed.
            (None, None) if value.value.is_zero() || !receipt.success => Address::ZERO,
            (None, None) => {
                return Err(nodedb::Error::Inconsistent {
                    block,
                    what: format!(
                        "deposit {} creates a contract, and its receipt is from before Regolith \
                         and has no nonce: the address of the contract is not known",
                        receipt.index
                    ),
                });
            }
        };
        Ok(TransactionView {
            from,
            to,
            value: value.value,
            mint: U256::from(value.deposit.map_or(0, |deposit| deposit.mint)),
            success: receipt.success,
        })
    }
}

/// Returns the native value that a transaction moves if it succeeds, and what it mints. `None`
/// if both are zero, so that its sender is not looked up.
fn transaction_value_of(block: &mut Block<'_>, index: u32) -> nodedb::Result<Option<Moved>> {
    let Some(value) = block.transaction_value(index)? else {
        return Ok(None);
    };
    let from = match value.deposit {
        Some(deposit) => deposit.from,
        None => block.sender(index)?,
    };
    Ok(Some(Moved { from, value }))
}

/// Fills in the hashes of the rows of one block, which are in total order.
fn resolve_hashes(block: &mut Block<'_>, rows: &mut [Transfer]) -> nodedb::Result<()> {
    let of_transactions = rows.iter().filter(|row| row.kind != Kind::Withdrawal);
    let mut indices: Vec<u32> = of_transactions.map(|row| row.transaction_index).collect();
    indices.dedup();
    let mut hashes = block.transaction_hashes(&indices)?.into_iter();
    for rows in rows.chunk_by_mut(|a, b| a.transaction_index == b.transaction_index) {
        if rows[0].kind == Kind::Withdrawal {
            continue;
        }
        let hash = hashes.next();
        for row in rows {
            row.transaction_hash = hash;
        }
    }
    Ok(())
}
