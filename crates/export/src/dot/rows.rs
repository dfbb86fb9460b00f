//! The vertices and arrows of a DOT file, formatted into bytes without an allocation for
//! each. The unit of each asset is put together once.

use super::{
    checksum::{Capitals, all_capitals},
    style::{AMOUNT_CHARS, LABEL_CHARS, TOOLTIP_CHARS, TOTALS_MAX, VertexStyle, escaped},
};
use crate::{
    TokenList,
    arrows::{ArrowParts, Arrows, with_count},
    decimal::{push_integer, push_scaled},
    line::Line,
    names,
    views::expansion_word,
};
use alloy_primitives::{Address, map::HashMap};
use std::ops::Range;
use txgraph_graph::{AmountSum, Asset, Contracts, TransferGraph, Vertex};
use txgraph_work::{Threads, ThreadsError};

/// The vertices and arrows of one file.
pub(super) struct Rows<'a> {
    graph: &'a TransferGraph,
    arrows: &'a Arrows<'a>,
    is_root: Vec<bool>,
    contracts: &'a Contracts,
    /// The capitals of each vertex.
    capitals: Vec<Capitals>,
    units: HashMap<Asset, Unit>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        graph: &'a TransferGraph,
        arrows: &'a Arrows<'a>,
        tokens: &TokenList,
        contracts: &'a Contracts,
        threads: &Threads,
    ) -> Result<Self, ThreadsError> {
        let mut is_root = vec![false; graph.graph.node_count()];
        for root in &graph.roots {
            is_root[root.index()] = true;
        }
        let chain_id = graph.chain.chain_id;
        let unit = |asset: &Asset| (*asset, Unit::new(tokens, chain_id, asset));
        Ok(Self {
            graph,
            arrows,
            is_root,
            contracts,
            capitals: all_capitals(graph, threads)?,
            units: arrows.legend().iter().map(unit).collect(),
        })
    }

    /// Appends vertices.
    pub(super) fn vertices(&self, numbers: Range<usize>, out: &mut Vec<u8>) {
        let mut line = Line::new();
        numbers.for_each(|number| self.vertex(number, &mut line, out));
    }

    /// Appends arrows.
    pub(super) fn arrows(&self, numbers: Range<usize>, out: &mut Vec<u8>) {
        let mut line = Line::new();
        numbers.for_each(|number| self.arrow(number, &mut line, out));
    }

    fn vertex(&self, number: usize, line: &mut Line, out: &mut Vec<u8>) {
        let vertex = &self.graph.graph.raw_nodes()[number].weight;
        let is_root = self.is_root[number];
        let is_contract = self.contracts.get(vertex.address);
        let end = self.graph.end_reason(vertex, is_contract);
        let style = VertexStyle::new(vertex.expansion, is_root, is_contract, end)
            .of_kind(vertex.labels.kind(), is_root);
        push_id(out, line, b"  ", vertex.address);
        line.clear();
        self.capitals[number].push(line, vertex.address);
        let checksum = line.as_bytes();
        out.extend_from_slice(b"[label=\"");
        if let Some(name) = names::drawn(&vertex.labels, LABEL_CHARS) {
            push_escaped(out, &name);
            out.extend_from_slice(b"\\n");
        }
        out.extend_from_slice(&checksum[..6]);
        out.extend_from_slice("…".as_bytes());
        out.extend_from_slice(&checksum[38..]);
        if !style.note.is_empty() {
            out.extend_from_slice(b"\\n");
            out.extend_from_slice(style.note.as_bytes());
        }
        out.extend_from_slice(b"\" tooltip=\"");
        out.extend_from_slice(checksum);
        self.push_tooltip(vertex, is_root, out);
        out.push(b'"');
        if style.shape != "ellipse" {
            out.extend_from_slice(b" shape=");
            out.extend_from_slice(style.shape.as_bytes());
        }
        for (name, value, usual) in [
            ("style", style.style, "filled"),
            ("fillcolor", style.fill, "#FFFFFF"),
        ] {
            if value != usual {
                for piece in [" ", name, "=\"", value, "\""] {
                    out.extend_from_slice(piece.as_bytes());
                }
            }
        }
        if is_root {
            out.extend_from_slice(b" peripheries=2");
        }
        out.extend_from_slice(b"]\n");
    }

    fn push_tooltip(&self, vertex: &Vertex, is_root: bool, out: &mut Vec<u8>) {
        for line in names::listed(&vertex.labels, TOOLTIP_CHARS) {
            out.extend_from_slice(b"\\n");
            push_escaped(out, &line);
        }
        out.extend_from_slice(if is_root {
            b"\\nroot, hop "
        } else {
            b"\\nhop "
        });
        push_integer(out, vertex.hop);
        out.extend_from_slice(b", ");
        out.extend_from_slice(expansion_word(vertex.expansion).as_bytes());
        let is_contract = self.contracts.get(vertex.address);
        if is_contract == Some(true) {
            out.extend_from_slice(b"\\ncontract");
        }
        if let Some(end) = self.graph.end_reason(vertex, is_contract) {
            for piece in ["\\ntrail ends: ", end.words(), "; ", end.next_step()] {
                out.extend_from_slice(piece.as_bytes());
            }
        }
        out.extend_from_slice(b"\\n");
        push_counted(out, vertex.in_degree, "sender");
        out.extend_from_slice(b", ");
        push_counted(out, vertex.out_degree, "receiver");
        if let Some((first, last)) = vertex.blocks {
            out.extend_from_slice(b"\\nblocks ");
            push_integer(out, first);
            out.push(b':');
            push_integer(out, last.saturating_add(1));
        }
        for totals in vertex.totals.iter().take(TOTALS_MAX) {
            for (word, count, amount) in [
                ("\\nin ", totals.in_transfers, totals.in_amount),
                ("\\nout ", totals.out_transfers, totals.out_amount),
            ] {
                // Every asset of a vertex is the asset of an arrow.
                if let Some(unit) = self.units.get(&totals.asset).filter(|_| count > 0) {
                    out.extend_from_slice(word.as_bytes());
                    unit.push_amount(out, amount, count);
                }
            }
        }
        if let Some(more) = vertex.totals.len().checked_sub(TOTALS_MAX + 1) {
            out.extend_from_slice(b"\\nand ");
            push_integer(out, more + 1);
            out.extend_from_slice(b" more assets");
        }
    }

    fn arrow(&self, number: usize, line: &mut Line, out: &mut Vec<u8>) {
        let arrow = self.arrows.parts(number);
        let ArrowParts {
            source,
            target,
            asset,
            amount,
            count,
        } = &arrow;
        let Some(unit) = self.units.get(asset) else {
            debug_assert!(false, "an arrow of an unknown asset");
            return;
        };
        push_id(out, line, b"  ", source.1);
        push_id(out, line, b" -> ", target.1);
        out.extend_from_slice(b" [label=\"");
        let start = out.len();
        let chars = unit.push_amount(out, *amount, *count);
        // The exact amount for the tooltip, copied from the label if that has it.
        let mut exact = start..out.len();
        let mut long = Vec::new();
        if chars > AMOUNT_CHARS {
            // A number must not be cut.
            long.extend(out.drain(start..));
            let digits = amount.to_string().len();
            let label = with_count(format!("{digits} digits of {}", unit.name), *count);
            out.extend_from_slice(label.as_bytes());
            exact = 0..0;
        }
        let (color, width) = self.arrows.color_and_width(asset, *amount);
        for piece in [
            "\" color=\"",
            color,
            "\" fontcolor=\"",
            color,
            "\" penwidth=",
        ] {
            out.extend_from_slice(piece.as_bytes());
        }
        push_integer(out, width / 10);
        out.push(b'.');
        push_integer(out, width % 10);
        out.extend_from_slice(b" tooltip=\"");
        let start = out.len();
        out.extend_from_within(exact);
        out.extend_from_slice(&long);
        line.clear();
        line.text(b"\\n");
        self.capitals[source.0.index()].push(line, source.1);
        line.text(b" \xE2\x86\x92 ");
        self.capitals[target.0.index()].push(line, target.1);
        line.text(b"\"");
        out.extend_from_slice(line.as_bytes());
        let end = out.len();
        out.extend_from_slice(b" labeltooltip=\"");
        out.extend_from_within(start..end);
        out.extend_from_slice(b"]\n");
    }
}

