//! SVG and PNG, drawn from DOT by Graphviz.

use crate::{
    DocumentFormat, Drawing, Layout, Metadata, Result, Written,
    graphviz::run,
    options::GraphInput,
    output::Output,
    picture::{self, Picture},
};

/// Pixels of a PNG on each side. Graphviz' own limit is 32,767, and viewers fail before it.
const PNG_SIDE_MAX: u32 = 8_000;

/// Arguments that scale a PNG down to fit, with room for its margins: 82 inches of 96 dots.
const PNG_SIZE: [&str; 2] = ["-Gsize=82,82", "-Gdpi=96"];

/// A side from which on a PNG was scaled down.
const PNG_SCALED: u32 = 82 * 96 - 2;

pub(crate) fn write(
    input: GraphInput<'_>,
    format: DocumentFormat,
    mut output: Output,
) -> Result<Written> {
    let picture = Picture::drawable(input)?;
    let (image, notes) = draw(&picture, format, &input.options.drawing, input.metadata)?;
    output.put(&image)?;
    let mut written = output.finish(Some(input.metadata), picture.arrows.len() as u64)?;
    written.notes = picture.notes;
    written.notes.extend(notes);
    Ok(written)
}

/// Returns the image, and what was changed so that it fits.
fn draw(
    picture: &Picture<'_>,
    format: DocumentFormat,
    drawing: &Drawing,
    metadata: &Metadata,
) -> Result<(Vec<u8>, Vec<String>)> {
    let kind = format!("-T{format}");
    let mut args = vec![kind.as_str()];
    let is_png = format == DocumentFormat::Png;
    if is_png {
        args.extend(PNG_SIZE);
    }
    let image = |layout| {
        let text = picture::dot::text(picture, layout, metadata)?;
        run(drawing, &args, text)
    };
    let is_scaled =
        |image: &[u8]| is_png && longest_side(image).is_some_and(|side| side >= PNG_SCALED);
    let large = |layout| {
        let name = picture::layout_name(layout);
        format!("{name} is larger than {PNG_SIDE_MAX} pixels on a side")
    };
    let mut layout = picture.layout;
    let (mut drawn, mut notes) = (image(layout)?, Vec::new());
    if is_scaled(&drawn) && drawing.layout == Layout::Auto && layout != Layout::Force {
        let force = picture::layout_name(Layout::Force);
        notes.push(format!("{}: drawn with {force}", large(layout)));
        layout = Layout::Force;
        drawn = image(layout)?;
    }
    if is_scaled(&drawn) {
        let large = large(layout);
        notes.push(format!(
            "{large}: scaled down; SVG and HTML have the full size"
        ));
    }
    Ok((drawn, notes))
}

/// Returns the longer side of a PNG, in pixels, from its first chunk.
fn longest_side(png: &[u8]) -> Option<u32> {
    let number = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?));
    Some(number(16)?.max(number(20)?))
}
