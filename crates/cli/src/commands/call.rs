//! `txgraph call`.

use super::Context;
use crate::{output::print_data, progress};
use alloy_primitives::hex;
use clap::Args;
use txgraph::{
    Address, Error, Result,
    text::{self, Checksum},
};

/// Call a contract on the state of any block, without changing anything
///
/// Prints the returned bytes in hex. A call that reverts or halts ends the command with status 1.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CallArgs {
    /// Contract; without it, --data is init code
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,

    /// Caller; default: the zero address
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,

    /// Calldata in hex
    #[arg(long, value_name = "HEX")]
    data: Option<String>,

    /// Value in wei: 1000 or 1e18
    #[arg(long, value_name = "AMOUNT")]
    value: Option<String>,

    /// Gas limit; default: 50000000
    #[arg(long, value_name = "N")]
    gas: Option<u64>,

    /// Block at whose end it is called; default: the newest with a state
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

/// Runs the command.
pub(crate) fn run(args: &CallArgs, context: &Context<'_>) -> Result<()> {
    let address = |text: &String| text::parse_address(text, Checksum::Verify);
    let source = context.open()?;
    let to = args.to.as_ref().map(address).transpose()?;
    let mut call = source.call(to);
    if let Some(from) = &args.from {
        call = call.from(address(from)?);
    }
    if let Some(data) = &args.data {
        let data = hex::decode(data)
            .map_err(|error| Error::usage(format!("the data is not hex: {error}")))?;
        call = call.data(data);
    }
    if let Some(value) = &args.value {
        let value = text::parse_amount(value);
        call = call.value(value.map_err(|error| Error::usage(error).at("value"))?);
    }
    if let Some(gas) = args.gas {
        call = call.gas(gas);
    }
    if let Some(block) = args.block {
        call = call.block(block);
    }
    let result = call.run()?;
    if let Some(to) = to
        && !is_precompiled(to)
        && let Some(contracts) = source.contracts_among(&[to], Some(result.block))?
        && contracts.is_empty()
    {
        progress::say(format_args!(
            "warning: {to} has no code at the end of block {}: nothing was executed",
            result.block
        ));
    }
    context.terminal.note(format_args!(
        "called at the end of block {}: {} gas",
        result.block, result.outcome.gas_used
    ));
    let output = result.output()?;
    print_data(format!("{output}\n").as_bytes())
}

/// Whether an address is in the range of precompiled contracts, which have no code.
fn is_precompiled(address: Address) -> bool {
    address[..18].iter().all(|byte| *byte == 0)
}
