//! Comparing a lake with itself and with its source.

use crate::{
    build::request,
    compact::Content,
    error::{Error, Result},
    lake::{Lake, Partition},
    schema::Table,
};
use txgraph_base::number;
use txgraph_stored::{BuildSource, Expected, Stop, StoreKind, VerifyReport, verify_units};
use txgraph_transfers::DecodeCounts;
use txgraph_work::WorkContext;

/// Checks every checksum, that the tables of each partition agree, and that the source has the
/// same transfers and counts. The first difference is returned as an error.
pub fn verify<'a>(lake: &Lake, origin: impl Into<BuildSource<'a>>) -> Result<VerifyReport> {
    let origin = origin.into();
    let contents = lake.manifest.contents();
    contents.check_chain(lake.path(), origin.source.chain())?;
    contents.check_internal(&origin)?;
    let Some(blocks) = lake.manifest.blocks() else {
        return Ok(VerifyReport::default());
    };
    let request = request(&blocks, &contents.wrapped_native);
    let expected = Expected::new(&origin, &request, contents.additions())?;
    run(lake, &origin.work, Some((&origin, &expected)))
}

/// Checks every checksum, and that the tables of each partition agree.
pub fn check(lake: &Lake, work: &WorkContext) -> Result<VerifyReport> {
    run(lake, work, None)
}

fn run(
    lake: &Lake,
    work: &WorkContext,
    expected: Option<(&BuildSource<'_>, &Expected<'_>)>,
) -> Result<VerifyReport> {
    let blocks = |partition: &Partition| partition.info.blocks;
    verify_units(&lake.partitions, blocks, work, |partition, stop| {
        check_partition(lake, partition, expected, stop)
    })
}

fn check_partition(
    lake: &Lake,
    partition: &Partition,
    expected: Option<(&BuildSource<'_>, &Expected<'_>)>,
    stop: &Stop<'_>,
) -> Result<VerifyReport> {
    partition.check_bytes()?;
    check_addresses(partition)?;
    check_edges(partition)?;
    let content = partition.content(lake)?;
    let total: u64 = (content.summaries.iter())
        .map(|(summary, _)| summary.counts.transfers)
        .sum();
    if total != content.transfers.len() as u64 {
        return Err(partition.damaged("its blocks count another number of transfers"));
    }
    if !content
        .transfers
        .is_sorted_by(|a, b| a.position() < b.position())
    {
        return Err(partition.damaged("its transfers are not in order"));
    }
    let blocks = partition.info.blocks;
    let Some((origin, expected)) = expected else {
        return Ok(VerifyReport::default());
    };
    if origin.source.canonical_hash(blocks.last)? != Some(partition.info.last_hash) {
        return Err(Error::Replaced {
            kind: StoreKind::Lake,
            path: partition.path().to_owned(),
            block: blocks.last,
        });
    }
    expected.each_run(blocks, stop, |run| compare(partition, &content, run))
}

/// Compares blocks of a partition with the blocks of the source.
fn compare(
    partition: &Partition,
    content: &Content,
    run: &txgraph_transfers::BlockRun,
) -> Result<()> {
    let blocks = run.blocks;
    let ours = content
        .anomalies
        .iter()
        .filter(|logs| blocks.contains(logs.block));
    if !ours.eq(&run.anomalies) {
        return Err(contradicts(
            partition,
            blocks.first,
            "anomalous logs differ, there or in later blocks",
        ));
    }
    let first = usize::try_from(blocks.first - partition.info.blocks.first).unwrap_or(usize::MAX);
    let summaries = content.summaries.get(first..).unwrap_or_default();
    for (expected, (ours, _)) in run.summaries.iter().zip(summaries) {
        let counts = DecodeCounts {
            blocks: 1,
            ..expected.counts
        };
        if (ours.number, ours.timestamp, ours.counts)
            != (expected.number, expected.timestamp, counts)
        {
            return Err(contradicts(
                partition,
                expected.number,
                &format!(
                    "time and counts are {} and {:?}, and {} and {counts:?} in the source",
                    ours.timestamp, ours.counts, expected.timestamp
                ),
            ));
        }
    }
    let from = content
        .transfers
        .partition_point(|it| it.block_number < blocks.first);
    let to = content
        .transfers
        .partition_point(|it| it.block_number <= blocks.last);
    let ours = &content.transfers[from..to];
    if ours == run.transfers {
        return Ok(());
    }
    let pairs = ours.iter().zip(&run.transfers);
    let differs = pairs.into_iter().find(|(ours, expected)| ours != expected);
    let (block, what) = match differs {
        Some((ours, _)) => (
            ours.block_number,
            format!("the transfer at {:?} differs", ours.position()),
        ),
        None => (
            blocks.first,
            format!(
                "the lake has {} up to block {}, and the source {}",
                number(ours.len() as u64, "transfer", "transfers"),
                blocks.last,
                run.transfers.len()
            ),
        ),
    };
    Err(contradicts(partition, block, &what))
}

/// Checks that addresses ascend, with consecutive ids.
fn check_addresses(partition: &Partition) -> Result<()> {
    let table = partition.table(Table::Addresses)?;
    if !partition.addresses()?.is_sorted_by(|a, b| a < b) {
        return Err(table.damaged("its addresses are not in order"));
    }
    let mut next = partition.info.first_address_id;
    for batch in table.read(&["id"], None)? {
        for id in batch?.u64s("id")? {
            if *id != next {
                return Err(table.damaged(format!("it has id {id} instead of {next}")));
            }
            next += 1;
        }
    }
    Ok(())
}

/// Checks that both orders of edges have each transfer once.
fn check_edges(partition: &Partition) -> Result<()> {
    let mut ends = Vec::new();
    let columns = ["token_address_id", "from_address_id", "to_address_id"];
    for batch in partition.table(Table::Transfers)?.read(&columns, None)? {
        let batch = batch?;
        let token = batch.optional_u64s("token_address_id")?;
        let (from, to) = (batch.u64s("from_address_id")?, batch.u64s("to_address_id")?);
        ends.extend((0..batch.len()).map(|at| (token(at), from[at], to[at])));
    }
    for (table, key, other) in [
        (Table::BySender, "from_address_id", "to_address_id"),
        (Table::ByReceiver, "to_address_id", "from_address_id"),
    ] {
        let table = partition.table(table)?;
        let mut previous = None;
        let mut count = 0;
        for batch in table.read(&[key, other, "token_address_id", "row"], None)? {
            let batch = batch?;
            let token = batch.optional_u64s("token_address_id")?;
            let (keys, others) = (batch.u64s(key)?, batch.u64s(other)?);
            for (at, row) in batch.u32s("row")?.iter().enumerate() {
                let edge = match table.table() {
                    Table::BySender => (token(at), keys[at], others[at]),
                    _ => (token(at), others[at], keys[at]),
                };
                // Ascending and with the key of their row, no row can be there twice.
                let place = Some((keys[at], *row));
                if ends.get(*row as usize) != Some(&edge) || place <= previous {
                    return Err(table.damaged(format!("edge {count} is not that of row {row}")));
                }
                previous = place;
                count += 1;
            }
        }
        if count != ends.len() {
            return Err(table.damaged(format!("it has {count} edges of {} rows", ends.len())));
        }
    }
    Ok(())
}

fn contradicts(partition: &Partition, block: u64, what: &str) -> Error {
    Error::contradicts(StoreKind::Lake, partition.path(), block, what)
}
