//! One file per verb: its arguments, whose doc comments are its help, and a function
//! `run(args, context)`.

pub(crate) mod address;
pub(crate) mod analyze;
pub(crate) mod approvals;
pub(crate) mod branch_ends;
pub(crate) mod call;
mod call_tree;
pub(crate) mod case;
pub(crate) mod completions;
mod difference;
mod disagreement;
pub(crate) mod era;
pub(crate) mod evm;
pub(crate) mod graph;
pub(crate) mod holders;
#[cfg(feature = "index")]
pub(crate) mod index;
pub(crate) mod info;
#[cfg(feature = "lake")]
pub(crate) mod lake;
pub(crate) mod malformed;
pub(crate) mod man;
mod names;
pub(crate) mod picture;
mod poisoning;
pub(crate) mod query;
pub(crate) mod relations;
pub(crate) mod replay;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod state;
pub(crate) mod statement;
#[cfg(any(feature = "index", feature = "lake"))]
mod stores;
pub(crate) mod token;
mod token_notes;
pub(crate) mod transfers;
pub(crate) mod tx;
pub(crate) mod watch;

use crate::{
    args::Global,
    cluster::{Cluster, ClusterQuery},
    output::Terminal,
    progress,
};
use std::{ops::ControlFlow, sync::Arc};
use txgraph::{Address, Error, Explain, Result, RunControl, ScanRequest, Source, parse::Query};

/// The context of every command.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) global: &'a Global,
    pub(crate) terminal: &'a Terminal,
    /// The query as a cluster gets it, and what opens sources there.
    pub(crate) cluster: Option<(ClusterQuery, &'a dyn Cluster)>,
}

impl Context<'_> {
    /// Opens the source of the configuration, with progress, and stopped by Ctrl-C.
    pub(crate) fn open(&self) -> Result<Source> {
        let config = &self.global.config()?;
        let source = match &self.cluster {
            Some(_) if config.head.is_some() => {
                return Err(Error::usage(
                    "a cluster has no --head: its executors read the disk",
                ));
            }
            Some((query, cluster)) => cluster.open(query, config, &self.control()),
            None => Source::with_config(config, &self.control()),
        };
        self.terminal.stats.phase("open");
        if let (Ok(source), Some(path)) = (&source, &self.global.run.stats) {
            self.terminal.stats.protect(source);
            source.protected_paths().check(path)?;
            self.terminal.stats.count("tip", source.tip()?);
        }
        source
    }

    /// Prints the blocks of a request that is ready to be asked. With --explain, also prints how it
    /// is answered, and returns `true`. Nothing more is asked then: only what is found first is
    /// read, and not shown.
    pub(crate) fn explains(&self, source: &Source, request: &ScanRequest) -> Result<bool> {
        self.terminal.blocks(&request.blocks);
        self.terminal.stats.phase("prepare");
        if self.global.run.explain {
            let from = source.transfer_source(&request.filter)?;
            from.scan(request, &mut |_| ControlFlow::Break(()))?;
            let terminal = self.terminal;
            terminal.note(format_args!("with --explain, the query is not run"));
        }
        Ok(self.global.run.explain)
    }

    /// Progress on the terminal, and Ctrl-C.
    pub(crate) fn control(&self) -> RunControl {
        let explain =
            || -> Explain { Arc::new(|line| progress::say(format_args!("plan: {line}"))) };
        RunControl {
            progress: Some(self.terminal.progress()),
            explain: self.global.run.explain.then(explain),
            cancel: self.terminal.cancel.clone(),
            ..RunControl::default()
        }
    }

    /// The same with the threads of the configuration, for work without a source.
    #[cfg(feature = "lake")]
    pub(crate) fn control_with_threads(&self) -> Result<RunControl> {
        self.control().with_threads(&self.global.config()?)
    }

    /// Warns if a call of `address` executes nothing at the end of `block`.
    fn warn_empty(&self, source: &Source, address: Address, block: u64) -> Result<()> {
        if source.has_nothing_to_call(address, block)? {
            self.terminal.warn(format_args!(
                "{address} has no code at the end of block {block}: nothing was executed"
            ));
        }
        Ok(())
    }
}

pub(crate) fn ask(query: &Query, context: &Context<'_>) -> Result<()> {
    match query {
        Query::Transfers(query) => transfers::ask(query, context),
        Query::Graph(query) => graph::ask(query, context),
        Query::Analyze(query) => analyze::ask(query, context),
    }
}
