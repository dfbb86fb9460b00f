//! Balance changes of a transaction: of tokens from its logs, and of the native coin.

use crate::{TransactionReplay, transaction_transfers::transaction_transfers};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, sync::LazyLock};
use txgraph_transfers::{Decoder, Transfer, TransferFilter, WrappedNative};

/// Accepts every transfer.
static EVERYTHING: LazyLock<TransferFilter> = LazyLock::new(TransferFilter::default);

/// The change of one balance by a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceChange {
    /// The contract; `None`: the native coin.
    pub token: Option<Address>,
    /// The id of an ERC-721 or ERC-1155 token.
    pub token_id: Option<U256>,
    /// The owner of the balance.
    pub holder: Address,
    /// The sum of incoming amounts.
    pub received: U256,
    /// The sum of outgoing amounts.
    pub sent: U256,
}

/// Sums the balance changes of transactions of one chain.
#[derive(Debug)]
pub struct BalanceCounter {
    decoder: Decoder<'static>,
}

type Key = (Option<Address>, Option<U256>, Address);

impl BalanceCounter {
    /// A counter for a chain. `wrapped` selects the contracts whose deposits and withdrawals are
    /// transfers.
    pub fn new(chain_id: u64, wrapped: &WrappedNative) -> Self {
        Self {
            decoder: Decoder::new(chain_id, wrapped, &EVERYTHING),
        }
    }

    /// Returns the balance changes of a transaction, by token, id and holder.
    ///
    /// Tokens are counted by their logs; the zero address is the counterparty of mints and
    /// burns. Changes of the native coin come from the account balances, fees included, and
    /// need [`Record::transitions`](crate::Record).
    pub fn count(&mut self, replay: &TransactionReplay) -> Vec<BalanceChange> {
        let mut balances: BTreeMap<Key, (U256, U256)> = BTreeMap::new();
        for transition in &replay.transitions {
            let before = transition.before.unwrap_or_default().balance;
            let after = transition.after.unwrap_or_default().balance;
            let change = (after.saturating_sub(before), before.saturating_sub(after));
            if before != after {
                balances.insert((None, None, transition.address), change);
            }
        }
        for transfer in self.transfers(replay) {
            let key = |holder| (transfer.token_address, transfer.token_id, holder);
            let received = &mut balances.entry(key(transfer.to_address)).or_default().0;
            *received = received.saturating_add(transfer.value);
            let sent = &mut balances.entry(key(transfer.from_address)).or_default().1;
            *sent = sent.saturating_add(transfer.value);
        }
        let changes = balances.into_iter();
        changes
            .map(
                |((token, token_id, holder), (received, sent))| BalanceChange {
                    token,
                    token_id,
                    holder,
                    received,
                    sent,
                },
            )
            .collect()
    }

    fn transfers(&mut self, replay: &TransactionReplay) -> Vec<Transfer> {
        self.decoder.begin_block(replay.block, None);
        transaction_transfers(
            &mut self.decoder,
            replay.index,
            None,
            &replay.outcome.logs,
            0,
        )
    }
}
