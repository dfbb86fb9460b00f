//! Rows of internal transfers and balances, and traces as JSON objects.

use super::{ReplayFormat, Trace};
use crate::Result;
use serde_json::{Value, json};
use txgraph_export::LineWriter;
use txgraph_replay::{
    BalanceDifference, BlockReplay, GasProfile, NativeTransfer, TransactionReplay,
};

const COLUMNS: &str = "block_number,block_timestamp,transaction_index,sub_index,\
    transaction_hash,trace_address,cause,from_address,to_address,value,kind";

const BALANCE_COLUMNS: &str = "block_number,transaction_index,transaction_hash,token_address,\
    holder_address,logged_change,actual_change,balance_before,balance_after";

/// What is written of each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Its internal transfers.
    Transfers { fees: bool },
    /// Balances that differ from the logs.
    Balances,
    /// A trace.
    Trace(Trace),
}

impl Content {
    const fn columns(self) -> Option<&'static str> {
        match self {
            Self::Transfers { .. } => Some(COLUMNS),
            Self::Balances => Some(BALANCE_COLUMNS),
            Self::Trace(_) => None,
        }
    }
}

/// Writes one kind of content.
pub(super) struct Rows {
    content: Content,
    format: ReplayFormat,
    started: bool,
    profile: GasProfile,
}

impl Rows {
    pub(super) fn new(content: Content, format: ReplayFormat) -> Self {
        Self {
            content,
            format,
            started: false,
            profile: GasProfile::default(),
        }
    }

    /// Writes the header, before the first row: a question that is refused prints nothing.
    fn begin(&mut self, out: &mut LineWriter) -> Result<()> {
        let started = std::mem::replace(&mut self.started, true);
        if let Some(columns) = self.content.columns()
            && self.format == ReplayFormat::Csv
            && !started
        {
            out.push(columns)?;
        }
        Ok(())
    }

    pub(super) fn block(&mut self, block: &BlockReplay, out: &mut LineWriter) -> Result<()> {
        self.begin(out)?;
        let mut transactions = block.transactions.iter();
        transactions.try_for_each(|replay| self.transaction(replay, &block.environment, out))
    }

    pub(super) fn transaction(
        &mut self,
        replay: &TransactionReplay,
        environment: &txgraph_evm::Block,
        out: &mut LineWriter,
    ) -> Result<()> {
        self.begin(out)?;
        let about = |result: Value| {
            json!({
                "block": replay.block,
                "index": replay.index,
                "txHash": replay.hash,
                "result": result,
            })
        };
        let trace = match self.content {
            Content::Transfers { fees } => return self.transfers(replay, environment, fees, out),
            Content::Balances => return self.balances(replay, out),
            Content::Trace(trace) => trace,
        };
        let result = match trace {
            // Written while the transaction runs.
            Trace::Struct => return Ok(()),
            Trace::Gas => {
                self.profile.add(replay);
                return Ok(());
            }
            Trace::Call => serde_json::to_value(replay.call_trace(true)),
            Trace::Diff => serde_json::to_value(replay.state_diff()),
        };
        // Maps with text keys: JSON can represent all of them.
        out.push(&about(result.unwrap_or_default()).to_string())?;
        Ok(())
    }

    /// Writes what is known after all transactions.
    pub(super) fn end(&mut self, out: &mut LineWriter) -> Result<()> {
        self.begin(out)?;
        if self.content == Content::Trace(Trace::Gas) {
            for (path, gas) in self.profile.paths() {
                out.push(&format!("{path} {gas}"))?;
            }
        }
        Ok(())
    }

    fn transfers(
        &self,
        replay: &TransactionReplay,
        environment: &txgraph_evm::Block,
        fees: bool,
        out: &mut LineWriter,
    ) -> Result<()> {
        let internal = replay.internal_transfers(environment.timestamp);
        // After the transaction's value, which is number 0.
        let before = internal.last().map_or(0, |last| last.transfer.sub_index);
        let fees = match fees {
            true => replay.fees(environment, before + 1),
            false => Vec::new(),
        };
        for movement in internal.iter().chain(&fees) {
            let line = match self.format {
                ReplayFormat::Csv => csv(movement),
                ReplayFormat::Jsonl => jsonl(movement),
            };
            out.push(&line)?;
        }
        Ok(())
    }

    fn balances(&self, replay: &TransactionReplay, out: &mut LineWriter) -> Result<()> {
        let checks = replay.balances.iter();
        for difference in checks.flat_map(|check| &check.differing) {
            let line = match self.format {
                ReplayFormat::Csv => balance_csv(replay, difference),
                ReplayFormat::Jsonl => balance_jsonl(replay, difference),
            };
            out.push(&line)?;
        }
        Ok(())
    }
}

fn balance_csv(replay: &TransactionReplay, difference: &BalanceDifference) -> String {
    format!(
        "{},{},{},{:#x},{:#x},{},{},{},{}",
        replay.block,
        replay.index,
        replay.hash,
        difference.token,
        difference.holder,
        difference.logged(),
        difference.actual(),
        difference.before,
        difference.after,
    )
}

fn balance_jsonl(replay: &TransactionReplay, difference: &BalanceDifference) -> String {
    json!({
        "block_number": replay.block,
        "transaction_index": replay.index,
        "transaction_hash": replay.hash,
        "token_address": format!("{:#x}", difference.token),
        "holder_address": format!("{:#x}", difference.holder),
        "logged_change": difference.logged().to_string(),
        "actual_change": difference.actual().to_string(),
        "balance_before": difference.before.to_string(),
        "balance_after": difference.after.to_string(),
    })
    .to_string()
}

/// The steps of a trace address are joined by `_`, as in cryo.
fn csv(movement: &NativeTransfer) -> String {
    let transfer = &movement.transfer;
    let steps: Vec<String> = movement.trace_address.iter().map(u32::to_string).collect();
    format!(
        "{},{},{},{},{},{},{},{:#x},{:#x},{},{}",
        transfer.block_number,
        transfer.block_timestamp,
        transfer.transaction_index,
        transfer.sub_index,
        transfer.transaction_hash,
        steps.join("_"),
        movement.cause.as_str(),
        transfer.from_address,
        transfer.to_address,
        transfer.value,
        transfer.kind,
    )
}

fn jsonl(movement: &NativeTransfer) -> String {
    let transfer = &movement.transfer;
    json!({
        "block_number": transfer.block_number,
        "block_timestamp": transfer.block_timestamp,
        "transaction_index": transfer.transaction_index,
        "sub_index": transfer.sub_index,
        "transaction_hash": transfer.transaction_hash,
        "trace_address": movement.trace_address,
        "cause": movement.cause.as_str(),
        "from_address": format!("{:#x}", transfer.from_address),
        "to_address": format!("{:#x}", transfer.to_address),
        // A string: most readers of JSON convert numbers to floats.
        "value": transfer.value.to_string(),
        "kind": transfer.kind.as_str(),
    })
    .to_string()
}
