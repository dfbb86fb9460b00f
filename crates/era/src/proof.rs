//! Compares what was read of a block with its header.

use crate::{body::Body, error::Malformed, header::Header, receipts::Receipts};
use txgraph_stored::BloomHashes;

/// Checks that receipts have the root in the header.
pub(crate) fn receipts(
    header: &Header,
    receipts: &Receipts,
    rlp: &[u8],
    hashes: &mut BloomHashes,
) -> Result<(), Malformed> {
    match receipts.root(rlp, hashes) == header.receipts_root {
        true => Ok(()),
        false => Err("the receipts do not have the header's receipts root"),
    }
}

/// Checks that transactions, ommers and withdrawals have the hashes in the header.
pub(crate) fn body(header: &Header, body: &Body, rlp: &[u8]) -> Result<(), Malformed> {
    if body.transactions_root(rlp) != header.transactions_root {
        return Err("the transactions do not have the header's transactions root");
    }
    if body.ommers_hash(rlp) != header.ommers_hash {
        return Err("the ommers do not have the header's ommers hash");
    }
    if body.withdrawals_root(rlp) != header.withdrawals_root {
        return Err("the withdrawals do not have the header's withdrawals root");
    }
    Ok(())
}
