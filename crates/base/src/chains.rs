//! The known chains, one entry each: how a chain is recognized, what its native coin and
//! its special contracts are, and since when its rules apply.
//!
//! To add a chain, add an entry to [`KnownChain::ALL`]. Fork names are words here, because
//! this crate does not depend on the interpreter; `txgraph-replay` converts them, and a
//! test there converts all of them.

use alloy_primitives::{Address, B256, address, b256};
use serde::Serialize;
use std::fmt;

/// A chain that is recognized by the hash of its first block or by its chain ID.
#[derive(Debug)]
pub struct KnownChain {
    /// Chain ID (EIP-155). Development chains with different genesis blocks share one.
    pub id: u64,
    /// Hash of the first block; `None` where only the chain ID is known.
    pub genesis_hash: Option<B256>,
    /// Common name, e.g. `mainnet`. `None` for development chains: anyone can start one
    /// with the same first block and another chain ID.
    pub name: Option<&'static str>,
    /// The kind of node that runs the chain.
    pub family: ChainFamily,
    /// The first block in the format of the family. Earlier blocks were imported from an older
    /// system. 0 on nearly all chains.
    pub first_block: u64,
    /// Symbol of the native coin.
    pub native_symbol: &'static str,
    /// Wrapped native coins that emit WETH9's `Deposit` and `Withdrawal` events.
    pub wrapped_native: &'static [Address],
    /// Contracts whose `Transfer` event has three unindexed words, the last of which is a
    /// token ID. Nothing in such a log distinguishes it from an ERC-20 transfer, so the
    /// contracts have to be listed.
    pub unindexed_erc721: &'static [Address],
    /// The rules for a replay; `None` where a genesis file is required.
    pub rules: Option<KnownRules>,
    /// Since when which fees apply on a chain of the OP stack.
    pub fees: Option<FeeDates>,
}

/// The kind of node that runs a chain. Families store receipts and transactions differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainFamily {
    /// Ethereum and its test networks.
    Ethereum,
    /// Rollups of the OP stack, since Bedrock.
    OpStack,
}

impl fmt::Display for ChainFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethereum => "Ethereum",
            Self::OpStack => "the OP stack",
        })
    }
}

/// Since when the rules of a chain apply. Dates: geth's `params/chainspecs`.
#[derive(Clone, Copy, Debug)]
pub struct KnownRules {
    /// Forks before the merge by block number, ascending.
    pub by_number: &'static [(u64, &'static str)],
    /// Forks since the merge by timestamp, ascending.
    pub by_time: &'static [(u64, &'static str)],
    /// Forks that change nothing but blob parameters (EIP-7892), by timestamp, ascending.
    pub blobs: &'static [(u64, BlobParameters)],
    /// The block that moves the wei of the DAO (EIP-779).
    pub dao_block: Option<u64>,
    /// The contract whose logs are deposits of the consensus layer (EIP-6110).
    pub deposit_contract: Address,
}

/// Since when the formulas for fees of a chain of the OP stack apply, as times of blocks. All of
/// these chains have the rules of Regolith from their first block on. Dates:
/// `ethereum-optimism/superchain-registry` (4 August 2026), and for Base `base/base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeDates {
    /// The fee for data depends on the price of blobs.
    pub ecotone: u64,
    /// The fee for data depends on the compressed size.
    pub fjord: u64,
    /// There is an operator fee.
    pub isthmus: u64,
    /// The operator fee has another unit.
    pub jovian: u64,
}

impl FeeDates {
    /// The dates of OP Mainnet, which most chains share.
    const MAINNET: Self = Self {
        ecotone: 1_710_374_401,
        fjord: 1_720_627_201,
        isthmus: 1_746_806_401,
        jovian: 1_764_691_201,
    };
    /// The dates of OP Sepolia.
    const SEPOLIA: Self = Self {
        ecotone: 1_708_534_800,
        fjord: 1_716_998_400,
        isthmus: 1_744_905_600,
        jovian: 1_763_568_001,
    };

    /// The same, for a chain that began after Fjord.
    const fn since_fjord(self) -> Self {
        Self {
            ecotone: 0,
            fjord: 0,
            ..self
        }
    }
}

/// How many blobs a block may hold and how their price moves (EIP-4844, EIP-7892).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobParameters {
    /// Blobs per block at which the price stays the same.
    pub target: u64,
    /// Maximum number of blobs per block.
    pub max: u64,
    /// The higher, the more slowly the price moves.
    pub update_fraction: u64,
}

