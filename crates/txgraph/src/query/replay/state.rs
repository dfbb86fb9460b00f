//! Accounts and storage at the end of a block.

use crate::{Capability, Result, Source};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use serde::Serialize;
use txgraph_state::{StateAt, StateRange};
use txgraph_transfers::BlockRange;

/// An account at the end of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountState {
    /// Its address.
    pub address: Address,
    /// Whether the state contains it. One that does not exist is empty.
    pub exists: bool,
    /// Its balance of the native coin, in wei.
    pub balance: U256,
    /// The number of transactions that it sent, or of contracts that it created.
    pub nonce: u64,
    /// Keccak-256 of its code; the hash of no bytes for accounts without code.
    pub code_hash: B256,
}

/// A slot at the end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// Its value; zero if it was never written.
    pub value: U256,
    /// Why the value may be wrong, if it may be.
    pub caveat: Option<String>,
}

/// The state at the end of a block. See [`Source::with_state`].
#[derive(Debug)]
pub struct BlockState<'a> {
    pub(super) state: StateAt<'a>,
    pub(super) block: u64,
}

impl Source {
    /// Answers queries about the state at the end of a block; default: the newest with a state.
    ///
    /// # Errors
    ///
    /// If the source has no such state, and the error of `ask`.
    pub fn with_state<T>(
        &self,
        block: Option<u64>,
        ask: impl FnOnce(&BlockState<'_>) -> Result<T>,
    ) -> Result<T> {
        let states = self.node(Capability::State)?.state()?;
        let block = match block {
            Some(block) => block,
            None => super::newest(&states)?,
        };
        // A range is prepared in every layout; a single old block needs the node's own indices.
        let range = states.range(BlockRange::one(block))?;
        let range = range.checked();
        let state = range.at(block)?;
        ask(&BlockState { state, block })
    }

    /// An account at the end of a block, by the node's own index. Without one the account is missing, unless
    /// the block is the newest: the changes of later blocks are not read.
    ///
    /// # Errors
    ///
    /// If the source has no such state, or no index.
    pub fn indexed_account(&self, block: u64, address: Address) -> Result<AccountState> {
        let states = self.node(Capability::State)?.state()?;
        let state = states.at(block)?;
        BlockState { state, block }.account(address)
    }

    /// The balances of addresses in tokens, or in the native coin (`None`), at the end of a block;
    /// default: the newest with a state. Returns the block and the balances in the order asked; `None`
    /// for a token that does not answer `balanceOf`.
    ///
    /// # Errors
    ///
    /// If the source has no such state, or it cannot be read.
    pub fn balances(
        &self,
        block: Option<u64>,
        wanted: &[(Address, Option<Address>)],
    ) -> Result<(u64, Vec<Option<U256>>)> {
        let wanted = wanted.iter();
        let wanted = wanted.map(|(holder, token)| (*holder, *token, None));
        self.item_balances(block, &wanted.collect::<Vec<_>>())
    }

    /// The same, of ERC-1155 with an id. All are of one state, which is prepared once.
    pub(crate) fn item_balances(
        &self,
        block: Option<u64>,
        wanted: &[(Address, Option<Address>, Option<U256>)],
    ) -> Result<(u64, Vec<Option<U256>>)> {
        let tokens = wanted.iter();
        let tokens = tokens.filter_map(|(holder, token, id)| Some(((*token)?, *holder, *id)));
        let tokens: Vec<_> = tokens.collect();
        let coins = wanted.iter().filter(|(_, token, _)| token.is_none());
        let node = self.node(Capability::State)?;
        let rules = node.rules_for_calls()?;
        let (block, (tokens, coins)) = node.at_end_with(rules, block, |replayer, block| {
            let tokens = match tokens.is_empty() {
                true => Vec::new(),
                false => replayer.token_balances(tokens, block)?,
            };
            let holders = coins.map(|(holder, ..)| *holder);
            Ok((tokens, coin_balances(replayer.history(), block, holders)))
        })?;
        let (mut tokens, mut coins) = (tokens.into_iter(), coins?.into_iter());
        let balances = wanted.iter().map(|(_, token, _)| match token {
            Some(_) => tokens.next().flatten(),
            None => coins.next(),
        });
        Ok((block, balances.collect()))
    }
}

fn coin_balances(
    states: &StateRange<'_>,
    block: u64,
    holders: impl Iterator<Item = Address>,
) -> txgraph_state::Result<Vec<U256>> {
    let state = states.at(block)?;
    let balance = |holder| Ok(state.account(holder)?.unwrap_or_default().balance);
    holders.map(balance).collect()
}

impl BlockState<'_> {
    /// The number of the block.
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// An account.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    pub fn account(&self, address: Address) -> Result<AccountState> {
        let account = self.state.account(address)?;
        let exists = account.is_some();
        let account = account.unwrap_or_default();
        Ok(AccountState {
            address,
            exists,
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
        })
    }

    /// The code of an account; empty if it has none.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    pub fn code(&self, address: Address) -> Result<Bytes> {
        match self.account(address)?.code_hash {
            KECCAK256_EMPTY => Ok(Bytes::new()),
            hash => Ok(self.state.code(hash)?),
        }
    }

    /// A slot of an account.
    ///
    /// Where the node may have stored a wrong value, the block that wrote the slot is executed.
    /// If that is not possible, the result says so.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    pub fn storage(&self, address: Address, slot: U256) -> Result<SlotState> {
        match self.state.storage(address, slot.into()) {
            Ok(value) => Ok(SlotState {
                value,
                caveat: None,
            }),
            Err(unsure @ txgraph_state::Error::UnsureSlot { .. }) => Ok(SlotState {
                value: U256::ZERO,
                caveat: Some(unsure.to_string()),
            }),
            Err(error) => Err(error.into()),
        }
    }
}
