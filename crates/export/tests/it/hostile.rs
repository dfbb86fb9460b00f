//! Labels and symbols that try to break out of each format.

use crate::{
    pictures::parsed,
    shown::shown,
    tiny::{csv_rows, metadata, options, options_merged, tiny, vertex, written, written_text},
};
use graphviz_rust::dot_structures::{Graph, Id, Stmt};
use std::fs;
use txgraph_export::{
    DocumentFormat, GraphFormat, GraphOptions, TableFormat, Target, TokenList, printable,
    write_vertices,
};
use txgraph_graph::TransferGraph;
use txgraph_labels::Label;

const LABELS: [&str; 14] = [
    "\"];evil[label=\"x",
    "back\\slash\\",
    "\\\"",
    "<script>alert(1)</script>",
    "<<b>html</b>>",
    "line\nbreak\r\nand\ttab",
    "nul\0bell\u{7}esc\u{1b}[31m",
    "\u{202E}gnp.exe\u{202C}",
    "&lt;script&gt; &amp; &#34;",
    "=HYPERLINK(\"http://evil\",\"click\")",
    "]]></data><data key=\"e_sum\">1</data>",
    "\\N \\G \\E -> digraph { } /* // #",
    "'; DROP TABLE vertices; --",
    "火🦊\u{FFFF}",
];

fn labeled(label: &str) -> TransferGraph {
    let mut graph = tiny();
    let carol = vertex(&graph, "carol");
    graph.graph[carol].labels = [Label::named(label)].into_iter().collect();
    graph
}

/// Returns options with a token list that has this symbol.
fn options_with_symbol(symbol: &str) -> GraphOptions {
    let list = serde_json::json!({"tokens": [{
        "chainId": 1337,
        "address": "0x5553444300000000000000000000000000000000",
        "symbol": symbol,
        "decimals": 6,
    }]});
    let mut options = options();
    options.table.tokens = TokenList::parse(&list.to_string()).unwrap();
    options
}

#[test]
fn dot_parses_to_the_same_graph_with_any_label() {
    let count = |graph: &Graph| {
        let Graph::DiGraph { stmts, .. } = graph else {
            panic!("not directed")
        };
        // Headings of columns have arrows between them that are not drawn.
        let is_drawn = |stmt: &&Stmt| match stmt {
            Stmt::Edge(edge) => edge
                .attributes
                .iter()
                .all(|it| it.1 != Id::Plain("invis".into())),
            _ => false,
        };
        let edges = stmts.iter().filter(is_drawn).count();
        let nodes = stmts
            .iter()
            .filter(|stmt| matches!(stmt, Stmt::Node(_)))
            .count();
        (nodes, edges, stmts.len())
    };
    let parse = |graph: &TransferGraph, options: &GraphOptions| {
        let text = written_text(graph, DocumentFormat::Dot, options);
        assert!(
            text.chars()
                .all(|c| c == '\n' || printable(&c.to_string()) == c.to_string())
        );
        graphviz_rust::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let plain = count(&parse(&tiny(), &options()));
    assert_eq!(plain.0, 5);
    assert_eq!(plain.1, txgraph_graph::testing::merged(&tiny()).len());
    for label in LABELS {
        let graph = parse(&labeled(label), &options_with_symbol(label));
        assert_eq!(count(&graph), plain, "{label:?}");
        let Graph::DiGraph { stmts, .. } = &graph else {
            panic!("not directed")
        };
        let tooltips: Vec<_> = stmts
            .iter()
            .filter_map(|stmt| match stmt {
                Stmt::Node(node) => Some(&node.attributes),
                _ => None,
            })
            .flatten()
            .filter(|attribute| attribute.0 == Id::Plain("tooltip".into()))
            .map(|attribute| shown(&attribute.1))
            .collect();
        let wanted = format!("\n{}\n", printable(label));
        assert!(
            tooltips.iter().any(|tooltip| tooltip.contains(&wanted)),
            "{label:?} {tooltips:?}"
        );
    }
}

#[test]
fn xml_is_well_formed_and_keeps_labels() {
    for label in LABELS {
        let (graph, options) = (labeled(label), options_with_symbol(label));
        for merge in [false, true] {
            let options = GraphOptions {
                merge,
                ..options.clone()
            };
            let arrows = if merge {
                txgraph_graph::testing::merged(&graph).len()
            } else {
                graph.graph.edge_count()
            };
            for format in [DocumentFormat::GraphMl, DocumentFormat::Gexf] {
                let text = written_text(&graph, format, &options);
                let document = roxmltree::Document::parse(&text)
                    .unwrap_or_else(|error| panic!("{label:?}: {error}"));
                let count = |name: &'static str| {
                    document
                        .descendants()
                        .filter(|n| n.tag_name().name() == name)
                        .count()
                };
                assert_eq!(count("node"), 5, "{label:?}");
                assert_eq!(count("edge"), arrows, "{label:?}");
                let shown = printable(label);
                let kept = document.descendants().any(|node| {
                    node.text() == Some(&shown) || node.attribute("label") == Some(&shown)
                });
                assert!(kept, "{label:?}");
            }
        }
    }
}

