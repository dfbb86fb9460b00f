//! Questions as they are written, on a command line or in a file.
//!
//! A question is plain text and numbers. Its fields have the names of the command line's
//! options. [`TransfersQuery::on`], [`GraphQuery::on`] and [`AnalyzeQuery::on`] read the
//! text and report mistakes.

use super::{
    Checksum, Columns, addresses, block_specs,
    min_value::{Units, amounts},
    output::targets,
    query_labels::{check_columns, read_labels, stops},
    scalar::{list, text, words},
    since_until, tokens, wrapped_native,
};
use crate::{
    BlockSpec, Error, GraphOutputs, Hops, Measure, PreparedSearch, PreparedTransfers, Result,
    SearchOptions, Source, TransfersOutput,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use txgraph_analysis::{PairOrder, TraceMethod};
use txgraph_export::{GraphFormat, TableFormat, Target, TokenList};
use txgraph_labels::Labels;
use txgraph_transfers::{Direction, Kind, TokenFilter, TokenStandard, Touching};

/// A question: a command and its options.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a process has one question")]
pub enum Query {
    /// The transfers of a block range, as a table.
    Transfers(TransfersQuery),
    /// The graph around some addresses.
    Graph(GraphQuery),
    /// A measure of such a graph.
    Analyze(AnalyzeQuery),
}

/// Which transfers. A text of a list can contain several values, separated by commas, or
/// `@FILE`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SelectionArgs {
    /// Block ranges in cryo's grammar; empty: every block up to the tip.
    #[serde(deserialize_with = "list")]
    pub blocks: Vec<String>,
    /// First block, instead of ranges.
    pub from_block: Option<u64>,
    /// Last block, included, instead of ranges.
    pub to_block: Option<u64>,
    /// First block, or date (UTC), instead of ranges.
    #[serde(deserialize_with = "text")]
    pub since: Option<String>,
    /// End of the blocks, excluded: a block, or a date (UTC), instead of ranges.
    #[serde(deserialize_with = "text")]
    pub until: Option<String>,
    /// Token addresses, `eth` (or `native`), `all`; empty: all.
    #[serde(deserialize_with = "list")]
    pub token: Vec<String>,
    /// Smallest amount: a whole number in the smallest unit, `1.5` or `USDC=100` in units.
    #[serde(deserialize_with = "text")]
    pub min_value: Option<String>,
    /// Ids of tokens, decimal or hexadecimal; empty: all.
    #[serde(deserialize_with = "list")]
    pub token_id: Vec<String>,
    /// Standards; empty: all.
    #[serde(deserialize_with = "words")]
    pub standard: Vec<TokenStandard>,
    /// Kinds; empty: all.
    #[serde(deserialize_with = "words")]
    pub kind: Vec<Kind>,
    /// `auto`, `any`, `none` or the addresses of wrapped coins; empty: `auto`.
    #[serde(deserialize_with = "list")]
    pub wrapped_native: Vec<String>,
    /// Answer with the blocks that exist.
    pub allow_partial: bool,
    /// Accept mixed-case addresses without a valid checksum.
    pub no_checksum: bool,
    /// Replay transactions, for the transfers inside of them.
    pub with_internal: bool,
}

/// Where an answer is written, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Output {
    /// Files, or `-` for stdout; empty: stdout.
    #[serde(deserialize_with = "list")]
    pub output: Vec<String>,
    /// Format; absent: by the extension of the file.
    pub format: Option<String>,
    /// Replace files that exist.
    pub overwrite: bool,
}

/// Question: the transfers of a block range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TransfersQuery {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: SelectionArgs,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// Files with names of addresses, in the order of their priority.
    #[serde(deserialize_with = "list")]
    pub labels: Vec<String>,
    /// Addresses that send or receive each transfer; empty: any.
    #[serde(deserialize_with = "list")]
    pub address: Vec<String>,
    /// Whether they send or receive; absent: either.
    pub direction: Option<Direction>,
    /// Transactions, by hash or as `BLOCK:INDEX`, instead of blocks.
    #[serde(deserialize_with = "list")]
    pub tx: Vec<String>,
    /// Where the answer is written.
    #[serde(flatten)]
    pub output: Output,
    /// The columns.
    #[serde(flatten)]
    pub columns: Columns,
}

