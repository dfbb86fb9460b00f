//! `txgraph graph`.

use super::{Context, branch_ends, picture::PictureArgs, poisoning, token_notes};
use crate::{
    args::{ColumnArgs, OutputArgs, SearchArgs, TokenListArgs, graph_formats},
    cluster::ClusterArgs,
    exit, hints,
    output::{Terminal, limit_words, number},
    output_folder,
    table::Page,
    transfer_tables::{self, TerminalFormat},
};
use clap::Args;
use serde::Serialize;
use std::{path::PathBuf, time::Instant};
use txgraph::{
    Direction, EndReason, Error, GraphFormat, GraphOutputs, GraphResult, Poisoning, PreparedSearch,
    Result, Source, Target, TokenFilter, TokenList, TransferGraph,
    parse::{GraphQuery, given},
};

/// Follow transfers from some addresses and write the graph around them
///
/// A breadth-first search. Roots are hop 0; each hop expands the addresses that the previous hop
/// reached. The result includes addresses that are not expanded (hubs, the stop list, the zero
/// address, the last hop), with the reason why the search ended there.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    #[serde(flatten)]
    search: SearchArgs,

    #[command(flatten)]
    #[serde(flatten)]
    files: OutputArgs,

    /// Format [default: by extension; on a terminal table, else csv]
    ///
    /// csv, jsonl, parquet and ipc contain the transfers, with the hop at which each was found; json,
    /// graphml and gexf the whole graph; dot is the language of Graphviz, which draws svg and png; html
    /// is a page to explore the graph in a browser; gs is a save file for GraphSense's dashboard.
    /// `table` and `tree` are human-readable, on stdout: a row for each transfer, or a line for each
    /// sender, receiver and token, indented by hop. They have at most 1,000 rows; a note says if
    /// there are more.
    #[arg(short, long, value_name = "FORMAT", value_parser = graph_formats(), help_heading = "Output")]
    format: Option<String>,

    /// Also write the vertices: address, hop, degrees, stop reason
    ///
    /// A table (csv, jsonl, parquet, ipc) or `-`. Without --output, nothing else is written. `--columns
    /// is_contract,end_reason` adds whether each is a contract, and why the branch ends there.
    #[arg(
        long, value_name = "FILE", help_heading = "Output", value_parser = output_folder::parser()
    )]
    vertices: Option<PathBuf>,

    /// Follow only the N largest counterparties of each address and token
    ///
    /// By summed amount; ties go to the lower address. The number of transfers left out is stated.
    #[arg(
        long, value_name = "N", help_heading = "Search",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    follow_top: Option<u32>,

    /// Follow tokens into those that they are swapped for
    ///
    /// Each token is followed for itself, from the tokens of `--token` that the roots send. A swap is
    /// found in the net changes of a transaction: the trail goes on at the address that gets the other
    /// token, and pools and routers are not expanded for it. All transfers of a swap are one hop.
    /// `--direction in` follows tokens back, from those that the roots receive: where an address got them
    /// in a swap, the trail goes on with what was given for them. `--with-internal` also finds swaps for
    /// coins.
    #[arg(long, help_heading = "Search")]
    through_swaps: bool,

    /// Merge transfers of one sender, receiver and token into one edge
    ///
    /// With their number, the sum of amounts, and the first and last block.
    #[arg(long, help_heading = "Output")]
    merge: bool,

    #[command(flatten)]
    #[serde(flatten)]
    tokens: TokenListArgs,

    #[command(flatten)]
    #[serde(flatten)]
    picture: PictureArgs,

    #[command(flatten)]
    #[serde(flatten)]
    columns: ColumnArgs,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) cluster: ClusterArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  Where did the tokens of an address go in three hops? A table on stdout:
    $ txgraph graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3

  The same for one token, as pictures and tables from one search:
    $ txgraph graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n all \\
        -t 0xd601451207128971898aab8654521699f35222e2 \\
        -o trace.dot -o trace.svg -o trace.csv -o trace.parquet --vertices addresses.csv

  Who funded an address, counting only payments before it paid itself?
    $ txgraph graph -r 0x46090d05ee648274f4895bc27c1f97ec1dc51a0d -d in -n 2 --time-respecting

  Hubs shown but not expanded, one edge for each pair of addresses:
    $ txgraph graph -r 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -n 2 --max-degree 20 \\
        --merge -f json
";

