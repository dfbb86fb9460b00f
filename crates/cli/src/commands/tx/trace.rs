//! The calls of a transaction, and what it changed in the state.

use super::super::{
    call_tree::CallTree, difference::change_text, disagreement::disagreement, names::Names,
};
use crate::progress::has_colors;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use txgraph::{
    Address, Dictionary, Result, Source, StateChange, TokenStandard, Trace, TransactionName,
    TransactionReplay, TransactionSummary,
};

/// A transaction that was executed again.
pub(super) struct Executed(TransactionReplay);

impl Executed {
    /// Executes the transaction, and compares it with its stored receipt.
    pub(super) fn new(source: &Source, found: &TransactionSummary) -> Result<Self> {
        let place = TransactionName::Position {
            block: found.block,
            index: found.index,
        };
        let query = source.replay().transaction(place).trace(Trace::Call);
        let (replay, mismatches) = query.with_changes().one(None)?;
        match mismatches.first() {
            None => Ok(Self(replay)),
            Some(_) => Err(disagreement(
                mismatches.len() as u64,
                &mismatches,
                source.is_sample_chain()?,
            )),
        }
    }

    /// Calls and changes as JSON.
    pub(super) fn json(&self) -> Vec<(&'static str, Value)> {
        let calls = self.0.call_trace(true);
        vec![
            ("calls", json!(calls)),
            ("state_changes", json!(self.0.state_diff())),
        ]
    }

    /// Calls and changes as text.
    pub(super) fn text(
        &self,
        found: &TransactionSummary,
        functions: &Dictionary,
        names: &Names,
        coin: &'static str,
        is_terminal: bool,
    ) -> String {
        let fungible = |it: &&txgraph::Transfer| it.token_standard == TokenStandard::Erc20;
        let fungible = found.transfers.iter().filter(fungible);
        let fungible: BTreeSet<Address> = fungible.filter_map(|it| it.token_address).collect();
        let tree = CallTree {
            functions,
            names,
            fungible: &fungible,
            coin,
            color: is_terminal && has_colors(),
        };
        let mut text = "\ncalls\n".to_owned();
        match self.0.call_trace(true) {
            Some(root) => tree.lines(&root).lines().for_each(|line| {
                text += &format!("  {line}\n");
            }),
            None => text += "  none were recorded\n",
        }
        text += "\nchanges of the state\n";
        let mut last = None;
        for StateChange { address, change } in self.0.state_changes() {
            if last.replace(address) != Some(address) {
                text += &format!("  {}\n", tree.named(address));
            }
            text += &format!("    {}\n", change_text(&change, coin));
        }
        text
    }
}
