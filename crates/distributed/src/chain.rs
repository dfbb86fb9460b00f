//! Measures of all transfers: their steps as steps of a run, and their rows.

use crate::{
    Driver, Error, Result,
    measure::{decode, decode_counts},
    parts::flattened,
    rows::BATCH_ROWS,
    run::Committed,
    wire::{Chunk, Earlier, Mode, Request, Task},
};
use alloy_primitives::{Address, hex};
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use serde::de::DeserializeOwned;
use std::{ops::ControlFlow, sync::Arc};
use txgraph::{MeasureAnswer, MeasureSettings, Measured};
use txgraph_analysis::partitioned::{Measures, Part, Record, Scanned, Stage, Steps, Table};
use txgraph_transfers::{AddressFilter, BlockRange, Direction, ScanRequest, TransferFilter};

/// Receives the rows of an answer.
pub(crate) type Rows<'a> = dyn FnMut(RecordBatch) -> Result<ControlFlow<()>> + 'a;

/// The steps of a measure, as steps of a run.
pub(crate) struct RunSteps<'a> {
    driver: &'a Driver,
    request: ScanRequest,
    chunks: Vec<Chunk>,
}

impl<'a> RunSteps<'a> {
    /// The steps of a measure of some blocks, on the chain that the run began with.
    pub(crate) fn linked(driver: &'a Driver, blocks: BlockRange) -> Result<Self> {
        let mut chunks = linked(driver, blocks)?;
        for chunk in &mut chunks {
            // Its hashes link it already.
            chunk.follows = false;
        }
        Ok(Self {
            driver,
            request: everything(blocks, None),
            chunks,
        })
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
        let earlier = |table: &Table<'_, Committed>| Earlier {
            folder: table.step.folder.clone(),
            table: table.table,
            of_tasks: table.part != Part::Partition,
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
        let chunk = |number: usize| Chunk {
            number: number as u64,
            blocks: BlockRange::from_to(
                (number * each) as u64,
                ((number + 1) * each).min(all).max(1) as u64 - 1,
            ),
            follows: false,
            hashes: [None; 2],
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
        let mut counts = Vec::new();
        step.read_rows(&mut |batch| {
            counts.extend(decode_counts(&batch)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(counts)
    }

    fn rows<'a, const K: usize, const N: usize, const A: usize>(
        &'a self,
        step: &'a Committed,
    ) -> Vec<impl Iterator<Item = Result<Record<K, N, A>>> + 'a> {
        let of_batch = |batch: Result<RecordBatch>| {
            let rows = batch.and_then(|batch| decode(&batch));
            flattened(rows.map(|rows| rows.into_iter().map(Ok)))
        };
        let tasks = step.step.chunks.iter();
        tasks
            .map(|chunk| step.batches(&chunk.parts, None).flat_map(of_batch))
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
    let steps = RunSteps {
        driver,
        request: request.clone(),
        chunks: driver.divide(&request.blocks),
    };
    let measures = Measures(&steps);
    let measured = match settings {
        MeasureSettings::Components(limit) => {
            let found = measures.components(*limit);
            found.map(|found| measured(found, MeasureAnswer::Components))
        }
        MeasureSettings::Degrees(hubs) => {
            let found = measures.degrees(*hubs);
            found.map(|found| measured(found, MeasureAnswer::Degrees))
        }
        MeasureSettings::Pairs(settings) => {
            let found = measures.pairs(settings);
            found.map(|found| measured(found, MeasureAnswer::Pairs))
        }
        MeasureSettings::Summary(settings) => {
            let found = measures.summary(settings);
            found.map(|found| measured(found, MeasureAnswer::Summary))
        }
        _ => return None,
    };
    Some(measured)
}

fn measured<M>(found: Scanned<M, Committed>, answer: fn(M) -> MeasureAnswer) -> Measured {
    Measured {
        scan: found.scan.report(),
        unseen: found.facts.unseen.unseen(),
        vertices: found.vertices,
        transfers: found.facts.transfers,
        answer: answer(found.measure),
    }
}

/// The components: lowest address, vertices, transfers, first and last block. Largest first, then
/// by lowest address.
pub(crate) fn components(
    steps: &RunSteps<'_>,
    limit: Option<usize>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let found = Measures(steps).components(limit)?.measure.components;
    in_batches(&found, rows, |some| {
        let addresses = some
            .iter()
            .map(|one| hex::encode_prefixed(one.lowest_address));
        let first = some.iter().map(|one| one.first_block);
        let last = some.iter().map(|one| one.last_block);
        vec![
            ("lowest_address", texts(addresses)),
            ("vertices", numbers(some.iter().map(|one| one.vertices))),
            ("transfers", numbers(some.iter().map(|one| one.transfers))),
            ("first_block", Arc::new(first.collect::<UInt64Array>())),
            ("last_block", Arc::new(last.collect::<UInt64Array>())),
        ]
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

/// Passes on rows with these columns.
fn in_batches<T>(
    all: &[T],
    rows: &mut Rows<'_>,
    columns: impl Fn(&[T]) -> Vec<(&'static str, ArrayRef)>,
) -> Result<()> {
    for some in all.chunks(BATCH_ROWS) {
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

/// A request for all transfers, or for the transfers of some addresses.
fn everything(blocks: BlockRange, touching: Option<AddressFilter>) -> ScanRequest {
    ScanRequest {
        blocks: blocks.into(),
        filter: TransferFilter {
            touching,
            ..TransferFilter::default()
        },
        ..ScanRequest::default()
    }
}

/// Divides blocks into chunks, with the hashes that their ends have at the beginning of the run.
/// All queries of the run read these blocks, or fail.
pub(crate) fn linked(driver: &Driver, blocks: BlockRange) -> Result<Vec<Chunk>> {
    let mut chunks = driver.divide(&blocks.into());
    let ends: Vec<_> = chunks.iter().map(last_block).collect();
    // Transfers of no address: a report with the hash of the last block, and no row.
    let touching = AddressFilter::new([], Direction::default());
    let request = everything(blocks, Some(touching));
    let task = Task {
        request: Request::new(&request, &driver.run.store)?,
        ..driver.task(Mode::Scan)
    };
    let done = driver.step("hashes at the ends of chunks", task, &ends)?;
    let mut before = None;
    for (chunk, end) in chunks.iter_mut().zip(&done.step.chunks) {
        let last = end.report.last_block_hash;
        chunk.hashes = [before.filter(|_| chunk.follows), last];
        before = last;
    }
    Ok(chunks)
}

/// The last block of a chunk, as a chunk.
fn last_block(chunk: &Chunk) -> Chunk {
    let last = chunk.blocks.last;
    Chunk {
        blocks: BlockRange { first: last, last },
        follows: false,
        ..*chunk
    }
}
