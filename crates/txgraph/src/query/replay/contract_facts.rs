//! Facts about a contract: a proxy, a token, a pair of tokens, an account of several owners.

use super::TokenNames;
use crate::{Capability, Result, Source};
use alloy_primitives::{Address, B256, Bytes, U256, b256, keccak256};
use txgraph_evm::{Message, Outcome};
use txgraph_replay::query;

/// The slot with the address of the implementation of a proxy: `eip1967.proxy.implementation`
/// (ERC-1967).
const IMPLEMENTATION: B256 =
    b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");

/// The slot with the contract that names the implementation: `eip1967.proxy.beacon` (ERC-1967).
const BEACON: B256 = b256!("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50");

/// The code of a minimal proxy before and after the address of its implementation (ERC-1167).
const MINIMAL_PROXY: (&[u8], &[u8]) = (
    &[0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73],
    &[
        0x5a, 0xf4, 0x3d, 0x82, 0x80, 0x3e, 0x90, 0x3d, 0x91, 0x60, 0x2b, 0x57, 0xfd, 0x5b, 0xf3,
    ],
);

/// The most owners that are read.
const OWNERS_MAX: usize = 100;

/// Facts about a contract, as far as its code, its storage and its own answers say. The answers are
/// claims of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContractFacts {
    /// The contract whose code a proxy executes (ERC-1167, ERC-1967).
    pub implementation: Option<Address>,
    /// Its name, symbol and decimals.
    pub names: TokenNames,
    /// `totalSupply()`, in the smallest unit.
    pub total_supply: Option<U256>,
    /// `token0()` and `token1()`, which a pool of two tokens answers.
    pub pair: Option<(Address, Address)>,
    /// `owner()`, unless it is the zero address.
    pub owner: Option<Address>,
    /// `getOwners()` and `getThreshold()` of an account that several owners sign for (Safe).
    pub signers: Option<(Vec<Address>, U256)>,
}

impl ContractFacts {
    /// The tokens that these facts about `contract` name: itself, if it is a token, and both tokens of a
    /// pool.
    pub fn tokens(&self, contract: Address) -> impl Iterator<Item = Address> {
        let itself = self.total_supply.map(|_| contract);
        let pool = self.pair.into_iter().flat_map(|(one, other)| [one, other]);
        itself.into_iter().chain(pool)
    }
}

impl Source {
    /// Asks what a contract is, at the end of a block.
    ///
    /// # Errors
    ///
    /// If the source has no such state, or it cannot be read.
    pub fn contract_facts(&self, contract: Address, block: u64) -> Result<ContractFacts> {
        let implementation = self.with_state(Some(block), |state| {
            if let Some(target) = minimal_proxy(&state.code(contract)?) {
                return Ok((Some(target), None));
            }
            let address_at = |slot: B256| -> Result<_> {
                Ok(word_address(state.storage(contract, slot.into())?.value))
            };
            Ok((address_at(IMPLEMENTATION)?, address_at(BEACON)?))
        });
        let (implementation, beacon) = implementation?;
        let node = self.node(Capability::State)?;
        let rules = node.rules_for_calls()?;
        let queries = [
            (contract, "totalSupply()"),
            (contract, "token0()"),
            (contract, "token1()"),
            (contract, "owner()"),
            (contract, "getThreshold()"),
            (contract, "getOwners()"),
            (beacon.unwrap_or_default(), "implementation()"),
        ];
        let (_, (answers, names)) = node.at_end_with(rules, Some(block), |replayer, block| {
            let calls = queries.map(|(to, function)| call(to, function));
            let names = replayer.token_metadata(&[contract], block)?;
            Ok((replayer.static_calls(calls, block)?, names))
        })?;
        let [supply, token0, token1, owner, threshold, owners, of_beacon] = &*answers else {
            return Ok(ContractFacts::default());
        };
        let names = names.into_iter().next().unwrap_or_default();
        let address = |answer| word(answer).and_then(word_address);
        let of_beacon = beacon.and_then(|_| address(of_beacon));
        Ok(ContractFacts {
            implementation: implementation.or(of_beacon),
            names: TokenNames {
                name: names.name,
                symbol: names.symbol,
                decimals: names.decimals,
            },
            total_supply: word(supply),
            pair: address(token0).zip(address(token1)),
            owner: address(owner),
            signers: addresses(owners).zip(word(threshold)),
        })
    }
}

