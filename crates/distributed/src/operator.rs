//! The operator that reads transfers in executors.
//!
//! ```text
//! TransfersExec       opens the source of the executor, writes the rows of a chunk, and reports
//!   DataSourceExec    in memory: one row for each chunk, one partition for each row
//!
//! WriteExec           writes the rows of a partition, and reports
//!   …                 a statement, whose plan may have TransfersExec that returns rows
//! ```
//!
//! TransfersExec is not a leaf. The scheduler gives each task a part of the partitions by rewriting
//! the leaves that it knows; a leaf of another kind would be run whole by every task, and rows
//! would appear several times (`ballista-scheduler/src/state/task_builder.rs`).

use crate::{
    Error, Result,
    error::{Refusal, RefusalKind},
    parts::PartWriter,
    rows,
    serve::{self, Consumer},
    wire::{Chunk, Mode, PartitionReport, Task},
};
use alloy_primitives::B256;
use datafusion::{
    arrow::{
        array::{
            Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, RecordBatch, UInt64Array,
        },
        datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type},
    },
    catalog::memory::{DataSourceExec, MemorySourceConfig},
    common::{Result as PlanResult, internal_err, tree_node::TreeNodeRecursion},
    error::DataFusionError,
    execution::TaskContext,
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, SendableRecordBatchStream,
        execution_plan::{Boundedness, EmissionType},
        stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter},
    },
};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};
use tokio::{sync::mpsc::Sender, task::block_in_place};
use txgraph_transfers::BlockRange;

/// Batches that wait for the consumer of a chunk.
const BATCHES_AHEAD: usize = 2;

/// Reads the transfers of chunks.
#[derive(Debug)]
pub(crate) struct TransfersExec {
    task: Arc<Task>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl TransfersExec {
    /// Reads the chunks that `input` returns.
    pub(crate) fn new(task: Arc<Task>, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        if input.schema().fields() != chunk_schema().fields() {
            return Err(Error::Plan(
                "the input of TransfersExec has no chunks".to_owned(),
            ));
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema(&task)?),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            task,
            input,
            properties: Arc::new(properties),
        })
    }

    /// A plan that reads these chunks, one in each partition.
    pub(crate) fn plan(task: Task, chunks: &[Chunk]) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions: Result<Vec<_>> = chunks
            .iter()
            .map(|chunk| Ok(vec![encode_chunk(chunk)?]))
            .collect();
        let leaf = MemorySourceConfig::try_new(&partitions?, chunk_schema(), None)?;
        let leaf = DataSourceExec::from_data_source(leaf);
        Ok(Arc::new(Self::new(Arc::new(task), leaf)?))
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }
}

/// The columns that a task returns.
fn schema(task: &Task) -> Result<SchemaRef> {
    Ok(match (task.mode, &task.columns) {
        (Mode::Rows, Some(columns)) => Arc::new(rows::transfers_schema().project(columns)?),
        (Mode::Rows, None) => rows::transfers_schema(),
        _ => rows::report_schema(),
    })
}

/// The type of hashes in the leaf.
const HASH: DataType = DataType::FixedSizeBinary(32);

/// The columns of the leaf.
fn chunk_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let number = |name| Field::new(name, DataType::UInt64, false);
        Arc::new(Schema::new(vec![
            number("chunk"),
            number("first_block"),
            number("last_block"),
            Field::new("follows", DataType::Boolean, false),
            Field::new("parent_hash", HASH, true),
            Field::new("last_hash", HASH, true),
        ]))
    });
    SCHEMA.clone()
}

fn encode_chunk(chunk: &Chunk) -> Result<RecordBatch> {
    let number = |value| -> ArrayRef { Arc::new(UInt64Array::from(vec![value])) };
    let hash = |hash: &Option<B256>| -> Result<ArrayRef> {
        let rows = std::iter::once(hash.as_ref());
        let column = FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows, 32)?;
        Ok(Arc::new(column))
    };
    let columns = vec![
        number(chunk.number),
        number(chunk.blocks.first),
        number(chunk.blocks.last),
        Arc::new(BooleanArray::from(vec![chunk.follows])),
        hash(&chunk.hashes[0])?,
        hash(&chunk.hashes[1])?,
    ];
    Ok(RecordBatch::try_new(chunk_schema(), columns)?)
}

