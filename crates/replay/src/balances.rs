//! Who has more, and who less, after a transaction: by token, from its logs, and in the
//! native coin.

use crate::TransactionReplay;
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, sync::LazyLock};
use txgraph_transfers::{Decoder, LogView, Transfer, TransferFilter, WrappedNative};

/// Every transfer is of interest.
static EVERYTHING: LazyLock<TransferFilter> = LazyLock::new(TransferFilter::default);

/// What a transaction did to one balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceChange {
    /// The contract; `None`: the native coin.
    pub token: Option<Address>,
    /// ERC-721 and ERC-1155.
    pub token_id: Option<U256>,
    /// Whose balance.
    pub holder: Address,
    /// What came in.
    pub received: U256,
    /// What went out.
    pub sent: U256,
}

impl BalanceChange {
    /// Whether as much went out as came in.
    pub fn is_even(&self) -> bool {
        self.received == self.sent
    }
}

/// Counts balances by the rules of one chain: which of its contracts are wrapped coins.
#[derive(Debug)]
pub struct BalanceCounter {
    decoder: Decoder<'static>,
}

type Key = (Option<Address>, Option<U256>, Address);

impl BalanceCounter {
    /// For a chain.
    pub fn new(chain_id: u64, wrapped: &WrappedNative) -> Self {
        Self {
            decoder: Decoder::new(chain_id, wrapped, &EVERYTHING),
        }
    }

    /// What a transaction did to balances, by token, id and holder. Of tokens: what their
    /// logs say moved, minted and burned ones with the zero address as the other side. Of
    /// the native coin: the balances themselves, fees and all, for which
    /// [`Record::transitions`](crate::Record) is needed.
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
        let logs = &replay.outcome.logs;
        let topics: Vec<Vec<[u8; 32]>> = logs
            .iter()
            .map(|log| log.topics().iter().map(|topic| topic.0).collect())
            .collect();
        let views = logs.iter().zip(&topics).map(|(log, topics)| LogView {
            address: &log.address,
            topics,
            data: &log.data.data,
        });
        let mut transfers = Vec::new();
        self.decoder.begin_block(replay.block, 0);
        (self.decoder).transaction(replay.index, None, views, &mut transfers);
        transfers
    }
}
