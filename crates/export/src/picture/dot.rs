//! A picture in the language of Graphviz (<https://graphviz.org/doc/info/lang.html>): a file, or the text
//! that Graphviz draws. Both are the same, so `dot -Tsvg` of the file draws the same picture.
//!
//! Labels and symbols come from outside: they are quoted strings with escapes, so Graphviz takes none of them
//! for HTML, or escaped text inside the table of the title. Line breaks, control characters and
//! changes of direction were replaced.

use super::{
    Picture,
    layout::center,
    style::VertexStyle,
    text::{Text, push},
};
use crate::{
    Layout, Metadata, Result, Written, decimal::push_integer, options::GraphInput, output::Output,
    text::printable, text_output::TextOutput,
};
use std::ops::Range;

const LEGEND_ROW: usize = 6;

/// Inches around a node in a ring.
const RING_SPACE: f64 = 1.1;

/// The text after the last arrow.
const TAIL: &[u8] = b"}\n";

/// Writes a file.
pub(crate) fn write(input: GraphInput<'_>, output: Output) -> Result<Written> {
    let picture = Picture::new(input)?;
    let layout = picture.layout;
    let mut text = TextOutput::with_threads(output, &input.options.table.threads);
    push_head(
        &mut text.buffer,
        &picture,
        layout,
        &input.metadata.to_json()?,
    );
    text.write_items(picture.nodes.len(), &|numbers, out| {
        push_nodes(&picture, numbers, out);
        Ok(())
    })?;
    text.write_rows(picture.arrows.len(), &|numbers, out| {
        push_arrows(&picture, layout, numbers, out);
        Ok(())
    })?;
    text.buffer.extend_from_slice(TAIL);
    let mut written = text.finish(Some(input.metadata))?;
    written.notes = picture.notes;
    Ok(written)
}

/// Returns the whole file. Graphviz places its nodes with the engine of `layout`.
pub(crate) fn text(picture: &Picture<'_>, layout: Layout, metadata: &Metadata) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    push_head(&mut text, picture, layout, &metadata.to_json()?);
    push_nodes(picture, 0..picture.nodes.len(), &mut text);
    push_arrows(picture, layout, 0..picture.arrows.len(), &mut text);
    text.extend_from_slice(TAIL);
    Ok(text)
}

/// Appends what precedes the first node.
fn push_head(out: &mut Vec<u8>, picture: &Picture<'_>, layout: Layout, comment: &str) {
    // It is not shown, so Graphviz knows no escape but the escaped quote. JSON never ends in a
    // backslash, which would hide the last quote.
    let comment = comment.replace('\\', "\\\\").replace('"', "\\\"");
    let settings = settings(picture, layout);
    let engine = match layout {
        Layout::Auto | Layout::Hops => "dot",
        Layout::Radial => "twopi",
        Layout::Force => "sfdp",
    };
    push(
        out,
        format_args!(
            "digraph \"transfers\" {{\n  graph[layout={engine} comment=\"{comment}\" label="
        ),
    );
    push_heading(picture, out);
    push(
        out,
        format_args!(
            " labelloc=t labeljust=l fontname=\"Helvetica\" tooltip=\"\" {settings}]\n  \
             node[shape=ellipse style=filled fillcolor=\"#FFFFFF\" fontname=\"Helvetica\" \
             fontsize=10]\n  \
             edge[fontname=\"Helvetica\" fontsize=8 arrowsize=0.6]\n"
        ),
    );
    if layout == Layout::Hops {
        push_columns(out, picture);
    }
}

/// The attributes of the engine.
fn settings(picture: &Picture<'_>, layout: Layout) -> String {
    match layout {
        Layout::Auto | Layout::Hops => {
            let splines = if picture.arrows.len() > 200 {
                " splines=polyline"
            } else {
                ""
            };
            format!("rankdir=LR newrank=true nodesep=0.2 ranksep=0.9{splines}")
        }
        Layout::Radial => {
            let leaves = picture.nodes.len().min(100_000) as f64;
            let radius = (leaves * RING_SPACE / std::f64::consts::TAU).max(1.6);
            let mut id = Vec::new();
            if let Some(node) = picture.nodes.get(center(picture).0) {
                picture.push_id(node, &mut id);
            }
            let id = String::from_utf8_lossy(&id);
            format!("root=\"{id}\" ranksep={radius:.2} overlap=true splines=line")
        }
        Layout::Force => "overlap=prism splines=line outputorder=edgesfirst K=0.9".to_owned(),
    }
}