/// How to search: what `graph` and `analyze` have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SearchArgs {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: SelectionArgs,
    /// Addresses to start from.
    #[serde(deserialize_with = "list")]
    pub root: Vec<String>,
    /// How far to follow; absent: one hop.
    pub hops: Option<Hops>,
    /// The direction; absent: out.
    pub direction: Option<Direction>,
    /// Follow a transfer only if it happened after the tokens arrived.
    pub time_respecting: bool,
    /// Do not expand vertices with more counterparties.
    pub max_degree: Option<u32>,
    /// File of addresses that are not expanded, with labels.
    pub stop_at: Option<String>,
    /// Categories of labelled addresses that are not expanded.
    #[serde(deserialize_with = "list")]
    pub stop_at_category: Vec<String>,
    /// Files with names of addresses, in the order of their priority.
    #[serde(deserialize_with = "list")]
    pub labels: Vec<String>,
    /// The largest number of vertices.
    pub max_vertices: Option<u64>,
    /// The largest number of edges.
    pub max_edges: Option<u64>,
    /// Expand the zero address, too.
    pub expand_zero: bool,
}

/// Question: the graph around some addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct GraphQuery {
    /// The search.
    #[serde(flatten)]
    pub search: SearchArgs,
    /// Follow only this number of counterparties from each address and token, those with the
    /// largest amounts.
    pub top: Option<u32>,
    /// One edge for all transfers of a token from one address to another.
    pub merge: bool,
    /// Another file, for the vertices.
    pub vertices: Option<String>,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// How pictures are drawn.
    #[serde(flatten)]
    pub picture: super::Picture,
    /// Where the answer is written: any number of files.
    #[serde(flatten)]
    pub output: Output,
    /// The columns.
    #[serde(flatten)]
    pub columns: Columns,
}

/// Question: a measure of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct AnalyzeQuery {
    /// What to measure.
    pub measure: Measure,
    /// The search for the graph. Without roots: all transfers that match the selection.
    #[serde(flatten)]
    pub search: SearchArgs,
    /// The number of rows of a ranking; absent: 20 for people, all in data files.
    pub top: Option<usize>,
    /// Order of pairs; absent: by amount.
    pub order: Option<PairOrder>,
    /// Which tokens of an account leave first, for traces; absent: those that arrived first.
    pub method: Option<TraceMethod>,
    /// Which of the measure's tables; absent: all for people, the main one in data files.
    pub table: Option<String>,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// Where the answer is written.
    #[serde(flatten)]
    pub output: Output,
}

impl SelectionArgs {
    /// How addresses in mixed case are read.
    pub const fn checksum(&self) -> Checksum {
        if self.no_checksum {
            Checksum::Ignore
        } else {
            Checksum::Verify
        }
    }

    /// Whether blocks are not named by ranges or numbers.
    const fn is_plain(&self) -> bool {
        self.blocks.is_empty() && self.from_block.is_none() && self.to_block.is_none()
    }

    /// Reads the text. Amounts in units need the decimals of tokens from a list.
    pub fn read(&self, source: &Source, list: Option<&TokenList>) -> Result<crate::Selection> {
        let checksum = self.checksum();
        let blocks = match since_until(self.since.as_deref(), self.until.as_deref())? {
            Some(range) if self.is_plain() => vec![range],
            Some(_) => return Err(blocks_named_twice()),
            None => read_blocks(&self.blocks, self.from_block, self.to_block)?,
        };
        let units = Units::new(source, list, checksum, &blocks, &TokenFilter::All);
        let tokens = tokens(&units.addresses(&self.token)?, checksum)?;
        let (min_value, least) = match &self.min_value {
            None => Default::default(),
            Some(text) => {
                let units = Units::new(source, list, checksum, &blocks, &tokens);
                let read = units.min_value(text, &tokens);
                read.map_err(|error| error.at("smallest amount"))?
            }
        };
        Ok(crate::Selection {
            blocks,
            tokens,
            min_value,
            amounts: amounts(least, &self.token_id)?,
            standards: self.standard.clone(),
            kinds: self.kind.clone(),
            wrapped_native: wrapped_native(&self.wrapped_native, self.checksum())?,
            internal: self.with_internal,
            allow_partial: self.allow_partial,
        })
    }
}

/// Reads blocks that are named by ranges, or by first and last block.
pub fn read_blocks(
    ranges: &[String],
    first: Option<u64>,
    last: Option<u64>,
) -> Result<Vec<BlockSpec>> {
    match (first, last) {
        (None, None) => block_specs(ranges),
        _ if !ranges.is_empty() => Err(blocks_named_twice()),
        (first, None) => Ok(vec![(first.unwrap_or(0)..).into()]),
        (first, Some(last)) => Ok(vec![BlockSpec::through(first.unwrap_or(0), last)]),
    }
}

