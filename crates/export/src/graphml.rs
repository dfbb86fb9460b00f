//! GraphML (<http://graphml.graphdrawing.org/specification.html>), as Gephi, Cytoscape,
//! yEd, networkx and igraph read it. GraphML has no type for numbers of 256 bits: exact
//! amounts are strings, each next to a rounded double.

use crate::{
    Column, Result, Value, Written,
    drawn_edges::{Arrows, arrow_label},
    graph_rows::{vertex_attributes, vertices},
    options::GraphInput,
    output::Output,
    text::short_address,
    text_output::TextOutput,
    value::ValueText,
    xml::{DECLARATION, for_each_attribute, for_each_value, push_attribute, push_text, push_value},
};

const OPEN: &[u8] = b"<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
    http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n";

pub(crate) fn write(input: GraphInput<'_>, output: Output) -> Result<Written> {
    let tokens = &input.options.table.tokens;
    let arrows = Arrows::of(input)?;
    let chain_id = input.graph.chain.chain_id;
    let mut text = TextOutput::new(output);
    let out = &mut text.buffer;
    out.extend_from_slice(DECLARATION);
    out.extend_from_slice(OPEN);

    // The address of a vertex is its id; every vertex has a label.
    let vertex_attributes = &vertex_attributes(&input.options.table, true)[1..];
    let vertex_columns = Column::of(vertex_attributes);
    let edge_columns = arrows.columns();
    key(out, "g_metadata", "graph", "metadata", "string");
    for_each_attribute(&vertex_columns, |name, kind| {
        key(out, &format!("v_{name}"), "node", name, kind);
    });
    key(out, "e_label", "edge", "label", "string");
    for_each_attribute(&edge_columns, |name, kind| {
        key(out, &format!("e_{name}"), "edge", name, kind);
    });
    out.extend_from_slice(b"  <graph id=\"transfers\" edgedefault=\"directed\">\n");
    let about = input.metadata.to_json()?;
    data(out, "    ", "g_metadata", |out| push_text(out, &about));

    for vertex in vertices(input.graph, &input.options.contracts) {
        let out = &mut text.buffer;
        let mut row = Value::row(vertex_attributes, vertex);
        if let Some(label @ Value::Absent) = row.first_mut() {
            *label = short_address(vertex.vertex.address).into();
        }
        out.extend_from_slice(b"    <node id=\"");
        Value::Address(vertex.vertex.address).push_plain(out);
        out.extend_from_slice(b"\">\n");
        push_row(out, "v_", &vertex_columns, &row);
        out.extend_from_slice(b"    </node>\n");
        text.write_if_full()?;
    }
    for (i, arrow) in arrows.iter().enumerate() {
        let out = &mut text.buffer;
        out.extend_from_slice(b"    <edge");
        push_attribute(out, "id", &format!("e{i}"));
        push_attribute(out, "source", &format!("{:#x}", arrow.source));
        push_attribute(out, "target", &format!("{:#x}", arrow.target));
        out.extend_from_slice(b">\n");
        data(out, "      ", "e_label", |out| {
            push_text(out, &arrow_label(&arrow, tokens, chain_id))
        });
        push_row(out, "e_", &edge_columns, &arrow.row);
        out.extend_from_slice(b"    </edge>\n");
        text.end_row()?;
    }
    text.buffer.extend_from_slice(b"  </graph>\n</graphml>\n");
    text.finish(Some(input.metadata))
}

fn key(out: &mut Vec<u8>, id: &str, of: &str, name: &str, kind: &str) {
    out.extend_from_slice(b"  <key");
    push_attribute(out, "id", id);
    push_attribute(out, "for", of);
    push_attribute(out, "attr.name", name);
    push_attribute(out, "attr.type", kind);
    out.extend_from_slice(b"/>\n");
}

fn data(out: &mut Vec<u8>, indent: &str, key: &str, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(indent.as_bytes());
    out.extend_from_slice(b"<data");
    push_attribute(out, "key", key);
    out.push(b'>');
    content(out);
    out.extend_from_slice(b"</data>\n");
}

fn push_row(out: &mut Vec<u8>, prefix: &str, columns: &[Column], row: &[Value<'_>]) {
    for_each_value(columns, row, |name, value| {
        let id = format!("{prefix}{name}");
        data(out, "      ", &id, |out| push_value(out, value));
    });
}
