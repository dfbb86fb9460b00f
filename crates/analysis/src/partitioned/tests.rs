//! Measures in any number of parts equal the measures of the whole graph. Tables are in memory.

use super::*;
use crate::{
    Connected, MotifCounts, PairOrder, PairSettings, SummarySettings, TokenCounts, degrees,
    oracle::some_transfers, pairs, rank_tokens, summary, tokens,
};
use alloy_primitives::Address;
use proptest::prelude::*;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    rc::Rc,
};
use txgraph_graph::{AmountSum, MergedGraph, testing};
use txgraph_transfers::{Transfer, TransferFilter};

type Row = (Vec<u8>, Vec<u64>, Vec<AmountSum>);

/// The output of a task.
#[derive(Debug, Default)]
struct Written {
    rows: BTreeMap<(u32, u32), Vec<Row>>,
    counts: BTreeMap<u32, String>,
    facts: serde_json::Value,
}

type Step = Rc<Vec<Written>>;

struct Task {
    partitions: u32,
    number: usize,
    inputs: Vec<(Step, u32, Part)>,
    written: Written,
}

impl Task {
    /// The tasks that wrote an input, and the wanted partition.
    fn input(&self, input: usize) -> (&Step, std::ops::Range<usize>, u32, u32) {
        let (step, table, part) = &self.inputs[input];
        match *part {
            Part::Partition => (
                step,
                0..step.len(),
                *table,
                u32::try_from(self.number).unwrap(),
            ),
            Part::Tasks(count) => {
                let first = self.number * count;
                (step, first..(first + count).min(step.len()), *table, 0)
            }
        }
    }
}

impl Tables for Task {
    type Error = SearchError;

    fn inputs(&self) -> usize {
        self.inputs.len()
    }

    fn read<const K: usize, const N: usize, const A: usize>(
        &self,
        input: usize,
        mut each: impl FnMut(usize, Record<K, N, A>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let (step, tasks, table, partition) = self.input(input);
        for task in tasks {
            let rows = step[task].rows.get(&(table, partition));
            for row in rows.into_iter().flatten() {
                each(task, decoded(row))?;
            }
        }
        Ok(())
    }

    fn read_counts<C: DeserializeOwned>(
        &self,
        input: usize,
        mut each: impl FnMut(C),
    ) -> Result<(), SearchError> {
        let (step, tasks, table, partition) = self.input(input);
        let tasks = tasks.filter(|_| partition == 0);
        for counts in tasks.filter_map(|task| step[task].counts.get(&table)) {
            each(serde_json::from_str(counts).unwrap());
        }
        Ok(())
    }

    fn partitions(&self) -> u32 {
        self.partitions
    }

    fn partition(&self, bytes: &[u8]) -> u32 {
        bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() % self.partitions
    }

    fn write<const K: usize, const N: usize, const A: usize>(
        &mut self,
        table: u32,
        partition: u32,
        rows: &[Record<K, N, A>],
    ) -> Result<(), SearchError> {
        let known = self.written.rows.entry((table, partition)).or_default();
        let row = |row: &Record<K, N, A>| (row.key.into(), row.numbers.into(), row.amounts.into());
        known.extend(rows.iter().map(row));
        Ok(())
    }

    fn write_counts(&mut self, table: u32, counts: &impl Serialize) -> Result<(), SearchError> {
        let json = serde_json::to_string(counts).unwrap();
        self.written.counts.insert(table, json);
        Ok(())
    }

    fn report(&mut self, facts: &impl Serialize) -> Result<(), SearchError> {
        self.written.facts = serde_json::to_value(facts).unwrap();
        Ok(())
    }
}

fn decoded<const K: usize, const N: usize, const A: usize>(row: &Row) -> Record<K, N, A> {
    let (key, numbers, amounts) = row.clone();
    Record {
        key: key.try_into().unwrap(),
        numbers: numbers.try_into().unwrap(),
        amounts: amounts.try_into().unwrap(),
    }
}

struct InMemory<'a> {
    transfers: &'a [Transfer],
    /// Blocks of a chunk.
    blocks: u64,
    partitions: u32,
    discarded: RefCell<Vec<Step>>,
}

impl InMemory<'_> {
    fn task(&self, number: usize, inputs: &[Table<'_, Step>]) -> Task {
        let inputs = inputs.iter().map(|table| {
            let discarded = self.discarded.borrow();
            assert!(!discarded.iter().any(|step| Rc::ptr_eq(step, table.step)));
            (table.step.clone(), table.table, table.part)
        });
        Task {
            partitions: self.partitions,
            number,
            inputs: inputs.collect(),
            written: Written::default(),
        }
    }
}

