//! Measures of all transfers: their steps as steps of a run, and their rows.

use crate::{
    Driver, Error, Result,
    measure::decode_counts,
    rows::BATCH_ROWS,
    run::Committed,
    wire::{Chunk, Mode, Request, Task},
};
use alloy_primitives::{Address, hex};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use serde::de::DeserializeOwned;
use std::{ops::ControlFlow, sync::Arc};
use txgraph::{MeasureAnswer, MeasureSettings, Measured};
use txgraph_analysis::partitioned::{Measures, Part, Record, Scanned, Stage, Steps, Table};
use txgraph_transfers::{BlockRange, ScanRequest};

/// Receives the rows of an answer.
pub(crate) type Rows<'a> = dyn FnMut(RecordBatch) -> Result<ControlFlow<()>> + 'a;

/// The steps of a measure, as steps of a run.
pub(crate) struct RunSteps<'a> {
    driver: &'a Driver,
    request: ScanRequest,
    chunks: Vec<Chunk>,
}

impl<'a> RunSteps<'a> {
    /// The steps of a measure of the transfers of a request.
    fn new(driver: &'a Driver, request: ScanRequest) -> Self {
        Self {
            driver,
            chunks: driver.divide(&request.blocks),
            request,
        }
    }

    /// The steps of a measure of all transfers of some blocks.
    pub(crate) fn of(driver: &'a Driver, blocks: BlockRange) -> Self {
        let request = ScanRequest {
            blocks: blocks.into(),
            ..ScanRequest::default()
        };
        Self::new(driver, request)
    }

    fn task(&self, stage: &Stage) -> Task {
        Task {
            partitions: self.driver.partitions,
            ..self.driver.task(Mode::Measure(stage.clone()))
        }
    }
}

impl Steps for RunSteps<'_> {
    type Step = Committed;
    type Error = Error;

    fn scan(&self, name: &str, stage: &Stage) -> Result<Committed> {
        let task = Task {
            request: Request::new(&self.request, &self.driver.run.store)?,
            ..self.task(stage)
        };
        self.driver.step(name, task, &self.chunks)
    }

    fn step(
        &self,
        name: &str,
        stage: &Stage,
        tasks: usize,
        tables: &[Table<'_, Committed>],
    ) -> Result<Committed> {
        let earlier = |table: &Table<'_, Committed>| {
            let of_tasks = table.part != Part::Partition;
            table.step.earlier(table.table, of_tasks)
        };
        let task = Task {
            inputs: tables.iter().map(earlier).collect(),
            ..self.task(stage)
        };
        // A task reads the same part of all tables.
        let (each, all) = match tables.first().map(|table| (table.part, table.step)) {
            Some((Part::Tasks(each), step)) => (each, step.step.chunks.len()),
            _ => (1, tasks),
        };
        let chunk = |number: usize| {
            let last = ((number + 1) * each).min(all).max(1) as u64 - 1;
            Chunk::new(
                number as u64,
                BlockRange::from_to((number * each) as u64, last),
            )
        };
        let chunks: Vec<_> = (0..tasks).map(chunk).collect();
        self.driver.step(name, task, &chunks)
    }

    fn discard(&self, step: &Committed) -> Result<()> {
        self.driver.run.supersede(step)
    }

    fn partitions(&self) -> usize {
        self.driver.partitions as usize
    }

    fn tasks(&self, step: &Committed) -> usize {
        step.step.chunks.len()
    }

    fn facts<F: DeserializeOwned>(&self, step: &Committed) -> Result<Vec<F>> {
        let facts = step.step.chunks.iter().map(|chunk| chunk.facts.clone());
        let facts: Result<_, _> = facts.map(serde_json::from_value).collect();
        facts.map_err(|error| Error::Answer(format!("a report: {error}")))
    }

    fn counts<C: DeserializeOwned>(&self, step: &Committed) -> Result<Vec<C>> {
        let chunks = step.step.chunks.iter();
        let sections = chunks.flat_map(|chunk| step.sections(chunk, 0));
        sections.map(|section| decode_counts(&section?)).collect()
    }

    fn rows<'a, const K: usize, const N: usize, const A: usize>(
        &'a self,
        step: &'a Committed,
    ) -> Vec<impl Iterator<Item = Result<Record<K, N, A>>> + 'a> {
        let tasks = step.step.chunks.iter();
        tasks
            .map(|chunk| step.records::<K, N, A>(chunk, 0))
            .collect()
    }
}

