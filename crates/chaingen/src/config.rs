//! What chain to write.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How a data directory is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// reth 1.x: everything beside headers, transactions and receipts in MDBX.
    V1,
    /// reth 2.x: senders and change sets in static files too.
    #[default]
    V2,
}

/// What the transactions of a chain are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Like the main chain: plain payments, token transfers, swaps, a few of
    /// everything else.
    #[default]
    Mainnet,
    /// Mostly token transfers: a dense graph.
    Tokens,
    /// Many logs that no standard foresees.
    Odd,
}

/// Everything a chain depends on. Equal values give equal chains; `layout`,
/// `blocks_per_file`, `commit_blocks` and `durable` only say how it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Chooses among all chains of a kind.
    pub seed: u64,
    /// EIP-155 chain id. Not that of a known chain.
    pub chain_id: u64,
    /// Mean of transactions per block, planted scenarios apart.
    pub txs_per_block: u64,
    /// What they do.
    pub profile: Profile,
    /// Fungible tokens; the first three have half of all transfers.
    pub tokens: u64,
    /// Sends in one round of all signers, a power of two from 64 on. A quarter of
    /// them belongs to hubs, which send 16 times as often as the others.
    pub sends_per_round: u64,
    /// Storage layout.
    pub layout: Layout,
    /// Blocks that one static file is reserved for.
    pub blocks_per_file: u64,
    /// Blocks committed together at most.
    pub commit_blocks: u64,
    /// Whether every commit waits for the disk, as a node's does. Without it, files
    /// are only flushed when the writer is dropped; after a `kill` before that the
    /// database may need a writer to open again.
    pub durable: bool,
    /// Blocks that can still be unwound; older ones are `finalized`.
    pub finality: u64,
    /// Whether [`super::Appender::unwind`] waits, before it truncates static
    /// files, until no reader holds an older snapshot (reth 2.0 on).
    pub wait_for_readers: bool,
    /// Whether to keep the bookkeeping that [`super::Truth`] needs.
    pub truth: bool,
}

/// How a chain whose blocks come from elsewhere is stored; as in [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Storage layout.
    pub layout: Layout,
    /// Blocks that one static file is reserved for.
    pub blocks_per_file: u64,
    /// Whether every commit waits for the disk.
    pub durable: bool,
    /// Blocks that can still be unwound.
    pub finality: u64,
    /// Whether an unwind waits, before it truncates static files, for readers.
    pub wait_for_readers: bool,
}

impl From<Layout> for Storage {
    /// As [`Config`] by default.
    fn from(layout: Layout) -> Self {
        let config = Config::default();
        Self {
            layout,
            blocks_per_file: config.blocks_per_file,
            durable: config.durable,
            finality: config.finality,
            wait_for_readers: config.wait_for_readers,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            chain_id: 20_260_701,
            txs_per_block: 8,
            profile: Profile::Mainnet,
            tokens: 2_000,
            sends_per_round: 4_096,
            layout: Layout::V2,
            blocks_per_file: 500_000,
            commit_blocks: 1_024,
            durable: false,
            finality: 64,
            wait_for_readers: true,
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

    /// What is wrong with these values, if anything.
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
            ("chain_id", self.chain_id, 1, u64::MAX),
        ] {
            if !(low..=high).contains(&value) {
                return Some(format!("{name} is {value}; from {low} to {high}"));
            }
        }
        None
    }

    /// Gas limit of every block: room for four times the mean, so that blocks stay
    /// below the target and the base fee falls to its minimum.
    pub(super) fn gas_limit(&self) -> u64 {
        36_000_000.max(self.txs_per_block * 4 * super::traffic::ORDINARY_GAS_MAX + 20_000_000)
    }
}

/// Time of the genesis block, unix seconds.
pub(super) const GENESIS_TIME: u64 = 1_704_070_000;
/// Seconds from block to block.
pub(super) const BLOCK_TIME: u64 = 12;

/// First block of Shanghai. Genesis is Paris (the merge has happened).
pub const SHANGHAI: u64 = 8;
/// EIP-4844 and the beacon root.
pub const CANCUN: u64 = 16;
/// EIP-7702 and the requests hash.
pub const PRAGUE: u64 = 32;
/// EIP-7918.
pub const OSAKA: u64 = 48;

/// Time of a block.
pub(super) fn timestamp(block: u64) -> u64 {
    GENESIS_TIME + BLOCK_TIME * block
}
