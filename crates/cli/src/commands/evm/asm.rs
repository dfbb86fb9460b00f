//! `txgraph evm asm` and `txgraph evm disasm`.

use super::{OutputArgs, read, tool_error};
use crate::args::Global;
use alloy_primitives::hex;
use clap::Args;
use std::path::PathBuf;
use txgraph::{Error, Result};
use txgraph_evm_tools::{
    asm::{self, Listing},
    call::{CodeForm, decode_code},
};

/// Turn mnemonics into bytecode
///
/// `name:` names a place, `NAME = 10` a constant; `PUSH name` takes the bytes that it needs,
/// `PUSH2 name` two. Operands may be sums: `PUSH end-start`. `DATA 0x…` and `DATA "text"` are raw
/// bytes. Comments begin with `;`, `#` or `//`.
#[derive(Args, Debug)]
#[command(after_long_help = ASM_EXAMPLES)]
pub(crate) struct AsmArgs {
    /// Mnemonics; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,

    /// Bytes as they are, no hex
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
/// What comes out can be assembled to the same bytes again.
#[derive(Args, Debug)]
#[command(after_long_help = DISASM_EXAMPLES)]
pub(crate) struct DisasmArgs {
    /// Bytecode, as hex or as it is; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,

    /// Show the place of each instruction
    #[arg(long)]
    offsets: bool,

    /// No names for places that constant jumps go to
    #[arg(long)]
    no_labels: bool,
}

const DISASM_EXAMPLES: &str = "\
Examples:
    $ echo 5b5f5600 | txgraph evm disasm -
    $ echo 6001600201 | txgraph evm disasm - --offsets
";

/// Runs `asm`.
pub(crate) fn assemble(args: AsmArgs, global: &Global) -> Result<()> {
    let source = String::from_utf8(read(&args.file)?)
        .map_err(|error| Error::usage(args.file.display().to_string()).because(error))?;
    let code = asm::assemble(&source)
        .map_err(|error| Error::usage(format!("{}: {error}", args.file.display())))?;
    match args.binary {
        true => args.output.write(&code, global),
        false => {
            let text = format!("{}\n", hex::encode_prefixed(code));
            args.output.write(text.as_bytes(), global)
        }
    }
}

/// Runs `disasm`.
pub(crate) fn disassemble(args: DisasmArgs, global: &Global) -> Result<()> {
    let code = decode_code(&args.file, read(&args.file)?, CodeForm::Detect).map_err(tool_error)?;
    let listing = Listing {
        labels: !args.no_labels,
        offsets: args.offsets,
    };
    let text = asm::disassemble(&code, listing);
    args.output.write(text.as_bytes(), global)
}
