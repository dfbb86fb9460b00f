//! The functions that write graphs, vertices, tables of an analysis and JSON.

use crate::{
    Column, DocumentFormat, GraphFormat, GraphOptions, Metadata, Result, TableFormat, TableWriter,
    Target, TransferTableOptions, Value, Written, draw, gexf,
    graph_rows::{MERGED, TOTALS, vertex_attributes, vertices},
    graphml,
    graphsense::{self, check_chain},
    json,
    json_text::push_json_pretty,
    options::GraphInput,
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
    check_chain(format, graph.chain.chain_id)?;
    let output = Output::open(target, overwrite, format.has_metadata_file())?;
    let input = GraphInput {
        graph,
        options,
        metadata,
    };
    let format = match format {
        GraphFormat::Table(format) => return write_edges(input, format, output),
        GraphFormat::Document(format) => format,
    };
    match format {
        DocumentFormat::Json => json::write(input, output),
        DocumentFormat::Dot => picture::dot::write(input, output),
        DocumentFormat::Svg | DocumentFormat::Png => draw::write(input, format, output),
        DocumentFormat::Html => picture::html::write(input, output),
        DocumentFormat::GraphMl => graphml::write(input, output),
        DocumentFormat::Gexf => gexf::write(input, output),
        DocumentFormat::GraphSense => graphsense::write(input, output),
    }
}

fn write_edges(input: GraphInput<'_>, format: TableFormat, output: Output) -> Result<Written> {
    if input.options.merge {
        let mut rows =
            TableWriter::with_output(format, Column::of(MERGED), &input.options.table, output)?;
        for edge in &input.graph.merged(&input.options.table.threads)? {
            rows.push(&Value::row(MERGED, (input.graph, edge)))?;
        }
        return rows.finish(Some(input.metadata));
    }
    let table = TransferTableOptions {
        chain_id: input.graph.chain.chain_id,
        ..input.options.table.clone()
    };
    let mut encoder = transfer_encoder(format, &table, true, output)?;
    encoder.write(TransferRows::Edges(input.graph))?;
    encoder.finish(Some(input.metadata))
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
    let mut attributes = vertex_attributes(&options.table, false);
    if format == TableFormat::Jsonl {
        attributes.push(TOTALS);
    }
    let columns = Column::of(&attributes);
    let mut rows = TableWriter::new(format, columns, &options.table, target, overwrite)?;
    for vertex in vertices(graph, &options.contracts) {
        rows.push(&Value::row(&attributes, vertex))?;
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
    let written = text.finish(None)?;
    Ok(Written {
        rows: None,
        ..written
    })
}
