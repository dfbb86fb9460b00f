//! Executes the job of a step, and checks the reports of its tasks.

use super::{Step, VERSION};
use crate::{
    Error, Result,
    engine::{Engine, Job},
    wire::{ChunkReport, Part},
};
use datafusion::physical_plan::displayable;
use std::time::Instant;

impl Step {
    /// Its files in the order of rows, with the executors that wrote them.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, &Part)> {
        let chunks = self.chunks.iter();
        chunks.flat_map(|chunk| chunk.parts.iter().map(|part| (&*chunk.executor, part)))
    }
}

/// Executes a job of this many chunks, whose reports must come in order, each once, and link.
pub(crate) fn write_scan(engine: &dyn Engine, job: &Job<'_>, chunks: usize) -> Result<Step> {
    let start = Instant::now();
    let (id, reports) = engine.execute(job)?;
    let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let bytes = reports.iter().map(|json| json.len() as u64).sum();
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
    let parts = read.iter().flat_map(|chunk| &chunk.parts);
    Ok(Step {
        version: VERSION,
        name: job.name.clone(),
        plan: displayable(job.plan.as_ref()).indent(false).to_string(),
        attempts: 1,
        job: id,
        millis,
        bytes,
        rows: parts.map(|part| part.rows).sum(),
        chunks: read,
        superseded: false,
    })
}

fn parse(json: &str) -> Result<ChunkReport> {
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
