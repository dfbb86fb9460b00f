//! `txgraph path` and `txgraph common`: how addresses are related.

mod routes;

use super::{Context, token_notes};
use crate::{
    args::{NameArgs, SelectionArgs},
    output::{number, print_json, print_page},
    table::{self, Page, View},
    transfer_tables,
};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Instant;
use txgraph::{
    Address, BlockRanges, ColumnType, CommonCounterparties, Continuation, Error, GraphOutputs,
    HUB_COUNTERPARTIES, Hops, LimitHit, Metadata, PreparedSearch, Result, ScanReport, Source,
    Table, TokenFilter, TokenList, TransferFlows, TransferPaths, flows_as_json, limit_words,
    parse::{GraphQuery, Options, parse_address},
};

/// Find routes of tokens from one address to another
///
/// Prints the route with the fewest transfers, and the one that arrives first, or several of each
/// (--routes). Each transfer of a route moves the same token as the one before, later, or is a part
/// of a swap of it in one transaction. The notes say what was swapped, and how much can have gone
/// all the way. `txgraph analyze taint` follows amounts.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = PATH)]
pub(crate) struct PathArgs {
    /// Where the tokens come from
    #[arg(value_name = "FROM")]
    #[serde(rename = "root")]
    from: String,

    /// Where they arrive
    #[arg(value_name = "TO")]
    #[serde(skip)]
    to: String,

    /// Longest route, in transfers
    #[arg(
        short = 'n',
        long,
        value_name = "N|all",
        default_value = "6",
        allow_negative_numbers = true,
        help_heading = "Search"
    )]
    hops: Hops,

    /// How many routes, shortest and earliest ones; at most 100
    ///
    /// No two routes have the same transfers, and none comes back to an address with the same token.
    #[arg(
        short = 'k',
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "max_flow",
        help_heading = "Search"
    )]
    #[serde(skip)]
    routes: usize,

    /// Also routes whose transfers happened in another order
    #[arg(long, help_heading = "Search")]
    #[serde(skip)]
    any_order: bool,

    /// Go on with transfers of any token: contacts, not amounts
    #[arg(long, help_heading = "Search")]
    #[serde(skip)]
    any_token: bool,

    /// How much can have gone at most over all routes, and what bounds it
    ///
    /// The maximum flow over the transfers of all routes, for each token: in time, what arrived can leave
    /// later. The transfers that are printed add up to it (a minimum cut). Swaps are not followed.
    #[arg(long, conflicts_with = "any_token", help_heading = "Search")]
    #[serde(skip)]
    max_flow: bool,

    /// No routes through addresses with more counterparties
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_degree: Option<u32>,

    /// No routes through the addresses in this file
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    stop_at: Option<String>,

    /// No routes through addresses of these categories, e.g. exchange,mixer
    #[arg(
        long,
        value_name = "CATEGORY",
        value_delimiter = ',',
        help_heading = "Search"
    )]
    stop_at_category: Vec<String>,

    #[command(flatten)]
    #[serde(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,
}

const PATH: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph path 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        0x5149f9591ad4bba78320c6e8f09fca122bd2441e
    $ txgraph path 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        0x5149f9591ad4bba78320c6e8f09fca122bd2441e -t 0xd601451207128971898aab8654521699f35222e2 \\
        -n 12 --json
    $ txgraph path 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        0x5149f9591ad4bba78320c6e8f09fca122bd2441e --routes 3
    $ txgraph path 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \\
        0x5149f9591ad4bba78320c6e8f09fca122bd2441e --max-flow

With an index (`txgraph index build`), routes are found in milliseconds.
";

/// Find counterparties common to several addresses
///
/// Prints each address that sent tokens to, or received tokens from, all of them. The zero address,
/// which mints come from and burns go to, is left out.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = COMMON)]
pub(crate) struct CommonArgs {
    /// Two or more addresses; @FILE reads the first column of a file
    #[arg(required = true, value_name = "ADDRESS")]
    #[serde(rename = "root")]
    addresses: Vec<String>,

