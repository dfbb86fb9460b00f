//! The language of Graphviz (<https://graphviz.org/doc/info/lang.html>): its frame
//! by the syntax tree and printer of `graphviz-rust`, its many vertices and arrows
//! by `dot_rows`, which the same syntax tree checks in the tests.
//!
//! Labels and symbols are hostile until shown otherwise: everything is a quoted
//! string, so no label is ever HTML to Graphviz, and what is not seen as it is
//! (line breaks, control characters, changes of direction) is replaced.

use crate::{
    GraphOptions, Metadata, Result, TokenList, Written,
    arrows::Arrows,
    dot_rows::Rows,
    output::{Output, TextOutput},
    pieces::thread_count,
    text::{counted, printable},
};
use graphviz_rust::{
    dot_structures::{Attribute, Graph, GraphAttributes, Id, Node, NodeId, Stmt, Subgraph},
    printer::{DotPrinter, PrinterContext},
};
use txgraph_graph::{Expansion, LimitHit, TransferGraph};

/// Characters of a label that are drawn.
pub(crate) const LABEL_CHARS: usize = 32;

/// Characters of a label in a tooltip. Graphviz refuses strings of 16 KB.
pub(crate) const TOOLTIP_CHARS: usize = 256;

/// Characters of an amount that are drawn; the tooltip has all.
pub(crate) const AMOUNT_CHARS: usize = 48;

/// Lines of totals in a tooltip.
pub(crate) const TOTALS_MAX: usize = 10;

/// Assets of the legend.
const LEGEND_MAX: usize = 12;

pub(crate) fn write(
    graph: &TransferGraph,
    options: &GraphOptions,
    metadata: &Metadata,
    output: Output,
) -> Result<Written> {
    let threads = thread_count(options.table.threads);
    let mut text = TextOutput::with_threads(output, Some(threads));
    let arrows = Arrows::new(graph, !options.drawing.every_transfer, threads);
    let tokens = options.tokens.clone().unwrap_or_default();
    let (head, tail) = Pen::new(graph, &arrows, &tokens).frame(graph, metadata)?;
    let rows = Rows::new(graph, &arrows, &tokens, threads);
    text.buffer.extend_from_slice(head.as_bytes());
    text.write_items(graph.graph.node_count(), &|numbers, out| {
        rows.vertices(numbers, out);
        Ok(())
    })?;
    text.write_rows(arrows.len(), &|numbers, out| {
        rows.arrows(numbers, out);
        Ok(())
    })?;
    text.buffer.extend_from_slice(tail.as_bytes());
    text.finish(Some(metadata))
}

/// The file in memory, for a graph that is small enough to be drawn.
pub(crate) fn text(
    graph: &TransferGraph,
    arrows: &Arrows<'_>,
    options: &GraphOptions,
    metadata: &Metadata,
) -> Result<Vec<u8>> {
    let tokens = options.tokens.clone().unwrap_or_default();
    let (head, tail) = Pen::new(graph, arrows, &tokens).frame(graph, metadata)?;
    let rows = Rows::new(graph, arrows, &tokens, 1);
    let mut text = head.into_bytes();
    rows.vertices(0..graph.graph.node_count(), &mut text);
    rows.arrows(0..arrows.len(), &mut text);
    text.extend_from_slice(tail.as_bytes());
    Ok(text)
}

/// What every statement needs to know.
struct Pen<'a> {
    chain_id: u64,
    tokens: &'a TokenList,
    arrows: &'a Arrows<'a>,
}

impl<'a> Pen<'a> {
    fn new(graph: &TransferGraph, arrows: &'a Arrows<'a>, tokens: &'a TokenList) -> Self {
        Self {
            chain_id: graph.chain.chain_id,
            tokens,
            arrows,
        }
    }

