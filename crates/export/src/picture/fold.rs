//! Folds the leaves of a star or a fan into one vertex.
//!
//! A leaf has transfers with one other vertex only, its hub. Leaves of one hub with the same
//! directions and tokens form a group. The leaves with the largest amounts stay; the others
//! become one vertex. Roots, labelled vertices and vertices at which the search ended for a
//! reason of their own always stay.

use super::arrow::Merged;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};
use txgraph_graph::{AmountSum, Asset, Expansion, TransferGraph};

/// Which leaves of a picture become one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// By the size of the picture: none up to 40 arrows, then all beyond the first 10 of a
    /// group, and beyond the first 5 from 1,000 arrows on.
    #[default]
    Auto,
    /// None.
    Off,
    /// All beyond this number in each group.
    Beyond(usize),
}

/// A text that is no [`Fold`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number of leaves; a number, `auto` or `off`")]
pub struct WrongFold(String);

impl FromStr for Fold {
    type Err = WrongFold;

    fn from_str(text: &str) -> Result<Self, WrongFold> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => (text.parse().map(Self::Beyond)).map_err(|_| WrongFold(text.to_owned())),
        }
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Beyond(count) => count.fmt(f),
        }
    }
}

impl Fold {
    /// Returns the number of leaves of a group that stay; `None`: all.
    const fn kept(self, arrows: usize) -> Option<usize> {
        match self {
            Self::Off => None,
            Self::Beyond(count) => Some(count),
            Self::Auto if arrows <= 40 => None,
            Self::Auto if arrows < 1_000 => Some(10),
            Self::Auto => Some(5),
        }
    }
}

/// Whether a leaf receives from its hub, and what.
type Signature = BTreeSet<(bool, Asset)>;

/// Returns the folded leaves, by vertex number, in groups of at least two.
pub(super) fn groups(graph: &TransferGraph, arrows: &[Merged], fold: Fold) -> Vec<Vec<usize>> {
    let Some(kept) = fold.kept(arrows.len()) else {
        return Vec::new();
    };
    let vertices = graph.graph.raw_nodes();
    let mut hubs = vec![Hub::None; vertices.len()];
    for arrow in arrows {
        let (source, target) = (arrow.source, arrow.target);
        hubs[source].meets(target, source == target);
        hubs[target].meets(source, source == target);
    }
    for root in &graph.roots {
        hubs[root.index()] = Hub::Several;
    }
    for (hub, vertex) in hubs.iter_mut().zip(vertices) {
        let vertex = &vertex.weight;
        let plain = matches!(vertex.expansion, Expansion::Expanded | Expansion::LastHop);
        if !plain || !vertex.labels.is_empty() {
            *hub = Hub::Several;
        }
    }
    let mut leaves: BTreeMap<usize, (Signature, AmountSum)> = BTreeMap::new();
    for arrow in arrows {
        for (leaf, receives) in [(arrow.source, false), (arrow.target, true)] {
            if matches!(hubs[leaf], Hub::One(_)) {
                let (signature, amount) = leaves.entry(leaf).or_default();
                signature.insert((receives, arrow.asset));
                // Comparable within a group of one token; else any fixed order will do.
                *amount = amount.saturating_add(arrow.amount);
            }
        }
    }
    let mut groups: BTreeMap<(usize, Signature), Vec<(AmountSum, usize)>> = BTreeMap::new();
    for (leaf, (signature, amount)) in leaves {
        if let Hub::One(hub) = hubs[leaf] {
            // Two leaves of each other: the second is the hub of the first only.
            if matches!(hubs[hub], Hub::One(_)) && hub > leaf {
                continue;
            }
            groups
                .entry((hub, signature))
                .or_default()
                .push((amount, leaf));
        }
    }
    let folded = groups.into_values().filter_map(|mut leaves| {
        leaves.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rest: Vec<_> = leaves
            .drain(kept.min(leaves.len())..)
            .map(|(_, leaf)| leaf)
            .collect();
        rest.sort_unstable();
        (rest.len() > 1).then_some(rest)
    });
    folded.collect()
}

/// The vertices that a vertex has transfers with.
#[derive(Clone, Copy)]
enum Hub {
    None,
    One(usize),
    Several,
}

impl Hub {
    fn meets(&mut self, other: usize, is_self: bool) {
        *self = match *self {
            _ if is_self => Self::Several,
            Self::None => Self::One(other),
            Self::One(one) if one == other => Self::One(one),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}
