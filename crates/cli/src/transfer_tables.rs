//! Transfers as a human-readable table, and a graph as a tree.

mod tree;

pub(crate) use tree::tree;

use crate::{
    output::{Terminal, print_page},
    table::{self, Page, Style, View},
};
use std::collections::BTreeMap;
use txgraph::{
    Address, BlockTime, ColumnChoice, ColumnType, Error, Labels, MergedEdge, Result, Table,
    TokenList, Transfer, TransferGraph, Value, parse::Output, widen,
};

/// Rows of a human-readable table. More are not read by a person.
pub(crate) const ROWS_MAX: usize = 1_000;

/// A human-readable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalFormat {
    Table,
    Tree,
}

impl TerminalFormat {
    /// The words of the forms.
    pub(crate) const WORDS: [&str; 2] = ["table", "tree"];

    /// The form that an output asks for: by its format; else the default one, if nothing is said
    /// and stdout is a terminal. `None`: data.
    pub(crate) fn of(
        output: &Output,
        default: Option<Self>,
        terminal: &Terminal,
    ) -> Result<Option<Self>> {
        let form = match output.format.as_deref() {
            Some("table") => Some(Self::Table),
            Some("tree") => Some(Self::Tree),
            None if output.output.is_empty() && terminal.is_seen() => default,
            _ => None,
        };
        if form.is_some() && output.output.iter().any(|path| path != "-") {
            return Err(Error::usage(
                "human-readable tables and trees are written to standard output",
            )
            .hint("name a file like t.csv without --format, or redirect the output"));
        }
        Ok(form)
    }

    /// The form of transfers, whose columns can be chosen as data only.
    pub(crate) fn of_transfers(
        output: &Output,
        columns: &[ColumnChoice],
        terminal: &Terminal,
    ) -> Result<Option<Self>> {
        let form = Self::of(output, columns.is_empty().then_some(Self::Table), terminal)?;
        if form.is_some() && !columns.is_empty() {
            return Err(
                Error::usage("the columns of a human-readable table cannot be chosen")
                    .hint("columns are chosen with --format csv, jsonl, parquet or ipc"),
            );
        }
        Ok(form)
    }
}

/// The output of data, for a query whose answer is shown to people instead.
pub(crate) fn without_data(output: &Output) -> Output {
    Output {
        output: Vec::new(),
        format: None,
        ..output.clone()
    }
}

/// Prints a page on stdout, and what it lacks on stderr.
pub(crate) fn print(page: &Page, terminal: &Terminal) -> Result<()> {
    print_with(page, "--format csv", terminal)
}

/// The same of a command with another option for exact data.
pub(crate) fn print_with(page: &Page, exact: &str, terminal: &Terminal) -> Result<()> {
    print_page(&page.text)?;
    if page.is_rounded {
        terminal.note(format_args!(
            "amounts are rounded to fit the terminal; exact: {exact}"
        ));
    }
    if page.is_shortened {
        terminal.note(format_args!("addresses are shortened; in full: {exact}"));
    }
    Ok(())
}

/// Prints the first of some rows, under which it says whether there are more.
pub(crate) fn print_first(
    mut page: Page,
    has_more: bool,
    what: &str,
    terminal: &Terminal,
) -> Result<()> {
    if has_more {
        page.text += "… and more\n";
    }
    print(&page, terminal)?;
    if has_more {
        note_stopped(terminal, what);
    }
    Ok(())
}

/// Notes that rows were left out, and how to get them.
pub(crate) fn note_stopped(terminal: &Terminal, what: &str) {
    terminal.note(format_args!(
        "stopped after {} {what}; all of them: --format csv, or -o FILE",
        table::thousands(ROWS_MAX as u64)
    ));
}

/// Who signed transactions, by block and index.
pub(crate) type Initiators = BTreeMap<(u64, u32), Address>;

/// Draws transfers in the order in which they happened, with the signers of their transactions.
pub(crate) fn transfers(
    transfers: &[Transfer],
    initiators: Option<&Initiators>,
    view: &View<'_>,
) -> Page {
    let initiator = |it: &Transfer| initiators?.get(&it.transaction()).copied();
    let rows = transfers.iter().map(|it| (it, None, initiator(it)));
    table::draw(&signed(rows), view)
}

/// Draws transfers under a title.
pub(crate) fn titled(title: String, transfers: &[Transfer], view: &View<'_>) -> Page {
    let mut table = single(transfers.iter().map(|transfer| (transfer, None)));
    table.title = title;
    table::draw(&table, view)
}

