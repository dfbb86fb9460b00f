//! The driver: a cluster, a run, and the data that is queried.

use crate::{
    Error, Refusal, RefusalKind, Result, Settings,
    ballista::Cluster,
    chunks::{Cut, divide},
    engine::{Engine, Job},
    local::InProcess,
    operator::WorkExec,
    remote::Remote,
    run::{self, Committed, Run},
    wire::{Chunk, Input, Mode, SourceInfo, Task},
};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use serde::de::DeserializeOwned;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};
use txgraph::{Config, RunControl, Source, SourceSpec};
use txgraph_lake::Lake;
use txgraph_transfers::{BlockRange, BlockRanges};
use txgraph_work::CancelFlag;

/// The word for a source that each executor opens itself.
const EXECUTORS: &str = "executors";
/// A driver: an engine, a run, and the data that is queried.
pub struct Driver {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) run: Run,
    pub(crate) settings: Settings,
    /// The number of chunks of a job.
    chunks: u64,
    /// The number of partitions of rows.
    pub(crate) partitions: u32,
    pub(crate) input: Input,
    pub(crate) info: SourceInfo,
    /// The blocks of tables.
    pub(crate) blocks: BlockRange,
    /// Blocks that are stored together.
    cuts: Vec<Cut>,
    /// The lake, opened in this process.
    pub(crate) lake: Option<Source>,
    pub(crate) control: RunControl,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// Prepares queries for the cluster of a scheduler; without one, for this process and the source
    /// of `config`.
    ///
    /// # Errors
    ///
    /// If the scheduler cannot be reached, no executor has a source, or the source cannot be read.
    pub fn open(
        scheduler: Option<&str>,
        location: &Path,
        args: &[String],
        config: &Config,
        control: &RunControl,
    ) -> Result<Self> {
        let settings = Settings::load()?;
        let input = input(config, scheduler.is_none())?;
        let run = Run::open(location, args, scheduler.unwrap_or("this process"))?;
        let remote = scheduler.map(|scheduler| Remote::new(scheduler, &settings));
        let remote = remote.transpose()?;
        let count = || match &remote {
            Some(remote) => remote.slots(),
            None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        };
        let slots = run.fact(|info| &mut info.slots, count)?;
        let partitions = settings.partitions(slots);
        let engine: Arc<dyn Engine> = match remote {
            Some(remote) => Arc::new(Cluster::new(remote, settings.clone(), partitions)),
            None => {
                // Tasks read in parallel already.
                let config = Config {
                    threads: Some(1),
                    ..config.clone()
                };
                crate::serve::configure(config)?;
                Arc::new(InProcess::new(partitions)?)
            }
        };
        let (info, blocks, cuts, lake) = match &input {
            Input::Executors => {
                let describe = || {
                    let task = Task::new(run.location(), &input, Mode::Describe);
                    let engine = engine.as_ref();
                    common(&ask(engine, "sources", task, slots, &control.cancel)?)
                };
                let info = run.fact(|info| &mut info.origin, describe)?;
                let blocks = info.everything;
                (info, blocks, Vec::new(), None)
            }
            Input::Lake(path) => {
                let lake = Lake::open(path);
                let lake = lake.map_err(|error| Error::Usage(error.to_string()))?;
                let info = run.fact(|info| &mut info.origin, || lake_info(&lake, &input))?;
                let spec = SourceSpec::from(format!("lake:{}", path.display()));
                let config = Config {
                    source: Some(spec),
                    ..config.clone()
                };
                let source = Source::with_config(&config, control);
                let source = source.map_err(|error| Error::Usage(error.message))?;
                let blocks = lake.status().blocks.span().unwrap_or(info.everything);
                (info, blocks, cuts(&lake), Some(source))
            }
        };
        Ok(Self {
            engine,
            run,
            chunks: settings.chunks(slots),
            partitions: u32::try_from(partitions).unwrap_or(u32::MAX),
            settings,
            input,
            info,
            blocks,
            cuts,
            lake,
            control: control.clone(),
        })
    }

    /// A task on the data that is queried, without a request.
    pub(crate) fn task(&self, mode: Mode) -> Task {
        Task {
            chain: Some(self.info.chain.clone()),
            ..Task::new(self.run.location(), &self.input, mode)
        }
    }

    /// Prints a decision, if the caller wants to know it.
    pub(crate) fn explain(&self, line: &str) {
        tracing::debug!("{line}");
        if let Some(explain) = &self.control.explain {
            explain(&line);
        }
    }

    /// Divides blocks into chunks.
    pub(crate) fn divide(&self, blocks: &BlockRanges) -> Vec<Chunk> {
        divide(blocks, &self.cuts, self.chunks)
    }

    /// Executes a task on chunks as a step of the run: each must be reported once.
    pub(crate) fn step(&self, name: &str, task: Task, chunks: &[Chunk]) -> Result<Committed> {
        let ranges = chunks.iter().map(|chunk| chunk.blocks);
        let key = run::key(&(
            &task.input,
            &task.chain,
            &task.mode,
            &task.request,
            &task.inputs,
            task.partitions,
            ranges.collect::<Vec<_>>(),
        ))?;
        self.step_of(&key, name, task, chunks, None)
    }

    /// The same with the key of the step. Its tasks may execute the partitions of a statement.
    pub(crate) fn step_of(
        &self,
        key: &str,
        name: &str,
        task: Task,
        chunks: &[Chunk],
        statement: Option<&Arc<dyn ExecutionPlan>>,
    ) -> Result<Committed> {
        self.run.step(key, &self.control.cancel, |folder| {
            let task = Task {
                step: folder.to_owned(),
                ..task.clone()
            };
            let job = Job {
                name: format!("{name}: {} tasks", chunks.len()),
                plan: WorkExec::plan(task, chunks, statement.cloned())?,
                blocks: chunks.iter().map(|chunk| chunk.blocks.blocks()).sum(),
                cancel: &self.control.cancel,
                progress: self.control.progress.as_deref(),
                written: &|| self.run.written(folder),
            };
            let mut step = run::write_scan(self.engine.as_ref(), &job, chunks.len())?;
            if let Some(statement) = statement {
                step.plan = displayable(statement.as_ref()).indent(false).to_string();
            }
            Ok(step)
        })
    }

    /// The first block at or after a time.
    pub(crate) fn block_at(&self, seconds: u64) -> txgraph::Result<u64> {
        let find = || match &self.lake {
            Some(lake) => lake.block_at(seconds),
            None => {
                let task = self.task(Mode::BlockAt(seconds));
                let (engine, cancel) = (self.engine.as_ref(), &self.control.cancel);
                let blocks: Vec<u64> = ask(engine, "block of a date", task, 1, cancel)?;
                Ok(blocks[0])
            }
        };
        self.run
            .fact(|info| info.dates.entry(seconds).or_default(), find)
    }
}

