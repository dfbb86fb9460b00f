//! SQL on a cluster: statements as steps of a run.

use crate::{
    Driver, Error, Result,
    engine::Job,
    operator::WorkExec,
    run::{self, Committed},
    source::divide,
    table::TransfersTable,
    wire::{Chunk, Input, Mode, Request, Task},
};
use datafusion::{
    arrow::{array::AsArray, datatypes::ArrowPrimitiveType},
    execution::context::SQLOptions,
    physical_plan::ExecutionPlan,
    prelude::{ParquetReadOptions, SessionContext},
};
use serde::Serialize;
use std::{ops::ControlFlow, sync::Arc};
use tokio::runtime::Runtime;
use txgraph_transfers::{
    AddressFilter, BlockRange, Direction, ScanRequest, TransferFilter, WrappedNative,
};

/// Statements of one run. Their tables are `transfers`, and the rows of earlier steps.
pub(crate) struct Statements<'a> {
    driver: &'a Driver,
    context: SessionContext,
    /// Makes plans. Nothing is executed here.
    runtime: Runtime,
    /// Keys of the steps whose rows are tables: a later step depends on them.
    tables: Vec<(String, String)>,
    blocks: BlockRange,
    /// The same blocks, divided, with the hashes at the ends of chunks.
    chunks: Vec<Chunk>,
}

/// The inputs that determine the rows of a statement.
#[derive(Serialize)]
struct Key<'a> {
    input: &'a Input,
    chain_id: u64,
    blocks: BlockRange,
    sql: &'a str,
    tables: &'a [(String, String)],
}

impl<'a> Statements<'a> {
    /// Prepares statements about the transfers of some blocks.
    pub(crate) fn new(driver: &'a Driver, blocks: BlockRange) -> Result<Self> {
        let context = SessionContext::new_with_state(driver.engine.session().clone());
        let chunks = linked(driver, blocks)?;
        let table = TransfersTable {
            task: driver.task(Mode::Rows),
            blocks,
            chunks: chunks.clone(),
        };
        context.register_table("transfers", Arc::new(table))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Ok(Self {
            driver,
            context,
            runtime: runtime.map_err(|error| Error::Plan(format!("threads: {error}")))?,
            tables: Vec::new(),
            blocks,
            chunks,
        })
    }

    /// Executes a query as a step of the run.
    pub(crate) fn step(&self, name: &str, sql: &str) -> Result<Committed> {
        let driver = self.driver;
        let key = run::key(&Key {
            input: &driver.input,
            chain_id: driver.info.chain.chain_id,
            blocks: self.blocks,
            sql,
            tables: &self.tables,
        })?;
        driver.run.step(&key, &driver.control.cancel, |folder| {
            let job = Job {
                name: name.to_owned(),
                plan: self.plan_of(sql)?,
                cancel: &driver.control.cancel,
                progress: driver.control.progress.as_deref(),
                written: &|| driver.run.written(folder),
            };
            run::write_rows(driver.engine.as_ref(), job, driver.run.target(folder))
        })
    }

