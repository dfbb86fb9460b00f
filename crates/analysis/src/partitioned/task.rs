//! The tasks of steps.

use super::{
    EdgeRows, Stage, Tables,
    record::{
        ADDRESS, ASSET, AssetRecord, EdgeRecord, PairRecord, Record, SumRecord, address, asset,
        asset_key, token, token_key,
    },
    rows::{
        all, each, fold, forest, graph, merged, scatter, sums, vertices, write_all, write_edges,
        write_forest, write_pairs, write_vertices,
    },
};
use crate::{
    AssetCounts, Connected, DegreeCounts, End, MotifCounts, Participant, SideCounts, SummaryCounts,
    SummarySettings, TokenCounts, asset_counts, each_side, first_pairs, rank_tokens, tokens,
};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_base::Interner;
use txgraph_graph::{Asset, Merger, SearchError};
use txgraph_transfers::{Kind, QueriedNames, Transfer, TransferFilter};

/// The damping factor of PageRank, as in the paper (Brin and Page, 1998).
pub(super) const DAMPING: f64 = 0.85;

/// A participant: asset, side, address, and the length of the amount or 0; transfers; amount.
type ParticipantRecord = Record<{ ASSET + 1 + ADDRESS }, 1, 1>;
/// A token: transfers, edges, addresses, most counterparties; amount, squares.
type TokenRecord = Record<ASSET, 4, 2>;
/// A token and an address: counterparties, ends of transfers.
type TokenEndRecord = Record<{ ASSET + ADDRESS }, 2, 0>;
/// Senders and receivers of a vertex.
type FanRecord = Record<ADDRESS, 2, 0>;
/// Sender and receiver.
type LinkRecord = Record<{ 2 * ADDRESS }, 0, 0>;
/// A vertex with one number: its links, or the bits of a rank.
pub(super) type NumberRecord = Record<ADDRESS, 1, 0>;

/// Facts about the transfers of a chunk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScanFacts {
    /// Names of the query that did not occur.
    pub unseen: QueriedNames,
    /// Transfers by kind, in the order of [`Kind::ALL`].
    pub kinds: [u64; Kind::ALL.len()],
    /// The number of transfers.
    pub transfers: u64,
}

impl ScanFacts {
    pub(super) fn none(filter: &TransferFilter) -> Self {
        Self {
            unseen: QueriedNames::of(filter),
            kinds: Default::default(),
            transfers: 0,
        }
    }

    /// Adds the facts about another chunk.
    pub(super) fn merge(&mut self, other: &Self) {
        self.unseen.merge(&other.unseen);
        for (ours, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            *ours += theirs;
        }
        self.transfers += other.transfers;
    }
}

/// The transfers of a chunk, merged while they are read: a task of the first step.
#[derive(Debug)]
pub struct ScanTask {
    facts: ScanFacts,
    into: Merged,
}

#[derive(Debug)]
enum Merged {
    Forest(Connected),
    Edges(Box<Merger>, EdgeRows),
}

impl ScanTask {
    /// A task of a request with this filter. `None` if tasks of the step read no transfers.
    pub fn new(stage: &Stage, filter: &TransferFilter) -> Option<Self> {
        let into = match stage {
            Stage::Forest => Merged::Forest(Connected::default()),
            Stage::Edges(rows) => {
                let merger = match rows {
                    EdgeRows::Pairs => Merger::of_pairs(),
                    _ => Merger::default(),
                };
                Merged::Edges(Box::new(merger), *rows)
            }
            _ => return None,
        };
        let facts = ScanFacts::none(filter);
        Some(Self { facts, into })
    }

    /// Adds transfers, in their total order. Runs on the current rayon pool.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`].
    pub fn add(&mut self, transfers: &[Transfer]) -> Result<(), SearchError> {
        self.facts.unseen.see(transfers);
        self.facts.transfers += transfers.len() as u64;
        for transfer in transfers {
            self.facts.kinds[transfer.kind as usize] += 1;
        }
        match &mut self.into {
            Merged::Forest(connected) => connected.add(transfers),
            Merged::Edges(merger, _) => merger.add(transfers),
        }
    }

