//! Folds the leaves of a star or a fan into one vertex.
//!
//! A leaf has transfers with one other vertex only, its hub. Leaves of one hub with the same
//! directions and tokens form a group. The leaves with the largest amounts stay; the others
//! become one vertex. Roots, labeled vertices and vertices at which the search ended for a
//! reason of their own always stay.

use super::edge::PictureArrow;
use crate::Fold;
use std::cmp::{Ordering, Reverse};
use txgraph_graph::{AmountSum, Asset, Expansion, TransferGraph};

/// Returns the number of leaves of a group that stay; `None`: all.
const fn kept(fold: Fold, arrows: usize) -> Option<usize> {
    match fold {
        Fold::Off => None,
        Fold::Beyond(count) => Some(count),
        Fold::Auto if arrows <= 40 => None,
        Fold::Auto if arrows < 1_000 => Some(10),
        Fold::Auto => Some(5),
    }
}

/// Returns the folded leaves, by vertex number, in groups of at least two. `assets` has the asset of each place.
pub(super) fn groups(
    graph: &TransferGraph,
    arrows: &[PictureArrow],
    assets: &[Asset],
    fold: Fold,
) -> Vec<Vec<usize>> {
    let Some(kept) = kept(fold, arrows.len()) else {
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
    // Whether a leaf receives from its hub, and what. Comparable amounts within a group of one token; else
    // any fixed order will do.
    let mut moved: Vec<(usize, bool, Asset)> = Vec::new();
    let mut amounts = vec![AmountSum::ZERO; vertices.len()];
    for arrow in arrows {
        for (leaf, receives) in [(arrow.source, false), (arrow.target, true)] {
            if matches!(hubs[leaf], Hub::One(_)) {
                moved.push((leaf, receives, assets[arrow.asset]));
                amounts[leaf] = amounts[leaf].saturating_add(arrow.amount);
            }
        }
    }
    moved.sort_unstable();
    moved.dedup();
    let leaves = moved.chunk_by(|a, b| a.0 == b.0);
    let mut leaves: Vec<Leaf<'_>> = leaves
        .filter_map(|moved| {
            let leaf = moved[0].0;
            let Hub::One(hub) = hubs[leaf] else {
                return None;
            };
            // Two leaves of each other: the second is the hub of the first only.
            let is_hub = matches!(hubs[hub], Hub::One(_)) && hub > leaf;
            (!is_hub).then_some(Leaf { hub, moved })
        })
        .collect();
    leaves.sort_unstable_by(|a, b| {
        let amount = |leaf: &Leaf<'_>| Reverse(amounts[leaf.number()]);
        let same = || amount(a).cmp(&amount(b)).then(a.number().cmp(&b.number()));
        a.compare(b).then_with(same)
    });
    let groups = leaves.chunk_by(|a, b| a.compare(b).is_eq());
    let folded = groups.filter_map(|leaves| {
        let rest = leaves.get(kept..)?;
        let mut rest: Vec<_> = rest.iter().map(Leaf::number).collect();
        rest.sort_unstable();
        (rest.len() > 1).then_some(rest)
    });
    folded.collect()
}

/// A vertex with one counterparty.
struct Leaf<'a> {
    hub: usize,
    /// Its number, whether it receives, and what: each once, ascending.
    moved: &'a [(usize, bool, Asset)],
}

impl Leaf<'_> {
    fn number(&self) -> usize {
        self.moved[0].0
    }

    /// Equal for leaves of one group.
    fn compare(&self, other: &Self) -> Ordering {
        let moved = |leaf: &Self| {
            leaf.moved
                .iter()
                .map(|(_, receives, asset)| (*receives, *asset))
        };
        self.hub
            .cmp(&other.hub)
            .then_with(|| moved(self).cmp(moved(other)))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{drawn_edges::Arrows, picture::edge::merged};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use txgraph_graph::testing;
    use txgraph_work::Threads;

    /// The definition in the documentation of this module.
    fn plain(
        graph: &TransferGraph,
        arrows: &[PictureArrow],
        assets: &[Asset],
        kept: usize,
    ) -> Vec<Vec<usize>> {
        let count = graph.graph.node_count();
        let others = |vertex: usize| -> BTreeSet<usize> {
            let own = |arrow: &&PictureArrow| arrow.source == vertex || arrow.target == vertex;
            let other = |arrow: &PictureArrow| match arrow.source == vertex {
                true => arrow.target,
                false => arrow.source,
            };
            arrows.iter().filter(own).map(other).collect()
        };
        let hub = |vertex: usize| {
            let others: Vec<_> = others(vertex).into_iter().collect();
            let is_root = graph.roots.iter().any(|root| root.index() == vertex);
            match others[..] {
                [hub] if hub != vertex && !is_root => Some(hub),
                _ => None,
            }
        };
        let mut groups: BTreeMap<_, Vec<(Reverse<AmountSum>, usize)>> = BTreeMap::new();
        for leaf in 0..count {
            let Some(hub_of) = hub(leaf) else { continue };
            if hub(hub_of).is_some() && hub_of > leaf {
                continue;
            }
            let own = || {
                arrows
                    .iter()
                    .filter(|arrow| arrow.source == leaf || arrow.target == leaf)
            };
            let moved: BTreeSet<_> = own()
                .map(|arrow| (arrow.target == leaf, assets[arrow.asset]))
                .collect();
            let amounts = own().map(|arrow| arrow.amount);
            let amount = amounts.fold(AmountSum::ZERO, AmountSum::saturating_add);
            let group = groups.entry((hub_of, moved)).or_default();
            group.push((Reverse(amount), leaf));
        }
        let groups = groups.into_values().map(|mut group| {
            group.sort_unstable();
            let mut rest: Vec<_> = group.into_iter().skip(kept).map(|(_, leaf)| leaf).collect();
            rest.sort_unstable();
            rest
        });
        groups.filter(|group| group.len() > 1).collect()
    }

    proptest! {
        #[test]
        fn leaves_are_those_of_the_definition(
            arrows in prop::collection::vec((0u8..40, 0u8..40, 0u64..4, 0usize..3), 1..60),
            hubs in 1u8..12,
            kept in 0usize..4,
            root: Option<u8>,
        ) {
            let tokens = ["", "@USD", "@EUR"];
            let text = arrows.iter().map(|(from, to, amount, token)| {
                format!("v{}>v{to}:{amount}{} ", from % hubs, tokens[*token])
            });
            let mut graph = testing::graph(testing::transfers(&text.collect::<String>()));
            let numbers = graph.graph.node_indices();
            let root = root.and_then(|root| numbers.cycle().nth(root.into()));
            graph.roots.extend(root);
            let styles = Arrows::new(&graph, false, &Threads::one()).unwrap();
            let assets = styles.legend();
            let places = assets.iter().copied().zip(0..).collect();
            let arrows = merged(&graph, &places, false);
            let ours = groups(&graph, &arrows, assets, Fold::Beyond(kept));
            prop_assert_eq!(ours, plain(&graph, &arrows, assets, kept));
        }
    }
}
