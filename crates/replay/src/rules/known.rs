//! The chains that need no genesis file. Dates: geth's `params/chainspecs`.

use super::ChainRules;
use alloy_consensus::constants::{
    DEV_GENESIS_HASH, HOLESKY_GENESIS_HASH, HOODI_GENESIS_HASH, MAINNET_GENESIS_HASH,
    SEPOLIA_GENESIS_HASH,
};
use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_primitives::{Address, B256, address, b256};
use txgraph_evm::{BlobSchedule, Fork};

/// A chain that is known by its genesis.
pub(super) struct Known {
    pub(super) genesis_hash: B256,
    chain_id: u64,
    by_number: &'static [(u64, Fork)],
    by_time: &'static [(u64, Fork)],
    /// Of the forks that change blob parameters only: BPO1, BPO2 (EIP-7892).
    blobs: &'static [(u64, BlobSchedule)],
    dao_block: Option<u64>,
    deposit_contract: Address,
}

/// EIP-8134.
const BPO1: BlobSchedule = BlobSchedule {
    target: 10,
    max: 15,
    update_fraction: 8_346_193,
};
/// EIP-8135.
const BPO2: BlobSchedule = BlobSchedule {
    target: 14,
    max: 21,
    update_fraction: 11_684_671,
};

/// Of chains that began with all forks of their time.
const LONDON_AT_GENESIS: &[(u64, Fork)] = &[(0, Fork::London)];

pub(super) const ALL: [Known; 7] = [
    Known {
        genesis_hash: MAINNET_GENESIS_HASH,
        chain_id: 1,
        by_number: &[
            (1_150_000, Fork::Homestead),
            (2_463_000, Fork::TangerineWhistle),
            (2_675_000, Fork::SpuriousDragon),
            (4_370_000, Fork::Byzantium),
            (7_280_000, Fork::Petersburg),
            (9_069_000, Fork::Istanbul),
            (12_244_000, Fork::Berlin),
            (12_965_000, Fork::London),
        ],
        by_time: &[
            (1_681_338_455, Fork::Shanghai),
            (1_710_338_135, Fork::Cancun),
            (1_746_612_311, Fork::Prague),
            (1_764_798_551, Fork::Osaka),
        ],
        blobs: &[(1_765_290_071, BPO1), (1_767_747_671, BPO2)],
        dao_block: Some(1_920_000),
        deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
    },
    Known {
        genesis_hash: SEPOLIA_GENESIS_HASH,
        chain_id: 11_155_111,
        by_number: LONDON_AT_GENESIS,
        by_time: &[
            (1_677_557_088, Fork::Shanghai),
            (1_706_655_072, Fork::Cancun),
            (1_741_159_776, Fork::Prague),
            (1_760_427_360, Fork::Osaka),
            (1_791_294_816, Fork::Amsterdam),
        ],
        blobs: &[(1_761_017_184, BPO1), (1_761_607_008, BPO2)],
        dao_block: None,
        deposit_contract: address!("7f02c3e3c98b133055b8b348b2ac625669ed295d"),
    },
    Known {
        genesis_hash: HOLESKY_GENESIS_HASH,
        chain_id: 17_000,
        by_number: LONDON_AT_GENESIS,
        by_time: &[
            (1_696_000_704, Fork::Shanghai),
            (1_707_305_664, Fork::Cancun),
            (1_740_434_112, Fork::Prague),
            (1_759_308_480, Fork::Osaka),
        ],
        blobs: &[(1_759_800_000, BPO1), (1_760_389_824, BPO2)],
        dao_block: None,
        deposit_contract: address!("4242424242424242424242424242424242424242"),
    },
    Known {
        genesis_hash: HOODI_GENESIS_HASH,
        chain_id: 560_048,
        by_number: LONDON_AT_GENESIS,
        by_time: &[
            (0, Fork::Cancun),
            (1_742_999_832, Fork::Prague),
            (1_761_677_592, Fork::Osaka),
        ],
        blobs: &[(1_762_365_720, BPO1), (1_762_955_544, BPO2)],
        dao_block: None,
        deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
    },
    // `reth --dev` holds all forks of its time from block 0 on; which ones, its genesis
    // tells up to Prague. Releases between Prague and Osaka need a genesis file.
    dev(DEV_GENESIS_HASH, &[(0, Fork::Shanghai)]),
    dev(
        b256!("d17effc85005cb9645be61aa4a079d5e30ee7a46dc6078f45dd57fd4f0b12b82"),
        &[(0, Fork::Cancun)],
    ),
    dev(
        b256!("683713729fcb72be6f3d8b88c8cda3e10569d73b9640d3bf6f5184d94bd97616"),
        &[(0, Fork::Osaka)],
    ),
];

const fn dev(genesis_hash: B256, by_time: &'static [(u64, Fork)]) -> Known {
    Known {
        genesis_hash,
        chain_id: 1337,
        by_number: LONDON_AT_GENESIS,
        by_time,
        blobs: &[],
        dao_block: None,
        deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
    }
}

impl Known {
    pub(super) fn rules(&self) -> ChainRules {
        let forks = (self.by_time.iter()).map(|(time, fork)| (*time, BlobSchedule::of(*fork)));
        let mut blobs: Vec<_> = forks.chain(self.blobs.iter().copied()).collect();
        blobs.sort_by_key(|(time, _)| *time);
        ChainRules {
            chain_id: self.chain_id,
            genesis_hash: self.genesis_hash,
            by_number: self.by_number.to_vec(),
            by_time: self.by_time.to_vec(),
            blobs,
            dao_block: self.dao_block,
            deposit_contract: self.deposit_contract,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forks that changed nothing that a replay sees.
    const GLACIERS: [u64; 3] = [9_200_000, 13_773_000, 15_050_000];

    /// The fork identifier (EIP-2124) that all nodes of a chain tell each other: a
    /// checksum over the genesis hash and every date.
    fn fork_id(known: &Known, others: &[u64]) -> u32 {
        let numbers = known.by_number.iter().map(|(number, _)| *number);
        let mut dates: Vec<u64> = numbers
            .chain(known.dao_block)
            .chain(others.to_vec())
            .collect();
        dates.sort_unstable();
        let mut times: Vec<u64> = known.by_time.iter().map(|(time, _)| *time).collect();
        times.extend(known.blobs.iter().map(|(time, _)| *time));
        times.sort_unstable();
        dates.extend(times);
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(known.genesis_hash.as_slice());
        for date in dates.into_iter().filter(|date| *date > 0) {
            checksum.update(&date.to_be_bytes());
        }
        checksum.finalize()
    }

    #[test]
    fn dates_give_the_fork_identifiers_of_the_networks() {
        let [mainnet, sepolia, holesky, hoodi, ..] = &ALL;
        assert_eq!(fork_id(mainnet, &GLACIERS), 0x07c9_462e);
        assert_eq!(fork_id(sepolia, &[1_735_371]), 0x6c1d_9423);
        assert_eq!(fork_id(holesky, &[]), 0x9bc6_cb31);
        assert_eq!(fork_id(hoodi, &[]), 0x23aa_1351);
    }
}
