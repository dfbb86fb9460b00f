//! Options for the names of addresses, tokens and functions. Doc comments are help texts.

use crate::output::{Terminal, number};
use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use serde::Serialize;
use std::path::PathBuf;
use txgraph::{
    Dictionary, Labels, Result, Source,
    parse::{Checksum, labels},
};

/// Names of addresses.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct LabelArgs {
    /// Names of addresses: CSV, JSON, TagPack, the OFAC list, token lists
    ///
    /// A file or a directory; repeat the option for more. If files disagree about an address, the first
    /// file wins. The content decides the format; docs/labels.md describes all formats.
    #[arg(long, value_name = "FILE", help_heading = "Labels", value_parser = text_path())]
    pub(crate) labels: Vec<PathBuf>,
}

/// Symbols of tokens.
#[derive(Args, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct TokenListArgs {
    /// Symbols and decimals of tokens: Uniswap token list, CSV or JSON
    ///
    /// JSON is the output of `txgraph token --json`. For several files, repeat the option. Symbols
    /// and decimals of unlisted tokens are read from their contracts if the source has state.
    /// Amounts of all others are in the smallest unit; decimals are never guessed.
    #[arg(long, value_name = "FILE", help_heading = "Output", value_parser = text_path())]
    pub(crate) token_list: Vec<PathBuf>,
}

/// Names of addresses and tokens.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct NameArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) tokens: TokenListArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) labels: LabelArgs,
}

/// Names of functions.
#[derive(Args, Debug)]
pub(crate) struct AbiArgs {
    /// Names of functions: an ABI file, a directory, or lines of signatures
    ///
    /// A line is `0xa9059cbb transfer(address,uint256)`. Common functions, events and errors are
    /// built in.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) abi: Vec<PathBuf>,
}

impl LabelArgs {
    /// Reads the files.
    pub(crate) fn read(&self, source: &Source, terminal: &Terminal) -> Result<Labels> {
        if self.labels.is_empty() {
            return Ok(Labels::default());
        }
        let paths: Vec<_> = self.labels.iter().cloned().map(text).collect();
        let labels = labels(&paths, Checksum::Verify, source.chain()?.chain_id)?;
        terminal.labels(&labels);
        Ok(labels)
    }
}

impl AbiArgs {
    /// Reads the files.
    pub(crate) fn read(&self, terminal: &Terminal) -> Result<Dictionary> {
        let mut names = Dictionary::common();
        for path in &self.abi {
            let loaded = names.load(path)?;
            for row in &loaded.bad_rows {
                terminal.warn(format_args!("{row}"));
            }
            let more = loaded.bad.saturating_sub(loaded.bad_rows.len());
            if more > 0 {
                let path = path.display();
                terminal.warn(format_args!(
                    "{path}: {}",
                    number(
                        more as u64,
                        "more row is not a signature",
                        "more rows are not signatures"
                    )
                ));
            }
        }
        Ok(names)
    }
}

/// Parses a path that is part of a query. Queries are text, also in files and metadata.
pub(crate) fn text_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|path| check_text(path.into()))
}

/// Refuses a path that is not text.
pub(crate) fn check_text(path: PathBuf) -> Result<PathBuf, String> {
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err("the path is not UTF-8".to_owned()),
    }
}

/// A path as text.
pub(crate) fn text(path: PathBuf) -> String {
    path.into_os_string()
        .into_string()
        .unwrap_or_else(|path| path.to_string_lossy().into_owned())
}
