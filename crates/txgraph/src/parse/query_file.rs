//! Saved queries: `queries/*.toml`. A query with parameters and a purpose.
//!
//! ```toml
//! purpose = "Who paid this address?"
//!
//! [params.address]
//! type = "addresses"
//! doc = "The address or addresses that were paid"
//!
//! [params.hops]
//! type = "hops"
//! doc = "How far back to look"
//! default = 2
//!
//! [ask]
//! command = "graph"
//! direction = "in"
//! root = "${address}"
//! hops = "${hops}"
//! ```
//!
//! A parameter without a default must be given, unless `optional = true`. An option that
//! consists of an optional parameter without a value is left out. A saved query cannot
//! set `output`, `vertices` and `overwrite`: a file from somewhere else must not choose
//! which files are written.

use super::{
    lists::{addresses, tokens},
    min_value::{check_min_value, is_symbol},
    query_args::Query,
};
use crate::{
    Error, Hint, Hops, Parameters, Result,
    files::read_text,
    grammar::{Checksum, parse_address, parse_blocks, shortened},
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};
use toml::Table;
use txgraph_base::string_enum;

use ParamValue as Value;
/// A value in a saved query, of a default or an option.
pub use toml::Value as ParamValue;

/// A saved query.
#[derive(Clone, Debug)]
pub struct QueryFile {
    /// Its name: the file name without extension.
    pub name: String,
    /// Where it was found.
    pub origin: QueryOrigin,
    /// Its purpose, in a sentence.
    pub purpose: String,
    /// Its parameters by name.
    pub params: BTreeMap<String, Param>,
    command: String,
    options: Table,
}

/// A parameter of a saved query.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: ParamKind,
    /// Its meaning.
    pub doc: String,
    /// Its value when none is given.
    pub default: Option<Value>,
    /// Whether it can be left out although it has no default.
    #[serde(default)]
    pub optional: bool,
}

impl Param {
    /// Whether a value must be given.
    pub const fn is_required(&self) -> bool {
        self.default.is_none() && !self.optional
    }
}

string_enum! {
    /// The type of a parameter. Values are checked before anything is read.
    pub enum ParamKind: "type" {
        /// One address.
        Address = "address",
        /// Addresses, with commas or as `@FILE`.
        Addresses = "addresses",
        /// Tokens: addresses, symbols, `eth`, `all`.
        Tokens = "tokens",
        /// Block ranges.
        Blocks = "blocks",
        /// A whole number.
        Integer = "integer",
        /// A smallest amount, in the smallest unit or in units of tokens.
        Amount = "amount",
        /// A number of hops, or `all`.
        Hops = "hops",
        /// `out`, `in` or `both`.
        Direction = "direction",
        /// The path of a file.
        File = "file",
        /// `true` or `false`.
        Flag = "flag",
        /// Any text.
        Text = "text",
    }
}

impl ParamKind {
    /// Checks a value, given as text, and converts it to a value of a file.
    fn value(self, text: &str) -> Result<Value, String> {
        // Checksums are checked when the query is asked, because that is optional.
        let address = |error: Error| error.message;
        match self {
            Self::Address => {
                parse_address(text, Checksum::Ignore).map_err(|error| error.to_string())?;
            }
            Self::Addresses => {
                let list = addresses(&[text.to_owned()], Checksum::Ignore);
                if list.map_err(address)?.is_empty() {
                    return Err("the list is empty".into());
                }
            }
            Self::Tokens => {
                // Symbols are looked up when the query is asked.
                let known: Vec<_> = text
                    .split(',')
                    .filter(|token| !is_symbol(token.trim()))
                    .collect();
                if !known.is_empty() {
                    tokens(&[known.join(",")], Checksum::Ignore).map_err(address)?;
                }
            }
            Self::Blocks => {
                parse_blocks(text).map_err(|error| error.to_string())?;
            }
            Self::Integer => {
                let number = text
                    .parse()
                    .map_err(|_| format!("`{}` is not a whole number", shortened(text)))?;
                return Ok(Value::Integer(number));
            }
            Self::Amount => {
                check_min_value(text)?;
            }
            Self::Hops => {
                text.parse::<Hops>()?;
            }
            Self::Direction if !["out", "in", "both"].contains(&text) => {
                return Err(format!("`{}` is not out, in or both", shortened(text)));
            }
            Self::Flag => {
                let flag = text
                    .parse()
                    .map_err(|_| format!("`{}` is not true or false", shortened(text)))?;
                return Ok(Value::Boolean(flag));
            }
            Self::Direction | Self::File | Self::Text => {}
        }
        Ok(Value::String(text.to_owned()))
    }
}

