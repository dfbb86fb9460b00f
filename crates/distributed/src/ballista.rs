//! Apache DataFusion Ballista as the engine.

use crate::{
    Error, Result, Settings,
    engine::{Engine, Job, JobProgress},
    error::Refusal,
    operator::encode_plan,
    parts::attempt,
    remote::{Remote, divide},
    rows, session,
};
use ballista_core::{
    client::BallistaClient,
    extension::{SessionConfigExt, SessionConfigHelperExt},
    serde::protobuf::{
        CancelJobParams, CleanJobDataParams, ExecuteQueryParams, FailedJob, GetJobStatusParams,
        PartitionLocation, SuccessfulJob, execute_query_params::Query, execute_query_result,
        job_status, scheduler_grpc_client::SchedulerGrpcClient,
    },
    utils::{GrpcClientConfig, create_grpc_client_endpoint},
    version,
};
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use serde::Deserialize;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tonic::transport::Channel;
use txgraph_work::CancelFlag;

/// The time between two polls of the state of a job.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time between two polls of the tasks of a job.
const TASKS_INTERVAL: Duration = Duration::from_secs(1);
/// Attempts to read a result from an executor, and the pause between them.
const FETCH_ATTEMPTS: u8 = 3;
const FETCH_PAUSE_MILLIS: u64 = 200;

/// How long connections are used again, without a look whether executors can be reached.
const CONNECTIONS_KEPT: Duration = Duration::from_secs(1);
/// How long a lost executor may stay registered.
const SETTLING_MAX: Duration = Duration::from_secs(60);

type Scheduler = SchedulerGrpcClient<Channel>;

/// The stages of a job.
#[derive(Debug, Deserialize)]
struct Stages {
    stages: Vec<Stage>,
}

/// A stage. Tasks that were taken back are null.
#[derive(Debug, Deserialize)]
struct Stage {
    tasks: Vec<Option<StageTask>>,
}

/// A task of a stage.
#[derive(Debug, Deserialize)]
struct StageTask {
    status: serde_json::Value,
}

/// Open connections.
struct Connections {
    scheduler: Scheduler,
    /// By id of the executor.
    executors: HashMap<String, BallistaClient>,
    /// When a job ended that used them.
    used: Instant,
}

/// A cluster.
pub(crate) struct Cluster {
    remote: Remote,
    settings: Settings,
    /// A name that no other driver has.
    session: String,
    config: SessionConfig,
    /// The connections of the last job, if it succeeded.
    last: Mutex<Option<Connections>>,
}

impl Cluster {
    /// The cluster of a scheduler.
    pub(crate) fn new(remote: Remote, settings: Settings, partitions: usize) -> Self {
        Self {
            remote,
            settings,
            session: attempt(),
            config: session::config(partitions),
            last: Mutex::default(),
        }
    }

    /// Waits until an executor can be reached. The scheduler needs some time to notice that an
    /// executor is lost, and until then gives its tasks to others.
    fn reachable(&self, cancel: &CancelFlag) -> Result<()> {
        let start = Instant::now();
        loop {
            let (up, down) = divide(self.remote.members()?);
            for lost in &down {
                tracing::warn!("{lost} cannot be reached, and is still registered");
            }
            match down.first() {
                _ if !up.is_empty() => return Ok(()),
                _ if cancel.is_canceled() => return Err(Error::Interrupted),
                _ if start.elapsed() < SETTLING_MAX => std::thread::sleep(TASKS_INTERVAL / 2),
                None => return Err(self.unreachable("it has no executor")),
                Some(lost) => {
                    return Err(self
                        .unreachable(format!("{lost} cannot be reached, and there is no other")));
                }
            }
        }
    }

    fn unreachable(&self, message: impl ToString) -> Error {
        self.remote.unreachable(message)
    }

    /// Connects to the scheduler, or takes connections that were used a moment ago.
    async fn connections(&self, cancel: &CancelFlag) -> Result<Connections> {
        let last = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(last) = last.filter(|last| last.used.elapsed() < CONNECTIONS_KEPT) {
            return Ok(last);
        }
        let scheduler = self.connect().await?;
        tokio::task::block_in_place(|| self.reachable(cancel))?;
        Ok(Connections {
            scheduler,
            executors: HashMap::new(),
            used: Instant::now(),
        })
    }

