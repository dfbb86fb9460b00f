//! Transactions: the fields that move value, and the signer.

use crate::{error::Malformed, receipts::TYPE_MAX, rlp::Items};
use alloy_consensus::{EthereumTxEnvelope, TxEip4844, transaction::SignerRecoverable};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, U256};

/// The lowest `v` of a legacy signature that contains the chain ID (EIP-155).
const PROTECTED_V: u64 = 35;

/// The fields of a transaction that move value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payment {
    /// `None` for legacy transactions without replay protection.
    pub(crate) chain_id: Option<u64>,
    pub(crate) nonce: u64,
    pub(crate) gas_limit: u64,
    /// `None` for a creation.
    pub(crate) to: Option<Address>,
    pub(crate) value: U256,
}

impl Payment {
    /// Reads the fields of an EIP-2718 envelope.
    pub(crate) fn of(envelope: &[u8]) -> Result<Self, Malformed> {
        let (tx_type, begin) = match envelope {
            [tx_type @ 1..=TYPE_MAX, ..] => (*tx_type, 1),
            // The first byte of a list.
            [0xc0..=0xff, ..] => (0, 0),
            _ => return Err("a transaction of an unknown type"),
        };
        let mut rest = Items::of(envelope, begin..envelope.len());
        let mut fields = rest.list()?;
        rest.finish()?;
        let mut chain_id = None;
        if tx_type != 0 {
            chain_id = Some(fields.number()?);
        }
        let nonce = fields.number()?;
        // Gas price, or priority fee and fee cap since EIP-1559.
        fields.wide_number()?;
        if tx_type > 1 {
            fields.wide_number()?;
        }
        let gas_limit = fields.number()?;
        let to = fields.recipient()?;
        let value = fields.wide_number()?;
        if tx_type == 0 {
            // Input, then `v`.
            fields.string()?;
            let v = fields.number()?;
            chain_id = v.checked_sub(PROTECTED_V).map(|rest| rest / 2);
        }
        Ok(Self {
            chain_id,
            nonce,
            gas_limit,
            to,
            value,
        })
    }
}

/// Recovers the signer of an EIP-2718 envelope. High `s` values are accepted: they were valid
/// before Homestead (EIP-2), and the transactions root covers the signature.
pub(crate) fn signer(envelope: &[u8]) -> Result<Address, Malformed> {
    let mut rest = envelope;
    let transaction = EthereumTxEnvelope::<TxEip4844>::decode_2718(&mut rest)
        .map_err(|_| "a malformed transaction")?;
    if !rest.is_empty() {
        return Err("bytes follow a transaction");
    }
    transaction
        .recover_signer_unchecked()
        .map_err(|_| "no sender can be recovered from the signature of a transaction")
}
