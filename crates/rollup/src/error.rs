//! The errors of this crate.

use alloy_primitives::B256;

/// Why the fees of a block cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The dates of the forks are not known.
    #[error(
        "the fees of chain {chain_id} (genesis {genesis_hash}) cannot be computed: it is not among \
         the chains of the OP stack whose fork dates are built in"
    )]
    UnknownChain {
        /// The chain ID.
        chain_id: u64,
        /// Hash of the first block.
        genesis_hash: B256,
    },
    /// The calldata of the first transaction have no layout that the fork allows.
    #[error(
        "the L1 attributes have {found}, but {fork} applies at time {timestamp} and expects \
         {expected}"
    )]
    Layout {
        /// The layout, or selector and length.
        found: String,
        /// The layout of the fork.
        expected: &'static str,
        /// The fork of the block.
        fork: &'static str,
        /// Time of the block.
        timestamp: u64,
    },
    /// The block does not begin with the deposit that contains the L1 attributes.
    #[error("the first transaction is not the deposit with the L1 attributes")]
    NoAttributes,
    /// The L1 attributes contain no prices.
    #[error("the L1 attributes have no prices: both scalars and the blob base fee are zero")]
    NoPrices,
    /// The header has no base fee.
    #[error("the header has no base fee")]
    NoBaseFee,
    /// A transaction pays less for gas than the base fee.
    #[error("the gas price {price} is below the base fee {base_fee}")]
    PriceBelowBaseFee {
        /// The price in wei.
        price: u128,
        /// The base fee in wei.
        base_fee: u64,
    },
    /// The block contains refunds of gas, which change what transactions paid.
    #[error(
        "the block contains refunds of gas (a transaction of type 0x7d), whose fees are not \
         supported"
    )]
    Refunds,
    /// A fee does not fit in 256 bits.
    #[error("a fee exceeds 256 bits")]
    Overflow,
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
