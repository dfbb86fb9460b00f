//! The steps of each measure.

use super::{
    EdgeRows, Part, ScanFacts, Stage, Steps, Table,
    record::{EdgeRecord, address},
    task::{DAMPING, NumberRecord},
};
use crate::{
    Components, DegreeCounts, Degrees, MotifCounts, Pair, PairSettings, Pairs, Summary,
    SummaryCounts, SummarySettings, TokenCounts, first_pairs, rank_tokens,
};
use alloy_primitives::Address;
use serde::de::DeserializeOwned;
use std::{cmp::Reverse, collections::BinaryHeap, ops::ControlFlow};
use txgraph_graph::SearchError;
use txgraph_transfers::{FailureKind, SourceError, SourceFailure, TransferFilter};

/// Results that one task merges.
const FAN_IN: usize = 8;

/// Measures by steps.
#[derive(Debug)]
pub struct Measures<'a, S>(pub &'a S);

/// A measure, and what was scanned for it.
#[derive(Clone, Debug)]
pub struct Scanned<M, S> {
    /// The measure.
    pub measure: M,
    /// The number of addresses; 0 if the measure does not count them.
    pub vertices: u64,
    /// Facts about the transfers.
    pub facts: ScanFacts,
    /// The first step.
    pub scan: S,
}

