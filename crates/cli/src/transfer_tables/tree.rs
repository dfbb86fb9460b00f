//! A graph as a tree: transfers are indented by their hop.

use crate::{
    table::{View, label, short_names::Names},
    transfer_tables::ROWS_MAX,
};
use std::collections::BTreeMap;
use txgraph::{
    Address, Asset, BlockTime, Direction, Expansion, MergedEdge, TransferGraph, Vertex, VertexId,
    parse::utc,
};

/// Hops that are indented. Deeper ones have their number.
const INDENTED_MAX: usize = 20;

/// Draws a graph as a tree, with a line for each sender, receiver and token, and whether lines
/// were left out.
///
/// The lines of an address follow the line that reached it first. An address that is reached
/// again has them only there.
pub(crate) fn tree(
    graph: &TransferGraph,
    merged: &[MergedEdge],
    view: &View<'_>,
) -> (String, bool) {
    let tokens = merged.iter().filter_map(|edge| edge.asset.token_address);
    let vertices = graph.graph.node_weights();
    let vertices = vertices.map(|vertex| (vertex.address, label(view.labels, vertex.address)));
    let mut tree = Tree {
        graph,
        view,
        names: Names::new(vertices.chain(tokens.map(|token| (token, None)))),
        below: below(graph, merged),
        is_drawn: vec![false; graph.graph.node_count()],
        lines: Vec::new(),
        zeros: zeros(graph),
    };
    for root in &graph.roots {
        tree.draw(*root);
    }
    // Addresses that are farther from the roots than the lines that reach them, e.g. in a search
    // that respects time.
    for vertex in graph.graph.node_indices() {
        if !tree.is_drawn[vertex.index()] && tree.below.contains_key(&vertex) {
            tree.draw(vertex);
        }
    }
    let is_cut = tree.lines.len() > ROWS_MAX;
    tree.lines.truncate(ROWS_MAX);
    let lines = tree.lines.iter();
    (lines.map(|line| format!("{line}\n")).collect(), is_cut)
}

/// The edges below a vertex, with the vertex at their other end.
type Below = BTreeMap<VertexId, Vec<(VertexId, MergedEdge)>>;

/// The edges by the vertex whose expansion found them; for each, in the order of the first
/// transfer, and those with one address together.
fn below(graph: &TransferGraph, merged: &[MergedEdge]) -> Below {
    let found = |id: VertexId, edge: &MergedEdge| {
        let vertex = &graph.graph[id];
        vertex.expansion == Expansion::Expanded && vertex.hop + 1 == edge.hop
    };
    let mut below = Below::new();
    for edge in merged {
        let (source, target) = (edge.source, edge.target);
        let is_outgoing = match graph.direction {
            Direction::Out => true,
            Direction::In => false,
            // The end whose expansion found the edge, the nearer one if it is both: vertices are in
            // the order of their hops.
            Direction::Both => match (found(source, edge), found(target, edge)) {
                (true, false) => true,
                (false, true) => false,
                _ => source <= target,
            },
        };
        let (owner, other) = if is_outgoing {
            (source, target)
        } else {
            (target, source)
        };
        below.entry(owner).or_default().push((other, edge.clone()));
    }
    for edges in below.values_mut() {
        let mut first: BTreeMap<VertexId, u64> = BTreeMap::new();
        for (other, edge) in &*edges {
            let block = first.entry(*other).or_insert(edge.first.0);
            *block = edge.first.0.min(*block);
        }
        edges.sort_by_key(|(other, edge)| (first[other], *other, edge.first.0, edge.asset));
    }
    below
}

fn zeros(graph: &TransferGraph) -> BTreeMap<(VertexId, VertexId, Asset), u64> {
    let mut zeros = BTreeMap::new();
    for edge in graph.graph.raw_edges() {
        let transfer = &edge.weight.transfer;
        if transfer.value.is_zero() {
            let key = (edge.source(), edge.target(), Asset::of(transfer));
            *zeros.entry(key).or_default() += 1;
        }
    }
    zeros
}

enum Step {
    Edge(VertexId, VertexId, MergedEdge, usize),
    Below(VertexId, usize),
}

struct Tree<'a> {
    graph: &'a TransferGraph,
    view: &'a View<'a>,
    names: Names,
    below: Below,
    /// By vertex: whether its lines are there.
    is_drawn: Vec<bool>,
    lines: Vec<String>,
    /// Transfers of nothing, by sender, receiver and asset.
    zeros: BTreeMap<(VertexId, VertexId, Asset), u64>,
}

