//! Options as JSON, in the words of the command line.

use serde::{Deserialize, de::DeserializeOwned};
use std::{ffi::OsStr, path::PathBuf};
use txgraph::{
    Config, Error, IndexChoice, Result, SourceSpec,
    text::{AnalyzeQuery, GraphQuery, ParamValue, Query, TransfersQuery, parse_size},
};

/// Reads options.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| Error::usage(error.to_string()))
}

/// Reads a question: a command with its options. Options that it does not have are refused.
fn query(command: &str, json: &str) -> Result<Query> {
    match read(json)? {
        ParamValue::Table(options) => Query::from_table(command, options),
        _ => Err(Error::usage("options are an object with names and values")),
    }
}

fn misread() -> Error {
    Error::usage("the options are those of another question")
}

pub(crate) fn transfers(json: &str) -> Result<TransfersQuery> {
    match query("transfers", json)? {
        Query::Transfers(query) => Ok(query),
        _ => Err(misread()),
    }
}

pub(crate) fn graph(json: &str) -> Result<GraphQuery> {
    match query("graph", json)? {
        Query::Graph(query) => Ok(query),
        _ => Err(misread()),
    }
}

pub(crate) fn analyze(json: &str) -> Result<AnalyzeQuery> {
    match query("analyze", json)? {
        Query::Analyze(query) => Ok(query),
        _ => Err(misread()),
    }
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
    verify: Option<bool>,
    cache: Option<PathBuf>,
    token_list: Option<PathBuf>,
    head: Option<String>,
    static_files: Option<PathBuf>,
    rocksdb: Option<PathBuf>,
    chain: Option<PathBuf>,
    chain_id: Option<u64>,
    covers: Option<String>,
    columns: Option<String>,
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
        columns: settings.columns,
        chain: settings.chain,
        threads: settings.threads,
        chunk_blocks: settings.chunk_blocks,
        memory: memory.transpose().map_err(Error::usage)?,
        index: settings
            .index
            .map(|index| IndexChoice::parse(OsStr::new(&index))),
        verify: settings.verify,
        cache: settings.cache,
        token_list: settings.token_list,
    };
    Config::resolve(config, None)
}