    /// What stands before and behind the vertices and arrows.
    fn frame(&self, graph: &TransferGraph, metadata: &Metadata) -> Result<(String, String)> {
        let mut context = PrinterContext::default();
        // Printing an empty graph tells the context that edges are directed and
        // statements indented; its two ends go around our statements.
        let empty = Graph::DiGraph {
            id: text_id("transfers"),
            strict: false,
            stmts: Vec::new(),
        };
        let frame = empty.print(&mut context);
        let (head, tail) = frame.split_at(frame.rfind('}').unwrap_or(frame.len()));
        let mut head = format!("{}\n", head.trim_end());
        for statement in self.heading(graph, metadata)? {
            head.push_str(&statement.print(&mut context));
            head.push('\n');
        }
        Ok((head, format!("{tail}\n")))
    }

    fn heading(&self, graph: &TransferGraph, metadata: &Metadata) -> Result<Vec<Stmt>> {
        let about = metadata.to_json()?;
        Ok(vec![
            Stmt::GAttribute(GraphAttributes::Graph(vec![
                attribute("comment", quoted(&about)),
                attribute("label", shown(&title(graph, self.arrows, metadata), "\\l")),
                attribute("labelloc", plain("b")),
                attribute("labeljust", plain("l")),
                attribute("fontsize", plain("12")),
                attribute("rankdir", plain("LR")),
                attribute("fontname", text_id("Helvetica")),
                attribute("tooltip", text_id("")),
            ])),
            Stmt::GAttribute(GraphAttributes::Node(vec![
                attribute("shape", plain("ellipse")),
                attribute("style", plain("filled")),
                attribute("fillcolor", text_id("#FFFFFF")),
                attribute("fontname", text_id("Helvetica")),
                attribute("fontsize", plain("10")),
            ])),
            Stmt::GAttribute(GraphAttributes::Edge(vec![
                attribute("fontname", text_id("Helvetica")),
                attribute("fontsize", plain("8")),
                attribute("arrowsize", plain("0.6")),
            ])),
            Stmt::Subgraph(self.legend()),
        ])
    }

    /// A box with an entry for each of the busiest assets, in its colour.
    fn legend(&self) -> Subgraph {
        let mut stmts = vec![
            Stmt::Attribute(attribute("label", text_id("assets"))),
            Stmt::Attribute(attribute("labelloc", plain("t"))),
            Stmt::Attribute(attribute("color", text_id("#CCCCCC"))),
        ];
        let entry = |i: usize, label: &str, tooltip: &str, color: &str| {
            let attributes = vec![
                attribute("shape", plain("box")),
                attribute("label", text_id(label)),
                attribute("tooltip", text_id(tooltip)),
                attribute("fontcolor", text_id("#FFFFFF")),
                attribute("color", text_id(color)),
                attribute("fillcolor", text_id(color)),
            ];
            Stmt::Node(Node::new(
                NodeId(text_id(&format!("legend {i}")), None),
                attributes,
            ))
        };
        let assets = self.arrows.legend();
        for (i, asset) in assets.iter().take(LEGEND_MAX).enumerate() {
            let name = self.tokens.format_asset(self.chain_id, asset);
            let label = format!("{name} ({})", asset.token_standard);
            let tooltip = match asset.token_address {
                Some(token) => format!("{label}\n{}", token.to_checksum(None)),
                None => label.clone(),
            };
            stmts.push(entry(i, &label, &tooltip, self.arrows.color(asset)));
        }
        if let Some(more) = assets
            .len()
            .checked_sub(LEGEND_MAX)
            .filter(|more| *more > 0)
        {
            let label = format!("{more} more");
            stmts.push(entry(LEGEND_MAX, &label, &label, "#999999"));
        }
        Subgraph {
            id: text_id("cluster legend"),
            stmts,
        }
    }
}

/// How a vertex is drawn.
pub(crate) struct Look {
    pub(crate) shape: &'static str,
    pub(crate) fill: &'static str,
    pub(crate) style: &'static str,
    /// What people read below its name; may be empty.
    pub(crate) note: &'static str,
}

