//! `txgraph analyze`.

use super::{Context, branch_ends, token_notes};
use crate::{
    args::{SearchArgs, TableOutputArgs, TokenListArgs, words},
    cluster::ClusterArgs,
    output::{Terminal, limit_words},
    table::{self, Page, View},
    transfer_tables,
};
use clap::Args;
use serde::Serialize;
use std::time::Instant;
use txgraph::{
    Analysis, AnalysisFormat, Labels, Measure, PairOrder, Result, Table, TaintMethod, TokenList,
    VolumeBy, parse::AnalyzeQuery,
};

/// Measure the graph around some addresses, or of all transfers
///
/// With --root, the graph is the one that `txgraph graph` finds with the same options. Without it,
/// the graph has all transfers that match the selection. Memory grows with the number of addresses
/// and of combinations of sender, receiver and token.
///
/// Measures:
///   summary     counts, totals for each token, top senders and receivers, concentration
///   pairs       sums of transfers by sender, receiver and token
///   degrees     numbers of counterparties and transfers of addresses, and the largest hubs
///   cycles      groups of addresses that pass tokens round (strongly connected components)
///   components  parts of the graph that no transfer connects
///   volume      sums of transfers by token and day, or another period, or transaction
///   patterns    peel chains, round trips, sweeps, fans, mixers, airdrops, poisoning, drainers
///   rank        addresses by their part in the flow around the roots (TTR)
///   taint       where the tokens are that the roots sent: amounts, followed through all transfers
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(
    after_long_help = EXAMPLES,
    verbatim_doc_comment,
    mut_arg("hops", |arg| arg.help("How far to follow [default: 1; taint: all; rank: 3]")),
    mut_arg("direction", |arg| arg.help("Where tokens went or came from [default: out; rank: both]"))
)]
pub(crate) struct AnalyzeArgs {
    /// Measure to compute
    #[arg(value_parser = words(Measure::ALL, Measure::as_str))]
    measure: Measure,

    #[command(flatten)]
    #[serde(flatten)]
    search: SearchArgs,

    /// Rows of a ranking [default: tables 20 (summary 5, patterns 2), data all]
    ///
    /// Data has 10 rows of each ranking of a summary, and 100 hubs.
    #[arg(long, value_name = "N", help_heading = "Output")]
    limit: Option<usize>,

    /// Order of `pairs` and `volume`
    ///
    /// By amount for each token, by count, or, of `pairs`, by address. Default: pairs by amount, volume
    /// as in the chain.
    #[arg(
        long, value_name = "ORDER",
        value_parser = words(PairOrder::ALL, PairOrder::as_str), help_heading = "Output"
    )]
    order: Option<PairOrder>,

    /// For `volume`: the period, or `transaction` [default: day]
    ///
    /// Periods are in UTC, and weeks start on Monday. The first and the last have only the blocks that
    /// are read. A row has the numbers of distinct senders and receivers. A transaction with many
    /// receivers is an airdrop or a payout. Withdrawals of a block have a row without a transaction.
    #[arg(
        long, value_name = "PERIOD",
        value_parser = words(VolumeBy::ALL, VolumeBy::as_str), help_heading = "Output"
    )]
    by: Option<VolumeBy>,

    /// For `taint`: which tokens of an account leave first [default: fifo]
    ///
    /// `fifo`: those that arrived first; `lifo`: those that arrived last; `haircut`: the same share of
    /// all; `poison`: everything that leaves after a tainted token arrived is tainted; `execution`: as
    /// `haircut`, and contracts pay what their storage says is whose.
    #[arg(
        long, value_name = "METHOD",
        value_parser = words(TaintMethod::ALL, TaintMethod::as_str), help_heading = "Output"
    )]
    method: Option<TaintMethod>,

    /// For `taint`, `rank`: follow tokens into what they are swapped for
    ///
    /// A swap is found in the net changes of a transaction. The start is the tokens of `--token`;
    /// transfers of all tokens are read. `--with-internal` also finds swaps for coins.
    #[arg(long, help_heading = "Output")]
    through_swaps: bool,

    /// For `rank`: share of what arrives that is the score [default: 0.15]
    #[arg(
        long,
        value_name = "SHARE",
        help_heading = "Output",
        hide_short_help = true
    )]
    alpha: Option<f64>,

    /// For `rank`: share of the rest that goes forward [default: 0.8]
    #[arg(
        long,
        value_name = "SHARE",
        help_heading = "Output",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    beta: Option<f64>,

    /// For `rank`: what is too little to be divided [default: 0.001]
    #[arg(
        long,
        value_name = "SHARE",
        help_heading = "Output",
        hide_short_help = true
    )]
    epsilon: Option<f64>,

    /// Only this table of the measure, e.g. top-senders-by-amount
    ///
    /// CSV and other data formats contain one table; without this option, the first.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    table: Option<String>,

    #[command(flatten)]
    #[serde(flatten)]
    files: TableOutputArgs,

    #[command(flatten)]
    #[serde(flatten)]
    tokens: TokenListArgs,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) cluster: ClusterArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
  What is in the graph three hops around an address?
    $ txgraph analyze summary -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3 -d both

  Which addresses pass a token round in circles, in the whole chain?
    $ txgraph analyze cycles -t 0xc982f6837de3bef0547ecb84171688b6a2bd4cd2

  Where are the tokens of a thief now, and what is the path of each amount?
    $ txgraph analyze taint -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        -t 0xd601451207128971898aab8654521699f35222e2
    $ txgraph analyze taint -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --method haircut \\
        -t 0xd601451207128971898aab8654521699f35222e2 --table ledger -f csv
    $ txgraph analyze taint -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --through-swaps

  Which addresses matter most for what went through an address, in both directions?
    $ txgraph analyze rank -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0

  Which transfers look like laundering, deposits of an exchange, or address poisoning?
    $ txgraph analyze patterns
    $ txgraph analyze patterns --table evidence -f csv

  With whom does an address trade most often? As CSV:
    $ txgraph analyze pairs -r 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d both \\
        --order count -f csv

  How much of a token moved each day, and which transactions paid most receivers?
    $ txgraph analyze volume -t 0xc982f6837de3bef0547ecb84171688b6a2bd4cd2 -f csv
    $ txgraph analyze volume --by transaction --order count --limit 5

  Which addresses are hubs, with the most senders and receivers?
    $ txgraph analyze degrees --blocks 10:40 --table hubs

  How many addresses have at least ten transfers?
    $ txgraph analyze degrees --blocks 10:40 \\
        --table vertices-with-at-least-n-transfers
