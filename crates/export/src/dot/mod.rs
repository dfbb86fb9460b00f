//! The language of Graphviz (<https://graphviz.org/doc/info/lang.html>), written by
//! hand: the printer of `graphviz-rust` allocates for each attribute. Its syntax tree is
//! the oracle of the tests, and its parser checks what is handed to Graphviz.
//!
//! Labels and symbols come from outside. They are always quoted strings, so Graphviz
//! takes none of them for HTML, and characters that are not seen as they are (line
//! breaks, control characters, changes of direction) are replaced.

mod checksum;
#[cfg(test)]
mod oracle;
mod rows;
mod style;

use crate::{
    GraphOptions, Metadata, Result, TokenList, Written,
    arrows::Arrows,
    legend::{LegendEntry, legend},
    names::categories,
    output::Output,
    picture,
    text_output::TextOutput,
};
use rows::Rows;
pub(crate) use style::{LABEL_CHARS, TOOLTIP_CHARS, TOTALS_MAX, VertexStyle, escaped};
use txgraph_graph::TransferGraph;

pub(crate) fn write(
    graph: &TransferGraph,
    options: &GraphOptions,
    metadata: &Metadata,
    output: Output,
) -> Result<Written> {
    let threads = &options.table.threads;
    let mut text = TextOutput::with_threads(output, threads);
    let arrows = Arrows::new(graph, !options.drawing.every_transfer, threads)?;
    let tokens = options.tokens.clone().unwrap_or_default();
    let rows = Rows::new(graph, &arrows, &tokens, &options.contracts, threads)?;
    push_head(&mut text.buffer, graph, &arrows, &tokens, metadata)?;
    text.write_items(graph.graph.node_count(), &|numbers, out| {
        rows.vertices(numbers, out);
        Ok(())
    })?;
    text.write_rows(arrows.len(), &|numbers, out| {
        rows.arrows(numbers, out);
        Ok(())
    })?;
    text.buffer.extend_from_slice(TAIL);
    text.finish(Some(metadata))
}

/// The file in memory.
#[cfg(test)]
fn text(
    graph: &TransferGraph,
    arrows: &Arrows<'_>,
    options: &GraphOptions,
    metadata: &Metadata,
) -> Result<Vec<u8>> {
    let tokens = options.tokens.clone().unwrap_or_default();
    let rows = Rows::new(
        graph,
        arrows,
        &tokens,
        &options.contracts,
        &txgraph_work::Threads::one(),
    )?;
    let mut text = Vec::new();
    push_head(&mut text, graph, arrows, &tokens, metadata)?;
    rows.vertices(0..graph.graph.node_count(), &mut text);
    rows.arrows(0..arrows.len(), &mut text);
    text.extend_from_slice(TAIL);
    Ok(text)
}

/// What follows the last arrow.
const TAIL: &[u8] = b"}\n";

/// Appends what precedes the first vertex: attributes for all, and the legend.
fn push_head(
    out: &mut Vec<u8>,
    graph: &TransferGraph,
    arrows: &Arrows<'_>,
    tokens: &TokenList,
    metadata: &Metadata,
) -> Result<()> {
    let comment = not_shown(&metadata.to_json()?);
    let title = escaped(&title(graph, arrows, tokens, metadata), "\\l");
    let mut head = format!(
        "digraph \"transfers\" {{\n  \
         graph[comment=\"{comment}\" label=\"{title}\" labelloc=b labeljust=l fontsize=12 \
         rankdir=LR fontname=\"Helvetica\" tooltip=\"\"]\n  \
         node[shape=ellipse style=filled fillcolor=\"#FFFFFF\" fontname=\"Helvetica\" fontsize=10]\n  \
         edge[fontname=\"Helvetica\" fontsize=8 arrowsize=0.6]\n  \
         subgraph \"cluster legend\" {{\n    \
         label=\"assets\"\n    labelloc=t\n    color=\"#CCCCCC\"\n"
    );
    for (i, entry) in legend(graph.chain.chain_id, arrows, tokens)
        .iter()
        .enumerate()
    {
        let LegendEntry {
            label,
            tooltip,
            color,
        } = entry;
        let (label, tooltip) = (escaped(label, "\\n"), escaped(tooltip, "\\n"));
        head += &format!(
            "    \"legend {i}\"[shape=box label=\"{label}\" tooltip=\"{tooltip}\" \
             fontcolor=\"#FFFFFF\" color=\"{color}\" fillcolor=\"{color}\"]\n"
        );
    }
    for (i, entry) in categories(graph).iter().enumerate() {
        head += &format!(
            "    \"category {i}\"[shape=box label=\"{}\" color=\"{color}\" fillcolor=\"{color}\"]\n",
            escaped(&entry.label, "\\n"),
            color = entry.color
        );
    }
    head += "  }\n";
    out.extend_from_slice(head.as_bytes());
    Ok(())
}

/// Text of an attribute that is not shown, where Graphviz knows no escape but that of the
/// quote. JSON never ends in a backslash, which would hide the last quote.
fn not_shown(text: &str) -> String {
    debug_assert!(!text.ends_with('\\'));
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// What the drawing shows, and in letters as large what it leaves out.
fn title(
    graph: &TransferGraph,
    arrows: &Arrows<'_>,
    tokens: &TokenList,
    metadata: &Metadata,
) -> String {
    let title = picture::title(graph, tokens);
    let lines = picture::coverage(graph, metadata, arrows.len());
    let lines = std::iter::once(title).chain(lines);
    lines.map(|line| format!("{line}\n")).collect()
}
