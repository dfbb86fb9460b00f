//! The operator of all tasks, and its form in plans.
//!
//! ```text
//! WorkExec            does the work of a task for a chunk, and reports, or returns rows
//!   DataSourceExec    in memory: one row for each chunk, one partition for each row
//! ```
//!
//! It is not a leaf. The scheduler gives each task a part of the partitions by rewriting the leaves that it
//! knows; a leaf of another kind would be run whole by every task, and rows would appear several times
//! (`ballista-scheduler/src/state/task_builder.rs`).
//!
//! A job has one stage, because Ballista 55 can count rows of a shuffle twice after it lost an executor,
//! without an error. A statement in SQL is a series of jobs (`sql.rs`): the work of
//! [`Mode::Statement`] is to execute a partition of another plan, which the scheduler does not see.

use crate::{
    Error, Result,
    error::{Refusal, RefusalKind},
    parts::PartWriter,
    rows,
    serve::{self, Consumer},
    session,
    wire::{self, Chunk, ChunkReport, Mode, Task},
};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    catalog::memory::{DataSourceExec, MemorySourceConfig},
    common::{Result as PlanResult, exec_err, internal_err, tree_node::TreeNodeRecursion},
    error::DataFusionError,
    execution::TaskContext,
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, SendableRecordBatchStream,
        execution_plan::{Boundedness, EmissionType},
        metrics::Time,
        repartition::{BatchPartitioner, RepartitionExec},
        stream::RecordBatchReceiverStreamBuilder,
    },
};
use datafusion_proto::{
    physical_plan::{AsExecutionPlan, PhysicalExtensionCodec, PhysicalProtoConverterExtension},
    protobuf::PhysicalPlanNode,
};
use futures::StreamExt;
use std::{fmt, ops::ControlFlow, sync::Arc};
use tokio::{sync::mpsc::Sender, task::block_in_place};
use txgraph_transfers::{BlockRange, ScanReport};

/// Batches that wait for the consumer of a chunk.
const BATCHES_AHEAD: usize = 2;

/// Our operator.
#[derive(Debug)]
pub(crate) struct WorkExec {
    task: Arc<Task>,
    /// The plan of [`Mode::Statement`], if it is of this process. Others read it from the run.
    statement: Option<Arc<dyn ExecutionPlan>>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl WorkExec {
    fn of(task: Arc<Task>, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        if input.schema().fields() != rows::report_schema().fields() {
            return Err(Error::Plan("the input of a task has no chunks".to_owned()));
        }
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema(&task)?),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            task,
            statement: None,
            input,
            properties: Arc::new(properties),
        })
    }

    /// A plan with a task for each of these chunks, which may execute the partitions of a statement.
    pub(crate) fn plan(
        task: Task,
        chunks: &[Chunk],
        statement: Option<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let chunks = chunks.iter();
        let partitions: Result<Vec<_>> = chunks
            .map(|chunk| Ok(vec![rows::encode_report(chunk)?]))
            .collect();
        let leaf = MemorySourceConfig::try_new(&partitions?, rows::report_schema(), None)?;
        let leaf = DataSourceExec::from_data_source(leaf);
        Ok(Arc::new(Self {
            statement,
            ..Self::of(Arc::new(task), leaf)?
        }))
    }
}

/// The columns that a task returns.
fn schema(task: &Task) -> Result<SchemaRef> {
    Ok(match &task.mode {
        Mode::Rows(columns) => Arc::new(rows::transfers_schema().project(columns)?),
        Mode::Stored(columns) => rows::columns(columns)?,
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
        match &self.task.mode {
            Mode::Stored(_) => f.write_str("WorkExec: rows of an earlier step"),
            mode if self.task.inputs.is_empty() => {
                write!(f, "WorkExec: {mode:?} of {}", self.task.input)
            }
            mode => write!(f, "WorkExec: {mode:?} of earlier steps"),
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
        let new = Self::of(self.task.clone(), input.clone()).map_err(refused)?;
        Ok(Arc::new(Self {
            statement: self.statement.clone(),
            ..new
        }))
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
        let input = self.input.execute(partition, context.clone())?;
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), BATCHES_AHEAD);
        let (task, statement) = (self.task.clone(), self.statement.clone());
        stream.spawn(work(task, statement, input, context, stream.tx()));
        Ok(stream.build())
    }
}

