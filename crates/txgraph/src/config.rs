//! Settings: which source to ask, and how much of the machine to use.
//!
//! A setting comes from the caller, else from the environment, else from a file, else it
//! has its default. The settings of one source stay together: a source that the caller names
//! never gets the static files that the file names for another one.

use crate::{
    Error, ProtectedPaths, Result, SourceSpec,
    files::read_text,
    grammar::parse_size,
    kinds::{check_setting, find},
};
use serde::{Deserialize, Deserializer, de};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};
use txgraph_work::Threads;

/// Names the configuration file.
const CONFIG_ENV: &str = "TXGRAPH_CONFIG";
/// The configuration file in the current directory, if no other is named.
const CONFIG_FILE: &str = "txgraph.toml";
/// Names the source, as `KIND:LOCATION`.
pub const SOURCE_ENV: &str = "TXGRAPH_SOURCE";
/// Name the data directory of a node; the second is reth's own, and comes last.
pub const DATADIR_ENV: [&str; 2] = ["TXGRAPH_DATADIR", "RETH_DATADIR"];
/// Names the index.
const INDEX_ENV: &str = "TXGRAPH_INDEX";
/// Names the node's own JSON-RPC server, as a URL.
const HEAD_ENV: &str = "TXGRAPH_HEAD";
/// Name the number of threads; the second is read by every program that uses rayon, and comes last.
const THREADS_ENV: [&str; 2] = ["TXGRAPH_THREADS", "RAYON_NUM_THREADS"];

/// The default for the bytes of transfers that a search keeps in memory.
pub(crate) const MEMORY_DEFAULT: u64 = txgraph_graph::SearchRequest::MEMORY_BYTES_MAX_DEFAULT;

/// Settings. `None` stands for the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The source.
    pub source: Option<SourceSpec>,
    /// More sources of the same chain, joined with `source`.
    pub joined: Vec<SourceSpec>,
    /// The node's own JSON-RPC server, for the blocks above the newest one in its data directory.
    pub head: Option<SourceSpec>,
    /// Static files of a node that are not in its data directory.
    pub static_files: Option<PathBuf>,
    /// RocksDB of a node that is not in its data directory.
    pub rocksdb: Option<PathBuf>,
    /// The chain id, for data that does not contain it.
    pub chain_id: Option<u64>,
    /// The blocks that files of other tools cover completely, as a range.
    pub covers: Option<String>,
    /// The columns of files of other tools by role: `from=sender,to=receiver`.
    pub source_columns: Option<String>,
    /// The genesis file of the chain, if its rules are not known by its genesis hash.
    pub chain: Option<PathBuf>,
    /// The number of threads; default: one for each core.
    pub threads: Option<usize>,
    /// The number of blocks that a thread reads at a time; default: chosen by range, density
    /// and threads.
    pub chunk_blocks: Option<u64>,
    /// The bytes of transfers that a search keeps in memory; default 1 GiB.
    pub memory: Option<u64>,
    /// The index; default [`IndexChoice::Auto`].
    pub index: Option<IndexChoice>,
    /// Whether the roots of every block that is read are recomputed; default: no.
    pub check_roots: Option<bool>,
    /// The directory for files that can be made again: `XDG_CACHE_HOME`, else `~/.cache`.
    /// Indexes are kept below it unless a directory is named.
    pub cache: Option<PathBuf>,
    /// The file with names and decimals of tokens, for people.
    pub token_list: Option<PathBuf>,
}

/// Which index a query is answered from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IndexChoice {
    /// The one in the default directory, if there is one of the chain.
    #[default]
    Auto,
    /// No index.
    Off,
    /// The one in this directory, which must exist.
    At(PathBuf),
}

impl IndexChoice {
    /// From `auto`, `off`, or a path.
    pub fn parse(text: &OsStr) -> Self {
        match text.to_str() {
            Some("auto") => Self::Auto,
            Some("off") => Self::Off,
            _ => Self::At(PathBuf::from(text)),
        }
    }
}

