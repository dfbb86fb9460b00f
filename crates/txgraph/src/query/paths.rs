//! How transfers lead from one address to another, and counterparties in common.

use super::{retry::retry_on_reorg, search::PreparedSearch};
use crate::{Result, words::number};
use alloy_primitives::{Address, U256};
use serde_json::{Value, json};
use txgraph_graph::{
    Asset, CommonCounterparties, Continuation, Flow, HUB_COUNTERPARTIES, Leg, Route, RoutesCut,
    SearchError, SearchRequest, TransferFlows, TransferPaths, common_counterparties,
    transfer_flows, transfer_paths,
};
use txgraph_transfers::{Fields, ScanReport, TransferSource};

impl PreparedSearch<'_> {
    /// Finds the shortest `routes` of transfers from the root to `to`, and in a time-respecting search
    /// those that arrive first. `continuation` says how a route goes on from a transfer to the next
    /// one. The hops bound its length. The direction is not used.
    ///
    /// # Errors
    ///
    /// If there is not exactly one root, if it equals `to`, if no route or more than [`ROUTES_MAX`](txgraph_graph::ROUTES_MAX) are
    /// asked for, or if reading fails.
    pub fn paths_to(
        &self,
        to: Address,
        continuation: Continuation,
        routes: usize,
    ) -> Result<TransferPaths> {
        self.answer(
            |from, request| transfer_paths(from, request, to, continuation, routes),
            |found| &mut found.scan,
        )
    }

    /// Asks a query of the source, and adds what the request could not cover to its scan.
    fn answer<T: Send>(
        &self,
        ask: impl Fn(
            &(dyn TransferSource + Sync),
            &SearchRequest,
        ) -> std::result::Result<T, SearchError>
        + Sync,
        scan: impl FnOnce(&mut T) -> &mut ScanReport,
    ) -> Result<T> {
        let (source, request) = (self.source, &self.request);
        let from = source.transfer_source(&request.filter)?;
        let mut found = retry_on_reorg(source, || Ok(source.install(|| ask(&*from, request))??))?;
        scan(&mut found).caveats.extend(self.cut.clone());
        source.check_interrupted()?;
        Ok(found)
    }

    /// Finds how much can have gone from the root to `to`, of each token, over all routes together. Swaps
    /// are not followed. The direction is not used.
    ///
    /// # Errors
    ///
    /// As [`Self::paths_to`].
    pub fn flows_to(&self, to: Address) -> Result<TransferFlows> {
        self.answer(
            |from, request| transfer_flows(from, request, to),
            |found| &mut found.scan,
        )
    }

    /// Finds the counterparties that all roots have. Hops and direction are not used.
    ///
    /// # Errors
    ///
    /// If there are fewer than two roots, or if reading fails.
    pub fn common_counterparties(&self) -> Result<CommonCounterparties> {
        self.answer(
            |from, request| common_counterparties(from, request),
            |found| &mut found.scan,
        )
    }
}

impl PreparedSearch<'_> {
    /// The metadata of an answer of [`Self::paths_to`], [`Self::flows_to`] or
    /// [`Self::common_counterparties`], with its scan and the limits that it reached. `command` names the
    /// query, and `options` has those that are no options of a search.
    ///
    /// # Errors
    ///
    /// If the chain of the source cannot be read.
    pub fn metadata(
        &self,
        command: &'static str,
        options: impl IntoIterator<Item = (&'static str, Value)>,
        scan: &ScanReport,
        limits: &[txgraph_graph::LimitHit],
    ) -> Result<txgraph_export::Metadata> {
        let mut description = self.description.clone();
        description.command = command;
        let description = (options.into_iter()).fold(description, |description, (name, value)| {
            description.with(name, value)
        });
        let mut metadata = description.metadata(self.source.chain()?, &self.request.blocks, scan);
        metadata.limits = limits.to_vec();
        Ok(metadata)
    }
}

/// The flows as JSON, each with the transfers that bound it and those that can have carried it.
pub fn flows_as_json(flows: &[Flow]) -> Value {
    let flows = flows.iter().map(|flow| {
        let cut = flow.cut.iter().map(Fields::placed);
        let parts = flow.parts.iter().map(|(transfer, part)| {
            json!({ "amount": part.to_string(), "transfer": Fields::placed(transfer) })
        });
        json!({
            "token_address": flow.asset.token_address,
            "token_id": flow.token_id.map(|id| id.to_string()),
            "at_most": flow.amount.to_string(),
            "cut": cut.collect::<Vec<_>>(),
            "parts": parts.collect::<Vec<_>>(),
        })
    });
    flows.collect()
}

/// A sentence on the routes that an answer with up to `routes` of them leaves out.
pub fn routes_cut_words(cut: RoutesCut, routes: usize) -> String {
    let asked = number(routes as u64, "route", "routes");
    match cut {
        RoutesCut::Count => format!("there are more than {asked}"),
        RoutesCut::Work => format!("the search for {asked} was ended, because it takes too long"),
    }
}

/// Sentences on what a route shows of an amount, and what it does not. `internal`: whether the query read
/// transfers inside of transactions. `amount` formats an amount of an asset.
pub fn route_remarks(
    route: &Route,
    internal: bool,
    amount: impl Fn(&Asset, U256) -> String,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut before: Option<&Leg> = None;
    for leg in &route.legs {
        let (first, last) = (leg.transfers.start + 1, leg.transfers.end);
        match (&leg.swap, before) {
            (Some(swap), Some(before)) => {
                let at = &route.transfers[leg.transfers.start];
                let given = amount(&before.asset, swap.given);
                let got = amount(&leg.asset, swap.got);
                let receiver = match swap.to == swap.address {
                    true => String::new(),
                    false => format!(" to {}", swap.to),
                };
                remarks.push(format!(
                    "transfers {} to {first} are a swap, {}:{}: {} gives {given} for {got}{receiver}",
                    before.transfers.end, at.block_number, at.transaction_index, swap.address
                ));
            }
            (_, Some(_)) => remarks.push(format!(
                "transfer {first} is of another token: the addresses are in contact, but nothing \
                 shows that the amount went on"
            )),
            (_, None) => {}
        }
        let transfers = &route.transfers[leg.transfers.clone()];
        let earlier = transfers
            .windows(2)
            .position(|pair| pair[1].position() < pair[0].position());
        if let Some(place) = earlier {
            let (before, after) = (first + place, first + place + 1);
            remarks.push(format!(
                "transfer {after} happened before transfer {before}: the addresses are in contact, but \
                 the amount did not go on"
            ));
        } else if last > first {
            let most = amount(&leg.asset, leg.at_most);
            remarks.push(format!(
                "at most {most} can have gone from transfer {first} to {last}"
            ));
        }
        before = Some(leg);
    }
    for address in &route.hubs {
        remarks.push(format!(
            "{address} has more than {HUB_COUNTERPARTIES} counterparties: it can be a service that \
             many use, and then the route says little"
        ));
    }
    if !internal && route.legs.iter().any(|leg| leg.swap.is_some()) {
        remarks.push(
            "coins that move inside of transactions were not read: they can be a part of the swap"
                .to_owned(),
        );
    }
    remarks
}
