//! The configuration of a chain.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The layout of a data directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// reth 1.x: everything except headers, transactions and receipts is in MDBX.
    V1,
    /// reth 2.x: senders and change sets are in static files too.
    #[default]
    V2,
}

/// The kind of transactions of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Like mainnet: payments, token transfers, swaps, and a few of everything else.
    #[default]
    Mainnet,
    /// Mostly token transfers, for a dense graph.
    Tokens,
    /// Many logs that no standard defines.
    Odd,
    /// Like mainnet, but airdrops are planted only. Exchanges join the planted scenarios, of which
    /// there are more kinds, and all are listed in the truth.
    Exchanges,
}

/// All parameters of a chain. Equal values give equal chains. `layout`,
/// `blocks_per_file`, `commit_blocks`, `durable` and `masking_blocks` only affect how it is
/// stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Seed of the chain.
    pub seed: u64,
    /// Mean transactions per block, without planted scenarios.
    pub txs_per_block: u64,
    /// The kind of transactions.
    pub profile: Profile,
    /// Number of fungible tokens. The first three have half of all transfers.
    pub tokens: u64,
    /// Transactions of all signers in one round: a power of two, at least 64. A quarter
    /// belongs to hubs, which send 16 times as often as other signers.
    pub sends_per_round: u64,
    /// Storage layout.
    pub layout: Layout,
    /// Blocks per static file.
    pub blocks_per_file: u64,
    /// Blocks per commit at most.
    pub commit_blocks: u64,
    /// Whether every commit waits for the disk, as in a node. Otherwise files are flushed
    /// when the writer is dropped. After a `kill` before that, the database may need a
    /// writer to open it.
    pub durable: bool,
    /// Blocks that can be unwound. Older blocks are `finalized`.
    pub finality: u64,
    /// Whether [`super::Appender::unwind`] waits for readers of older snapshots before it
    /// truncates static files, as reth does since 2.0.
    pub wait_for_readers: bool,
    /// The newest blocks of a commit whose state is not written: hashed state stays this many
    /// blocks behind, less the keys that these blocks change (`--engine.num-state-masking-blocks`
    /// of reth, 30 by default since 2.6). 0: state is always at the tip.
    pub masking_blocks: u64,
    /// Whether to keep what [`super::Truth`] needs.
    pub truth: bool,
}

/// How a chain of executed blocks is stored. The fields are as in [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Storage layout.
    pub layout: Layout,
    /// Blocks per static file.
    pub blocks_per_file: u64,
    /// Whether every commit waits for the disk.
    pub durable: bool,
    /// Blocks that can be unwound.
    pub finality: u64,
    /// Whether an unwind waits for readers before it truncates static files.
    pub wait_for_readers: bool,
    /// Blocks that hashed state stays behind.
    pub masking_blocks: u64,
}

impl From<&Config> for Storage {
    fn from(config: &Config) -> Self {
        Self {
            layout: config.layout,
            blocks_per_file: config.blocks_per_file,
            durable: config.durable,
            finality: config.finality,
            wait_for_readers: config.wait_for_readers,
            masking_blocks: config.masking_blocks,
        }
    }
}

impl From<Layout> for Storage {
    /// The defaults of [`Config`].
    fn from(layout: Layout) -> Self {
        Self {
            layout,
            ..Self::from(&Config::default())
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            txs_per_block: 8,
            profile: Profile::Mainnet,
            tokens: 2_000,
            sends_per_round: 4_096,
            layout: Layout::V2,
            blocks_per_file: 500_000,
            commit_blocks: 1 << 17,
            durable: false,
            finality: 64,
            wait_for_readers: true,
            masking_blocks: 0,
            truth: true,
        }
    }
}

impl Config {
    /// A chain for tests: few tokens and signers, quick to start.
    pub fn small(seed: u64, layout: Layout) -> Self {
        Self {
            seed,
            layout,
            tokens: 40,
            sends_per_round: 64,
            ..Self::default()
        }
    }

    /// Describes what is wrong with these values, if anything is.
    pub(super) fn problem(&self) -> Option<String> {
        let rounds = self.sends_per_round;
        if !rounds.is_power_of_two() || !(64..=1 << 20).contains(&rounds) {
            return Some(format!(
                "sends_per_round is {rounds}; a power of two from 64 to 2^20"
            ));
        }
        for (name, value, low, high) in [
            ("tokens", self.tokens, 10, 1_000_000),
            ("txs_per_block", self.txs_per_block, 0, 10_000),
            ("blocks_per_file", self.blocks_per_file, 1, u64::MAX),
            ("commit_blocks", self.commit_blocks, 1, 1 << 20),
        ] {
            if !(low..=high).contains(&value) {
                return Some(format!("{name} is {value}; from {low} to {high}"));
            }
        }
        None
    }

    /// Gas limit of every block. It has room for four times the mean, so that blocks stay
    /// below the target and the base fee falls to its minimum.
    pub(super) fn gas_limit(&self) -> u64 {
        36_000_000.max(self.txs_per_block * 4 * ORDINARY_GAS_MAX + 20_000_000)
    }
}

/// EIP-155 chain id, which is not the id of a known chain.
pub const CHAIN_ID: u64 = 20_260_701;
/// Gas of transactions other than airdrops at most.
pub(super) const ORDINARY_GAS_MAX: u64 = 400_000;
/// Unix timestamp of the genesis block.
pub(super) const GENESIS_TIME: u64 = 1_704_070_000;
/// Seconds between blocks.
pub(super) const BLOCK_TIME: u64 = 12;

/// First block of Shanghai. The genesis block is after the merge (Paris).
pub const SHANGHAI: u64 = 8;
/// First block of Cancun (EIP-4844 and the beacon root).
pub const CANCUN: u64 = 16;
/// First block of Prague (EIP-7702 and the requests hash).
pub const PRAGUE: u64 = 32;
/// First block of Osaka (EIP-7918).
pub const OSAKA: u64 = 48;

/// Returns the timestamp of a block.
pub(super) fn timestamp(block: u64) -> u64 {
    GENESIS_TIME + BLOCK_TIME * block
}
