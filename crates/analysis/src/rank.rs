//! Ranks addresses by their part in the flow around the roots: the Transaction Tracing Rank (TTR) of Wu
//! et al., "TRacer" (<https://arxiv.org/abs/2201.05757>), computed by local push.
//!
//! It is a personalized PageRank in which time, amounts and tokens count. A unit of *mass* starts at the
//! roots. Of the mass that arrives at an address, the share `alpha` stays there and is its score. Of the
//! rest, the share `beta` goes forward, in the same token, along the transfers that the address sent after
//! the arrival, in proportion to their amounts. What remains goes backward along the transfers that it
//! received before. Mass that finds no such transfer waits at the address and is divided again.
//!
//! Mass is pushed from the address that has the most of it, until no address has more than `epsilon`. So
//! the work depends on `alpha` and `epsilon`, not on the size of the graph: at most `1 / (alpha * epsilon)`
//! pushes. Scores and what was not pushed add up to one.
//!
//! Transfers of an address that was not expanded are not known, so all mass that arrives there is its
//! score. With [`Nettings`], what an address gives in a swap is one transfer of it, to the address that gets
//! the other token, and in that token. The paper calls this redirection.

use crate::{ColumnType, MeasureResult, Table};
use alloy_primitives::Address;
use heap::Heaviest;
use links::{Links, Side};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_graph::{Expansion, Nettings, TransferGraph};
use txgraph_transfers::TokenFilter;

mod heap;
mod links;
#[cfg(test)]
mod tests;

/// The settings of [`rank`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankSettings {
    /// The share of the arriving mass that is the score of an address: above 0, below 1.
    pub alpha: f64,
    /// The share of the rest that goes forward, to receivers: 0 to 1.
    pub beta: f64,
    /// Mass that is too little to be pushed: above 0, below 1.
    pub epsilon: f64,
}

impl Default for RankSettings {
    /// The values of the paper.
    fn default() -> Self {
        Self {
            alpha: 0.15,
            beta: 0.8,
            epsilon: 1e-3,
        }
    }
}

impl RankSettings {
    /// The smallest share that stays, and the smallest mass that is pushed. They bound the work.
    pub const SMALLEST: [f64; 2] = [0.01, 1e-7];

    /// Describes what is wrong with the settings.
    ///
    /// # Errors
    ///
    /// If a number is outside of its range.
    pub fn check(&self) -> Result<(), String> {
        let [alpha, epsilon] = Self::SMALLEST;
        let says = |name: &str, least: f64, value: f64| {
            format!("{name} is at least {least} and below 1, not {value}")
        };
        if !(alpha..1.0).contains(&self.alpha) {
            return Err(says("alpha", alpha, self.alpha));
        }
        if !(epsilon..1.0).contains(&self.epsilon) {
            return Err(says("epsilon", epsilon, self.epsilon));
        }
        match (0.0..=1.0).contains(&self.beta) {
            true => Ok(()),
            false => Err(format!("beta is from 0 to 1, not {}", self.beta)),
        }
    }
}

/// The addresses around some roots, by their part in the flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// The settings.
    #[serde(flatten)]
    pub settings: RankSettings,
    /// The number of addresses that mass arrived at.
    pub total: u64,
    /// How often mass was pushed.
    pub pushes: u64,
    /// Mass that was not pushed. Each score is too small by at most this.
    pub residual: f64,
    /// The addresses with the highest scores first, of equals the lower address.
    pub ranks: Vec<Ranked>,
}

/// An address with its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The address.
    pub address: Address,
    /// Its label, if any.
    pub label: Option<String>,
    /// The mass that stays there.
    pub score: f64,
    /// Its distance from the nearest root, in hops.
    pub hop: u32,
    /// Whether its transfers were followed, or why not.
    pub expansion: Expansion,
}

/// Ranks the addresses of `graph`, which has the transfers of all expanded addresses in both directions.
/// Mass starts with the `tokens` that the roots moved, as much with each. Lists at most `limit` addresses.
/// Asks `proceed` now and then, and ends if it fails.
///
/// # Errors
///
/// The error of `proceed`.
pub fn rank<E>(
    graph: &TransferGraph,
    tokens: &TokenFilter,
    swaps: &Nettings,
    settings: RankSettings,
    limit: Option<usize>,
    mut proceed: impl FnMut() -> Result<(), E>,
) -> Result<Ranking, E> {
    let mut walk = Walk::new(graph, swaps, settings);
    walk.start(graph, tokens);
    while let Some(vertex) = walk.waiting.pop() {
        // A hub can have millions of transfers.
        proceed()?;
        walk.push(vertex);
    }
    Ok(walk.finish(graph, limit))
}

/// The token and the time of some mass: the number of the transfer that brought it, from 1.
type Chip = (u32, u32);

/// The state of a ranking. Vertices are numbers of the graph.
struct Walk {
    settings: RankSettings,
    links: Links,
    /// By vertex: mass by chip.
    chips: Vec<BTreeMap<Chip, f64>>,
    waiting: Heaviest,
    scores: Vec<f64>,
    is_expanded: Vec<bool>,
    pushes: u64,
}

