//! Runs of a program, as a shell would run it.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    process::{Command, Output, Stdio},
};

/// The result of a run.
pub struct Run {
    /// The command.
    pub command: String,
    /// The exit status; -1 after a signal.
    pub status: i32,
    /// The text on stdout.
    pub stdout: String,
    /// The text on stderr.
    pub stderr: String,
}

/// Only the first part of the texts: a result can be long.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = |text: &str| text.chars().take(2000).collect::<String>();
        let (stdout, stderr) = (begin(&self.stdout), begin(&self.stderr));
        let Self {
            command, status, ..
        } = self;
        write!(
            f,
            "{command}\nstatus {status}, stdout:\n{stdout}\nstderr:\n{stderr}"
        )
    }
}

impl Run {
    /// Reads the output of a command.
    pub fn new(command: String, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            command,
            status: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Asserts the exit status.
    #[track_caller]
    pub fn ended(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts the exit status, and that nothing was printed.
    #[track_caller]
    pub fn refused(self, status: i32) -> Self {
        assert_eq!(self.stdout, "", "{self:?}");
        self.ended(status)
    }

    /// Asserts that stderr contains a text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no `{text}`: {self:?}");
        self
    }

    /// Asserts that stdout contains a text.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no `{text}`: {self:?}");
        self
    }

    /// The rows of CSV on stdout by column name.
    pub fn rows(&self) -> Vec<BTreeMap<String, String>> {
        rows(&self.stdout)
    }

    /// The JSON on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A program in a folder, without the environment variables that it reads.
pub fn bare(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for name in [
        "TXGRAPH_SOURCE",
        "TXGRAPH_DATADIR",
        "RETH_DATADIR",
        "TXGRAPH_HEAD",
        "TXGRAPH_CONFIG",
        "TXGRAPH_INDEX",
        "TXGRAPH_CLUSTER",
        "TXGRAPH_CLUSTER_CONFIG",
        "TXGRAPH_CLUSTER_TLS",
        "RAYON_NUM_THREADS",
        "RUST_LOG",
        "NO_COLOR",
    ] {
        command.env_remove(name);
    }
    // An index of the user must not be used.
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command.
pub fn run(command: &mut Command) -> Run {
    Run::new(format!("{command:?}"), command.output().unwrap())
}

/// Rows of a CSV text by column name.
pub fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

/// The JSON values of a text, one a line.
pub fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