/// Appends some text and the id of a vertex.
fn push_id<const N: usize>(out: &mut Vec<u8>, line: &mut Line, before: &[u8; N], address: Address) {
    line.clear();
    line.text(before);
    line.text(b"\"0x");
    line.hex(&address);
    line.byte(b'"');
    out.extend_from_slice(line.as_bytes());
}

/// Appends a count with its noun: `1 sender`, `2 senders`.
fn push_counted(out: &mut Vec<u8>, count: u32, one: &str) {
    push_integer(out, count);
    out.push(b' ');
    out.extend_from_slice(one.as_bytes());
    if count != 1 {
        out.push(b's');
    }
}

fn push_escaped(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(escaped(text, "\\n").as_bytes());
}

/// The unit of an asset: the text around a number in
/// [`TokenList::format_amount`](crate::TokenList::format_amount), escaped.
struct Unit {
    /// Decimal places.
    places: u8,
    /// The text after the number one, in the smallest unit.
    one: UnitText,
    /// The text after any other number.
    many: UnitText,
    /// The name of the asset.
    name: String,
}

struct UnitText {
    escaped: String,
    /// Characters before they were escaped.
    chars: usize,
}

impl Unit {
    fn new(tokens: &TokenList, chain_id: u64, asset: &Asset) -> Self {
        let words = |amount: u64| {
            let text = tokens.format_amount(chain_id, asset, AmountSum::from(amount));
            // The number has no space, and the unit follows the first one.
            let words = text.find(' ').map_or("", |space| &text[space..]);
            UnitText {
                escaped: escaped(words, "\\n"),
                chars: words.chars().count(),
            }
        };
        let name = tokens.format_asset(chain_id, asset);
        Self {
            places: tokens.decimals(chain_id, asset),
            one: words(1),
            many: words(2),
            name: escaped(&name, "\\n"),
        }
    }

    /// Appends an amount, and its number of transfers unless it is one. Returns the number of
    /// characters before they were escaped.
    fn push_amount(&self, out: &mut Vec<u8>, amount: AmountSum, count: u64) -> usize {
        let start = out.len();
        push_scaled(out, amount.as_limbs(), self.places);
        let one = amount == AmountSum::from(1);
        let words = if one { &self.one } else { &self.many };
        let mut chars = out.len() - start + words.chars;
        out.extend_from_slice(words.escaped.as_bytes());
        if count != 1 {
            let start = out.len();
            out.extend_from_slice(b" in ");
            push_integer(out, count);
            out.extend_from_slice(b" transfers");
            chars += out.len() - start;
        }
        chars
    }
}
