//! `txgraph evm asm` and `txgraph evm disasm`.

use super::files::{CodeFormat, OutputArgs, read};
use alloy_primitives::hex;
use clap::Args;
use std::path::PathBuf;
use txgraph::{Error, Result};
use txgraph_evm_tools::asm::{self, Listing};

/// Turn mnemonics into bytecode
///
/// `name:` is a label, `NAME = 10` a constant. `PUSH name` uses as many bytes as needed, `PUSH2 name`
/// two. Operands can be sums: `PUSH end-start`. `DATA 0x…` and `DATA "text"` are raw bytes. Comments
/// start with `;`, `#` or `//`.
#[derive(Args, Debug)]
#[command(after_long_help = ASM_EXAMPLES)]
pub(crate) struct AsmArgs {
    /// Mnemonics; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,

    /// Write raw bytes instead of hex
    #[arg(long)]
    binary: bool,
}

const ASM_EXAMPLES: &str = "\
Examples:
    $ echo 'start: JUMPDEST PUSH start JUMP' | txgraph evm asm -
    $ echo 'PUSH 7 PUSH 0 MSTORE PUSH 32 PUSH 0 RETURN' | txgraph evm asm - | txgraph evm run -
";

/// Turn bytecode into mnemonics
///
/// `txgraph evm asm` turns the output into the same bytes again.
#[derive(Args, Debug)]
#[command(after_long_help = DISASM_EXAMPLES)]
pub(crate) struct DisasmArgs {
    /// Bytecode; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How the file contains the bytecode
    #[arg(
        long = "code-format",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    format: CodeFormat,

    #[command(flatten)]
    output: OutputArgs,

    /// Show the offset of each instruction
    #[arg(long)]
    offsets: bool,

    /// Do not show labels for the targets of constant jumps
    #[arg(long)]
    no_labels: bool,
}

const DISASM_EXAMPLES: &str = "\
Examples:
    $ echo 5b5f5600 | txgraph evm disasm -
    $ echo 6001600201 | txgraph evm disasm - --offsets
";

pub(crate) fn assemble(args: AsmArgs) -> Result<()> {
    let source = String::from_utf8(read(&args.file)?)
        .map_err(|error| Error::usage(args.file.display().to_string()).because(error))?;
    let code = asm::assemble(&source)
        .map_err(|error| Error::usage(format!("{}: {error}", args.file.display())))?;
    if args.binary {
        args.output.write(&code)
    } else {
        let text = format!("{}\n", hex::encode_prefixed(code));
        args.output.write(text.as_bytes())
    }
}

pub(crate) fn disassemble(args: DisasmArgs) -> Result<()> {
    let code = args.format.read(&args.file)?;
    let listing = Listing {
        labels: !args.no_labels,
        offsets: args.offsets,
    };
    let text = asm::disassemble(&code, listing);
    args.output.write(text.as_bytes())
}
