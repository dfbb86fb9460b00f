//! Transactions from a server: all of its own, or those above the newest block in a data
//! directory.

use super::{TransactionName, TransactionSummary};
use crate::{Error, Result, Source};
use std::ops::ControlFlow;
use txgraph_rpc::{FoundTransaction, RpcSource};
use txgraph_transfers::{
    BlockRange, ScanRequest, SourceError, Transfer, TransferFilter, TransferSource,
};

/// Where a transaction is.
pub(super) enum Found<'s> {
    /// At the server: above the stored blocks, if there are such.
    Served(&'s RpcSource, Box<FoundTransaction>),
    /// In the stored blocks, if at all; by its position, if the server knows it.
    Stored(TransactionName),
}

/// Asks the server for a transaction. Without one, all transactions are stored.
pub(super) fn find(source: &Source, name: TransactionName) -> Result<Found<'_>> {
    let Some(server) = source.server() else {
        return Ok(Found::Stored(name));
    };
    let stored_tip = match source.with_head() {
        Some(head) => Some(head.stored_tip()?),
        None => None,
    };
    let is_stored = |block| stored_tip.is_some_and(|tip| block <= tip);
    let node = server.node();
    let hash = match name {
        TransactionName::Hash(hash) => hash,
        TransactionName::Position { block, .. } if is_stored(block) => {
            return Ok(Found::Stored(name));
        }
        TransactionName::Position { block, index } => {
            let tip = node.refresh()?;
            if block > tip {
                return Err(Error::unavailable(format!(
                    "block {block} is above the head, block {tip}"
                )));
            }
            let hash = node.transaction_hash(block, index)?;
            hash.ok_or_else(|| {
                Error::unavailable(format!("block {block} has no transaction {index}"))
            })?
        }
    };
    match node.transactions(&[hash])?.pop().flatten() {
        Some(found) if !is_stored(found.block) => Ok(Found::Served(server, Box::new(found))),
        // The files are asked at this place, where the hash is compared.
        Some(found) => Ok(Found::Stored(at(source, &found)?)),
        None if stored_tip.is_some() => Ok(Found::Stored(name)),
        None => Err(Error::unavailable(format!(
            "{} has no block with transaction {hash}",
            source.spec()
        ))),
    }
}

/// The position of a transaction in the files.
fn at(source: &Source, found: &FoundTransaction) -> Result<TransactionName> {
    let FoundTransaction {
        block,
        index,
        block_hash,
        ..
    } = *found;
    let stored = source.transfer_source(&TransferFilter::default())?;
    match stored.canonical_hash(block)? {
        Some(hash) if hash == block_hash => Ok(TransactionName::Position { block, index }),
        _ => Err(SourceError::Reorged { block }.into()),
    }
}

/// Returns the summary of a transaction from a server. Its transfers inside are in its logs
/// since Amsterdam, before that in traces, if the server has them.
pub(super) fn summary(server: &RpcSource, found: FoundTransaction) -> Result<TransactionSummary> {
    let block = found.block;
    let (transfers, timestamp, without_internal) = match read(server, &found, true) {
        Ok((transfers, time)) => (transfers, time, None),
        Err(SourceError::Unsupported { reason, .. }) => {
            let (transfers, time) = read(server, &found, false)?;
            (transfers, time, Some(reason.to_owned()))
        }
        Err(error) => return Err(error.into()),
    };
    let success = found.success.ok_or_else(|| {
        Error::unavailable(format!(
            "the receipts of block {block} do not show what succeeded"
        ))
    })?;
    Ok(TransactionSummary {
        block,
        index: found.index,
        hash: found.hash,
        timestamp,
        sender: found.from,
        to: found.to,
        created: found.created,
        nonce: found.nonce,
        value: found.value,
        input: found.input,
        success,
        reason: None,
        gas_used: found.gas_used,
        fee: found.fee,
        transfers,
        approvals: None,
        // Nothing is left of what a failed transaction moved.
        without_internal: without_internal.filter(|_| success),
        order: Vec::new(),
    })
}

/// The transfers of a transaction, and the time of its block in seconds since 1970.
fn read(
    server: &RpcSource,
    found: &FoundTransaction,
    internal: bool,
) -> Result<(Vec<Transfer>, u64), SourceError> {
    let block = found.block;
    let request = ScanRequest {
        blocks: BlockRange::one(block).into(),
        filter: TransferFilter::with_internal(internal),
        with_times: true,
        with_hashes: true,
        ..ScanRequest::default()
    };
    let mut transfers = Vec::new();
    let report = server.scan(&request, &mut |mut batch| {
        transfers.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    if report.last_block_hash != Some(found.block_hash) {
        return Err(SourceError::Reorged { block });
    }
    transfers.retain(|it: &Transfer| it.transaction_hash == Some(found.hash));
    let time = transfers.iter().find_map(|it| it.block_timestamp);
    let time = match time {
        Some(time) => time.seconds(),
        None => server.node().block_time(block)?,
    };
    Ok((transfers, time))
}