fn blocks_named_twice() -> Error {
    Error::usage("blocks are named twice: by ranges, and by their first block or end")
}

impl SearchArgs {
    /// Reads the text. Amounts in units need the decimals of tokens from a list.
    pub fn read(&self, source: &Source, list: Option<&TokenList>) -> Result<SearchOptions> {
        let checksum = self.selection.checksum();
        let roots = addresses(&self.root, checksum)?;
        if roots.is_empty() && !self.root.is_empty() {
            return Err(Error::usage("the list of roots is empty"));
        }
        let (stop_at, labels) = stops(self, source)?;
        Ok(SearchOptions {
            labels,
            selection: self.selection.read(source, list)?,
            roots,
            hops: self.hops.unwrap_or_default(),
            direction: self.direction.unwrap_or_default(),
            time_respecting: self.time_respecting,
            max_degree: self.max_degree,
            stop_at,
            max_vertices: self.max_vertices,
            max_edges: self.max_edges,
            top: None,
            expand_zero: self.expand_zero,
        })
    }
}

/// The blocks and indices of transactions.
#[cfg(feature = "replay")]
fn places(names: &[String], source: &Source) -> Result<Vec<(u64, u32)>> {
    let names = names.iter();
    let places = names.map(|name| source.place_of(super::parse_transaction(name)?));
    places.collect()
}

/// The blocks and indices of transactions.
#[cfg(not(feature = "replay"))]
fn places(names: &[String], _: &Source) -> Result<Vec<(u64, u32)>> {
    if names.is_empty() {
        Ok(Vec::new())
    } else {
        Err(Error::usage("this build finds no transactions by name"))
    }
}

fn table_words() -> String {
    crate::outputs::words(TableFormat::ALL.iter().map(|format| format.as_str()))
}

impl TransfersQuery {
    /// Reads the text, and prepares the question and its output.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or the output cannot be written.
    pub fn on<'s>(&self, source: &'s Source) -> Result<(PreparedTransfers<'s>, TransfersOutput)> {
        let list = source.token_list(&self.token_list)?;
        let mut question = source
            .transfers()
            .select(self.selection.read(source, list.as_ref())?);
        if !self.address.is_empty() {
            let addresses = addresses(&self.address, self.selection.checksum())?;
            if addresses.is_empty() {
                return Err(Error::usage("the list of addresses is empty"));
            }
            question.touching = Some(Touching {
                addresses: addresses.into_iter().collect(),
                direction: self.direction.unwrap_or(Direction::Both),
            });
        } else if let Some(direction) = self.direction {
            question = question.direction(direction);
        }
        for (block, index) in places(&self.tx, source)? {
            question = question.transaction(block, index);
        }
        let known = table_words;
        let from_extension = TableFormat::from_extension;
        let targets = targets(&self.output, TableFormat::Csv, from_extension, known)?;
        let mut targets = targets.into_iter();
        let first = targets.next();
        let (format, target) = first.ok_or_else(|| Error::usage("there is no output"))?;
        let output = TransfersOutput {
            target,
            format,
            more: targets.collect(),
            columns: self.columns.read()?,
            tokens: list,
            labels: if self.labels.is_empty() {
                None
            } else {
                Some(read_labels(&self.labels, &self.selection, source)?)
            },
            overwrite: self.output.overwrite,
        };
        check_columns(&self.columns, &self.labels)?;
        source.check_outputs([&output], output.overwrite)?;
        Ok((question.prepare()?, output))
    }
}