/// EIP-8134.
const BPO1: BlobParameters = BlobParameters {
    target: 10,
    max: 15,
    update_fraction: 8_346_193,
};
/// EIP-8135.
const BPO2: BlobParameters = BlobParameters {
    target: 14,
    max: 21,
    update_fraction: 11_684_671,
};

/// For chains that began with all forks of their time.
const LONDON_AT_GENESIS: &[(u64, &str)] = &[(0, "London")];

const MAINNET_DEPOSIT_CONTRACT: Address = address!("00000000219ab540356cbb839cbe05303d7705fa");

/// The predeployed wrapped coin of every OP-stack chain.
const OP_STACK_WETH: &[Address] = &[address!("4200000000000000000000000000000000000006")];

/// The block of OP Mainnet that activated Bedrock and Regolith (2023-06-06). Earlier blocks are
/// blocks of the OVM, with one transaction each and no deposits.
const OP_MAINNET_BEDROCK: u64 = 105_235_063;

impl KnownChain {
    /// Every known chain. `reth --dev` appears once per genesis block: it applies all forks
    /// of its time from block 0 on, and up to Prague the genesis block shows which. Releases
    /// between Prague and Osaka have the same genesis block as Prague, so they are not here.
    pub const ALL: &[Self] = &[
        Self {
            id: 1,
            genesis_hash: Some(b256!(
                "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"
            )),
            name: Some("mainnet"),
            wrapped_native: &[address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")],
            // CryptoKitties, older than ERC-721.
            unindexed_erc721: &[address!("06012c8cf97bead5deae237070f9587f8e7a266d")],
            rules: Some(KnownRules {
                by_number: &[
                    (1_150_000, "Homestead"),
                    (2_463_000, "TangerineWhistle"),
                    (2_675_000, "SpuriousDragon"),
                    (4_370_000, "Byzantium"),
                    (7_280_000, "Petersburg"),
                    (9_069_000, "Istanbul"),
                    (12_244_000, "Berlin"),
                    (12_965_000, "London"),
                ],
                by_time: &[
                    (1_681_338_455, "Shanghai"),
                    (1_710_338_135, "Cancun"),
                    (1_746_612_311, "Prague"),
                    (1_764_798_551, "Osaka"),
                ],
                blobs: &[(1_765_290_071, BPO1), (1_767_747_671, BPO2)],
                dao_block: Some(1_920_000),
                deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            }),
            ..ETHEREUM
        },
        Self {
            id: 11_155_111,
            genesis_hash: Some(b256!(
                "25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"
            )),
            name: Some("sepolia"),
            // Both are in use.
            wrapped_native: &[
                address!("7b79995e5f793a07bc00c21412e50ecae098e7f9"),
                address!("fff9976782d46cc05630d1f6ebab18b2324d6b14"),
            ],
            rules: Some(KnownRules {
                by_time: &[
                    (1_677_557_088, "Shanghai"),
                    (1_706_655_072, "Cancun"),
                    (1_741_159_776, "Prague"),
                    (1_760_427_360, "Osaka"),
                    (1_791_294_816, "Amsterdam"),
                ],
                blobs: &[(1_761_017_184, BPO1), (1_761_607_008, BPO2)],
                deposit_contract: address!("7f02c3e3c98b133055b8b348b2ac625669ed295d"),
                ..RULES
            }),
            ..ETHEREUM
        },
        Self {
            id: 17_000,
            genesis_hash: Some(b256!(
                "b5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"
            )),
            name: Some("holesky"),
            rules: Some(KnownRules {
                by_time: &[
                    (1_696_000_704, "Shanghai"),
                    (1_707_305_664, "Cancun"),
                    (1_740_434_112, "Prague"),
                    (1_759_308_480, "Osaka"),
                ],
                blobs: &[(1_759_800_000, BPO1), (1_760_389_824, BPO2)],
                deposit_contract: address!("4242424242424242424242424242424242424242"),
                ..RULES
            }),
            ..ETHEREUM
        },
        Self {
            id: 560_048,
            genesis_hash: Some(b256!(
                "bbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"
            )),
            name: Some("hoodi"),
            rules: Some(KnownRules {
                by_time: &[
                    (0, "Cancun"),
                    (1_742_999_832, "Prague"),
                    (1_761_677_592, "Osaka"),
                ],
                blobs: &[(1_762_365_720, BPO1), (1_762_955_544, BPO2)],
                ..RULES
            }),
            ..ETHEREUM
        },
        reth_dev(
            b256!("2f980576711e3617a5e4d83dd539548ec0f7792007d505a3d2e9674833af2d7c"),
            &[(0, "Shanghai")],
        ),
        reth_dev(
            b256!("d17effc85005cb9645be61aa4a079d5e30ee7a46dc6078f45dd57fd4f0b12b82"),
            &[(0, "Cancun")],
        ),
        reth_dev(
            b256!("683713729fcb72be6f3d8b88c8cda3e10569d73b9640d3bf6f5184d94bd97616"),
            &[(0, "Osaka")],
        ),
        // Hardhat and Anvil.
        Self {
            id: 31_337,
            ..ETHEREUM
        },
        Self {
            first_block: OP_MAINNET_BEDROCK,
            ..op_stack(
                10,
                "OP Mainnet",
                b256!("7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b"),
                FeeDates::MAINNET,
            )
        },
        op_stack(
            8_453,
            "Base",
            b256!("f712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd"),
            FeeDates::MAINNET,
        ),
        op_stack(
            11_155_420,
            "OP Sepolia",
            b256!("102de6ffb001480cc9b8b548fd05c34cd4f46ae4aa91759393db90ea0409887d"),
            FeeDates::SEPOLIA,
        ),
        op_stack(
            84_532,
            "Base Sepolia",
            b256!("0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4"),
            FeeDates::SEPOLIA,
        ),
        op_stack(
            130,
            "Unichain",
            b256!("3425162ddf41a0a1f0106d67b71828c9a9577e6ddeb94e4f33d2cde1fdc3befe"),
            FeeDates::MAINNET.since_fjord(),
        ),
        op_stack(
            480,
            "World Chain",
            b256!("70d316d2e0973b62332ba2e9768dd7854298d7ffe77f0409ffdb8d859f2d3fa3"),
            FeeDates {
                ecotone: 0,
                fjord: 1_721_826_000,
                isthmus: 1_764_072_000,
                jovian: 1_777_593_600,
            },
        ),
        op_stack(
            1_301,
            "Unichain Sepolia",
            b256!("b7fe0bc9f98ca03294ca0094ff9374cc3e64130b6ec85850d6e260191f48bfe7"),
            FeeDates::SEPOLIA.since_fjord(),
        ),
        op_stack(
            1_868,
            "Soneium",
            b256!("295d22d269634c7d0055b33b887519362d0b31899e97109d1789a8a168de1b21"),
            FeeDates::MAINNET.since_fjord(),
        ),
        op_stack(
            34_443,
            "Mode",
            b256!("b0f682e12fc555fd5ce8fce51a59a67d66a5b46be28611a168260a549dac8a9b"),
            FeeDates::MAINNET,
        ),
        op_stack(
            57_073,
            "Ink",
            b256!("23a2658170ba70d014ba0d0d2709f8fbfe2fa660cd868c5f282f991eecbe38ee"),
            FeeDates::MAINNET.since_fjord(),
        ),
        op_stack(
            7_777_777,
            "Zora",
            b256!("47555a45a1af8d4728ca337a1e48375a83919b1ea16591e070a07388b7364e29"),
            FeeDates::MAINNET,
        ),
    ];

    /// Returns the chain whose first block has this hash.
    pub fn by_genesis(hash: &B256) -> Option<&'static Self> {
        Self::ALL
            .iter()
            .find(|chain| chain.genesis_hash.as_ref() == Some(hash))
    }