pub(crate) fn ask(query: &GraphQuery, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    let form = match query.vertices.is_some() && query.output.format.is_none() {
        // Vertices alone, if nothing else is asked for.
        true => None,
        false => TerminalFormat::of_transfers(&query.output, &query.columns, terminal)?,
    };
    let (prepared, outputs) = match form {
        Some(_) => without_data(query, &source, terminal)?,
        None => query.on(&source)?,
    };
    let files = outputs.files.iter().map(|(_, target)| target);
    let vertices = outputs.vertices.iter().map(|(_, target)| target);
    terminal.check_stdout(files.chain(vertices))?;
    terminal.labels(&prepared.request().labels);
    let request = prepared.scan_request();
    if context.explains(&source, &request)? {
        return Ok(());
    }
    let begins = &prepared.request().filter.tokens;
    let begins = query.through_swaps.then(|| begins.clone());
    let answer = prepared.run()?;
    terminal.stats.phase("search");
    let done = answer.write_all(&outputs)?;
    terminal.stats.phase("write");
    terminal.gaps(&answer.scan);
    terminal.limits(&answer.limits, limit_words);
    if query.through_swaps {
        let followed = number(answer.swaps.followed, "swap was", "swaps were");
        let into = match answer.direction {
            Direction::Out => " into what was got",
            Direction::In => " back into what was given",
            Direction::Both => "",
        };
        terminal.note(format_args!("{followed} followed{into}"));
    }
    if !terminal.is_quiet() {
        branch_ends::note(
            &query.search,
            answer.branch_ends()?,
            &answer.blocks,
            terminal,
        );
        let ends = &answer.branch_ends()?.ends;
        let at_contracts = ends.iter().any(|end| match end.reason {
            EndReason::Contract => true,
            EndReason::Hub => end.contracts.is_some_and(|contracts| contracts > 0),
            _ => false,
        });
        if at_contracts && !query.through_swaps && !query.search.selection.token.is_empty() {
            terminal.note(format_args!("{}", hints::CONTRACT_SWAPS));
        }
        poisoning::warn(terminal, &Poisoning::of(&answer));
        note_disorder(&answer, begins.as_ref(), terminal);
    }
    note_unused(query, &outputs, terminal)?;
    token_notes::note(&done.tokens, terminal);
    if let Some(form) = form {
        let shown = answer.graph.edge_weights().take(transfer_tables::ROWS_MAX);
        let shown = shown.filter_map(|edge| edge.transfer.token_address);
        let blocks = &answer.blocks;
        let tokens = token_notes::named(outputs.tokens, &source, shown, blocks, terminal)?;
        show(form, query, &answer, &tokens, terminal)?;
    }
    terminal.written(&done.written);
    let hops = answer.graph.node_weights().map(|vertex| vertex.hop);
    let (vertices, edges) = (answer.graph.node_count(), answer.graph.edge_count());
    terminal.graph([vertices as u64, edges as u64], hops.max().unwrap_or(0));
    let is_indexed = source.is_indexed(&request);
    terminal.scanned(&answer.scan, start.elapsed(), is_indexed);
    exit::last_of(done.failed)
}

/// Notes transfers that cannot have passed on what the roots sent.
fn note_disorder(answer: &TransferGraph, begins: Option<&TokenFilter>, terminal: &Terminal) {
    let (one, many) = match answer.direction {
        Direction::In => (
            "transfer arrived after the tokens had left its receiver",
            "transfers arrived after the tokens had left their receivers",
        ),
        _ => (
            "transfer left its sender before the tokens arrived there",
            "transfers left their senders before the tokens arrived there",
        ),
    };
    let count = answer.out_of_order(begins);
    if count > 0 {
        terminal.note(format_args!(
            "{}; --time-respecting leaves such transfers out",
            number(count, one, many)
        ));
    }
}

/// Notes options of pictures and columns if nothing is written that has them.
fn note_unused(query: &GraphQuery, outputs: &GraphOutputs, terminal: &Terminal) -> Result<()> {
    let formats = || outputs.files.iter().map(|(format, _)| *format);
    let is_picture = |format: GraphFormat| ["svg", "png", "html", "dot"].contains(&format.as_str());
    if !formats().any(is_picture) {
        for name in given(&query.picture)?.keys() {
            terminal.note(format_args!(
                "--{name} changes nothing: no picture is written (svg, png, html, dot)"
            ));
        }
    }
    let is_table = |format| matches!(format, GraphFormat::Table(_));
    if !query.columns.is_empty() && outputs.vertices.is_none() && !formats().any(is_table) {
        terminal.note(format_args!(
            "--columns changes nothing: no table is written (csv, jsonl, parquet, ipc)"
        ));
    }
    Ok(())
}

/// The query with its other outputs, if its transfers are shown to people.
fn without_data<'s>(
    query: &GraphQuery,
    source: &'s Source,
    terminal: &Terminal,
) -> Result<(PreparedSearch<'s>, GraphOutputs)> {
    let query = GraphQuery {
        output: transfer_tables::without_data(&query.output),
        ..query.clone()
    };
    let (prepared, mut outputs) = query.on(source)?;
    outputs.files.clear();
    let vertices = outputs.vertices.iter().map(|(_, target)| target);
    if vertices.clone().any(|target| *target == Target::Stdout) {
        return Err(
            Error::usage("two answers go to standard output").hint("write the vertices to a file")
        );
    }
    terminal.check_stdout([&Target::Stdout])?;
    Ok((prepared, outputs))
}

/// Shows a graph to people.
fn show(
    form: TerminalFormat,
    query: &GraphQuery,
    graph: &GraphResult<'_>,
    tokens: &TokenList,
    terminal: &Terminal,
) -> Result<()> {
    let labels = transfer_tables::labels(graph);
    let chain_id = graph.chain.chain_id;
    let view = transfer_tables::view(tokens, &labels, chain_id, terminal);
    match form {
        TerminalFormat::Table => {
            let merged = query.merge.then(|| graph.merged_edges()).transpose()?;
            let page = transfer_tables::graph(graph, merged.as_deref(), &view);
            transfer_tables::print(&page, terminal)?;
            let rows = merged.map_or(graph.graph.edge_count(), |edges| edges.len());
            if rows > transfer_tables::ROWS_MAX {
                transfer_tables::note_stopped(terminal, "rows");
            }
            Ok(())
        }
        TerminalFormat::Tree => {
            let (text, is_cut) = transfer_tables::tree(graph, &graph.merged_edges()?, &view);
            let page = Page {
                text,
                ..Page::default()
            };
            transfer_tables::print_first(page, is_cut, "rows", terminal)
        }
    }
}
