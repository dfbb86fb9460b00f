//! Follows a token from an address, and draws where it went.
//!
//! ```text
//! cargo run --example follow -- DATADIR ROOT TOKEN trace.dot
//! ```

use txgraph::{
    Address, Error, Hops, Result, Source,
    parse::{Checksum, parse_address},
};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [datadir, root, token, file] = args.as_slice() else {
        return Err(Error::usage("usage: follow DATADIR ROOT TOKEN FILE"));
    };
    let address = |text| parse_address(text, Checksum::Verify);
    follow(datadir, address(root)?, address(token)?, file)
}

/// Writes the graph in the format of the file's extension: `dot`, `svg`, `csv`, …
pub(crate) fn follow(datadir: &str, root: Address, token: Address, file: &str) -> Result<()> {
    let source = Source::open(datadir)?;
    let graph = source
        .search(root)
        .token(token)
        .hops(Hops::All)
        .time_respecting()
        .run()?;
    graph.write(file)?;
    Ok(())
}
