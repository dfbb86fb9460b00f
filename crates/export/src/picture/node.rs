//! The nodes of a picture: vertices, and leaves that are folded.

use super::{
    Picture,
    column::columns,
    edge::PictureArrow,
    short_text::{different_digits, left_out},
    style::{LABEL_CHARS, TOOLTIP_CHARS, TOTALS_MAX, VertexStyle},
    text::{Text, push},
    unit::{Unit, push_transfers},
};
use crate::{
    graph_rows::vertices,
    label_text,
    text::{counted, printable_short, push_hex},
};
use alloy_primitives::Address;
use std::collections::BTreeSet;
use txgraph_graph::{Contracts, EndReason, TransferGraph, Vertex};

/// Folded addresses that a tooltip lists.
const MEMBERS_MAX: usize = 8;

/// A vertex, or several leaves as one. Its texts are made when they are written.
pub(crate) struct Node {
    stands_for: StandsFor,
    pub(crate) style: VertexStyle,
    pub(crate) is_root: bool,
    is_contract: Option<bool>,
    pub(crate) hop: u32,
    /// Its column: the hop, negative for senders to the left of a root.
    pub(crate) column: i64,
    /// Why the branch ends here.
    pub(crate) end: Option<EndReason>,
}

/// The vertices that a node stands for.
enum StandsFor {
    Vertex {
        number: usize,
        /// Digits at each end of its short address.
        digits: usize,
    },
    Leaves {
        /// The number of the group, from 1.
        number: usize,
        /// The numbers of the vertices.
        members: Vec<usize>,
        /// The total amount that they moved.
        total: String,
    },
}

/// Returns the nodes: vertices that are not folded, in order, then the groups. `place` has the node of each
/// vertex.
pub(super) fn nodes(
    graph: &TransferGraph,
    contracts: &Contracts,
    arrows: &[PictureArrow],
    groups: Vec<Vec<usize>>,
    place: &[usize],
    units: &[Unit],
) -> Vec<Node> {
    let first_folded = place.len() - groups.iter().map(Vec::len).sum::<usize>();
    let alone = vertices(graph, contracts).enumerate();
    let alone = alone.filter(|(number, _)| place[*number] < first_folded);
    let mut nodes: Vec<_> = alone
        .map(|(number, view)| Node {
            stands_for: StandsFor::Vertex { number, digits: 0 },
            style: VertexStyle::new(
                view.vertex.expansion,
                view.is_root,
                view.is_contract,
                view.end,
            )
            .of_kind(view.vertex.labels.kind(), view.is_root),
            is_root: view.is_root,
            is_contract: view.is_contract,
            hop: view.vertex.hop,
            column: 0,
            end: view.end,
        })
        .collect();
    let vertex = |number: usize| &graph.graph.raw_nodes()[number].weight;
    let addresses: Vec<_> = (nodes.iter())
        .filter_map(|node| node.vertex(graph))
        .map(|vertex| vertex.address)
        .collect();
    for (node, different) in nodes.iter_mut().zip(different_digits(&addresses)) {
        if let StandsFor::Vertex { digits, .. } = &mut node.stands_for {
            *digits = different;
        }
    }
    let mut own: Vec<Vec<&PictureArrow>> = vec![Vec::new(); groups.len()];
    for arrow in arrows {
        for end in [arrow.source, arrow.target] {
            if let Some(group) = end.checked_sub(first_folded) {
                own[group].push(arrow);
            }
        }
    }
    for (group, (members, own)) in groups.into_iter().zip(own).enumerate() {
        let hops = members.iter().map(|member| vertex(*member).hop);
        nodes.push(Node {
            style: VertexStyle::FOLDED,
            is_root: false,
            is_contract: None,
            hop: hops.min().unwrap_or(0),
            column: 0,
            end: None,
            stands_for: StandsFor::Leaves {
                number: group + 1,
                total: total(&own, units),
                members,
            },
        });
    }
    let hops: Vec<_> = nodes.iter().map(|node| node.hop).collect();
    let ends = arrows.iter().map(|arrow| (arrow.source, arrow.target));
    for (node, column) in nodes.iter_mut().zip(columns(graph, &hops, ends)) {
        node.column = column;
    }
    nodes
}

/// Returns what the arrows of a group moved.
fn total(arrows: &[&PictureArrow], units: &[Unit]) -> String {
    match arrows {
        [arrow] => units[arrow.asset].rounded(arrow.amount),
        several => {
            let assets: BTreeSet<_> = several.iter().map(|arrow| arrow.asset).collect();
            let count: u64 = several.iter().map(|arrow| arrow.count).sum();
            format!(
                "{} of {}",
                counted(count, "transfer"),
                counted(assets.len() as u64, "token")
            )
        }
    }
}

impl Node {
    /// Returns its vertex; `None` for folded leaves.
    pub(super) fn vertex<'a>(&self, graph: &'a TransferGraph) -> Option<&'a Vertex> {
        match self.stands_for {
            StandsFor::Vertex { number, .. } => Some(&graph.graph.raw_nodes()[number].weight),
            StandsFor::Leaves { .. } => None,
        }
    }

    /// Returns the numbers of the vertices that it stands for; none for a vertex.
    pub(crate) fn members(&self) -> &[usize] {
        match &self.stands_for {
            StandsFor::Vertex { .. } => &[],
            StandsFor::Leaves { members, .. } => members,
        }
    }
}

