//! One file per verb: its arguments, whose doc comments are its help, and what it does.

pub(crate) mod analyze;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod evm;
pub(crate) mod graph;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod query;
pub(crate) mod replay;
pub(crate) mod token;
pub(crate) mod transfers;

use crate::{args::Global, output::Terminal, progress};
use std::sync::Arc;
use txgraph::{Control, Explain, Node, Query, Result};

/// Opens the node of the configuration, with a progress bar, stopped by Ctrl-C.
pub(crate) fn open(global: &Global, terminal: &Terminal) -> Result<Node> {
    let control = Control {
        progress: Some(terminal.progress()),
        explain: global
            .explain
            .then(|| -> Explain { Arc::new(|line| progress::say(format_args!("plan: {line}"))) }),
        cancel: terminal.cancel.clone(),
    };
    txgraph::open(&global.config()?, &control)
}

/// Asks a question.
pub(crate) fn ask(query: &Query, global: &Global, terminal: &Terminal) -> Result<()> {
    let node = open(global, terminal)?;
    match query {
        Query::Transfers(query) => transfers::run(&node, query, terminal),
        Query::Graph(query) => graph::run(&node, query, terminal),
        Query::Analyze(query) => analyze::run(&node, query, terminal),
    }
}
