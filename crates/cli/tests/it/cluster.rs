//! `--cluster` of the plain program: the hand-over to the driver, and what is refused.

use crate::harness::{ROOT, Sample, ask, run};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Copies the built program. Another process does it: a test that starts a process at that time would pass
/// on the open file, and a program that is open for writing cannot be started.
fn copy_program(to: &Path) {
    let mut copy = std::process::Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_txgraph")).arg(to);
    assert!(copy.status().unwrap().success());
}

/// Writes a driver into a new folder, which prints its arguments, one a line.
fn write_driver(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let driver = folder.join("txgraph-cluster");
    fs::write(&driver, "#!/bin/sh\nprintf '<%s>\\n' \"$@\"\nexit 7\n").unwrap();
    fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn missing_driver_is_a_usage_error() {
    let sample = Sample::small();
    // A copy of the program in a folder of its own: a driver may be next to the built one.
    let folder = sample.folder.path().canonicalize().unwrap();
    let program = folder.join("txgraph");
    copy_program(&program);
    let answer = run(std::process::Command::new(&program)
        .args(["transfers", "--cluster", "localhost:50050"])
        .current_dir(&folder)
        .env("PATH", folder.join("nothing")))
    .ended(2);
    assert_eq!(
        answer.stderr,
        format!(
            "error: --cluster needs the program txgraph-cluster, which was looked for as \
             {}/txgraph-cluster and on PATH\n\
             hint: build it with `cargo build -p txgraph-distributed --release`; \
             docs/cluster.md describes clusters\n",
            folder.display()
        )
    );
    assert_eq!(answer.stdout, "");
}

#[test]
fn driver_gets_the_arguments_unchanged() {
    let sample = Sample::small();
    let folder = sample.folder.path();
    let bin = sample.path("bin");
    write_driver(&bin);
    // Next to a copy of the program, so that no other driver is found first.
    let program = bin.join("txgraph");
    copy_program(&program);
    let start = || {
        let mut command = std::process::Command::new(&program);
        command.current_dir(folder).env_remove("TXGRAPH_CLUSTER");
        command
    };
    let cluster = ["--cluster", "localhost:50050"];
    for args in [
        &["transfers", "-b", "-10:", "5:6", "-o", "a b.csv"][..],
        &["graph", "-r", ROOT, "--run", "runs/1"],
        &["analyze", "summary", "--token", ""],
        &["query", "--list"],
    ] {
        let args: Vec<_> = args.iter().chain(&cluster).collect();
        let answer = run(start().args(&args));
        let printed: String = args.iter().map(|arg| format!("<{arg}>\n")).collect();
        assert_eq!(answer.stdout, printed, "{answer:?}");
        assert_eq!((answer.status, answer.stderr.as_str()), (7, ""));
    }
    // By the environment, for the commands that a cluster can answer.
    let answer =
        run(start()
            .env("TXGRAPH_CLUSTER", "localhost:50050")
            .args(["transfers", "--run", "x"]));
    assert_eq!(answer.stdout, "<transfers>\n<--run>\n<x>\n", "{answer:?}");
    run(start()
        .env("TXGRAPH_CLUSTER", "localhost:50050")
        .args(["completions", "bash"]))
    .ended(0);
    run(start().env("TXGRAPH_CLUSTER", "here").arg("transfers"))
        .ended(2)
        .says("TXGRAPH_CLUSTER: `here` is not HOST:PORT");
}

#[test]
fn driver_on_path_is_found() {
    let sample = Sample::small();
    let bin = sample.path("bin");
    write_driver(&bin);
    let program = sample.path("txgraph");
    copy_program(&program);
    let answer = run(std::process::Command::new(&program)
        .env("PATH", &bin)
        .args(["transfers", "--cluster", "localhost:50050"]))
    .ended(7);
    assert_eq!(
        answer.stdout,
        "<transfers>\n<--cluster>\n<localhost:50050>\n"
    );
}

#[test]
fn other_commands_refuse_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "info",
        "replay verify",
        "call --to 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0",
        "index status",
        "completions bash",
        "man",
    ] {
        for option in ["--cluster localhost:50050", "--run x"] {
            let line = format!("{line} {option}");
            ask(folder.path(), &line)
                .ended(2)
                .says("unexpected argument");
        }
    }
    ask(folder.path(), "transfers --run x")
        .ended(2)
        .says("--run needs a cluster: pass --cluster HOST:PORT");
    ask(folder.path(), "transfers --cluster here")
        .ended(2)
        .says("is not HOST:PORT");
}
