//! Replay as a source of transfers: everything that moved, logged or not.

use crate::{
    BlockReplay, ChainRules, EngineKind, Error, FrameDetail, Mismatch, Record, ReplayOptions,
    Replayer, Result, TransactionReplay, Verify,
};
use std::ops::ControlFlow;
use txgraph_nodedb::Blocks;
use txgraph_state::StateDb;
use txgraph_transfers::{
    Batch, BlockRange, BlockRanges, ChainInfo, Decoder, Kind, LogView, ScanReport, ScanRequest,
    SourceError, TransactionView, Transfer, TransferSource, Unavailable, WithdrawalView,
};

/// Replays blocks and tells all of their transfers: those of logs, and in the native coin
/// values of transactions, internal transfers, withdrawals and, on request, fees.
///
/// A replay that disagrees with the node in anything is an error: what it tells would not
/// have happened. Times and hashes are filled in whether asked for or not.
#[derive(Debug)]
pub struct ReplaySource<'a> {
    state: &'a StateDb,
    rules: ChainRules,
    chain: ChainInfo,
    threads: usize,
    with_fees: bool,
}

impl<'a> ReplaySource<'a> {
    /// Over a database; `threads` as in [`ReplayOptions`]. `with_fees`: also [`Kind::Fee`]
    /// and [`Kind::Priority`].
    pub fn new(
        state: &'a StateDb,
        rules: ChainRules,
        threads: usize,
        with_fees: bool,
    ) -> Result<Self> {
        let known = state.node().chain()?;
        rules.check_genesis(state.node(), known.genesis_hash)?;
        let chain = ChainInfo {
            chain_id: rules.chain_id,
            genesis_hash: known.genesis_hash,
            name: known.name.map(str::to_owned),
        };
        Ok(Self {
            state,
            rules,
            chain,
            threads,
            with_fees,
        })
    }

    /// Blocks that can be replayed: those before which the state can be told, and block 0,
    /// in which nothing moves.
    fn available(&self) -> Result<(BlockRanges, String, String), SourceError> {
        let available = self.state.available().map_err(failed)?;
        let Some(after) = available.blocks else {
            let why = available.obstacle.unwrap_or_default();
            return Ok((BlockRanges::default(), why.clone(), why));
        };
        let first = if after.first == 0 { 0 } else { after.first + 1 };
        let blocks = BlockRange::new(first, after.last).into_iter().collect();
        Ok((BlockRanges::new(blocks), available.below, available.above))
    }

    /// What of a range can be replayed, and the rest with its reasons.
    fn cut(
        &self,
        range: BlockRange,
    ) -> Result<(Option<BlockRange>, Vec<Unavailable>), SourceError> {
        let (available, below, above) = self.available()?;
        let Some(there) = available.span() else {
            let blocks = range;
            return Ok((
                None,
                vec![Unavailable {
                    blocks,
                    reason: above,
                }],
            ));
        };
        let mut missing = Vec::new();
        let mut lacks = |blocks: Option<BlockRange>, reason: &str| {
            let reason = reason.to_owned();
            missing.extend(blocks.map(|blocks| Unavailable { blocks, reason }));
        };
        if let Some(last) = there.first.checked_sub(1) {
            lacks(BlockRange::new(range.first, range.last.min(last)), &below);
        }
        lacks(
            BlockRange::new(range.first.max(there.last + 1), range.last),
            &above,
        );
        Ok((range.intersect(&there), missing))
    }

