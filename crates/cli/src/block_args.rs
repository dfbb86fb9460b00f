//! Arguments that name blocks. Doc comments are help texts.

use clap::Args;
use serde::Serialize;
use txgraph::{
    BlockSpec, Source,
    parse::{last_block, read_blocks, since_until},
};

/// Which blocks.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct BlockArgs {
    /// Blocks or dates, e.g. 18M:18.1M, -1000:, 2024-01-01: [default: all]
    ///
    /// 18M:18.1M is 18,000,000 to 18,099,999: the end is excluded. 17M: goes to the tip, :1000
    /// starts at block 0, -1000: is the last thousand, 15M:+1000 a thousand from there, 17_000_000 one
    /// block, 10K:20K:100 every hundredth, 10K:20K/5 five spread evenly. Dates are UTC:
    /// 2024-01-01:2024-02-01 is January, 2024-01-01T12:00: begins at noon, 2024-01-01 is a day. For
    /// several ranges use commas, or repeat the option; @FILE reads them from a file. The blocks are
    /// printed on stderr.
    #[arg(short, long, value_name = "RANGE", allow_hyphen_values = true)]
    pub(crate) blocks: Vec<String>,

    /// First block, instead of --blocks
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "blocks",
        hide_short_help = true
    )]
    pub(crate) from_block: Option<u64>,

    /// Last block, included, instead of --blocks
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "blocks",
        hide_short_help = true
    )]
    pub(crate) to_block: Option<u64>,

    /// First block or date, e.g. 17M, 2024-01-01, 2024-01-01T12:00
    #[arg(long, value_name = "DATE|N", conflicts_with_all = ["blocks", "from_block", "to_block"])]
    pub(crate) since: Option<String>,

    /// Block or date before which the blocks end
    #[arg(long, value_name = "DATE|N", conflicts_with_all = ["blocks", "from_block", "to_block"])]
    pub(crate) until: Option<String>,
}

impl BlockArgs {
    pub(crate) fn read(&self) -> txgraph::Result<Vec<BlockSpec>> {
        match since_until(self.since.as_deref(), self.until.as_deref())? {
            Some(range) => Ok(vec![range]),
            None => read_blocks(&self.blocks, self.from_block, self.to_block),
        }
    }
}

/// The block whose state is read.
#[derive(Args, Debug)]
pub(crate) struct StateBlockArgs {
    /// State after this block, or before this UTC date [default: the newest]
    #[arg(long, value_name = "DATE|N")]
    block: Option<String>,
}

impl StateBlockArgs {
    /// Finds the block, if one is named.
    pub(crate) fn read(&self, source: &Source) -> txgraph::Result<Option<u64>> {
        let block = self.block.as_deref();
        block.map(|block| last_block(source, block)).transpose()
    }
}