    /// Rows of the table, by number of transfers
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    #[serde(skip)]
    limit: usize,

    #[command(flatten)]
    #[serde(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    #[serde(flatten)]
    selection: SelectionArgs,
}

const COMMON: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph common 0x95dc8a905bf6488bc52147ac4ebd77d3aab83dc0 \\
        0x10e00a14b5481339d1f70d7b0875ad3acf3c9c12
";

/// How a result is shown.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ShownArgs {
    #[command(flatten)]
    #[serde(flatten)]
    names: NameArgs,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    json: bool,
}

/// Runs `path`.
pub(crate) fn path(args: &PathArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let is_json = args.shown.json;
    let source = context.open()?;
    let mut query = GraphQuery::from_table(args)?;
    query.search.time_respecting = !args.any_order;
    let to = parse_address(&args.to, query.search.selection.checksum())?;
    let (query, outputs) = query.on(&source)?;
    let [from] = *query.request().roots else {
        return Err(Error::usage("a path begins at one address"));
    };
    if begin(&query, &source, context)? {
        return Ok(());
    }
    if args.max_flow {
        let found = query.flows_to(to)?;
        show_flows(args, (from, to), &found, &query, &source, outputs, context)?;
        let is_indexed = source.is_indexed(&query.scan_request());
        context
            .terminal
            .scanned(&found.scan, start.elapsed(), is_indexed);
        return Ok(());
    }
    let continuation = match args.any_token {
        true => Continuation::AnyToken,
        false => Continuation::SameToken,
    };
    let found = query.paths_to(to, continuation, args.routes)?;
    let terminal = context.terminal;
    terminal.searched(&found.scan, &found.limits);
    let lines = match found.shortest.is_empty() {
        true => not_searched(&found, &query, continuation),
        false => Vec::new(),
    };
    if is_json {
        let metadata = args.metadata(&query, to, &found.scan, &found.limits)?;
        print_json(&routes::as_json(&found, args.routes, &lines, &metadata))?;
    } else if found.shortest.is_empty() {
        let nothing = format!("no route from {from} to {to}");
        print_page(&args.nothing(&nothing, &lines))?;
    } else {
        routes::show(&found, args.routes, &query, &source, outputs, context)?;
    }
    let is_indexed = source.is_indexed(&query.scan_request());
    terminal.scanned(&found.scan, start.elapsed(), is_indexed);
    Ok(())
}

/// Whether a search reads all transfers of its tokens, also those inside of transactions.
fn reads_internal(query: &PreparedSearch<'_>) -> bool {
    let filter = &query.request().filter;
    filter.internal || !filter.tokens.matches(None)
}

/// The parts that were not searched, a line for each.
fn not_searched_lines(unsearched: &[String]) -> String {
    let lines = unsearched.iter();
    lines
        .map(|line| format!("  not searched: {line}\n"))
        .collect()
}

/// Describes the parts that a search left out: more may be there. `changes`: changes of the token that
/// were not followed.
fn unsearched(
    limits: &[LimitHit],
    scan: &ScanReport,
    has_internal: bool,
    changes: Option<&str>,
) -> Vec<String> {
    let mut lines: Vec<_> = limits.iter().map(limit_words).collect();
    let missing: BlockRanges = scan.missing.iter().map(|gap| gap.blocks).collect();
    if !missing.is_empty() {
        lines.push(format!("blocks {missing}, which are missing"));
    }
    if !has_internal {
        lines.push("ETH that moves inside transactions (--with-internal)".to_owned());
    }
    lines.extend(changes.map(str::to_owned));
    lines
}

/// Describes the parts that a search without a route left out.
fn not_searched(
    found: &TransferPaths,
    query: &PreparedSearch<'_>,
    continuation: Continuation,
) -> Vec<String> {
    let changes = match (&query.request().filter.tokens, continuation) {
        // A swap is seen in the transfers of both tokens.
        (TokenFilter::Only { .. }, _) => Some("other tokens, and swaps (leave --token out)"),
        (TokenFilter::All, Continuation::SameToken) => {
            Some("changes of the token that are no swap in one transaction (--any-token)")
        }
        (TokenFilter::All, Continuation::AnyToken) => None,
    };
    let mut lines = unsearched(&found.limits, &found.scan, reads_internal(query), changes);
    lines.push(OTHER_DIRECTION.to_owned());
    lines
}

