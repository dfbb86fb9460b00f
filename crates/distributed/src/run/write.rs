//! Executes the job of a step, and checks the reports of its tasks.

use super::{Step, VERSION};
use crate::{
    Error, Result,
    engine::{Engine, Job, JobMetrics},
    operator::{Target, Work, WorkExec},
    wire::{ChunkReport, Part},
};
use datafusion::physical_plan::{ExecutionPlanProperties, displayable};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl Step {
    fn new(job: &Job<'_>, metrics: JobMetrics) -> Self {
        Self {
            version: VERSION,
            name: job.name.clone(),
            plan: displayable(job.plan.as_ref()).indent(false).to_string(),
            attempts: 1,
            metrics,
            rows: 0,
            chunks: Vec::new(),
            partitions: Vec::new(),
            superseded: false,
        }
    }

    /// Its files in the order of rows, with the executors that wrote them.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, &Part)> {
        let of_chunks = self.chunks.iter();
        let of_chunks = of_chunks.map(|chunk| (chunk.executor.as_str(), &chunk.parts));
        let of_partitions = self.partitions.iter();
        let of_partitions = of_partitions.map(|one| (one.executor.as_str(), &one.parts));
        of_chunks
            .chain(of_partitions)
            .flat_map(|(executor, parts)| parts.iter().map(move |part| (executor, part)))
    }

    fn count_rows(mut self) -> Self {
        self.rows = self.parts().map(|(_, part)| part.rows).sum();
        self
    }
}

/// Executes a statement whose rows are written: each partition must report once.
pub(crate) fn write_rows(engine: &dyn Engine, job: Job<'_>, target: Target) -> Result<Step> {
    let partitions = job.plan.output_partitioning().partition_count();
    let job = Job {
        plan: Arc::new(WorkExec::new(Work::Write(target), job.plan)?),
        ..job
    };
    let (reports, metrics) = engine.execute(&job)?;
    if reports.len() != partitions {
        return Err(Error::Answer(format!(
            "{} of {partitions} partitions were reported",
            reports.len()
        )));
    }
    let reports: Result<_> = reports.iter().map(|json| parse(json)).collect();
    let step = Step {
        partitions: reports?,
        ..Step::new(&job, metrics)
    };
    Ok(step.count_rows())
}

/// Executes a scan of this many chunks, whose reports must come in order, each once, and link.
pub(crate) fn write_scan(engine: &dyn Engine, job: &Job<'_>, chunks: usize) -> Result<Step> {
    let (reports, metrics) = engine.execute(job)?;
    let mut read: Vec<ChunkReport> = Vec::with_capacity(chunks);
    for json in reports {
        let report = parse(&json)?;
        check_report(&read, &report)?;
        read.push(report);
    }
    if read.len() != chunks {
        return Err(Error::Answer(format!(
            "{} of {chunks} chunks were reported",
            read.len()
        )));
    }
    let step = Step {
        chunks: read,
        ..Step::new(job, metrics)
    };
    Ok(step.count_rows())
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| Error::Answer(format!("a report: {error}")))
}

/// Checks that a report is the next one, and of the same chain as the one before.
fn check_report(read: &[ChunkReport], report: &ChunkReport) -> Result<()> {
    if report.number != read.len() as u64 {
        return Err(Error::Answer(format!(
            "chunk {} was returned instead of chunk {}",
            report.number,
            read.len()
        )));
    }
    let Some(parent) = report.parent_hash else {
        return Ok(());
    };
    let Some(before) = read.last() else {
        return Ok(());
    };
    match before.report.last_block_hash {
        Some(hash) if hash != parent => Err(Error::Unlinked {
            block: (before.report.covered.span()).map_or(0, |blocks| blocks.last),
            before: before.executor.clone(),
            after: report.executor.clone(),
        }),
        _ => Ok(()),
    }
}
