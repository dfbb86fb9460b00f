//! Transactions above the newest block in a data directory, from the server of its node.

use super::{TransactionName, TransactionSummary, missing};
use crate::{Result, Source, source::NodeWithHead};
use std::ops::ControlFlow;
use txgraph_rpc::FoundTransaction;
use txgraph_transfers::{
    BlockRange, ScanRequest, SourceError, Transfer, TransferFilter, TransferSource, WrappedNative,
};

/// Where a transaction is.
pub(super) enum Found<'s> {
    /// Above the stored blocks.
    Above(&'s NodeWithHead, Box<FoundTransaction>),
    /// In the stored blocks, if at all; by its position, if the server knows it.
    Stored(TransactionName),
}

/// Asks the server of the head for a transaction. Without one, all transactions are stored.
pub(super) fn find(source: &Source, name: TransactionName) -> Result<Found<'_>> {
    let Some(head) = source.backend().head() else {
        return Ok(Found::Stored(name));
    };
    let stored_tip = head.stored_tip()?;
    let hash = match name {
        TransactionName::Hash(hash) => hash,
        TransactionName::Position { block, .. } if block <= stored_tip => {
            return Ok(Found::Stored(name));
        }
        TransactionName::Position { block, index } => {
            let tip = head.rpc().refresh()?;
            if block > tip {
                return Err(missing(format!(
                    "block {block} is above the head, block {tip}"
                )));
            }
            let hash = head.rpc().transaction_hash(block, index)?;
            hash.ok_or_else(|| missing(format!("block {block} has no transaction {index}")))?
        }
    };
    let found = head.rpc().transactions(&[hash])?.pop().flatten();
    Ok(match found {
        Some(found) if found.block > stored_tip => Found::Above(head, Box::new(found)),
        // The files are asked at this place, where the hash is compared.
        Some(found) => Found::Stored(at(source, &found)?),
        None => Found::Stored(name),
    })
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

/// What the server knows of a transaction. Its transfers inside are in traces, if it has them.
pub(super) fn summary(head: &NodeWithHead, found: FoundTransaction) -> Result<TransactionSummary> {
    let block = found.block;
    let (transfers, timestamp, without_internal) = match read(head, &found, true) {
        Ok((transfers, time)) => (transfers, time, None),
        Err(SourceError::Unsupported { reason, .. }) => {
            let (transfers, time) = read(head, &found, false)?;
            (transfers, time, Some(reason.to_owned()))
        }
        Err(error) => return Err(error.into()),
    };
    let success = found.success.ok_or_else(|| {
        missing(format!(
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
        // Nothing is left of what a failed transaction moved.
        without_internal: without_internal.filter(|_| success),
    })
}

/// The transfers of a transaction, and the time of its block in seconds since 1970.
fn read(
    head: &NodeWithHead,
    found: &FoundTransaction,
    internal: bool,
) -> Result<(Vec<Transfer>, u64), SourceError> {
    let block = found.block;
    let request = ScanRequest {
        blocks: BlockRange::one(block).into(),
        filter: TransferFilter {
            internal,
            ..TransferFilter::default()
        },
        wrapped_native: WrappedNative::Auto,
        with_times: true,
        with_hashes: true,
        allow_partial: false,
    };
    let mut transfers = Vec::new();
    let report = head.server().scan(&request, &mut |mut batch| {
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
        None => head.rpc().block_time(block)?,
    };
    Ok((transfers, time))
}
