//! `benchmarks/workloads.toml`: what is run, and what must come out.

use crate::answer::Answer;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::{fs, path::Path};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    /// The sample chain every workload runs on.
    pub chain: ChainDefinition,
    /// `--chunk-blocks` values to sweep; 0 stands for the built-in choice.
    pub chunk_blocks: Vec<u64>,
    /// The questions.
    pub workload: Vec<Workload>,
}

/// Parameters of `chaingen`, and who is asked about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainDefinition {
    /// Seed of the chain.
    pub seed: u64,
    /// Transactions in each block.
    pub txs_per_block: u64,
    /// Where every search starts.
    pub root: String,
    /// The token that is followed.
    pub token: String,
}

/// One question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Short name, used in tables and plots.
    pub name: String,
    /// Blocks `0..blocks` of the chain.
    pub blocks: u64,
    /// Hops of the search.
    pub hops: u32,
    /// Where this search starts, if not where every search does.
    pub root: Option<String>,
    /// The token this search follows, if not the one of every search.
    pub token: Option<String>,
    /// Run also by `--quick`.
    #[serde(default)]
    pub quick: bool,
    /// Compared with `baseline` and `limit` too.
    #[serde(default)]
    pub compare: bool,
    /// What every run must answer; absent while a workload is new.
    pub expected: Option<Answer>,
}

impl Definitions {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }
}