    /// Writes the result.
    ///
    /// # Errors
    ///
    /// The errors of `to`.
    pub fn finish<T: Tables>(self, to: &mut T) -> Result<(), T::Error> {
        match self.into {
            Merged::Forest(connected) => write_forest(connected, to)?,
            Merged::Edges(merger, rows) => {
                let graph = merger.finish()?;
                match rows {
                    EdgeRows::Pairs => write_edges(&graph, PairRecord::of, to)?,
                    EdgeRows::Blocks => write_edges(&graph, EdgeRecord::of, to)?,
                    EdgeRows::Sums => {
                        write_edges(&graph, SumRecord::of, to)?;
                        let counts = asset_counts(&graph);
                        let counts: Vec<_> = counts.iter().map(AssetRecord::from).collect();
                        scatter(to, 1, &counts, |record| record.key)?;
                    }
                }
            }
        }
        to.report(&self.facts)
    }
}

/// Does a task of a later step. Runs on the current rayon pool.
///
/// # Errors
///
/// The errors of `to`, [`SearchError::TooLarge`], and if the rows are not of this step.
pub fn run_task<T: Tables>(stage: &Stage, to: &mut T) -> Result<(), T::Error> {
    match stage {
        // Nothing without transfers.
        Stage::Forest | Stage::Edges(_) => Ok(()),
        Stage::MergeForests => write_forest(forest(to)?, to),
        Stage::Components(limit) => {
            let found = forest(to)?.finish(&[], *limit);
            to.write_counts(0, &found)
        }
        Stage::Vertices => write_vertices(&graph(to, PairRecord::edge)?, 0, to),
        Stage::Degrees(hubs) => {
            let (addresses, degrees) = vertices(to)?;
            to.write_counts(0, &DegreeCounts::of(&addresses, &degrees, *hubs))?;
            to.report(&addresses.len())
        }
        Stage::MergeDegrees(hubs) => {
            let counts = fold(to, 0, |all: &mut DegreeCounts, one| all.merge(one, *hubs))?;
            to.write_counts(0, &counts)
        }
        Stage::Pairs(settings) => {
            let graph = graph(to, EdgeRecord::edge)?;
            write_vertices(&graph, 1, to)?;
            let edges = graph.edges().map(|edge| graph.stored(&edge));
            write_pairs(&first_pairs(edges.collect(), settings), to)?;
            to.report(&graph.edge_count())
        }
        Stage::MergePairs(settings) => {
            let mut edges = Vec::new();
            each(to, 0, |record: EdgeRecord| {
                edges.push(record.edge()?);
                Ok(())
            })?;
            write_pairs(&first_pairs(edges, settings), to)
        }
        Stage::Assets(settings) => {
            let counts = SummaryCounts::of_assets(assets(to)?, settings);
            to.write_counts(0, &counts)
        }
        Stage::Sides(assets) => sides(assets, to),
        Stage::Busiest(settings) => busiest(settings, to),
        Stage::Ranked(settings) => ranked(settings, to),
        Stage::MergeSummary(settings) => {
            let merge = |all: &mut SummaryCounts, one| all.merge(one, settings);
            let counts = fold(to, 0, merge)?;
            to.write_counts(0, &counts)
        }
        Stage::TokenEnds => token_ends(to),
        Stage::TokenSums => token_sums(to),
        Stage::Tokens(limit) => {
            let mut counts = all_tokens(to)?;
            rank_tokens(&mut counts);
            counts.truncate(limit.unwrap_or(usize::MAX));
            to.write_counts(0, &counts)
        }
        Stage::MotifEnds => {
            let graph = graph(to, PairRecord::edge)?;
            let (counts, fans) = MotifCounts::of_edges(&graph);
            let fans = graph.addresses.iter().zip(fans);
            let fans = fans.map(|(address, fans)| FanRecord::new(&[address.as_slice()], fans, []));
            scatter(to, 0, &fans.collect::<Vec<_>>(), |record| record.key)?;
            to.report(&counts)
        }
        Stage::Motifs => {
            let fans: Vec<FanRecord> = sums(to, 0)?;
            let fans = fans.iter().map(|record| record.numbers);
            to.report(&MotifCounts::of_fans(fans))
        }
        Stage::Links => links(to),
        Stage::Adjacency => adjacency(to),
        Stage::Ranks(base) => ranks(f64::from_bits(*base), to),
        Stage::Highest(limit) => highest(*limit, to),
    }
}

fn assets<T: Tables>(from: &T) -> Result<Vec<AssetCounts>, T::Error> {
    let mut assets: BTreeMap<Asset, AssetCounts> = BTreeMap::new();
    each(from, 0, |record: AssetRecord| {
        let counts = record.counts()?;
        let known = assets.entry(counts.asset);
        known
            .or_insert(AssetCounts::none(counts.asset))
            .add(&counts);
        Ok(())
    })?;
    Ok(assets.into_values().collect())
}

