//! `txgraph common`.

use super::{ShownArgs, not_searched};
use crate::{
    args::SelectionArgs,
    commands::Context,
    output::{number, print_page},
    table::{self, View},
    transfer_tables,
};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Instant;
use txgraph::{
    ColumnType, CommonCounterparties, HUB_COUNTERPARTIES, Labels, Metadata, Result, Table,
    TokenList,
    parse::{GraphQuery, Options},
};

/// Find counterparties common to several addresses
///
/// Prints each address that sent tokens to, or received tokens from, all of them. Transfers of no amount
/// are not counted, because anyone can emit them in the name of others. The zero address, which mints come
/// from and burns go to, is left out.
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

pub(crate) fn run(args: &CommonArgs, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let top = args.limit;
    let source = context.open()?;
    let query = GraphQuery::from_table(args)?;
    let (query, outputs) = query.on(&source)?;
    let terminal = context.terminal;
    terminal.labels(&query.request().labels);
    if context.explains(&source, &query.scan_request())? {
        return Ok(());
    }
    let files = args.shown.output.open(&source.protected_paths())?;
    let found = query.common_counterparties()?;
    terminal.searched(&found.scan, &found.limits);
    let labels = outputs.labels.unwrap_or_default();
    let unsearched = not_searched::in_common(&found, &query);
    let document = || -> Result<_> {
        let metadata = query.metadata("common", [], &found.scan, &found.limits)?;
        Ok(as_json(&found, &labels, &unsearched, &metadata))
    };
    if files.write(document, terminal)? {
        if found.counterparties.is_empty() {
            let lines = not_searched::lines(" ", &unsearched);
            print_page(&format!("no counterparty in common\n{lines}"))?;
        } else {
            let mut rows = rows(&found);
            let limit = top.saturating_mul(query.request().roots.len());
            rows.rows.truncate(limit);
            let (tokens, chain_id) = (TokenList::default(), source.chain()?.chain_id);
            let view = View::measures(&tokens, &labels, chain_id, terminal.width());
            let mut page = table::draw(&rows, &view);
            let all = found.counterparties.len();
            if let Some(more) = all.checked_sub(top).filter(|more| *more > 0) {
                page.text += &format!("… and {more} more (--limit {all})\n");
            }
            page.text += &not_searched::lines("note:", &unsearched);
            transfer_tables::print_with(&page, "--json", terminal)?;
        }
    }
    let is_indexed = source.is_indexed(&query.scan_request());
    terminal.scanned(&found.scan, start.elapsed(), is_indexed);
    Ok(())
}

/// A row for each counterparty and root.
fn rows(found: &CommonCounterparties) -> Table {
    use ColumnType::{Address, Text, U64};
    let count = found.counterparties.len() as u64;
    let all = found.counterparties.iter().flat_map(|it| {
        let with = it.with.iter();
        with.map(move |(root, exchanged)| (it, *root, exchanged))
    });
    Table::of(
        "common",
        format!(
            "{}: the transfers of each address with it, and how many counterparties it has",
            number(count, "counterparty in common", "counterparties in common")
        ),
        all,
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

fn as_json(
    found: &CommonCounterparties,
    labels: &Labels,
    unsearched: &[String],
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
        "not_searched": unsearched,
        "metadata": metadata,
    })
}
