//! Runs the program as a shell would, in a directory of its own.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
pub(crate) use txgraph_testkit::program::{Run, json_lines, rows, run};
use txgraph_testkit::{
    fixtures::{self, Fixture, Unpacked},
    program,
};

/// The rows of a table by column name.
pub(crate) type Row = BTreeMap<String, String>;

/// Addresses of the small chain: the root of a peel chain, an account with many transfers, and a token.
pub(crate) const ROOT: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
pub(crate) const HUB: &str = "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba";
pub(crate) const USD6: &str = "0xd601451207128971898aab8654521699f35222e2";

/// The ends of that chain.
pub(crate) const PEEL: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \
                               0x5149f9591ad4bba78320c6e8f09fca122bd2441e";

/// The option for the rules of the chain, which are not built in.
pub(crate) const CHAIN: &str = "--chain genesis.json";

/// The file that every sample has in its folder.
const GENESIS: &str = "genesis.json";

/// A data directory, and a folder to run in, which has the genesis of its chain only.
pub(crate) struct Sample {
    pub(crate) fixture: Fixture,
    pub(crate) folder: TempDir,
}

impl Sample {
    pub(crate) fn new(fixture: Fixture) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let genesis = match fixture.full_chain() {
            Some(full) => full.genesis,
            None => fixture.genesis.clone(),
        };
        fs::write(folder.path().join(GENESIS), genesis.to_string()).unwrap();
        Self { fixture, folder }
    }

    /// A large fixture.
    pub(crate) fn named(name: &str) -> Option<Self> {
        fixtures::fixture(name).map(Self::new)
    }

    /// Full chains with all answers.
    pub(crate) fn full() -> impl Iterator<Item = Self> {
        fixtures::full().into_iter().map(Self::new)
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

    /// Chains with a planted sum that is sold over two pools to another account, and from there for coins.
    /// The scenario says for how much. Then the accounts before, between and after the two sales.
    pub(crate) fn layered() -> impl Iterator<Item = (Self, Value, [String; 3])> {
        Self::full().filter_map(|sample| {
            let scenarios = &sample.fixture.truth["scenarios"];
            let scenario = scenarios.get("layering-over-exchange")?.clone();
            let role = |name: &str| scenario["roles"][name].as_str().unwrap().to_owned();
            let roles = ["source", "middle", "end"].map(role);
            Some((sample, scenario, roles))
        })
    }

    /// A copy of the data directory, in which a bit of the signature of transaction 43 of block 13 differs.
    pub(crate) fn with_damaged_signature(&self) -> Unpacked {
        let copy = self.fixture.unpack();
        let files = copy.path().join("static_files");
        let path = files.join("static_file_transactions_0_499999");
        let offsets = fs::read(path.with_extension("off")).unwrap();
        let row: [u8; 8] = offsets[1 + 200 * 8..].first_chunk().copied().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[usize::try_from(u64::from_le_bytes(row)).unwrap() + 10] ^= 2;
        fs::write(&path, bytes).unwrap();
        copy
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The contents of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The JSON in a file in the folder.
    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Names in the folder besides the genesis, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != GENESIS)
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

    /// Runs with the words of a line as arguments.
    pub(crate) fn run(&self, line: &str) -> Run {
        run(self.command().args(words(line)))
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
    pub(crate) fn rows(&self, line: &str) -> Vec<Row> {
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

/// The words of a line, of which a shell takes single quotes away.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Runs in a folder, with the words of a line as arguments.
pub(crate) fn ask(folder: &Path, line: &str) -> Run {
    run(bare(folder).args(words(line)))
}

/// As [`ask`], and asserts success.
#[track_caller]
pub(crate) fn ok(folder: &Path, line: &str) -> Run {
    ask(folder, line).ended(0)
}

/// An entry of a folder whose name ends so.
pub(crate) fn entry(folder: &Path, end: &str) -> PathBuf {
    let mut paths = fixtures::paths_in(folder).into_iter();
    let is_it = |path: &PathBuf| path.to_str().unwrap().ends_with(end);
    paths.find(is_it).unwrap()
}