fn decode_chunks(batch: &RecordBatch) -> Result<Vec<Chunk>> {
    let number = |at: usize, row| {
        let column = batch.column(at).as_primitive::<UInt64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let hash = |at: usize, row| {
        let column = batch.column(at).as_fixed_size_binary();
        column
            .is_valid(row)
            .then(|| B256::from_slice(column.value(row)))
    };
    let chunk = |row| {
        Some(Chunk {
            number: number(0, row)?,
            blocks: BlockRange::new(number(1, row)?, number(2, row)?)?,
            follows: batch.column(3).as_boolean().value(row),
            hashes: [hash(4, row), hash(5, row)],
        })
    };
    let damaged = || Error::Plan("a chunk of a task has no blocks".to_owned());
    (0..batch.num_rows())
        .map(|row| chunk(row).ok_or_else(damaged))
        .collect()
}

impl DisplayAs for TransfersExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { input, mode, .. } = &*self.task;
        write!(f, "TransfersExec: {mode:?} of {input}")
    }
}

impl ExecutionPlan for TransfersExec {
    fn name(&self) -> &'static str {
        "TransfersExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("TransfersExec has one child, not {}", children.len());
        };
        let new = Self::new(self.task.clone(), input.clone());
        Ok(Arc::new(new.map_err(refused)?))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        // The rows of a chunk come instead of the chunk.
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // A partition is one chunk. Dividing the chunks again would only add a stage.
        vec![false]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let mut input = self.input.execute(partition, context)?;
        let task = self.task.clone();
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), BATCHES_AHEAD);
        let sender = stream.tx();
        stream.spawn(async move {
            while let Some(chunks) = input.next().await {
                for chunk in decode_chunks(&chunks?).map_err(refused)? {
                    let (task, sender) = (task.clone(), sender.clone());
                    // Reading blocks a thread: it must not be one of the event loop.
                    let read = move || serve::chunk(&task, &chunk, &sender);
                    let done = tokio::task::spawn_blocking(read).await;
                    let done = done.map_err(|error| DataFusionError::External(error.into()))?;
                    done.map_err(|refusal| DataFusionError::Execution(refusal.to_text()))?;
                }
            }
            Ok(())
        });
        Ok(stream.build())
    }
}

impl Consumer for Sender<PlanResult<RecordBatch>> {
    fn send(&self, batch: RecordBatch) -> ControlFlow<()> {
        match self.blocking_send(Ok(batch)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn is_gone(&self) -> bool {
        self.is_closed()
    }
}

/// Writes the rows of a plan into the store of a run.
#[derive(Debug)]
pub(crate) struct WriteExec {
    target: Target,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

/// Where rows are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The location of the run.
    pub(crate) run: String,
    /// The folder of the step in it.
    pub(crate) step: String,
}

impl WriteExec {
    pub(crate) fn new(target: Target, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(rows::report_schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            target,
            input,
            properties: Arc::new(properties),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

impl DisplayAs for WriteExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteExec: {}", self.target.step)
    }
}

impl ExecutionPlan for WriteExec {
    fn name(&self) -> &'static str {
        "WriteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("WriteExec has one child, not {}", children.len());
        };
        Ok(Arc::new(Self::new(self.target.clone(), input.clone())))
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let mut input = self.input.execute(partition, context)?;
        let target = self.target.clone();
        let schema = self.input.schema();
        let report = async move {
            // Files are written while this thread waits.
            let writer = block_in_place(|| PartWriter::new(&target.run, &target.step, schema));
            let mut writer = writer.map_err(failed)?;
            while let Some(batch) = input.next().await {
                let batch = batch?;
                block_in_place(|| writer.write(&batch)).map_err(failed)?;
            }
            let report = PartitionReport {
                executor: serve::executor_name(),
                parts: block_in_place(|| writer.finish_table()).map_err(failed)?,
            };
            rows::encode_report(&report).map_err(refused)
        };
        let report = futures::stream::once(report);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            report,
        )))
    }
}

/// The error of a task that cannot write.
fn failed(error: Error) -> DataFusionError {
    let refusal = Refusal {
        executor: serve::executor_name(),
        kind: RefusalKind::Failed,
        message: error.to_string(),
    };
    DataFusionError::Execution(refusal.to_text())
}

/// An error of a plan.
pub(crate) fn refused(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_survive_a_batch() {
        let chunk = Chunk {
            number: 5,
            blocks: BlockRange {
                first: 7,
                last: u64::MAX,
            },
            follows: true,
            hashes: [Some(B256::repeat_byte(3)), None],
        };
        assert_eq!(
            decode_chunks(&encode_chunk(&chunk).unwrap()).unwrap(),
            [chunk]
        );
        let empty = Chunk {
            blocks: BlockRange { first: 2, last: 1 },
            ..chunk
        };
        assert!(decode_chunks(&encode_chunk(&empty).unwrap()).is_err());
    }
}
