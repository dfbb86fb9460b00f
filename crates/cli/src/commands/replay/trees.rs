//! `txgraph replay trace call --format tree`.

use super::TraceArgs;
use crate::{
    commands::{call_tree::CallTree, difference, disagreement::disagreement, names::Names},
    output::{Terminal, print_data},
    progress::has_colors,
    transfer_tables::TerminalFormat,
};
use std::collections::BTreeSet;
use txgraph::{
    Dictionary, Error, Replay, Result, Source, Status, TokenList, Trace, TransactionReplay,
};

/// Call frames as trees on standard output.
pub(super) struct CallTrees {
    functions: Dictionary,
    names: Names,
    color: bool,
    one: bool,
}

impl CallTrees {
    /// The trees, if the arguments ask for them. A terminal gets a tree unless a format is named.
    pub(super) fn wanted(
        args: &TraceArgs,
        source: &Source,
        terminal: &Terminal,
    ) -> Result<Option<Self>> {
        let default = (args.trace == Trace::Call).then_some(TerminalFormat::Tree);
        if args.files.form(default, terminal)? != Some(TerminalFormat::Tree) {
            return if args.functions.abi.is_empty() {
                Ok(None)
            } else {
                Err(Error::usage("ABI files give names to call trees only")
                    .hint("`txgraph replay trace call --format tree`"))
            };
        }
        if args.trace != Trace::Call {
            return Err(Error::usage("only call frames are written as a tree")
                .hint("`txgraph replay trace call`"));
        }
        Ok(Some(Self {
            functions: args.functions.read(terminal)?,
            names: Names {
                chain_id: source.chain()?.chain_id,
                tokens: TokenList::default(),
                labels: args.labels.read(source, terminal)?,
            },
            color: terminal.is_seen() && has_colors(),
            one: args.scope.tx.is_some(),
        }))
    }

    /// Replays, and prints a tree for each transaction.
    pub(super) fn print(
        &self,
        query: Replay<'_>,
        source: &Source,
        terminal: &Terminal,
    ) -> Result<()> {
        let coin = source.native_symbol()?;
        let tree = CallTree {
            functions: &self.functions,
            names: &self.names,
            fungible: &BTreeSet::new(),
            coin,
            color: self.color,
        };
        let print = |replay: &TransactionReplay| print_data(text(&tree, replay).as_bytes());
        let (count, mismatches) = if self.one {
            let (replay, mismatches) = query.clone().one(None)?;
            print(&replay)?;
            if let Some(found) = query.difference(&replay)? {
                let labels = self.names.labels.clone();
                difference::print(&found, &self.functions, labels, source, terminal)?;
            }
            (mismatches.len() as u64, mismatches)
        } else {
            let prepared = query.prepare()?;
            if let Some(blocks) = prepared.blocks() {
                terminal.blocks(blocks);
            }
            let summary =
                prepared.for_each(|block| block.transactions.iter().try_for_each(&print))?;
            (summary.report.mismatches, summary.mismatches)
        };
        match count {
            0 => Ok(()),
            _ => Err(disagreement(count, &mismatches, source.is_sample_chain()?)),
        }
    }
}

/// A line for the transaction, and its tree.
fn text(tree: &CallTree<'_>, replay: &TransactionReplay) -> String {
    let status = match replay.outcome.status {
        Status::Success => "succeeded".to_owned(),
        Status::Revert => "reverted".to_owned(),
        Status::Halt(halt) => format!("halted: {halt}"),
    };
    let TransactionReplay {
        block, index, hash, ..
    } = replay;
    let sender = tree.named(replay.transaction.caller);
    let lines = match replay.call_trace(true) {
        Some(root) => tree.lines(&root),
        None => String::new(),
    };
    format!("{block}:{index} {hash} from {sender} {status}\n{lines}\n")
}
