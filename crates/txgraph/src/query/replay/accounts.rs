//! Which accounts have code.

use crate::{Capability, Result, Source, query::branch_ends};
use alloy_primitives::{Address, KECCAK256_EMPTY};
use txgraph_evm::{Account, delegate};
use txgraph_state::StateAt;

impl Source {
    /// The block whose state answers what a query asks beside its transfers, which end with
    /// `last`: that block, or the newest with a state if it is later. `None` if the source cannot
    /// look up accounts after it.
    pub(in crate::query) fn state_block(&self, last: u64) -> Option<u64> {
        let node = self.node(Capability::State).ok()?;
        let available = node.state().and_then(|states| Ok(states.available()?));
        let available = available.ok()?;
        let blocks = available.blocks?;
        let block = last.min(blocks.last);
        let is_indexed = block >= available.indexed_from || block == blocks.last;
        (blocks.contains(block) && is_indexed).then_some(block)
    }

    /// The contracts among some addresses, at the end of a block; default: the newest with a
    /// state. `None` if the source has no such state. Accounts that delegate to a contract
    /// (EIP-7702) and precompiled contracts are not counted as contracts.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    pub fn contracts_among(
        &self,
        addresses: &[Address],
        block: Option<u64>,
    ) -> Result<Option<Vec<Address>>> {
        let Some(accounts) = self.accounts_among(addresses, block)? else {
            return Ok(None);
        };
        let contracts = accounts.into_iter().filter(|account| account.is_contract);
        Ok(Some(contracts.map(|account| account.address).collect()))
    }

    /// The accounts with these addresses, as [`Self::contracts_among`].
    pub(in crate::query) fn accounts_among(
        &self,
        addresses: &[Address],
        block: Option<u64>,
    ) -> Result<Option<Vec<branch_ends::Account>>> {
        let Ok(node) = self.node(Capability::State) else {
            return Ok(None);
        };
        let Ok(states) = node.state() else {
            return Ok(None);
        };
        let block = match block {
            Some(block) => block,
            None => match states.available()?.blocks {
                Some(blocks) => blocks.last,
                None => return Ok(None),
            },
        };
        // Without an index, only the state at the tip can be looked up.
        let Ok(state) = states.at(block) else {
            return Ok(None);
        };
        let mut accounts = Vec::with_capacity(addresses.len());
        for (number, address) in addresses.iter().enumerate() {
            if number % 1_000 == 999 {
                self.check_interrupted()?;
            }
            let account = state.account(*address)?;
            accounts.push(branch_ends::Account {
                address: *address,
                exists: account.is_some(),
                is_contract: match &account {
                    Some(account) => is_contract(&state, account)?,
                    None => false,
                },
            });
        }
        Ok(Some(accounts))
    }

    /// Whether the database is a sample chain, whose blocks may never have been executed.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn is_sample_chain(&self) -> Result<bool> {
        if self.node(Capability::Info).is_err() {
            return Ok(false);
        }
        let writers = self.info()?.written_by;
        let sample = |version: &str| version.ends_with("-chaingen");
        Ok(writers.iter().any(|writer| sample(&writer.version)))
    }
}

fn is_contract(state: &StateAt<'_>, account: &Account) -> Result<bool> {
    if account.code_hash == KECCAK256_EMPTY {
        return Ok(false);
    }
    Ok(delegate(&state.code(account.code_hash)?).is_none())
}
