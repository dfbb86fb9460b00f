//! Reads the transfers of the newest blocks, and prints them as a data frame of polars.
//!
//! ```text
//! cargo run --example polars -- DATADIR 1000
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use polars::prelude::DataFrame;
use txgraph::{Error, Result, Source};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [datadir, blocks] = args.as_slice() else {
        return Err(Error::usage("usage: polars DATADIR BLOCKS"));
    };
    let blocks = blocks.parse();
    let blocks = blocks.map_err(|_| Error::usage("BLOCKS is the number of newest blocks"))?;
    println!("{}", transfers(datadir, blocks)?);
    Ok(())
}

/// The transfers of the newest blocks, in the columns of Parquet files.
pub(crate) fn transfers(datadir: &str, blocks: u64) -> Result<DataFrame> {
    let source = Source::open(datadir)?;
    source.transfers().last_blocks(blocks).to_polars()
}
