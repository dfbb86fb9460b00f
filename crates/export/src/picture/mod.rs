//! A graph as a picture for people: leaves folded, amounts rounded, a title in words.
//!
//! [`Picture`] is what is drawn, without positions. `dot` writes it for Graphviz, `html` for
//! a browser. The file format DOT is written by [`crate::dot`], with every vertex.

mod arrow;
mod column;
mod dot;
mod fold;
pub(crate) mod html;
mod layout;
mod link;
mod node;
mod place;
mod title;
mod width;
mod words;

pub use fold::{Fold, WrongFold};
pub use link::{Link, WrongLink};

pub(crate) use dot::text;
pub(crate) use layout::{layout_of, name as layout_name};
pub(crate) use title::{lines as coverage, title};

use crate::{
    Error, GraphOptions, Layout, Metadata, Result, TokenList,
    arrows::Arrows,
    legend::{LegendEntry, legend},
    names::{CategoryEntry, categories},
    text::counted,
};
use alloy_primitives::Address;
use arrow::Merged;
use node::nodes;
use txgraph_graph::{Asset, EndReason, TransferGraph};
use txgraph_work::Threads;
use words::{days, minute, moment};
pub use words::{rounded_amount, short_addresses};

/// A picture without positions.
pub(crate) struct Picture {
    /// The question in words.
    pub(crate) title: String,
    /// The chain, the counts, and what is left out.
    pub(crate) lines: Vec<String>,
    /// What the form of the picture hides.
    pub(crate) notes: Vec<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) arrows: Vec<PictureArrow>,
    pub(crate) legend: Vec<LegendEntry>,
    /// The kinds of labelled addresses.
    pub(crate) categories: Vec<CategoryEntry>,
}

/// A vertex, or several leaves as one.
pub(crate) struct Node {
    /// The address; of a folded node, its number.
    pub(crate) id: String,
    /// Lines of the label.
    pub(crate) label: Vec<String>,
    pub(crate) tooltip: Vec<String>,
    pub(crate) shape: &'static str,
    pub(crate) fill: &'static str,
    pub(crate) style: &'static str,
    pub(crate) is_root: bool,
    pub(crate) hop: u32,
    /// Its column: the hop, negative for senders to the left of a root.
    pub(crate) column: i64,
    /// The name that a user gave to the address.
    pub(crate) name: Option<String>,
    /// The word for the end of the search at this vertex.
    pub(crate) kind: &'static str,
    /// Why the trail ends here.
    pub(crate) end: Option<EndReason>,
    pub(crate) link: Option<String>,
    /// The addresses that it stands for; empty for a vertex.
    pub(crate) members: Vec<Address>,
}

/// An arrow with its style.
pub(crate) struct PictureArrow {
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// The place of the asset in the legend of [`Arrows`].
    pub(crate) asset: usize,
    pub(crate) amount: String,
    pub(crate) days: String,
    /// Whether the amount is drawn, and not only in the tooltip.
    pub(crate) is_labelled: bool,
    pub(crate) tooltip: Vec<String>,
    pub(crate) color: &'static str,
    /// In tenths of a point.
    pub(crate) width: usize,
    pub(crate) first: arrow::Moment,
    pub(crate) last: arrow::Moment,
    pub(crate) link: Option<String>,
}

impl Picture {
    /// Builds the picture of a graph. Fails if too much is left after folding.
    pub(crate) fn new(
        graph: &TransferGraph,
        options: &GraphOptions,
        metadata: &Metadata,
    ) -> Result<Self> {
        let drawing = &options.drawing;
        let unknown = TokenList::default();
        let tokens = options.tokens.as_ref().unwrap_or(&unknown);
        let styles = Arrows::new(graph, false, &Threads::one())?;
        let merged = arrow::merged(graph, drawing.every_transfer);
        let groups = fold::groups(graph, &merged, drawing.fold);
        let vertices = graph.graph.node_count();
        let (place, count) = places(vertices, &groups);
        let merged = folded(merged, &place, &groups);
        for (what, count, limit) in [
            ("vertices", count, drawing.vertices_max),
            ("edges", merged.len(), drawing.edges_max),
        ] {
            if count > limit {
                return Err(Error::TooLargeToDraw { what, count, limit });
            }
        }
        let contracts = &options.contracts;
        let link = drawing.link.as_ref();
        let nodes = nodes(graph, &merged, &groups, tokens, contracts, link);
        let hidden: usize = groups.iter().map(Vec::len).sum();
        let mut lines = title::lines(graph, metadata, merged.len());
        let mut notes = Vec::new();
        if hidden > 0 {
            let folded = counted(groups.len() as u64, "vertex").replace("vertexs", "vertices");
            notes.push(format!(
                "{hidden} addresses with a single counterparty are drawn as {folded}; \
                 tables and JSON contain each of them"
            ));
        }
        let chain_id = graph.chain.chain_id;
        let values: Option<Vec<_>> = drawing.prices.as_ref().map(|prices| {
            let value = |arrow: &Merged| prices.value(tokens, chain_id, &arrow.asset, arrow.amount);
            merged.iter().map(value).collect()
        });
        let widths = width::widths(&merged, &styles, values.as_deref());
        if let Some(values) = &values {
            lines.push("the width of an arrow is its value by the given prices".to_owned());
            if let unknown @ 1.. = values.iter().filter(|value| value.is_none()).count() {
                let arrows = counted(unknown as u64, "arrow");
                notes.push(format!("{arrows} without a price: one constant width"));
            }
        }
        let mut arrows = Vec::with_capacity(merged.len());
        for (number, arrow) in merged.iter().enumerate() {
            let amount = rounded_amount(tokens, chain_id, &arrow.asset, arrow.amount);
            arrows.push(PictureArrow {
                source: arrow.source,
                target: arrow.target,
                asset: (styles.legend().iter())
                    .position(|asset| *asset == arrow.asset)
                    .unwrap_or(0),
                amount: arrow.with_count(amount),
                days: match arrow.count {
                    1 => minute(arrow.first),
                    _ => days(arrow.first, arrow.last),
                },
                is_labelled: true,
                tooltip: {
                    let value = values.as_ref().and_then(|values| values[number]);
                    arrow_tooltip(arrow, &nodes, tokens, chain_id, value)
                },
                color: styles.color(&arrow.asset),
                width: widths[number],
                first: arrow.first,
                last: arrow.last,
                link: match (&drawing.link, &arrow.hashes[..]) {
                    (Some(link), [hash]) if arrow.count == 1 => link.transaction(*hash),
                    _ => None,
                },
            });
        }
        lines.extend(title::poisoning(graph));
        lines.extend(title::ends(metadata));
        lines.extend(title::shapes(&nodes));
        let mut picture = Self {
            title: title::title(graph, tokens),
            lines,
            notes,
            nodes,
            arrows,
            legend: legend(chain_id, &styles, tokens),
            categories: categories(graph),
        };
        picture.hide_labels(layout_of(&picture, drawing));
        Ok(picture)
    }

