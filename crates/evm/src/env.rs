//! What surrounds execution: the block and the transaction, as the chain has them.

use crate::outcome::BlockGas;
use alloy_primitives::{Address, B256, Bytes, U256, address};

/// Who calls in the protocol's name (EIP-4788), and whose its logs are (EIP-7708).
pub(crate) const SYSTEM: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// Of a header, what execution sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Height.
    pub number: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// Who is paid; `COINBASE`.
    pub beneficiary: Address,
    /// Gas of all transactions at most.
    pub gas_limit: u64,
    /// Gas of the transactions before this one; what is left of the limit must do for it.
    pub gas_used: BlockGas,
    /// Wei per gas, burnt; 0 before London (EIP-1559).
    pub base_fee: U256,
    /// `DIFFICULTY` before Paris.
    pub difficulty: U256,
    /// `PREVRANDAO` since Paris (EIP-4399).
    pub prevrandao: B256,
    /// Wei per blob gas (EIP-4844); [`BlobSchedule::base_fee`] computes it.
    pub blob_base_fee: U256,
    /// Blobs of all transactions at most: [`BlobSchedule::max`].
    pub blobs_max: u64,
    /// Slot of the consensus layer (EIP-7843, Amsterdam).
    pub slot_number: u64,
}

/// How many blobs a block may hold and how their price moves (EIP-4844, 7691, 7840, 7892).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobSchedule {
    /// Blobs per block at which the price stays.
    pub target: u64,
    /// Blobs per block at most.
    pub max: u64,
    /// Higher: the price moves more slowly.
    pub update_fraction: u64,
}

impl BlobSchedule {
    /// EIP-4844.
    pub const CANCUN: Self = Self {
        target: 3,
        max: 6,
        update_fraction: 3_338_477,
    };
    /// EIP-7691.
    pub const PRAGUE: Self = Self {
        target: 6,
        max: 9,
        update_fraction: 5_007_716,
    };

    /// What holds at `fork` unless the chain's specification says otherwise.
    pub const fn of(fork: crate::Fork) -> Self {
        match fork {
            crate::Fork::Prague | crate::Fork::Osaka => Self::PRAGUE,
            crate::Fork::Amsterdam => Self {
                target: 14,
                max: 21,
                update_fraction: 11_684_671,
            },
            _ => Self::CANCUN,
        }
    }

    /// Wei per blob gas when `excess_blob_gas` stands in the header: `fake_exponential`
    /// of EIP-4844. Saturates far above any fee that can be paid.
    pub fn base_fee(self, excess_blob_gas: u64) -> U256 {
        let numerator = U256::from(excess_blob_gas);
        let denominator = U256::from(self.update_fraction);
        let mut output = U256::ZERO;
        let mut term = denominator;
        let mut i = 1u64;
        while !term.is_zero() {
            output = output.saturating_add(term);
            let Some(product) = term.checked_mul(numerator) else {
                return U256::MAX;
            };
            term = product / (denominator * U256::from(i));
            i += 1;
        }
        output / denominator
    }
}

/// The envelope's type (EIP-2718).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TransactionType {
    /// Without an envelope.
    #[default]
    Legacy = 0,
    /// EIP-2930.
    AccessList = 1,
    /// EIP-1559.
    DynamicFee = 2,
    /// EIP-4844.
    Blob = 3,
    /// EIP-7702.
    SetCode = 4,
}

/// An address and slots that a transaction announces (EIP-2930).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessListItem {
    /// Warm from the start.
    pub address: Address,
    /// Its slots that are warm from the start.
    pub storage_keys: Vec<B256>,
}

/// A signed wish of `authority` to run the code of `address` (EIP-7702).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// 0: any chain.
    pub chain_id: U256,
    /// Whose code; zero: none any more.
    pub address: Address,
    /// The authority's nonce.
    pub nonce: u64,
    /// Recovered from the signature; `None`: the signature is not valid, and the
    /// authorization is skipped (it still costs gas).
    pub authority: Option<Address>,
}

/// A transaction whose sender was recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The envelope's type.
    pub transaction_type: TransactionType,
    /// Recovered from the signature.
    pub caller: Address,
    /// `None`: creates a contract.
    pub to: Option<Address>,
    /// Must be the caller's.
    pub nonce: u64,
    /// Gas at most.
    pub gas_limit: u64,
    /// Wei per gas at most; the gas price of types 0 and 1.
    pub max_fee_per_gas: U256,
    /// Wei per gas for the beneficiary at most; `None` for types 0 and 1.
    pub max_priority_fee_per_gas: Option<U256>,
    /// Wei sent along.
    pub value: U256,
    /// Calldata or init code.
    pub input: Bytes,
    /// `None`: signed for any chain (before EIP-155).
    pub chain_id: Option<u64>,
    /// Types 1 to 4.
    pub access_list: Vec<AccessListItem>,
    /// Type 3: versioned hashes of the blobs.
    pub blob_hashes: Vec<B256>,
    /// Type 3: wei per blob gas at most.
    pub max_fee_per_blob_gas: U256,
    /// Type 4.
    pub authorizations: Vec<Authorization>,
}

/// A bare call: what a message is to the frame that runs it, without a transaction's
/// intrinsic gas, fees and nonces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Who calls; `ORIGIN` too.
    pub caller: Address,
    /// Who is called; `None`: `input` is init code.
    pub to: Option<Address>,
    /// Wei sent along.
    pub value: U256,
    /// `false`: the value is seen by `CALLVALUE` but not moved (VM tests).
    pub moves_value: bool,
    /// Calldata or init code.
    pub input: Bytes,
    /// Gas at most.
    pub gas_limit: u64,
    /// Wei per gas, as `GASPRICE` tells it; nothing is paid.
    pub gas_price: U256,
    /// No state may change (EIP-214).
    pub is_static: bool,
}
