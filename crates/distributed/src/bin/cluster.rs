//! `txgraph-cluster`: the driver of clusters.

use std::process::ExitCode;

fn main() -> ExitCode {
    txgraph_distributed::driver::main()
}