    async fn connect(&self) -> Result<Scheduler> {
        let config = self.config.ballista_config();
        let url = format!("http://{}", self.remote.route()?);
        let endpoint = create_grpc_client_endpoint(url, Some(&GrpcClientConfig::from(&config)))
            .map_err(|error| self.unreachable(error))?;
        let channel = endpoint.connect().await.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            self.remote.refused(format!(
                "cannot connect: {}; is the scheduler running?",
                cause.unwrap_or_else(|| error.to_string())
            ))
        })?;
        let bytes = session::MESSAGE_BYTES_MAX as usize;
        Ok(SchedulerGrpcClient::new(channel)
            .max_encoding_message_size(bytes)
            .max_decoding_message_size(bytes))
    }

    /// Submits a plan. Returns the id of its job.
    async fn submit(&self, scheduler: &mut Scheduler, job: &Job<'_>) -> Result<String> {
        let plan = encode_plan(&job.plan)?;
        let settings = self.config.clone().with_ballista_job_name(&job.name);
        let mut request = tonic::Request::new(ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(plan)),
            settings: settings.to_key_value_pairs(),
            session_id: self.session.clone(),
            operation_id: self.session.clone(),
        });
        version::insert_version_header(request.metadata_mut());
        let answer = scheduler.execute_query(request).await;
        let answer = answer.map_err(|status| self.unreachable(status.message()))?;
        let theirs = version::version_from_metadata(answer.metadata());
        version::check_compatibility(Some(ballista_core::BALLISTA_VERSION), theirs)
            .map_err(|message| self.unreachable(message))?;
        match answer.into_inner().result {
            Some(execute_query_result::Result::Success(success)) => Ok(success.job_id),
            Some(execute_query_result::Result::Failure(failure)) => {
                let message = format!("{failure:?}");
                Err(match Refusal::find(&message) {
                    Some(refusal) => refusal.into(),
                    None => self.unreachable(format!("the plan was refused: {message}")),
                })
            }
            None => Err(self.unreachable("the answer to a plan is empty")),
        }
    }

    /// Waits for the end of a job. Cancels it when the caller stops, or when it is stuck.
    async fn wait(
        &self,
        scheduler: &mut Scheduler,
        id: &str,
        job: &Job<'_>,
    ) -> Result<SuccessfulJob> {
        let mut progress = JobProgress::start(job);
        let (mut asked, mut finished, mut moved) = (Instant::now(), 0, Instant::now());
        let (mut interval, mut written) = (TASKS_INTERVAL, None);
        loop {
            if job.cancel.is_canceled() {
                cancel(scheduler, id).await;
                return Err(Error::Interrupted);
            }
            let params = GetJobStatusParams {
                job_id: id.to_owned(),
            };
            let status = scheduler.get_job_status(params).await;
            let status = status.map_err(|status| self.unreachable(status.message()))?;
            match status.into_inner().status.and_then(|status| status.status) {
                Some(job_status::Status::Successful(done)) => {
                    progress.ended(u64::MAX);
                    return Ok(done);
                }
                Some(job_status::Status::Failed(failed)) => return Err(failure(id, failed)),
                _ => {}
            }
            if asked.elapsed() >= interval {
                asked = Instant::now();
                if let Some(now) = self.finished_tasks(id)
                    && now != finished
                {
                    moved = asked;
                    progress.ended(now);
                    finished = finished.max(now);
                }
                // A task may take longer than the limit, while it reads and writes.
                if moved.elapsed() > self.settings.stall_limit() / 4
                    && let Ok(now) = tokio::task::block_in_place(|| (job.written)())
                    && written.replace(now) != Some(now)
                {
                    moved = asked;
                }
                if moved.elapsed() > self.settings.stall_limit() {
                    let seconds = self.settings.stall_seconds;
                    let reason = format!("no task read, wrote or ended for {seconds} s");
                    return Err(stuck(scheduler, id, reason).await);
                }
                // A job of many tasks has a long description.
                interval = TASKS_INTERVAL.max(10 * asked.elapsed());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The number of finished tasks of a job, if the scheduler knows.
    fn finished_tasks(&self, id: &str) -> Option<u64> {
        let path = format!("/api/job/{id}/stages");
        let answer = tokio::task::block_in_place(|| self.remote.get(&path)).ok()?;
        let answer: Stages = serde_json::from_str(&answer).ok()?;
        let tasks = answer.stages.iter().flat_map(|stage| &stage.tasks);
        // A word, or an object for tasks that failed.
        let done = tasks.flatten().filter(|task| task.status == "Successful");
        Some(done.count() as u64)
    }

    /// Returns the reports of a finished job.
    async fn fetch(
        &self,
        id: &str,
        locations: Vec<PartitionLocation>,
        clients: &mut HashMap<String, BallistaClient>,
        cancel: &CancelFlag,
    ) -> Result<Vec<String>> {
        let mut reports = Vec::new();
        let mut locations: Vec<_> = locations
            .into_iter()
            .map(|location| {
                let partition = location.partition_id.clone();
                (partition.map(|one| one.partition_id), location)
            })
            .collect();
        locations.sort_by_key(|(partition, location)| (*partition, location.map_partition_id));
        for (_, location) in locations {
            let lost = |message: String| Error::Job {
                job: id.to_owned(),
                message: format!("its result cannot be read: {message}"),
            };
            let layout = location.layout();
            let file = location.file_id;
            let (Some(executor), Some(partition)) = (location.executor_meta, location.partition_id)
            else {
                return Err(lost("a part of it has no place".to_owned()));
            };
            let port = u16::try_from(executor.port)
                .map_err(|_| lost(format!("{} is not a port", executor.port)))?;
            let client = match clients.entry(executor.id.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let client = BallistaClient::try_new(
                        &executor.host,
                        port,
                        session::MESSAGE_BYTES_MAX as usize,
                        false,
                        self.remote.endpoints(),
                        FETCH_ATTEMPTS,
                        FETCH_PAUSE_MILLIS,
                        0,
                        0,
                    );
                    place.insert(client.await.map_err(|error| lost(error.to_string()))?)
                }
            };
            let mut batches = client
                .fetch_partition(&executor.id, &partition.into(), file, layout, true)
                .await
                .map_err(|error| lost(error.to_string()))?;
            while let Some(batch) = batches.next().await {
                let batch = batch.map_err(|error| lost(error.to_string()))?;
                self.remote.receive(batch.get_array_memory_size() as u64);
                reports.extend(rows::decode_reports(&batch)?);
                if cancel.is_canceled() {
                    return Err(Error::Interrupted);
                }
            }
        }
        Ok(reports)
    }
}

impl Engine for Cluster {
    fn execute(&self, job: &Job<'_>) -> Result<(String, Vec<String>)> {
        self.remote.runtime().block_on(async {
            let mut open = self.connections(job.cancel).await?;
            let id = self.submit(&mut open.scheduler, job).await?;
            tracing::debug!(job = id, name = job.name, "submitted");
            let done = self.wait(&mut open.scheduler, &id, job).await?;
            let (locations, clients) = (done.partition_location, &mut open.executors);
            let reports = self.fetch(&id, locations, clients, job.cancel).await?;
            clean(&mut open.scheduler, &id).await;
            open.used = Instant::now();
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
            Ok((id, reports))
        })
    }

    fn is_local(&self) -> bool {
        false
    }

    fn config(&self) -> &SessionConfig {
        &self.config
    }

    fn received(&self) -> u64 {
        self.remote.received()
    }
}

fn failure(id: &str, failed: FailedJob) -> Error {
    match Refusal::find(&failed.error) {
        Some(refusal) => refusal.into(),
        None => Error::Job {
            job: id.to_owned(),
            message: failed.error,
        },
    }
}

async fn stuck(scheduler: &mut Scheduler, id: &str, reason: String) -> Error {
    cancel(scheduler, id).await;
    Error::Stuck {
        job: id.to_owned(),
        reason,
    }
}

/// Deletes what executors keep of a finished job. They do so after a day in any case.
async fn clean(scheduler: &mut Scheduler, id: &str) {
    let params = CleanJobDataParams {
        job_id: id.to_owned(),
        remove_stage_ids: Vec::new(),
    };
    if let Err(status) = scheduler.clean_job_data(params).await {
        tracing::debug!(job = id, "it was not deleted: {}", status.message());
    }
}

async fn cancel(scheduler: &mut Scheduler, id: &str) {
    let params = CancelJobParams {
        job_id: id.to_owned(),
    };
    if let Err(status) = scheduler.cancel_job(params).await {
        tracing::warn!(job = id, "it could not be canceled: {}", status.message());
    }
}