/// The data that a configuration names.
fn input(config: &Config, is_local: bool) -> Result<Input> {
    let Some(source) = &config.source else {
        return Ok(Input::Executors);
    };
    match source.kind() {
        EXECUTORS if is_local => Err(Error::Usage(format!(
            "`{EXECUTORS}:` is a source of clusters: name one with --cluster"
        ))),
        EXECUTORS => Ok(Input::Executors),
        "lake" => {
            let path = PathBuf::from(source.location());
            if path.to_string_lossy().starts_with("s3://") {
                return Ok(Input::Lake(path));
            }
            // Executors have other working directories.
            let path = path
                .canonicalize()
                .map_err(|error| Error::io(&path, error))?;
            Ok(Input::Lake(path))
        }
        _ if is_local => Ok(Input::Executors),
        _ => Err(Error::Usage(format!(
            "{source} is on this machine, and the executors of a cluster read sources of their \
             own: name `{EXECUTORS}:`, or a lake that all of them can read"
        ))),
    }
}

/// Sends a query about sources to this many tasks, and returns the answers: at least one.
fn ask<T: DeserializeOwned>(
    engine: &dyn Engine,
    name: &str,
    query: Task,
    tasks: usize,
    cancel: &CancelFlag,
) -> Result<Vec<T>> {
    // The blocks of the chunks are not read.
    let chunk = |number| Chunk::new(number, BlockRange::one(0));
    let chunks: Vec<_> = (0..tasks.max(1) as u64).map(chunk).collect();
    let job = Job {
        name: name.to_owned(),
        plan: WorkExec::plan(query, &chunks, None)?,
        cancel,
        blocks: 0,
        progress: None,
        written: &|| Ok(0),
    };
    let (_, reports) = engine.execute(&job)?;
    if reports.is_empty() {
        return Err(Error::Answer(format!(
            "no executor answered the job `{name}`"
        )));
    }
    let answers = reports.iter().map(|json| serde_json::from_str(json));
    let answers: Result<_, _> = answers.collect();
    answers.map_err(|error| Error::Answer(error.to_string()))
}