impl Walk {
    fn new(graph: &TransferGraph, swaps: &Nettings, settings: RankSettings) -> Self {
        let vertices = graph.graph.node_count();
        let expanded = graph.graph.node_weights();
        Self {
            settings,
            links: Links::of(graph, swaps),
            chips: vec![BTreeMap::new(); vertices],
            waiting: Heaviest::new(vertices, settings.epsilon),
            scores: vec![0.0; vertices],
            is_expanded: expanded
                .map(|it| it.expansion == Expansion::Expanded)
                .collect(),
            pushes: 0,
        }
    }

    /// Divides the mass among the roots and their tokens, and pushes it along all their transfers.
    fn start(&mut self, graph: &TransferGraph, tokens: &TokenFilter) {
        let mut starts = Vec::new();
        for root in &graph.roots {
            let moved = self.links.tokens(root.index(), self.settings.beta);
            let moved = moved.filter(|(_, contract)| tokens.matches(contract.as_ref()));
            starts.extend(moved.map(|(token, _)| (root.index(), token)));
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few roots and tokens")]
        let mass = 1.0 / starts.len() as f64;
        for (vertex, token) in starts {
            let rest = self.keep(vertex, mass);
            let forward = [((token, 0), rest * self.settings.beta)];
            let backward = [((token, u32::MAX), rest * (1.0 - self.settings.beta))];
            self.send(vertex, Side::Out, &forward);
            self.send(vertex, Side::In, &backward);
        }
    }

    /// Adds the share of an address to its score. Returns what is left.
    fn keep(&mut self, vertex: usize, mass: f64) -> f64 {
        let kept = mass * self.settings.alpha;
        self.scores[vertex] += kept;
        mass - kept
    }

    /// Divides all mass of a vertex.
    fn push(&mut self, vertex: usize) {
        self.pushes += 1;
        let chips = std::mem::take(&mut self.chips[vertex]);
        let chips: Vec<_> = chips.into_iter().collect();
        let mass: f64 = chips.iter().map(|(_, mass)| mass).sum();
        let rest = self.keep(vertex, mass) / mass;
        let share = |of: f64| -> Vec<_> {
            let chips = chips.iter();
            chips
                .map(|(chip, mass)| (*chip, mass * rest * of))
                .collect()
        };
        let [forward, backward] = [share(self.settings.beta), share(1.0 - self.settings.beta)];
        self.send(vertex, Side::Out, &forward);
        self.send(vertex, Side::In, &backward);
    }

    /// Sends chips along the transfers of one side.
    fn send(&mut self, vertex: usize, side: Side, chips: &[(Chip, f64)]) {
        let Self {
            links,
            chips: all,
            waiting,
            scores,
            is_expanded,
            ..
        } = self;
        let mut arrive = |to: usize, chip: Chip, mass: f64| {
            if is_expanded[to] {
                *all[to].entry(chip).or_default() += mass;
                waiting.add(to, mass);
            } else {
                scores[to] += mass;
            }
        };
        for same in chips.chunk_by(|a, b| a.0.0 == b.0.0) {
            links.divide(vertex, side, same, &mut arrive);
        }
    }

    fn finish(self, graph: &TransferGraph, limit: Option<usize>) -> Ranking {
        let chips = self.chips.iter().flat_map(BTreeMap::values);
        let residual = chips.fold(0.0, |sum, mass| sum + mass);
        let ranked = graph.graph.node_weights().zip(self.scores);
        let ranked = ranked.filter(|(_, score)| *score > 0.0);
        let mut ranks: Vec<_> = ranked
            .map(|(vertex, score)| Ranked {
                address: vertex.address,
                label: None,
                score,
                hop: vertex.hop,
                expansion: vertex.expansion,
            })
            .collect();
        ranks.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.address.cmp(&b.address)));
        let total = ranks.len() as u64;
        ranks.truncate(limit.unwrap_or(usize::MAX));
        Ranking {
            settings: self.settings,
            total,
            pushes: self.pushes,
            residual,
            ranks,
        }
    }
}

impl Ranking {
    /// Gives every address its label.
    pub fn label(&mut self, name: &dyn Fn(Address) -> Option<String>) {
        for ranked in &mut self.ranks {
            ranked.label = name(ranked.address);
        }
    }
}

impl MeasureResult for Ranking {
    fn tables(&self) -> Vec<Table> {
        let title = match self.total {
            0 => "Part in the flow around the roots, which have no transfers to follow".to_owned(),
            total => format!(
                "Part in the flow around the roots: {total} addresses, {:.4} of 1 not divided",
                self.residual
            ),
        };
        let mut table = Table::new(
            "ranks",
            title,
            &[
                ("rank", ColumnType::U64),
                ("address", ColumnType::Address),
                ("label", ColumnType::Text),
                ("score", ColumnType::F64),
                ("hop", ColumnType::U32),
                ("expansion", ColumnType::Text),
            ],
        );
        for (at, ranked) in (1u64..).zip(&self.ranks) {
            table.push(vec![
                at.into(),
                ranked.address.into(),
                ranked.label.clone().into(),
                ranked.score.into(),
                ranked.hop.into(),
                ranked.expansion.as_str().into(),
            ]);
        }
        vec![table]
    }
}