    /// Executes a query that returns one number.
    pub(crate) fn number<T: ArrowPrimitiveType>(&self, name: &str, sql: &str) -> Result<T::Native> {
        let mut found = T::Native::default();
        self.step(name, sql)?.read_rows(|batch| {
            let column = batch.columns().first();
            let column = column.and_then(|column| column.as_primitive_opt::<T>());
            let column = column.ok_or_else(|| Error::Answer(format!("{name}: not a number")))?;
            found = column.iter().flatten().next().unwrap_or(found);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Makes the rows of a step a table, instead of an earlier one of this name.
    pub(crate) fn register(&mut self, table: &str, step: &Committed) -> Result<()> {
        self.context.deregister_table(table)?;
        // The later steps of a superseded one are finished.
        if !step.step.superseded {
            let read = self
                .context
                .read_parquet(step.places(), ParquetReadOptions::default());
            let read = self.runtime.block_on(read)?;
            self.context.register_table(table, read.into_view())?;
        }
        self.tables.retain(|(name, _)| name != table);
        self.tables.push((table.to_owned(), step.folder.clone()));
        Ok(())
    }

    /// Writes a forest of the transfers of each chunk.
    pub(crate) fn forests(&self) -> Result<Committed> {
        let request = request(self.blocks, None);
        let request = Request::new(&request, &self.driver.run.store)?;
        let chunks = self.chunks.iter().map(|chunk| Chunk {
            // Its hashes link it already.
            follows: false,
            ..*chunk
        });
        let task = Task {
            request,
            ..self.driver.task(Mode::Forest)
        };
        scan(self.driver, "forests", task, &chunks.collect::<Vec<_>>())
    }

    /// Merges this many forests of a step into one each. If `mode` is [`Mode::Components`], the
    /// rows are components.
    pub(crate) fn merge(
        &self,
        name: &str,
        of: &Committed,
        fan_in: usize,
        mode: Mode,
    ) -> Result<Committed> {
        let forests = of.step.chunks.len();
        let chunks = (0..).zip((0..forests).step_by(fan_in));
        let chunks = chunks.map(|(number, first)| Chunk {
            number,
            blocks: BlockRange {
                first: first as u64,
                last: (first + fan_in).min(forests) as u64 - 1,
            },
            follows: false,
            hashes: [None; 2],
        });
        let task = Task {
            inputs: of.folder.clone(),
            ..self.driver.task(mode)
        };
        scan(self.driver, name, task, &chunks.collect::<Vec<_>>())
    }

    /// Deletes the rows of a step that no later statement reads.
    pub(crate) fn supersede(&self, step: &Committed) -> Result<()> {
        self.driver.run.supersede(step)
    }

    fn plan_of(&self, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
        // Queries only: nothing creates tables or writes files.
        let queries = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        self.runtime.block_on(async {
            let frame = self.context.sql_with_options(sql, queries).await;
            let frame = frame.map_err(|error| Error::Usage(error.to_string()))?;
            Ok(frame.create_physical_plan().await?)
        })
    }
}

/// A request for all transfers, or for the transfers of some addresses.
fn request(blocks: BlockRange, touching: Option<AddressFilter>) -> ScanRequest {
    ScanRequest {
        blocks: blocks.into(),
        filter: TransferFilter {
            touching,
            ..TransferFilter::default()
        },
        wrapped_native: WrappedNative::Auto,
        with_times: false,
        with_hashes: false,
        allow_partial: false,
    }
}

/// Executes a task on chunks as a step of the run: each must be reported once.
fn scan(driver: &Driver, name: &str, task: Task, chunks: &[Chunk]) -> Result<Committed> {
    let ranges: Vec<_> = chunks.iter().map(|chunk| chunk.blocks).collect();
    let key = run::key(&(
        &driver.input,
        driver.info.chain.chain_id,
        task.mode,
        &task.inputs,
        ranges,
    ))?;
    driver.run.step(&key, &driver.control.cancel, |folder| {
        let task = Task {
            step: folder.to_owned(),
            ..task.clone()
        };
        let job = Job {
            name: format!("{name}: {} tasks", chunks.len()),
            plan: WorkExec::transfers(task, chunks)?,
            cancel: &driver.control.cancel,
            progress: driver.control.progress.as_deref(),
            written: &|| driver.run.written(folder),
        };
        run::write_scan(driver.engine.as_ref(), &job, chunks.len())
    })
}

/// Divides blocks into chunks, with the hashes that their ends have at the beginning of the run.
/// All statements of the run read these blocks, or fail.
fn linked(driver: &Driver, blocks: BlockRange) -> Result<Vec<Chunk>> {
    let mut chunks = divide(&blocks.into(), &driver.cuts, driver.chunks);
    let ends: Vec<_> = chunks.iter().map(last_block).collect();
    // Transfers of no address: a report with the hash of the last block, and no row.
    let touching = AddressFilter {
        addresses: Default::default(),
        direction: Direction::default(),
    };
    let request = request(blocks, Some(touching));
    let task = Task {
        request: Request::new(&request, &driver.run.store)?,
        ..driver.task(Mode::Scan)
    };
    let done = scan(driver, "hashes at the ends of chunks", task, &ends)?;
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
