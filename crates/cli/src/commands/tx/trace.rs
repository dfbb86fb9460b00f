//! The calls of a transaction, and what it changed in the state.

use super::super::{call_tree::CallTree, disagreement::disagreement, names::Names};
use crate::{
    progress::has_colors,
    table::thousands,
    units::{COIN_DECIMALS, in_units},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use txgraph::{
    AccountFields, Address, B256, Dictionary, Result, Source, StateDiff, TokenStandard, Trace,
    TransactionName, TransactionReplay, TransactionSummary, U256,
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
        let question = source.replay().transaction(place).trace(Trace::Call);
        let (replay, mismatches) = question.with_changes().one(None)?;
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
        let StateDiff { pre, post } = self.0.state_diff();
        let accounts: BTreeSet<&Address> = pre.keys().chain(post.keys()).collect();
        for account in accounts {
            let lines = changes(pre.get(account), post.get(account), coin);
            if !lines.is_empty() {
                text += &format!("  {}\n{lines}", tree.named(*account));
            }
        }
        text
    }
}

/// Lines for the fields of an account that changed. Nothing is stated of an account before it
/// was created, and after it was destroyed.
fn changes(before: Option<&AccountFields>, after: Option<&AccountFields>, coin: &str) -> String {
    let mut lines = String::new();
    if after.is_none() {
        lines += "    destroyed\n";
    }
    let none = AccountFields::default();
    let (before, after) = (before.unwrap_or(&none), after.unwrap_or(&none));
    let mut line = |what: &str, from: String, to: String| {
        lines += &format!("    {what:<9}{from} -> {to}\n");
    };
    if let Some(to) = after.balance {
        let ether = |wei: U256| format!("{} {coin}", in_units(wei, COIN_DECIMALS));
        line(
            "balance",
            ether(before.balance.unwrap_or_default()),
            ether(to),
        );
    }
    if let Some(to) = after.nonce {
        line(
            "nonce",
            before.nonce.unwrap_or(0).to_string(),
            to.to_string(),
        );
    }
    if let Some(to) = &after.code {
        let bytes = |code: &[u8]| match code.len() {
            0 => "none".to_owned(),
            len => format!("{} bytes", thousands(len as u64)),
        };
        line(
            "code",
            bytes(before.code.as_ref().map_or(&[], |code| code)),
            bytes(to),
        );
    }
    let slots: BTreeSet<&B256> = before.storage.keys().chain(after.storage.keys()).collect();
    for slot in slots {
        let word = |of: &AccountFields| of.storage.get(slot).copied().unwrap_or_default();
        let word = |of: &AccountFields| format!("{:#x}", U256::from_be_bytes(word(of).0));
        let key = format!("slot {:#x} ", U256::from_be_bytes(slot.0));
        line(&key, word(before), word(after));
    }
    lines
}