impl Picture<'_> {
    /// Returns the address of a vertex as text.
    pub(super) fn address(&self, number: usize) -> [u8; 42] {
        self.addresses[number]
    }

    /// Appends the identity of a node: the address; of folded leaves, the number of the group.
    pub(super) fn push_id(&self, node: &Node, out: &mut Vec<u8>) {
        match &node.stands_for {
            StandsFor::Vertex { number, .. } => {
                let address = &self.graph.graph.raw_nodes()[*number].weight.address;
                push_hex(out, address.as_slice());
            }
            StandsFor::Leaves { number, .. } => push(out, format_args!("folded {number}")),
        }
    }

    /// Appends the full address of a node; of folded leaves, their number.
    pub(super) fn push_address(&self, node: &Node, out: &mut Text<'_>) {
        match &node.stands_for {
            StandsFor::Vertex { number, .. } => out.put(&self.address(*number)),
            StandsFor::Leaves { members, .. } => {
                out.format(format_args!("{} addresses", members.len()));
            }
        }
    }

    /// Appends the lines of a label.
    pub(super) fn push_label(&self, node: &Node, out: &mut Text<'_>) {
        let (number, digits) = match &node.stands_for {
            StandsFor::Vertex { number, digits } => (*number, *digits),
            StandsFor::Leaves { members, total, .. } => {
                out.format(format_args!("+{} others", members.len()));
                out.end_line();
                return out.any(total);
            }
        };
        let labels = &self.graph.graph.raw_nodes()[number].weight.labels;
        if let Some(name) = label_text::drawn(labels, LABEL_CHARS) {
            out.any(&name);
            out.end_line();
        }
        let address = self.address(number);
        match left_out(digits) {
            Some(middle) => {
                out.put(&address[..middle.start]);
                out.put("…".as_bytes());
                out.put(&address[middle.end..]);
            }
            None => out.put(&address),
        }
        if !node.style.note.is_empty() {
            out.end_line();
            out.put(node.style.note.as_bytes());
        }
    }

    /// Appends the lines of a tooltip.
    pub(super) fn push_tooltip(&self, node: &Node, out: &mut Text<'_>) {
        self.push_address(node, out);
        let Some(vertex) = node.vertex(self.graph) else {
            return self.push_members(node.members(), out);
        };
        for line in label_text::listed(&vertex.labels, TOOLTIP_CHARS) {
            out.end_line();
            out.any(&line);
        }
        out.end_line();
        out.put(if node.is_root { b"root, hop " } else { b"hop " });
        out.integer(vertex.hop);
        out.put(b", ");
        out.put(vertex.expansion.as_str().as_bytes());
        if node.is_contract == Some(true) {
            out.end_line();
            out.put(b"contract");
        }
        if let Some(end) = node.end {
            out.end_line();
            for piece in ["branch ends: ", end.words(), "; ", end.next_step()] {
                out.put(piece.as_bytes());
            }
        }
        out.end_line();
        out.counted(vertex.in_degree.into(), "sender");
        out.put(b", ");
        out.counted(vertex.out_degree.into(), "receiver");
        if let Some((first, last)) = vertex.blocks {
            out.end_line();
            out.put(b"blocks ");
            out.integer(first);
            out.put(b" to ");
            out.integer(last);
        }
        for totals in vertex.totals.iter().take(TOTALS_MAX) {
            // Every asset of a vertex is the asset of an arrow.
            let Some(place) = self.places.get(&totals.asset) else {
                continue;
            };
            let unit = &self.units[*place];
            for (word, count, amount) in [
                (&b"in "[..], totals.in_transfers, totals.in_amount),
                (&b"out "[..], totals.out_transfers, totals.out_amount),
            ] {
                if count > 0 {
                    out.end_line();
                    out.put(word);
                    unit.push_exact(out, amount);
                    push_transfers(out, count);
                }
            }
        }
        if let Some(more @ 1..) = vertex.totals.len().checked_sub(TOTALS_MAX) {
            out.end_line();
            out.put(b"and ");
            out.counted(more as u64, "more asset");
        }
    }

    fn push_members(&self, members: &[usize], out: &mut Text<'_>) {
        for member in members.iter().take(MEMBERS_MAX) {
            out.end_line();
            out.put(&self.address(*member));
        }
        if let Some(more @ 1..) = members.len().checked_sub(MEMBERS_MAX) {
            out.end_line();
            out.format(format_args!("and {more} more"));
        }
    }

    /// Returns the name that a user gave to the address of a node.
    pub(super) fn name(&self, node: &Node) -> Option<String> {
        let name = node.vertex(self.graph)?.labels.name()?;
        Some(printable_short(name, TOOLTIP_CHARS))
    }

    /// Returns the word for the end of the search at a node.
    pub(super) fn kind(&self, node: &Node) -> &'static str {
        let vertex = node.vertex(self.graph);
        vertex.map_or("folded", |vertex| vertex.expansion.as_str())
    }

    /// Returns where a click on a node leads.
    pub(super) fn node_link(&self, node: &Node) -> Option<String> {
        let address: Address = node.vertex(self.graph)?.address;
        self.link.and_then(|link| link.address(address))
    }
}
