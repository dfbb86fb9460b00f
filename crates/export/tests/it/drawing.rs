//! SVG and PNG through Graphviz: with it, without it, and if it misbehaves.

use crate::tiny::{options, options_drawn, tiny, write, written, written_text};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use txgraph_export::{DocumentFormat, Drawing, Error, Result, Target, Written};

/// Whether Graphviz is installed. Prints a line if it is not, as the test is skipped.
pub(crate) fn has_graphviz() -> bool {
    let found = Command::new("dot")
        .arg("-V")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    #[expect(clippy::print_stderr, reason = "a skipped test must be visible")]
    if !found {
        eprintln!("graphviz is not installed: skipped");
    }
    found
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// Draws with these options, and checks that a failure leaves no file.
fn draw(drawing: Drawing) -> Result<Written> {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("graph.svg"));
    let options = options_drawn(drawing);
    let result = write(&tiny(), DocumentFormat::Svg, &options, &target, false);
    if result.is_err() {
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    result
}

#[test]
fn pictures() {
    if !has_graphviz() {
        return;
    }
    let text = written_text(&tiny(), DocumentFormat::Svg, &options());
    for words in [
        "0x616C…0000",
        "Carol&#39;s =exchange, &quot;hot&quot;",
        "INCOMPLETE: blocks 90:100 are missing (receipts pruned)",
        "1 hub not expanded (more than 100 counterparties)",
        "0.75 USDC in 2 transfers",
        "2 ETH",
    ] {
        let spaced = words.replace(' ', "&#160;");
        assert!(
            text.contains(words) || text.contains(&spaced),
            "{words}\n{text}"
        );
    }
    assert_eq!(
        text,
        written_text(&tiny(), DocumentFormat::Svg, &options()),
        "drawn twice"
    );
    let png = written(&tiny(), DocumentFormat::Png, &options());
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let every = Drawing {
        every_transfer: true,
        ..Drawing::default()
    };
    let edges = tiny().graph.edge_count() as u64;
    assert_eq!(draw(every).unwrap().rows, Some(edges));
    assert_eq!(
        draw(Drawing::default()).unwrap().rows,
        Some(txgraph_graph::testing::merged(&tiny()).len() as u64)
    );
}

/// Graphviz draws the same from the file as from what we give it.
#[test]
fn dot_file_is_the_picture() {
    if !has_graphviz() {
        return;
    }
    let (tiny, star) = (tiny(), crate::pictures::star(60));
    for (graph, rows) in [(&tiny, 8), (&star, 11)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.dot");
        let target = Target::File(path.clone());
        let options = options();
        let file = write(graph, DocumentFormat::Dot, &options, &target, false).unwrap();
        let drawn = Command::new("dot")
            .arg("-Tsvg")
            .arg(&path)
            .output()
            .unwrap();
        assert!(drawn.status.success(), "{drawn:?}");
        let ours = written_text(graph, DocumentFormat::Svg, &options);
        assert_eq!(String::from_utf8(drawn.stdout), Ok(ours));
        // What is folded is stated for both.
        assert_eq!(
            (file.rows, file.notes.len()),
            (Some(rows), usize::from(rows > 10))
        );
    }
}

#[test]
fn too_much_to_draw_is_refused_but_not_as_dot() {
    for (drawing, what) in [
        (
            Drawing {
                vertices_max: 4,
                ..Drawing::default()
            },
            "5 vertices are too many",
        ),
        (
            Drawing {
                edges_max: 3,
                ..Drawing::default()
            },
            "edges are too many to draw (limit 3)",
        ),
    ] {
        let error = draw(drawing.clone()).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.hint().unwrap().contains("fewer hops"));
        written(&tiny(), DocumentFormat::Dot, &options_drawn(drawing));
    }
}

#[test]
fn without_graphviz_the_hint_says_how_to_install_it() {
    let error = draw(Drawing {
        program: "no-such-dot".into(),
        ..Drawing::default()
    })
    .unwrap_err();
    assert!(matches!(error, Error::NoGraphviz { .. }), "{error}");
    assert!(error.hint().unwrap().contains("apt install graphviz"));
}

#[cfg(unix)]
#[test]
fn misbehaving_graphviz_is_stopped_and_reported() {
    // It never finishes by itself, and this returns after it has ended.
    let slow = Drawing {
        program: program("slow.sh"),
        time_max: Duration::from_millis(300),
        ..Drawing::default()
    };
    assert!(matches!(draw(slow), Err(Error::GraphvizTooSlow { .. })));

    let broken = Drawing {
        program: program("broken.sh"),
        ..Drawing::default()
    };
    let error = draw(broken).unwrap_err().to_string();
    assert!(
        error.contains("broken.sh") && error.contains("cannot draw"),
        "{error}"
    );

    let endless = Drawing {
        program: program("endless.sh"),
        bytes_max: 100_000,
        ..Drawing::default()
    };
    let error = draw(endless).unwrap_err().to_string();
    assert!(error.contains("larger than 100000 bytes"), "{error}");
}
