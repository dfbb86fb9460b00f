//! Names the commit that is built: `TXGRAPH_COMMIT`.
//!
//! The environment variable of the same name overrides it, for sources without their history.

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-env-changed=TXGRAPH_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let named = std::env::var("TXGRAPH_COMMIT").ok();
    let commit = named.filter(|name| !name.is_empty()).or_else(head);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TXGRAPH_COMMIT={commit}");
}

/// The commit that is checked out, in seven digits.
fn head() -> Option<String> {
    // Sources without a history may lie in the repository of something else.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // Every commit and checkout appends to the log, in linked worktrees too. A missing file would
    // run this script in each build.
    for name in ["logs/HEAD", "HEAD"] {
        let file = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
            break;
        }
    }
    let hash = git(&["rev-parse", "HEAD"])?;
    hash.get(..7).map(str::to_owned)
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
