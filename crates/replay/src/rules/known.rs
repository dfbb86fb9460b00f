//! Chain rules from the table of known chains, which names forks by words.

use super::ChainRules;
use txgraph_base::{BlobParameters, KnownChain};
use txgraph_evm::{BlobSchedule, Fork};

/// Returns the rules of a known chain; `None` where a genesis file is required.
pub(super) fn rules(chain: &KnownChain) -> Option<ChainRules> {
    let (rules, genesis_hash) = (chain.rules?, chain.genesis_hash?);
    let by_time = forks(rules.by_time)?;
    let changes = rules
        .blobs
        .iter()
        .map(|(time, blobs)| (*time, schedule(*blobs)));
    let mut blobs: Vec<_> = by_time
        .iter()
        .map(|(time, fork)| (*time, BlobSchedule::of(*fork)))
        .chain(changes)
        .collect();
    blobs.sort_by_key(|(time, _)| *time);
    Some(ChainRules {
        chain_id: chain.id,
        genesis_hash,
        by_number: forks(rules.by_number)?,
        by_time,
        blobs,
        dao_block: rules.dao_block,
        deposit_contract: rules.deposit_contract,
    })
}

/// `None` if a name is unknown; a test below converts every name of the table.
fn forks(steps: &[(u64, &str)]) -> Option<Vec<(u64, Fork)>> {
    steps
        .iter()
        .map(|(begin, name)| Some((*begin, name.parse().ok()?)))
        .collect()
}

const fn schedule(blobs: BlobParameters) -> BlobSchedule {
    BlobSchedule {
        target: blobs.target,
        max: blobs.max,
        update_fraction: blobs.update_fraction,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::constants::{
        DEV_GENESIS_HASH, HOLESKY_GENESIS_HASH, HOODI_GENESIS_HASH, MAINNET_GENESIS_HASH,
        SEPOLIA_GENESIS_HASH,
    };
    use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;

    #[test]
    fn every_fork_name_of_the_table_is_known() {
        let mut converted = 0;
        for chain in KnownChain::ALL {
            let Some(known) = chain.rules else { continue };
            let rules = rules(chain).unwrap_or_else(|| panic!("{chain:?}"));
            for (steps, forks) in [
                (known.by_number, rules.by_number),
                (known.by_time, rules.by_time),
            ] {
                assert_eq!(steps.len(), forks.len());
                for ((begin, name), (from, fork)) in steps.iter().zip(&forks) {
                    assert_eq!((begin, *name), (from, fork.name()));
                }
                assert!(forks.is_sorted(), "{chain:?}");
            }
            converted += 1;
        }
        assert_eq!(converted, 7);
    }

    #[test]
    fn constants_agree_with_alloy() {
        for (hash, id) in [
            (MAINNET_GENESIS_HASH, 1),
            (SEPOLIA_GENESIS_HASH, 11_155_111),
            (HOLESKY_GENESIS_HASH, 17_000),
            (HOODI_GENESIS_HASH, 560_048),
            (DEV_GENESIS_HASH, 1337),
        ] {
            assert_eq!(KnownChain::by_genesis(&hash).unwrap().id, id);
        }
        assert_eq!(
            ChainRules::known(MAINNET_GENESIS_HASH)
                .unwrap()
                .deposit_contract,
            MAINNET_DEPOSIT_CONTRACT_ADDRESS
        );
    }
}
