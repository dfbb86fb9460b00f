//! Questions as tables of options and as command lines.

use super::{Columns, Output, Query, Selection, shortened};
use crate::{Error, Result};
use std::fmt;
use toml::{Table, Value};

impl Query {
    /// The name of the command.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Transfers(_) => "transfers",
            Self::Graph(_) => "graph",
            Self::Analyze(_) => "analyze",
        }
    }

    /// Makes a question from a command and a table of its options. An option that the
    /// command does not have is an error.
    pub fn from_table(command: &str, options: Table) -> Result<Self> {
        let given: Vec<String> = options.keys().cloned().collect();
        let value = Value::Table(options);
        let wrong = |error: toml::de::Error| Error::usage(error.message().to_owned());
        let query = match command {
            "transfers" => Self::Transfers(value.try_into().map_err(wrong)?),
            "graph" => Self::Graph(value.try_into().map_err(wrong)?),
            "analyze" => Self::Analyze(value.try_into().map_err(wrong)?),
            other => {
                return Err(Error::usage(format!(
                    "unknown command `{}`; one of transfers, graph, analyze",
                    shortened(other)
                )));
            }
        };
        // serde cannot refuse unknown fields of flattened structs.
        let known = query.to_table();
        match given.iter().find(|key| !known.contains_key(*key)) {
            None => Ok(query),
            Some(key) => Err(Error::usage(format!("`{command}` has no option `{key}`"))),
        }
    }

    /// Makes a question from a command and its options, written as in a file.
    pub fn from_options(command: &str, options: &str) -> Result<Self> {
        let table = toml::from_str(options).map_err(|error| Error::usage(error.to_string()))?;
        Self::from_table(command, table)
    }

    /// Every option that has a value, by name.
    pub fn to_table(&self) -> Table {
        let table = match self {
            Self::Transfers(query) => Table::try_from(query),
            Self::Graph(query) => Table::try_from(query),
            Self::Analyze(query) => Table::try_from(query),
        };
        table.unwrap_or_default()
    }

    /// The question as arguments of the command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec![self.command().to_owned()];
        for (key, value) in self.to_table() {
            match value {
                Value::Boolean(false) => {}
                Value::Boolean(true) => args.push(format!("--{key}")),
                Value::Array(items) => {
                    for item in items {
                        args.extend([format!("--{key}"), plain(&item)]);
                    }
                }
                one if key == "measure" => args.insert(1, plain(&one)),
                one => args.extend([format!("--{key}"), plain(&one)]),
            }
        }
        args
    }

    /// Which transfers the question is about.
    pub const fn selection(&self) -> &Selection {
        match self {
            Self::Transfers(query) => &query.selection,
            Self::Graph(query) => &query.search.selection,
            Self::Analyze(query) => &query.search.selection,
        }
    }

    /// Where the answer is written, to be changed.
    pub const fn output_mut(&mut self) -> &mut Output {
        match self {
            Self::Transfers(query) => &mut query.output,
            Self::Graph(query) => &mut query.output,
            Self::Analyze(query) => &mut query.output,
        }
    }

    /// The files with symbols and decimals of tokens, to be changed.
    pub const fn token_list_mut(&mut self) -> &mut Vec<String> {
        match self {
            Self::Transfers(query) => &mut query.token_list,
            Self::Graph(query) => &mut query.token_list,
            Self::Analyze(query) => &mut query.token_list,
        }
    }

    /// The files with names of addresses, to be changed.
    pub const fn labels_mut(&mut self) -> &mut Vec<String> {
        match self {
            Self::Transfers(query) => &mut query.labels,
            Self::Graph(query) => &mut query.search.labels,
            Self::Analyze(query) => &mut query.search.labels,
        }
    }

    /// The columns of transfers, to be changed, if the answer has them.
    pub const fn columns_mut(&mut self) -> Option<&mut Columns> {
        match self {
            Self::Transfers(query) => Some(&mut query.columns),
            Self::Graph(query) => Some(&mut query.columns),
            Self::Analyze(_) => None,
        }
    }

    /// Which transfers, to be changed.
    pub const fn selection_mut(&mut self) -> &mut Selection {
        match self {
            Self::Transfers(query) => &mut query.selection,
            Self::Graph(query) => &mut query.search.selection,
            Self::Analyze(query) => &mut query.search.selection,
        }
    }
}

/// The question as a command line for a shell.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("txgraph")?;
        for arg in self.to_args() {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@+%=".contains(c);
            match !arg.is_empty() && arg.chars().all(plain) {
                true => write!(f, " {arg}")?,
                false => write!(f, " '{}'", arg.replace('\'', r"'\''"))?,
            }
        }
        Ok(())
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