/// Draws transfers that follow each other, with the number of each as its hop.
pub(crate) fn route(title: String, transfers: &[Transfer], view: &View<'_>) -> Page {
    let steps = transfers.iter().zip(1..);
    let mut table = single(steps.map(|(transfer, hop)| (transfer, Some(hop))));
    table.title = title;
    table::draw(&table, view)
}

/// Draws the edges of a graph, or its merged edges.
pub(crate) fn graph(
    graph: &TransferGraph,
    merged_edges: Option<&[MergedEdge]>,
    view: &View<'_>,
) -> Page {
    let table = match merged_edges {
        Some(edges) => merged(graph, edges),
        None => {
            let edges = graph.graph.edge_references();
            single(
                edges
                    .take(ROWS_MAX)
                    .map(|edge| (&edge.weight().transfer, Some(edge.weight().hop))),
            )
        }
    };
    table::draw(&table, view)
}

/// How movements are shown.
pub(crate) fn view<'a>(
    tokens: &'a TokenList,
    labels: &'a Labels,
    chain_id: u64,
    terminal: &Terminal,
) -> View<'a> {
    View {
        style: Style::Movements,
        rows_max: ROWS_MAX,
        ..View::measures(tokens, labels, chain_id, terminal.width())
    }
}

pub(crate) fn labels(graph: &TransferGraph) -> Labels {
    let mut labels = Labels::default();
    for vertex in graph.graph.node_weights() {
        for label in vertex.labels.iter() {
            labels.add(vertex.address, label.clone());
        }
    }
    labels
}

fn single<'a>(rows: impl Iterator<Item = (&'a Transfer, Option<u32>)>) -> Table {
    signed(rows.map(|(it, hop)| (it, hop, None)))
}

fn signed<'a>(rows: impl Iterator<Item = (&'a Transfer, Option<u32>, Option<Address>)>) -> Table {
    use ColumnType::{Amount, Text, U64};
    let time = |it: &Transfer| it.block_timestamp.map(BlockTime::seconds);
    Table::of(
        "transfers",
        "Transfers",
        rows.map(|(it, hop, initiator)| (it, hop, initiator, time(it))),
        &[
            ("date", U64, |(.., time)| time.into()),
            ("transaction", Text, |(it, ..)| {
                format!("{}:{}", it.block_number, it.transaction_index).into()
            }),
            ("hop", U64, |(_, hop, ..)| hop.into()),
            ("initiator", ColumnType::Address, |(_, _, by, _)| by.into()),
            ("from_address", ColumnType::Address, |(it, ..)| {
                it.from_address.into()
            }),
            ("to_address", ColumnType::Address, |(it, ..)| {
                it.to_address.into()
            }),
            ("amount", Amount, |(it, ..)| widen(it.value).into()),
            ("token_address", ColumnType::Address, |(it, ..)| {
                it.token_address.into()
            }),
            ("token_standard", Text, |(it, ..)| it.token_standard.into()),
            ("token_id", Text, |(it, ..)| {
                it.token_id.map(|id| id.to_string()).into()
            }),
            ("kind", Text, |(it, ..)| it.kind.as_str().into()),
        ],
    )
}

fn merged(graph: &TransferGraph, edges: &[MergedEdge]) -> Table {
    use ColumnType::{Address, Amount, Text, U64};
    /// The time, if it is known.
    fn time((_, time): (u64, Option<BlockTime>)) -> Value<'static> {
        time.map(BlockTime::seconds).into()
    }
    /// The block, only if the time is not known.
    fn block((block, time): (u64, Option<BlockTime>)) -> Value<'static> {
        time.is_none().then_some(block).into()
    }
    let ends = |edge: &MergedEdge| [edge.source, edge.target].map(|end| graph.graph[end].address);
    Table::of(
        "transfers",
        "Transfers, by sender, receiver and token",
        edges.iter().map(|edge| (edge, ends(edge))),
        &[
            ("first_timestamp", U64, |(it, _)| time(it.first)),
            ("last_timestamp", U64, |(it, _)| time(it.last)),
            ("first_block", U64, |(it, _)| block(it.first)),
            ("last_block", U64, |(it, _)| block(it.last)),
            ("hop", U64, |(it, _)| it.hop.into()),
            ("from_address", Address, |(_, [from, _])| from.into()),
            ("to_address", Address, |(_, [_, to])| to.into()),
            ("amount", Amount, |(it, _)| it.sum.into()),
            ("token_address", Address, |(it, _)| {
                it.asset.token_address.into()
            }),
            ("token_standard", Text, |(it, _)| {
                it.asset.token_standard.into()
            }),
            ("transfers", U64, |(it, _)| it.count.into()),
        ],
    )
}