    /// Replays one range; breaks when the sink does.
    fn replay(
        &self,
        range: BlockRange,
        decoding: &mut Decoding<'_>,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ControlFlow<BlockRange>, SourceError> {
        let mut flow = ControlFlow::Continue(());
        let mut last = range.first;
        if range.first == 0 {
            decoding.decoder.begin_block(0, 0);
            let blocks = BlockRange { first: 0, last: 0 };
            let transfers = Vec::new();
            flow = sink(Batch { blocks, transfers });
        }
        let first = range.first.max(1);
        if flow.is_continue() && first <= range.last {
            let before = Blocks {
                first: first - 1,
                last: range.last - 1,
            };
            let states = self.state.range(before).map_err(failed)?;
            let options = ReplayOptions {
                record: Record {
                    frames: Some(FrameDetail::Calls),
                    ..Record::default()
                },
                verify: Verify {
                    changes: false,
                    ..Verify::default()
                },
                threads: self.threads,
                engine: EngineKind::Own,
            };
            let replayer = Replayer::new(self.rules.clone(), self.state.node(), states, options);
            let replayer = replayer.map_err(failed)?;
            let blocks = Blocks {
                first,
                last: range.last,
            };
            let mut wrong = None;
            let report = replayer.range(blocks, &mut |mut replay| {
                if !replay.mismatches.is_empty() {
                    wrong = Some(replay.mismatches.swap_remove(0));
                    return ControlFlow::Break(());
                }
                last = replay.number;
                flow = sink(decoding.block(&replay));
                flow
            });
            let report = report.map_err(|error| match error {
                Error::Replaced { block } => SourceError::Reorged { block },
                error => failed(error),
            })?;
            if let Some(mismatch) = wrong {
                return Err(failed(mismatch));
            }
            decoding.last_block_hash = report.last_block_hash;
        }
        Ok(match flow {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => ControlFlow::Break(BlockRange {
                first: range.first,
                last,
            }),
        })
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> SourceError {
    SourceError::Failed(Box::new(error))
}

impl std::error::Error for Mismatch {}

impl TransferSource for ReplaySource<'_> {
    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        let mut report = ScanReport::default();
        let mut ranges = Vec::new();
        for range in request.blocks.iter() {
            let (there, missing) = self.cut(range)?;
            ranges.extend(there);
            report.missing.extend(missing);
        }
        if !report.missing.is_empty() && !request.allow_partial {
            return Err(SourceError::Unavailable {
                missing: report.missing,
                available: self.available()?.0,
            });
        }
        let mut decoding = Decoding {
            decoder: Decoder::new(
                self.chain.chain_id,
                &request.wrapped_native,
                &request.filter,
            ),
            request,
            with_fees: self.with_fees,
            internal: 0,
            last_block_hash: None,
        };
        let mut covered = Vec::new();
        for range in ranges {
            match self.replay(range, &mut decoding, sink)? {
                ControlFlow::Continue(()) => covered.push(range),
                ControlFlow::Break(part) => {
                    covered.push(part);
                    break;
                }
            }
        }
        report.covered = BlockRanges::new(covered);
        report.counts = *decoding.decoder.counts();
        report.counts.transfers += decoding.internal;
        report.last_block_hash = decoding.last_block_hash;
        Ok(report)
    }

    /// They are filled in already.
    fn fill_hashes(&self, _: &mut [Transfer]) -> Result<(), SourceError> {
        Ok(())
    }
}

/// Transfers of blocks in their total order.
struct Decoding<'r> {
    decoder: Decoder<'r>,
    request: &'r ScanRequest,
    with_fees: bool,
    /// Transfers that the decoder did not see.
    internal: u64,
    last_block_hash: Option<alloy_primitives::B256>,
}

impl Decoding<'_> {
    fn block(&mut self, replay: &BlockReplay) -> Batch {
        let mut transfers = Vec::new();
        self.decoder.begin_block(replay.number, replay.timestamp);
        for tx in &replay.transactions {
            let first = transfers.len();
            self.logged(tx, &mut transfers);
            for transfer in &mut transfers[first..] {
                transfer.transaction_hash = tx.hash;
            }
            // Behind the transaction's own value, before its logs.
            let is_own = |transfer: &Transfer| transfer.kind == Kind::Value;
            let at = first + usize::from(transfers.get(first).is_some_and(is_own));
            let native = self.native(replay, tx);
            self.internal += native.len() as u64;
            transfers.splice(at..at, native);
        }
        let withdrawals = replay.withdrawals.iter().map(|withdrawal| WithdrawalView {
            address: withdrawal.address,
            amount_gwei: withdrawal.amount_gwei,
        });
        self.decoder.withdrawals(withdrawals, &mut transfers);
        Batch {
            blocks: BlockRange {
                first: replay.number,
                last: replay.number,
            },
            transfers,
        }
    }

    fn logged(&mut self, tx: &TransactionReplay, transfers: &mut Vec<Transfer>) {
        let sent = &tx.transaction;
        let view = TransactionView {
            from: sent.caller,
            to: sent.to.or(tx.outcome.created).unwrap_or_default(),
            value: sent.value,
            success: tx.outcome.is_success(),
        };
        let topics: Vec<Vec<[u8; 32]>> = tx.topics();
        let logs = tx.outcome.logs.iter().zip(&topics);
        let logs = logs.map(|(log, topics)| LogView {
            address: &log.address,
            topics,
            data: &log.data.data,
        });
        self.decoder
            .transaction(tx.index, Some(&view), logs, transfers);
    }

    fn native(&self, replay: &BlockReplay, tx: &TransactionReplay) -> Vec<Transfer> {
        let mut native = tx.internal_transfers(replay.timestamp);
        if self.with_fees {
            let next = u32::try_from(native.len())
                .unwrap_or(u32::MAX)
                .saturating_add(1);
            native.extend(tx.fees(&replay.environment, next));
        }
        let native = native.into_iter().map(|one| one.transfer);
        native
            .filter(|one| self.request.filter.wants(one))
            .collect()
    }
}
