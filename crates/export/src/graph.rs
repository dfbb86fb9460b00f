//! The functions that write graphs, vertices, tables of an analysis and JSON.

use crate::{
    DocumentFormat, GraphFormat, GraphOptions, Metadata, Result, TableFormat, TableWriter, Target,
    TransferTableOptions, Written, draw, gexf,
    graph_rows::{merged_attributes, totals_column, vertex_attributes, vertices},
    graphml, json,
    json_text::push_json_pretty,
    output::Output,
    picture,
    table::{TransferRows, transfer_encoder},
    text_output::TextOutput,
};
use serde::Serialize;
use txgraph_analysis::Table;
use txgraph_graph::TransferGraph;

/// Writes a graph. Table formats get its edges: transfers with their hop, or
/// with [`GraphOptions::merge`] one row per (source, target, asset).
pub fn write_graph(
    graph: &TransferGraph,
    format: impl Into<GraphFormat>,
    options: &GraphOptions,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let format = format.into();
    options.validate(format)?;
    let output = Output::open(target, overwrite, format.has_metadata_file())?;
    let format = match format {
        GraphFormat::Table(format) => return write_edges(graph, format, options, metadata, output),
        GraphFormat::Document(format) => format,
    };
    match format {
        DocumentFormat::Json => json::write(graph, options, metadata, output),
        DocumentFormat::Dot => picture::dot::write(graph, options, metadata, output),
        DocumentFormat::Svg | DocumentFormat::Png => {
            draw::write(graph, format, options, metadata, output)
        }
        DocumentFormat::Html => picture::html::write(graph, options, metadata, output),
        DocumentFormat::GraphMl => graphml::write(graph, options, metadata, output),
        DocumentFormat::Gexf => gexf::write(graph, options, metadata, output),
    }
}

fn write_edges(
    graph: &TransferGraph,
    format: TableFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    output: Output,
) -> Result<Written> {
    if options.merge {
        let attributes = merged_attributes();
        let mut rows =
            TableWriter::with_output(format, attributes.columns(), &options.table, output)?;
        let merged = graph.merged(&options.table.threads)?;
        for edge in &merged {
            rows.push(&attributes.row((graph, edge)))?;
        }
        return rows.finish(Some(metadata));
    }
    let table = TransferTableOptions {
        chain_id: graph.chain.chain_id,
        ..options.table.clone()
    };
    let mut encoder = transfer_encoder(format, &table, true, output)?;
    encoder.write(TransferRows::Edges(graph))?;
    encoder.finish(Some(metadata))
}

/// Writes the vertices of a graph, one row each. JSONL adds `totals`: the transfers and
/// amounts that the vertex received and sent, by asset.
pub fn write_vertices(
    graph: &TransferGraph,
    format: TableFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let nested = format == TableFormat::Jsonl;
    let attributes = vertex_attributes(&options.table, false);
    let mut columns = attributes.columns();
    columns.extend(nested.then(totals_column));
    let mut rows = TableWriter::new(format, columns, &options.table, target, overwrite)?;
    for vertex in vertices(graph, &options.contracts) {
        let mut row = attributes.row(vertex);
        if nested {
            row.push(vertex.totals()?);
        }
        rows.push(&row)?;
    }
    rows.finish(Some(metadata))
}

/// Writes a table of an analysis. Amounts are exact, in the smallest unit.
pub fn write_table(
    table: &Table,
    format: TableFormat,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    // The options say how columns are encoded; the chain id of transfers is not used.
    let options = TransferTableOptions::new(0);
    let columns = table.columns.clone();
    let mut rows = TableWriter::new(format, columns, &options, target, overwrite)?;
    for row in &table.rows {
        rows.push(row)?;
    }
    rows.finish(Some(metadata))
}

/// Writes a serializable value as one JSON document, indented.
pub fn write_json(value: &impl Serialize, target: &Target, overwrite: bool) -> Result<Written> {
    let mut text = TextOutput::new(Output::open(target, overwrite, false)?);
    push_json_pretty(&mut text.buffer, value)?;
    text.buffer.push(b'\n');
    text.end_row()?;
    text.finish(None)
}
