//! This process as the engine: the same plans, without a cluster.

use crate::{
    Error, Result,
    engine::{Engine, Job, JobMetrics, JobProgress},
    rows, session,
};
use datafusion::{
    common::runtime::SpawnedTask, execution::SessionState, physical_plan::ExecutionPlanProperties,
    prelude::SessionConfig,
};
use futures::StreamExt;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{runtime::Runtime, time::sleep};
use txgraph_work::CancelFlag;

/// The time between two looks whether the caller stopped.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Executes plans with DataFusion in this process.
#[derive(Debug)]
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
    fn execute(&self, job: &Job<'_>) -> Result<(Vec<String>, JobMetrics)> {
        let start = Instant::now();
        let partitions = job.plan.output_partitioning().partition_count();
        let mut progress = JobProgress::start(job);
        let context = Arc::new(datafusion::execution::TaskContext::from(&self.session));
        let mut metrics = JobMetrics {
            job: "in-process".to_owned(),
            ..JobMetrics::default()
        };
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
                    metrics.bytes += batch.get_array_memory_size() as u64;
                    reports.extend(rows::decode_reports(&batch)?);
                }
                ended += 1;
                progress.ended(ended);
            }
        })?;
        let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        (metrics.millis, metrics.execution_millis) = (millis, millis);
        Ok((reports, metrics))
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

    fn name(&self) -> String {
        "this process".to_owned()
    }
}
