//! The contracts of a chain: sources, places, and the state they begin with.

use super::error::Error;
use crate::FirstAccount;
use alloy_eips::{
    eip2935::{HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE},
    eip4788::{BEACON_ROOTS_ADDRESS, BEACON_ROOTS_CODE},
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_PREDEPLOY_CODE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_CODE},
};
use alloy_primitives::{Address, B256, Bytes, U256, b256, keccak256};
use std::collections::BTreeMap;
use txgraph_evm_tools::asm;

/// Tokens; the last one stands behind a proxy.
const TOKENS: u64 = 6;
/// Where a proxy keeps whom it stands for (EIP-1967).
const PROXY_SLOT: B256 = b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
/// Tokens of everyone who has some at the start, in units.
const PURSE: u128 = 1 << 100;

/// Sources by name.
macro_rules! source {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../contracts/", $name, ".asm")),
        )
    };
}

const TOKEN: (&str, &str) = source!("token");
const PAIR: (&str, &str) = source!("pair");
const PROXY: (&str, &str) = source!("proxy");
const FORWARDER: (&str, &str) = source!("forwarder");
const FACTORY: (&str, &str) = source!("factory");
const CHILD: (&str, &str) = source!("child");

/// Those of which there is one, without state at the start.
const SINGLE: [(&str, &str); 8] = [
    source!("vault"),
    source!("splitter"),
    source!("hashing"),
    source!("compute"),
    source!("ledger"),
    source!("fragile"),
    source!("batch"),
    source!("guard"),
];

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Contracts {
    pub(crate) tokens: Vec<Address>,
    /// Each swaps a token for the next.
    pub(crate) pairs: Vec<Address>,
    /// Each sends to the next, the last to a stranger.
    pub(crate) forwarders: Vec<Address>,
    pub(crate) vault: Address,
    pub(crate) splitter: Address,
    pub(crate) hashing: Address,
    pub(crate) compute: Address,
    pub(crate) ledger: Address,
    pub(crate) fragile: Address,
    pub(crate) batch: Address,
    pub(crate) guard: Address,
    pub(crate) factory: Address,
}

/// An address without a known key.
pub(crate) fn place(what: &str, number: u64) -> Address {
    let bytes = [what.as_bytes(), &number.to_be_bytes()].concat();
    Address::from_word(keccak256(bytes))
}

fn assemble((name, source): (&'static str, &str)) -> Result<Bytes, Error> {
    let code = asm::assemble(source);
    let code = code.map_err(|source| Error::Contract { name, source })?;
    Ok(code.into())
}

/// Of a mapping at storage place `at`, the slot of an address.
fn mapped(address: Address, at: B256) -> B256 {
    keccak256([address.into_word(), at].concat())
}

fn balance_slot(holder: Address) -> B256 {
    mapped(holder, B256::ZERO)
}

fn allowance_slot(owner: Address, spender: Address) -> B256 {
    mapped(spender, mapped(owner, U256::ONE.into()))
}

impl Contracts {
    pub(crate) fn new() -> Self {
        let several = |what: &str, count| (0..count).map(|number| place(what, number)).collect();
        Self {
            tokens: several("token", TOKENS),
            pairs: several("pair", TOKENS - 1),
            forwarders: several("forwarder", 4),
            vault: place("vault", 0),
            splitter: place("splitter", 0),
            hashing: place("hashing", 0),
            compute: place("compute", 0),
            ledger: place("ledger", 0),
            fragile: place("fragile", 0),
            batch: place("batch", 0),
            guard: place("guard", 0),
            factory: place("factory", 0),
        }
    }

    /// Their accounts in block 0; `people` hold all tokens and let all pairs spend them.
    pub(crate) fn accounts(
        &self,
        people: &[Address],
    ) -> Result<BTreeMap<Address, FirstAccount>, Error> {
        let mut accounts = BTreeMap::new();
        for source in SINGLE {
            let account = contract(assemble(source)?, BTreeMap::new());
            accounts.insert(place(source.0, 0), account);
        }
        // Failing inside takes a wei each time.
        if let Some(fragile) = accounts.get_mut(&self.fragile) {
            fragile.balance = U256::from(PURSE);
        }
        let factory = [assemble(FACTORY)?, assemble(CHILD)?].concat();
        accounts.insert(self.factory, contract(factory.into(), BTreeMap::new()));
        self.add_tokens(&mut accounts, people)?;
        for (number, address) in self.pairs.iter().enumerate() {
            let reserve = U256::from(PURSE);
            let storage = [
                (0, self.tokens[number].into_word().into()),
                (1, self.tokens[number + 1].into_word().into()),
                (2, reserve),
                (3, reserve),
            ];
            let storage = storage
                .into_iter()
                .map(|(slot, value)| (U256::from(slot).into(), value));
            accounts.insert(*address, contract(assemble(PAIR)?, storage.collect()));
        }
        let last = place("end of the line", 0);
        let next = self.forwarders.iter().skip(1).chain([&last]);
        for (address, next) in self.forwarders.iter().zip(next) {
            let storage = BTreeMap::from([(B256::ZERO, next.into_word().into())]);
            accounts.insert(*address, contract(assemble(FORWARDER)?, storage));
        }
        for (address, code) in [
            (BEACON_ROOTS_ADDRESS, &BEACON_ROOTS_CODE),
            (HISTORY_STORAGE_ADDRESS, &HISTORY_STORAGE_CODE),
            (
                WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
                &WITHDRAWAL_REQUEST_PREDEPLOY_CODE,
            ),
            (
                CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
                &CONSOLIDATION_REQUEST_PREDEPLOY_CODE,
            ),
        ] {
            accounts.insert(address, contract((*code).clone(), BTreeMap::new()));
        }
        Ok(accounts)
    }

    fn add_tokens(
        &self,
        accounts: &mut BTreeMap<Address, FirstAccount>,
        people: &[Address],
    ) -> Result<(), Error> {
        let code = assemble(TOKEN)?;
        let last = self.tokens.len() - 1;
        for (number, address) in self.tokens.iter().enumerate() {
            let mut storage: BTreeMap<B256, U256> = BTreeMap::new();
            for holder in people.iter().chain(&self.pairs).chain([&self.batch]) {
                storage.insert(balance_slot(*holder), U256::from(PURSE));
            }
            for owner in people.iter().chain([&self.batch]) {
                for spender in &self.pairs {
                    storage.insert(allowance_slot(*owner, *spender), U256::MAX);
                }
            }
            let supply = U256::from(PURSE) * U256::from(people.len() + self.pairs.len() + 1);
            storage.insert(U256::from(2).into(), supply);
            let code = if number == last {
                let behind = place("implementation", 0);
                accounts.insert(behind, contract(code.clone(), BTreeMap::new()));
                storage.insert(PROXY_SLOT, behind.into_word().into());
                assemble(PROXY)?
            } else {
                code.clone()
            };
            accounts.insert(*address, contract(code, storage));
        }
        Ok(())
    }
}

fn contract(code: Bytes, storage: BTreeMap<B256, U256>) -> FirstAccount {
    FirstAccount {
        balance: U256::ZERO,
        nonce: 1,
        code,
        storage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sources_assemble() {
        let contracts = Contracts::new();
        let accounts = contracts.accounts(&[place("somebody", 0)]).unwrap();
        // Single ones, tokens with an implementation, pairs, forwarders, the factory, and
        // four of the protocol.
        assert_eq!(accounts.len(), 8 + 7 + 5 + 4 + 1 + 4);
        assert!(accounts.values().all(|account| !account.code.is_empty()));
    }
}