/// networkx 3.6 does not know `biginteger` and other types of GEXF 1.3.
#[test]
fn gexf_has_only_types_that_networkx_reads() {
    for merge in [false, true] {
        let text = written_text(&tiny(), DocumentFormat::Gexf, &options_merged(merge));
        let document = roxmltree::Document::parse(&text).unwrap();
        let types: Vec<_> = document
            .descendants()
            .filter(|node| node.tag_name().name() == "attribute")
            .map(|node| node.attribute("type").unwrap())
            .collect();
        assert!(types.len() > 10);
        for word in types {
            assert!(
                ["string", "integer", "long", "float", "double", "boolean"].contains(&word),
                "{word}"
            );
        }
    }
}

/// Returns the data of a page, and the page without them.
fn page_data(html: &str) -> (serde_json::Value, String) {
    let (before, rest) = html.split_once("id=\"data\">").unwrap();
    let (data, after) = rest.split_once("</script>").unwrap();
    assert!(!data.contains(['<', '>', '&']), "{data}");
    (
        serde_json::from_str(data).unwrap(),
        format!("{before}{after}"),
    )
}

/// Labels and symbols are data of the page, never markup, script or a request.
#[test]
fn html_contains_labels_as_data_only() {
    let mut labels = LABELS.to_vec();
    labels.extend([
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]><img src=x onerror=alert(1)>",
        "%script%%",
        "javascript:alert(1)",
    ]);
    let html = |label| {
        let options = options_with_symbol(label);
        page_data(&written_text(
            &labeled(label),
            DocumentFormat::Html,
            &options,
        ))
    };
    let (_, plain) = html("x");
    for label in labels {
        let (data, page) = html(label);
        assert_eq!(page, plain, "{label:?}");
        let names: Vec<_> = data["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| &node["name"])
            .collect();
        let shown = printable(label.trim()).into_owned();
        assert!(
            names.iter().any(|name| **name == shown.as_str()),
            "{label:?}: {names:?}"
        );
    }
    // No request: the only address is the name of the XML namespace.
    let without = plain.replace("http://www.w3.org/2000/svg", "");
    for word in [
        "http://",
        "https://",
        "//cdn",
        "@import",
        "url(\"",
        "fetch(",
        "innerHTML",
        "eval(",
    ] {
        assert!(!without.contains(word), "{word}");
    }
    assert!(plain.contains("default-src 'none'"));
}

/// networkx, if it is installed, reads weights and times of GEXF as numbers.
#[test]
fn gexf_has_times_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.gexf");
    let mut graph = tiny();
    let options = options_merged(true);
    let text = written_text(&graph, DocumentFormat::Gexf, &options);
    fs::write(&path, &text).unwrap();
    assert!(
        text.contains("mode=\"dynamic\" timeformat=\"double\""),
        "{text}"
    );
    assert!(
        text.contains("weight=\"0.75\" start=\"1600001212\" end=\"1600001212\""),
        "{text}"
    );
    let script = "import sys, networkx as n\n\
                  g = n.read_gexf(sys.argv[1])\n\
                  e = [d for _, _, d in g.edges(data=True) if d['weight'] == 0.75]\n\
                  assert len(e) == 1 and e[0]['start'] == 1600001212.0, e\n";
    let has = |code: &str| {
        let mut python = std::process::Command::new("python3");
        python
            .args(["-c", code])
            .arg(&path)
            .stderr(std::process::Stdio::inherit());
        python.status().is_ok_and(|status| status.success())
    };
    #[expect(clippy::print_stderr, reason = "a skipped check must be visible")]
    if has("import importlib.util as u, sys; sys.exit(u.find_spec('networkx') is None)") {
        assert!(has(script), "networkx cannot read {text}");
    } else {
        eprintln!("networkx is not installed: not read by it");
    }
    // Without every time, no edge has one.
    let edge = graph.graph.edge_indices().next().unwrap();
    graph.graph[edge].transfer.block_timestamp = None;
    let text = written_text(&graph, DocumentFormat::Gexf, &options);
    assert!(
        text.contains("mode=\"static\"") && !text.contains(" start=\""),
        "{text}"
    );
}