/// Options that a saved query cannot set.
const OUTPUT_KEYS: [&str; 3] = ["output", "overwrite", "vertices"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    purpose: String,
    #[serde(default)]
    params: BTreeMap<String, Param>,
    ask: Table,
}

string_enum! {
    /// A saved query that is built in.
    pub enum BuiltInQuery: "saved query" {
        /// Where the tokens went that a distributor sent.
        AirdropFanOut = "airdrop-fan-out",
        /// Addresses that pass a token round.
        Cycles = "cycles" (was "closed-loops"),
        /// With whom an address trades most.
        TopCounterparties = "top-counterparties",
        /// Where the tokens of an address went.
        TraceTokenOut = "trace-token-out",
        /// Who paid an address.
        WhoFunded = "who-funded",
    }
}

impl BuiltInQuery {
    const fn text(self) -> &'static str {
        match self {
            Self::AirdropFanOut => include_str!("../../../../queries/airdrop-fan-out.toml"),
            Self::Cycles => include_str!("../../../../queries/cycles.toml"),
            Self::TopCounterparties => include_str!("../../../../queries/top-counterparties.toml"),
            Self::TraceTokenOut => include_str!("../../../../queries/trace-token-out.toml"),
            Self::WhoFunded => include_str!("../../../../queries/who-funded.toml"),
        }
    }

    fn parse(self) -> Result<QueryFile> {
        QueryFile::parse(self.as_str(), self.text())
    }
}

/// Where a saved query was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryOrigin {
    /// Part of txgraph.
    BuiltIn,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for QueryOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The file in `./queries` that would have this name.
fn local(name: &str) -> PathBuf {
    Path::new("queries").join(format!("{name}.toml"))
}

impl QueryFile {
    /// Reads a query: by path, or by name from those that are built in and those in
    /// `./queries`. A built-in query comes first, so that no file in the current
    /// directory takes its place unnoticed.
    pub fn open(name_or_path: &str) -> Result<Self> {
        let path = Path::new(name_or_path);
        let named = name_or_path.parse::<BuiltInQuery>();
        if let Ok(query) = named
            && query.as_str() == name_or_path
        {
            return query.parse();
        }
        let is_name = path.components().count() == 1 && path.extension().is_none();
        if path.is_file() || !is_name {
            // Of a path, the error states why the file cannot be read.
            return Self::load(path);
        }
        let local = local(name_or_path);
        if local.is_file() {
            return Self::load(&local);
        }
        if let Err(error) = named
            && error.renamed.is_some()
        {
            return Err(Error::usage(error.to_string()));
        }
        let built_in: Vec<_> = BuiltInQuery::ALL
            .iter()
            .map(|query| query.as_str())
            .collect();
        Err(Error::usage(format!(
            "no saved query `{}`: built in are {}",
            shortened(name_or_path),
            built_in.join(", ")
        ))
        .with_hint(Hint::ListQueries))
    }

