//! Questions as tables of options.

use super::{AnalyzeQuery, GraphQuery, Query, TransfersQuery, shortened};
use crate::{Error, Result, options};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The options of a command, with the names that they have in a file.
pub trait Options: Default + Serialize + DeserializeOwned {
    /// The name of the command.
    const COMMAND: &'static str;

    /// Reads a table of options. An option that the command does not have is an error.
    ///
    /// # Errors
    ///
    /// If an option is unknown, or its value is wrong.
    fn from_table(options: &impl Serialize) -> Result<Self> {
        let all = options::all(options)?;
        // serde cannot refuse unknown fields of flattened structs.
        let known = options::all(&Self::default())?;
        match all.keys().find(|key| !known.contains_key(*key)) {
            None => options::read(options::given(&all)?.into()),
            Some(key) => {
                let command = Self::COMMAND;
                Err(Error::usage(format!("`{command}` has no option `{key}`")))
            }
        }
    }
}

/// The options of a struct that have a value, by name.
///
/// # Errors
///
/// If a value cannot be written, such as a path that is not UTF-8.
pub fn given(options: &impl Serialize) -> Result<Map<String, Value>> {
    options::given(options)
}

impl Options for TransfersQuery {
    const COMMAND: &'static str = "transfers";
}

impl Options for GraphQuery {
    const COMMAND: &'static str = "graph";
}

impl Options for AnalyzeQuery {
    const COMMAND: &'static str = "analyze";
}

impl Query {
    /// The name of the command.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Transfers(_) => TransfersQuery::COMMAND,
            Self::Graph(_) => GraphQuery::COMMAND,
            Self::Analyze(_) => AnalyzeQuery::COMMAND,
        }
    }

    /// Makes a question from a command and a table of its options. An option that the
    /// command does not have is an error.
    ///
    /// # Errors
    ///
    /// If the command or an option is unknown, or a value is wrong.
    pub fn from_table(command: &str, options: &impl Serialize) -> Result<Self> {
        match command {
            TransfersQuery::COMMAND => Options::from_table(options).map(Self::Transfers),
            GraphQuery::COMMAND => Options::from_table(options).map(Self::Graph),
            AnalyzeQuery::COMMAND => Options::from_table(options).map(Self::Analyze),
            other => Err(Error::usage(format!(
                "unknown command `{}`; one of transfers, graph, analyze",
                shortened(other)
            ))),
        }
    }

    /// Makes a question from a command and its options, written as in a file.
    ///
    /// # Errors
    ///
    /// As [`Self::from_table`], and if the text is not TOML.
    pub fn from_options(command: &str, options: &str) -> Result<Self> {
        let table: toml::Table =
            toml::from_str(options).map_err(|error| Error::usage(error.to_string()))?;
        Self::from_table(command, &table)
    }
}
