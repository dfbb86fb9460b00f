//! Who sends and receives transactions.

use txgraph_nodedb::{Block, Result, StoredTransaction};
use txgraph_transfers::{Participation, Roles};

/// Passes to `each` who takes part in the transactions of a block, apart from the calls inside of
/// them, in order: the sender, and the receiver or the contract that is created, whether the
/// transaction succeeds or not.
///
/// A deposit of the OP stack has its nonce in its receipt, so the contract that it creates is left
/// out.
pub fn transaction_ends(block: &mut Block<'_>, mut each: impl FnMut(Participation)) -> Result<()> {
    // Indices of transactions have 32 bits.
    for index in 0..u32::try_from(block.body.tx_count).unwrap_or(u32::MAX) {
        let sender = block.sender(index)?;
        let stored = block.stored_transaction(index)?;
        let other = match (stored.to(), &stored) {
            (Some(to), _) => Some((to, Roles::RECEIVER)),
            (None, StoredTransaction::Signed(_)) => {
                Some((sender.create(stored.nonce()), Roles::CREATED))
            }
            (None, _) => None,
        };
        for (address, roles) in [(sender, Roles::SENDER)].into_iter().chain(other) {
            each(Participation::new(block.number, index, address, roles));
        }
    }
    Ok(())
}
