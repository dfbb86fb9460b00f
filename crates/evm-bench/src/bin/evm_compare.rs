//! `txgraph-evm-compare PATH… [--filter TEXT]`: runs public tests through the embedded
//! interpreter and through revm, and says the first difference of each case. With
//! `--peer` revm alone answers the tests: that checks the runner.

use anyhow::{Result, bail};
use std::path::PathBuf;
use txgraph_block::PlainState;
use txgraph_evm::{Block, Fork, Message, Transaction};
use txgraph_evm_tools::{
    engine::{Engine, Executed, NotExecuted, Own},
    fixture::{Options, first_difference, run},
};
use txgraph_revm_peer::runner::Revm;

/// Both engines; what they disagree about is a failure.
struct Both {
    own: Own,
    peer: Revm,
}

impl Engine for Both {
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
            // Asked about a fork that it does not know.
            (_, Err(NotExecuted::Failed(_))) => return own,
            (Ok(own), Ok(peer)) => differences(own, peer),
            (Err(NotExecuted::Refused(_)), Err(NotExecuted::Refused(_))) => String::new(),
            (Err(why), Ok(_)) => format!("only revm executes: {why:?}"),
            (_, Err(NotExecuted::Refused(why))) => format!("only revm refuses: {why}"),
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
        false => run(&paths, &options, || Both {
            own: Own::new(),
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
