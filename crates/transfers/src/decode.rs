//! Logs and transactions in, transfers out. STUB: to be written.

use crate::{Transfer, TransferFilter};
use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};

/// A log, borrowed from the receipt it was decoded from.
#[derive(Clone, Copy, Debug)]
pub struct LogView<'a> {
    /// Emitting contract.
    pub address: Address,
    /// At most four topics.
    pub topics: &'a [[u8; 32]],
    /// The rest.
    pub data: &'a [u8],
}

/// What of a transaction moves native value.
#[derive(Clone, Copy, Debug)]
pub struct TransactionView {
    /// Recovered or stored signer.
    pub from: Address,
    /// Receiver; for a creation the address of the created contract.
    pub to: Address,
    /// Wei.
    pub value: U256,
    /// Receipt status. A failed transaction moves no value.
    pub success: bool,
}

/// A consensus-layer withdrawal (EIP-4895).
#[derive(Clone, Copy, Debug)]
pub struct WithdrawalView {
    /// Receiver.
    pub address: Address,
    /// Amount in Gwei, as stored.
    pub amount_gwei: u64,
}

/// Which contracts' `Deposit(address,uint256)` and `Withdrawal(address,uint256)`
/// events mean wrapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WrappedNative {
    /// The chain's known wrapped coin (by chain id); any emitter on unknown chains.
    #[default]
    Auto,
    /// Every emitter of such an event.
    Any,
    /// None: wraps are not synthesised.
    None,
    /// These contracts.
    Only(Vec<Address>),
}

/// What a decoder has seen. Sums of parts equal the whole, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodeCounts {
    /// Blocks.
    pub blocks: u64,
    /// Transactions (receipts).
    pub transactions: u64,
    /// Logs.
    pub logs: u64,
    /// Transfers that met the filter.
    pub transfers: u64,
    /// Logs with a transfer signature whose shape is none of the standards'.
    pub malformed: u64,
    /// Decoded transfers with set bits above an address word.
    pub dirty_addresses: u64,
    /// `Deposit`/`Withdrawal` events left out because the same movement stands
    /// in a `Transfer` of the same transaction.
    pub wraps_deduplicated: u64,
}

/// Turns what happened in a block into transfers. Reused from block to block.
#[derive(Debug)]
pub struct Decoder<'f> {
    _filter: &'f TransferFilter,
}

impl<'f> Decoder<'f> {
    /// A decoder for one chain and one filter.
    pub fn new(_chain_id: u64, _wrapped: &WrappedNative, filter: &'f TransferFilter) -> Self {
        Self { _filter: filter }
    }

    /// Starts a block.
    pub fn begin_block(&mut self, _number: u64, _timestamp: u64) {
        todo!()
    }

    /// Decodes one transaction: its native value, then its logs in order.
    /// Appends the wanted transfers to `out`, hashes left zero. `transaction` may
    /// be left out when the filter does not want the native coin.
    pub fn transaction<'a>(
        &mut self,
        _transaction_index: u32,
        _transaction: Option<&TransactionView>,
        _logs: impl Iterator<Item = LogView<'a>>,
        _out: &mut Vec<Transfer>,
    ) {
        todo!()
    }

    /// Decodes the withdrawals of the block; called after its last transaction.
    pub fn withdrawals(
        &mut self,
        _withdrawals: impl Iterator<Item = WithdrawalView>,
        _out: &mut Vec<Transfer>,
    ) {
        todo!()
    }

    /// What was seen so far.
    pub fn counts(&self) -> &DecodeCounts {
        todo!()
    }
}
