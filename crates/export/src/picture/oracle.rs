//! Every file is read back by `graphviz-rust`, and must have the nodes, arrows and texts of the picture.

#[path = "../../tests/it/shown.rs"]
mod shown;

use super::{dot, text::made, *};
use crate::{
    Fold, GraphOptions, Metadata, TokenList, fixtures::any_transfer, options::GraphInput, printable,
};
use graphviz_rust::dot_structures::{
    Attribute, EdgeTy, Graph, GraphAttributes, Id, NodeId, Stmt, Vertex,
};
use proptest::{option, prelude::*, sample::select};
use shown::shown;
use txgraph_graph::{Contracts, Expansion, testing};
use txgraph_labels::Label;

/// Returns the values of some attributes, without quotes and escapes; empty if there is none.
fn values<const N: usize>(attributes: &[Attribute], names: [&str; N]) -> Vec<String> {
    let value = |name: &str| {
        let found = attributes
            .iter()
            .find(|attribute| attribute.0 == Id::Plain(name.into()));
        found.map_or_else(String::new, |attribute| match &attribute.1 {
            Id::Plain(word) | Id::Html(word) => word.clone(),
            quoted => shown(quoted),
        })
    };
    names.map(value).to_vec()
}

/// A file as it is read back.
#[derive(Debug, Default, PartialEq)]
struct Plain {
    /// Identity, label, tooltip, shape, style, color, border and link.
    nodes: Vec<Vec<String>>,
    /// Source, target, label, tooltip, color, width and link.
    arrows: Vec<Vec<String>>,
}

/// Reads a file, and the comment and the title of the graph.
fn read(text: &str) -> (Plain, Vec<String>) {
    let graph = graphviz_rust::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let Graph::DiGraph { stmts, .. } = graph else {
        panic!("not directed")
    };
    let (mut plain, mut about) = (Plain::default(), Vec::new());
    for stmt in stmts {
        match stmt {
            Stmt::Node(node) => {
                let names = [
                    "label",
                    "tooltip",
                    "shape",
                    "style",
                    "fillcolor",
                    "peripheries",
                    "URL",
                ];
                let values = values(&node.attributes, names);
                plain.nodes.push([vec![shown(&node.id.0)], values].concat());
            }
            Stmt::Edge(edge) => {
                let EdgeTy::Pair(Vertex::N(NodeId(source, _)), Vertex::N(NodeId(target, _))) =
                    &edge.ty
                else {
                    panic!("{edge:?}")
                };
                let both = values(&edge.attributes, ["style", "labeltooltip", "fontcolor"]);
                // Between the headings of columns.
                if both[0] == "invis" {
                    continue;
                }
                let names = ["label", "tooltip", "color", "penwidth", "URL"];
                let values = values(&edge.attributes, names);
                assert_eq!(both[1..], values[1..3]);
                plain
                    .arrows
                    .push([vec![shown(source), shown(target)], values].concat());
            }
            Stmt::GAttribute(GraphAttributes::Graph(all)) => {
                about = values(&all, ["comment", "label"])
            }
            _ => {}
        }
    }
    (plain, about)
}