    /// Returns a chain with this ID. Of several development chains with the same ID it is
    /// the first; they differ only in genesis block and forks.
    pub fn by_id(id: u64) -> Option<&'static Self> {
        Self::ALL.iter().find(|chain| chain.id == id)
    }

    /// Returns the symbol of the native coin of any chain. Chains that are not known are taken for
    /// rollups or development chains, whose coin is ether, except those in the list of
    /// `ethereum-lists/chains` with another coin that are used most.
    pub fn native_symbol_of(id: u64) -> &'static str {
        if let Some(chain) = Self::by_id(id) {
            return chain.native_symbol;
        }
        match id {
            25 => "CRO",
            56 => "BNB",
            100 => "xDAI",
            137 => "POL",
            146 => "S",
            250 => "FTM",
            1_284 => "GLMR",
            5_000 => "MNT",
            42_220 => "CELO",
            43_114 => "AVAX",
            80_094 => "BERA",
            _ => "ETH",
        }
    }
}

/// Defaults of an Ethereum chain.
const ETHEREUM: KnownChain = KnownChain {
    id: 0,
    genesis_hash: None,
    name: None,
    family: ChainFamily::Ethereum,
    first_block: 0,
    native_symbol: "ETH",
    wrapped_native: &[],
    unindexed_erc721: &[],
    rules: None,
    fees: None,
};

