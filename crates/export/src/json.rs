//! A graph as one JSON document: metadata, vertices and edges, one of each per line.

use crate::{
    Result, Written,
    graph_rows::{MERGED, TOTALS, push_item, vertex_attributes, vertices},
    json_text::push_json,
    options::GraphInput,
    output::Output,
    row_buffer::RowBuffer,
    table::transfer_text::TransferText,
    text_output::TextOutput,
};

pub(crate) fn write(input: GraphInput<'_>, output: Output) -> Result<Written> {
    let mut text = TextOutput::with_threads(output, &input.options.table.threads);
    text.buffer.extend_from_slice(b"{\"metadata\":");
    push_json(&mut text.buffer, input.metadata)?;
    text.buffer
        .extend_from_slice(b",\n\"directed\":true,\"multigraph\":true,\n\"vertices\":[");
    let mut attributes = vertex_attributes(&input.options.table, true);
    attributes.push(TOTALS);
    for (i, vertex) in vertices(input.graph, &input.options.contracts).enumerate() {
        next(&mut text, i)?;
        push_item(&mut text.buffer, &attributes, vertex);
    }
    text.buffer.extend_from_slice(b"\n],\n\"edges\":[");
    if input.options.merge {
        let merged = input.graph.merged(&input.options.table.threads)?;
        for (i, edge) in merged.iter().enumerate() {
            next(&mut text, i)?;
            push_item(&mut text.buffer, MERGED, (input.graph, edge));
            text.end_row()?;
        }
    } else {
        let schema = input.options.table.set().0;
        let format = TransferText::json(schema, input.graph.chain.chain_id, "}");
        let edges = input.graph.graph.raw_edges();
        text.write_rows(edges.len(), &|rows, out| {
            let mut line = RowBuffer::new();
            for i in rows {
                let edge = &edges[i].weight;
                out.extend_from_slice(between(i));
                format.push(&mut line, &edge.transfer, Some(edge.hop));
                out.extend_from_slice(line.as_bytes());
            }
            Ok(())
        })?;
    }
    text.buffer.extend_from_slice(b"\n]}\n");
    text.finish(Some(input.metadata))
}

fn next(text: &mut TextOutput, i: usize) -> Result<()> {
    text.buffer.extend_from_slice(between(i));
    text.write_if_full()
}

const fn between(i: usize) -> &'static [u8] {
    if i == 0 { b"\n" } else { b",\n" }
}