impl GraphQuery {
    /// Reads the text, and prepares the question and its outputs.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn on<'s>(&self, source: &'s Source) -> Result<(PreparedSearch<'s>, GraphOutputs)> {
        let tokens = source.token_list(&self.token_list)?;
        let options = SearchOptions {
            top: self.top,
            ..self.search.read(source, tokens.as_ref())?
        };
        let labels = options.labels.clone();
        let question = crate::Search::new(source).options(options);
        let outputs = self.outputs_with(source, tokens, labels)?;
        Ok((question.prepare()?, outputs))
    }

    /// Reads the outputs alone, for a graph that was found before.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn outputs(&self, source: &Source) -> Result<GraphOutputs> {
        let tokens = source.token_list(&self.token_list)?;
        let labels = read_labels(&self.search.labels, &self.search.selection, source)?;
        self.outputs_with(source, tokens, labels)
    }

    fn outputs_with(
        &self,
        source: &Source,
        tokens: Option<TokenList>,
        labels: Labels,
    ) -> Result<GraphOutputs> {
        let (columns, vertex_columns) = self.columns.of_vertices();
        check_columns(&self.columns, &self.search.labels)?;
        if self.merge && !(columns.columns.is_empty() && columns.exclude.is_empty()) {
            return Err(Error::usage(
                "columns of transfers cannot be chosen for merged edges",
            ));
        }
        if !vertex_columns.is_empty() && self.vertices.is_none() {
            return Err(Error::usage(format!(
                "`{}` is a column of vertices, which are not written",
                vertex_columns[0].as_str()
            ))
            .hint("name a file for the vertices"));
        }
        let outputs = GraphOutputs {
            files: self.files()?,
            vertices: self.vertices()?,
            merge: self.merge,
            tokens,
            labels: (!self.search.labels.is_empty()).then_some(labels),
            columns: columns.read()?,
            vertex_columns,
            drawing: self.picture.read()?,
            overwrite: self.output.overwrite,
        };
        source.check_outputs([&outputs], outputs.overwrite)?;
        if outputs
            .files
            .iter()
            .any(|(format, _)| format.needs_graphviz())
        {
            txgraph_export::check_graphviz(&outputs.drawing)?;
        }
        Ok(outputs)
    }

    fn files(&self) -> Result<Vec<(GraphFormat, Target)>> {
        // Vertices alone: nothing else is written unless it is asked for.
        let Output { output, format, .. } = &self.output;
        if self.vertices.is_some() && output.is_empty() && format.is_none() {
            return Ok(Vec::new());
        }
        let known = || crate::outputs::words(GraphFormat::ALL.iter().map(|format| format.as_str()));
        targets(
            &self.output,
            TableFormat::Csv.into(),
            GraphFormat::from_extension,
            known,
        )
    }

    fn vertices(&self) -> Result<Option<(TableFormat, Target)>> {
        let Some(path) = &self.vertices else {
            return Ok(None);
        };
        let target = Target::from(PathBuf::from(path));
        let format = crate::outputs::format_of(
            &target,
            TableFormat::Csv,
            TableFormat::from_extension,
            table_words,
        )?;
        Ok(Some((format, target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::given;
    use serde_json::{Value, json};

    fn read(command: &str, options: &str) -> Result<Query> {
        Query::from_options(command, options)
    }

    #[test]
    fn tables_read_back() {
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
        let table = given(&query).unwrap();
        assert_eq!(
            Value::from(table.clone()),
            json!({
                "blocks": ["17"], "direction": "in", "hops": 3, "min-value": "1000",
                "output": ["it's.dot", "a.csv"], "root": ["0xaa"],
                "standard": ["erc20", "erc721"], "time-respecting": true,
                "token": ["0xbb", "eth"],
            })
        );
        assert_eq!(Query::from_table("graph", &table).unwrap(), query);
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
    fn blocks_by_first_and_last() {
        let read = |ranges: &[&str], first, last| {
            let ranges: Vec<_> = ranges.iter().map(|text| (*text).to_owned()).collect();
            let specs = read_blocks(&ranges, first, last)?;
            let blocks = crate::select::resolve_numbers(&specs, 40)?;
            Ok(blocks.to_string())
        };
        let kind = |result: Result<String>| match result {
            Ok(blocks) => blocks,
            Err(error) => format!("{:?}", error.kind),
        };
        for (ranges, first, last, expected) in [
            (&[][..], None, None, "0:41"),
            (&["latest"], None, None, "40:41"),
            (&["-3:", "1:3,7"], None, None, "1:3, 7:8, 38:41"),
            (&["0:100"], None, None, "0:100"),
            (&["41:"], None, None, "Unavailable"),
            (&["-42:"], None, None, "Unavailable"),
            (&["5:4"], None, None, "Usage"),
            (&["5"], Some(1), None, "Usage"),
            (&[], Some(7), None, "7:41"),
            (&[], None, Some(50), "0:51"),
            (&[], Some(9), Some(8), "Usage"),
            (&[], Some(41), None, "Unavailable"),
            (&[","], None, None, "Usage"),
        ] {
            let found = kind(read(ranges, first, last));
            assert_eq!(found, expected, "{ranges:?} {first:?} {last:?}");
        }
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
