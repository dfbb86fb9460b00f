//! `txgraph call`.

use crate::output::{Terminal, print_data};
use clap::Args;
use txgraph::{CallQuery, Node, Result};

/// Call a contract on the state of any block, without changing anything
///
/// Prints what it returns, in hex. A call that reverts or halts ends the command with status 1.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CallArgs {
    /// The contract; without it --data is init code
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,

    /// Who calls; default: the zero address
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,

    /// Calldata in hex
    #[arg(long, value_name = "HEX")]
    data: Option<String>,

    /// Wei sent along: 1000 or 1e18
    #[arg(long, value_name = "AMOUNT")]
    value: Option<String>,

    /// Gas at most; default: 50000000
    #[arg(long, value_name = "N")]
    gas: Option<u64>,

    /// The block at whose end it is called; default: the newest
    #[arg(long, value_name = "N")]
    block: Option<u64>,
}

const EXAMPLES: &str = "\
Examples (for the small chain in testdata/):
  totalSupply() of a token, now and after block 20:
    $ txgraph call --to 0xd601451207128971898aab8654521699f35222e2 --data 0x18160ddd \\
        --chain testdata/small/v2/genesis.json
    $ txgraph call --to 0xd601451207128971898aab8654521699f35222e2 --data 0x18160ddd \\
        --block 20 --chain testdata/small/v2/genesis.json
";

impl From<CallArgs> for CallQuery {
    fn from(args: CallArgs) -> Self {
        Self {
            to: args.to,
            from: args.from,
            data: args.data,
            value: args.value,
            gas: args.gas,
            block: args.block,
        }
    }
}

/// Runs the command.
pub(crate) fn run(node: &Node, query: &CallQuery, terminal: &Terminal) -> Result<()> {
    let called = txgraph::call(node, query)?;
    terminal.note(format_args!(
        "called at the end of block {}: {} gas",
        called.block, called.outcome.gas_used
    ));
    let output = called.output()?;
    print_data(format!("{output}\n").as_bytes())
}
