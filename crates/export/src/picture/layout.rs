//! The choice of a layout by the shape of a picture.

use super::{Picture, PictureArrow};
use crate::Layout;

/// Arrows up to which columns are tried. Graphviz needs more than a minute for 1,200 arrows
/// between 500 vertices.
const HOPS_ARROWS_MAX: usize = 300;

/// Nodes of the largest column that a screen shows in a few pages.
const COLUMN_MAX: usize = 50;

/// Nodes around the center of a radial layout.
const RADIAL_NODES_MAX: usize = 400;

/// The layout of a picture: the chosen one, else by its shape and size. It never depends on the speed of
/// a machine, so that a picture is the same everywhere.
pub(super) fn layout_of(picture: &Picture<'_>, chosen: Layout) -> Layout {
    match chosen {
        Layout::Auto => by_shape(picture),
        chosen => chosen,
    }
}

/// Columns for what fits, rings for a star, springs for everything else.
fn by_shape(picture: &Picture<'_>) -> Layout {
    let (nodes, arrows) = (picture.nodes.len(), picture.arrows.len());
    if arrows <= HOPS_ARROWS_MAX && fits_columns(picture) {
        return Layout::Hops;
    }
    if nodes <= RADIAL_NODES_MAX && 10 * center(picture).1 >= 8 * arrows {
        return Layout::Radial;
    }
    Layout::Force
}

/// Whether no column is too long, and most arrows lead to a later one.
fn fits_columns(picture: &Picture<'_>) -> bool {
    let arrows = picture.arrows.len();
    let column = |node: usize| picture.nodes[node].column;
    let is_back = |arrow: &&PictureArrow| column(arrow.source) >= column(arrow.target);
    let back = || picture.arrows.iter().filter(is_back).count();
    let columns = picture.columns();
    columns.iter().all(|(_, nodes)| nodes.len() <= COLUMN_MAX)
        && (arrows <= 60 || 4 * back() <= arrows)
}

/// Returns the node with most arrows, and their number.
pub(super) fn center(picture: &Picture<'_>) -> (usize, usize) {
    let mut degrees = vec![0; picture.nodes.len()];
    for arrow in &picture.arrows {
        degrees[arrow.source] += 1;
        if arrow.target != arrow.source {
            degrees[arrow.target] += 1;
        }
    }
    let busiest = degrees
        .into_iter()
        .enumerate()
        .rev()
        .max_by_key(|(_, degree)| *degree);
    busiest.unwrap_or((0, 0))
}

/// Returns words for a layout.
pub(crate) const fn name(layout: Layout) -> &'static str {
    match layout {
        Layout::Auto => "the layout by shape",
        Layout::Hops => "columns by hop",
        Layout::Radial => "the radial layout",
        Layout::Force => "the force layout",
    }
}
