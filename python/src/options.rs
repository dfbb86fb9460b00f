//! Options as JSON, in the words of the command line.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{ffi::OsStr, path::PathBuf};
use txgraph::{
    Config, Error, IndexChoice, Result, SourceSpec,
    parse::{Options, parse_size},
};

/// Reads options.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| Error::usage(error.to_string()))
}

/// Reads the options of a query. Those that it does not have are refused.
pub(crate) fn query<T: Options>(json: &str) -> Result<T> {
    T::from_table(&read::<Value>(json)?)
}

/// Settings of a source.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    source: Option<String>,
    join: Vec<String>,
    index: Option<String>,
    threads: Option<usize>,
    chunk_blocks: Option<u64>,
    memory: Option<String>,
    check_roots: Option<bool>,
    cache: Option<PathBuf>,
    token_list: Option<PathBuf>,
    head: Option<String>,
    static_files: Option<PathBuf>,
    rocksdb: Option<PathBuf>,
    chain: Option<PathBuf>,
    chain_id: Option<u64>,
    covers: Option<String>,
    source_columns: Option<String>,
}

/// Reads settings. What they do not name comes from the environment and the configuration file,
/// as for the command line.
pub(crate) fn config(json: &str) -> Result<Config> {
    let settings: Settings = read(json)?;
    let memory = settings.memory.as_deref().map(parse_size);
    let config = Config {
        source: settings.source.map(SourceSpec::from),
        joined: settings.join.into_iter().map(SourceSpec::from).collect(),
        head: settings.head.map(SourceSpec::server),
        static_files: settings.static_files,
        rocksdb: settings.rocksdb,
        chain_id: settings.chain_id,
        covers: settings.covers,
        source_columns: settings.source_columns,
        chain: settings.chain,
        threads: settings.threads,
        chunk_blocks: settings.chunk_blocks,
        memory: memory.transpose().map_err(Error::usage)?,
        index: settings
            .index
            .map(|index| IndexChoice::parse(OsStr::new(&index))),
        check_roots: settings.check_roots,
        cache: settings.cache,
        token_list: settings.token_list,
    };
    Config::resolve(config, None)
}
