//! The fees of the transactions of one block.

use crate::{
    BASE_FEE_VAULT, Error, FeeRules, L1_FEE_VAULT, OPERATOR_FEE_VAULT, Result,
    attributes::{Attributes, Scalars},
    fastlz,
    rules::{Fork, operator_fee},
};
use alloy_primitives::{Address, U256};
use txgraph_transfers::Kind;

/// Gas of a byte that is not zero (EIP-2028), and of a zero.
const GAS_OF_BYTE: u64 = 16;
const GAS_OF_ZERO: u64 = 4;

/// The divisor of values in millionths.
const MILLION: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);

/// The estimated size of a transaction in a batch since Fjord, in millionths of a byte: a linear
/// function of its FastLZ length, at least 100 bytes.
const SIZE_SLOPE: u64 = 836_500;
const SIZE_INTERCEPT: u64 = 42_585_600;
const SIZE_MIN: u64 = 100_000_000;

/// The fields of a header that fees depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Time in Unix seconds.
    pub timestamp: u64,
    /// Base fee in wei.
    pub base_fee: u64,
    /// The receiver of priority fees.
    pub beneficiary: Address,
}

/// Gas use and prices of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid<'a> {
    /// Its EIP-2718 encoding.
    pub envelope: &'a [u8],
    /// The price of a unit of gas, in wei.
    pub price: u128,
    /// The gas that it used.
    pub gas_used: u64,
}

/// One part of a fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The account that receives it.
    pub to: Address,
    /// The amount in wei.
    pub value: U256,
    /// [`Kind::Fee`], [`Kind::Priority`], [`Kind::L1Fee`] or [`Kind::OperatorFee`].
    pub kind: Kind,
}

/// The parts of the fee of a transaction, in wei.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The base fee of its gas.
    pub base: U256,
    /// The payment for its gas beyond that.
    pub priority: U256,
    /// The fee for its data on the parent chain.
    pub l1: U256,
    /// The operator fee.
    pub operator: U256,
}

impl Parts {
    /// Returns the payments that are not zero, in a fixed order.
    pub fn payments(self, beneficiary: Address) -> impl Iterator<Item = Payment> {
        [
            (BASE_FEE_VAULT, self.base, Kind::Fee),
            (beneficiary, self.priority, Kind::Priority),
            (L1_FEE_VAULT, self.l1, Kind::L1Fee),
            (OPERATOR_FEE_VAULT, self.operator, Kind::OperatorFee),
        ]
        .into_iter()
        .filter(|(_, value, _)| !value.is_zero())
        .map(|(to, value, kind)| Payment { to, value, kind })
    }
}

/// The fees of the transactions of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFees {
    header: Header,
    fork: Fork,
    attributes: Attributes,
}

impl BlockFees {
    /// Reads the prices of a block. `calldata` belongs to its first transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] and [`Error::NoPrices`].
    pub fn new(rules: &FeeRules, header: Header, calldata: &[u8]) -> Result<Self> {
        Ok(Self {
            header,
            fork: rules.fork(header.timestamp).0,
            attributes: Attributes::decode(rules, header.timestamp, calldata)?,
        })
    }

    /// The base fee of the block in wei.
    pub const fn base_fee(&self) -> u64 {
        self.header.base_fee
    }

    /// Returns the payments of a transaction that is not a deposit. Transactions that fail pay too.
    ///
    /// # Errors
    ///
    /// [`Error::PriceBelowBaseFee`] and [`Error::Overflow`].
    pub fn payments(&self, paid: &Paid<'_>) -> Result<impl Iterator<Item = Payment>> {
        let gas = U256::from(paid.gas_used);
        let base_fee = self.header.base_fee;
        let above = paid.price.checked_sub(u128::from(base_fee));
        let above = above.ok_or(Error::PriceBelowBaseFee {
            price: paid.price,
            base_fee,
        })?;
        let Attributes {
            operator_scalar,
            operator_constant,
            ..
        } = self.attributes;
        let parts = Parts {
            base: U256::from(base_fee) * gas,
            priority: U256::from(above) * gas,
            l1: self.l1_fee(paid.envelope).ok_or(Error::Overflow)?,
            operator: operator_fee(self.fork, operator_scalar, operator_constant, paid.gas_used)?,
        };
        Ok(parts.payments(self.header.beneficiary))
    }

    /// Returns the fee for the data of a transaction; `None` if it does not fit in 256 bits.
    fn l1_fee(&self, envelope: &[u8]) -> Option<U256> {
        let base_fee = self.attributes.base_fee;
        match self.attributes.scalars {
            Scalars::Bedrock { overhead, scalar } => {
                let gas = data_gas(envelope).checked_add(overhead)?;
                Some(gas.checked_mul(base_fee)?.checked_mul(scalar)? / MILLION)
            }
            Scalars::Ecotone {
                base_fee_scalar,
                blob_base_fee,
                blob_base_fee_scalar,
            } => {
                let per_gas = base_fee.checked_mul(U256::from(base_fee_scalar))?;
                let of_calldata = per_gas.checked_mul(U256::from(GAS_OF_BYTE))?;
                let of_blobs = blob_base_fee.checked_mul(U256::from(blob_base_fee_scalar))?;
                let per_byte = of_calldata.checked_add(of_blobs)?;
                Some(if self.fork >= Fork::Fjord {
                    estimated_size(envelope).checked_mul(per_byte)? / (MILLION * MILLION)
                } else {
                    let divisor = MILLION * U256::from(GAS_OF_BYTE);
                    data_gas(envelope).checked_mul(per_byte)? / divisor
                })
            }
        }
    }
}

/// The gas of these bytes as calldata.
fn data_gas(envelope: &[u8]) -> U256 {
    let zeros = envelope.iter().filter(|byte| **byte == 0).count() as u64;
    let others = envelope.len() as u64 - zeros;
    U256::from(zeros * GAS_OF_ZERO + others * GAS_OF_BYTE)
}

/// The estimated size in a batch, in millionths of a byte.
fn estimated_size(envelope: &[u8]) -> U256 {
    let compressed = u64::from(fastlz::compressed_len(envelope));
    let estimate = (compressed * SIZE_SLOPE).saturating_sub(SIZE_INTERCEPT);
    U256::from(estimate.max(SIZE_MIN))
}

#[cfg(test)]
mod tests;
