//! Facts that all blocks of a chain share.

use super::{Error, FirstAccount, config::Config, contracts::Contracts, signers::Population};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use std::collections::BTreeMap;

/// Code of every contract: it stops.
const CONTRACT_CODE: [u8; 1] = [0x00];

/// The constant part of a chain.
#[derive(Debug)]
pub(super) struct World {
    pub(super) config: Config,
    pub(super) population: Population,
    pub(super) contracts: Contracts,
    pub(super) contract_code_hash: B256,
    /// Code of accounts that delegate (EIP-7702).
    pub(super) delegation: Bytes,
    pub(super) delegation_hash: B256,
    /// Init code of creations, which returns [`CONTRACT_CODE`].
    pub(super) init_code: Bytes,
}

impl World {
    pub(super) fn new(config: Config) -> Result<Self, Error> {
        if let Some(problem) = config.problem() {
            return Err(Error::Config(problem));
        }
        let contracts = Contracts::new(config.seed, config.tokens);
        let mut delegation = vec![0xef, 0x01, 0x00];
        delegation.extend(contracts.wallet_code);
        Ok(Self {
            population: Population::new(config.seed, config.sends_per_round, config.txs_per_block),
            contracts,
            contract_code_hash: keccak256(CONTRACT_CODE),
            delegation_hash: keccak256(&delegation),
            delegation: delegation.into(),
            // PUSH1 1, PUSH1 0, RETURN (memory is zero), and some metadata.
            init_code: Bytes::from_static(
                b"\x60\x01\x60\x00\xf3 sample contract of a sample chain",
            ),
            config,
        })
    }

    /// Returns the accounts of the genesis block.
    pub(super) fn genesis_accounts(&self) -> BTreeMap<Address, FirstAccount> {
        let coins = |count: u64| U256::from(count) * U256::from(10).pow(U256::from(18));
        let account = |balance, code: &'static [u8]| FirstAccount {
            balance,
            code: Bytes::from_static(code),
            ..FirstAccount::default()
        };
        let signers = self.population.signers().iter();
        let signers = signers.map(|signer| (signer.address, account(coins(1_000_000), &[])));
        // The wrapped coin and the router pay out more than they receive.
        let rich = [self.contracts.wrapped().address, self.contracts.router];
        let contracts = self.contracts.all().into_iter().map(|address| {
            let balance = match rich.contains(&address) {
                true => coins(1_000_000_000_000),
                false => U256::ZERO,
            };
            (address, account(balance, &CONTRACT_CODE))
        });
        signers.chain(contracts).collect()
    }
}
