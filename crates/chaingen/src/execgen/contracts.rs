//! The contracts of a chain: sources, addresses, and initial state.

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

/// Number of tokens. The last one is behind a proxy.
const TOKENS: u64 = 6;
/// The slot in which a proxy stores the address of its implementation (EIP-1967).
const PROXY_SLOT: B256 = b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
/// Initial tokens of each holder, in units.
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

/// Contracts of which there is one, without initial state.
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

/// The addresses of all contracts.
#[derive(Clone, Debug)]
pub(crate) struct Contracts {
    pub(crate) tokens: Vec<Address>,
    /// Each pool swaps a token for the next one.
    pub(crate) pairs: Vec<Address>,
    /// Each forwarder sends to the next, the last one to a stranger.
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

/// Returns an address without a known key.
pub(crate) fn place(what: &str, number: u64) -> Address {
    let bytes = [what.as_bytes(), &number.to_be_bytes()].concat();
    Address::from_word(keccak256(bytes))
}

fn assemble((name, source): (&'static str, &str)) -> Result<Bytes, Error> {
    let code = asm::assemble(source);
    let code = code.map_err(|source| Error::Contract { name, source })?;
    Ok(code.into())
}

/// Returns the slot of an address in the mapping at slot `at`.
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

    /// Returns the accounts of block 0. `holders` own all tokens and allow all pools to
    /// spend them.
    pub(crate) fn accounts(
        &self,
        holders: &[Address],
    ) -> Result<BTreeMap<Address, FirstAccount>, Error> {
        let mut accounts = BTreeMap::new();
        for source in SINGLE {
            let account = contract(assemble(source)?, BTreeMap::new());
            accounts.insert(place(source.0, 0), account);
        }
        // Every failure inside the contract costs one wei.
        if let Some(fragile) = accounts.get_mut(&self.fragile) {
            fragile.balance = U256::from(PURSE);
        }
        let factory = [assemble(FACTORY)?, assemble(CHILD)?].concat();
        accounts.insert(self.factory, contract(factory.into(), BTreeMap::new()));
        self.add_tokens(&mut accounts, holders)?;
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
        holders: &[Address],
    ) -> Result<(), Error> {
        let code = assemble(TOKEN)?;
        let last = self.tokens.len() - 1;
        for (number, address) in self.tokens.iter().enumerate() {
            let mut storage: BTreeMap<B256, U256> = BTreeMap::new();
            for holder in holders.iter().chain(&self.pairs).chain([&self.batch]) {
                storage.insert(balance_slot(*holder), U256::from(PURSE));
            }
            for owner in holders.iter().chain([&self.batch]) {
                for spender in &self.pairs {
                    storage.insert(allowance_slot(*owner, *spender), U256::MAX);
                }
            }
            let supply = U256::from(PURSE) * U256::from(holders.len() + self.pairs.len() + 1);
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
        let accounts = contracts.accounts(&[place("holder", 0)]).unwrap();
        // Single contracts, tokens with an implementation, pools, forwarders, the
        // factory, and four system contracts.
        assert_eq!(accounts.len(), 8 + 7 + 5 + 4 + 1 + 4);
        assert!(accounts.values().all(|account| !account.code.is_empty()));
    }
}
