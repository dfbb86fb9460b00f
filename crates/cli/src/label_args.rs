//! The option for names of addresses.

use crate::args::text;
use clap::Args;
use std::path::PathBuf;

/// Names of addresses.
#[derive(Args, Debug)]
pub(crate) struct LabelArgs {
    /// Names of addresses: CSV, JSON, TagPacks, the list of OFAC, token lists; or a directory
    ///
    /// Repeat the option for more files. The first name of an address counts, so name your own file
    /// first. The format is recognised by the content; docs/labels.md describes all.
    #[arg(long, value_name = "FILE", help_heading = "Labels")]
    pub(crate) labels: Vec<PathBuf>,
}

impl LabelArgs {
    /// The paths as text.
    pub(crate) fn paths(self) -> Vec<String> {
        self.labels.into_iter().map(text).collect()
    }
}