/// Executors follow the chain at their own pace. One that is behind by more blocks has a problem.
const LAG_BLOCKS: u64 = 100;

/// Describes what the sources of all executors have. Each may have described its own several times.
fn common(sources: &[SourceInfo]) -> Result<SourceInfo> {
    let by_tip = |source: &&SourceInfo| source.tip;
    let (Some(lowest), Some(highest)) = (
        sources.iter().min_by_key(by_tip),
        sources.iter().max_by_key(by_tip),
    ) else {
        return Err(Error::Answer("no executor described its source".to_owned()));
    };
    let of = |one: &SourceInfo| (one.chain.chain_id, one.chain.genesis_hash);
    if let Some(other) = sources.iter().find(|one| of(one) != of(lowest)) {
        let ([id, other_id], [genesis, other_genesis]) = (
            [lowest, other].map(|one| one.chain.chain_id),
            [lowest, other].map(|one| one.chain.genesis_hash),
        );
        return Err(Error::Refused(Refusal {
            executor: other.executor.clone(),
            kind: RefusalKind::Options,
            message: format!(
                "it is of chain {other_id} (genesis {other_genesis}), and executor {} of chain {id} \
                 (genesis {genesis})",
                lowest.executor
            ),
        }));
    }
    if highest.tip - lowest.tip > LAG_BLOCKS {
        tracing::warn!(
            "executor {} ends with block {}, and {} with {}: the later blocks are not in the answer",
            lowest.executor,
            lowest.tip,
            highest.executor,
            highest.tip
        );
    }
    // Each end, with its time from a source that has the same.
    let end = |end: usize, block: fn(&SourceInfo) -> u64| {
        let lowest = sources.iter().map(block).min().unwrap_or_default();
        let mut same = sources.iter().filter(|one| block(one) == lowest);
        (lowest, same.find_map(|one| one.times[end]))
    };
    let (first, first_time) = end(0, |one| one.everything.first);
    let (last, last_time) = end(1, |one| one.everything.last);
    Ok(SourceInfo {
        everything: BlockRange::from_to(first, last),
        times: [first_time, last_time],
        internal: sources.iter().all(|one| one.internal),
        ..lowest.clone()
    })
}

fn lake_info(lake: &Lake, input: &Input) -> Result<SourceInfo> {
    let status = lake.status();
    let empty = || Error::Usage(format!("{input} has no blocks yet"));
    let blocks = status.blocks.span().ok_or_else(empty)?;
    Ok(SourceInfo {
        executor: crate::serve::executor_name(),
        chain: lake.chain().clone(),
        tip: blocks.last,
        everything: BlockRange::up_to(blocks.last),
        times: [0, blocks.last].map(|block| lake.block_time(block).ok().flatten()),
        internal: status.internal,
    })
}

fn cuts(lake: &Lake) -> Vec<Cut> {
    let partitions = lake.partitions().iter();
    partitions
        .map(|partition| Cut {
            last: partition.blocks.last,
            transfers: partition.transfers,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use txgraph_transfers::ChainInfo;

    #[test]
    fn a_query_has_the_blocks_of_all_executors() {
        let source = |chain_id, tip| SourceInfo {
            executor: format!("host-{tip}"),
            chain: ChainInfo {
                chain_id,
                genesis_hash: B256::ZERO,
                name: None,
            },
            tip,
            everything: BlockRange::up_to(tip),
            times: [Some(1), Some(tip * 2)],
            internal: tip != 8,
        };
        let all = common(&[source(1, 9), source(1, 8), source(1, 10)]).unwrap();
        assert_eq!((all.tip, all.everything), (8, BlockRange::up_to(8)));
        assert_eq!((all.internal, all.times), (false, [Some(1), Some(16)]));
        let other = common(&[source(1, 7), source(2, 9)]).unwrap_err();
        let text = other.to_string();
        assert!(
            text.contains("host-9") && text.contains("is of chain 2"),
            "{text}"
        );
        assert!(common(&[]).is_err());
    }
}