impl Plain {
    /// Returns the texts of a picture.
    fn of(picture: &Picture<'_>) -> Self {
        let text = |push: &dyn Fn(&mut Text<'_>)| made(|out| push(&mut Text::plain(out)));
        let id = |node: &Node| text(&|out| out.with(|out| picture.push_id(node, out)));
        let node = |node: &Node| {
            let style = &node.style;
            let border = if node.is_root { "2" } else { "" };
            vec![
                id(node),
                text(&|out| picture.push_label(node, out)),
                text(&|out| picture.push_tooltip(node, out)),
                style.shape.to_owned(),
                style.style.to_owned(),
                style.fill.to_owned(),
                border.to_owned(),
                picture.node_link(node).unwrap_or_default(),
            ]
        };
        let arrow = |(number, arrow): (usize, &PictureArrow)| {
            let width = format!("{}.{}", arrow.width / 10, arrow.width % 10);
            vec![
                id(&picture.nodes[arrow.source]),
                id(&picture.nodes[arrow.target]),
                text(&|out| picture.push_arrow_label(arrow, out)),
                text(&|out| picture.push_arrow_tooltip(number, out)),
                picture.colors[arrow.asset].to_owned(),
                width,
                picture.arrow_link(arrow).unwrap_or_default(),
            ]
        };
        Self {
            nodes: picture.nodes.iter().map(node).collect(),
            arrows: picture.arrows.iter().enumerate().map(arrow).collect(),
        }
    }
}

proptest! {
    #[test]
    fn file_reads_back_as_the_same_graph(
        mut transfers in prop::collection::vec(any_transfer(), 1..30),
        places in prop::collection::vec((0usize..9, 0usize..9, 0usize..14), 30),
        styles in prop::collection::vec(
            (select(Expansion::ALL), option::weighted(0.3, any::<String>()), any::<u32>(), any::<bool>()),
            4,
        ),
        tokens in prop::collection::vec((any::<String>(), 0u8..40), 14),
        contracts in prop::collection::vec(any::<Option<bool>>(), 4),
        chain_id in select(vec![1u64, 5]),
        layout in select(Layout::ALL),
        fold in select(vec![Fold::Auto, Fold::Off, Fold::Beyond(0), Fold::Beyond(1)]),
        every_transfer: bool,
        linked: bool,
        query: String,
    ) {
        // Few addresses and assets, so that there are parallel arrows and leaves.
        let one = transfers[0].clone();
        let named = ["a", "0", "b", "c", "d", "e", "f"].map(testing::address);
        let ends = [&[one.from_address, one.to_address][..], &named].concat();
        let token = |i: usize| testing::address(&format!("token{i}"));
        for (transfer, (from, to, asset)) in transfers.iter_mut().zip(&places) {
            transfer.from_address = ends[*from % (*to + 2)];
            transfer.to_address = ends[*to];
            transfer.token_address = (*asset > 0).then(|| token(*asset));
            transfer.block_number %= 1 << 40;
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
        let list = tokens.iter().enumerate().skip(5).map(|(i, (symbol, decimals))| {
            serde_json::json!({
                "chainId": chain_id,
                "address": token(i).to_string(),
                "symbol": symbol,
                "decimals": decimals,
            })
        });
        let list = serde_json::json!({ "tokens": list.collect::<Vec<_>>() });
        let mut list = TokenList::parse(&list.to_string()).unwrap();
        for (i, (symbol, decimals)) in tokens.iter().enumerate().take(3) {
            let claim = crate::ClaimedMetadata { symbol: Some(symbol.clone()), decimals: Some(*decimals) };
            list.claim(token(i), claim);
        }
        let known = graph.graph.node_weights().zip(&contracts);
        let known = known.filter_map(|(vertex, known)| Some((vertex.address, (*known)?)));
        let contracts: Contracts = known.collect();
        let mut options = GraphOptions { contracts, ..GraphOptions::new(chain_id) };
        options.table.tokens = list;
        options.drawing.every_transfer = every_transfer;
        options.drawing.fold = fold;
        options.drawing.layout = layout;
        options.drawing.link = linked.then(|| "https://a.org/{address}?b=c&d".parse().unwrap());
        let metadata = Metadata::new("graph", serde_json::json!({"kind": query}));
        let input = GraphInput { graph: &graph, options: &options, metadata: &metadata };
        let picture = Picture::new(input).unwrap();
        let layout = picture.layout;
        let text = dot::text(&picture, layout, &metadata).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (ours, about) = read(&text);
        prop_assert_eq!(ours, Plain::of(&picture));
        prop_assert_eq!(&about[0], &metadata.to_json().unwrap());
        // The title is a table, in angle brackets.
        let title = about[1].strip_prefix('<').unwrap().strip_suffix('>').unwrap();
        let table = roxmltree::Document::parse(title).unwrap();
        let words = table.descendants().find(|node| node.has_tag_name("B")).unwrap();
        prop_assert_eq!(words.text(), Some(picture.title.as_str()));
        prop_assert!(text.lines().all(|line| printable(line) == line));
    }
}
