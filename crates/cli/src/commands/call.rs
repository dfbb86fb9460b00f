//! `txgraph call`.

use super::Context;
use crate::{
    args::{OverrideArgs, StateBlockArgs},
    output::print_page,
};
use alloy_primitives::hex;
use clap::Args;
use txgraph::{
    Error, Method, Result, StateOverrides,
    parse::{self, Checksum},
};

/// Call a contract on the state of any block
///
/// With the signature of a function, `balanceOf(address)(uint256)`, the arguments are encoded, and
/// the returned values are printed, one on each line. Otherwise the returned bytes are printed in
/// hex. A call that reverts or halts ends the command with status 1.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CallArgs {
    /// Contract
    #[arg(
        value_name = "CONTRACT", conflicts_with = "to",
        required_unless_present_any = ["to", "data"]
    )]
    contract: Option<String>,

    /// Function with the types of its arguments and of what it returns
    #[arg(value_name = "SIGNATURE", conflicts_with = "data")]
    function: Option<String>,

    /// Arguments: numbers, `1ether`, addresses, `[1,2]`, `(1,0x…)`
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    arguments: Vec<String>,

    /// Contract, for --data; without it, --data is init code
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,

    /// Caller [default: the zero address]
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,

    /// Calldata in hex
    #[arg(long, value_name = "HEX")]
    data: Option<String>,

    /// Value in wei: 1000 or 1e18
    #[arg(long, value_name = "AMOUNT")]
    value: Option<String>,

    /// Gas limit [default: 50000000]
    #[arg(long, value_name = "N")]
    gas: Option<u64>,

    #[command(flatten)]
    block: StateBlockArgs,

    #[command(flatten)]
    changes: OverrideArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  The balance of an address, now and after block 20:
    $ txgraph call 0xd601451207128971898aab8654521699f35222e2 'balanceOf(address)(uint256)' \\
        0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0
    $ txgraph call 0xd601451207128971898aab8654521699f35222e2 'balanceOf(address)(uint256)' \\
        0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --block 20

  Any calldata:
    $ txgraph call --to 0xd601451207128971898aab8654521699f35222e2 --data 0x18160ddd
";

pub(crate) fn run(args: &CallArgs, context: &Context<'_>) -> Result<()> {
    let address = |text: &String| parse::parse_address(text, Checksum::Verify);
    let source = context.open()?;
    let to = args.contract.as_ref().or(args.to.as_ref());
    let to = to.map(address).transpose()?;
    let mut call = source.call(to);
    let function = args.function.as_deref().map(Method::parse).transpose();
    let function = function.map_err(Error::from)?;
    if let Some(function) = &function {
        call = call.function(function, &args.arguments)?;
    }
    if let Some(from) = &args.from {
        call = call.from(address(from)?);
    }
    if let Some(data) = &args.data {
        let data = hex::decode(data)
            .map_err(|error| Error::usage(format!("the data is not hex: {error}")))?;
        call = call.data(data);
    }
    if let Some(value) = &args.value {
        let value = parse::parse_amount(value);
        call = call.value(value.map_err(|error| Error::usage(error).at("value"))?);
    }
    if let Some(gas) = args.gas {
        call = call.gas(gas);
    }
    if let Some(block) = args.block.read(&source)? {
        call = call.block(block);
    }
    if let Some(path) = &args.changes.overrides {
        call = call.overrides(StateOverrides::open_for_call(path)?);
    }
    let result = call.run()?;
    if let Some(to) = to
        && args.changes.overrides.is_none()
    {
        context.warn_empty(&source, to, result.block)?;
    }
    context.terminal.note(format_args!(
        "called at the end of block {}: {} gas",
        result.block, result.outcome.gas_used
    ));
    let output = result.output()?;
    let lines = match &function {
        Some(function) if function.has_outputs() => function.decode(output)?,
        _ => vec![output.to_string()],
    };
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    print_page(&text)
}