/// Graphviz refuses quoted strings longer than 16 KB.
#[test]
fn long_labels_are_shortened_in_drawings_only() {
    let label = "x".repeat(100_000);
    let graph = labeled(&label);
    let dot = written_text(&graph, DocumentFormat::Dot, &options());
    assert!(dot.lines().all(|line| line.len() < 4096), "{dot}");
    assert!(dot.contains(&format!("{}…", "x".repeat(31))));
    for format in [
        DocumentFormat::Json,
        DocumentFormat::GraphMl,
        DocumentFormat::Gexf,
    ] {
        let text = written_text(&graph, format, &options());
        assert!(text.contains(&label), "{format}");
    }
    if crate::drawing::has_graphviz() {
        let svg = written(&graph, DocumentFormat::Svg, &options());
        assert!(svg.starts_with(b"<?xml"));
    }
}

/// Whatever labels and symbols contain, no text output has characters that move a cursor,
/// break a line or change the direction of writing.
#[test]
fn text_formats_have_no_hidden_characters() {
    let all: String = ('\0'..='\u{9f}')
        .chain("\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}".chars())
        .chain("\u{2060}\u{2066}\u{2069}\u{feff}\u{fff9}\u{e0001}\u{10ffff}".chars())
        .collect();
    let (graph, options) = (labeled(&all), options_with_symbol(&all));
    let is_clean = |text: &str| {
        let line = text.replace('\n', "");
        printable(&line) == line
    };
    for format in GraphFormat::ALL {
        if matches!(format.as_str(), "parquet" | "ipc" | "svg" | "png" | "gs") {
            continue;
        }
        let text = written_text(&graph, *format, &options);
        assert!(is_clean(&text), "{format}");
    }
    let folder = tempfile::tempdir().unwrap();
    for format in [TableFormat::Csv, TableFormat::Jsonl] {
        let target = Target::File(folder.path().join(format.as_str()));
        let mut metadata = metadata(&graph);
        metadata.question = serde_json::json!({ "root": all });
        write_vertices(&graph, format, &options, &metadata, &target, true).unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(is_clean(&text), "{format}");
        }
    }
}

#[test]
fn json_keeps_labels_and_csv_escapes_formulas() {
    let folder = tempfile::tempdir().unwrap();
    for label in LABELS {
        let graph = labeled(label);
        let json = written(&graph, DocumentFormat::Json, &options());
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let labels: Vec<_> = json["vertices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["label"].clone())
            .collect();
        assert!(labels.contains(&label.into()), "{labels:?}");

        let path = folder.path().join("v.csv");
        let target = Target::File(path.clone());
        write_vertices(
            &graph,
            TableFormat::Csv,
            &options(),
            &metadata(&graph),
            &target,
            true,
        )
        .unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap().lines().count(),
            6,
            "{label:?}"
        );
        let (_, rows) = csv_rows(&path);
        let field = rows
            .iter()
            .map(|row| &row[1])
            .find(|label| !label.is_empty())
            .unwrap();
        assert_eq!(field.replace('\'', ""), printable(label).replace('\'', ""));
        for part in field.split(';') {
            let part = part.trim_start();
            assert!(!part.starts_with(['=', '+', '-', '@']), "{field}");
        }
    }
}

/// Graphviz reads the DOT, and its SVG contains no script or link.
#[test]
fn svg_is_well_formed_without_scripts() {
    if !crate::drawing::has_graphviz() {
        return;
    }
    for label in LABELS {
        let options = options_with_symbol(label);
        let text = written_text(&labeled(label), DocumentFormat::Svg, &options);
        let document = parsed(&text).unwrap_or_else(|error| panic!("{label:?}: {error}"));
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            assert!(
                [
                    "svg", "g", "title", "a", "path", "polygon", "polyline", "ellipse", "text"
                ]
                .contains(&name),
                "{label:?}: <{name}>"
            );
            let link = node
                .attributes()
                .find(|a| a.name() == "href" || a.name().starts_with("on"));
            assert!(link.is_none(), "{label:?}: {link:?}");
        }
        let class = |class| {
            document
                .descendants()
                .filter(|n| n.attribute("class") == Some(class))
                .count()
        };
        // Three columns, with a heading and an arrow that is not drawn.
        assert_eq!(
            (class("node"), class("edge")),
            (5 + 3, txgraph_graph::testing::merged(&tiny()).len())
        );
    }
}
