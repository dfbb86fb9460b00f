//! A picture as one HTML page: pan, zoom, search, details, colors, a range of time, and
//! export of what is seen. The page has its data, styles and script inside and requests
//! nothing.
//!
//! Symbols and labels come from outside. They are in the page as JSON in which `<`, `>` and
//! `&` are escaped, so they cannot end the element around them, and the script only ever
//! makes text of them. A content security policy forbids requests.

use super::{
    Picture,
    place::positions,
    style::VertexStyle,
    text::{Text, made},
};
use crate::{
    Metadata, Result, Written, json_text::push_json, options::GraphInput, output::Output,
    xml::push_text,
};
use serde_json::{Value, json};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    include_str!("page/scene.js"),
    include_str!("page/paint.js"),
    include_str!("page/page.js"),
);

pub(crate) fn write(input: GraphInput<'_>, mut output: Output) -> Result<Written> {
    let picture = Picture::drawable(input)?;
    let mut notes = picture.notes.clone();
    let (layout, places) = positions(&picture, &input.options.drawing)?;
    if places.is_none() {
        notes.push("Graphviz was not used: the page places vertices in columns by hop".to_owned());
    }
    let data = data(&picture, places.as_deref(), layout.as_str(), input.metadata)?;
    for part in PAGE.split_inclusive("%%") {
        // The page is ours: each place has a known name.
        let place = part
            .strip_suffix("%%")
            .and_then(|part| part.rsplit_once('%'));
        let (text, place) = place.unwrap_or((part, ""));
        output.put(text.as_bytes())?;
        match place {
            "" => {}
            "style" => output.put(STYLE.as_bytes())?,
            "script" => output.put(SCRIPT.as_bytes())?,
            "title" => {
                let mut title = Vec::new();
                push_text(&mut title, &picture.title);
                output.put(&title)?;
            }
            _ => output.put(&data)?,
        }
    }
    let mut written = output.finish(Some(input.metadata), picture.arrows.len() as u64)?;
    written.notes = notes;
    Ok(written)
}

/// The data of the page as JSON that is safe inside an element.
fn data(
    picture: &Picture<'_>,
    places: Option<&[(f64, f64)]>,
    layout: &str,
    metadata: &Metadata,
) -> Result<Vec<u8>> {
    let nodes = picture.nodes.iter().enumerate().map(|(number, node)| {
        let place = places.and_then(|places| places.get(number));
        let members = node.members().iter().map(|member| picture.address(*member));
        let members: Vec<_> = members
            .map(|member| made(|out| out.extend(member)))
            .collect();
        let VertexStyle {
            shape, fill, style, ..
        } = node.style;
        json!({
            "id": made(|out| picture.push_id(node, out)),
            "label": lines(|out| picture.push_label(node, out)),
            "tip": lines(|out| picture.push_tooltip(node, out)), "shape": shape,
            "fill": fill, "root": node.is_root, "hop": node.hop, "column": node.column,
            "name": picture.name(node), "kind": picture.kind(node), "style": style,
            "link": picture.node_link(node), "members": members,
            "x": place.map(|place| place.0), "y": place.map(|place| place.1),
        })
    });
    // One axis for all: times if every arrow has them.
    let timed = picture
        .arrows
        .iter()
        .all(|arrow| arrow.first.1.is_some() && arrow.last.1.is_some());
    let at = |moment: super::edge::Moment| match moment.1 {
        Some(time) if timed => time.seconds(),
        _ => moment.0,
    };
    let arrows = picture.arrows.iter().enumerate().map(|(number, arrow)| {
        json!({
            "s": arrow.source, "t": arrow.target, "asset": arrow.asset,
            "label": lines(|out| picture.push_arrow_label(arrow, out)),
            "shown": arrow.is_labeled,
            "tip": lines(|out| picture.push_arrow_tooltip(number, out)),
            "color": picture.colors[arrow.asset], "width": arrow.width,
            "first": at(arrow.first), "last": at(arrow.last), "link": picture.arrow_link(arrow),
        })
    });
    let legend = picture
        .legend
        .iter()
        .map(|entry| json!({ "label": entry.label, "tip": entry.tooltip, "color": entry.color }));
    let categories = (picture.categories.iter())
        .map(|entry| json!({ "label": entry.label, "color": entry.color }));
    let value = json!({
        "categories": categories.collect::<Value>(),
        "title": picture.title, "lines": picture.lines, "notes": picture.notes,
        "layout": layout, "timed": timed,
        "nodes": nodes.collect::<Value>(), "arrows": arrows.collect::<Value>(),
        "legend": legend.collect::<Value>(), "metadata": metadata,
    });
    let mut text = Vec::new();
    push_json(&mut text, &value)?;
    let mut safe = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'<' => safe.extend_from_slice(b"\\u003c"),
            b'>' => safe.extend_from_slice(b"\\u003e"),
            b'&' => safe.extend_from_slice(b"\\u0026"),
            byte => safe.push(byte),
        }
    }
    Ok(safe)
}

fn lines(push: impl FnOnce(&mut Text<'_>)) -> Vec<String> {
    let text = made(|out| push(&mut Text::plain(out)));
    text.split('\n').map(str::to_owned).collect()
}
