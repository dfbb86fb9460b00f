//! The option for names of addresses.

use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use txgraph::{
    Labels, Result, Source,
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
    #[arg(long, value_name = "FILE", help_heading = "Labels")]
    pub(crate) labels: Vec<PathBuf>,
}

impl LabelArgs {
    /// Reads the files.
    pub(crate) fn read(&self, source: &Source) -> Result<Labels> {
        if self.labels.is_empty() {
            return Ok(Labels::default());
        }
        let paths: Vec<_> = self.labels.iter().cloned().map(text).collect();
        labels(&paths, Checksum::Verify, source.chain()?.chain_id)
    }
}

/// A path as text. Saved queries can contain only UTF-8 paths.
pub(crate) fn text(path: PathBuf) -> String {
    path.into_os_string()
        .into_string()
        .unwrap_or_else(|path| path.to_string_lossy().into_owned())
}
