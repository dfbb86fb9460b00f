//! The program `txgraph`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    txgraph_cli::main()
}
