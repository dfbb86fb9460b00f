//! A graph as one JSON document: metadata, vertices and edges, one of each per line.

use crate::{
    GraphOptions, Metadata, Result, Written,
    graph_rows::{merged_attributes, totals_column, vertex_attributes, vertices},
    json_text::push_json,
    output::Output,
    row_buffer::RowBuffer,
    table::jsonl::Keys,
    text_output::TextOutput,
    value::push_object,
};
use txgraph_graph::TransferGraph;

pub(crate) fn write(
    graph: &TransferGraph,
    options: &GraphOptions,
    metadata: &Metadata,
    output: Output,
) -> Result<Written> {
    let mut text = TextOutput::with_threads(output, &options.table.threads);
    text.buffer.extend_from_slice(b"{\"metadata\":");
    push_json(&mut text.buffer, metadata)?;
    text.buffer
        .extend_from_slice(b",\n\"directed\":true,\"multigraph\":true,\n\"vertices\":[");
    let attributes = vertex_attributes(&options.table, true);
    let mut columns = attributes.columns();
    columns.push(totals_column());
    for (i, vertex) in vertices(graph, &options.contracts).enumerate() {
        next(&mut text, i)?;
        let mut row = attributes.row(vertex);
        row.push(vertex.totals()?);
        push_object(&mut text.buffer, &columns, &row)?;
    }
    text.buffer.extend_from_slice(b"\n],\n\"edges\":[");
    if options.merge {
        let attributes = merged_attributes();
        let columns = attributes.columns();
        let merged = graph.merged(&options.table.threads)?;
        for (i, edge) in merged.iter().enumerate() {
            next(&mut text, i)?;
            push_object(&mut text.buffer, &columns, &attributes.row((graph, edge)))?;
            text.end_row()?;
        }
    } else {
        let keys = Keys::new(options.table.set().0, graph.chain.chain_id);
        let edges = graph.graph.raw_edges();
        text.write_rows(edges.len(), &|rows, out| {
            let mut line = RowBuffer::new();
            for i in rows {
                let edge = &edges[i].weight;
                out.extend_from_slice(between(i));
                keys.push(&mut line, &edge.transfer, Some(edge.hop));
                out.extend_from_slice(line.as_bytes());
            }
            Ok(())
        })?;
    }
    text.buffer.extend_from_slice(b"\n]}\n");
    text.finish(Some(metadata))
}

fn next(text: &mut TextOutput, i: usize) -> Result<()> {
    text.buffer.extend_from_slice(between(i));
    text.write_if_full()
}

const fn between(i: usize) -> &'static [u8] {
    if i == 0 { b"\n" } else { b",\n" }
}