const OTHER_DIRECTION: &str = "the other direction";

impl PathArgs {
    /// The metadata of an answer.
    fn metadata(
        &self,
        query: &PreparedSearch<'_>,
        to: Address,
        scan: &ScanReport,
        limits: &[LimitHit],
    ) -> Result<Metadata> {
        let mut options = vec![("to", json!(to))];
        match self.max_flow {
            true => options.push(("max-flow", json!(true))),
            false => options.push(("routes", json!(self.routes))),
        }
        if self.any_token {
            options.push(("any-token", json!(true)));
        }
        query.metadata("path", options, scan, limits)
    }

    /// The length of the longest route that is searched; `None` if all are.
    fn longest(&self) -> Option<String> {
        match self.hops {
            Hops::Number(hops) => Some(number(hops.into(), "transfer", "transfers")),
            Hops::All => None,
        }
    }

    /// Says that nothing was found, and what was not searched.
    fn nothing(&self, what: &str, unsearched: &[String]) -> String {
        let hops = self
            .longest()
            .unwrap_or_else(|| "any number of transfers".to_owned());
        let order = if self.any_order {
            ""
        } else {
            ", each after the one before (see --any-order)"
        };
        format!(
            "{what} within {hops}{order}\n{}",
            not_searched_lines(unsearched)
        )
    }
}

/// Prints the largest amounts that can have gone, each with the transfers that bound it.
fn show_flows(
    args: &PathArgs,
    (from, to): (Address, Address),
    found: &TransferFlows,
    query: &PreparedSearch<'_>,
    source: &Source,
    outputs: GraphOutputs,
    context: &Context<'_>,
) -> Result<()> {
    let terminal = context.terminal;
    terminal.searched(&found.scan, &found.limits);
    let has_internal = reads_internal(query);
    let swaps = Some("swaps: the amount in other tokens");
    let mut lines = unsearched(&found.limits, &found.scan, has_internal, swaps);
    if found.flows.is_empty() {
        lines.push(OTHER_DIRECTION.to_owned());
    }
    if args.shown.json {
        return print_json(&json!({
            "flows": flows_as_json(&found.flows),
            "not_searched": lines,
            "metadata": args.metadata(query, to, &found.scan, &found.limits)?,
        }));
    }
    if found.flows.is_empty() {
        let nothing = format!("nothing can have gone from {from} to {to}");
        return print_page(&args.nothing(&nothing, &lines));
    }
    // Longer routes, and what was not searched, can have carried more.
    let within = match args.longest() {
        Some(longest) => format!(" within {longest}"),
        None => String::new(),
    };
    let shown = found.flows.iter().filter_map(|it| it.asset.token_address);
    let tokens = token_notes::named(outputs.tokens, source, shown, query.blocks(), terminal)?;
    let labels = outputs.labels.unwrap_or_default();
    let view = transfer_tables::view(&tokens, &labels, source.chain()?.chain_id, terminal);
    let pages = found.flows.iter().map(|flow| {
        let most = tokens.format_amount(view.chain_id, &flow.asset, flow.amount);
        let cut = number(flow.cut.len() as u64, "transfer", "transfers");
        let title = format!("At most {most} can have gone{within}, bounded by {cut}");
        let mut page = transfer_tables::titled(title, &flow.cut, &view);
        let parts = number(flow.parts.len() as u64, "transfer", "transfers");
        page.text += &format!("note: {parts} can have carried it; --json lists them\n");
        page
    });
    let mut page = Page::join(pages.collect());
    for line in &lines {
        page.text += &format!("note: not searched: {line}\n");
    }
    transfer_tables::print(&page, terminal)
}

