//! Patterns of transfers. For drainers, approvals and who signed are read after the transfers.

use super::{blocks::SIGNED, transaction_columns::Found};
use crate::{Error, ErrorKind, MeasureAnswer, Measured, Result, Source, words::number};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_analysis::{PatternFinder, Patterns, TransactionEnds};
use txgraph_graph::{SearchError, SearchRequest, TransferGraph};
use txgraph_nodedb::Block;
use txgraph_transfers::{
    BlockRange, QueriedNames, ScanReport, ScanRequest, SourceError, TransferFilter, TransferSource,
};

/// Finds the patterns in all transfers of a scan.
pub(super) fn of_scan(
    source: &Source,
    from: &(dyn TransferSource + Sync),
    request: &ScanRequest,
    limit: Option<usize>,
    max_transfers: u64,
) -> Result<Measured> {
    let mut queried = QueriedNames::of(&request.filter);
    let mut finder = PatternFinder::default();
    let scan = source.install(|| {
        txgraph_graph::scan(from, request, |batch| {
            queried.see(batch);
            finder.add(batch)?;
            match finder.transfers() > max_transfers {
                false => Ok(()),
                true => Err(SearchError::TooLarge { what: "transfers" }),
            }
        })
    })?;
    let scan = scan.map_err(|error| match error {
        SearchError::TooLarge { .. } if finder.transfers() > max_transfers => {
            Error::too_many(number(max_transfers, "transfer", "transfers"))
        }
        other => other.into(),
    })?;
    let (vertices, transfers) = (finder.addresses(), finder.transfers());
    let patterns = finish((source, from), finder, &request.filter, &scan, limit)?;
    Ok(Measured {
        scan,
        unseen: queried.unseen(),
        vertices,
        transfers,
        answer: MeasureAnswer::Patterns(patterns),
    })
}

/// Finds the patterns in the transfers of a search.
pub(super) fn of_search(
    source: &Source,
    request: &SearchRequest,
    graph: &TransferGraph,
    limit: Option<usize>,
) -> Result<Patterns> {
    let mut finder = PatternFinder::default();
    for edge in graph.graph.edge_weights() {
        finder.add(std::slice::from_ref(&edge.transfer))?;
    }
    let from = source.transfer_source(&request.filter)?;
    finish(
        (source, &*from),
        finder,
        &request.filter,
        &graph.scan,
        limit,
    )
}

/// Reads what else the rules need, finds the patterns, and reads when and in which transactions their
/// transfers are.
fn finish(
    (source, from): (&Source, &(dyn TransferSource + Sync)),
    mut finder: PatternFinder,
    filter: &TransferFilter,
    scan: &ScanReport,
    limit: Option<usize>,
) -> Result<Patterns> {
    match read_spenders(source, &mut finder, filter, scan) {
        Err(error)
            if matches!(
                error.kind,
                ErrorKind::Unsupported(_) | ErrorKind::Unavailable
            ) =>
        {
            finder.set_not_asked(format!(
                "approvals, and who signed the transactions, are not known: {}",
                error.message
            ));
        }
        done => done?,
    }
    let mut patterns = source.install(|| finder.finish(limit, || source.check_interrupted()))??;
    patterns.fill(|transfers| from.fill_hashes(transfers, &scan.anchors))?;
    Ok(patterns)
}

/// Reads the approvals of the blocks of a scan, and then who signed the transactions in which a
/// spender may have taken tokens.
fn read_spenders(
    source: &Source,
    finder: &mut PatternFinder,
    filter: &TransferFilter,
    scan: &ScanReport,
) -> Result<()> {
    let last = scan.covered.span().map(|span| span.last);
    // A source other than a node cannot say.
    let hash = last.map(|last| source.block_hash(last)).transpose()?;
    for blocks in scan.covered.iter() {
        read_approvals(source, blocks, filter, finder)?;
    }
    let wanted = finder.wanted_transactions();
    finder.set_transactions(ends_of(source, &wanted)?);
    // The hash of the last block fixes all blocks below it.
    let now = last.map(|last| source.block_hash(last)).transpose()?;
    let read = scan.last_block_hash.filter(|_| hash.flatten().is_some());
    let is_same = now == hash && read.is_none_or(|read| now.flatten() == Some(read));
    match last {
        Some(block) if !is_same => Err(SourceError::Reorged { block }.into()),
        _ => Ok(()),
    }
}

fn read_approvals(
    source: &Source,
    blocks: BlockRange,
    filter: &TransferFilter,
    finder: &mut PatternFinder,
) -> Result<()> {
    source.for_each_allowance(blocks, filter, |log, granted| {
        finder.add_approval(&txgraph_analysis::SpenderApproval {
            position: txgraph_transfers::Position {
                block: log.block,
                tx: log.transaction_index,
                log: Some(log.log_index),
                sub: 0,
            },
            token: granted.token,
            owner: granted.owner,
            spender: granted.spender,
            amount: granted.amount.unwrap_or_default(),
        })?;
        Ok(())
    })
}

/// Reads who signed some transactions, and what they call.
fn ends_of(
    source: &Source,
    places: &BTreeSet<(u64, u32)>,
) -> Result<BTreeMap<(u64, u32), TransactionEnds>> {
    let mut wanted = BTreeMap::<u64, BTreeMap<u32, ()>>::new();
    for (block, index) in places {
        wanted.entry(*block).or_default().insert(*index, ());
    }
    let mut all = BTreeMap::new();
    source.stored_transactions(wanted, SIGNED, read_ends, &mut all)?;
    Ok(all)
}

/// Reads the ends of wanted transactions of a block. Whether it is the same block is checked later.
fn read_ends(
    block: &mut Block<'_>,
    wanted: &BTreeMap<u32, ()>,
) -> txgraph_nodedb::Result<Vec<Found<TransactionEnds>>> {
    // A block that was replaced may be shorter.
    let count = block.body.tx_count;
    let there = wanted.keys().filter(|it| u64::from(**it) < count);
    let read = |index: &u32| {
        let called = block.stored_transaction(*index)?.to();
        let signer = block.sender(*index)?;
        let place = (block.number, *index);
        Ok((place, TransactionEnds { signer, called }, true))
    };
    there.map(read).collect()
}