/// Appends the title, the lines below it, and the legend, as a table.
fn push_heading(picture: &Picture<'_>, out: &mut Vec<u8>) {
    // A larger picture is looked at from further away.
    let size = 14 + (picture.nodes.len() / 30).min(40);
    out.extend_from_slice(b"<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"1\">");
    let bold = format!("<B>{}</B>", markup(&picture.title));
    let lines = picture.lines.iter().chain(&picture.notes);
    let lines = lines.map(|line| (size - 2, markup(line)));
    for (size, text) in std::iter::once((size + 2, bold)).chain(lines) {
        push(
            out,
            format_args!(
                "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"{size}\">{text}</FONT></TD></TR>"
            ),
        );
    }
    for entries in picture.legend.chunks(LEGEND_ROW) {
        push(
            out,
            format_args!("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"{size}\">"),
        );
        for (number, entry) in entries.iter().enumerate() {
            let space = if number > 0 { "&#160;&#160;&#160;" } else { "" };
            let (color, label) = (entry.color, markup(&entry.label));
            push(
                out,
                format_args!("{space}<FONT COLOR=\"{color}\">■ {label}</FONT>"),
            );
        }
        out.extend_from_slice(b"</FONT></TD></TR>");
    }
    if !picture.categories.is_empty() {
        out.extend_from_slice(b"<TR><TD ALIGN=\"LEFT\"><TABLE BORDER=\"0\" CELLBORDER=\"1\"><TR>");
        for entry in &picture.categories {
            let (color, label) = (entry.color, markup(&entry.label));
            push(
                out,
                format_args!(
                    "<TD BGCOLOR=\"{color}\"><FONT POINT-SIZE=\"{size}\">{label}</FONT></TD>"
                ),
            );
        }
        out.extend_from_slice(b"</TR></TABLE></TD></TR>");
    }
    out.extend_from_slice(b"</TABLE>>");
}

/// Text inside the markup of Graphviz.
fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Graphviz reads escapes here, too.
            '\\' => out.push_str("&#92;"),
            // Empty cells and spaces at the ends are dropped.
            c => out.push(c),
        }
    }
    if out.is_empty() { " ".to_owned() } else { out }
}

/// A heading for each column, and the nodes of a column below each other.
fn push_columns(out: &mut Vec<u8>, picture: &Picture<'_>) {
    let columns = picture.columns();
    for (column, nodes) in &columns {
        let heading = match column.unsigned_abs() {
            0 => "start".to_owned(),
            hop => format!("hop {hop}"),
        };
        push(
            out,
            format_args!(
                "  subgraph \"rank {column}\" {{\n    rank=same\n    \
                 \"column {column}\"[shape=plaintext label=\"{heading}\" \
                 fontcolor=\"#777777\" fillcolor=\"#FFFFFF\"]"
            ),
        );
        for number in nodes {
            out.extend_from_slice(b"\n    \"");
            picture.push_id(&picture.nodes[*number], out);
            out.push(b'"');
        }
        out.extend_from_slice(b"\n  }\n");
    }
    for pair in columns.windows(2) {
        push(
            out,
            format_args!(
                "  \"column {}\" -> \"column {}\"[style=invis weight=1000]\n",
                pair[0].0, pair[1].0
            ),
        );
    }
}

fn push_nodes(picture: &Picture<'_>, numbers: Range<usize>, out: &mut Vec<u8>) {
    for node in &picture.nodes[numbers] {
        out.extend_from_slice(b"  \"");
        picture.push_id(node, out);
        out.extend_from_slice(b"\"[label=\"");
        picture.push_label(node, &mut Text::quoted(out));
        out.extend_from_slice(b"\" tooltip=\"");
        picture.push_tooltip(node, &mut Text::quoted(out));
        let VertexStyle {
            shape, fill, style, ..
        } = node.style;
        push(
            out,
            format_args!("\" shape={shape} style=\"{style}\" fillcolor=\"{fill}\""),
        );
        if node.is_root {
            out.extend_from_slice(b" peripheries=2");
        }
        push_link(out, picture.node_link(node));
        out.extend_from_slice(b"]\n");
    }
}

fn push_arrows(picture: &Picture<'_>, layout: Layout, numbers: Range<usize>, out: &mut Vec<u8>) {
    for number in numbers {
        let arrow = &picture.arrows[number];
        let [source, target] = [arrow.source, arrow.target].map(|end| &picture.nodes[end]);
        out.extend_from_slice(b"  \"");
        picture.push_id(source, out);
        out.extend_from_slice(b"\" -> \"");
        picture.push_id(target, out);
        out.extend_from_slice(b"\"[");
        if arrow.is_labeled {
            out.extend_from_slice(b"label=\"");
            picture.push_arrow_label(arrow, &mut Text::quoted(out));
            out.extend_from_slice(b"\" ");
        }
        let color = picture.colors[arrow.asset];
        for piece in ["color=\"", color, "\" fontcolor=\"", color, "\" penwidth="] {
            out.extend_from_slice(piece.as_bytes());
        }
        push_integer(out, arrow.width / 10);
        out.push(b'.');
        push_integer(out, arrow.width % 10);
        let start = out.len() + " ".len();
        out.extend_from_slice(b" tooltip=\"");
        picture.push_arrow_tooltip(number, &mut Text::quoted(out));
        out.push(b'"');
        if arrow.is_labeled {
            let end = out.len();
            out.extend_from_slice(b" label");
            out.extend_from_within(start..end);
        }
        // An arrow to the left would push its source to the right.
        if layout == Layout::Hops && source.column >= target.column {
            out.extend_from_slice(b" constraint=false");
        }
        push_link(out, picture.arrow_link(arrow));
        out.extend_from_slice(b"]\n");
    }
}

fn push_link(out: &mut Vec<u8>, url: Option<String>) {
    if let Some(url) = url {
        out.extend_from_slice(b" URL=\"");
        Text::quoted(out).any(&url);
        out.extend_from_slice(b"\" target=\"_blank\"");
    }
}
