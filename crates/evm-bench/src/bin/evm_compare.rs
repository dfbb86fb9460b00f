//! `txgraph-evm-compare PATH… [--filter TEXT]`: runs public tests on our interpreter and on
//! revm, and prints the differences of each case. With `--peer` only revm runs them, which
//! tests the runner.

use anyhow::{Result, bail};
use std::path::PathBuf;
use txgraph_block::PlainState;
use txgraph_evm::{Block, Fork, Message, Transaction};
use txgraph_evm_tools::{
    engine::{Executed, NotExecuted, OurEvm, TestEngine},
    fixture::{Options, first_difference, run},
};
use txgraph_revm_peer::runner::Revm;

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
    let mut all = Vec::new();
    let mut compare = |what: &str, own: String, peer: String| {
        if own != peer {
            all.push(format!("{what}: own {own}, revm {peer}"));
        }
    };
    compare("success", own.success.to_string(), peer.success.to_string());
    compare(
        "gas used",
        own.gas_used.to_string(),
        peer.gas_used.to_string(),
    );
    compare("output", own.output.to_string(), peer.output.to_string());
    compare(
        "logs",
        format!("{:?}", own.logs),
        format!("{:?}", peer.logs),
    );
    if let Some(what) = first_difference(&peer.state, &own.state) {
        all.push(format!("{what} (expected: revm)"));
    }
    all.join("; ")
}

fn main() -> Result<()> {
    let (mut options, mut paths, mut peer_only) =
        (Options::default(), Vec::<PathBuf>::new(), false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--peer" => peer_only = true,
            "--filter" => options.filter = args.next(),
            _ => paths.push(arg.into()),
        }
    }
    if paths.is_empty() {
        bail!("usage: txgraph-evm-compare [--peer] [--filter TEXT] PATH…");
    }
    std::panic::set_hook(Box::new(|_| {}));
    let report = match peer_only {
        true => run(&paths, &options, || Revm)?,
        false => run(&paths, &options, || Comparison {
            own: OurEvm::new(),
            peer: Revm,
        })?,
    };
    let table = report.table(20);
    std::io::Write::write_all(&mut std::io::stdout(), table.as_bytes())?;
    match report.total().failed {
        0 => Ok(()),
        failed => bail!("{failed} cases differ"),
    }
}