/// The tokens of a partition of all inputs.
fn all_tokens<T: Tables>(from: &T) -> Result<Vec<TokenCounts>, T::Error> {
    let mut tokens: BTreeMap<Option<Address>, TokenCounts> = BTreeMap::new();
    for input in [0, 1] {
        each(from, input, |record: TokenRecord| {
            let token = token(&record.key, 0);
            let [transfers, edges, addresses, counterparties_max] = record.numbers;
            let [amount, squares] = record.amounts;
            let known = tokens.entry(token);
            known.or_insert(TokenCounts::none(token)).add(&TokenCounts {
                token,
                transfers,
                amount,
                edges,
                addresses,
                counterparties_max,
                squares,
            });
            Ok(())
        })?;
    }
    Ok(tokens.into_values().collect())
}

/// Writes the vertices of a part of a graph, the participants of assets, and counts.
fn sides<T: Tables>(assets: &[Asset], to: &mut T) -> Result<(), T::Error> {
    let graph = graph(to, SumRecord::edge)?;
    write_vertices(&graph, 0, to)?;
    let mut records: Vec<ParticipantRecord> = Vec::new();
    each_side(&graph, assets, |asset, end, participants| {
        let asset = asset_key(asset);
        let record = |one: &Participant| {
            let key = [&asset[..], &[end as u8], one.address.as_slice()];
            Record::new(&key, [one.transfers], [one.amount])
        };
        records.extend(participants.iter().map(record));
    });
    scatter(to, 1, &records, |record| record.key)?;
    to.write_counts(2, &SummaryCounts::of_edges(&graph, assets))
}

/// Finds the busiest vertices of a partition. Adds up its participants, and writes them by asset,
/// side and length, for their ranks.
fn busiest<T: Tables>(settings: &SummarySettings, to: &mut T) -> Result<(), T::Error> {
    let (addresses, degrees) = vertices(to)?;
    let mut counts = SummaryCounts::of_vertices(&addresses, &degrees, settings);
    let of_edges = fold(to, 2, |all: &mut SummaryCounts, one| {
        all.merge(one, settings)
    })?;
    counts.merge(of_edges, settings);
    to.write_counts(0, &counts)?;
    let participants: Vec<ParticipantRecord> = sums(to, 1)?;
    scatter(to, 1, &participants, |record| {
        let length = SideCounts::length(record.amounts[0]).to_be_bytes();
        let mut by = [0; ASSET + 1 + 8];
        by[..=ASSET].copy_from_slice(&record.key[..=ASSET]);
        by[ASSET + 1..].copy_from_slice(&length);
        by
    })
}

/// Ranks the participants of a partition: all of one side of an asset with amounts of one length.
fn ranked<T: Tables>(settings: &SummarySettings, to: &mut T) -> Result<(), T::Error> {
    let mut counts = fold(to, 1, |all: &mut SummaryCounts, one| {
        all.merge(one, settings)
    })?;
    let mut sides: BTreeMap<(Asset, End), Vec<Participant>> = BTreeMap::new();
    each(to, 0, |record: ParticipantRecord| {
        let end = match record.key[ASSET] {
            0 => End::From,
            _ => End::To,
        };
        let side = sides.entry((asset(&record.key, 0)?, end)).or_default();
        side.push(Participant {
            address: address(&record.key, ASSET + 1),
            transfers: record.numbers[0],
            amount: record.amounts[0],
        });
        Ok(())
    })?;
    for ((asset, end), participants) in sides {
        counts.add_side(asset, end, participants, settings);
    }
    to.write_counts(0, &counts)
}

fn token_record(counts: &TokenCounts) -> TokenRecord {
    let numbers = [
        counts.transfers,
        counts.edges,
        counts.addresses,
        counts.counterparties_max,
    ];
    let amounts = [counts.amount, counts.squares];
    Record::new(&[&token_key(counts.token)], numbers, amounts)
}

/// Writes the tokens of a part of a graph, and their addresses.
fn token_ends<T: Tables>(to: &mut T) -> Result<(), T::Error> {
    let (counts, ends) = tokens(&graph(to, SumRecord::edge)?);
    let counts: Vec<_> = counts.iter().map(token_record).collect();
    scatter(to, 0, &counts, |record| record.key)?;
    let ends = ends.iter().map(|end| {
        let key = [&token_key(end.token)[..], end.address.as_slice()];
        TokenEndRecord::new(&key, [end.counterparties, end.ends], [])
    });
    scatter(to, 1, &ends.collect::<Vec<_>>(), |record| record.key)
}