/// How a vertex is drawn.
pub(crate) const fn look(expansion: Expansion, is_root: bool) -> Look {
    let (shape, fill, style, note) = match expansion {
        _ if is_root => ("ellipse", "#FFE3C2", "filled,bold", ""),
        Expansion::Expanded | Expansion::LastHop => ("ellipse", "#FFFFFF", "filled", ""),
        Expansion::Hub => ("octagon", "#E6E6E6", "filled", "hub, not expanded"),
        Expansion::StopList => ("box", "#DCE9F9", "filled", "stop list, not expanded"),
        Expansion::ZeroAddress => ("diamond", "#E6E6E6", "filled", "mint and burn"),
        Expansion::Limit => ("ellipse", "#FFFFFF", "filled,dashed", "limit reached"),
    };
    Look {
        shape,
        fill,
        style,
        note,
    }
}

/// What the picture shows and, just as large, what it does not.
fn title(graph: &TransferGraph, arrows: &Arrows<'_>, metadata: &Metadata) -> String {
    let mut lines = vec![format!(
        "chain {}, blocks {}",
        graph.chain.chain_id, graph.blocks
    )];
    let (vertices, transfers) = (graph.graph.node_count(), graph.graph.edge_count());
    let merged = if arrows.len() < transfers {
        format!(" in {} arrows", arrows.len())
    } else {
        String::new()
    };
    let addresses = if vertices == 1 {
        "address"
    } else {
        "addresses"
    };
    let transfers = counted(transfers as u64, "transfer");
    lines.push(format!("{vertices} {addresses}, {transfers}{merged}"));
    for gap in &metadata.scan.missing {
        lines.push(format!(
            "INCOMPLETE: blocks {} are missing ({})",
            gap.blocks, gap.reason
        ));
    }
    lines.extend(graph.limits.iter().map(|limit| match limit {
        LimitHit::MaxDegree { limit, vertices } => {
            let hubs = counted(*vertices, "hub");
            format!("{hubs} not expanded (more than {limit} counterparties)")
        }
        LimitHit::StopList { vertices } => {
            format!("not expanded because of the stop list: {vertices}")
        }
        LimitHit::ZeroAddress => "the zero address is not expanded".to_owned(),
        LimitHit::MaxVertices {
            limit,
            transfers_left_out,
        } => {
            format!("cut at {limit} vertices: at least {transfers_left_out} transfers left out")
        }
        LimitHit::MaxEdges {
            limit,
            transfers_left_out,
        } => {
            format!("cut at {limit} edges: at least {transfers_left_out} transfers left out")
        }
    }));
    lines
        .iter()
        .map(|line| format!("{}\n", printable(line)))
        .collect()
}

fn attribute(name: &str, value: Id) -> Attribute {
    Attribute(plain(name), value)
}

/// A word of ours that needs no quotes.
fn plain(word: &str) -> Id {
    Id::Plain(word.to_owned())
}

/// Text that is shown, see [`escaped`].
fn text_id(text: &str) -> Id {
    shown(text, "\\n")
}

fn shown(text: &str, line_break: &str) -> Id {
    Id::Escaped(format!("\"{}\"", escaped(text, line_break)))
}

