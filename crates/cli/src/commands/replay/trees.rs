//! `txgraph replay trace call --format tree`.

use super::{TraceArgs, call_tree::CallTree, disagreement::disagreement};
use crate::output::{Terminal, print_data};
use std::io::IsTerminal;
use txgraph::{
    Dictionary, Error, Labels, Replay, Result, Source, Status, Trace, TransactionReplay,
};

/// Call frames as trees on standard output.
pub(super) struct CallTrees {
    names: Dictionary,
    labels: Labels,
    color: bool,
    one: bool,
}

impl CallTrees {
    /// The trees, if the arguments ask for them. A terminal gets a tree unless a format is named.
    pub(super) fn wanted(
        args: &TraceArgs,
        labels: &Labels,
        terminal: &Terminal,
    ) -> Result<Option<Self>> {
        let is_terminal = std::io::stdout().is_terminal();
        let is_tree = match args.files.format.as_deref() {
            Some(format) => format == "tree",
            None => is_terminal && args.files.output.is_empty() && args.trace == Trace::Call,
        };
        if !is_tree {
            return if args.abi.is_empty() {
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
        if args.files.output.iter().any(|path| path.as_os_str() != "-") {
            return Err(Error::usage("a tree is written to standard output")
                .hint("leave --output out, and redirect the output to a file"));
        }
        let mut names = Dictionary::common();
        for path in &args.abi {
            let loaded = names.load(path)?;
            for row in &loaded.bad_rows {
                terminal.note(format_args!("warning: {row}"));
            }
            let more = loaded.bad.saturating_sub(loaded.bad_rows.len());
            if more > 0 {
                let path = path.display();
                terminal.note(format_args!(
                    "warning: {path}: {more} more rows are not signatures"
                ));
            }
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Ok(Some(Self {
            names,
            labels: labels.clone(),
            color: is_terminal && !no_color,
            one: args.scope.tx.is_some(),
        }))
    }

    /// Replays, and prints a tree for each transaction.
    pub(super) fn print(
        &self,
        question: Replay<'_>,
        source: &Source,
        terminal: &Terminal,
    ) -> Result<()> {
        let coin = source.native_symbol()?;
        let tree = CallTree {
            names: &self.names,
            labels: &self.labels,
            coin,
            color: self.color,
        };
        let print = |replay: &TransactionReplay| print_data(text(&tree, replay).as_bytes());
        let (count, mismatches) = if self.one {
            let (replay, mismatches) = question.one(None)?;
            print(&replay)?;
            (mismatches.len() as u64, mismatches)
        } else {
            let prepared = question.prepare()?;
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
