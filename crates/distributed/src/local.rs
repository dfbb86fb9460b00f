//! This process as the engine: the same plans, without a cluster.

use crate::{
    Error, Result,
    engine::{Engine, Job, JobProgress},
    rows, session,
};
use datafusion::{
    common::runtime::SpawnedTask, execution::SessionState, physical_plan::ExecutionPlanProperties,
    prelude::SessionConfig,
};
use futures::StreamExt;
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Runtime, time::sleep};
use txgraph_work::CancelFlag;

/// The time between two looks whether the caller stopped.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Executes plans with DataFusion in this process.
pub(crate) struct InProcess {
    session: SessionState,
    runtime: Runtime,
}

impl InProcess {
    pub(crate) fn new(partitions: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let config = session::config(partitions);
        Ok(Self {
            session: session::state(config)?,
            runtime: runtime.map_err(|error| Error::Plan(format!("threads: {error}")))?,
        })
    }
}

/// Returns when the caller stopped.
async fn canceled(cancel: &CancelFlag) {
    while !cancel.is_canceled() {
        sleep(CANCEL_INTERVAL).await;
    }
}

impl Engine for InProcess {
    fn execute(&self, job: &Job<'_>) -> Result<(String, Vec<String>)> {
        let partitions = job.plan.output_partitioning().partition_count();
        let mut progress = JobProgress::start(job);
        let context = Arc::new(datafusion::execution::TaskContext::from(&self.session));
        let (mut reports, mut ended) = (Vec::new(), 0);
        self.runtime.block_on(async {
            // A few partitions ahead, on all threads; their reports in order.
            let plan = &job.plan;
            let streams = (0..partitions).map(|partition| {
                let stream = plan.execute(partition, context.clone());
                async move {
                    let stream = stream?;
                    let collect = async { stream.collect::<Vec<_>>().await };
                    Ok::<_, Error>(SpawnedTask::spawn(collect).join().await)
                }
            });
            let ahead = std::thread::available_parallelism().map_or(2, usize::from);
            let mut streams = futures::stream::iter(streams).buffered(ahead);
            loop {
                let next = tokio::select! {
                    next = streams.next() => next,
                    // What runs ends with `streams`.
                    () = canceled(job.cancel) => return Err(Error::Interrupted),
                };
                let Some(batches) = next else {
                    return Ok(());
                };
                let batches = batches?.map_err(|error| Error::Answer(error.to_string()))?;
                for batch in batches {
                    let batch = batch?;
                    reports.extend(rows::decode_reports(&batch)?);
                }
                ended += 1;
                progress.ended(ended);
            }
        })?;
        Ok(("in-process".to_owned(), reports))
    }

    fn is_local(&self) -> bool {
        true
    }

    fn config(&self) -> &SessionConfig {
        self.session.config()
    }

    fn received(&self) -> u64 {
        0
    }
}