/// A call of a function without arguments.
fn call(to: Address, function: &str) -> Message {
    let selector = keccak256(function);
    let selector = selector.get(..4).unwrap_or_default();
    query(to, Bytes::copy_from_slice(selector))
}

/// The implementation of a minimal proxy.
fn minimal_proxy(code: &[u8]) -> Option<Address> {
    let (before, after) = MINIMAL_PROXY;
    let target = code.strip_prefix(before)?.strip_suffix(after)?;
    Address::try_from(target).ok()
}

/// The word that a call returned, if it succeeded and returned one word.
fn word(outcome: &Outcome) -> Option<U256> {
    let is_word = outcome.is_success() && outcome.output.len() == 32;
    is_word.then(|| U256::from_be_slice(&outcome.output))
}

/// The address in a word; `None` for zero, and if other bits are set.
fn word_address(word: U256) -> Option<Address> {
    let bytes = word.to_be_bytes::<32>();
    let (zeros, address) = bytes.split_at(12);
    let is_address = zeros.iter().all(|byte| *byte == 0) && !word.is_zero();
    is_address.then(|| Address::from_slice(address))
}

/// The addresses of a returned array.
fn addresses(outcome: &Outcome) -> Option<Vec<Address>> {
    if !outcome.is_success() {
        return None;
    }
    let words: Vec<U256> = outcome
        .output
        .chunks_exact(32)
        .map(U256::from_be_slice)
        .collect();
    let (offset, rest) = words.split_first()?;
    let (length, items) = rest.split_first()?;
    let is_array = *offset == U256::from(32) && *length == U256::from(items.len());
    let is_short = !items.is_empty() && items.len() <= OWNERS_MAX;
    (is_array && is_short).then(|| items.iter().copied().map(word_address).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(output: &[U256]) -> Outcome {
        let words: Vec<u8> = output.iter().flat_map(U256::to_be_bytes::<32>).collect();
        Outcome {
            status: txgraph_evm::Status::Success,
            gas_used: 0,
            gas_refunded: 0,
            block_gas: Default::default(),
            logs: Vec::new(),
            output: words.into(),
            created: None,
        }
    }

    #[test]
    fn slots_are_those_of_erc_1967() {
        for (slot, name) in [
            (IMPLEMENTATION, "eip1967.proxy.implementation"),
            (BEACON, "eip1967.proxy.beacon"),
        ] {
            let word = U256::from_be_bytes(keccak256(name).0) - U256::ONE;
            assert_eq!(slot, B256::from(word));
        }
    }

    #[test]
    fn minimal_proxies_are_recognized() {
        let target = Address::repeat_byte(0xbe);
        let (before, after) = MINIMAL_PROXY;
        let code = [before, target.as_slice(), after].concat();
        assert_eq!(minimal_proxy(&code), Some(target));
        assert_eq!(minimal_proxy(&code[1..]), None);
        assert_eq!(minimal_proxy(&[before, after].concat()), None);
    }

    #[test]
    fn only_exact_answers_count() {
        let one = U256::ONE;
        assert_eq!(word(&returned(&[one])), Some(one));
        assert_eq!(word(&returned(&[])), None);
        assert_eq!(word(&returned(&[one, one])), None);
        assert_eq!(word_address(U256::ZERO), None);
        assert_eq!(word_address(U256::MAX), None);
        let list = |words: &[u64]| {
            let words: Vec<U256> = words.iter().copied().map(U256::from).collect();
            addresses(&returned(&words))
        };
        let [a, b] = [1, 2].map(Address::with_last_byte);
        assert_eq!(list(&[32, 2, 1, 2]), Some(vec![a, b]));
        for wrong in [
            &[32, 2, 1][..],
            &[64, 2, 1, 2],
            &[32, 2, 1, 0],
            &[32, 0],
            &[32],
            &[],
        ] {
            assert_eq!(list(wrong), None, "{wrong:?}");
        }
    }
}
