//! The examples, on the sample chain.

use crate::{OZA, PEELER, small};
use std::fs;
use txgraph::address;

#[path = "../../examples/follow.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod follow;
#[path = "../../examples/measure.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod measure;
#[path = "../../examples/stream.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod stream;

#[test]
fn trace_draws_a_graph() {
    let fixture = small();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.dot").display().to_string();
    let token = address!("0xd601451207128971898aab8654521699f35222e2");
    let datadir = fixture.path().display().to_string();
    follow::follow(&datadir, PEELER, token, &file).unwrap();
    assert!(fs::read_to_string(file).unwrap().contains("digraph"));
}

#[test]
fn stream_counts_transfers() {
    let fixture = small();
    let counts = stream::count(&fixture.path().display().to_string(), 41).unwrap();
    assert!(counts[&OZA] > 1, "{counts:?}");
}

#[test]
fn measure_finds_the_loop() {
    let fixture = small();
    let cycles = measure::measure(&fixture.path().display().to_string(), OZA).unwrap();
    assert!(cycles.contains("\"total\":1"), "{cycles}");
}
