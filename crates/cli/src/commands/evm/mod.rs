//! `txgraph evm`: the interpreter by itself, without a node.

mod asm;
mod bench;
mod run;
mod test;

use crate::{args::Global, output::print_data};
use clap::{Args, Subcommand};
use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use txgraph::{Error, ErrorKind, LineWriter, Result};

/// Run bytecode, assemble it, test and time the interpreter
///
/// The interpreter that replay uses, by itself: no node is needed.
#[derive(Args, Debug)]
pub(crate) struct EvmArgs {
    #[command(subcommand)]
    command: EvmCommand,
}

#[derive(Debug, Subcommand)]
enum EvmCommand {
    Run(run::RunArgs),
    Asm(asm::AsmArgs),
    Disasm(asm::DisasmArgs),
    Test(test::TestArgs),
    Bench(bench::BenchArgs),
}

/// Runs the command.
pub(crate) fn run(args: EvmArgs, global: &Global) -> Result<()> {
    match args.command {
        EvmCommand::Run(args) => run::run(args, global),
        EvmCommand::Asm(args) => asm::assemble(args, global),
        EvmCommand::Disasm(args) => asm::disassemble(args, global),
        EvmCommand::Test(args) => test::run(args),
        EvmCommand::Bench(args) => bench::run(args),
    }
}

/// Everything in a file, or on stdin for `-`, in one go.
fn read(path: &Path) -> Result<Vec<u8>> {
    if path.as_os_str() != "-" {
        return fs::read(path).map_err(|error| missing(path, error));
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Error::io(Path::new("standard input"), error))?;
    Ok(bytes)
}

/// A file that is not there was named wrongly.
fn missing(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::usage(path.display().to_string()).because(error),
        _ => Error::io(path, error),
    }
}

/// A file to write, for commands without a node.
#[derive(Args, Debug)]
struct OutputArgs {
    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
}

impl OutputArgs {
    fn write(&self, bytes: &[u8], global: &Global) -> Result<()> {
        let Some(path) = &self.output else {
            return print_data(bytes);
        };
        let mut out = open(path, self.overwrite, global)?;
        let written = out.write_all(bytes);
        written.map_err(|error| Error::io(path, error))?;
        out.finish()?;
        Ok(())
    }
}

/// Opens an output that gets its name when it is complete, outside of the data directory
/// that the configuration names.
fn open(path: &Path, overwrite: bool, global: &Global) -> Result<LineWriter> {
    let config = global.config().unwrap_or_default();
    config.protected().check(path)?;
    Ok(LineWriter::new(&path.to_path_buf().into(), overwrite)?)
}

/// A failure of the tools: input that is wrong is the question's fault.
fn tool_error(error: txgraph_evm_tools::Error) -> Error {
    use txgraph_evm_tools::Error as Tool;
    let kind = match &error {
        Tool::Io { source, .. } if source.kind() != io::ErrorKind::NotFound => ErrorKind::Failed,
        _ => ErrorKind::Usage,
    };
    Error::new(kind, error.to_string())
}
