//! Files that the commands read and write, and their errors.

use crate::output::print_data;
use alloy_primitives::Bytes;
use clap::{Args, ValueEnum};
use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use txgraph::{Error, ErrorKind, LineWriter, Result};
use txgraph_evm_tools::call::{CodeForm, decode_code};

/// Reads a whole file, or stdin for `-`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    if path.as_os_str() != "-" {
        return fs::read(path).map_err(|error| Error::io(path, error));
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Error::io(Path::new("standard input"), error))?;
    Ok(bytes)
}

/// A file to write, for commands without a node.
#[derive(Args, Debug)]
pub(super) struct OutputArgs {
    /// Write to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
}

impl OutputArgs {
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        let Some(path) = &self.output else {
            return print_data(bytes);
        };
        let mut out = open(path, self.overwrite)?;
        let written = out.write_all(bytes);
        written.map_err(|error| Error::io(path, error))?;
        out.finish()?;
        Ok(())
    }
}

/// Opens an output that gets its name when it is complete.
pub(super) fn open(path: &Path, overwrite: bool) -> Result<LineWriter> {
    Ok(LineWriter::new(&path.to_path_buf().into(), overwrite)?)
}

/// The error of a tool. Wrong input is a usage error.
pub(super) fn tool_error(error: txgraph_evm_tools::Error) -> Error {
    use txgraph_evm_tools::Error as Tool;
    let kind = match &error {
        Tool::Io { .. } => ErrorKind::Failed,
        _ => ErrorKind::Usage,
    };
    Error::new(kind, error.to_string())
}

/// How a file contains bytecode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum CodeFormat {
    /// Hex if the file contains only hex digits and blanks, else raw bytes
    #[default]
    Auto,
    /// Hex digits, with or without `0x`
    Hex,
    /// Raw bytes
    Binary,
}

impl CodeFormat {
    /// Reads bytecode from a file, or stdin for `-`.
    pub(super) fn read(self, path: &Path) -> Result<Bytes> {
        let form = match self {
            Self::Auto => CodeForm::Detect,
            Self::Hex => CodeForm::Hex,
            Self::Binary => CodeForm::Binary,
        };
        decode_code(path, read(path)?, form).map_err(tool_error)
    }
}
