//! The choice of a layout by the shape of a picture, and what follows when one takes too long.

use super::{Picture, PictureArrow};
use crate::{Drawing, Layout};
use std::{collections::BTreeMap, time::Duration};

/// A layout to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Never [`Layout::Auto`].
    pub(crate) layout: Layout,
    /// Whether vertices are moved until none overlap, which may take longer than the layout.
    pub(crate) spread: bool,
    pub(crate) time: Duration,
}

/// Arrows up to which columns are tried. Graphviz needs more than a minute for 1,200 arrows
/// between 500 vertices.
const HOPS_ARROWS_MAX: usize = 300;

/// Nodes of the largest column that a screen shows in a few pages.
const COLUMN_MAX: usize = 50;

/// Nodes around the centre of a radial layout.
const RADIAL_NODES_MAX: usize = 400;

/// Time for a layout that has a replacement, unless a caller chose it.
const PATIENCE: Duration = Duration::from_secs(8);

/// Returns the layouts to try, in order. The last ones need the least time.
pub(crate) fn attempts(picture: &Picture, drawing: &Drawing) -> Vec<Attempt> {
    let chosen = drawing.layout != Layout::Auto;
    let layout = if chosen {
        drawing.layout
    } else {
        by_shape(picture)
    };
    let time = drawing.time_max;
    let attempt = |layout, spread, time| Attempt {
        layout,
        spread,
        time,
    };
    let first_time = if chosen { time } else { time.min(PATIENCE) };
    let mut attempts = vec![attempt(layout, true, first_time)];
    if layout != Layout::Force {
        attempts.push(attempt(Layout::Force, true, time.min(PATIENCE)));
    }
    attempts.push(attempt(Layout::Force, false, time));
    attempts
}

/// Columns for what fits, rings for a star, springs for everything else.
pub(super) fn by_shape(picture: &Picture) -> Layout {
    let (nodes, arrows) = (picture.nodes.len(), picture.arrows.len());
    let mut columns: BTreeMap<i64, usize> = BTreeMap::new();
    for node in &picture.nodes {
        *columns.entry(node.column).or_default() += 1;
    }
    let largest = columns.values().max().copied().unwrap_or(0);
    let column = |node: usize| picture.nodes[node].column;
    let is_back = |arrow: &&PictureArrow| column(arrow.source) >= column(arrow.target);
    let back = picture.arrows.iter().filter(is_back).count();
    let is_ordered = arrows <= 60 || 4 * back <= arrows;
    if arrows <= HOPS_ARROWS_MAX && largest <= COLUMN_MAX && is_ordered {
        return Layout::Hops;
    }
    let (_, busiest) = centre(picture);
    if nodes <= RADIAL_NODES_MAX && 10 * busiest >= 8 * arrows {
        return Layout::Radial;
    }
    Layout::Force
}

/// Returns the node with most arrows, and their number.
pub(super) fn centre(picture: &Picture) -> (usize, usize) {
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
