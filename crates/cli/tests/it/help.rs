//! The examples in the help work, as printed.

use crate::harness::{Sample, bare, run};
use std::process::Command;

/// Lines that begin with `$ txgraph`, with their continuations.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut open = false;
    for line in help.lines().map(str::trim) {
        let (text, more) = match line.strip_suffix('\\') {
            Some(text) => (text.trim(), true),
            None => (line, false),
        };
        match (text.strip_prefix("$ txgraph"), open) {
            (Some(rest), _) => examples.push(rest.trim().to_owned()),
            (None, true) => {
                let last = examples.last_mut().unwrap();
                *last = format!("{last} {text}");
            }
            (None, false) => continue,
        }
        open = more;
    }
    examples
}

#[test]
fn examples_work() {
    let sample = Sample::small();
    let graphviz = Command::new("dot").arg("-V").output().is_ok();
    let mut seen = 0;
    for command in [
        "",
        "info",
        "transfers",
        "graph",
        "analyze",
        "query",
        "completions",
    ] {
        let help = run(bare(sample.folder.path())
            .args(command.split_whitespace())
            .arg("--help"));
        assert_eq!(help.status, 0, "{help:?}");
        let found = examples(&help.stdout);
        assert!(!found.is_empty(), "{command}: no example");
        for line in found {
            let run = sample.run(&format!(
                "{line} {}",
                if line.contains("-o ") {
                    "--overwrite"
                } else {
                    ""
                }
            ));
            let draws = line.contains(".svg") && !graphviz;
            assert_eq!(run.status, i32::from(draws), "{line}: {run:?}");
            seen += 1;
        }
    }
    assert!(seen >= 18, "{seen}");
}

#[test]
fn help_is_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = run(bare(folder.path()).arg("--help"));
    for words in [
        "Exit status:",
        "Environment:",
        "TXGRAPH_DATADIR",
        "RUST_LOG",
        "Examples",
    ] {
        assert!(page.stdout.contains(words), "{words}");
    }
    assert_eq!(page.stderr, "");
    assert!(
        page.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        page.stdout
    );
    let version = run(bare(folder.path()).arg("--version"));
    assert_eq!(
        version.stdout,
        format!("txgraph {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_name_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(bare(folder.path()).args(["completions", shell]));
        assert_eq!(script.status, 0);
        for word in ["transfers", "analyze", "chunk-blocks"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
}
