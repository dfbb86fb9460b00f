//! Tests of the program `chaingen`.

use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Output},
};
use txgraph_chaingen::Layout;

fn chaingen(folder: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chaingen"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn writes_chain_and_truth() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--out chain --blocks 60 --layout v1 --seed 3 --tokens 30 \
                     --profile odd --truth truth.json";
    let output = chaingen(folder.path(), arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(stderr.starts_with("wrote blocks 0:61 with "), "{stderr}");

    let chain = crate::verify::verify(&folder.path().join("chain"), Layout::V1);
    let truth = std::fs::read_to_string(folder.path().join("truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    let tip = chain.blocks.last().unwrap();
    assert_eq!(truth["tip"]["hash"], tip.hash.to_string());
    assert_eq!(truth["genesis_hash"], chain.blocks[0].hash.to_string());
    // The fourth window ends later, but its scenario ends in block 60.
    assert_eq!(truth["scenarios"].as_array().unwrap().len(), 4);
}

#[test]
fn reports_wrong_arguments() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (arguments, code, words) in [
        ("--blocks 1", 2, "--out"),
        ("--out new --layout v3", 2, "v1, v2"),
        ("--out . --blocks 1", 1, "not an empty folder"),
        ("--out file --blocks 1", 1, "file"),
        ("--out new --tokens 1", 1, "tokens is 1; from 10"),
    ] {
        let output = chaingen(folder.path(), arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
        assert!(stderr.contains(words), "{arguments}: {stderr}");
    }
    assert!(!folder.path().join("new").exists());
}
