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
//! Both are [`WorkExec`]. The first is not a leaf. The scheduler gives each task a part of the
//! partitions by rewriting the leaves that it knows; a leaf of another kind would be run whole by
//! every task, and rows would appear several times (`ballista-scheduler/src/state/task_builder.rs`).

use crate::{
    Error, Result,
    error::{Refusal, RefusalKind},
    parts::PartWriter,
    rows,
    serve::{self, Consumer},
    wire::{Chunk, Mode, PartitionReport, Task},
};
use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    catalog::memory::{DataSourceExec, MemorySourceConfig},
    common::{Result as PlanResult, internal_err, tree_node::TreeNodeRecursion},
    error::DataFusionError,
    execution::TaskContext,
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, SendableRecordBatchStream,
        execution_plan::{Boundedness, EmissionType},
        stream::RecordBatchReceiverStreamBuilder,
    },
};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use std::{fmt, ops::ControlFlow, sync::Arc};
use tokio::{sync::mpsc::Sender, task::block_in_place};
use txgraph_transfers::BlockRange;

/// Batches that wait for the consumer of a chunk.
const BATCHES_AHEAD: usize = 2;

/// The work of an operator on its input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Reads the transfers of the chunks that it returns.
    Transfers(Box<Task>),
    /// Writes its rows into the store of a run.
    Write(Target),
}

/// Where rows are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The location of the run.
    pub(crate) run: String,
    /// The folder of the step in it.
    pub(crate) step: String,
}

/// Our operator.
#[derive(Debug)]
pub(crate) struct WorkExec {
    work: Work,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl WorkExec {
    pub(crate) fn new(work: Work, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let schema = match &work {
            Work::Transfers(_) if input.schema().fields() != rows::report_schema().fields() => {
                return Err(Error::Plan("the input of a task has no chunks".to_owned()));
            }
            Work::Transfers(task) => schema(task)?,
            Work::Write(_) => rows::report_schema(),
        };
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            work,
            input,
            properties: Arc::new(properties),
        })
    }

    /// A plan that reads these chunks, one in each partition.
    pub(crate) fn transfers(task: Task, chunks: &[Chunk]) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions: Result<Vec<_>> = chunks
            .iter()
            .map(|chunk| Ok(vec![rows::encode_report(chunk)?]))
            .collect();
        let leaf = MemorySourceConfig::try_new(&partitions?, rows::report_schema(), None)?;
        let leaf = DataSourceExec::from_data_source(leaf);
        Ok(Arc::new(Self::new(Work::Transfers(Box::new(task)), leaf)?))
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }
}

/// The columns that a task returns.
fn schema(task: &Task) -> Result<SchemaRef> {
    Ok(match (&task.mode, &task.columns) {
        (Mode::Rows, Some(columns)) => Arc::new(rows::transfers_schema().project(columns)?),
        (Mode::Rows, None) => rows::transfers_schema(),
        _ => rows::report_schema(),
    })
}

fn decode_chunks(batch: &RecordBatch) -> Result<Vec<Chunk>> {
    let damaged = || Error::Plan("a chunk of a task has no blocks".to_owned());
    let chunk = |json: &String| -> Result<Chunk> {
        let chunk: Chunk = serde_json::from_str(json).map_err(|_| damaged())?;
        let blocks = BlockRange::new(chunk.blocks.first, chunk.blocks.last);
        blocks.map(|_| chunk).ok_or_else(damaged)
    };
    rows::decode_reports(batch)?.iter().map(chunk).collect()
}

impl DisplayAs for WorkExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.work {
            Work::Transfers(task) => {
                write!(f, "TransfersExec: {:?} of {}", task.mode, task.input)
            }
            Work::Write(target) => write!(f, "WriteExec: {}", target.step),
        }
    }
}

impl ExecutionPlan for WorkExec {
    fn name(&self) -> &'static str {
        "WorkExec"
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
            return internal_err!("WorkExec has one child, not {}", children.len());
        };
        let new = Self::new(self.work.clone(), input.clone());
        Ok(Arc::new(new.map_err(refused)?))
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        // Other rows come instead of the rows of the input.
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
        let input = self.input.execute(partition, context)?;
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), BATCHES_AHEAD);
        match self.work.clone() {
            Work::Transfers(task) => stream.spawn(read(Arc::from(task), input, stream.tx())),
            Work::Write(target) => stream.spawn(write(target, input, stream.tx())),
        };
        Ok(stream.build())
    }
}

/// Reads the chunks of a partition.
async fn read(
    task: Arc<Task>,
    mut input: SendableRecordBatchStream,
    sender: Sender<PlanResult<RecordBatch>>,
) -> PlanResult<()> {
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
}

/// Writes the rows of a partition.
async fn write(
    target: Target,
    mut input: SendableRecordBatchStream,
    sender: Sender<PlanResult<RecordBatch>>,
) -> PlanResult<()> {
    let failed = |error: Error| {
        let refusal = Refusal {
            executor: serve::executor_name(),
            kind: RefusalKind::Failed,
            message: error.to_string(),
        };
        DataFusionError::Execution(refusal.to_text())
    };
    let schema = input.schema();
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
    let report = rows::encode_report(&report).map_err(refused);
    // A task that was canceled has no receiver.
    let _ = sender.send(report).await;
    Ok(())
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

/// An error of a plan.
pub(crate) fn refused(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    #[test]
    fn chunks_survive_a_batch() {
        let chunk = Chunk {
            number: 5,
            blocks: BlockRange::from_to(7, u64::MAX),
            follows: true,
            hashes: [Some(B256::repeat_byte(3)), None],
        };
        assert_eq!(
            decode_chunks(&rows::encode_report(&chunk).unwrap()).unwrap(),
            [chunk]
        );
        let empty = Chunk {
            blocks: BlockRange { first: 2, last: 1 },
            ..chunk
        };
        assert!(decode_chunks(&rows::encode_report(&empty).unwrap()).is_err());
    }
}
