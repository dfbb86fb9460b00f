//! Writing what a replay finds.

use super::{
    PreparedReplay, Replay, ReplaySummary, Trace, TransactionName, against,
    difference::RunDifference,
    replay_source::{OneTransaction, ReplaySource},
    rows::{Content, ReplayOutput, Rows, movements},
};
use crate::{
    Error, Result,
    query::{
        query_metadata::Description,
        retry::{retry_on_reorg, unless_streamed},
    },
};
use alloy_primitives::keccak256;
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    path::Path,
};
use txgraph_block::trace::{Trace as Eip3155, TraceOptions};
use txgraph_export::{LineWriter, Metadata, Written};
use txgraph_replay::{Mismatch, RangeReport, StateOverrides, TransactionReplay};
use txgraph_transfers::{BlockRange, BlockRanges, DecodeCounts, ScanReport, Transfer};

/// The first transfers of a replay.
#[derive(Debug)]
pub struct ReplayedTransfers {
    /// The transfers, in total order.
    pub transfers: Vec<Transfer>,
    /// How many there are, with those that are left out.
    pub count: u64,
    /// The summary of the replay.
    pub summary: ReplaySummary,
}

impl Replay<'_> {
    /// Returns the kind of output for each transaction.
    fn content(&self) -> Content {
        match self.trace {
            Some(trace) => Content::Trace(trace),
            None if !self.balances.is_empty() => Content::Balances,
            None => Content::Transfers { fees: self.fees },
        }
    }

    /// How a transaction that this query replayed differs from its run without overrides; `None` if
    /// the query has no overrides.
    ///
    /// # Errors
    ///
    /// If the chain of the source cannot be read.
    pub fn difference(&self, replay: &TransactionReplay) -> Result<Option<RunDifference>> {
        let chain_id = self.source.chain()?.chain_id;
        Ok(RunDifference::of(replay, chain_id))
    }

    /// The summary of one transaction.
    fn summary(&self, one: &OneTransaction) -> Result<ReplaySummary> {
        Ok(ReplaySummary {
            difference: self.difference(&one.replay)?,
            ..ReplaySummary::of_one(&one.replay, &one.mismatches)
        })
    }
}

impl PreparedReplay<'_> {
    /// Replays and writes to each output. What was complete before an error stays on standard
    /// output; a file gets its name only when it is complete.
    ///
    /// # Errors
    ///
    /// If something cannot be replayed, or an output cannot be written.
    pub fn write(&self, outputs: &[ReplayOutput]) -> Result<ReplaySummary> {
        let query = &self.query;
        let outputs = outputs.iter().map(|output| {
            Ok(ReplayOutput {
                format: query.content().table_format(output.format)?,
                ..output.clone()
            })
        });
        let outputs = &*outputs.collect::<Result<Vec<_>>>()?;
        query.source.check_outputs(outputs)?;
        if let Some(name) = query.transaction {
            return match &query.against {
                Some(trace) => against::compare(query, self.replay_source, name, trace),
                None => self.write_one(name, outputs),
            };
        }
        if query.verify_only {
            return self.for_each(|_| Ok(()));
        }
        let is_stream = outputs.iter().any(|output| output.target.is_stream());
        let mut streamed = false;
        retry_on_reorg(query.source, || {
            let mut tables = self.tables(outputs)?;
            // Of bundles, which are any blocks.
            let mut replayed = Vec::new();
            let summary = self.for_each(|block| {
                streamed = is_stream;
                if self.blocks.is_none() {
                    replayed.push(BlockRange::one(block.number));
                }
                tables.iter_mut().try_for_each(|rows| rows.block(block))
            });
            match unless_streamed(summary, streamed) {
                Err(error) => {
                    tables.into_iter().try_for_each(Rows::abandon)?;
                    Err(error)
                }
                Ok(mut summary) => {
                    let blocks = self.blocks.clone();
                    let blocks = blocks.unwrap_or_else(|| BlockRanges::new(replayed));
                    let metadata = self.metadata(blocks, None, &summary.report)?;
                    let written = tables.into_iter().map(|rows| rows.finish(&metadata));
                    summary.written = written.collect::<Result<_>>()?;
                    Ok(summary)
                }
            }
        })
    }

    /// Replays, and returns the first transfers of the native coin inside the transactions, at
    /// most `transfers_max` of them, with their number.
    ///
    /// # Errors
    ///
    /// If something cannot be replayed.
    pub fn first_transfers(&self, transfers_max: usize) -> Result<ReplayedTransfers> {
        let query = &self.query;
        retry_on_reorg(query.source, || {
            let (mut transfers, mut count) = (Vec::new(), 0);
            let mut add = |replay: &TransactionReplay, environment: &txgraph_evm::Block| {
                let found = movements(replay, environment, query.fees);
                count += found.len() as u64;
                let room = transfers_max.saturating_sub(transfers.len());
                transfers.extend(found.into_iter().take(room).map(|found| found.transfer));
            };
            let summary = match query.transaction {
                Some(name) => {
                    let one = self.replay_source.transaction(query, name, None)?;
                    add(&one.replay, &one.environment);
                    query.summary(&one)?
                }
                None => self.for_each(|block| {
                    for replay in &block.transactions {
                        add(replay, &block.environment);
                    }
                    Ok(())
                })?,
            };
            Ok(ReplayedTransfers {
                transfers,
                count,
                summary,
            })
        })
    }

    /// The metadata of the tables, without their rows.
    fn metadata(
        &self,
        blocks: BlockRanges,
        one: Option<&TransactionReplay>,
        report: &RangeReport,
    ) -> Result<Metadata> {
        let query = &self.query;
        let (command, mut options) = query.content().described();
        match one {
            Some(one) => options.insert("tx".into(), json!(one.hash)),
            None => options.insert("blocks".into(), json!([blocks.to_string()])),
        };
        if !query.balances.is_empty() {
            options.insert("token".into(), json!(query.balances));
        }
        if let Some(overrides) = &query.overrides {
            options.insert("overrides".into(), described(overrides));
        }
        let last_block_hash = match (self.replay_source, blocks.span()) {
            (ReplaySource::Node(_), Some(span)) if one.is_some() => {
                query.source.block_hash(span.last)?
            }
            _ => report.last_block_hash,
        };
        let scan = ScanReport {
            covered: blocks.clone(),
            counts: DecodeCounts {
                blocks: report.blocks,
                ..DecodeCounts::default()
            },
            last_block_hash,
            ..ScanReport::default()
        };
        let description = Description::new(command, options);
        Ok(description.metadata(query.source.chain()?, &blocks, &scan))
    }

    fn tables<'o>(&self, outputs: &'o [ReplayOutput]) -> Result<Vec<Rows<'o>>> {
        let content = self.query.content();
        let is_compared = self.query.overrides.is_some();
        let tables = outputs.iter();
        let tables = tables.map(|output| Rows::new(content, is_compared, output));
        tables.collect()
    }

    fn write_one(&self, name: TransactionName, outputs: &[ReplayOutput]) -> Result<ReplaySummary> {
        let (query, replay_source) = (&self.query, self.replay_source);
        let (summary, written) = if query.verify_only {
            let one = replay_source.transaction(query, name, None)?;
            (query.summary(&one)?, Vec::new())
        } else if query.trace == Some(Trace::Struct) {
            let mut trace = Eip3155::new(Tee::new(outputs)?, TraceOptions::default());
            let one = replay_source.transaction(query, name, Some(&mut trace))?;
            let out = trace.finish(&one.replay.outcome);
            let out = out.map_err(|error| {
                let names = outputs.iter().map(|output| output.target.to_string());
                Error::io(Path::new(&names.collect::<Vec<_>>().join(", ")), error)
            })?;
            (query.summary(&one)?, out.finish()?)
        } else {
            let one = replay_source.transaction(query, name, None)?;
            let summary = query.summary(&one)?;
            let mut tables = self.tables(outputs)?;
            for rows in &mut tables {
                rows.transaction(&one.replay, &one.environment, summary.difference.as_ref())?;
            }
            let block = BlockRange::one(one.replay.block);
            let metadata = self.metadata(block.into(), Some(&one.replay), &summary.report)?;
            let written = tables.into_iter().map(|rows| rows.finish(&metadata));
            (summary, written.collect::<Result<_>>()?)
        };
        Ok(ReplaySummary { written, ..summary })
    }
}