/// Text that is shown. Graphviz reads entities and escapes in it, so its `&`
/// and `\` are said by theirs; line breaks of ours become `line_break`: `\n` centres
/// the line before it, `\l` sets it left.
pub(crate) fn escaped(text: &str, line_break: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str(line_break),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text that is not shown, where Graphviz knows no escape but that of the quote.
/// A backslash before the last quote would hide it.
fn quoted(text: &str) -> Id {
    debug_assert!(!text.ends_with('\\'));
    Id::Escaped(format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arrows::{Arrow, arrow_label, with_count},
        fixtures::any_transfer,
        text::{printable_short, short_address},
        views::{VertexView, expansion_word, vertices},
    };
    use graphviz_rust::dot_structures::{Edge, EdgeTy, Vertex};
    use proptest::{option, prelude::*, sample::select};
    use std::fmt::Write;
    use txgraph_graph::{TransferGraph, testing};

    /// Vertices and arrows as a syntax tree: the plain twin of [`Rows`].
    impl Pen<'_> {
        fn vertex(&self, view: &VertexView<'_>) -> Stmt {
            let vertex = view.vertex;
            let mut label = String::new();
            if let Some(name) = &vertex.label {
                label = format!("{}\n", printable_short(name, LABEL_CHARS));
            }
            label.push_str(&short_address(vertex.address));
            let Look {
                shape,
                fill,
                style,
                note,
            } = look(vertex.expansion, view.is_root);
            if !note.is_empty() {
                label = format!("{label}\n{note}");
            }
            let mut attributes = vec![
                attribute("label", text_id(&label)),
                attribute("tooltip", text_id(&self.vertex_tooltip(view))),
            ];
            if shape != "ellipse" {
                attributes.push(attribute("shape", plain(shape)));
            }
            if style != "filled" {
                attributes.push(attribute("style", text_id(style)));
            }
            if fill != "#FFFFFF" {
                attributes.push(attribute("fillcolor", text_id(fill)));
            }
            if view.is_root {
                attributes.push(attribute("peripheries", plain("2")));
            }
            Stmt::Node(Node::new(vertex_id(vertex.address), attributes))
        }

        fn vertex_tooltip(&self, view: &VertexView<'_>) -> String {
            let vertex = view.vertex;
            let mut lines = vec![vertex.address.to_checksum(None)];
            lines.extend(
                vertex
                    .label
                    .as_deref()
                    .map(|label| printable_short(label, TOOLTIP_CHARS)),
            );
            let root = if view.is_root { "root, " } else { "" };
            lines.push(format!(
                "{root}hop {}, {}",
                vertex.hop,
                expansion_word(vertex.expansion)
            ));
            let senders = counted(vertex.in_degree.into(), "sender");
            lines.push(format!(
                "{senders}, {}",
                counted(vertex.out_degree.into(), "receiver")
            ));
            lines.extend(
                vertex
                    .blocks
                    .map(|(first, last)| format!("blocks {first}..={last}")),
            );
            for totals in vertex.totals.iter().take(TOTALS_MAX) {
                for (word, count, amount) in [
                    ("in", totals.in_transfers, totals.in_amount),
                    ("out", totals.out_transfers, totals.out_amount),
                ] {
                    if count > 0 {
                        let amount =
                            self.tokens
                                .format_amount(self.chain_id, &totals.asset, amount);
                        lines.push(format!("{word} {}", with_count(amount, count)));
                    }
                }
            }
            if vertex.totals.len() > TOTALS_MAX {
                lines.push(format!(
                    "and {} more assets",
                    vertex.totals.len() - TOTALS_MAX
                ));
            }
            lines.join("\n")
        }

        fn arrow(&self, arrow: &Arrow) -> Stmt {
            let exact = arrow_label(arrow, self.tokens, self.chain_id);
            let mut label = exact.clone();
            if label.chars().count() > AMOUNT_CHARS {
                // Part of a number would be a wrong number.
                let asset = self.tokens.format_asset(self.chain_id, &arrow.asset);
                let digits = arrow.amount.to_string().len();
                label = with_count(format!("{digits} digits of {asset}"), arrow.count);
            }
            let ends = [arrow.source, arrow.target].map(|end| end.to_checksum(None));
            let tooltip = format!("{exact}\n{} → {}", ends[0], ends[1]);
            let (color, width) = self.arrows.color_and_width(&arrow.asset, arrow.amount);
            let width = format!("{}.{}", width / 10, width % 10);
            let color = text_id(color);
            let end = |address| Vertex::N(vertex_id(address));
            Stmt::Edge(Edge {
                ty: EdgeTy::Pair(end(arrow.source), end(arrow.target)),
                attributes: vec![
                    attribute("label", text_id(&label)),
                    attribute("color", color.clone()),
                    attribute("fontcolor", color),
                    attribute("penwidth", plain(&width)),
                    attribute("tooltip", text_id(&tooltip)),
                    attribute("labeltooltip", text_id(&tooltip)),
                ],
            })
        }
    }

    fn vertex_id(address: alloy_primitives::Address) -> NodeId {
        NodeId(quoted(&format!("{address:#x}")), None)
    }

    /// Everything of the file but its frame.
    fn twin(pen: &Pen<'_>, graph: &TransferGraph) -> String {
        let mut context = PrinterContext::default();
        let id = text_id("transfers");
        let empty = Graph::DiGraph {
            id,
            strict: false,
            stmts: Vec::new(),
        };
        empty.print(&mut context);
        let vertices: Vec<_> = vertices(graph).map(|view| pen.vertex(&view)).collect();
        let arrows = pen.arrows.iter().map(|arrow| pen.arrow(&arrow));
        let mut text = String::new();
        for statement in vertices.into_iter().chain(arrows) {
            writeln!(text, "{}", statement.print(&mut context)).unwrap();
        }
        text
    }

    const EXPANSIONS: [Expansion; 6] = [
        Expansion::Expanded,
        Expansion::LastHop,
        Expansion::Hub,
        Expansion::StopList,
        Expansion::ZeroAddress,
        Expansion::Limit,
    ];

    proptest! {
        #[test]
        fn rows_are_those_of_the_syntax_tree(
            mut transfers in prop::collection::vec(any_transfer(), 1..30),
            places in prop::collection::vec((0usize..4, 0usize..4, 0usize..14), 30),
            looks in prop::collection::vec(
                (select(&EXPANSIONS[..]), option::of(any::<String>()), any::<u32>(), any::<bool>()),
                4,
            ),
            tokens in prop::collection::vec((any::<String>(), 0u8..40), 14),
            chain_id in select(vec![1u64, 5]),
            merge: bool,
        ) {
            // Few addresses and assets, so that arrows run side by side.
            let one = transfers[0].clone();
            let ends = [one.from_address, one.to_address, testing::address("a"), testing::address("0")];
            let token = |i: usize| testing::address(&format!("token{i}"));
            for (transfer, (from, to, asset)) in transfers.iter_mut().zip(&places) {
                transfer.from_address = ends[*from];
                transfer.to_address = ends[*to];
                transfer.token_address = (*asset > 0).then(|| token(*asset));
            }
            let mut graph = testing::graph(transfers);
            graph.chain.chain_id = chain_id;
            let numbers: Vec<_> = graph.graph.node_indices().collect();
            for (number, (expansion, label, hop, is_root)) in numbers.into_iter().zip(looks) {
                let vertex = &mut graph.graph[number];
                vertex.expansion = expansion;
                vertex.label = label;
                vertex.hop = hop;
                if is_root {
                    graph.roots.push(number);
                }
            }
            let list = serde_json::json!({"tokens": tokens.iter().enumerate().skip(5).map(|(i, (symbol, decimals))| {
                serde_json::json!({
                    "chainId": chain_id,
                    "address": token(i).to_string(),
                    "symbol": symbol,
                    "decimals": decimals,
                })
            }).collect::<Vec<_>>()});
            let tokens = TokenList::parse(&list.to_string()).unwrap();
            let arrows = Arrows::new(&graph, merge, 1);
            let rows = Rows::new(&graph, &arrows, &tokens, 1);
            let mut ours = Vec::new();
            rows.vertices(0..graph.graph.node_count(), &mut ours);
            rows.arrows(0..arrows.len(), &mut ours);
            let pen = Pen::new(&graph, &arrows, &tokens);
            prop_assert_eq!(String::from_utf8(ours).unwrap(), twin(&pen, &graph));
        }
    }
}