";

/// The tables of a measure that a terminal shows by default; the others by name.
const fn shown(measure: Measure) -> &'static [&'static str] {
    match measure {
        Measure::Summary => &["summary", "assets", "top-senders-by-transfers"],
        Measure::Patterns => &["patterns"],
        _ => measure.table_ids(),
    }
}

/// Rows of each table that are shown by default.
const ROWS_SHOWN: usize = 20;

pub(crate) fn ask(query: &AnalyzeQuery, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let source = context.open()?;
    let tokens = source.token_list(&query.token_list)?.unwrap_or_default();
    let mut tokens = token_notes::for_people(tokens, terminal);
    let (prepared, outputs) = query.on(&source)?;
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    terminal.labels(prepared.labels());
    let request = prepared.scan_request();
    if context.explains(&source, &request)? {
        return Ok(());
    }
    let labels = prepared.labels().clone();
    let analysis = prepared.run()?;
    terminal.stats.phase("measure");
    terminal.gaps(&analysis.graph.scan);
    terminal.limits(&analysis.graph.limits, limit_words);
    branch_ends::note(
        &query.search,
        &analysis.branch_ends,
        &analysis.graph.blocks,
        terminal,
    );
    terminal.notes(&analysis.notes);
    terminal.written(&analysis.write(&outputs)?);
    if (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables) {
        let named =
            source.name_tokens(&mut tokens, analysis.shown_tokens(), &analysis.graph.blocks)?;
        print_tables(query, &analysis, (&tokens, &labels), terminal)?;
        token_notes::note(&named, terminal);
    }
    let graph = &analysis.graph;
    terminal.graph([graph.vertices, graph.transfers], graph.hop_max);
    let is_indexed = source.is_indexed(&request);
    terminal.scanned(&graph.scan, start.elapsed(), is_indexed);
    Ok(())
}

fn print_tables(
    query: &AnalyzeQuery,
    analysis: &Analysis<'_>,
    (tokens, labels): (&TokenList, &Labels),
    terminal: &Terminal,
) -> Result<()> {
    let chosen = match &query.table {
        Some(name) => std::slice::from_ref(analysis.table(Some(name))?),
        None => analysis.tables(),
    };
    // A page, on a terminal; pipes get every table.
    let is_page = query.table.is_none() && terminal.is_seen();
    let (chosen, others): (Vec<&Table>, Vec<&Table>) = chosen
        .iter()
        .partition(|table| !is_page || shown(analysis.measure).contains(&table.id));
    let chain_id = analysis.graph.chain.chain_id;
    // A table that was asked for by name is shown whole.
    let rows_max = match (&query.table, query.limit) {
        (Some(_), _) => usize::MAX,
        (None, top) => top.unwrap_or(ROWS_SHOWN).max(ROWS_SHOWN),
    };
    let view = View {
        rows_max,
        ..View::measures(tokens, labels, chain_id, terminal.width())
    };
    let pages: Vec<Page> = chosen
        .iter()
        .map(|table| table::draw(table, &view))
        .collect();
    transfer_tables::print(&Page::join(pages), terminal)?;
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|table| table.id).collect();
        terminal.note(format_args!(
            "more tables, by --table NAME: {}",
            names.join(", ")
        ));
    }
    let mut tables = chosen.into_iter();
    if tables.any(|table| table::has_raw_amounts(table, tokens, chain_id)) {
        terminal.note(format_args!(
            "amounts without a symbol are in the smallest unit of their token (--token-list)"
        ));
    }
    Ok(())
}
