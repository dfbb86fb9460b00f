//! What to ask: a question as it is written, on a command line or in a file.
//!
//! A question is plain text and numbers; its fields carry the names of the
//! command line's options. What it *means* (addresses, blocks, formats) is found
//! out, and mistakes are told, when it is asked: see `run`.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};
use toml::{Table, Value};
use txgraph_transfers::{Direction, Kind, TokenStandard};

/// A question: a command and its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// The transfers of a block range, as a table.
    Transfers(TransfersQuery),
    /// The graph around some addresses.
    Graph(GraphQuery),
    /// A measure over such a graph.
    Analyze(AnalyzeQuery),
}

/// Which transfers. Lists may hold several values in one text, separated by
/// commas, or `@FILE`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Selection {
    /// Block ranges in cryo's grammar; empty: every block up to the tip.
    #[serde(deserialize_with = "list")]
    pub blocks: Vec<String>,
    /// First block, as another way to write a range.
    pub from_block: Option<u64>,
    /// Last block, included.
    pub to_block: Option<u64>,
    /// Token addresses, `eth` (or `native`), `all`; empty: all.
    #[serde(deserialize_with = "list")]
    pub token: Vec<String>,
    /// Smallest amount, smallest unit.
    #[serde(deserialize_with = "text")]
    pub min_value: Option<String>,
    /// Standards; empty: all.
    #[serde(deserialize_with = "words")]
    pub standard: Vec<TokenStandard>,
    /// Kinds; empty: all.
    #[serde(deserialize_with = "words")]
    pub kind: Vec<Kind>,
    /// `auto`, `any`, `none` or the addresses of wrapped coins; empty: `auto`.
    #[serde(deserialize_with = "list")]
    pub wrapped_native: Vec<String>,
    /// Answer with what exists when blocks are missing.
    pub allow_partial: bool,
    /// Take mixed-case addresses without checking them.
    pub no_checksum: bool,
    /// Execute the transactions again, for what moves inside of them.
    pub with_internal: bool,
}

/// Where an answer goes and how it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Output {
    /// Files, or `-` for stdout; empty: stdout.
    #[serde(deserialize_with = "list")]
    pub output: Vec<String>,
    /// Format; absent: by the file's extension.
    pub format: Option<String>,
    /// Replace files that exist.
    pub overwrite: bool,
}

/// How the columns of transfers are named and encoded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Columns {
    /// `txgraph`, `cryo` or `etl`; absent: `txgraph`.
    pub schema: Option<String>,
    /// `binary`, `string`, `f64`: columns that amounts get in Parquet and IPC.
    #[serde(deserialize_with = "list")]
    pub u256_types: Vec<String>,
}

/// Question: the transfers of a block range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TransfersQuery {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: Selection,
    /// Addresses that must be an end of each transfer; empty: any.
    #[serde(deserialize_with = "list")]
    pub address: Vec<String>,
    /// Which end; absent: either.
    pub direction: Option<Direction>,
    /// Where the answer goes.
    #[serde(flatten)]
    pub output: Output,
    /// How columns look.
    #[serde(flatten)]
    pub columns: Columns,
}

/// How to search: what `graph` and `analyze` have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Search {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: Selection,
    /// Addresses to start from.
    #[serde(deserialize_with = "list")]
    pub root: Vec<String>,
    /// How far to follow; absent: one hop.
    pub hops: Option<Hops>,
    /// Which way; absent: out.
    pub direction: Option<Direction>,
    /// Follow a transfer only if it happened after the tokens arrived.
    pub time_respecting: bool,
    /// Do not expand vertices with more counterparties.
    pub max_degree: Option<u32>,
    /// File of addresses that are not expanded, with labels.
    pub stop_at: Option<String>,
    /// Upper bound of vertices.
    pub max_vertices: Option<u64>,
    /// Upper bound of edges.
    pub max_edges: Option<u64>,
    /// Expand the zero address too.
    pub expand_zero: bool,
}

/// Question: the graph around some addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct GraphQuery {
    /// The search.
    #[serde(flatten)]
    pub search: Search,
    /// One edge for all transfers of a token from one address to another.
    pub merge: bool,
    /// A second file, for the vertices.
    pub vertices: Option<String>,
    /// Names and decimals of tokens.
    pub token_list: Option<String>,
    /// Where the answer goes: any number of files.
    #[serde(flatten)]
    pub output: Output,
    /// How columns look.
    #[serde(flatten)]
    pub columns: Columns,
}

/// Question: a measure over a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct AnalyzeQuery {
    /// What to measure.
    pub measure: Measure,
    /// The search for the graph. Without roots: all transfers that meet the selection.
    #[serde(flatten)]
    pub search: Search,
    /// How many rows of a ranking; absent: 20 for people, all in data files.
    pub top: Option<usize>,
    /// Order of pairs: `amount`, `count` or `address`; absent: `amount`.
    pub order: Option<String>,
    /// Which of the measure's tables; absent: all for people, the main one in data files.
    pub table: Option<String>,
    /// Names and decimals of tokens.
    pub token_list: Option<String>,
    /// Where the answer goes.
    #[serde(flatten)]
    pub output: Output,
}

/// What `analyze` measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Counts, totals per token, top senders and receivers, concentration.
    #[default]
    Summary,
    /// Transfers added up by (from, to, token).
    Pairs,
    /// Degree statistics and distribution.
    Degrees,
    /// Closed loops: strongly connected components.
    Loops,
    /// Weakly connected components.
    Components,
}

