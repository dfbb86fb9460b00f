//! The engine that executes plans.

use crate::Result;
use datafusion::{
    physical_plan::{ExecutionPlan, ExecutionPlanProperties},
    prelude::SessionConfig,
};
use std::sync::Arc;
use txgraph_work::{CancelFlag, Progress, ProgressGuard};

/// A plan whose tasks return reports, and how it is observed.
pub(crate) struct Job<'a> {
    /// The name, for people.
    pub(crate) name: String,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// Stops the job on the cluster, too.
    pub(crate) cancel: &'a CancelFlag,
    /// The number of blocks that its tasks read, each as many.
    pub(crate) blocks: u64,
    pub(crate) progress: Option<&'a dyn Progress>,
    /// Returns another number if tasks wrote something since the last time.
    pub(crate) written: &'a (dyn Fn() -> Result<u64> + Sync),
}

/// Reports the progress of a job, from the number of tasks that ended.
pub(crate) struct JobProgress<'a> {
    guard: ProgressGuard<'a>,
    blocks: u64,
    tasks: u64,
    done: u64,
}

impl<'a> JobProgress<'a> {
    pub(crate) fn start(job: &Job<'a>) -> Self {
        let tasks = job.plan.output_partitioning().partition_count() as u64;
        Self {
            guard: ProgressGuard::start(job.progress, job.blocks, "rows"),
            blocks: job.blocks,
            tasks: tasks.max(1),
            done: 0,
        }
    }

    /// Takes the number of tasks that ended so far.
    pub(crate) fn ended(&mut self, tasks: u64) {
        let done = self.blocks * tasks.min(self.tasks) / self.tasks;
        self.guard.advance(done.saturating_sub(self.done), 0);
        self.done = self.done.max(done);
    }
}

/// Executes plans: a cluster, or this process.
pub(crate) trait Engine: Send + Sync {
    /// Executes a plan once. Returns the id of the job, and the reports of its tasks in the order of
    /// partitions.
    fn execute(&self, job: &Job<'_>) -> Result<(String, Vec<String>)>;

    /// Whether it is this process.
    fn is_local(&self) -> bool;

    /// The settings of plans for this engine.
    fn config(&self) -> &SessionConfig;

    /// The bytes that came from it, apart from objects: reports, and descriptions of the cluster.
    fn received(&self) -> u64;
}