/// Does the work of a task for the chunks of a partition.
async fn work(
    task: Arc<Task>,
    known: Option<Arc<dyn ExecutionPlan>>,
    mut input: SendableRecordBatchStream,
    context: Arc<TaskContext>,
    sender: Sender<PlanResult<RecordBatch>>,
) -> PlanResult<()> {
    while let Some(chunks) = input.next().await {
        for chunk in decode_chunks(&chunks?).map_err(refused)? {
            if let Mode::Statement(plan) = &task.mode {
                let plan = match &known {
                    Some(plan) => plan.clone(),
                    None => read_plan(&task, plan, &context)?,
                };
                let report = statement(&task, plan, &chunk, &context).await?;
                // A task that was canceled has no receiver.
                let _ = sender.send(Ok(report)).await;
                continue;
            }
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

/// An error of reading or writing the files of a statement, which happens while this thread waits.
fn failed(error: Error) -> DataFusionError {
    let refusal = Refusal {
        executor: serve::executor_name(),
        kind: RefusalKind::Failed,
        message: error.to_string(),
    };
    DataFusionError::Execution(refusal.to_text())
}

/// The bytes of a plan, for [`read_plan`].
pub(crate) fn encode_plan(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let node = PhysicalPlanNode::try_from_physical_plan(plan.clone(), &PlanCodec::default())?;
    node.try_encode(&mut bytes)?;
    Ok(bytes)
}

fn read_plan(task: &Task, name: &str, context: &TaskContext) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let plan = block_in_place(|| wire::object(&task.run, name)).map_err(failed)?;
    // Ballista copies the functions of a task: ours have none.
    let state = session::state(context.session_config().clone())?;
    PhysicalPlanNode::try_decode(&plan)?
        .try_into_physical_plan(&TaskContext::from(&state), &PlanCodec::default())
}

/// Executes a partition of a plan, and writes its rows. If the plan divides them, the rows of each of
/// its partitions are a section.
async fn statement(
    task: &Task,
    mut plan: Arc<dyn ExecutionPlan>,
    chunk: &Chunk,
    context: &Arc<TaskContext>,
) -> PlanResult<RecordBatch> {
    let mut divided = None;
    if let Some(division) = plan.downcast_ref::<RepartitionExec>() {
        let by = division.partitioning().clone();
        divided = Some(BatchPartitioner::try_new(by, Time::new(), 0, 1)?);
        plan = division.input().clone();
    }
    let number = usize::try_from(chunk.number);
    let number = number.map_err(|error| DataFusionError::External(error.into()))?;
    let mut batches = plan.execute(number, context.clone())?;
    let mut writer = block_in_place(|| PartWriter::new(&task.run, &task.step)).map_err(failed)?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let mut write = |number: usize, batch| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            block_in_place(|| writer.write_batch(number, batch)).map_err(failed)
        };
        match &mut divided {
            Some(partitioner) => partitioner.partition(batch, write)?,
            None => write(0, batch)?,
        }
    }
    let parts = block_in_place(|| writer.finish()).map_err(failed)?;
    let written = (parts, serde_json::Value::Null);
    let (executor, nothing) = (serve::executor_name(), ScanReport::default());
    let report = ChunkReport::new(chunk.number, executor, written, nothing, None);
    rows::encode_report(&report).map_err(refused)
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

/// Before the bytes of our operator. Not the beginning of a message of Ballista: its first byte
/// would be a field with a wire type that does not exist.
const MAGIC: &[u8] = b"\xfftxgraph-3\n";

/// Encodes our operator in plans, next to Ballista's operators.
#[derive(Debug, Default)]
pub(crate) struct PlanCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PlanCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let Some(json) = bytes.strip_prefix(MAGIC) else {
            return self.ballista.try_decode(bytes, inputs, context, converter);
        };
        let task = match serde_json::from_slice(json) {
            Ok(task) => Arc::new(task),
            Err(error) => {
                return exec_err!(
                    "a task of another version of txgraph: {error}; use one version for the \
                     driver, the scheduler and all executors"
                );
            }
        };
        let [input] = inputs else {
            return internal_err!("WorkExec has one input, not {}", inputs.len());
        };
        let operator = WorkExec::of(task, input.clone()).map_err(refused)?;
        Ok(Arc::new(operator))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> PlanResult<()> {
        let Some(operator) = node.downcast_ref::<WorkExec>() else {
            return self.ballista.try_encode(node, bytes, converter);
        };
        bytes.extend_from_slice(MAGIC);
        match serde_json::to_writer(bytes, operator.task.as_ref()) {
            Ok(()) => Ok(()),
            Err(error) => internal_err!("a task cannot be encoded: {error}"),
        }
    }
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