impl<S: Steps<Error: From<SearchError>>> Measures<'_, S> {
    fn scan(&self, name: &str, stage: &Stage) -> Result<(S::Step, ScanFacts), S::Error> {
        let step = self.0.scan(name, stage)?;
        let facts = self.0.facts::<ScanFacts>(&step)?.into_iter();
        let facts = facts.reduce(|mut all, one| {
            all.merge(&one);
            all
        });
        let none = || ScanFacts::none(&TransferFilter::default());
        Ok((step, facts.unwrap_or_else(none)))
    }

    fn edges(&self, rows: EdgeRows) -> Result<(S::Step, ScanFacts), S::Error> {
        self.scan("edges", &Stage::Edges(rows))
    }

    /// Does a step with a task for each partition of tables.
    fn divided(
        &self,
        name: &str,
        stage: Stage,
        tables: &[(&S::Step, u32)],
    ) -> Result<S::Step, S::Error> {
        let tables = tables.iter();
        let tables: Vec<_> = tables
            .map(|(step, table)| Table::new(*step, *table, Part::Partition))
            .collect();
        self.0.step(name, &stage, self.0.partitions(), &tables)
    }

    /// Does a step whose tasks merge the results of [`FAN_IN`] tasks each.
    fn fewer(&self, name: &str, of: &S::Step, stage: &Stage) -> Result<S::Step, S::Error> {
        let tasks = self.0.tasks(of).div_ceil(FAN_IN).max(1);
        let all = Table::new(of, 0, Part::Tasks(FAN_IN));
        let next = self.0.step(name, stage, tasks, &[all])?;
        self.0.discard(of)?;
        Ok(next)
    }

    /// Merges the results of a step until they are of at most [`FAN_IN`] tasks.
    fn merged(&self, name: &str, mut of: S::Step, merge: &Stage) -> Result<S::Step, S::Error> {
        while self.0.tasks(&of) > FAN_IN {
            of = self.fewer(&format!("merged {name}"), &of, merge)?;
        }
        Ok(of)
    }

    /// Adds up the counts of a step.
    fn count<C: Default + DeserializeOwned>(
        &self,
        name: &str,
        of: S::Step,
        merge: &Stage,
        mut add: impl FnMut(&mut C, C),
    ) -> Result<C, S::Error> {
        let last = self.merged(name, of, merge)?;
        let mut all = C::default();
        for one in self.0.counts(&last)? {
            add(&mut all, one);
        }
        Ok(all)
    }

    /// Weakly connected components.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn components(
        &self,
        limit: Option<usize>,
    ) -> Result<Scanned<Components, S::Step>, S::Error> {
        let (forests, facts) = self.scan("forests", &Stage::Forest)?;
        let few = self.merged("components", forests.clone(), &Stage::MergeForests)?;
        let last = self.fewer("components", &few, &Stage::Components(limit))?;
        let none = || -> SearchError {
            let reason = "a measure has no counts";
            SourceError::from(SourceFailure::new(FailureKind::Unreadable, reason)).into()
        };
        let found = self.0.counts::<Components>(&last)?.pop();
        let measure = found.ok_or_else(none)?.with_shares();
        Ok(Scanned {
            vertices: measure.vertices(),
            measure,
            facts,
            scan: forests,
        })
    }

    /// Degrees, with this number of hubs.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn degrees(&self, hubs: usize) -> Result<Scanned<Degrees, S::Step>, S::Error> {
        let (edges, facts) = self.edges(EdgeRows::Pairs)?;
        let vertices = self.divided("vertices", Stage::Vertices, &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let counts = self.divided("degrees", Stage::Degrees(hubs), &[(&vertices, 0)])?;
        self.0.discard(&vertices)?;
        let merge = Stage::MergeDegrees(hubs);
        let add = |all: &mut DegreeCounts, one| all.merge(one, hubs);
        let counts = self.count("degrees", counts, &merge, add)?;
        Ok(Scanned {
            vertices: counts.vertices,
            measure: counts.finish(),
            facts,
            scan: edges,
        })
    }

    /// Pairs.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn pairs(&self, settings: &PairSettings) -> Result<Scanned<Pairs, S::Step>, S::Error> {
        let (edges, facts) = self.edges(EdgeRows::Blocks)?;
        let mut first = self.divided("pairs", Stage::Pairs(settings.clone()), &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let total = self.0.facts::<u64>(&first)?.iter().sum();
        let counted = self.divided("vertices", Stage::Degrees(0), &[(&first, 1)])?;
        if settings.limit.is_some() {
            let merge = Stage::MergePairs(settings.clone());
            first = self.merged("pairs", first, &merge)?;
        }
        let mut found = Vec::new();
        for record in self.0.rows(&first).into_iter().flatten() {
            let record: EdgeRecord = record?;
            found.push(record.edge()?);
        }
        let pairs = first_pairs(found, settings).into_iter();
        Ok(Scanned {
            measure: Pairs {
                total,
                pairs: pairs.map(|edge| Pair::new(edge, 1)).collect(),
            },
            vertices: self.0.facts::<u64>(&counted)?.iter().sum(),
            facts,
            scan: edges,
        })
    }

    /// Summary.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn summary(
        &self,
        settings: &SummarySettings,
    ) -> Result<Scanned<Summary, S::Step>, S::Error> {
        let merge = Stage::MergeSummary(settings.clone());
        let add = |all: &mut SummaryCounts, one| all.merge(one, settings);
        let (edges, facts) = self.edges(EdgeRows::Sums)?;
        let assets = self.divided("assets", Stage::Assets(settings.clone()), &[(&edges, 1)])?;
        let mut counts = self.count("assets", assets, &merge, add)?;

        let sides = Stage::Sides(counts.listed().collect());
        let sides = self.divided("sides of assets", sides, &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let busiest = Stage::Busiest(settings.clone());
        let tables = [(&sides, 0), (&sides, 1), (&sides, 2)];
        let busiest = self.divided("vertices", busiest, &tables)?;
        self.0.discard(&sides)?;
        let ranked = Stage::Ranked(settings.clone());
        let ranked = self.divided("ranks in assets", ranked, &[(&busiest, 1), (&busiest, 0)])?;
        self.0.discard(&busiest)?;
        counts.merge(self.count("summary", ranked, &merge, add)?, settings);

        (counts.transfers, counts.kinds) = (facts.transfers, facts.kinds);
        Ok(Scanned {
            vertices: counts.vertices,
            measure: counts.finish_scan(settings),
            facts,
            scan: edges,
        })
    }

    /// Tokens, most transfers first.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn tokens(&self, limit: Option<usize>) -> Result<Vec<TokenCounts>, S::Error> {
        let (edges, _) = self.edges(EdgeRows::Sums)?;
        let ends = self.divided("edges of each token", Stage::TokenEnds, &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let sums = self.divided("addresses of each token", Stage::TokenSums, &[(&ends, 1)])?;
        let tokens = self.divided("tokens", Stage::Tokens(limit), &[(&ends, 0), (&sums, 0)])?;
        self.0.discard(&ends)?;
        self.0.discard(&sums)?;
        let mut found = self.0.counts::<Vec<TokenCounts>>(&tokens)?.concat();
        rank_tokens(&mut found);
        found.truncate(limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    /// Motifs.
    ///
    /// # Errors
    ///
    /// If a step fails.
    pub fn motifs(&self) -> Result<MotifCounts, S::Error> {
        let (edges, _) = self.edges(EdgeRows::Pairs)?;
        let ends = self.divided("loops and cycles", Stage::MotifEnds, &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let fans = self.divided("motifs", Stage::Motifs, &[(&ends, 0)])?;
        self.0.discard(&ends)?;
        let mut all = MotifCounts::default();
        for step in [ends, fans] {
            self.0.facts(&step)?.iter().for_each(|one| all.add(one));
        }
        Ok(all)
    }

    /// PageRank after some rounds: passes addresses and ranks to `each`, highest first. Edges count
    /// once. The rank of addresses without an outgoing edge is spread over all.
    ///
    /// # Errors
    ///
    /// If a step fails, and the errors of `each`.
    pub fn pagerank(
        &self,
        rounds: usize,
        limit: Option<usize>,
        each: &mut dyn FnMut(Address, f64) -> Result<ControlFlow<()>, S::Error>,
    ) -> Result<(), S::Error> {
        let (edges, _) = self.edges(EdgeRows::Pairs)?;
        let links = self.divided("links", Stage::Links, &[(&edges, 0)])?;
        self.0.discard(&edges)?;
        let adjacency = self.divided("adjacency", Stage::Adjacency, &[(&links, 0), (&links, 1)])?;
        self.0.discard(&links)?;
        // A vertex has at most 2^53 others, so this is exact.
        let n = self.0.facts::<u64>(&adjacency)?.iter().sum::<u64>() as f64;
        let mut base = 1.0 / n;
        let mut ranks: Option<S::Step> = None;
        for round in 0..=rounds {
            let mut tables = vec![
                Table::new(&adjacency, 0, Part::Tasks(1)),
                Table::new(&adjacency, 1, Part::Tasks(1)),
            ];
            tables.extend((ranks.iter()).map(|step| Table::new(step, 1, Part::Partition)));
            let stage = Stage::Ranks(base.to_bits());
            let name = format!("ranks, round {round}");
            let next = self.0.step(&name, &stage, self.0.partitions(), &tables)?;
            if let Some(before) = &ranks {
                self.0.discard(before)?;
            }
            let dangling = self.0.facts::<u64>(&next)?.into_iter().map(f64::from_bits);
            base = (1.0 - DAMPING) / n + DAMPING * dangling.sum::<f64>() / n;
            ranks = Some(next);
        }
        self.0.discard(&adjacency)?;
        let ranks = ranks.iter().map(|step| Table::new(step, 0, Part::Tasks(1)));
        let ranks: Vec<_> = ranks.collect();
        let stage = Stage::Highest(limit);
        let highest = self
            .0
            .step("PageRank", &stage, self.0.partitions(), &ranks)?;

        // Each task wrote its ranks in order.
        let mut tasks = self.0.rows(&highest);
        let key = |record: NumberRecord| (Reverse(record.numbers[0]), record.key);
        let mut heads = BinaryHeap::new();
        for (task, rows) in tasks.iter_mut().enumerate() {
            if let Some(row) = rows.next() {
                heads.push(Reverse((key(row?), task)));
            }
        }
        while let Some(Reverse(((Reverse(bits), address_bytes), task))) = heads.pop() {
            if let Some(row) = tasks[task].next() {
                heads.push(Reverse((key(row?), task)));
            }
            if each(address(&address_bytes, 0), f64::from_bits(bits))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
