//! The intended effects of a transaction, before it is signed.

use super::{events::Events, signers::Signer};
use alloy_consensus::TxType;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};

/// A change of accounts in addition to the transaction's own value, nonce and fee.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// Native value moved by a contract.
    Moves {
        /// Payer.
        from: Address,
        /// Payee.
        to: Address,
        /// Value in wei.
        value: U256,
    },
    /// An account gets the code with this hash, and this nonce.
    Code {
        /// The account.
        account: Address,
        /// The new nonce.
        nonce: u64,
        /// Keccak-256 of the code.
        code_hash: B256,
    },
}

/// A transaction to be signed, with its effects.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) signer: Signer,
    pub(super) nonce: u64,
    pub(super) to: TxKind,
    pub(super) value: U256,
    pub(super) input: Bytes,
    pub(super) tx_type: TxType,
    pub(super) gas_used: u64,
    pub(super) success: bool,
    pub(super) events: Events,
    pub(super) effects: Vec<Effect>,
    /// The step of a planted scenario.
    pub(super) step: Option<(u64, u32)>,
}

impl Intent {
    /// A plain payment, from which all other transactions are derived.
    pub(super) fn payment(signer: Signer, nonce: u64, to: Address, value: U256) -> Self {
        Self {
            signer,
            nonce,
            to: TxKind::Call(to),
            value,
            input: Bytes::new(),
            tx_type: TxType::Eip1559,
            gas_used: 21_000,
            success: true,
            events: Events::default(),
            effects: Vec::new(),
            step: None,
        }
    }

    /// A call of a contract.
    pub(super) fn call(
        mut self,
        to: Address,
        function: &str,
        arguments: &[B256],
        gas_used: u64,
    ) -> Self {
        let mut input = alloy_primitives::keccak256(function)[..4].to_vec();
        input.extend(super::events::words(arguments));
        self.to = TxKind::Call(to);
        self.value = U256::ZERO;
        self.input = input.into();
        self.gas_used = gas_used;
        self
    }
}