impl Measure {
    /// Every measure.
    pub const ALL: &'static [Self] = &[
        Self::Summary,
        Self::Pairs,
        Self::Degrees,
        Self::Loops,
        Self::Components,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Pairs => "pairs",
            Self::Degrees => "degrees",
            Self::Loops => "loops",
            Self::Components => "components",
        }
    }
}

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hops {
    /// So many expansions: 1 expands only the roots.
    Number(u32),
    /// Until nothing new is reached.
    All,
}

impl Hops {
    /// As the search wants it.
    pub const fn limit(self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(number),
            Self::All => None,
        }
    }
}

impl FromStr for Hops {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number
                .parse()
                .map(Self::Number)
                .map_err(|_| format!("`{text}` is not a number of hops (0, 1, 2 … or `all`)")),
        }
    }
}

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::All => f.write_str("all"),
        }
    }
}

impl Serialize for Hops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for Hops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.to_string();
        text.parse().map_err(de::Error::custom)
    }
}

impl Query {
    /// The name of the command.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Transfers(_) => "transfers",
            Self::Graph(_) => "graph",
            Self::Analyze(_) => "analyze",
        }
    }

    /// A question from a command and a table of its options. Options that the
    /// command does not have are errors.
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
                    "unknown command `{other}`; one of transfers, graph, analyze"
                )));
            }
        };
        // Flattened structs cannot refuse unknown fields; what was given but is
        // not among what was understood is unknown.
        let understood = query.to_table();
        match given.iter().find(|key| !understood.contains_key(*key)) {
            None => Ok(query),
            Some(key) => Err(Error::usage(format!("`{command}` has no option `{key}`"))),
        }
    }

    /// A question from a command and its options, written as in a file.
    pub fn from_options(command: &str, options: &str) -> Result<Self> {
        let table = toml::from_str(options).map_err(|error| Error::usage(error.to_string()))?;
        Self::from_table(command, table)
    }

    /// Every option that is present or has a value, by name.
    pub fn to_table(&self) -> Table {
        let table = match self {
            Self::Transfers(query) => Table::try_from(query),
            Self::Graph(query) => Table::try_from(query),
            Self::Analyze(query) => Table::try_from(query),
        };
        table.unwrap_or_default()
    }

    /// The question as arguments of the `txgraph` command.
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

    /// Where its answer goes, to be changed.
    pub const fn output_mut(&mut self) -> &mut Output {
        match self {
            Self::Transfers(query) => &mut query.output,
            Self::Graph(query) => &mut query.output,
            Self::Analyze(query) => &mut query.output,
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

/// The question as a command line that a shell would read back.
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

/// A text or a number, which in a file may stand where a text is meant.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(i64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one.to_string()],
        OneOrMany::Many(many) => many.iter().map(Scalar::to_string).collect(),
    })
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(Scalar::deserialize(deserializer)?.to_string()))
}

fn words<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    let texts = list(deserializer)?;
    let words = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
    words
        .map(|word| word.parse().map_err(de::Error::custom))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str, options: &str) -> Result<Query> {
        Query::from_options(command, options)
    }

    #[test]
    fn files_and_arguments_say_the_same() {
        let query = read(
            "graph",
            r#"
            root = "0xaa"
            token = ["0xbb", "eth"]
            blocks = 17
            hops = 3
            min-value = 1000
            direction = "in"
            standard = "erc20,erc721"
            time-respecting = true
            output = ["it's.dot", "a.csv"]
            "#,
        )
        .unwrap();
        let Query::Graph(graph) = &query else {
            panic!()
        };
        assert_eq!(graph.search.root, ["0xaa"]);
        assert_eq!(graph.search.selection.blocks, ["17"]);
        assert_eq!(graph.search.hops, Some(Hops::Number(3)));
        assert_eq!(
            graph.search.selection.standard,
            [TokenStandard::Erc20, TokenStandard::Erc721]
        );
        assert_eq!(
            query.to_string(),
            "txgraph graph --blocks 17 --direction in --hops 3 --min-value 1000 \
             --output 'it'\\''s.dot' --output a.csv --root 0xaa --standard erc20 \
             --standard erc721 --time-respecting --token 0xbb --token eth"
        );
        assert_eq!(Query::from_table("graph", query.to_table()).unwrap(), query);
    }

    #[test]
    fn hops_are_a_number_or_all() {
        for (text, hops) in [
            ("2", Hops::Number(2)),
            ("\"2\"", Hops::Number(2)),
            ("\"all\"", Hops::All),
        ] {
            let query = read("analyze", &format!("measure = \"loops\"\nhops = {text}")).unwrap();
            let Query::Analyze(query) = query else {
                panic!()
            };
            assert_eq!(
                (query.search.hops, query.measure),
                (Some(hops), Measure::Loops)
            );
        }
        assert!(read("graph", "hops = \"many\"").is_err());
        assert!(read("graph", "hops = -1").is_err());
    }

    #[test]
    fn unknown_options_are_refused() {
        let error = read("transfers", "hops = 3").unwrap_err();
        assert_eq!(error.message, "`transfers` has no option `hops`");
        assert_eq!(
            read("graph", "rot = \"0x\"").unwrap_err().message,
            "`graph` has no option `rot`"
        );
        assert!(read("search", "").is_err());
        assert!(read("graph", "direction = \"up\"").is_err());
        assert!(read("graph", "kind = \"gift\"").is_err());
    }
}
