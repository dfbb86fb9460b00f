//! Measures the graph of a token: does it run in circles?
//!
//! ```text
//! cargo run --example measure -- DATADIR TOKEN
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use txgraph::{
    Address, Error, ErrorKind, Measure, Result, Source,
    parse::{Checksum, parse_address},
};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [datadir, token] = args.as_slice() else {
        return Err(Error::usage("usage: measure DATADIR TOKEN"));
    };
    println!(
        "{}",
        measure(datadir, parse_address(token, Checksum::Verify)?)?
    );
    Ok(())
}

/// The cycles of the token, as JSON.
pub(crate) fn measure(datadir: &str, token: Address) -> Result<String> {
    let source = Source::open(datadir)?;
    let cycles = source.analyze(Measure::Cycles).token(token).run()?;
    serde_json::to_string(&cycles.result)
        .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
}