/// Adds up the addresses of tokens.
fn token_sums<T: Tables>(to: &mut T) -> Result<(), T::Error> {
    let mut tokens: BTreeMap<Option<Address>, TokenCounts> = BTreeMap::new();
    let ends: Vec<TokenEndRecord> = sums(to, 0)?;
    for end in ends {
        let token = token(&end.key, 0);
        let [counterparties, ends] = end.numbers;
        let known = tokens.entry(token).or_insert(TokenCounts::none(token));
        known.add_end(counterparties, ends);
    }
    let counts: Vec<_> = tokens.values().map(token_record).collect();
    scatter(to, 0, &counts, |record| record.key)
}

/// Writes the links of a part of a graph, and its vertices with the numbers of their links.
fn links<T: Tables>(to: &mut T) -> Result<(), T::Error> {
    let graph = graph(to, PairRecord::edge)?;
    let mut degrees = vec![0; graph.addresses.len()];
    let mut links = Vec::new();
    for (from, to) in graph.pairs() {
        degrees[from as usize] += 1;
        let ends = [graph.address(from), graph.address(to)];
        links.push(LinkRecord::new(
            &ends.each_ref().map(|end| end.as_slice()),
            [],
            [],
        ));
    }
    scatter(to, 0, &links, |record| address(&record.key, 0).0.0)?;
    let vertices = graph.addresses.iter().zip(degrees);
    let vertices =
        vertices.map(|(address, links)| NumberRecord::new(&[address.as_slice()], [links], []));
    scatter(to, 1, &vertices.collect::<Vec<_>>(), |record| record.key)
}

/// Writes the links of a partition by sender, and its vertices, each once. Returns their number.
fn adjacency<T: Tables>(to: &mut T) -> Result<(), T::Error> {
    let mut links: Vec<LinkRecord> = all(to, 0)?;
    links.sort_unstable_by_key(|record| record.key);
    write_all(to, 0, &links)?;
    let vertices: Vec<NumberRecord> = sums(to, 1)?;
    write_all(to, 1, &vertices)?;
    to.report(&vertices.len())
}

/// Computes the ranks of a round, and what they contribute to the next.
fn ranks<T: Tables>(base: f64, to: &mut T) -> Result<(), T::Error> {
    let add = |sum: &mut NumberRecord, more: &NumberRecord| {
        let sums = [sum.numbers[0], more.numbers[0]].map(f64::from_bits);
        sum.numbers[0] = (sums[0] + sums[1]).to_bits();
    };
    let mut contributions = BTreeMap::new();
    if to.inputs() > 2 {
        for record in merged(to, 2, add)? {
            contributions.insert(record.key, f64::from_bits(record.numbers[0]));
        }
    }
    let (mut ranks, mut dangling) = (Vec::new(), 0.0);
    let mut given = BTreeMap::new();
    each(to, 1, |vertex: NumberRecord| {
        let more = contributions.get(&vertex.key).copied().unwrap_or_default();
        let rank = base + DAMPING * more;
        match vertex.numbers[0] {
            0 => dangling += rank,
            // A vertex has at most 2^53 links, so this is exact.
            links => drop(given.insert(vertex.key, rank / links as f64)),
        }
        ranks.push(NumberRecord::new(&[&vertex.key], [rank.to_bits()], []));
        Ok(())
    })?;
    write_all(to, 0, &ranks)?;
    let (mut receivers, mut sums) = (Interner::default(), Vec::<NumberRecord>::new());
    each(to, 0, |link: LinkRecord| {
        let [from, to] = [0, ADDRESS].map(|at| address(&link.key, at).0.0);
        let given = given.get(&from).copied().unwrap_or_default();
        let record = NumberRecord::new(&[&to], [given.to_bits()], []);
        let place = receivers.intern(to)? as usize;
        match sums.get_mut(place) {
            Some(sum) => add(sum, &record),
            None => sums.push(record),
        }
        Ok(())
    })?;
    scatter(to, 1, &sums, |record| record.key)?;
    // As bits, because text has no exact doubles.
    to.report(&dangling.to_bits())
}

/// Writes the ranks of a partition in order: highest first, then by address.
fn highest<T: Tables>(limit: Option<usize>, to: &mut T) -> Result<(), T::Error> {
    let mut ranks: Vec<NumberRecord> = all(to, 0)?;
    // No rank is negative, so the order of bits is the order of ranks.
    ranks.sort_unstable_by_key(|record| (Reverse(record.numbers[0]), record.key));
    ranks.truncate(limit.unwrap_or(usize::MAX));
    write_all(to, 0, &ranks)
}