/// Overrides for metadata, by their content.
fn described(overrides: &StateOverrides) -> Value {
    let StateOverrides {
        accounts,
        transaction: it,
    } = overrides;
    let accounts = accounts.iter().map(|(address, to)| {
        let slots = to.slots.iter().collect::<Vec<_>>();
        json!([address, to.balance, to.nonce, to.code, slots])
    });
    let content = json!([
        accounts.collect::<Vec<_>>(),
        [
            json!(it.from),
            json!(it.to),
            json!(it.input),
            json!(it.value),
            json!(it.gas)
        ],
    ]);
    json!({ "keccak256": keccak256(content.to_string()) })
}

/// Writes the same lines to each output.
struct Tee(Vec<LineWriter>);

impl Tee {
    fn new(outputs: &[ReplayOutput]) -> Result<Self> {
        let writers =
            (outputs.iter()).map(|output| Ok(LineWriter::new(&output.target, output.overwrite)?));
        Ok(Self(writers.collect::<Result<_>>()?))
    }

    fn finish(self) -> Result<Vec<Written>> {
        let written = self.0.into_iter().map(|writer| Ok(writer.finish()?));
        written.collect()
    }
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut writers = self.0.iter_mut();
        writers.try_for_each(|writer| writer.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(Write::flush)
    }
}

impl ReplaySummary {
    pub(super) fn of_one(replay: &TransactionReplay, mismatches: &[Mismatch]) -> Self {
        let balances = replay.balances.as_ref();
        let mut summary = Self {
            report: RangeReport {
                transactions: 1,
                gas_used: replay.outcome.gas_used,
                mismatches: mismatches.len() as u64,
                balances_compared: balances.map_or(0, |check| check.compared),
                balances_unanswered: balances.map_or(0, |check| check.unanswered),
                ..RangeReport::default()
            },
            ..Self::default()
        };
        summary.note(mismatches);
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, U256};

    #[test]
    fn overrides_are_described_by_their_content() {
        let hash = |balance: u64, value: Option<u64>| {
            let mut overrides = StateOverrides::default();
            let account = overrides.accounts.entry(Address::ZERO).or_default();
            account.balance = Some(U256::from(balance));
            account.slots.insert(U256::ZERO, U256::from(1));
            overrides.transaction.value = value.map(U256::from);
            described(&overrides)["keccak256"].clone()
        };
        assert_eq!(hash(1, None), hash(1, None));
        assert_ne!(hash(1, None), hash(2, None));
        assert_ne!(hash(1, None), hash(1, Some(0)));
    }
}
