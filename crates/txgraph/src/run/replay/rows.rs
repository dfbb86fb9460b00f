//! What a replay prints: internal transfers as rows, traces as objects.

use super::{ReplayFormat, Trace};
use crate::Result;
use serde_json::{Value, json};
use txgraph_export::LineWriter;
use txgraph_replay::{BlockReplay, GasProfile, NativeTransfer, TransactionReplay};

const COLUMNS: &str = "block_number,block_timestamp,transaction_index,sub_index,\
    transaction_hash,trace_address,cause,from_address,to_address,value,kind";

/// Writes what is wanted of each transaction.
pub(super) struct Rows {
    trace: Option<Trace>,
    format: ReplayFormat,
    fees: bool,
    profile: GasProfile,
}

impl Rows {
    pub(super) fn new(trace: Option<Trace>, format: ReplayFormat, fees: bool) -> Self {
        Self {
            trace,
            format,
            fees,
            profile: GasProfile::default(),
        }
    }

    pub(super) fn begin(&self, out: &mut LineWriter) -> Result<()> {
        if self.trace.is_none() && self.format == ReplayFormat::Csv {
            out.push(COLUMNS)?;
        }
        Ok(())
    }

    pub(super) fn block(&mut self, block: &BlockReplay, out: &mut LineWriter) -> Result<()> {
        let mut transactions = block.transactions.iter();
        transactions.try_for_each(|replay| self.transaction(replay, &block.environment, out))
    }

    pub(super) fn transaction(
        &mut self,
        replay: &TransactionReplay,
        environment: &txgraph_evm::Block,
        out: &mut LineWriter,
    ) -> Result<()> {
        let about = |result: Value| {
            json!({
                "block": replay.block,
                "index": replay.index,
                "txHash": replay.hash,
                "result": result,
            })
        };
        let result = match self.trace {
            None => return self.transfers(replay, environment, out),
            // Written by itself, while it runs.
            Some(Trace::Struct) => return Ok(()),
            Some(Trace::Gas) => {
                self.profile.add(replay);
                return Ok(());
            }
            Some(Trace::Call) => serde_json::to_value(replay.call_trace(true)),
            Some(Trace::Diff) => serde_json::to_value(replay.state_diff()),
        };
        // Maps with text keys: nothing that JSON could not hold.
        out.push(&about(result.unwrap_or_default()).to_string())?;
        Ok(())
    }

    /// What is told of all transactions together.
    pub(super) fn end(&self, out: &mut LineWriter) -> Result<()> {
        if self.trace == Some(Trace::Gas) {
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
        out: &mut LineWriter,
    ) -> Result<()> {
        let internal = replay.internal_transfers(environment.timestamp);
        // Behind the own value, which is number 0.
        let before = internal.last().map_or(0, |last| last.transfer.sub_index);
        let fees = match self.fees {
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
}

/// The steps of a trace address are joined by `_`, as cryo does.
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
        // A string: most readers of JSON take numbers for floats.
        "value": transfer.value.to_string(),
        "kind": transfer.kind.as_str(),
    })
    .to_string()
}
