//! The routes that `txgraph path` finds, as tables and as JSON.

use crate::{
    commands::{Context, token_notes},
    output::number,
    table::Page,
    transfer_tables,
};
use serde_json::{Value, json};
use txgraph::{
    Asset, Fields, GraphOutputs, Leg, Metadata, OtherSigners, PreparedSearch, Result, Route,
    Source, TransferPaths, U256, route_remarks, routes_cut_words, widen,
};

/// The routes, with what is known of them.
pub(super) struct Routes {
    pub(super) found: TransferPaths,
    /// The number that was asked for.
    pub(super) count: usize,
    pub(super) signers: OtherSigners,
}

impl Routes {
    /// Sentences on what a route shows of an amount, and what it does not.
    fn remarks(&self, route: &Route, amount: impl Fn(&Asset, U256) -> String) -> Vec<String> {
        let mut remarks = self.signers.remarks(route);
        remarks.extend(route_remarks(route, self.found.internal, amount));
        remarks
    }
}

/// Each route once, with its places in both orders.
pub(super) fn page(
    routes: &Routes,
    query: &PreparedSearch<'_>,
    source: &Source,
    outputs: GraphOutputs,
    context: &Context<'_>,
) -> Result<Page> {
    let terminal = context.terminal;
    let Routes { found, count, .. } = routes;
    let others = found.earliest.iter();
    let others = others.filter(|route| !found.shortest.contains(route));
    let all: Vec<&Route> = found.shortest.iter().chain(others).collect();
    let steps = all.iter().flat_map(|it| &it.transfers);
    let shown = steps.filter_map(|step| step.token_address);
    let tokens = token_notes::named(outputs.tokens, source, shown, query.blocks(), terminal)?;
    let labels = outputs.labels.unwrap_or_default();
    let view = transfer_tables::view(&tokens, &labels, source.chain()?.chain_id, terminal);
    let mut pages = Vec::new();
    for route in all {
        let what = ranks(found, route, *count);
        let length = number(route.transfers.len() as u64, "transfer", "transfers");
        let title = format!("{what}, {length}");
        let mut page = transfer_tables::route(title, &route.transfers, &view);
        let amount =
            |asset: &Asset, amount: U256| tokens.format_amount(view.chain_id, asset, widen(amount));
        for remark in routes.remarks(route, amount) {
            page.text += &format!("note: {remark}\n");
        }
        pages.push(page);
    }
    let mut page = Page::join(pages);
    if let Some(cut) = found.cut {
        page.text += &format!("note: {}\n", routes_cut_words(cut, *count));
    }
    Ok(page)
}

/// The places of a route in both orders: `Shortest and earliest route`, or with numbers if several routes
/// were asked for.
fn ranks(found: &TransferPaths, route: &Route, count: usize) -> String {
    let orders = [("shortest", &found.shortest), ("earliest", &found.earliest)];
    let words = orders.iter().filter_map(|(order, routes)| {
        let place = routes.iter().position(|other| other == route)?;
        Some(match count {
            1 => (*order).to_owned(),
            _ => format!("{order} ({})", place + 1),
        })
    });
    let words = words.collect::<Vec<_>>().join(" and ");
    let (first, rest) = words.split_at(1);
    format!("{}{rest} route", first.to_uppercase())
}

/// The first route of each order, and the lists of all. `unsearched`: the parts that were not searched.
pub(super) fn as_json(routes: &Routes, unsearched: &[String], metadata: &Metadata) -> Value {
    let in_units = |_: &Asset, amount: U256| format!("{amount} (in the smallest unit)");
    let leg = |leg: &Leg| {
        json!({
            "token_address": leg.asset.token_address,
            "token_id": leg.token_id.map(|id| id.to_string()),
            "first_transfer": leg.transfers.start + 1,
            "last_transfer": leg.transfers.end,
            "at_most": leg.at_most.to_string(),
            "swap": leg.swap,
        })
    };
    let listed = |all: &[Route]| -> Vec<Value> {
        let all = all.iter().map(|route| {
            let transfers = route.transfers.iter().map(Fields::placed);
            json!({
                "transfers": transfers.collect::<Vec<_>>(),
                "legs": route.legs.iter().map(leg).collect::<Vec<_>>(),
                "remarks": routes.remarks(route, in_units),
            })
        });
        all.collect()
    };
    let Routes { found, count, .. } = routes;
    let [shortest, earliest] = [&found.shortest, &found.earliest].map(|it| listed(it));
    let first = |name: &str| [&shortest, &earliest].map(|it| it.first().map(|it| it[name].clone()));
    let [transfers, legs, remarks] = ["transfers", "legs", "remarks"].map(first);
    json!({
        "shortest": transfers[0],
        "earliest": transfers[1],
        "legs": { "shortest": legs[0], "earliest": legs[1] },
        "remarks": { "shortest": remarks[0], "earliest": remarks[1] },
        "routes": { "shortest": shortest, "earliest": earliest },
        "routes_left_out": found.cut.map(|cut| routes_cut_words(cut, *count)),
        "not_searched": unsearched,
        "metadata": metadata,
    })
}
