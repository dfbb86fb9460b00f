//! Data directories written by real nodes, with the nodes' own RPC answers. Some are
//! committed in `testdata/`, large ones are outside the repository.
//!
//! Functions panic with a message that names the fixture, because only tests call them.

use serde::Deserialize;
use serde_json::Value;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};
use tempfile::TempDir;

/// The environment variable with the folder of the large fixtures.
pub const FIXTURES_ENV: &str = "TXGRAPH_FIXTURES";

/// If this environment variable is `1`, missing fixtures are a failure and not a skipped
/// test.
pub const REQUIRE_ENV: &str = "TXGRAPH_REQUIRE_FIXTURES";

/// If this environment variable names a file, a line is added to it for every request: package folder,
/// program and test. `scripts/test.sh` runs these tests again without large fixtures.
const WANTED_ENV: &str = "TXGRAPH_FIXTURES_WANTED";

/// The folder of this workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    crates
        .ancestors()
        .nth(2)
        .expect("crates/testkit is two folders deep")
        .to_path_buf()
}

/// `testdata/` of this workspace.
pub fn testdata() -> PathBuf {
    workspace().join("testdata")
}

/// Returns the folder of the large fixtures, if it exists: `$TXGRAPH_FIXTURES`, or
/// `../shared/fixtures` next to the workspace.
pub fn root() -> Option<PathBuf> {
    if let Some(list) = std::env::var_os(WANTED_ENV) {
        note_test(Path::new(&list)).expect("the list of tests can be written");
    }
    let root = match std::env::var_os(FIXTURES_ENV) {
        Some(folder) => PathBuf::from(folder),
        None => workspace().parent()?.join("shared/fixtures"),
    };
    root.is_dir().then_some(root)
}

fn note_test(list: &Path) -> io::Result<()> {
    let folder = std::env::current_dir()?;
    let program = std::env::current_exe()?;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let line = format!("{}\t{}\t{test}\n", folder.display(), program.display());
    let mut list = File::options().append(true).create(true).open(list)?;
    list.write_all(line.as_bytes())
}

/// The paths in a folder, sorted.
pub fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// The files in a folder and in all folders inside of it, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    };
    paths_in(folder).into_iter().flat_map(below).collect()
}

/// A private copy of a data directory, deleted on drop.
#[derive(Debug)]
pub struct Unpacked {
    path: PathBuf,
    _dir: TempDir,
}