    /// All queries by name: those that are built in and those in `./queries`. A file with the name of
    /// a built-in query is listed by its path. Files that are no queries follow, as errors.
    pub fn list() -> Vec<Result<Self>> {
        let built_in = BuiltInQuery::ALL.iter().map(|query| query.parse());
        let entries = fs::read_dir("queries").into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|word| word == "toml"));
        let local = paths.map(|path| {
            let mut query = Self::load(&path)?;
            if query.name.parse::<BuiltInQuery>().is_ok() {
                query.name = path.display().to_string();
            }
            Ok(query)
        });
        let mut found: Vec<_> = built_in.chain(local).collect();
        found.sort_by_cached_key(|query| match query {
            Ok(query) => (false, query.name.clone()),
            Err(error) => (true, error.to_string()),
        });
        found
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let query = Self::parse(&name, &text).map_err(|error| error.at(path.display()))?;
        Ok(Self {
            origin: QueryOrigin::File(path.to_path_buf()),
            ..query
        })
    }

    /// A file in `./queries` that has the name of this built-in query.
    pub fn namesake(&self) -> Option<PathBuf> {
        let local = local(&self.name);
        (self.origin == QueryOrigin::BuiltIn && local.is_file()).then_some(local)
    }

    /// Reads a text.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let written: Written =
            toml::from_str(text).map_err(|error| Error::usage(error.to_string()))?;
        let mut options = written.ask;
        let command = match options.remove("command") {
            Some(Value::String(command)) => command,
            _ => {
                return Err(Error::usage(
                    "[ask] needs a `command`: transfers, graph or analyze",
                ));
            }
        };
        if let Some(key) = OUTPUT_KEYS.iter().find(|key| options.contains_key(**key)) {
            return Err(Error::usage(format!("a saved query cannot set `{key}`")));
        }
        for (name, param) in &written.params {
            let known = |text| format!("default of parameter `{name}`: {text}");
            if let Some(default) = &param.default {
                param
                    .kind
                    .value(&as_text(default))
                    .map_err(|error| Error::usage(known(error)))?;
            }
        }
        let query = Self {
            name: name.to_owned(),
            origin: QueryOrigin::BuiltIn,
            purpose: written.purpose.trim().to_owned(),
            params: written.params,
            command,
            options,
        };
        query.check_references()?;
        Ok(query)
    }

    /// Checks that every parameter is used, and that every reference is a parameter.
    fn check_references(&self) -> Result<()> {
        let mut used = Vec::new();
        for (_, value) in &self.options {
            let texts: Vec<&str> = match value {
                Value::String(text) => vec![text],
                Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            for text in texts {
                used.extend(references(text)?);
            }
        }
        if let Some(name) = used.iter().find(|name| !self.params.contains_key(**name)) {
            return Err(Error::usage(format!(
                "`${{{name}}}` is not a parameter of this query"
            )));
        }
        match self
            .params
            .keys()
            .find(|name| !used.contains(&name.as_str()))
        {
            Some(name) => Err(Error::usage(format!("parameter `{name}` is not used"))),
            None => Ok(()),
        }
    }

    /// Returns the query with values for its parameters, given as `(name, text)`. Lists
    /// can be given in several pairs.
    pub fn resolve(&self, set: &[(String, String)]) -> Result<Query> {
        let mut given: BTreeMap<&str, String> = BTreeMap::new();
        for (name, text) in set {
            let Some((name, param)) = self.params.get_key_value(name) else {
                return Err(
                    Error::usage(format!("`{}` has no parameter `{name}`", self.name))
                        .with_hint(self.hint()),
                );
            };
            match given.get_mut(name.as_str()) {
                None => drop(given.insert(name, text.clone())),
                Some(before) => match param.kind {
                    ParamKind::Addresses | ParamKind::Tokens | ParamKind::Blocks => {
                        before.push(',');
                        before.push_str(text);
                    }
                    _ => return Err(Error::usage(format!("`{name}` is given twice"))),
                },
            }
        }
        let mut values = BTreeMap::new();
        for (name, param) in &self.params {
            let text = match (given.remove(name.as_str()), &param.default) {
                (Some(text), _) => text,
                (None, Some(default)) => as_text(default),
                (None, None) if param.optional => continue,
                (None, None) => {
                    return Err(Error::usage(format!(
                        "`{}` needs a value for `{name}`",
                        self.name
                    ))
                    .with_hint(self.hint()));
                }
            };
            let value = param.kind.value(&text);
            let value =
                value.map_err(|error| Error::usage(format!("parameter `{name}`: {error}")))?;
            values.insert(name.as_str(), value);
        }
        let mut options = Table::new();
        for (key, value) in &self.options {
            if let Some(value) = substitute(value, &values) {
                options.insert(key.clone(), value);
            }
        }
        Query::from_table(&self.command, &options).map_err(|error| error.at(&self.name))
    }

    /// Which parameters it has.
    pub fn hint(&self) -> Hint {
        let (required, optional): (Vec<_>, Vec<_>) =
            (self.params.iter()).partition(|(_, param)| param.is_required());
        let words = |params: Vec<(&String, &Param)>| {
            let words = params.into_iter();
            words
                .map(|(name, param)| format!("{name}=<{}>", param.kind.as_str()))
                .collect()
        };
        let query = match &self.origin {
            QueryOrigin::BuiltIn => self.name.clone(),
            QueryOrigin::File(path) => path.display().to_string(),
        };
        Hint::GiveParameters(Box::new(Parameters {
            query,
            required: words(required),
            optional: words(optional),
        }))
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The names in `${name}`.
fn references(text: &str) -> Result<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| Error::usage(format!("`{text}`: `${{` without `}}`")))?;
        names.push(name);
        rest = after;
    }
    Ok(names)
}

/// Replaces parameters by their values. An option that is one parameter gets its type; one
/// whose parameter has no value is left out (`None`).
fn substitute(value: &Value, values: &BTreeMap<&str, Value>) -> Option<Value> {
    match value {
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| substitute(item, values));
            Some(Value::Array(items.collect()))
        }
        Value::String(text) => {
            let names = references(text).unwrap_or_default();
            if let [name] = names[..]
                && *text == format!("${{{name}}}")
            {
                return values.get(name).cloned();
            }
            let mut text = text.clone();
            for name in names {
                text = text.replace(&format!("${{{name}}}"), &as_text(values.get(name)?));
            }
            Some(Value::String(text))
        }
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests;
