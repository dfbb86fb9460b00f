//! The largest amounts that can have gone, as tables.

use crate::{
    commands::{Context, token_notes},
    output::number,
    table::Page,
    transfer_tables,
};
use txgraph::{GraphOutputs, PreparedSearch, Result, Source, TransferFlows};

/// Each amount with the transfers that bound it. `longest`: the length of the longest route, in words.
pub(super) fn page(
    found: &TransferFlows,
    longest: Option<&str>,
    query: &PreparedSearch<'_>,
    source: &Source,
    outputs: GraphOutputs,
    context: &Context<'_>,
) -> Result<Page> {
    let terminal = context.terminal;
    // Longer routes, and what was not searched, can have carried more.
    let within = longest.map_or_else(String::new, |longest| format!(" within {longest}"));
    // In another order, transfers carry nothing.
    let (order, carry) = match query.request().time_respecting {
        true => ("", "can have carried it"),
        false => (
            ", in any order",
            "would carry it, if each was after the one before (leave --any-order out)",
        ),
    };
    let shown = found.flows.iter().filter_map(|it| it.asset.token_address);
    let tokens = token_notes::named(outputs.tokens, source, shown, query.blocks(), terminal)?;
    let labels = outputs.labels.unwrap_or_default();
    let view = transfer_tables::view(&tokens, &labels, source.chain()?.chain_id, terminal);
    let pages = found.flows.iter().map(|flow| {
        let most = tokens.format_amount(view.chain_id, &flow.asset, flow.amount);
        let cut = number(flow.cut.len() as u64, "transfer", "transfers");
        let title =
            format!("At most {most} can have gone without swaps{within}{order}, bounded by {cut}");
        let mut page = transfer_tables::titled(title, &flow.cut, &view);
        let parts = number(flow.parts.len() as u64, "transfer", "transfers");
        page.text += &format!("note: {parts} {carry}; --json lists them\n");
        page
    });
    Ok(Page::join(pages.collect()))
}