impl Unpacked {
    /// The data directory, which contains `db` and `static_files`.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A number in the answer of a node: `0x1f`.
pub fn number(value: &Value) -> u64 {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    u64::from_str_radix(digits.expect("a number in hexadecimal"), 16).expect("hexadecimal digits")
}

/// The content of a compressed file of the large fixtures. A missing one is handled as in [`fixture`].
pub fn content(name: &str) -> Option<Vec<u8>> {
    let content = File::open(require_root()?.join(name)).and_then(zstd::decode_all);
    Some(content.unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// Unpacks `archive` (`.tar.zst`, sparse) into a new folder.
pub fn extract(archive: &Path) -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("txgraph-")
        .tempdir()
        .expect("temporary folder");
    let mut tar = Command::new("tar")
        .args(["-xSf", "-", "--no-same-owner", "-C"])
        .arg(dir.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("`tar` runs");
    let file = File::open(archive).unwrap_or_else(|e| panic!("{}: {e}", archive.display()));
    let mut stdin = tar.stdin.take().expect("stdin is piped");
    zstd::stream::copy_decode(file, &mut stdin)
        .unwrap_or_else(|e| panic!("{}: {e}", archive.display()));
    drop(stdin);
    let status = tar.wait().expect("`tar` ends");
    assert!(
        status.success(),
        "tar could not unpack {}: {status}",
        archive.display()
    );
    dir
}

/// Unpacks the archive of a data directory.
///
/// Every call makes a new copy, because even a read-only MDBX environment writes to its
/// lock file.
pub fn unpack(archive: &Path) -> Unpacked {
    let dir = extract(archive);
    let path = data_directory_in(dir.path())
        .unwrap_or_else(|| panic!("{}: no data directory inside", archive.display()));
    Unpacked { path, _dir: dir }
}

/// Some archives contain the data directory itself, others a folder with it.
fn data_directory_in(folder: &Path) -> Option<PathBuf> {
    if folder.join("static_files").is_dir() {
        return Some(folder.to_path_buf());
    }
    let mut paths = paths_in(folder).into_iter();
    paths.find(|path| path.join("static_files").is_dir())
}

/// A data directory of a real node, with known facts about it.
#[derive(Debug)]
pub struct Fixture {
    /// Name as passed to [`fixture`], for example `small/v1`.
    pub name: String,
    /// `chain-info.json`, or `Null`.
    pub chain_info: Value,
    /// `truth.json`, or `Null`.
    pub truth: Value,
    /// `genesis.json`, or `Null`.
    pub genesis: Value,
    folder: PathBuf,
    archive: PathBuf,
    unpacked: OnceLock<Unpacked>,
}

impl Fixture {
    fn open(base: &Path, name: &str) -> Self {
        // `odd/` contains bare archives. Every other fixture has a folder.
        let bare = base.join(format!("{name}.tar.zst"));
        let (folder, archive) = if bare.is_file() {
            (bare.with_extension("").with_extension(""), bare)
        } else {
            (base.join(name), base.join(name).join("datadir.tar.zst"))
        };
        assert!(
            archive.is_file(),
            "fixture `{name}` has no archive at {}",
            archive.display()
        );
        Self {
            name: name.to_owned(),
            chain_info: json(&folder.join("chain-info.json")),
            truth: json(&folder.join("truth.json")),
            genesis: json(&folder.join("genesis.json")),
            folder,
            archive,
            unpacked: OnceLock::new(),
        }
    }

    /// Returns the copy of the data directory that belongs to this value. It is unpacked
    /// at the first call and deleted with the value. It must not be changed; see
    /// [`Fixture::unpack`].
    pub fn path(&self) -> &Path {
        self.unpacked.get_or_init(|| self.unpack()).path()
    }

    /// Returns another copy of the data directory, which may be changed or damaged.
    pub fn unpack(&self) -> Unpacked {
        unpack(&self.archive)
    }

    /// `v1` or `v2`, from `chain-info.json`.
    pub fn layout(&self) -> Option<&str> {
        self.chain_info["reth"]["layout"].as_str()
    }

    /// The chain id, from `chain-info.json` or `genesis.json`.
    pub fn chain_id(&self) -> Option<u64> {
        self.chain_info["chain"]["chain_id"]
            .as_u64()
            .or_else(|| self.genesis["config"]["chainId"].as_u64())
    }

    /// Number of the last block on disk, from `chain-info.json`.
    pub fn tip(&self) -> Option<u64> {
        self.chain_info["tip_on_disk"]["number"].as_u64()
    }

    /// Returns the full fixture of the same chain and layout (`same_chain_as`). It has
    /// the answers that a pruned or crashed fixture lacks.
    pub fn full_chain(&self) -> Option<Fixture> {
        let layout = self.layout().unwrap_or("v2");
        let name = match self.chain_info["same_chain_as"].as_str()? {
            "small" => format!("small/{layout}"),
            other => other.to_owned(),
        };
        fixture(&name)
    }

    /// Returns whether `<answers>.jsonl.zst` exists.
    pub fn has(&self, answers: &str) -> bool {
        self.answers(answers).is_file()
    }

    /// Iterates over the objects of `<answers>.jsonl.zst`: `receipts`, `blocks`, `logs`,
    /// `call-traces`, `struct-logs`, `state` or `state-diffs`.
    pub fn lines(&self, answers: &str) -> Lines {
        Lines::open(&self.answers(answers))
    }

    fn answers(&self, answers: &str) -> PathBuf {
        self.folder.join(format!("{answers}.jsonl.zst"))
    }
}

/// Opens a large fixture: `dev-v1`, `small/v2`, `pruned/long-v2-full`,
/// `crashed/small-v2`, `odd/pruned-v1`, ...
///
/// Without the large fixtures, returns `None` after a line on standard error, or panics
/// if `TXGRAPH_REQUIRE_FIXTURES=1`. A name that does not exist among present fixtures
/// always panics.
///
/// ```no_run
/// use txgraph_testkit::{fixtures, or_skip};
/// let dev = or_skip!(fixtures::fixture("dev-v1"));
/// println!("{}", dev.path().display());
/// ```
pub fn fixture(name: &str) -> Option<Fixture> {
    match root() {
        Some(root) => Some(Fixture::open(&root, name)),
        None => skipped(name),
    }
}

/// Returns the folder of the large fixtures, for tests that read it themselves. A missing
/// folder is handled as in [`fixture`].
pub fn require_root() -> Option<PathBuf> {
    root().or_else(|| skipped("all"))
}

fn skipped<T>(name: &str) -> Option<T> {
    assert!(
        std::env::var_os(REQUIRE_ENV).is_none_or(|value| value != "1"),
        "fixtures not present (wanted: {name}) but {REQUIRE_ENV}=1; set {FIXTURES_ENV}"
    );
    // Not `eprintln!`, whose output the test harness hides.
    let _ = writeln!(
        io::stderr(),
        "skipped: fixtures not present (wanted: {name})"
    );
    None
}

/// Opens the fixtures in `testdata/`: `small/v1` and `small/v2`.
pub fn committed() -> [Fixture; 2] {
    let testdata = testdata();
    ["small/v1", "small/v2"].map(|name| Fixture::open(&testdata, name))
}

/// Opens full chains with all answers: the committed ones, and the large ones if they are
/// present.
pub fn full() -> Vec<Fixture> {
    let large = ["dev-v1", "dev-v2", "long-v2"].into_iter();
    committed()
        .into_iter()
        .chain(large.filter_map(fixture))
        .collect()
}

/// Opens every directory of layout v2 that a node wrote.
pub fn v2() -> Vec<Fixture> {
    let [_, small] = committed();
    let large = [
        "dev-v2",
        "long-v2",
        "crashed/small-v2",
        "masked/v2",
        "pruned/dev-v2-distance",
        "pruned/long-v2-full",
        "pruned/small-v2-logfilter",
        "pruned/small-v2-minimal",
        "odd/filter-v2",
        "odd/import-v2",
        "odd/migrated-v2",
        "odd/pruned-v2",
    ];
    let large = large.into_iter().filter_map(fixture);
    [small].into_iter().chain(large).collect()
}

/// Opens pruned, filtered and crashed fixtures, each with the full chain that has the
/// answers.
pub fn partial() -> Vec<(Fixture, Fixture)> {
    [
        "crashed/small-v2",
        "pruned/dev-v1-receipts",
        "pruned/dev-v2-distance",
        "pruned/long-v2-full",
        "pruned/small-v1-logfilter",
        "pruned/small-v2-logfilter",
        "pruned/small-v2-minimal",
    ]
    .into_iter()
    .filter_map(fixture)
    .map(|partial| {
        let full = partial.full_chain().expect("the full chain is present too");
        (partial, full)
    })
    .collect()
}

/// Iterates over the lines of a zstd-compressed file, each a JSON object.
pub struct Lines {
    path: PathBuf,
    reader: BufReader<zstd::Decoder<'static, BufReader<File>>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Lines {
    fn open(path: &Path) -> Self {
        let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let decoder = zstd::Decoder::new(file).expect("zstd decoder");
        Self {
            path: path.to_path_buf(),
            reader: BufReader::new(decoder),
        }
    }
}

impl Iterator for Lines {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                let mut json = serde_json::Deserializer::from_str(&line);
                json.disable_recursion_limit();
                let value = Value::deserialize(&mut json);
                Some(value.unwrap_or_else(|e| panic!("{}: {e}", self.path.display())))
            }
            Err(e) => panic!("{}: {e}", self.path.display()),
        }
    }
}

fn json(path: &Path) -> Value {
    match std::fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(e) => panic!("{}: {e}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_fixtures_are_complete() {
        for fixture in committed() {
            assert_eq!(fixture.tip(), Some(40), "{}", fixture.name);
            assert_eq!(fixture.lines("receipts").count(), 41);
            assert_eq!(fixture.lines("blocks").count(), 41);
            assert!(fixture.path().join("db/mdbx.dat").is_file());
            let copy = fixture.unpack();
            assert_ne!(copy.path(), fixture.path());
            let gone = copy.path().to_path_buf();
            drop(copy);
            assert!(!gone.exists(), "a copy was not deleted");
        }
    }

    #[test]
    fn opens_bare_archives() {
        let odd = crate::or_skip!(fixture("odd/import-v2"));
        assert!(odd.path().join("db/mdbx.dat").is_file());
        assert_eq!(odd.tip(), None);
    }

    #[test]
    fn pruned_fixtures_have_a_full_chain() {
        let pruned = crate::or_skip!(fixture("pruned/small-v1-logfilter"));
        let full = pruned.full_chain().expect("the full chain is present too");
        assert_eq!(full.tip(), pruned.tip());
        assert!(full.has("receipts"));
    }
}
