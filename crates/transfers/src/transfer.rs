//! A movement of a token or of the native coin.

use crate::BlockTime;
use alloy_primitives::{Address, B256, U256};
use txgraph_base::string_enum;

/// The position of a transfer in the chain. A total order of all transfers.
///
/// In a transaction the native value (without a log) comes first, then the logs. `sub`
/// numbers the items of a log (ERC-1155 batches), or native movements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Block number.
    pub block: u64,
    /// Index of the transaction in the block.
    pub tx: u32,
    /// Index of the log in the *block*; `None` for native movements.
    pub log: Option<u32>,
    /// Index inside the log, or among the native movements of the transaction.
    pub sub: u32,
}

/// A movement of a token or of the native coin. The row of the schema of every output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Block number.
    pub block_number: u64,
    /// Time of the block; `None` if it is not known. Sources provide it on request
    /// ([`crate::ScanRequest::with_times`]).
    pub block_timestamp: Option<BlockTime>,
    /// Index of the transaction in the block. A withdrawal belongs to no transaction; it has
    /// the number of transactions of its block here, so that it sorts after all of them.
    pub transaction_index: u32,
    /// Index of the log in the block; `None` for native movements.
    pub log_index: Option<u32>,
    /// Index in the log (of an ERC-1155 batch item). Without a log, the index among the native
    /// movements of the transaction (0: the transaction value), or among the withdrawals of
    /// the block.
    pub sub_index: u32,
    /// Hash of the transaction; `None` if it is not known, and for withdrawals, which belong to
    /// no transaction. Sources provide it on request ([`crate::ScanRequest::with_hashes`]).
    pub transaction_hash: Option<B256>,
    /// The contract that emitted the log; `None` for the native coin.
    pub token_address: Option<Address>,
    /// Sender of the tokens (not of the transaction).
    pub from_address: Address,
    /// Receiver.
    pub to_address: Address,
    /// Amount in the smallest unit of the token (wei for native); 1 for ERC-721.
    pub value: U256,
    /// ERC-721 and ERC-1155 only.
    pub token_id: Option<U256>,
    /// The standard that the movement was decoded by.
    pub token_standard: TokenStandard,
    /// The kind of movement.
    pub kind: Kind,
}

impl Transfer {
    /// The value of the first transaction of a block: 0 wei between zero addresses, without time and
    /// hash. Others set fields with `..`.
    pub const fn first_of(block_number: u64) -> Self {
        Self {
            block_number,
            block_timestamp: None,
            transaction_index: 0,
            log_index: None,
            sub_index: 0,
            transaction_hash: None,
            token_address: None,
            from_address: Address::ZERO,
            to_address: Address::ZERO,
            value: U256::ZERO,
            token_id: None,
            token_standard: TokenStandard::Native,
            kind: Kind::Value,
        }
    }

    /// The position of the transfer, its key in the total order.
    pub fn position(&self) -> Position {
        Position {
            block: self.block_number,
            tx: self.transaction_index,
            log: self.log_index,
            sub: self.sub_index,
        }
    }

    /// The block, and the index of the transaction there. Withdrawals of a block have one that no
    /// transaction has.
    pub const fn transaction(&self) -> (u64, u32) {
        (self.block_number, self.transaction_index)
    }
}

impl Kind {
    /// Whether a transfer of this kind is a movement of the native coin inside of a transaction. It
    /// is part of a result only if the request includes internal transfers.
    pub const fn is_internal(self, has_log: bool) -> bool {
        !has_log && matches!(self, Self::Internal | Self::Burn)
    }
}

string_enum! {
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

impl TokenStandard {
    /// The standard of a fungible token, or of the native coin.
    pub const fn of_fungible(token: Option<Address>) -> Self {
        match token {
            Some(_) => Self::Erc20,
            None => Self::Native,
        }
    }

    /// Whether equal amounts of a token are the same: of ERC-20 tokens and of the native coin.
    pub const fn is_fungible(self) -> bool {
        matches!(self, Self::Erc20 | Self::Native)
    }
}

string_enum! {
    /// The kind of movement that a transfer is.
    pub enum Kind: "kind" {
        /// Tokens moved from one holder to another.
        Transfer = "transfer",
        /// Tokens were created: sent by the zero address.
        Mint = "mint",
        /// Tokens were destroyed: sent to the zero address.
        Burn = "burn",
        /// Native coin wrapped into a token (WETH9 `Deposit`).
        Wrap = "wrap",
        /// Token unwrapped into native coin (WETH9 `Withdrawal`).
        Unwrap = "unwrap",
        /// The native value of a transaction.
        Value = "value",
        /// Native value moved by a contract inside a transaction.
        Internal = "internal",
        /// Consensus-layer withdrawal (EIP-4895).
        Withdrawal = "withdrawal",
        /// The base fee of a transaction's gas (EIP-1559) and of its blobs (EIP-4844). It is burnt,
        /// or goes to a vault (OP stack). Only on request, as all fees: they are found by replay,
        /// or computed (OP stack).
        Fee = "fee",
        /// The part of a transaction's fee that goes to the beneficiary of the block.
        Priority = "priority",
        /// The fee of the OP stack for the data of a transaction on the parent chain.
        L1Fee = "l1-fee",
        /// The operator fee of the OP stack, since Isthmus.
        OperatorFee = "operator-fee",
    }
}

impl Kind {
    /// The parts of the fee of a transaction.
    pub const FEES: [Self; 4] = [Self::Fee, Self::Priority, Self::L1Fee, Self::OperatorFee];

    /// Whether this is a part of a fee.
    pub fn is_fee(self) -> bool {
        Self::FEES.contains(&self)
    }

    /// The kind of a movement of tokens. A transfer from the zero address is a mint, even if it
    /// is also to the zero address.
    #[inline]
    pub fn of_token(from: &Address, to: &Address) -> Self {
        if from.is_zero() {
            Self::Mint
        } else if to.is_zero() {
            Self::Burn
        } else {
            Self::Transfer
        }
    }
}