    /// Leaves amounts out where there are too many: only the widest arrows keep theirs.
    fn hide_labels(&mut self, layout: Layout) {
        let (all, widest) = labels_max(layout);
        if self.arrows.len() <= all {
            return;
        }
        let mut order: Vec<usize> = (0..self.arrows.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.arrows[*at].width));
        for at in order.into_iter().skip(widest) {
            self.arrows[at].is_labelled = false;
        }
        let note = "amounts of thin arrows are in tooltips only";
        self.notes.push(note.to_owned());
    }
}

/// The node of each vertex, and the number of nodes. Folded nodes are the last.
fn places(vertices: usize, groups: &[Vec<usize>]) -> (Vec<usize>, usize) {
    let mut group_of = vec![None; vertices];
    for (number, group) in groups.iter().enumerate() {
        for member in group {
            group_of[*member] = Some(number);
        }
    }
    let alone = group_of.iter().filter(|group| group.is_none()).count();
    let mut next = 0;
    let place = group_of.into_iter().map(|group| match group {
        Some(group) => alone + group,
        None => {
            next += 1;
            next - 1
        }
    });
    (place.collect(), alone + groups.len())
}

/// The arrows between nodes. Those of the leaves of one group become one per asset and
/// direction.
fn folded(arrows: Vec<Merged>, place: &[usize], groups: &[Vec<usize>]) -> Vec<Merged> {
    let first_folded = place.len() - groups.iter().map(Vec::len).sum::<usize>();
    let mut result: Vec<Merged> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    for arrow in arrows {
        let arrow = Merged {
            source: place[arrow.source],
            target: place[arrow.target],
            ..arrow
        };
        if arrow.source < first_folded && arrow.target < first_folded {
            result.push(arrow);
            continue;
        }
        let key: (usize, usize, Asset) = (arrow.source, arrow.target, arrow.asset);
        match known.get(&key) {
            Some(at) => {
                let sum: &mut Merged = &mut result[*at];
                sum.add(&arrow);
            }
            None => {
                known.insert(key, result.len());
                result.push(arrow);
            }
        }
    }
    result
}

/// The arrows up to which all have a drawn amount, and the number of amounts in larger pictures.
/// Around a centre, amounts are close to each other.
const fn labels_max(layout: Layout) -> (usize, usize) {
    match layout {
        Layout::Hops => (300, 60),
        Layout::Radial => (40, 30),
        Layout::Auto | Layout::Force => (150, 60),
    }
}

fn arrow_tooltip(
    arrow: &Merged,
    nodes: &[Node],
    tokens: &TokenList,
    chain_id: u64,
    value: Option<f64>,
) -> Vec<String> {
    let amount = tokens.format_amount(chain_id, &arrow.asset, arrow.amount);
    let end = |node: &Node| match node.members.len() {
        0 => node.tooltip.first().cloned().unwrap_or_default(),
        count => format!("{count} addresses"),
    };
    let mut lines = vec![
        arrow.with_count(amount),
        format!(
            "{} → {}",
            end(&nodes[arrow.source]),
            end(&nodes[arrow.target])
        ),
    ];
    // Any contract can have the same symbol.
    let token = arrow.asset.token_address;
    lines.extend(token.map(|token| format!("token {}", token.to_checksum(None))));
    lines.push(moment(arrow.first));
    if let Some(value) = value {
        lines.insert(1, format!("worth {value:.2} by the given prices"));
    }
    let times = lines.len() - 1;
    if arrow.last.0 != arrow.first.0 {
        lines[times].insert_str(0, "first ");
        lines.push(format!("last {}", moment(arrow.last)));
    }
    lines.extend(
        arrow
            .hashes
            .iter()
            .map(|hash| format!("transaction {hash:#x}")),
    );
    if arrow.count > arrow.hashes.len() as u64 && !arrow.hashes.is_empty() {
        lines.push(format!(
            "and {} more transfers",
            arrow.count - arrow.hashes.len() as u64
        ));
    }
    lines
}
