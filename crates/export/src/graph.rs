//! One function for each thing that can be written.

use crate::{
    GraphFormat, GraphOptions, Metadata, Result, TableFormat, Target, TransferTableOptions,
    Written, dot, draw, gexf, graphml, json,
    output::{Output, TextOutput},
    rows::{Column, Kind, TableRows, Value},
    transfers::TransferRows,
    views::{merged_columns, merged_row, total_columns, totals_column, vertex_columns, vertices},
};
use serde::Serialize;
use txgraph_analysis::{Cell, CellKind, Table};
use txgraph_graph::TransferGraph;

/// Writes a graph. Formats for rows get its edges: transfers with their hop, or
/// with [`GraphOptions::merge`] one row per (source, target, asset).
pub fn write_graph(
    graph: &TransferGraph,
    format: GraphFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let open = |side| Output::open(target, overwrite, side);
    if let Some(format) = format.table() {
        return write_edges(graph, format, options, metadata, open(format.is_text())?);
    }
    match format {
        GraphFormat::Dot => dot::write(graph, options, metadata, open(false)?),
        GraphFormat::GraphMl => graphml::write(graph, options, metadata, open(false)?),
        GraphFormat::Gexf => gexf::write(graph, options, metadata, open(false)?),
        GraphFormat::Svg | GraphFormat::Png => {
            draw::write(graph, format, options, metadata, open(true)?)
        }
        _ => json::write(graph, options, metadata, open(false)?),
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
        let mut rows = TableRows::new(format, merged_columns(), &options.table, output)?;
        for edge in &graph.merged() {
            rows.push(&merged_row(graph, edge))?;
        }
        return rows.finish(metadata);
    }
    let chain_id = graph.chain.chain_id;
    let table = TransferTableOptions {
        chain_id,
        ..options.table.clone()
    };
    let mut rows = TransferRows::new(format, &table, true, output)?;
    let edges = graph.graph.raw_edges();
    rows.write(edges.len(), &|i| {
        let edge = &edges[i].weight;
        (&edge.transfer, Some(edge.hop))
    })?;
    rows.finish(metadata)
}

/// Writes the vertices of a graph, a row each. JSONL adds what each received
/// and sent of each asset (`totals`); for other formats there is [`write_totals`].
pub fn write_vertices(
    graph: &TransferGraph,
    format: TableFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let nested = format == TableFormat::Jsonl;
    let mut columns = vertex_columns();
    columns.extend(nested.then(totals_column));
    let output = Output::open(target, overwrite, format.is_text())?;
    let mut rows = TableRows::new(format, columns, &options.table, output)?;
    for vertex in vertices(graph) {
        let mut row = vertex.row();
        if nested {
            row.push(vertex.totals()?);
        }
        rows.push(&row)?;
    }
    rows.finish(metadata)
}

/// Writes what each vertex received and sent, a row per vertex and asset.
pub fn write_totals(
    graph: &TransferGraph,
    format: TableFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let output = Output::open(target, overwrite, format.is_text())?;
    let mut rows = TableRows::new(format, total_columns(), &options.table, output)?;
    for vertex in vertices(graph) {
        vertex.total_rows().try_for_each(|row| rows.push(&row))?;
    }
    rows.finish(metadata)
}

/// Writes a table of an analysis. Amounts are exact, in the smallest unit.
pub fn write_table(
    table: &Table,
    format: TableFormat,
    metadata: &Metadata,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let kind = |kind| match kind {
        CellKind::Text => Kind::Text,
        CellKind::Integer => Kind::U64,
        CellKind::Amount => Kind::Amount,
        CellKind::Ratio => Kind::F64,
        CellKind::Address => Kind::Address,
    };
    let column = |column: &txgraph_analysis::Column| Column {
        name: column.name.clone(),
        kind: kind(column.kind),
    };
    let columns = table.columns.iter().map(column).collect();
    // Its cells name their chain, if any; the options only say how columns are encoded.
    let options = TransferTableOptions::new(0);
    let output = Output::open(target, overwrite, format.is_text())?;
    let mut rows = TableRows::new(format, columns, &options, output)?;
    for row in &table.rows {
        let values: Vec<_> = row.iter().map(cell_value).collect();
        rows.push(&values)?;
    }
    rows.finish(metadata)
}

fn cell_value(cell: &Cell) -> Value<'_> {
    match cell {
        Cell::Text(text) => Value::Text(text),
        Cell::Integer(number) => Value::U64(*number),
        Cell::Amount(amount) => Value::Amount(*amount),
        Cell::Ratio(ratio) => Value::F64(*ratio),
        Cell::Address(address) => Value::Address(*address),
        Cell::Absent => Value::Absent,
    }
}

/// Writes anything that serialises as one JSON document, indented.
pub fn write_json(value: &impl Serialize, target: &Target, overwrite: bool) -> Result<Written> {
    let mut text = TextOutput::new(Output::open(target, overwrite, false)?);
    serde_json::to_writer_pretty(&mut text.buffer, value)?;
    text.buffer.push(b'\n');
    text.end_row()?;
    text.finish(None)
}
