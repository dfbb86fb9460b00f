//! A picture in the language of Graphviz. Labels and symbols come from outside: they are
//! quoted strings with escapes, or escaped text inside the table of the title.

use super::{Picture, layout::centre};
use crate::{Layout, dot::escaped, text::printable};
use std::fmt::Write;

/// Entries of the legend in one row.
const LEGEND_ROW: usize = 6;

/// Inches around a node in a ring.
const RING_SPACE: f64 = 1.1;

/// Returns the whole file. Graphviz places its nodes with the engine of `layout`.
pub(crate) fn text(picture: &Picture, layout: Layout, comment: &str) -> String {
    let mut out = String::from("digraph \"transfers\" {\n");
    let comment = comment.replace('\\', "\\\\").replace('"', "\\\"");
    let title = heading(picture);
    let engine = match layout {
        Layout::Auto | Layout::Hops => "dot",
        Layout::Radial => "twopi",
        Layout::Force => "sfdp",
    };
    put(
        &mut out,
        format_args!(
            "  graph[layout={engine} comment=\"{comment}\" label={title} labelloc=t labeljust=l \
         fontname=\"Helvetica\" tooltip=\"\" {}]\n",
            settings(picture, layout)
        ),
    );
    out.push_str(
        "  node[shape=ellipse style=filled fillcolor=\"#FFFFFF\" fontname=\"Helvetica\" \
         fontsize=10]\n  edge[fontname=\"Helvetica\" fontsize=8 arrowsize=0.6]\n",
    );
    if layout == Layout::Hops {
        columns(&mut out, picture);
    }
    for number in 0..picture.nodes.len() {
        node(&mut out, picture, number);
    }
    for number in 0..picture.arrows.len() {
        arrow(&mut out, picture, number, layout);
    }
    out.push_str("}\n");
    out
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "a string takes any text");
}

/// The attributes of the engine.
fn settings(picture: &Picture, layout: Layout) -> String {
    let (root, _) = centre(picture);
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
            let id = picture.nodes.get(root).map_or("", |node| &node.id);
            format!("root=\"{id}\" ranksep={radius:.2} overlap=true splines=line")
        }
        Layout::Force => "overlap=prism splines=line outputorder=edgesfirst K=0.9".to_owned(),
    }
}

/// The title, the lines below it, and the legend, as a table.
fn heading(picture: &Picture) -> String {
    // A larger picture is looked at from further away.
    let size = 14 + (picture.nodes.len() / 30).min(40);
    let row = |text: &str, size: usize, bold: bool| {
        let text = markup(text);
        let text = if bold { format!("<B>{text}</B>") } else { text };
        format!("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"{size}\">{text}</FONT></TD></TR>")
    };
    let mut table = String::from("<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"1\">");
    table.push_str(&row(&picture.title, size + 2, true));
    for line in picture.lines.iter().chain(&picture.notes) {
        table.push_str(&row(line, size - 2, false));
    }
    for entries in picture.legend.chunks(LEGEND_ROW) {
        put(
            &mut table,
            format_args!("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"{size}\">"),
        );
        for (number, entry) in entries.iter().enumerate() {
            let space = if number > 0 { "&#160;&#160;&#160;" } else { "" };
            put(
                &mut table,
                format_args!(
                    "{space}<FONT COLOR=\"{}\">■ {}</FONT>",
                    entry.color,
                    markup(&entry.label)
                ),
            );
        }
        table.push_str("</FONT></TD></TR>");
    }
    if !picture.categories.is_empty() {
        table.push_str("<TR><TD ALIGN=\"LEFT\"><TABLE BORDER=\"0\" CELLBORDER=\"1\"><TR>");
        for entry in &picture.categories {
            put(
                &mut table,
                format_args!(
                    "<TD BGCOLOR=\"{}\"><FONT POINT-SIZE=\"{size}\">{}</FONT></TD>",
                    entry.color,
                    markup(&entry.label)
                ),
            );
        }
        table.push_str("</TR></TABLE></TD></TR>");
    }
    table.push_str("</TABLE>>");
    table
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
fn columns(out: &mut String, picture: &Picture) {
    let mut all: Vec<_> = picture.nodes.iter().map(|node| node.column).collect();
    all.sort_unstable();
    all.dedup();
    for column in &all {
        let heading = match column.unsigned_abs() {
            0 => "start".to_owned(),
            hop => format!("hop {hop}"),
        };
        put(
            out,
            format_args!(
                "  subgraph \"rank {column}\" {{\n    rank=same\n    \"column {column}\"[shape=plaintext label=\"{heading}\" \
             fontcolor=\"#777777\" fillcolor=\"#FFFFFF\"]"
            ),
        );
        for node in picture.nodes.iter().filter(|node| node.column == *column) {
            put(out, format_args!("\n    \"{}\"", node.id));
        }
        out.push_str("\n  }\n");
    }
    for pair in all.windows(2) {
        put(
            out,
            format_args!(
                "  \"column {}\" -> \"column {}\"[style=invis weight=1000]\n",
                pair[0], pair[1]
            ),
        );
    }
}

fn quoted(lines: &[String]) -> String {
    let lines: Vec<_> = lines
        .iter()
        .map(|line| escaped(&printable(line), " "))
        .collect();
    lines.join("\\n")
}

fn node(out: &mut String, picture: &Picture, number: usize) {
    let node = &picture.nodes[number];
    put(
        out,
        format_args!(
            "  \"{}\"[label=\"{}\" tooltip=\"{}\" shape={} style=\"{}\" fillcolor=\"{}\"",
            node.id,
            quoted(&node.label),
            quoted(&node.tooltip),
            node.shape,
            node.style,
            node.fill
        ),
    );
    if node.is_root {
        out.push_str(" peripheries=2");
    }
    link(out, node.link.as_deref());
    out.push_str("]\n");
}

fn link(out: &mut String, url: Option<&str>) {
    if let Some(url) = url {
        put(
            out,
            format_args!(" URL=\"{}\" target=\"_blank\"", escaped(url, "")),
        );
    }
}

fn arrow(out: &mut String, picture: &Picture, number: usize, layout: Layout) {
    let arrow = &picture.arrows[number];
    let (source, target) = (&picture.nodes[arrow.source], &picture.nodes[arrow.target]);
    let tooltip = quoted(&arrow.tooltip);
    let color = arrow.color;
    put(
        out,
        format_args!("  \"{}\" -> \"{}\"[", source.id, target.id),
    );
    if arrow.is_labelled {
        let label = [arrow.amount.clone(), arrow.days.clone()];
        put(out, format_args!("label=\"{}\" ", quoted(&label)));
    }
    put(
        out,
        format_args!(
            "color=\"{color}\" fontcolor=\"{color}\" penwidth={}.{} tooltip=\"{tooltip}\" \
         labeltooltip=\"{tooltip}\"",
            arrow.width / 10,
            arrow.width % 10
        ),
    );
    // An arrow to the left would push its source to the right.
    if layout == Layout::Hops && source.column >= target.column {
        out.push_str(" constraint=false");
    }
    link(out, arrow.link.as_deref());
    out.push_str("]\n");
}
