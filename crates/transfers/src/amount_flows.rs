//! The links between transfers and storage that the code of a transaction made.

use crate::Position;
use alloy_primitives::{Address, U256};

/// A write that changed a storage slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedSlot {
    /// The contract.
    pub contract: Address,
    /// The slot.
    pub slot: U256,
    /// The key of the mapping that the slot belongs to, if it is an address. Of nested mappings, the
    /// innermost key.
    pub key: Option<Address>,
    /// The value before.
    pub before: U256,
    /// The value after.
    pub after: U256,
}

/// One end of a flow in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowEnd {
    /// A transfer.
    Transfer(Position),
    /// The index of a write in [`AmountFlows::writes`].
    Slot(usize),
}

/// The flows of amounts through contracts in one transaction: what was paid to a contract raised
/// which slots, and what a contract paid lowered which slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmountFlows {
    /// The writes that were not reverted, in the order of execution.
    pub writes: Vec<ChangedSlot>,
    /// From where to where amounts flow, within one contract each:
    ///
    /// - from a transfer to a slot: the code added a value to the slot that it computed from the amount;
    /// - from a slot to a transfer: it took a value from the slot, and paid an amount computed from the
    ///   same value or from the slot;
    /// - from a slot to a slot: it moved a value;
    /// - from a transfer to a transfer: it paid an amount that it computed from what it was paid.
    pub flows: Vec<(FlowEnd, FlowEnd)>,
}
