//! The save file of Pathfinder, the graph of GraphSense's dashboard. It has addresses,
//! transactions, and pairs of addresses that are related, but no amounts and no times: the
//! dashboard asks its server for them. So it has what the server knows by an id.
//!
//! `Encode/Pathfinder.elm` and `Decode/Pathfinder1.elm` in `graphsense/graphsense-dashboard` define
//! the format; the Python package `graphsense-python` writes and reads it, too.

mod layout;
mod lzw;

use crate::{
    DocumentFormat, Error, GraphFormat, Result, Written, drawn_edges::Arrows, json_text::push_json,
    label_text::drawn, options::GraphInput, output::Output, picture::query_in_words, text::counted,
};
use alloy_primitives::hex;
use layout::places;
use std::collections::BTreeMap;
use txgraph_base::thousands;
use txgraph_graph::{TransferGraph, VertexId};
use txgraph_labels::Category;
use txgraph_transfers::{Kind, TokenStandard, Transfer};

/// The only chain with addresses of Ethereum that GraphSense has.
const CHAIN_ID: u64 = 1;

/// The word of GraphSense for it.
const NETWORK: &str = "eth";

/// The most transfers that are written as transactions. The dashboard draws each of them.
const TRANSACTIONS_MAX: usize = 1_000;

const LABEL_CHARS: usize = 32;

/// A network, and an id in it.
type Id<'a> = (&'static str, &'a str);

/// A transfer that the server of GraphSense knows.
struct Transaction {
    id: String,
    ends: (VertexId, VertexId),
}

/// Checks that a format can hold a graph of a chain, so that this is known before a long search.
///
/// # Errors
///
/// If the format is the save file of GraphSense, and GraphSense does not have the chain.
pub fn check_chain(format: impl Into<GraphFormat>, chain_id: u64) -> Result<()> {
    let is_save_file = format.into() == DocumentFormat::GraphSense.into();
    match is_save_file && chain_id != CHAIN_ID {
        true => Err(Error::NotInGraphSense { chain_id }),
        false => Ok(()),
    }
}

pub(crate) fn write(input: GraphInput<'_>, mut output: Output) -> Result<Written> {
    let (graph, options) = (input.graph, input.options);
    let (what, count) = ("vertices", graph.graph.node_count());
    let limit = options.drawing.vertices_max;
    if count > limit {
        return Err(Error::TooLargeToDraw { what, count, limit });
    }
    let (transactions, notes) = match options.merge {
        true => Default::default(),
        false => transactions(graph),
    };
    let arrows = Arrows::of(input)?;
    output.put(&lzw::pack(&content(input, &arrows, &transactions)?))?;
    let mut written = output.finish(Some(input.metadata), arrows.len() as u64)?;
    written.notes = notes;
    Ok(written)
}

/// Returns the transfers that are written as transactions, and notes on the others.
fn transactions(graph: &TransferGraph) -> (Vec<Transaction>, Vec<String>) {
    let edges = graph.graph.raw_edges();
    let known = edges.iter().filter_map(|edge| {
        Some(Transaction {
            id: transaction_id(&edge.weight.transfer)?,
            ends: (edge.source(), edge.target()),
        })
    });
    let mut known: Vec<_> = known.take(TRANSACTIONS_MAX + 1).collect();
    let transfers = counted(edges.len() as u64, "transfer");
    if known.len() > TRANSACTIONS_MAX {
        known.clear();
        let note = format!(
            "{transfers}, more than {}: the file has aggregated edges, and no transactions",
            thousands(TRANSACTIONS_MAX as u64)
        );
        return (known, vec![note]);
    }
    let unknown = edges.len() - known.len();
    let note = format!(
        "{unknown} of {transfers} have no id in GraphSense: they are in aggregated edges only"
    );
    (known, if unknown > 0 { vec![note] } else { Vec::new() })
}

/// Returns the id of a transfer in GraphSense, which has ids for the value of a transaction (the
/// hash alone), and for `Transfer` logs of fungible tokens. Calls are numbered by their place
/// among all calls of the block, which is not known here.
fn transaction_id(transfer: &Transfer) -> Option<String> {
    let hash = hex::encode(transfer.transaction_hash?);
    match (transfer.token_standard, transfer.kind) {
        (TokenStandard::Native, Kind::Value) => Some(hash),
        (TokenStandard::Erc20, Kind::Transfer | Kind::Mint | Kind::Burn) => {
            Some(format!("{hash}_T{}", transfer.log_index?))
        }
        _ => None,
    }
}

/// Returns the JSON of the file.
fn content(
    input: GraphInput<'_>,
    arrows: &Arrows<'_>,
    transactions: &[Transaction],
) -> Result<Vec<u8>> {
    let (graph, options) = (input.graph, input.options);
    let merged = graph.merged(&options.table.threads)?;
    let vertices = || graph.graph.node_weights();
    let labels = vertices().map(|vertex| drawn(&vertex.labels, LABEL_CHARS));
    let labels: Vec<_> = labels.collect();
    let ends: Vec<_> = transactions.iter().map(|it| it.ends).collect();
    let places = places(graph, &merged, &ends, &labels);
    let ids: Vec<String> = vertices().map(|it| format!("{:#x}", it.address)).collect();
    let id = |vertex: VertexId| -> Id<'_> { (NETWORK, &ids[vertex.index()]) };

    let indices = graph.graph.node_indices();
    let addresses: Vec<_> = indices
        .zip(places.addresses)
        .map(|(vertex, (x, y))| (id(vertex), x, y, graph.roots.contains(&vertex)))
        .collect();
    let points = transactions.iter().zip(places.transactions).enumerate();
    let points: Vec<_> = points
        .map(|(at, (it, (x, y)))| ((NETWORK, &it.id), x, y, false, at))
        .collect();
    let indices = graph.graph.node_indices().zip(labels);
    let annotations: Vec<_> = indices
        .filter_map(|(vertex, label)| {
            let kind = graph.graph[vertex].labels.kind();
            Some((id(vertex), label?, kind.map(color)))
        })
        .collect();
    // Pathfinder has one edge for both directions, and the lower id first.
    let pair = |(one, other): (VertexId, VertexId)| {
        let (one, other) = (id(one), id(other));
        (one.min(other), one.max(other))
    };
    let mut pairs: BTreeMap<(Id<'_>, Id<'_>), Vec<Id<'_>>> = BTreeMap::new();
    for edge in &merged {
        pairs.entry(pair((edge.source, edge.target))).or_default();
    }
    for it in transactions {
        let known = pairs.entry(pair(it.ends)).or_default();
        known.push((NETWORK, &it.id));
    }
    let pairs: Vec<_> = pairs
        .into_iter()
        .map(|((one, other), known)| (one, other, known))
        .collect();

    let name = query_in_words(graph, arrows.legend(), &options.table.tokens);
    let mut json = Vec::new();
    let all = (
        "pathfinder",
        "1",
        name,
        addresses,
        points,
        annotations,
        pairs,
    );
    push_json(&mut json, &all)?;
    Ok(json)
}

/// Returns the color of a kind: red, green, blue and opacity, up to 1.
fn color(kind: Category) -> [f64; 4] {
    let part = |digits| {
        let digits = kind.color().get(digits).unwrap_or_default();
        u8::from_str_radix(digits, 16).map_or(1.0, |part| f64::from(part) / 255.0)
    };
    [part(1..3), part(3..5), part(5..7), 1.0]
}