impl Tree<'_> {
    /// Draws a vertex and what is below it.
    fn draw(&mut self, top: VertexId) {
        let vertex = &self.graph.graph[top];
        let hop = vertex.hop as usize;
        let mut line = format!("{}{}", indent(hop), self.name(vertex, false));
        if hop > 0 {
            line += &format!("  (hop {hop})");
        }
        self.lines.push(line + end(vertex));
        let mut steps = vec![Step::Below(top, hop)];
        while let Some(step) = steps.pop() {
            if self.lines.len() > ROWS_MAX {
                return;
            }
            match step {
                Step::Edge(owner, other, edge, hop) => {
                    let line = self.edge(owner, other, &edge, hop);
                    self.lines.push(line);
                }
                Step::Below(vertex, hop) => self.push_below(vertex, hop, &mut steps),
            }
        }
    }

    /// Adds the steps below a vertex, the first one last.
    fn push_below(&mut self, vertex: VertexId, hop: usize, steps: &mut Vec<Step>) {
        if std::mem::replace(&mut self.is_drawn[vertex.index()], true) {
            return;
        }
        let begin = steps.len();
        let edges = self.below.get(&vertex).map_or(&[][..], Vec::as_slice);
        for (place, (other, edge)) in edges.iter().enumerate() {
            steps.push(Step::Edge(vertex, *other, edge.clone(), hop + 1));
            let is_last = edges.get(place + 1).is_none_or(|(next, _)| next != other);
            if is_last && self.is_next(vertex, *other) {
                steps.push(Step::Below(*other, hop + 1));
            }
        }
        steps[begin..].reverse();
    }

    /// Whether a vertex is one hop farther than another.
    fn is_next(&self, vertex: VertexId, other: VertexId) -> bool {
        self.graph.graph[other].hop == self.graph.graph[vertex].hop + 1
    }

    fn edge(&self, owner: VertexId, other: VertexId, edge: &MergedEdge, hop: usize) -> String {
        let vertex = &self.graph.graph[other];
        let arrow = if edge.source == owner { '→' } else { '←' };
        let mut line = format!(
            "{}{arrow} {}",
            indent(hop),
            self.name(vertex, self.is_short())
        );
        line += &format!("  {}", self.amount(edge));
        if edge.count > 1 {
            let count = crate::table::thousands(edge.count);
            line += &format!(" in {count} transfers");
        }
        // Anyone can make them in the name of the sender.
        let key = (edge.source, edge.target, edge.asset);
        if let Some(zeros) = self.zeros.get(&key).filter(|_| !edge.sum.is_zero()) {
            line += &format!(", {} of them of nothing", crate::table::thousands(*zeros));
        }
        line += &format!("  {}", moments(edge));
        let is_elsewhere = self.is_drawn[other.index()] || !self.is_next(owner, other);
        if self.below.contains_key(&other) && is_elsewhere {
            line + "  (has its own lines)"
        } else {
            line + end(vertex)
        }
    }

    /// Whether addresses are shortened: on a terminal.
    const fn is_short(&self) -> bool {
        self.view.width.is_some()
    }

    fn name(&self, vertex: &Vertex, is_short: bool) -> String {
        let label = label(self.view.labels, vertex.address);
        let names = &self.names;
        names.text(vertex.address, label.as_deref(), is_short, is_short)
    }

    fn amount(&self, edge: &MergedEdge) -> String {
        let View {
            tokens, chain_id, ..
        } = *self.view;
        let text = tokens.format_amount(chain_id, &edge.asset, edge.sum);
        let short = |token: Address| self.names.text(token, None, false, self.is_short());
        let name = tokens.format_asset(chain_id, &edge.asset);
        match edge.asset.token_address {
            // Short addresses must differ here, too.
            Some(token) if tokens.lookup(chain_id, token).is_none() => {
                match text.strip_suffix(&name) {
                    Some(number) => format!("{number}{}", short(token)),
                    None => text,
                }
            }
            _ => text,
        }
    }
}

fn indent(hop: usize) -> String {
    let blanks = "  ".repeat(hop.min(INDENTED_MAX));
    if hop > INDENTED_MAX {
        format!("{blanks}[hop {hop}] ")
    } else {
        blanks
    }
}

/// Why the search ended at a vertex.
fn end(vertex: &Vertex) -> &'static str {
    match vertex.expansion {
        Expansion::Expanded | Expansion::LastHop => "",
        Expansion::Swap => "  (carries a swap)",
        Expansion::Hub => "  (hub, not expanded)",
        Expansion::StopList => "  (in the stop list, not expanded)",
        Expansion::ZeroAddress => "  (the zero address, not expanded)",
        Expansion::Limit => "  (a limit was reached here)",
    }
}

/// The minute of one transfer; the days of several.
fn moments(edge: &MergedEdge) -> String {
    let moment = |(block, time): (u64, Option<BlockTime>), chars: usize| match time {
        Some(time) => utc(time.seconds()).chars().take(chars).collect(),
        None => format!("block {block}"),
    };
    if edge.count == 1 {
        return moment(edge.first, "2024-01-31 06:49".len());
    }
    let day = |time| moment(time, "2024-01-31".len());
    match (day(edge.first), day(edge.last)) {
        (first, last) if first == last => first,
        (first, last) => format!("{first} to {last}"),
    }
}
