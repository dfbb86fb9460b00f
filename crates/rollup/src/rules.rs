//! Selects the formulas by time.

use crate::{Error, Result};
use alloy_primitives::{B256, U256};
use txgraph_base::{FeeDates, KnownChain};

/// Forks that change fees. The known chains have the rules of Regolith from their first block
/// on, so the formula of Bedrock is that since Regolith.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fork {
    Bedrock,
    Ecotone,
    Fjord,
    Isthmus,
    Jovian,
}

impl Fork {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bedrock => "Bedrock",
            Self::Ecotone => "Ecotone",
            Self::Fjord => "Fjord",
            Self::Isthmus => "Isthmus",
            Self::Jovian => "Jovian",
        }
    }
}

/// The fork dates of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeRules(pub(crate) FeeDates);

impl FeeRules {
    /// Returns the rules of a chain.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownChain`] if the dates are not known, or if the genesis block does not belong
    /// to the chain with this ID.
    pub fn of_chain(chain_id: u64, genesis_hash: B256) -> Result<Self> {
        KnownChain::by_id(chain_id)
            .filter(|chain| chain.genesis_hash.is_none_or(|known| known == genesis_hash))
            .and_then(|chain| chain.fees)
            .map(Self)
            .ok_or(Error::UnknownChain {
                chain_id,
                genesis_hash,
            })
    }

    /// The fork of a block, and the time at which it began.
    pub(crate) const fn fork(&self, timestamp: u64) -> (Fork, u64) {
        let FeeDates {
            ecotone,
            fjord,
            isthmus,
            jovian,
        } = self.0;
        match timestamp {
            time if time >= jovian => (Fork::Jovian, jovian),
            time if time >= isthmus => (Fork::Isthmus, isthmus),
            time if time >= fjord => (Fork::Fjord, fjord),
            time if time >= ecotone => (Fork::Ecotone, ecotone),
            _ => (Fork::Bedrock, 0),
        }
    }

    /// Computes the operator fee of a transaction from the parameters of its block.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`].
    pub fn operator_fee(
        &self,
        timestamp: u64,
        scalar: u32,
        constant: u64,
        gas_used: u64,
    ) -> Result<U256> {
        operator_fee(self.fork(timestamp).0, scalar, constant, gas_used)
    }
}

/// Isthmus divides the product by a million (`isthmus/exec-engine.md`). Jovian multiplies it by
/// 100 (`jovian/exec-engine.md`).
pub(crate) fn operator_fee(fork: Fork, scalar: u32, constant: u64, gas: u64) -> Result<U256> {
    let product = U256::from(u128::from(gas) * u128::from(scalar));
    let scaled = match fork {
        Fork::Bedrock | Fork::Ecotone | Fork::Fjord => return Ok(U256::ZERO),
        Fork::Isthmus => product / U256::from(1_000_000),
        Fork::Jovian => product * U256::from(100),
    };
    scaled
        .checked_add(U256::from(constant))
        .ok_or(Error::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_follow_the_dates_of_the_chain() {
        let base = KnownChain::by_id(8_453).unwrap();
        let rules = FeeRules::of_chain(8_453, base.genesis_hash.unwrap()).unwrap();
        for (time, fork) in [
            (1_710_374_400, Fork::Bedrock),
            (1_710_374_401, Fork::Ecotone),
            (1_720_627_201, Fork::Fjord),
            (1_746_806_400, Fork::Fjord),
            (1_746_806_401, Fork::Isthmus),
            (1_764_691_201, Fork::Jovian),
            (u64::MAX, Fork::Jovian),
        ] {
            assert_eq!(rules.fork(time).0, fork, "{time}");
        }
    }

    #[test]
    fn unknown_chains_are_refused_by_name() {
        for (chain_id, genesis) in [(901, B256::ZERO), (1, B256::ZERO), (8_453, B256::ZERO)] {
            let error = FeeRules::of_chain(chain_id, genesis).unwrap_err();
            let expected = format!("the fees of chain {chain_id} (genesis 0x00");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }

    /// The values of op-revm's `test_operator_fee_charge_formulas`.
    #[test]
    fn operator_fees_are_those_of_their_fork() {
        let fee = |fork| operator_fee(fork, 1_000, 10, 1_000).unwrap();
        assert_eq!(fee(Fork::Fjord), U256::ZERO);
        assert_eq!(fee(Fork::Isthmus), U256::from(11));
        assert_eq!(fee(Fork::Jovian), U256::from(100_000_010));
        let most = operator_fee(Fork::Jovian, u32::MAX, u64::MAX, u64::MAX).unwrap();
        assert!(most > U256::from(u128::from(u64::MAX)));
    }
}
