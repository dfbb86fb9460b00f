//! Pictures of 8 to 3,000 arrows: their size, their layout, and what they fold.
//! With `TXGRAPH_PICTURES=FOLDER`, the files are kept there to be looked at.

use crate::{
    drawing::has_graphviz,
    tiny::{metadata, options_drawn, write},
};
use std::fs;
use txgraph_export::{DocumentFormat, Drawing, Error, Fold, Layout, Target, Written, write_graph};
use txgraph_graph::{TransferGraph, testing};
use txgraph_transfers::{BlockTime, Direction};

/// Hops of each vertex from the first address.
fn rooted(transfers: &str, direction: Direction) -> TransferGraph {
    let mut transfers = testing::transfers(transfers);
    for (number, transfer) in transfers.iter_mut().enumerate() {
        transfer.block_timestamp = BlockTime::new(1_704_067_200 + 3_600 * number as u64);
    }
    let root = transfers[0].from_address;
    let mut graph = testing::graph(transfers);
    graph.direction = direction;
    let inner = &mut graph.graph;
    let start = inner
        .node_indices()
        .find(|node| inner[*node].address == root)
        .unwrap();
    graph.roots.push(start);
    let mut hops = vec![u32::MAX; inner.node_count()];
    hops[start.index()] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for other in inner.neighbors_undirected(node) {
            if hops[other.index()] == u32::MAX {
                hops[other.index()] = hops[node.index()] + 1;
                queue.push_back(other);
            }
        }
    }
    for node in inner.node_indices() {
        inner[node].hop = hops[node.index()];
    }
    graph
}

/// A chain of payments, each of which leaves a part behind.
fn peel(steps: usize) -> TransferGraph {
    let step = |at: usize| {
        let rest = 1_000_000_000 - 3_000_000 * (at as u64 + 1);
        format!(
            "p{at}>p{}:{rest}@USDC p{at}>q{at}:{}@USDC ",
            at + 1,
            3_000_017
        )
    };
    rooted(&(0..steps).map(step).collect::<String>(), Direction::Out)
}

/// A center that pays `leaves` addresses.
pub(crate) fn star(leaves: usize) -> TransferGraph {
    let leaf = |at: usize| format!("hub>leaf{at}:{}@USDC ", 1_000_000 + 977 * at);
    rooted(&(0..leaves).map(leaf).collect::<String>(), Direction::Out)
}

/// Random arrows between `vertices` addresses, several tokens.
fn dense(arrows: usize, vertices: u64) -> TransferGraph {
    let mut state = 1u64;
    let mut below = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut pairs = std::collections::BTreeSet::new();
    while pairs.len() < arrows {
        // Low numbers are more frequent, as hubs are.
        let from = below(vertices).min(below(vertices));
        pairs.insert((from, below(vertices)));
    }
    let token = ["@USDC", "@DAI", ""];
    let arrow = |(at, (from, to)): (usize, (u64, u64))| {
        format!("v{from}>v{to}:{}{} ", 1_000 + at * at, token[at % 3])
    };
    rooted(
        &pairs.into_iter().enumerate().map(arrow).collect::<String>(),
        Direction::Both,
    )
}

/// Writes a picture, and returns its bytes with what was written.
fn picture(
    name: &str,
    graph: &TransferGraph,
    format: DocumentFormat,
    drawing: Drawing,
) -> (Vec<u8>, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture");
    let target = Target::File(path.clone());
    let written = write(graph, format, &options_drawn(drawing), &target, false).unwrap();
    let bytes = fs::read(path).unwrap();
    if let Some(folder) = std::env::var_os("TXGRAPH_PICTURES") {
        let file = std::path::Path::new(&folder).join(format!("{name}.{format}"));
        fs::write(file, &bytes).unwrap();
    }
    (bytes, written)
}

fn folded(fold: Fold) -> Drawing {
    Drawing {
        fold,
        ..Drawing::default()
    }
}

pub(crate) fn parsed(svg: &str) -> Result<roxmltree::Document<'_>, roxmltree::Error> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..roxmltree::ParsingOptions::default()
    };
    roxmltree::Document::parse_with_options(svg, options)
}

/// The text of an SVG, with spaces and hyphens as they are seen.
fn spaced(svg: Vec<u8>) -> String {
    let text = String::from_utf8(svg).unwrap();
    text.replace("&#160;", " ").replace("&#45;", "-")
}

