//! The planted scenarios, solved by the commands that a new user would type. `graph.rs` and `patterns.rs` find
//! them in larger chains, too.

use crate::harness::run;
use std::process::Command;
use txgraph_testkit::fixtures;

#[test]
fn the_tour_works() {
    let script = fixtures::testdata().join("../scripts/tour.sh");
    let mut command = Command::new(script);
    run(command.arg(env!("CARGO_BIN_EXE_txgraph")))
        .ended(0)
        .says("every scenario was found");
}