impl Steps for InMemory<'_> {
    type Step = Step;
    type Error = SearchError;

    fn scan(&self, _: &str, stage: &Stage) -> Result<Step, SearchError> {
        let chunks = self
            .transfers
            .chunk_by(|a, b| a.block_number / self.blocks == b.block_number / self.blocks);
        let task = |chunk: &[Transfer]| {
            let mut scan = ScanTask::new(stage, &TransferFilter::default()).unwrap();
            for some in chunk.chunks(3) {
                scan.add(some)?;
            }
            let mut task = self.task(0, &[]);
            scan.finish(&mut task)?;
            Ok(task.written)
        };
        chunks.map(task).collect::<Result<_, _>>().map(Rc::new)
    }

    fn step(
        &self,
        _: &str,
        stage: &Stage,
        tasks: usize,
        tables: &[Table<'_, Step>],
    ) -> Result<Step, SearchError> {
        // A stage is part of a plan.
        let stage = serde_json::from_str(&serde_json::to_string(stage).unwrap()).unwrap();
        let task = |number| {
            let mut task = self.task(number, tables);
            run_task(&stage, &mut task)?;
            Ok(task.written)
        };
        (0..tasks).map(task).collect::<Result<_, _>>().map(Rc::new)
    }

    fn discard(&self, step: &Step) -> Result<(), SearchError> {
        self.discarded.borrow_mut().push(step.clone());
        Ok(())
    }

    fn partitions(&self) -> usize {
        self.partitions as usize
    }

    fn tasks(&self, step: &Step) -> usize {
        step.len()
    }

    fn facts<F: DeserializeOwned>(&self, step: &Step) -> Result<Vec<F>, SearchError> {
        let facts = step.iter().map(|task| task.facts.clone());
        Ok(facts
            .map(|facts| serde_json::from_value(facts).unwrap())
            .collect())
    }

    fn counts<C: DeserializeOwned>(&self, step: &Step) -> Result<Vec<C>, SearchError> {
        let counts = step.iter().filter_map(|task| task.counts.get(&0));
        Ok(counts
            .map(|counts| serde_json::from_str(counts).unwrap())
            .collect())
    }

    fn rows<'a, const K: usize, const N: usize, const A: usize>(
        &'a self,
        step: &'a Step,
    ) -> Vec<impl Iterator<Item = Result<Record<K, N, A>, SearchError>> + 'a> {
        let rows = |task: &'a Written| {
            let first = task.rows.range(..(1, 0)).flat_map(|(_, rows)| rows);
            first.map(|row| Ok(decoded(row)))
        };
        step.iter().map(rows).collect()
    }
}

/// PageRank by its definition.
fn naive_pagerank(edges: &BTreeSet<(Address, Address)>, rounds: usize) -> BTreeMap<Address, f64> {
    let vertices: BTreeSet<_> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let n = vertices.len() as f64;
    let links = |v: &Address| edges.iter().filter(|(from, _)| from == v).count() as f64;
    let mut ranks: BTreeMap<_, f64> = vertices.iter().map(|v| (*v, 1.0 / n)).collect();
    for _ in 0..rounds {
        let dangling = vertices
            .iter()
            .filter(|v| links(v) == 0.0)
            .map(|v| ranks[v]);
        let dangling: f64 = dangling.sum();
        let base = 0.15 / n + 0.85 * dangling / n;
        let mut next: BTreeMap<_, f64> = vertices.iter().map(|v| (*v, base)).collect();
        for (from, to) in edges {
            *next.get_mut(to).unwrap() += 0.85 * ranks[from] / links(from);
        }
        ranks = next;
    }
    ranks
}

proptest! {
    #[test]
    fn measures_in_parts_equal_those_of_the_whole(
        transfers in some_transfers(),
        blocks in 1u64..30,
        partitions in 1u32..20,
        limit in prop::option::of(0usize..4),
    ) {
        let steps = InMemory { transfers: &transfers, blocks, partitions, discarded: RefCell::default() };
        let measures = Measures(&steps);
        let graph = MergedGraph::of(&testing::graph(transfers.clone()));
        let vertices = graph.addresses.len() as u64;

        let mut connected = Connected::default();
        connected.add(&transfers).unwrap();
        let found = measures.components(limit).unwrap();
        prop_assert_eq!(found.vertices, vertices);
        prop_assert_eq!(found.facts.transfers, transfers.len() as u64);
        prop_assert_eq!(found.measure, connected.finish(&[], limit));

        let hubs = limit.unwrap_or(9);
        let found = measures.degrees(hubs).unwrap();
        prop_assert_eq!(found.vertices, vertices);
        prop_assert_eq!(found.measure, degrees(&graph, hubs));

        for order in [PairOrder::Amount, PairOrder::Count, PairOrder::Address] {
            let settings = PairSettings { order, limit };
            let found = measures.pairs(&settings).unwrap();
            prop_assert_eq!(found.vertices, vertices);
            prop_assert_eq!(found.measure, pairs(&graph, &settings));
        }

        let settings = SummarySettings { top: hubs, assets: 2 };
        let found = measures.summary(&settings).unwrap();
        prop_assert_eq!(found.vertices, vertices);
        prop_assert_eq!(found.measure, summary(&graph, &settings));

        let (mut expected, ends) = tokens(&graph);
        for end in ends {
            let token = expected.iter_mut().find(|one| one.token == end.token).unwrap();
            token.add_end(end.counterparties, end.ends);
        }
        rank_tokens(&mut expected);
        expected.truncate(limit.unwrap_or(usize::MAX));
        let found: Vec<TokenCounts> = measures.tokens(limit).unwrap();
        prop_assert_eq!(found, expected);

        let (mut motifs, fans) = MotifCounts::of_edges(&graph);
        motifs.add(&MotifCounts::of_fans(fans.into_iter()));
        prop_assert_eq!(measures.motifs().unwrap(), motifs);

        let edges: BTreeSet<_> = transfers.iter().map(|t| (t.from_address, t.to_address)).collect();
        let expected = naive_pagerank(&edges, 3);
        let mut found = Vec::new();
        measures.pagerank(3, limit, &mut |address, rank| {
            found.push((address, rank));
            Ok(match limit {
                Some(limit) if found.len() >= limit => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        }).unwrap();
        prop_assert!(found.is_sorted_by(|a, b| (-a.1, a.0) < (-b.1, b.0)));
        let mut lowest = expected.values().copied().collect::<Vec<_>>();
        lowest.sort_by(|a, b| b.total_cmp(a));
        let wanted = limit.unwrap_or(expected.len()).min(expected.len());
        prop_assert!(limit == Some(0) || found.len() == wanted);
        for ((address, rank), expected_rank) in found.iter().zip(lowest) {
            prop_assert!((rank - expected[address]).abs() < 1e-12);
            prop_assert!((rank - expected_rank).abs() < 1e-12);
        }
    }
}
