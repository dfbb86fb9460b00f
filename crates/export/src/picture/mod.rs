//! A graph as a picture for people: leaves folded, amounts rounded, a title in words.
//!
//! [`Picture`] is what is drawn, without positions. `dot` writes it for Graphviz, `html` for
//! a browser.

mod checksum;
mod column;
pub(crate) mod dot;
mod edge;
mod fold;
mod grid;
pub(crate) mod html;
mod layout;
mod node;
#[cfg(test)]
mod oracle;
mod place;
mod short_text;
mod style;
mod text;
mod title;
mod unit;
mod width;

pub use grid::{Cell, cells};
pub use short_text::short_addresses;
pub use unit::rounded_amount;

pub(crate) use layout::name as layout_name;
pub(crate) use title::title as query_in_words;

use crate::{
    Error, Layout, Link, Result,
    drawn_edges::Arrows,
    label_text::{CategoryEntry, categories},
    legend::{LegendEntry, legend},
    options::GraphInput,
    text::{counted, push_hex},
};
use alloy_primitives::map::HashMap;
use checksum::checksummed;
use edge::PictureArrow;
use layout::layout_of;
use node::Node;
use short_text::{push_days, push_minute, push_moment};
use std::cmp::Reverse;
use text::Text;
use txgraph_base::number;
use txgraph_graph::{Asset, TransferGraph};
use unit::{Unit, push_transfers};

/// A picture without positions.
pub(crate) struct Picture<'a> {
    graph: &'a TransferGraph,
    link: Option<&'a Link>,
    /// The query in words.
    pub(crate) title: String,
    /// The chain, the counts, and what is left out.
    pub(crate) lines: Vec<String>,
    /// Notes on what the form of the picture hides.
    pub(crate) notes: Vec<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) arrows: Vec<PictureArrow>,
    /// Values of the arrows by given prices.
    values: Option<Vec<Option<f64>>>,
    pub(crate) legend: Vec<LegendEntry>,
    /// The chosen layout, or the one that fits. Never [`Layout::Auto`].
    pub(crate) layout: Layout,
    /// The kinds of labeled addresses.
    pub(crate) categories: Vec<CategoryEntry>,
    /// The place of each asset in the legend of [`Arrows`].
    places: HashMap<Asset, usize>,
    /// By place of the asset.
    units: Vec<Unit>,
    /// By place of the asset.
    colors: Vec<&'static str>,
    /// As text, by number of the vertex.
    addresses: Vec<[u8; 42]>,
}

impl<'a> Picture<'a> {
    /// Builds a picture that is drawn. Fails if too much is left after folding.
    pub(crate) fn drawable(input: GraphInput<'a>) -> Result<Self> {
        let picture = Self::new(input)?;
        let drawing = &input.options.drawing;
        for (what, count, limit) in [
            ("vertices", picture.nodes.len(), drawing.vertices_max),
            ("edges", picture.arrows.len(), drawing.edges_max),
        ] {
            if count > limit {
                return Err(Error::TooLargeToDraw { what, count, limit });
            }
        }
        Ok(picture)
    }

    /// Builds the picture of a graph of any size.
    pub(crate) fn new(input: GraphInput<'a>) -> Result<Self> {
        let (graph, options) = (input.graph, input.options);
        let (drawing, threads) = (&options.drawing, &options.table.threads);
        let chain_id = graph.chain.chain_id;
        let tokens = &options.table.tokens;
        let styles = Arrows::new(graph, false, threads)?;
        let assets = styles.legend();
        let places = assets.iter().copied().zip(0..).collect();
        let mut arrows = edge::merged(graph, &places, drawing.every_transfer);
        let groups = fold::groups(graph, &arrows, assets, drawing.fold);
        let place = place_of_each(graph.graph.node_count(), &groups);
        let hidden: usize = groups.iter().map(Vec::len).sum();
        let mut notes = Vec::new();
        if hidden > 0 {
            edge::fold(&mut arrows, &place, place.len() - hidden);
            let folded = number(groups.len() as u64, "vertex", "vertices");
            notes.push(format!(
                "{hidden} addresses with a single counterparty are drawn as {folded}; \
                 tables and JSON contain each of them"
            ));
        }
        let units: Vec<_> = (assets.iter())
            .map(|asset| Unit::new(tokens, chain_id, asset))
            .collect();
        let nodes = node::nodes(graph, &options.contracts, &arrows, groups, &place, &units);
        let mut lines = title::lines(graph, input.metadata, arrows.len());
        let values: Option<Vec<_>> = drawing.prices.as_ref().map(|prices| {
            let value = |arrow: &PictureArrow| {
                prices.value(tokens, chain_id, &assets[arrow.asset], arrow.amount)
            };
            arrows.iter().map(value).collect()
        });
        width::set_widths(&mut arrows, &styles, values.as_deref());
        if let Some(values) = &values {
            lines.push("the width of an arrow is its value by the given prices".to_owned());
            if let unknown @ 1.. = values.iter().filter(|value| value.is_none()).count() {
                let arrows = counted(unknown as u64, "arrow");
                notes.push(format!("{arrows} without a price: one constant width"));
            }
        }
        lines.extend(title::poisoning(graph));
        lines.extend(title::ends(input.metadata));
        lines.extend(title::shapes(&nodes));
        let vertices = graph.graph.node_weights();
        let addresses: Vec<_> = vertices.map(|vertex| vertex.address).collect();
        let mut picture = Self {
            graph,
            link: drawing.link.as_ref(),
            title: title::title(graph, assets, tokens),
            lines,
            notes,
            nodes,
            arrows,
            values,
            layout: drawing.layout,
            legend: legend(chain_id, &styles, tokens),
            categories: categories(graph),
            colors: assets.iter().map(|asset| styles.color(asset)).collect(),
            places,
            units,
            addresses: checksummed(&addresses),
        };
        picture.layout = layout_of(&picture, drawing.layout);
        picture.hide_labels();
        Ok(picture)
    }

