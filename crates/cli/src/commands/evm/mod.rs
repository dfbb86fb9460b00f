//! `txgraph evm`: the interpreter without a node.

mod asm;
mod bench;
mod files;
mod run;
mod test;

use super::Context;
use clap::{Args, Subcommand};
use txgraph::Result;

/// Run and assemble bytecode, test and time the interpreter
///
/// This is the interpreter that replay uses. No node is needed.
#[derive(Args, Debug)]
pub(crate) struct EvmArgs {
    #[command(subcommand)]
    command: EvmCommand,
}

#[derive(Debug, Subcommand)]
enum EvmCommand {
    Run(Box<run::RunArgs>),
    Asm(asm::AsmArgs),
    Disasm(asm::DisasmArgs),
    Test(test::TestArgs),
    Bench(bench::BenchArgs),
}

pub(crate) fn run(args: EvmArgs, context: &Context<'_>) -> Result<()> {
    match args.command {
        EvmCommand::Run(args) => run::run(*args, context),
        EvmCommand::Asm(args) => asm::assemble(args),
        EvmCommand::Disasm(args) => asm::disassemble(args),
        EvmCommand::Test(args) => test::run(args),
        EvmCommand::Bench(args) => bench::run(args),
    }
}
