//! All transfers of a replayed block.

use crate::{BlockReplay, internal::collect, transaction_transfers};
use alloy_primitives::U256;
use txgraph_evm::Fork;
use txgraph_transfers::{
    BlockTime, Decoder, TransactionView, Transfer, TransferFilter, WithdrawalView,
};

impl BlockReplay {
    /// The transfers that `filter` selects, in total order, with times and hashes: the values and logs of
    /// transactions, withdrawals, and movements inside of transactions. The decoder has the same filter.
    ///
    /// Movements inside of transactions need [`Record::frames`](crate::Record).
    pub fn transfers(
        &self,
        decoder: &mut Decoder<'_>,
        filter: &TransferFilter,
        withdrawals: impl Iterator<Item = WithdrawalView>,
    ) -> Vec<Transfer> {
        decoder.begin_block(self.number, BlockTime::new(self.timestamp));
        let mut transfers = Vec::new();
        for replay in &self.transactions {
            let (transaction, outcome) = (&replay.transaction, &replay.outcome);
            let created = || transaction.caller.create(transaction.nonce);
            let view = TransactionView {
                from: transaction.caller,
                to: transaction.to.unwrap_or_else(created),
                value: transaction.value,
                mint: U256::ZERO,
                success: outcome.is_success(),
            };
            let mut decoded = transaction_transfers(
                decoder,
                replay.index,
                filter.needs_transactions().then_some(&view),
                &outcome.logs,
                // The decoder counts the logs of the block.
                0,
            );
            for transfer in &mut decoded {
                transfer.transaction_hash = Some(replay.hash);
            }
            transfers.extend(decoded);
        }
        if filter.needs_withdrawals() {
            decoder.withdrawals(withdrawals, &mut transfers);
        }
        // Since Amsterdam, logs report what moves inside of transactions (EIP-7708).
        let is_logged = self.fork >= Fork::Amsterdam;
        let unlogged = TransferFilter {
            internal: filter.internal && !is_logged,
            ..filter.clone()
        };
        collect(self, &unlogged, &mut transfers);
        transfers.sort_by_key(Transfer::position);
        transfers
    }
}