/// Runs `common`.
pub(crate) fn common(args: &CommonArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let (is_json, top) = (args.shown.json, args.limit);
    let source = context.open()?;
    let query = GraphQuery::from_table(args)?;
    let (query, outputs) = query.on(&source)?;
    if begin(&query, &source, context)? {
        return Ok(());
    }
    let found = query.common_counterparties()?;
    let terminal = context.terminal;
    terminal.searched(&found.scan, &found.limits);
    let labels = outputs.labels.unwrap_or_default();
    let has_internal = reads_internal(&query);
    let lines = unsearched(&found.limits, &found.scan, has_internal, None);
    if is_json {
        let metadata = query.metadata("common", [], &found.scan, &found.limits)?;
        print_json(&common_as_json(&found, &labels, &lines, &metadata))?;
    } else if found.counterparties.is_empty() {
        print_page(&format!(
            "no counterparty in common\n{}",
            not_searched_lines(&lines)
        ))?;
    } else {
        let mut table = common_table(&found);
        table
            .rows
            .truncate(top.saturating_mul(query.request().roots.len()));
        let (tokens, chain_id) = (TokenList::default(), source.chain()?.chain_id);
        let view = View::measures(&tokens, &labels, chain_id, terminal.width());
        let mut page = table::draw(&table, &view);
        let all = found.counterparties.len();
        if let Some(more) = all.checked_sub(top).filter(|more| *more > 0) {
            page.text += &format!("… and {more} more (--limit {all})\n");
        }
        transfer_tables::print(&page, terminal)?;
    }
    let is_indexed = source.is_indexed(&query.scan_request());
    terminal.scanned(&found.scan, start.elapsed(), is_indexed);
    Ok(())
}

/// A row for each counterparty and root.
fn common_table(found: &CommonCounterparties) -> Table {
    use ColumnType::{Address, Text, U64};
    let count = found.counterparties.len() as u64;
    let rows = found.counterparties.iter().flat_map(|it| {
        let with = it.with.iter();
        with.map(move |(root, exchanged)| (it, *root, exchanged))
    });
    Table::of(
        "common",
        format!(
            "{}: the transfers of each address with it, and how many counterparties it has",
            number(count, "counterparty in common", "counterparties in common")
        ),
        rows,
        &[
            ("counterparty", Address, |(it, ..)| it.address.into()),
            ("address", Address, |(_, root, _)| root.into()),
            ("sent_transfers", U64, |(.., it)| it.sent.into()),
            ("received_transfers", U64, |(.., it)| it.received.into()),
            ("first_block", U64, |(.., it)| it.first_block.into()),
            ("last_block", U64, |(.., it)| it.last_block.into()),
            ("counterparties", Text, |(it, ..)| match it.counterparties {
                Some(count) => count.to_string().into(),
                None => format!("> {HUB_COUNTERPARTIES}").into(),
            }),
        ],
    )
}

fn common_as_json(
    found: &CommonCounterparties,
    labels: &txgraph::Labels,
    lines: &[String],
    metadata: &Metadata,
) -> Value {
    let counterparties = found.counterparties.iter().map(|it| {
        let with = it.with.iter().map(|(root, exchanged)| {
            json!({
                "address": root,
                "sent_transfers": exchanged.sent,
                "received_transfers": exchanged.received,
                "first_block": exchanged.first_block,
                "last_block": exchanged.last_block,
            })
        });
        json!({
            "address": it.address,
            "label": labels.name(it.address),
            "counterparties": it.counterparties,
            "with": with.collect::<Vec<_>>(),
        })
    });
    json!({
        "counterparties": counterparties.collect::<Vec<_>>(),
        "not_searched": lines,
        "metadata": metadata,
    })
}

/// Says what is searched. Returns whether --explain was given, which asks nothing.
fn begin(query: &PreparedSearch<'_>, source: &Source, context: &Context<'_>) -> Result<bool> {
    let terminal = context.terminal;
    terminal.labels(&query.request().labels);
    context.explains(source, &query.scan_request())
}
