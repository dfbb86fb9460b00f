//! `txgraph path` and `txgraph common`: how addresses are related.

pub(crate) mod common;
mod flows;
mod not_searched;
mod routes;

use super::Context;
use crate::{
    args::{NameArgs, SelectionArgs},
    json_args::JsonArgs,
    output::{number, print_page},
    table::Page,
    transfer_tables,
};
use clap::Args;
use routes::Routes;
use serde::Serialize;
use serde_json::json;
use std::time::Instant;
use txgraph::{
    Address, Continuation, Error, Hops, LimitHit, Metadata, PreparedSearch, Result, ScanReport,
    flows_as_json,
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
    /// later. The transfers that are printed add up to it (a minimum cut). Swaps are not followed: more
    /// can have gone as another token, and come back as this one.
    #[arg(long, conflicts_with = "any_token", help_heading = "Search")]
    #[serde(skip)]
    max_flow: bool,

    /// No routes through addresses with more counterparties
    ///
    /// Senders and receivers both count, over all blocks of the query.
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
        0x5149f9591ad4bba78320c6e8f09fca122bd2441e --max-flow -o flow.json -o -

With an index (`txgraph index build`), routes are found in milliseconds.
";

/// How a result is shown.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ShownArgs {
    #[command(flatten)]
    #[serde(flatten)]
    names: NameArgs,

    #[command(flatten)]
    #[serde(skip)]
    output: JsonArgs,
}

pub(crate) fn path(args: &PathArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let source = context.open()?;
    let mut query = GraphQuery::from_table(args)?;
    query.search.time_respecting = !args.any_order;
    let to = parse_address(&args.to, query.search.selection.checksum())?;
    let (query, outputs) = query.on(&source)?;
    let [from] = *query.request().roots else {
        return Err(Error::usage("a path begins at one address"));
    };
    let terminal = context.terminal;
    terminal.labels(&query.request().labels);
    if context.explains(&source, &query.scan_request())? {
        return Ok(());
    }
    let files = args.shown.output.open(&source.protected_paths())?;
    let scan = if args.max_flow {
        let found = query.flows_to(to)?;
        terminal.searched(&found.scan, &found.limits);
        let unsearched = not_searched::in_flows(&found, &query);
        let document = || -> Result<_> {
            Ok(json!({
                "flows": flows_as_json(&found.flows),
                "not_searched": unsearched,
                "metadata": args.metadata(&query, to, &found.scan, &found.limits)?,
            }))
        };
        if files.write(document, terminal)? {
            let page = match found.flows.is_empty() {
                true => None,
                false => {
                    let longest = args.longest();
                    let longest = longest.as_deref();
                    Some(flows::page(
                        &found, longest, &query, &source, outputs, context,
                    )?)
                }
            };
            let nothing = format!("nothing can have gone without swaps from {from} to {to}");
            args.print(page, &nothing, &unsearched, context)?;
        }
        found.scan
    } else {
        let continuation = match args.any_token {
            true => Continuation::AnyToken,
            false => Continuation::SameToken,
        };
        let found = query.paths_to(to, continuation, args.routes)?;
        terminal.searched(&found.scan, &found.limits);
        let unsearched = not_searched::in_routes(&found, &query, continuation);
        let routes = Routes {
            signers: query.other_signers(&found)?,
            count: args.routes,
            found,
        };
        let found = &routes.found;
        let document = || -> Result<_> {
            let metadata = args.metadata(&query, to, &found.scan, &found.limits)?;
            Ok(routes::as_json(&routes, &unsearched, &metadata))
        };
        if files.write(document, terminal)? {
            let page = match found.shortest.is_empty() {
                true => None,
                false => Some(routes::page(&routes, &query, &source, outputs, context)?),
            };
            let nothing = format!("no route from {from} to {to}");
            args.print(page, &nothing, &unsearched, context)?;
        }
        routes.found.scan
    };
    let is_indexed = source.is_indexed(&query.scan_request());
    terminal.scanned(&scan, start.elapsed(), is_indexed);
    Ok(())
}

impl PathArgs {
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

    /// Prints what was found, or that it was `nothing`, and what was not searched.
    fn print(
        &self,
        page: Option<Page>,
        nothing: &str,
        unsearched: &[String],
        context: &Context<'_>,
    ) -> Result<()> {
        if let Some(mut page) = page {
            page.text += &not_searched::lines("note:", unsearched);
            return transfer_tables::print_with(&page, "--json", context.terminal);
        }
        let hops = self
            .longest()
            .unwrap_or_else(|| "any number of transfers".to_owned());
        let order = if self.any_order {
            ""
        } else {
            ", each after the one before (see --any-order)"
        };
        let lines = not_searched::lines(" ", unsearched);
        print_page(&format!("{nothing} within {hops}{order}\n{lines}"))
    }
}
