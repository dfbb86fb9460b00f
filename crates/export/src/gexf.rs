//! GEXF 1.3 (<https://gexf.net>), the format of Gephi. The `kind` of an edge is its asset,
//! which distinguishes parallel edges. Exact amounts are strings, each next to a rounded
//! double for ranking. The weight of an edge is its amount. If every time is known, edges have
//! a start and an end, so that Gephi shows a timeline.

use crate::{
    Column, Result, TokenList, Value, Written,
    decimal::to_f64,
    drawn_edges::{Arrow, Arrows, arrow_label, width},
    graph_rows::{vertex_attributes, vertices},
    options::GraphInput,
    output::Output,
    text::short_address,
    text_output::TextOutput,
    value::ValueText,
    xml::{DECLARATION, for_each_attribute, for_each_value, push_attribute, push_text, push_value},
};
use txgraph_graph::Asset;

const OPEN: &[u8] = b"<gexf xmlns=\"http://gexf.net/1.3\" \
    xmlns:viz=\"http://gexf.net/1.3/viz\" version=\"1.3\">\n";

/// Colors of roots and of all other vertices.
const ROOT_COLOR: &str = "#EE7733";
const VERTEX_COLOR: &str = "#BBBBBB";

pub(crate) fn write(input: GraphInput<'_>, output: Output) -> Result<Written> {
    let tokens = &input.options.table.tokens;
    let arrows = Arrows::of(input)?;
    let chain_id = input.graph.chain.chain_id;
    let mut text = TextOutput::new(output);
    let out = &mut text.buffer;
    out.extend_from_slice(DECLARATION);
    out.extend_from_slice(OPEN);
    out.extend_from_slice(b"  <meta>\n    <creator>");
    push_text(out, &input.metadata.tool);
    out.extend_from_slice(b"</creator>\n    <description>");
    push_text(out, &input.metadata.to_json()?);
    out.extend_from_slice(b"</description>\n  </meta>\n");
    // Times are Unix seconds: networkx 3.6 reads no `dateTime`.
    let timed = arrows.len() > 0
        && (input.graph.graph.edge_weights()).all(|edge| edge.transfer.block_timestamp.is_some());
    out.extend_from_slice(b"  <graph defaultedgetype=\"directed\" idtype=\"string\"");
    if timed {
        push_attribute(out, "mode", "dynamic");
        push_attribute(out, "timeformat", "double");
    } else {
        push_attribute(out, "mode", "static");
    }
    out.extend_from_slice(b">\n");

    // Id and label are attributes of the element itself.
    let vertex_attributes = &vertex_attributes(&input.options.table, true)[2..];
    let vertex_columns = Column::of(vertex_attributes);
    let edge_columns = arrows.columns();
    attributes(out, "node", &vertex_columns);
    attributes(out, "edge", &edge_columns);

    out.extend_from_slice(b"    <nodes");
    push_attribute(out, "count", &input.graph.graph.node_count().to_string());
    out.extend_from_slice(b">\n");
    for vertex in vertices(input.graph, &input.options.contracts) {
        let out = &mut text.buffer;
        let address = vertex.vertex.address;
        let label = vertex
            .vertex
            .labels
            .name()
            .map_or_else(|| short_address(address), str::to_owned);
        out.extend_from_slice(b"      <node");
        push_attribute(out, "id", &format!("{address:#x}"));
        push_attribute(out, "label", &label);
        out.extend_from_slice(b">\n");
        push_row(out, &vertex_columns, &Value::row(vertex_attributes, vertex));
        push_color(
            out,
            if vertex.is_root {
                ROOT_COLOR
            } else {
                VERTEX_COLOR
            },
        );
        out.extend_from_slice(b"      </node>\n");
        text.write_if_full()?;
    }
    let out = &mut text.buffer;
    out.extend_from_slice(b"    </nodes>\n    <edges");
    push_attribute(out, "count", &arrows.len().to_string());
    out.extend_from_slice(b">\n");
    for (i, arrow) in arrows.iter().enumerate() {
        let out = &mut text.buffer;
        out.extend_from_slice(b"      <edge");
        push_attribute(out, "id", &i.to_string());
        push_attribute(out, "source", &format!("{:#x}", arrow.source));
        push_attribute(out, "target", &format!("{:#x}", arrow.target));
        push_attribute(out, "kind", &asset_word(&arrow.asset));
        push_attribute(out, "label", &arrow_label(&arrow, tokens, chain_id));
        out.extend_from_slice(b" weight=\"");
        Value::F64(weight(&arrow, tokens, chain_id)).push_plain(out);
        out.push(b'"');
        if let Some((first, last)) = arrow.times.filter(|_| timed) {
            push_attribute(out, "start", &first.seconds().to_string());
            push_attribute(out, "end", &last.seconds().to_string());
        }
        out.extend_from_slice(b">\n");
        push_row(out, &edge_columns, &arrow.row);
        push_color(out, arrows.color(&arrow.asset));
        let width = width(arrows.total(&arrow.asset), arrow.amount);
        out.extend_from_slice(b"        <viz:thickness");
        push_attribute(out, "value", &format!("{}.{}", width / 10, width % 10));
        out.extend_from_slice(b"/>\n      </edge>\n");
        text.end_row()?;
    }
    text.buffer
        .extend_from_slice(b"    </edges>\n  </graph>\n</gexf>\n");
    text.finish(Some(input.metadata))
}

/// Returns the amount in the unit of its token, or in raw units if the decimals are unknown. It
/// compares the arrows of one token.
fn weight(arrow: &Arrow, tokens: &TokenList, chain_id: u64) -> f64 {
    let decimals = tokens.decimals(chain_id, &arrow.asset);
    to_f64(arrow.amount.as_limbs()) / 10f64.powi(decimals.into())
}

fn asset_word(asset: &Asset) -> String {
    match asset.token_address {
        Some(token) => format!("{} {token:#x}", asset.token_standard),
        None => asset.token_standard.to_string(),
    }
}

fn attributes(out: &mut Vec<u8>, class: &str, columns: &[Column]) {
    out.extend_from_slice(b"    <attributes");
    push_attribute(out, "class", class);
    out.extend_from_slice(b">\n");
    let attribute = |name: &str, kind: &str| {
        out.extend_from_slice(b"      <attribute");
        push_attribute(out, "id", name);
        push_attribute(out, "title", name);
        push_attribute(out, "type", kind);
        out.extend_from_slice(b"/>\n");
    };
    for_each_attribute(columns, attribute);
    out.extend_from_slice(b"    </attributes>\n");
}

fn push_row(out: &mut Vec<u8>, columns: &[Column], row: &[Value<'_>]) {
    out.extend_from_slice(b"        <attvalues>\n");
    for_each_value(columns, row, |name, value| {
        out.extend_from_slice(b"          <attvalue");
        push_attribute(out, "for", name);
        out.extend_from_slice(b" value=\"");
        push_value(out, value);
        out.extend_from_slice(b"\"/>\n");
    });
    out.extend_from_slice(b"        </attvalues>\n");
}

/// Appends a color, given as `#rrggbb`.
fn push_color(out: &mut Vec<u8>, color: &str) {
    out.extend_from_slice(b"        <viz:color");
    for (name, digits) in [("r", 1..3), ("g", 3..5), ("b", 5..7)] {
        let value = color
            .get(digits)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        push_attribute(out, name, &value.unwrap_or_default().to_string());
    }
    out.extend_from_slice(b"/>\n");
}