/// Measures the transfers of a request for the façade; `None` for measures that need the whole
/// graph in one place.
pub(crate) fn measure(
    driver: &Driver,
    request: &ScanRequest,
    settings: &MeasureSettings,
) -> Option<Result<Measured>> {
    let steps = RunSteps::new(driver, request.clone());
    let measures = Measures(&steps);
    Some(match settings {
        MeasureSettings::Components(limit) => {
            measured(measures.components(*limit), MeasureAnswer::Components)
        }
        MeasureSettings::Degrees(hubs) => measured(measures.degrees(*hubs), MeasureAnswer::Degrees),
        MeasureSettings::Pairs(wanted) => measured(measures.pairs(wanted), MeasureAnswer::Pairs),
        MeasureSettings::Summary(wanted) => {
            measured(measures.summary(wanted), MeasureAnswer::Summary)
        }
        _ => return None,
    })
}

fn measured<M>(
    found: Result<Scanned<M, Committed>>,
    answer: fn(M) -> MeasureAnswer,
) -> Result<Measured> {
    let found = found?;
    Ok(Measured {
        scan: found.scan.report(),
        unseen: found.facts.unseen.unseen(),
        vertices: found.vertices,
        transfers: found.facts.transfers,
        answer: answer(found.measure),
    })
}

/// Degrees and concentration of each token: transfers, exact sum, addresses, edges, the highest
/// number of counterparties, and the Herfindahl index of the ends of transfers (1: all at one
/// address). Most transfers first.
pub(crate) fn tokens(
    steps: &RunSteps<'_>,
    limit: Option<usize>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let name = |token: Option<Address>| token.map_or("native".to_owned(), hex::encode_prefixed);
    let found = Measures(steps).tokens(limit)?;
    in_batches(&found, rows, |some| {
        let most = some.iter().map(|one| one.counterparties_max);
        let concentration = some.iter().map(|one| one.concentration());
        vec![
            ("token", texts(some.iter().map(|one| name(one.token)))),
            ("transfers", numbers(some.iter().map(|one| one.transfers))),
            (
                "value",
                texts(some.iter().map(|one| one.amount.to_string())),
            ),
            ("addresses", numbers(some.iter().map(|one| one.addresses))),
            ("edges", numbers(some.iter().map(|one| one.edges))),
            ("counterparties_max", numbers(most)),
            (
                "concentration",
                Arc::new(concentration.collect::<Float64Array>()),
            ),
        ]
    })
}

/// Counts of motifs: pairs that sent to each other, and addresses with many senders or receivers.
pub(crate) fn motifs(steps: &RunSteps<'_>, rows: &mut Rows<'_>) -> Result<()> {
    let found = Measures(steps).motifs()?;
    let motifs = [
        ("fan-in of 10", found.fan_in),
        ("fan-out of 10", found.fan_out),
        ("loops", found.loops),
        ("two-cycles", found.two_cycles),
    ];
    in_batches(&motifs, rows, |some| {
        vec![
            ("motif", texts(some.iter().map(|(name, _)| *name))),
            ("count", numbers(some.iter().map(|(_, count)| *count))),
        ]
    })
}

/// PageRank after some rounds: address and rank, highest first.
pub(crate) fn pagerank(
    steps: &RunSteps<'_>,
    rounds: usize,
    limit: Option<usize>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let mut some = Vec::new();
    let mut pass = |some: &[(Address, f64)]| {
        in_batches(some, rows, |some| {
            let addresses = some
                .iter()
                .map(|(address, _)| hex::encode_prefixed(address));
            let ranks = some.iter().map(|(_, rank)| *rank);
            vec![
                ("address", texts(addresses)),
                ("rank", Arc::new(Float64Array::from_iter_values(ranks))),
            ]
        })
    };
    Measures(steps).pagerank(rounds, limit, &mut |address, rank| {
        some.push((address, rank));
        if some.len() == BATCH_ROWS {
            pass(&some)?;
            some.clear();
        }
        Ok(ControlFlow::Continue(()))
    })?;
    pass(&some)
}

/// Passes on rows with these columns, and the columns if there are no rows.
fn in_batches<T>(
    all: &[T],
    rows: &mut Rows<'_>,
    columns: impl Fn(&[T]) -> Vec<(&'static str, ArrayRef)>,
) -> Result<()> {
    let (first, others) = all.split_at(all.len().min(BATCH_ROWS));
    for some in std::iter::once(first).chain(others.chunks(BATCH_ROWS)) {
        if rows(RecordBatch::try_from_iter(columns(some))?)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
    Arc::new(Int64Array::from_iter_values(values.map(number)))
}