fn sides(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn png_has_at_most_8000_pixels_on_a_side() {
    if !has_graphviz() {
        return;
    }
    let unfolded = folded(Fold::Off);
    for (name, graph, drawing) in [
        ("peel8", peel(4), Drawing::default()),
        ("star100", star(100), Drawing::default()),
        ("star600", star(600), Drawing::default()),
        ("star600_unfolded", star(600), unfolded.clone()),
        ("dense200", dense(200, 116), Drawing::default()),
        ("dense600", dense(600, 500), Drawing::default()),
        ("dense1250", dense(1_250, 500), Drawing::default()),
        ("dense3000", dense(3_000, 700), Drawing::default()),
        ("peel200", peel(100), unfolded),
    ] {
        let (png, written) = picture(name, &graph, DocumentFormat::Png, drawing);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{name}");
        let (width, height) = sides(&png);
        assert!(
            width <= 8_000 && height <= 8_000,
            "{name}: {width} x {height}"
        );
        // Nothing is a thin stripe.
        assert!(width > 100 && height > 60, "{name}: {width} x {height}");
        let kept = std::env::var_os("TXGRAPH_PICTURES").is_some();
        #[expect(
            clippy::print_stderr,
            reason = "for the person who looks at the pictures"
        )]
        if kept {
            eprintln!(
                "{name}: {width} x {height}, {:?} rows, {:?}",
                written.rows, written.notes
            );
        }
    }
}

#[test]
fn star_is_folded_and_its_sum_is_written() {
    if !has_graphviz() {
        return;
    }
    let (svg, written) = picture("star", &star(100), DocumentFormat::Svg, Drawing::default());
    let text = spaced(svg);
    assert!(text.contains("+90 others"), "{text}");
    assert_eq!(written.rows, Some(11));
    assert!(
        written
            .notes
            .iter()
            .any(|note| note.starts_with("90 addresses with a single counterparty")),
        "{:?}",
        written.notes
    );
    let (_, written) = picture(
        "star_off",
        &star(100),
        DocumentFormat::Svg,
        folded(Fold::Off),
    );
    assert_eq!(written.rows, Some(100));
    // Around a center, more amounts would cover each other.
    let note =
        "amounts of thin arrows are left out (SVG and HTML have them in tooltips)".to_owned();
    assert!(written.notes.contains(&note), "{:?}", written.notes);
    let three = "3".parse().unwrap();
    let (_, written) = picture("star_3", &star(8), DocumentFormat::Svg, folded(three));
    assert_eq!(written.rows, Some(4));
}

#[test]
fn columns_are_hops() {
    if !has_graphviz() {
        return;
    }
    let (svg, _) = picture("columns", &peel(3), DocumentFormat::Svg, Drawing::default());
    let text = spaced(svg);
    for words in ["start", "hop 1", "hop 3", "2024-01-01", "997 USDC"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // Every vertex of a hop has the same x as the heading of its column.
    let document = parsed(&text).unwrap();
    let texts: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| {
            let x: f64 = node.attribute("x")?.parse().ok()?;
            Some((node.text()?.to_owned(), x))
        })
        .collect();
    let x = |words: &str| texts.iter().find(|(text, _)| text == words).unwrap().1;
    let near = |x: f64, chars: &str| {
        texts
            .iter()
            .filter(|(text, at)| text.starts_with(chars) && (at - x).abs() < 2.0)
            .count()
    };
    // The hop of the chain and the part that was left behind.
    for hop in 1..=3 {
        assert_eq!(
            near(x(&format!("hop {hop}")), "0x"),
            2,
            "hop {hop}: {texts:?}"
        );
    }
}

#[test]
fn every_layout_draws_and_links_lead_to_the_explorer() {
    if !has_graphviz() {
        return;
    }
    for layout in Layout::ALL {
        let drawing = Drawing {
            layout: *layout,
            link: Some("https://example.org/a/{address}?x=1&y=2".parse().unwrap()),
            ..Drawing::default()
        };
        let (svg, written) = picture(layout.as_str(), &star(30), DocumentFormat::Svg, drawing);
        let text = String::from_utf8(svg).unwrap();
        let document = parsed(&text).unwrap();
        let href = ("http://www.w3.org/1999/xlink", "href");
        let links = document
            .descendants()
            .filter_map(|node| node.attribute(href));
        let links: Vec<_> = links.collect();
        assert_eq!(links.len(), 31, "{layout}");
        assert!(
            links
                .iter()
                .all(|link| link.starts_with("https://example.org/a/0x")
                    && link.ends_with("?x=1&y=2")),
            "{links:?}"
        );
        assert!(written.notes.is_empty(), "{:?}", written.notes);
    }
}

