//! The environment of an execution: block, transaction, message.

use crate::outcome::BlockGas;
use alloy_primitives::{Address, B256, Bytes, U256, address};

/// The caller of system calls (EIP-4788), and the address of the protocol's logs (EIP-7708).
pub(crate) const SYSTEM: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// The fields of a header that execution uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The height.
    pub number: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// The recipient of fees; `COINBASE`.
    pub beneficiary: Address,
    /// The maximum gas of all transactions.
    pub gas_limit: u64,
    /// The gas of the transactions before this one. The rest of the limit must suffice for it.
    pub gas_used: BlockGas,
    /// Wei per gas, burnt; 0 before London (EIP-1559).
    pub base_fee: U256,
    /// `DIFFICULTY` before Paris.
    pub difficulty: U256,
    /// `PREVRANDAO` since Paris (EIP-4399).
    pub prevrandao: B256,
    /// Wei per blob gas (EIP-4844); [`BlobSchedule::base_fee`] computes it.
    pub blob_base_fee: U256,
    /// The maximum number of blobs of all transactions: [`BlobSchedule::max`].
    pub blobs_max: u64,
    /// The slot of the consensus layer (EIP-7843, Amsterdam).
    pub slot_number: u64,
}

/// The number of blobs of a block and how their price changes (EIP-4844, 7691, 7840, 7892).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobSchedule {
    /// The number of blobs per block at which the price stays the same.
    pub target: u64,
    /// The maximum number of blobs per block.
    pub max: u64,
    /// The higher, the more slowly the price changes.
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

    /// The schedule of `fork`, unless the chain's specification has another.
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

    /// The wei per blob gas for the `excess_blob_gas` of a header: `fake_exponential` of EIP-4844.
    /// Saturates far above any fee that can be paid.
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

/// The type of a transaction's envelope (EIP-2718).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TransactionType {
    /// No envelope.
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

/// An address and slots in the access list of a transaction (EIP-2930).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessListItem {
    /// An address that is warm from the start.
    pub address: Address,
    /// The keys of its slots that are warm from the start.
    pub storage_keys: Vec<B256>,
}

/// An authorization by `authority` to run the code of `address` in its name (EIP-7702).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The chain; 0: any chain.
    pub chain_id: U256,
    /// The account with the code; zero removes the delegation.
    pub address: Address,
    /// The authority's nonce.
    pub nonce: u64,
    /// The signer. `None`: the signature is not valid, and the authorization is skipped (it still
    /// costs gas).
    pub authority: Option<Address>,
}

/// A transaction with its recovered sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The type of the envelope.
    pub transaction_type: TransactionType,
    /// The sender, recovered from the signature.
    pub caller: Address,
    /// The recipient. `None`: the transaction creates a contract.
    pub to: Option<Address>,
    /// The nonce, which must be the sender's.
    pub nonce: u64,
    /// The maximum gas.
    pub gas_limit: u64,
    /// The maximum wei per gas; the gas price of types 0 and 1.
    pub max_fee_per_gas: U256,
    /// The maximum wei per gas for the beneficiary; `None` for types 0 and 1.
    pub max_priority_fee_per_gas: Option<U256>,
    /// The wei sent.
    pub value: U256,
    /// Calldata or init code.
    pub input: Bytes,
    /// The chain. `None`: signed for any chain (before EIP-155).
    pub chain_id: Option<u64>,
    /// Types 1 to 4: the access list.
    pub access_list: Vec<AccessListItem>,
    /// Type 3: the versioned hashes of the blobs.
    pub blob_hashes: Vec<B256>,
    /// Type 3: the maximum wei per blob gas.
    pub max_fee_per_blob_gas: U256,
    /// Type 4: the authorizations.
    pub authorizations: Vec<Authorization>,
}

/// A bare call: the message of a frame, without the intrinsic gas, fees and nonces of a
/// transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The caller; also `ORIGIN`.
    pub caller: Address,
    /// The account called. `None`: `input` is init code.
    pub to: Option<Address>,
    /// The wei sent.
    pub value: U256,
    /// Whether the value moves. If not, only `CALLVALUE` returns it (VM tests).
    pub moves_value: bool,
    /// Calldata or init code.
    pub input: Bytes,
    /// The maximum gas.
    pub gas_limit: u64,
    /// The result of `GASPRICE`, in wei per gas; nothing is paid.
    pub gas_price: U256,
    /// Whether changes of the state are forbidden (EIP-214).
    pub is_static: bool,
}
