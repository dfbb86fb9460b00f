//! Streams the transfers of the newest blocks, and adds up how often each token moved.
//!
//! ```text
//! cargo run --example stream -- DATADIR 1000
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::{collections::BTreeMap, ops::ControlFlow};
use txgraph::{Address, Error, Result, Source};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [datadir, blocks] = args.as_slice() else {
        return Err(Error::usage("usage: stream DATADIR BLOCKS"));
    };
    let blocks = blocks.parse();
    let blocks = blocks.map_err(|_| Error::usage("BLOCKS is the number of newest blocks"))?;
    for (token, count) in count(datadir, blocks)? {
        println!("{token} {count}");
    }
    Ok(())
}

/// The number of transfers of each token. The native coin is not counted.
pub(crate) fn count(datadir: &str, blocks: u64) -> Result<BTreeMap<Address, u64>> {
    let source = Source::builder(datadir).threads(2).open()?;
    let mut counts = BTreeMap::new();
    // Batches arrive in order while blocks are still read; memory stays constant.
    source.transfers().last_blocks(blocks).for_each(|batch| {
        for token in batch.transfers.iter().filter_map(|t| t.token_address) {
            *counts.entry(token).or_default() += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(counts)
}
