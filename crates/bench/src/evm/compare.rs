//! Runs public tests on our interpreter and on revm, and prints the differences of each case.

use crate::console::say;
use anyhow::{Result, bail};
use std::path::PathBuf;
use txgraph_block::PlainState;
use txgraph_evm::{Block, Fork, Message, Transaction};
use txgraph_evm_tools::{
    engine::{Executed, NotExecuted, OurEvm, TestEngine},
    fixture::{self, first_difference},
};
use txgraph_revm_peer::runner::Revm;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Files of tests, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Run them only on revm, which tests the runner.
    #[arg(long)]
    peer: bool,
}

/// Runs both engines. A difference between them is a failure.
struct Comparison {
    own: OurEvm,
    peer: Revm,
}

impl TestEngine for Comparison {
    fn transaction(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Executed, NotExecuted> {
        let own = self.own.transaction(fork, pre, block, transaction);
        let peer = self.peer.transaction(fork, pre, block, transaction);
        let what = match (&own, &peer) {
            // revm does not implement this fork.
            (_, Err(NotExecuted::Failed(_))) => return own,
            (Ok(own), Ok(peer)) => differences(own, peer),
            (Err(NotExecuted::Invalid(_)), Err(NotExecuted::Invalid(_))) => String::new(),
            (Err(why), Ok(_)) => format!("only revm executes: {why:?}"),
            (_, Err(NotExecuted::Invalid(why))) => format!("only revm rejects: {why}"),
        };
        match what.is_empty() {
            true => own,
            false => Err(NotExecuted::Failed(what)),
        }
    }

    fn frame(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        message: &Message,
    ) -> Result<Executed, NotExecuted> {
        self.own.frame(fork, pre, block, message)
    }
}

fn differences(own: &Executed, peer: &Executed) -> String {
    let facts = |it: &Executed| {
        [
            ("success", it.success.to_string()),
            ("gas used", it.gas_used.to_string()),
            ("output", it.output.to_string()),
            ("logs", format!("{:?}", it.logs)),
        ]
    };
    let pairs = facts(own).into_iter().zip(facts(peer));
    let mut all: Vec<String> = pairs
        .filter(|(own, peer)| own != peer)
        .map(|((what, own), (_, peer))| format!("{what}: own {own}, revm {peer}"))
        .collect();
    if let Some(what) = first_difference(&peer.state, &own.state) {
        all.push(format!("{what} (expected: revm)"));
    }
    all.join("; ")
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let tests = fixture::Options::default();
    std::panic::set_hook(Box::new(|_| {}));
    let report = match options.peer {
        true => fixture::run(&options.paths, &tests, || Revm)?,
        false => fixture::run(&options.paths, &tests, || Comparison {
            own: OurEvm::new(),
            peer: Revm,
        })?,
    };
    say(report.table(20).trim_end());
    match report.total().failed {
        0 => Ok(()),
        failed => bail!("{failed} cases differ"),
    }
}
