//! One movement of a token or of the native coin.

use alloy_primitives::{Address, B256, U256};
use txgraph_base::words;

/// Where in the chain a transfer happened. Orders all transfers totally.
///
/// Inside a transaction the native value (no log) comes first, then the logs;
/// inside a log (ERC-1155 batches) or among native movements, `sub` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Block number.
    pub block: u64,
    /// Index of the transaction in the block.
    pub tx: u32,
    /// Index of the log in the *block*; absent for native movements.
    pub log: Option<u32>,
    /// Index inside the log, or among the native movements of the transaction.
    pub sub: u32,
}

/// One movement: the row of the one schema that every output of txgraph has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Block number.
    pub block_number: u64,
    /// Time of the block, unix seconds; 0 where the source was not asked for it
    /// ([`crate::ScanRequest::with_times`]).
    pub block_timestamp: u64,
    /// Index of the transaction in the block. A withdrawal belongs to no
    /// transaction; it carries the number of transactions of its block, so that
    /// it sorts after all of them.
    pub transaction_index: u32,
    /// Index of the log in the block; absent for native movements.
    pub log_index: Option<u32>,
    /// Index inside the log (ERC-1155 batch item) or, without a log, among the
    /// native movements of the transaction (0: its own value) or the
    /// withdrawals of the block.
    pub sub_index: u32,
    /// Hash of the transaction. Zero for withdrawals, and until a source was
    /// asked to resolve it ([`crate::ScanRequest::with_hashes`]).
    pub transaction_hash: B256,
    /// Contract that emitted the log; absent for the native coin.
    pub token_address: Option<Address>,
    /// Sender of the tokens (not of the transaction).
    pub from_address: Address,
    /// Receiver.
    pub to_address: Address,
    /// Amount in the smallest unit of the token (wei for native); 1 for ERC-721.
    pub value: U256,
    /// ERC-721 and ERC-1155 only.
    pub token_id: Option<U256>,
    /// Which standard the movement was decoded by.
    pub token_standard: TokenStandard,
    /// What sort of movement it is.
    pub kind: Kind,
}

impl Transfer {
    /// The key of the total order.
    pub fn position(&self) -> Position {
        Position {
            block: self.block_number,
            tx: self.transaction_index,
            log: self.log_index,
            sub: self.sub_index,
        }
    }
}

words! {
    /// The standard a transfer was decoded by.
    pub enum TokenStandard: "token standard" {
        /// Fungible token, EIP-20.
        Erc20 = "erc20",
        /// Non-fungible token, EIP-721.
        Erc721 = "erc721",
        /// Multi-token, EIP-1155.
        Erc1155 = "erc1155",
        /// The coin of the chain itself.
        Native = "native",
    }
}

words! {
    /// What sort of movement a transfer is.
    pub enum Kind: "kind" {
        /// Tokens moved from one holder to another.
        Transfer = "transfer",
        /// Tokens came into being: sent by the zero address.
        Mint = "mint",
        /// Tokens ceased to be: sent to the zero address.
        Burn = "burn",
        /// Native coin wrapped into a token (WETH9 `Deposit`).
        Wrap = "wrap",
        /// Token unwrapped into native coin (WETH9 `Withdrawal`).
        Unwrap = "unwrap",
        /// Native value of the transaction itself.
        Value = "value",
        /// Native value moved by a contract inside a transaction.
        Internal = "internal",
        /// Consensus-layer withdrawal (EIP-4895).
        Withdrawal = "withdrawal",
        /// Of a transaction's fee what is burnt: the base fee of its gas (EIP-1559) and of
        /// its blobs (EIP-4844). Only from replays, on request.
        Fee = "fee",
        /// Of a transaction's fee what the block's beneficiary gets. Only from replays,
        /// on request.
        Priority = "priority",
    }
}
