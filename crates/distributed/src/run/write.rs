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
    let read = checked(&reports, chunks)?;
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

/// Reads the reports of all chunks.
fn checked(reports: &[String], chunks: usize) -> Result<Vec<ChunkReport>> {
    let mut read = Vec::with_capacity(chunks);
    for json in reports {
        let report = parse(json)?;
        check_report(&read, &report)?;
        read.push(report);
    }
    if read.len() != chunks {
        return Err(Error::Answer(format!(
            "{} of {chunks} chunks were reported",
            read.len()
        )));
    }
    Ok(read)
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use txgraph_base::BlockRange;
    use txgraph_testkit::says;
    use txgraph_transfers::ScanReport;

    /// The report of a chunk of ten blocks, whose last block has this hash, and whose first block has this
    /// parent.
    fn report(number: u64, parent: u8, last: u8) -> String {
        let report = ScanReport {
            covered: BlockRange {
                first: number * 10,
                last: number * 10 + 9,
            }
            .into(),
            last_block_hash: Some(B256::repeat_byte(last)),
            ..ScanReport::default()
        };
        let parent = Some(B256::repeat_byte(parent));
        let executor = format!("host-{number}");
        let report = ChunkReport::new(number, executor, Default::default(), report, parent);
        serde_json::to_string(&report).unwrap()
    }

    #[test]
    fn each_chunk_is_reported_once_in_order_and_linked() {
        let [first, second, third] = [report(0, 0, 1), report(1, 1, 2), report(2, 2, 3)];
        let all = [&first, &second, &third].map(Clone::clone);
        assert_eq!(checked(&all, 3).unwrap().len(), 3);
        let forked = report(1, 9, 2);
        let cases: [(&[&String], &str); 6] = [
            (&[&first, &second], "2 of 3 chunks were reported"),
            (
                &[&first, &first, &second],
                "chunk 0 was returned instead of chunk 1",
            ),
            (
                &[&first, &third, &second],
                "chunk 2 was returned instead of chunk 1",
            ),
            (
                &[&second, &third],
                "chunk 1 was returned instead of chunk 0",
            ),
            (
                &[&first, &second, &third, &third],
                "chunk 2 was returned instead of chunk 3",
            ),
            (
                &[&first, &"{}".to_owned(), &third],
                "a report: missing field",
            ),
        ];
        for (reports, why) in cases {
            let reports: Vec<String> = reports.iter().map(|it| (*it).clone()).collect();
            says(&checked(&reports, 3).unwrap_err().to_string(), why);
        }
        // The blocks of one executor do not follow the blocks of another one.
        match checked(&[first, forked, third], 3).unwrap_err() {
            Error::Unlinked {
                block,
                before,
                after,
            } => assert_eq!((block, &*before, &*after), (9, "host-0", "host-1")),
            other => panic!("{other}"),
        }
    }
}
