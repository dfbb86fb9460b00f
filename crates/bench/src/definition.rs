//! `benchmarks/workloads.toml`: the workloads and their expected answers.

use crate::answer::Answer;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::{fs, path::Path};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definitions {
    /// The sample chain of all workloads.
    pub(crate) chain: ChainDefinition,
    /// Values of `--chunk-blocks`; 0 stands for the default.
    pub(crate) chunk_blocks: Vec<u64>,
    /// The workloads.
    pub(crate) workload: Vec<Workload>,
}

/// The defaults of a search. Scripts read the parameters of `chaingen` from the same table.
#[derive(Debug, Deserialize)]
pub(crate) struct ChainDefinition {
    /// The root of searches.
    pub(crate) root: String,
    /// The token of searches.
    pub(crate) token: String,
}

/// One search.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    /// Short name, used in tables.
    pub(crate) name: String,
    /// Blocks `0..blocks` of the chain.
    pub(crate) blocks: u64,
    /// Hops of the search.
    pub(crate) hops: u32,
    /// The root, if it is not the default.
    pub(crate) root: Option<String>,
    /// The token, if it is not the default.
    pub(crate) token: Option<String>,
    /// Whether `--quick` runs it too.
    #[serde(default)]
    pub(crate) quick: bool,
    /// Whether `baseline` and `limit` run too.
    #[serde(default)]
    pub(crate) compare: bool,
    /// The answer of every run.
    pub(crate) expected: Answer,
}

impl Definitions {
    /// Reads the file.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file does not parse if a workload has no expected answer.
    #[test]
    fn every_committed_workload_has_an_answer() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let definitions = Definitions::load(&root.join("benchmarks/workloads.toml")).unwrap();
        assert!(definitions.workload.len() >= 10);
        for workload in definitions.workload {
            assert!(workload.expected.edges > 0, "{}", workload.name);
        }
        let without = "chunk_blocks = []\n[chain]\nroot = ''\ntoken = ''\n\
                       [[workload]]\nname = 'w'\nblocks = 1\nhops = 1\n";
        let error = toml::from_str::<Definitions>(without).unwrap_err();
        assert!(error.to_string().contains("expected"), "{error}");
    }
}