#[cfg(unix)]
#[test]
fn slow_layout_is_an_error_and_is_never_replaced() {
    if !has_graphviz() {
        return;
    }
    let program =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/slow_columns.sh");
    for format in [DocumentFormat::Svg, DocumentFormat::Html] {
        let options = options_drawn(Drawing {
            program: program.clone(),
            time_max: std::time::Duration::from_secs(1),
            ..Drawing::default()
        });
        let folder = tempfile::tempdir().unwrap();
        let target = Target::File(folder.path().join("slow"));
        let error = write(&peel(4), format, &options, &target, false).unwrap_err();
        assert!(matches!(error, Error::GraphvizTooSlow { .. }), "{error}");
    }
}

/// Returns the document of a page after its script has run, or nothing without a browser.
fn document_in_browser(page: &std::path::Path) -> Option<String> {
    let program = std::env::var_os("TXGRAPH_CHROMIUM").unwrap_or_else(|| "chromium".into());
    let profile = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1400,900",
        ])
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    #[expect(clippy::print_stderr, reason = "a skipped check must be visible")]
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            eprintln!("chromium is not installed: pages are not opened");
            None
        }
    }
}

/// With and without Graphviz, each node has a place and each arrow is drawn.
#[test]
fn pages_draw_every_arrow() {
    let off = Fold::Off;
    for (name, graph, program) in [
        ("page10", peel(5), "dot"),
        ("page200", dense(200, 116), "dot"),
        ("page200_columns", dense(200, 116), "no-such-dot"),
        ("page3000", dense(3_000, 700), "dot"),
    ] {
        let drawing = Drawing {
            fold: off,
            program: program.into(),
            link: Some("https://example.org/{address}".parse().unwrap()),
            ..Drawing::default()
        };
        let (page, written) = picture(name, &graph, DocumentFormat::Html, drawing);
        let columns = written
            .notes
            .iter()
            .any(|note| note.starts_with("Graphviz was not used"));
        assert_eq!(
            columns,
            program != "dot" || !has_graphviz(),
            "{:?}",
            written.notes
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        fs::write(&file, page).unwrap();
        if let Some(document) = document_in_browser(&file) {
            let rows = written.rows.unwrap();
            let shown = format!("data-arrows=\"{rows}\" data-drawn=\"{rows}\" data-ready=\"yes\"");
            assert!(
                document.contains(&shown),
                "{name}: {}",
                &document[..document.len().min(4_000)]
            );
        }
    }
}

/// The picture itself states what the query left out, and what may be poisoning.
#[test]
fn pictures_state_filters_and_signs_of_poisoning() {
    let graph = rooted(
        "a>b:5@USDC a>b:0@USDC a>c:0@USDC a>d:7@USDC",
        Direction::Out,
    );
    let options = options_drawn(Drawing {
        program: "no-such-dot".into(),
        ..Drawing::default()
    });
    let mut metadata = metadata(&graph);
    metadata.question = serde_json::json!({
        "hops": 1, "kind": ["transfer", "mint"], "min-value": "USDC=100", "time-respecting": true,
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.html");
    let target = Target::File(path.clone());
    write_graph(
        &graph,
        DocumentFormat::Html,
        &options,
        &metadata,
        &target,
        false,
    )
    .unwrap();
    let page = fs::read_to_string(path).unwrap();
    for part in [
        "FILTERED, only transfers with: min-value USDC=100; kind transfer,mint; time-respecting",
        "POSSIBLE ADDRESS POISONING: 1 transfer of nothing",
        "and 1 of nothing",
        // In the details of an arrow, whose symbol any contract can have.
        &format!("\"token {}\"", testing::address("USDC").to_checksum(None)),
    ] {
        assert!(page.contains(part), "{part}");
    }
}