/// The configuration file: the same settings in three tables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    node: Node,
    run: Run,
    output: Output,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Node {
    source: Option<String>,
    datadir: Option<String>,
    head: Option<String>,
    static_files: Option<String>,
    rocksdb: Option<String>,
    chain_id: Option<u64>,
    covers: Option<String>,
    source_columns: Option<String>,
    chain: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Run {
    threads: Option<usize>,
    chunk_blocks: Option<u64>,
    #[serde(deserialize_with = "size")]
    memory: Option<u64>,
    check_roots: Option<bool>,
    index: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Output {
    token_list: Option<String>,
}

impl Config {
    /// Completes `flags` from the environment of this process and from a file:
    /// `file`, else the one `TXGRAPH_CONFIG` names, else `./txgraph.toml` if it exists.
    pub fn resolve(flags: Self, file: Option<&Path>) -> Result<Self> {
        Self::resolve_in(flags, file, &|name| std::env::var_os(name))
    }

    fn resolve_in(flags: Self, file: Option<&Path>, env: &Env<'_>) -> Result<Self> {
        let is_named = file.is_some();
        let from_file = match Self::file_in(file, env) {
            Some(path) => {
                tracing::info!(path = %path.display(), "configuration file");
                Self::load_in(&path, env)?
            }
            None => Self::default(),
        };
        let environment = Self::from_env(env)?;
        let given = flags.of_some_kinds();
        if let (None, Some(used), Some(other)) =
            (&flags.source, &environment.source, &from_file.source)
            && is_named
            && used != other
        {
            tracing::warn!("{used} is used, from the environment, not {other} of the file");
        }
        // The server of the environment belongs to its source, or to a node that the flags name if it has none.
        let is_node = |source: &SourceSpec| source.kind() == "reth";
        let is_same = environment.source.is_none() || environment.source == flags.source;
        let head = environment.head.clone().filter(|_| is_same);
        let mut config = flags.or(environment);
        if config.source.as_ref().is_some_and(is_node) && config.joined.is_empty() {
            config.head = config.head.or(head);
        }
        let config = config.or(from_file);
        config.check()?;
        if let Some(source) = &config.source {
            let sources: Vec<_> = std::iter::once(source).chain(&config.joined).collect();
            for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                check_setting(name, &sources)?;
            }
        }
        Ok(config)
    }

    /// The settings that only some kinds of sources read, by their names in a file, and whether each is
    /// given. The caller means the source of a query; a file and the environment are for all sources.
    const fn of_some_kinds(&self) -> [(&'static str, bool); 7] {
        [
            ("static-files", self.static_files.is_some()),
            ("rocksdb", self.rocksdb.is_some()),
            ("chain-id", self.chain_id.is_some()),
            ("covers", self.covers.is_some()),
            ("source-columns", self.source_columns.is_some()),
            ("chain", self.chain.is_some()),
            ("index", matches!(self.index, Some(IndexChoice::At(_)))),
        ]
    }

    /// The file that [`Self::resolve`] reads, if there is one.
    pub fn file(named: Option<&Path>) -> Option<PathBuf> {
        Self::file_in(named, &|name| std::env::var_os(name))
    }

    fn file_in(named: Option<&Path>, env: &Env<'_>) -> Option<PathBuf> {
        let here = || Path::new(CONFIG_FILE).is_file().then(|| CONFIG_FILE.into());
        let named = named.map(Path::to_path_buf);
        named
            .or_else(|| set(env, CONFIG_ENV).map(PathBuf::from))
            .or_else(here)
    }

    /// Reads a file. Relative paths count from its directory. `${NAME}` is replaced by the
    /// environment variable, `${NAME:-text}` by `text` if there is no such variable.
    pub fn load(path: &Path) -> Result<Self> {
        let config = Self::load_in(path, &|name| std::env::var_os(name))?;
        config.check()?;
        Ok(config)
    }

    fn load_in(path: &Path, env: &Env<'_>) -> Result<Self> {
        let text = read_text(path)?;
        let wrong = |reason: String| Error::usage(format!("{}: {reason}", path.display()));
        let file: File = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = |text: Option<String>| match text {
            None => Ok(None),
            Some(text) => expand(&text, env)
                .map(|path| Some(folder.join(path)))
                .map_err(wrong),
        };
        let source = match (file.node.source, place(file.node.datadir)?) {
            (Some(_), Some(_)) => {
                return Err(wrong("`source` and `datadir` exclude each other".into()));
            }
            (None, datadir) => datadir.map(SourceSpec::reth),
            (Some(text), None) => {
                let spec = SourceSpec::from(expand(&text, env).map_err(wrong)?);
                Some(
                    if find(&spec).map_err(|error| wrong(error.message))?.is_path {
                        spec.relative_to(folder)
                    } else {
                        spec
                    },
                )
            }
        };
        Ok(Self {
            source,
            joined: Vec::new(),
            head: match file.node.head {
                Some(url) => Some(SourceSpec::server(expand(&url, env).map_err(wrong)?)),
                None => None,
            },
            static_files: place(file.node.static_files)?,
            rocksdb: place(file.node.rocksdb)?,
            chain_id: file.node.chain_id,
            covers: file.node.covers,
            source_columns: file.node.source_columns,
            chain: place(file.node.chain)?,
            threads: file.run.threads,
            chunk_blocks: file.run.chunk_blocks,
            memory: file.run.memory,
            index: match file.run.index.as_deref() {
                Some(word @ ("auto" | "off")) => Some(IndexChoice::parse(word.as_ref())),
                _ => place(file.run.index)?.map(IndexChoice::At),
            },
            check_roots: file.run.check_roots,
            cache: None,
            token_list: place(file.output.token_list)?,
        })
    }

    fn from_env(env: &Env<'_>) -> Result<Self> {
        let mut threads = THREADS_ENV.iter();
        let threads = match threads.find_map(|name| Some((name, set(env, name)?))) {
            None => None,
            // As in rayon, 0 means one for each core.
            Some((name, text)) => match text.to_str().and_then(|text| text.trim().parse().ok()) {
                Some(0) => None,
                Some(threads) => Some(threads),
                None => {
                    return Err(Error::usage(format!(
                        "{name}={} is not a number of threads",
                        text.display()
                    )));
                }
            },
        };
        let mut datadirs = DATADIR_ENV.iter();
        let datadir = datadirs.find_map(|name| set(env, name));
        let source = match set(env, SOURCE_ENV) {
            Some(source) => Some(SourceSpec::from(source)),
            None => datadir.map(SourceSpec::reth),
        };
        // The XDG Base Directory Specification requires relative paths to be ignored.
        let cache = set(env, "XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.filter(|path| path.is_absolute());
        let home = || set(env, "HOME").map(|home| PathBuf::from(home).join(".cache"));
        Ok(Self {
            source,
            head: set(env, HEAD_ENV).map(SourceSpec::server),
            threads,
            index: set(env, INDEX_ENV).map(|text| IndexChoice::parse(&text)),
            cache: cache.or_else(home),
            ..Self::default()
        })
    }

    /// Completes `self` from `lower`.
    fn or(self, lower: Self) -> Self {
        let other_source = self.source.is_some();
        let lower = if other_source {
            Self {
                head: None,
                static_files: None,
                rocksdb: None,
                chain_id: None,
                covers: None,
                source_columns: None,
                chain: None,
                ..lower
            }
        } else {
            lower
        };
        Self {
            source: self.source.or(lower.source),
            joined: self.joined,
            head: self.head.or(lower.head),
            static_files: self.static_files.or(lower.static_files),
            rocksdb: self.rocksdb.or(lower.rocksdb),
            chain_id: self.chain_id.or(lower.chain_id),
            covers: self.covers.or(lower.covers),
            source_columns: self.source_columns.or(lower.source_columns),
            chain: self.chain.or(lower.chain),
            threads: self.threads.or(lower.threads),
            chunk_blocks: self.chunk_blocks.or(lower.chunk_blocks),
            memory: self.memory.or(lower.memory),
            index: self.index.or(lower.index),
            check_roots: self.check_roots.or(lower.check_roots),
            cache: self.cache.or(lower.cache),
            token_list: self.token_list.or(lower.token_list),
        }
    }

    /// The directories of the node, if one is named: no output goes there.
    pub fn protected_paths(&self) -> ProtectedPaths {
        match self.data_dir() {
            Some(dir) => ProtectedPaths::data_directory(&dir),
            None => ProtectedPaths::default(),
        }
    }

    /// Refuses values without a meaning.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in [
            ("threads", self.threads.map(|threads| threads as u64)),
            ("chunk-blocks", self.chunk_blocks),
        ] {
            if value == Some(0) {
                return Err(Error::usage(format!("{name} must be at least 1")));
            }
        }
        self.worker_threads().map(drop)
    }

    /// The configured threads; they are started when they are needed. `None`: the caller's.
    pub(crate) fn worker_threads(&self) -> Result<Option<Threads>> {
        let threads = self.threads.map(Threads::new).transpose();
        threads.map_err(|error| Error::usage(error.to_string()))
    }
}

type Env<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The value of a variable. An empty one counts as not set.
fn set(env: &Env<'_>, name: &str) -> Option<OsString> {
    env(name).filter(|value| !value.is_empty())
}

fn expand(text: &str, env: &Env<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("`{text}`: `${{` without `}}`"))?;
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        out.push_str(before);
        match (set(env, name), default) {
            (Some(value), _) => out.push_str(
                value
                    .to_str()
                    .ok_or_else(|| format!("`{text}`: {name} is not valid UTF-8"))?,
            ),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("`{text}`: {name} is not set")),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(u64),
        Text(String),
    }
    match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(Some(bytes)),
        Size::Text(text) => parse_size(&text).map(Some).map_err(de::Error::custom),
    }
}

#[cfg(test)]
mod tests;