    /// Returns the columns from left to right, each with the numbers of its nodes.
    fn columns(&self) -> Vec<(i64, Vec<usize>)> {
        let column = |number: &usize| self.nodes[*number].column;
        let mut numbers: Vec<usize> = (0..self.nodes.len()).collect();
        numbers.sort_by_key(column);
        let columns = numbers.chunk_by(|one, next| column(one) == column(next));
        columns
            .map(|nodes| (column(&nodes[0]), nodes.to_vec()))
            .collect()
    }

    /// Leaves amounts out where there are too many: only the widest arrows keep theirs.
    fn hide_labels(&mut self) {
        let (all, widest) = labels_max(self.layout);
        let arrows = &mut self.arrows;
        if arrows.len() <= all {
            return;
        }
        let mut order: Vec<usize> = (0..arrows.len()).collect();
        let (kept, ..) =
            order.select_nth_unstable_by_key(widest, |at| (Reverse(arrows[*at].width), *at));
        arrows.iter_mut().for_each(|arrow| arrow.is_labeled = false);
        kept.iter().for_each(|at| arrows[*at].is_labeled = true);
        let note = "amounts of thin arrows are left out (SVG and HTML have them in tooltips)";
        self.notes.push(note.to_owned());
    }

    /// Appends the lines of the label of an arrow: its amount, and when its transfers were.
    fn push_arrow_label(&self, arrow: &PictureArrow, out: &mut Text<'_>) {
        self.units[arrow.asset].push_rounded(out, arrow.amount);
        push_count(arrow, out);
        out.end_line();
        out.with(|out| match arrow.count {
            1 => push_minute(out, arrow.first),
            _ => push_days(out, arrow.first, arrow.last),
        });
    }

    /// Appends the lines of the tooltip of an arrow.
    fn push_arrow_tooltip(&self, number: usize, out: &mut Text<'_>) {
        let arrow = &self.arrows[number];
        let unit = &self.units[arrow.asset];
        unit.push_exact(out, arrow.amount);
        push_count(arrow, out);
        if let Some(value) = self.values.as_ref().and_then(|values| values[number]) {
            out.end_line();
            out.format(format_args!("worth {value:.2} by the given prices"));
        }
        out.end_line();
        self.push_address(&self.nodes[arrow.source], out);
        out.put(" → ".as_bytes());
        self.push_address(&self.nodes[arrow.target], out);
        for line in &unit.token {
            out.end_line();
            out.put(line.as_bytes());
        }
        out.end_line();
        if arrow.last.0 != arrow.first.0 {
            out.put(b"first ");
            out.with(|out| push_moment(out, arrow.first));
            out.end_line();
            out.put(b"last ");
        }
        out.with(|out| push_moment(out, arrow.last));
        let hashes = arrow.hashes(self.graph);
        let more = arrow.count - hashes.len() as u64;
        let some = hashes.len() > 0;
        for hash in hashes {
            out.end_line();
            out.put(b"transaction ");
            out.with(|out| push_hex(out, hash.as_slice()));
        }
        if some && more > 0 {
            out.end_line();
            out.put(b"and ");
            out.counted(more, "more transfer");
        }
    }

    /// Returns where a click on an arrow leads.
    fn arrow_link(&self, arrow: &PictureArrow) -> Option<String> {
        let link = self.link.filter(|_| arrow.count == 1)?;
        link.transaction(arrow.hashes(self.graph).next()?)
    }
}

/// Appends the number of transfers of an arrow. Transfers of nothing, which anyone can make in
/// the name of the sender, are counted by themselves.
fn push_count(arrow: &PictureArrow, out: &mut Text<'_>) {
    match (arrow.count - arrow.zeros, arrow.zeros) {
        (_, 0) | (0, _) => push_transfers(out, arrow.count),
        (moved, zeros) => {
            push_transfers(out, moved);
            out.format(format_args!(" and {zeros} of nothing"));
        }
    }
}

/// Returns the node of each vertex. Folded nodes are the last.
fn place_of_each(vertices: usize, groups: &[Vec<usize>]) -> Vec<usize> {
    let alone = vertices - groups.iter().map(Vec::len).sum::<usize>();
    let mut place = vec![usize::MAX; vertices];
    for (number, group) in groups.iter().enumerate() {
        for member in group {
            place[*member] = alone + number;
        }
    }
    let unfolded = place.iter_mut().filter(|place| **place == usize::MAX);
    unfolded.zip(0..).for_each(|(place, next)| *place = next);
    place
}

/// The arrows up to which all have a drawn amount, and the number of amounts in larger pictures.
/// Around a center, amounts are close to each other.
const fn labels_max(layout: Layout) -> (usize, usize) {
    match layout {
        Layout::Hops => (300, 60),
        Layout::Radial => (40, 30),
        Layout::Auto | Layout::Force => (150, 60),
    }
}