/// Defaults of a chain that was proof-of-stake from its first block on, or nearly so.
const RULES: KnownRules = KnownRules {
    by_number: LONDON_AT_GENESIS,
    by_time: &[],
    blobs: &[],
    dao_block: None,
    deposit_contract: MAINNET_DEPOSIT_CONTRACT,
};

const fn reth_dev(genesis_hash: B256, by_time: &'static [(u64, &'static str)]) -> KnownChain {
    KnownChain {
        id: 1337,
        genesis_hash: Some(genesis_hash),
        rules: Some(KnownRules { by_time, ..RULES }),
        ..ETHEREUM
    }
}

const fn op_stack(id: u64, name: &'static str, genesis_hash: B256, fees: FeeDates) -> KnownChain {
    KnownChain {
        id,
        genesis_hash: Some(genesis_hash),
        name: Some(name),
        family: ChainFamily::OpStack,
        wrapped_native: OP_STACK_WETH,
        fees: Some(fees),
        ..ETHEREUM
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Forks that change nothing that a replay sees.
    const GLACIERS: [u64; 3] = [9_200_000, 13_773_000, 15_050_000];

    /// The fork identifier (EIP-2124) that the nodes of a chain send to each other: a
    /// checksum over the genesis hash and every date.
    fn fork_id(name: &str, others: &[u64]) -> u32 {
        let chain = KnownChain::ALL
            .iter()
            .find(|chain| chain.name == Some(name))
            .unwrap();
        let rules = chain.rules.unwrap();
        let numbers = rules.by_number.iter().map(|(number, _)| *number);
        let mut dates: Vec<u64> = numbers
            .chain(rules.dao_block)
            .chain(others.to_vec())
            .collect();
        dates.sort_unstable();
        let mut times: Vec<u64> = rules.by_time.iter().map(|(time, _)| *time).collect();
        times.extend(rules.blobs.iter().map(|(time, _)| *time));
        times.sort_unstable();
        dates.extend(times);
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(chain.genesis_hash.unwrap().as_slice());
        for date in dates.into_iter().filter(|date| *date > 0) {
            checksum.update(&date.to_be_bytes());
        }
        checksum.finalize()
    }

    #[test]
    fn fork_dates_give_the_fork_ids_of_the_networks() {
        assert_eq!(fork_id("mainnet", &GLACIERS), 0x07c9_462e);
        assert_eq!(fork_id("sepolia", &[1_735_371]), 0x6c1d_9423);
        assert_eq!(fork_id("holesky", &[]), 0x9bc6_cb31);
        assert_eq!(fork_id("hoodi", &[]), 0x23aa_1351);
    }

    #[test]
    fn lookups_are_unambiguous() {
        let mut hashes = BTreeSet::new();
        for chain in KnownChain::ALL {
            assert_ne!(chain.id, 0);
            if let Some(hash) = &chain.genesis_hash {
                assert!(hashes.insert(*hash), "{chain:?}");
                assert_eq!(KnownChain::by_genesis(hash).unwrap().id, chain.id);
            }
            // Entries with one ID differ in their genesis block and rules only.
            let first = KnownChain::by_id(chain.id).unwrap();
            assert_eq!(first.name, chain.name);
            assert_eq!(first.family, chain.family);
            assert_eq!(first.native_symbol, chain.native_symbol);
            assert_eq!(first.wrapped_native, chain.wrapped_native);
            assert_eq!(first.unindexed_erc721, chain.unindexed_erc721);
            assert_eq!(
                chain.fees.is_some(),
                chain.family == ChainFamily::OpStack,
                "{chain:?}"
            );
            if let Some(fees) = chain.fees {
                let dates = [fees.ecotone, fees.fjord, fees.isthmus, fees.jovian];
                assert!(dates.is_sorted(), "{chain:?}");
            }
            for steps in chain.rules.iter().flat_map(|r| [r.by_number, r.by_time]) {
                assert!(steps.is_sorted_by_key(|(begin, _)| *begin), "{chain:?}");
            }
        }
        assert!(KnownChain::by_id(100).is_none());
        assert!(KnownChain::by_genesis(&B256::ZERO).is_none());
    }

    #[test]
    fn special_contracts_belong_to_their_chain() {
        assert_eq!(
            KnownChain::by_id(8_453).unwrap().wrapped_native,
            OP_STACK_WETH
        );
        assert!(KnownChain::by_id(1_337).unwrap().wrapped_native.is_empty());
        assert_eq!(KnownChain::by_id(1).unwrap().unindexed_erc721.len(), 1);
        assert!(KnownChain::by_id(10).unwrap().unindexed_erc721.is_empty());
        assert_eq!(
            KnownChain::by_id(11_155_111).unwrap().wrapped_native.len(),
            2
        );
    }
}
