//! Known answers about the state of an executed chain, while it grows.

use super::state::State;
use crate::{Account, Draw, ExecutedBlock};
use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Changed keys that are asked for again in later blocks: the keys of some dozens of blocks, so
/// that answers depend on what hashed state leaves out.
const KEYS_KEPT: usize = 8_000;
/// Changed accounts and slots of a block that are kept.
const KEYS_PER_BLOCK: usize = 40;

/// The state of an account, and one slot of it, after a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The account.
    pub address: Address,
    /// Nonce, balance in wei and code hash; `None` if the account does not exist.
    pub account: Option<(u64, U256, Option<B256>)>,
    /// A slot.
    pub slot: B256,
    /// Its value.
    pub value: U256,
}

/// Draws queries about keys that changed lately.
#[derive(Debug)]
pub(super) struct Asker {
    draw: Draw,
    per_block: u64,
    keys: VecDeque<(Address, B256)>,
}

impl Asker {
    pub(super) fn new(seed: u64, per_block: u64) -> Self {
        Self {
            draw: Draw::new(seed, "answers", &[]),
            per_block,
            keys: VecDeque::new(),
        }
    }

    /// Returns answers about the state after a block, which is the current one.
    pub(super) fn ask(&mut self, state: &State, block: &ExecutedBlock) -> Vec<Answer> {
        if self.per_block == 0 {
            return Vec::new();
        }
        let accounts = block.accounts.keys().map(|address| (*address, B256::ZERO));
        let slots = block.slots.keys().copied();
        let (accounts, slots): (Vec<_>, Vec<_>) = (accounts.collect(), slots.collect());
        for changed in [accounts, slots] {
            let count = changed.len().min(KEYS_PER_BLOCK);
            for _ in 0..count {
                self.keys.push_back(changed[self.draw.index(changed.len())]);
            }
        }
        let old = self.keys.len().saturating_sub(KEYS_KEPT);
        self.keys.drain(..old);
        if self.keys.is_empty() {
            return Vec::new();
        }
        let answers = (0..self.per_block).map(|_| {
            let (address, slot) = self.keys[self.draw.index(self.keys.len())];
            let account = state
                .account(address)
                .map(|it: Account| (it.nonce, it.balance, it.code_hash));
            Answer {
                address,
                account,
                slot,
                value: state.slot(address, slot.into()),
            }
        });
        answers.collect()
    }
}
