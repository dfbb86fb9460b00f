//! The file as a syntax tree of `graphviz-rust`, printed by its printer: what the writer
//! must produce, byte by byte.

use super::{
    style::{AMOUNT_CHARS, LABEL_CHARS, TOOLTIP_CHARS, TOTALS_MAX, VertexStyle, escaped},
    *,
};
use crate::{
    arrows::{Arrow, arrow_label, with_count},
    fixtures::any_transfer,
    legend::LEGEND_MAX,
    text::{counted, printable_short, short_address},
    views::{VertexView, expansion_word, vertices},
};
use graphviz_rust::{
    dot_structures::{
        Attribute, Edge, EdgeTy, Graph, GraphAttributes, Id, Node, NodeId, Stmt, Subgraph, Vertex,
    },
    printer::{DotPrinter, PrinterContext},
};
use proptest::{option, prelude::*, sample::select};
use txgraph_graph::{Contracts, Expansion, TransferGraph, testing};
use txgraph_labels::Label;
use txgraph_work::Threads;

/// Builds the statements.
struct Oracle<'a> {
    chain_id: u64,
    tokens: &'a TokenList,
    arrows: &'a Arrows<'a>,
    contracts: &'a Contracts,
}

impl Oracle<'_> {
    /// The whole file.
    fn text(&self, graph: &TransferGraph, metadata: &Metadata) -> Result<String> {
        let mut context = PrinterContext::default();
        // Printing an empty graph sets the context to directed edges and indented
        // statements; its two ends go around the statements.
        let empty = Graph::DiGraph {
            id: text_id("transfers"),
            strict: false,
            stmts: Vec::new(),
        };
        let frame = empty.print(&mut context);
        let (head, tail) = frame.split_at(frame.rfind('}').unwrap_or(frame.len()));
        let mut text = format!("{}\n", head.trim_end());
        let vertices: Vec<_> = vertices(graph, self.contracts)
            .map(|view| self.vertex(&view))
            .collect();
        let arrows = self.arrows.iter().map(|arrow| self.arrow(&arrow));
        let heading = self.heading(graph, metadata)?;
        for statement in heading.into_iter().chain(vertices).chain(arrows) {
            text.push_str(&statement.print(&mut context));
            text.push('\n');
        }
        Ok(format!("{text}{tail}\n"))
    }

    fn heading(&self, graph: &TransferGraph, metadata: &Metadata) -> Result<Vec<Stmt>> {
        let about = metadata.to_json()?;
        Ok(vec![
            Stmt::GAttribute(GraphAttributes::Graph(vec![
                attribute("comment", quoted(&about)),
                attribute(
                    "label",
                    shown(&title(graph, self.arrows, self.tokens, metadata), "\\l"),
                ),
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

fn attribute(name: &str, value: Id) -> Attribute {
    Attribute(plain(name), value)
}

/// A word that needs no quotes.
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

/// Text that is not shown, where Graphviz knows no escape but that of the quote.
/// A backslash before the last quote would hide it.
fn quoted(text: &str) -> Id {
    debug_assert!(!text.ends_with('\\'));
    Id::Escaped(format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"")
    ))
}

impl Oracle<'_> {
    fn vertex(&self, view: &VertexView<'_>) -> Stmt {
        let vertex = view.vertex;
        let mut label = String::new();
        if let Some(name) = vertex.labels.name() {
            label = format!("{}\n", printable_short(name, LABEL_CHARS));
        }
        label.push_str(&short_address(vertex.address));
        let VertexStyle {
            shape,
            fill,
            style,
            note,
        } = VertexStyle::new(vertex.expansion, view.is_root, view.is_contract, view.end)
            .of_kind(vertex.labels.kind(), view.is_root);
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
                .labels
                .name()
                .map(|label| printable_short(label, TOOLTIP_CHARS)),
        );
        let root = if view.is_root { "root, " } else { "" };
        lines.push(format!(
            "{root}hop {}, {}",
            vertex.hop,
            expansion_word(vertex.expansion)
        ));
        lines.extend((view.is_contract == Some(true)).then(|| "contract".to_owned()));
        lines.extend(
            (view.end).map(|end| format!("trail ends: {}; {}", end.words(), end.next_step())),
        );
        let senders = counted(vertex.in_degree.into(), "sender");
        lines.push(format!(
            "{senders}, {}",
            counted(vertex.out_degree.into(), "receiver")
        ));
        lines.extend(
            vertex
                .blocks
                .map(|(first, last)| format!("blocks {first}:{}", last.saturating_add(1))),
        );
        for totals in vertex.totals.iter().take(TOTALS_MAX) {
            for (word, count, amount) in [
                ("in", totals.in_transfers, totals.in_amount),
                ("out", totals.out_transfers, totals.out_amount),
            ] {
                if count > 0 {
                    let amount = self
                        .tokens
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
            // A number must not be cut.
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
    fn file_equals_printed_syntax_tree(
        mut transfers in prop::collection::vec(any_transfer(), 1..30),
        places in prop::collection::vec((0usize..4, 0usize..4, 0usize..14), 30),
        styles in prop::collection::vec(
            (select(&EXPANSIONS[..]), option::of(any::<String>()), any::<u32>(), any::<bool>()),
            4,
        ),
        tokens in prop::collection::vec((any::<String>(), 0u8..40), 14),
        contracts in prop::collection::vec(any::<Option<bool>>(), 4),
        chain_id in select(vec![1u64, 5]),
        merge: bool,
        question: String,
    ) {
        // Few addresses and assets, so that there are parallel arrows.
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
        for (number, (expansion, label, hop, is_root)) in numbers.into_iter().zip(styles) {
            let vertex = &mut graph.graph[number];
            vertex.expansion = expansion;
            vertex.labels = label.map(Label::named).into_iter().collect();
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
        let arrows = Arrows::new(&graph, merge, &Threads::one()).unwrap();
        let known = graph.graph.node_weights().zip(&contracts);
        let known = known.filter_map(|(vertex, known)| Some((vertex.address, (*known)?)));
        let contracts: Contracts = known.collect();
        let options = GraphOptions {
            tokens: Some(tokens.clone()),
            contracts: contracts.clone(),
            ..GraphOptions::new(chain_id)
        };
        let metadata = Metadata::new("graph", serde_json::json!({"root": question}));
        let ours = text(&graph, &arrows, &options, &metadata).unwrap();
        let ours = String::from_utf8(ours).unwrap();
        let oracle = Oracle { chain_id, tokens: &tokens, arrows: &arrows, contracts: &contracts };
        prop_assert_eq!(&ours, &oracle.text(&graph, &metadata).unwrap());
        prop_assert!(graphviz_rust::parse(&ours).is_ok());
    }
}
