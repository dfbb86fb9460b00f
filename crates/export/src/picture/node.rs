//! The nodes of a picture: vertices, and leaves that are folded.

use super::{Link, Node, arrow::Merged, column::columns, words};
use crate::{
    TokenList,
    arrows::with_count,
    dot::{LABEL_CHARS, TOOLTIP_CHARS, TOTALS_MAX, VertexStyle},
    names,
    text::{counted, printable_short},
    views::{VertexView, expansion_word, vertices},
};
use alloy_primitives::Address;
use std::collections::BTreeSet;
use txgraph_graph::{Contracts, EndReason, TransferGraph};
use words::{rounded_amount, short_addresses};

/// Folded addresses that a tooltip lists.
const MEMBERS_MAX: usize = 8;

/// Returns the nodes: vertices that are not folded, in order, then the groups.
pub(super) fn nodes(
    graph: &TransferGraph,
    arrows: &[Merged],
    groups: &[Vec<usize>],
    tokens: &TokenList,
    contracts: &Contracts,
    link: Option<&Link>,
) -> Vec<Node> {
    let folded: BTreeSet<usize> = groups.iter().flatten().copied().collect();
    let alone: Vec<_> = (vertices(graph, contracts).enumerate())
        .filter(|(number, _)| !folded.contains(number))
        .map(|(_, view)| view)
        .collect();
    let addresses: Vec<_> = alone.iter().map(|view| view.vertex.address).collect();
    let short = short_addresses(&addresses);
    let chain_id = graph.chain.chain_id;
    let mut nodes: Vec<_> = (alone.iter().zip(short))
        .map(|(view, short)| vertex(view, short, tokens, chain_id, link))
        .collect();
    for (number, group) in groups.iter().enumerate() {
        let node = group_node(graph, arrows, tokens, (number, nodes.len()), group);
        nodes.push(node);
    }
    let hops: Vec<_> = nodes.iter().map(|node| node.hop).collect();
    for (node, column) in nodes.iter_mut().zip(columns(graph, &hops, arrows)) {
        node.column = column;
    }
    nodes
}

fn vertex(
    view: &VertexView<'_>,
    short: String,
    tokens: &TokenList,
    chain_id: u64,
    link: Option<&Link>,
) -> Node {
    let vertex = view.vertex;
    let style = VertexStyle::new(vertex.expansion, view.is_root, view.is_contract, view.end)
        .of_kind(vertex.labels.kind(), view.is_root);
    let name = vertex.labels.name();
    let mut label: Vec<_> = (names::drawn(&vertex.labels, LABEL_CHARS).into_iter()).collect();
    label.push(short);
    if !style.note.is_empty() {
        label.push(style.note.to_owned());
    }
    Node {
        id: format!("{:#x}", vertex.address),
        label,
        tooltip: tooltip(view, tokens, chain_id),
        shape: style.shape,
        fill: style.fill,
        style: style.style,
        is_root: view.is_root,
        hop: vertex.hop,
        column: 0,
        name: name.map(|name| printable_short(name, TOOLTIP_CHARS)),
        kind: expansion_word(vertex.expansion),
        end: view.end,
        link: link.and_then(|link| link.address(vertex.address)),
        members: Vec::new(),
    }
}

fn tooltip(view: &VertexView<'_>, tokens: &TokenList, chain_id: u64) -> Vec<String> {
    let vertex = view.vertex;
    let mut lines = vec![vertex.address.to_checksum(None)];
    lines.extend(names::listed(&vertex.labels, TOOLTIP_CHARS));
    let root = if view.is_root { "root, " } else { "" };
    lines.push(format!(
        "{root}hop {}, {}",
        vertex.hop,
        expansion_word(vertex.expansion)
    ));
    lines.extend((view.is_contract == Some(true)).then(|| "contract".to_owned()));
    let end = |end: EndReason| format!("trail ends: {}; {}", end.words(), end.next_step());
    lines.extend(view.end.map(end));
    lines.push(format!(
        "{}, {}",
        counted(vertex.in_degree.into(), "sender"),
        counted(vertex.out_degree.into(), "receiver")
    ));
    if let Some((first, last)) = vertex.blocks {
        lines.push(format!("blocks {first} to {last}"));
    }
    for totals in vertex.totals.iter().take(TOTALS_MAX) {
        for (word, count, amount) in [
            ("in", totals.in_transfers, totals.in_amount),
            ("out", totals.out_transfers, totals.out_amount),
        ] {
            if count > 0 {
                let amount = tokens.format_amount(chain_id, &totals.asset, amount);
                lines.push(format!("{word} {}", with_count(amount, count)));
            }
        }
    }
    if let Some(more @ 1..) = vertex.totals.len().checked_sub(TOTALS_MAX) {
        lines.push(format!("and {more} more assets"));
    }
    lines
}

/// The node of a group. `number` is that of the group and that of the node.
fn group_node(
    graph: &TransferGraph,
    arrows: &[Merged],
    tokens: &TokenList,
    (number, place): (usize, usize),
    group: &[usize],
) -> Node {
    let vertices = graph.graph.raw_nodes();
    let members: Vec<Address> = group
        .iter()
        .map(|member| vertices[*member].weight.address)
        .collect();
    let own: Vec<_> = (arrows.iter())
        .filter(|arrow| arrow.source == place || arrow.target == place)
        .collect();
    let total = match &own[..] {
        [arrow] => {
            let chain_id = graph.chain.chain_id;
            rounded_amount(tokens, chain_id, &arrow.asset, arrow.amount)
        }
        several => {
            let assets: BTreeSet<_> = several.iter().map(|arrow| arrow.asset).collect();
            let count: u64 = several.iter().map(|arrow| arrow.count).sum();
            format!(
                "{} of {}",
                counted(count, "transfer"),
                counted(assets.len() as u64, "token")
            )
        }
    };
    let mut tooltip = vec![format!("{} addresses", members.len())];
    let listed = members.iter().take(MEMBERS_MAX);
    tooltip.extend(listed.map(|address| address.to_checksum(None)));
    if let Some(more @ 1..) = members.len().checked_sub(MEMBERS_MAX) {
        tooltip.push(format!("and {more} more"));
    }
    let hops = group.iter().map(|member| vertices[*member].weight.hop);
    Node {
        id: format!("folded {}", number + 1),
        label: vec![format!("+{} others", members.len()), total],
        tooltip,
        shape: "folder",
        fill: "#F3F3F3",
        style: "filled",
        is_root: false,
        hop: hops.min().unwrap_or(0),
        column: 0,
        name: None,
        kind: "folded",
        end: None,
        link: None,
        members,
    }
}
