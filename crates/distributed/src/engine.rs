//! The engine that executes plans.

use crate::Result;
use datafusion::{
    arrow::array::RecordBatch, execution::SessionState, physical_plan::ExecutionPlan,
};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::ControlFlow, sync::Arc};
use txgraph_work::{CancelFlag, Progress};

/// Receives the rows of a job, partition after partition.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<ControlFlow<()>>;

/// A plan, and how it is observed.
pub(crate) struct Job<'a> {
    /// The name, for people.
    pub(crate) name: String,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// Stops the job on the cluster, too.
    pub(crate) cancel: &'a CancelFlag,
    /// Receives the number of finished partitions.
    pub(crate) progress: Option<&'a dyn Progress>,
}

/// The measures of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobMetrics {
    /// The id that the engine gave it.
    pub job: String,
    /// From submission to the last row, in milliseconds.
    pub millis: u64,
    /// The part of it before the first row, in milliseconds.
    pub execution_millis: u64,
    /// The number of returned rows.
    pub rows: u64,
    /// The bytes of returned rows in memory.
    pub bytes: u64,
}

/// Executes plans: a cluster, or this process.
///
/// Whether a job failed halfway is known only at its end: the receiver of rows keeps them apart
/// until then ([`crate::run::Run`]).
pub(crate) trait Engine: fmt::Debug + Send + Sync {
    /// Executes a plan once, and passes its rows to `sink`, in the order of partitions.
    fn execute(&self, job: &Job<'_>, sink: Sink<'_>) -> Result<JobMetrics>;

    /// Makes plans for this engine.
    fn session(&self) -> &SessionState;

    /// Its name, for people.
    fn name(&self) -> String;
}
