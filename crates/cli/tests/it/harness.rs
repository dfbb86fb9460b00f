//! Runs the program as a shell would, in a directory of its own.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
pub(crate) use txgraph_testkit::program::{Run, rows, run};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    program,
};

/// A data directory, and an empty folder to run in.
pub(crate) struct Sample {
    pub(crate) fixture: Fixture,
    pub(crate) folder: TempDir,
}

impl Sample {
    pub(crate) fn new(fixture: Fixture) -> Self {
        Self {
            fixture,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The committed small chain in both layouts.
    pub(crate) fn both() -> [Self; 2] {
        fixtures::committed().map(Self::new)
    }

    /// The committed small chain.
    pub(crate) fn small() -> Self {
        let [_v1, v2] = Self::both();
        v2
    }

    /// Chains with a planted sum that is sold over two pools to another account, and from there for coins,
    /// with a genesis file. The scenario says who takes part, and for how much.
    pub(crate) fn layered() -> Vec<(Self, Value)> {
        let layered = |fixture: Fixture| {
            let scenarios = &fixture.truth["scenarios"];
            let scenario = scenarios.get("layering-over-exchange")?.clone();
            let sample = Self::new(fixture);
            sample.write_genesis();
            Some((sample, scenario))
        };
        fixtures::full().into_iter().filter_map(layered).collect()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the genesis of the chain into the folder, as `genesis.json`.
    pub(crate) fn write_genesis(&self) {
        let genesis = self.fixture.genesis.to_string();
        fs::write(self.path("genesis.json"), genesis).unwrap();
    }

    /// The contents of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The JSON in a file in the folder.
    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Names in the folder, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program, with the data directory in its environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = bare(self.folder.path());
        command.env("TXGRAPH_DATADIR", self.fixture.path());
        command
    }

    /// Runs with arguments separated by blanks; quotes have no meaning.
    pub(crate) fn run(&self, line: &str) -> Run {
        run(self.command().args(line.split_whitespace()))
    }

    /// Runs, and asserts success.
    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Run {
        self.run(line).ended(0)
    }

    /// Runs, and asserts the exit status and that stderr contains a text.
    #[track_caller]
    pub(crate) fn fails(&self, line: &str, status: i32, text: &str) {
        self.run(line).ended(status).says(text);
    }

    /// Runs, and reads the CSV on stdout.
    #[track_caller]
    pub(crate) fn rows(&self, line: &str) -> Vec<BTreeMap<String, String>> {
        self.ok(line).rows()
    }

    /// Runs, and reads the JSON on stdout.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        self.ok(line).json()
    }
}

/// The program in a folder, without the environment variables that it reads.
pub(crate) fn bare(folder: &Path) -> Command {
    program::bare(env!("CARGO_BIN_EXE_txgraph"), folder)
}

/// Runs in a folder, with arguments separated by blanks.
pub(crate) fn ask(folder: &Path, line: &str) -> Run {
    run(bare(folder).args(line.split_whitespace()))
}

/// As [`ask`], and asserts success.
#[track_caller]
pub(crate) fn ok(folder: &Path, line: &str) -> Run {
    ask(folder, line).ended(0)
}
