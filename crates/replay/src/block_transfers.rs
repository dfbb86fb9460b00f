//! All transfers of a replayed block.

use crate::{BlockReplay, TransactionReplay, internal::collect, transaction_transfers};
use alloy_primitives::U256;
use txgraph_evm::Fork;
use txgraph_transfers::{
    BlockTime, Decoder, TransactionView, Transfer, TransferFilter, WithdrawalView, WrappedNative,
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
            // The decoder counts the logs of the block.
            transfers.extend(replay.logged_transfers(decoder, filter, 0));
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

impl TransactionReplay {
    /// All transfers of the transaction, in total order, without times: its value, its logs, and
    /// movements inside of it. The latter need [`Record::frames`](crate::Record).
    pub fn all_transfers(&self, chain_id: u64) -> Vec<Transfer> {
        let filter = TransferFilter::with_internal(true);
        let mut decoder = Decoder::new(chain_id, &WrappedNative::Auto, &filter);
        decoder.begin_block(self.block, None);
        let mut transfers = self.logged_transfers(&mut decoder, &filter, self.first_log);
        // Since Amsterdam, logs report them (EIP-7708).
        if self.fork < Fork::Amsterdam {
            let internal = self.internal_transfers(0).into_iter();
            transfers.extend(internal.map(|it| it.transfer));
        }
        transfers.sort_by_key(Transfer::position);
        transfers
    }

    /// The value and the logs. `first_log`: the logs of the block that the decoder has not seen.
    fn logged_transfers(
        &self,
        decoder: &mut Decoder<'_>,
        filter: &TransferFilter,
        first_log: u32,
    ) -> Vec<Transfer> {
        let (transaction, outcome) = (&self.transaction, &self.outcome);
        let created = || transaction.caller.create(transaction.nonce);
        let view = TransactionView {
            from: transaction.caller,
            to: transaction.to.unwrap_or_else(created),
            value: transaction.value,
            mint: U256::ZERO,
            success: outcome.is_success(),
        };
        let view = filter.needs_transactions().then_some(&view);
        let mut transfers =
            transaction_transfers(decoder, self.index, view, &outcome.logs, first_log);
        for transfer in &mut transfers {
            transfer.transaction_hash = Some(self.hash);
        }
        transfers
    }
}
