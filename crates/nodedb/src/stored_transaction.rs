//! Transactions of every type that reth and op-reth store, and their EIP-2718 encoding.

use crate::tx_type;
use alloy_consensus::{
    EthereumTxEnvelope, Transaction as _, TxEip4844, Typed2718, transaction::SignerRecoverable,
};
use alloy_eips::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_rlp::{BufMut, RlpDecodable, RlpEncodable};

/// A whole transaction in the type of `alloy-consensus`, without blob sidecar.
pub type SignedTransaction = EthereumTxEnvelope<TxEip4844>;

/// A transaction of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredTransaction {
    /// A transaction with a signature, types 0 to 4.
    Signed(SignedTransaction),
    /// A deposit of the OP stack, type 0x7e.
    Deposit(Deposit),
    /// Refunds of gas that the sequencer adds to a block of the OP stack, type 0x7d. The
    /// content is RLP and is not decoded. It moves no value.
    PostExec(Bytes),
}

/// A transaction that a message on the parent chain caused (OP stack, `deposits.md`). It has
/// neither a signature nor a nonce; the receipt has the nonce.
#[derive(Clone, Debug, PartialEq, Eq, RlpDecodable, RlpEncodable)]
pub struct Deposit {
    /// Identifies the message.
    pub source_hash: B256,
    /// The sender.
    pub from: Address,
    /// The receiver, or a contract creation.
    pub to: TxKind,
    /// The wei that are created for the sender before the transaction runs, also if it fails.
    pub mint: u128,
    /// The value in wei.
    pub value: U256,
    /// The gas limit.
    pub gas_limit: u64,
    /// Whether its gas does not count (before Regolith).
    pub is_system: bool,
    /// The input.
    pub input: Bytes,
}

impl StoredTransaction {
    /// The nonce; 0 for transactions without signature.
    pub fn nonce(&self) -> u64 {
        match self {
            Self::Signed(signed) => signed.nonce(),
            Self::Deposit(_) | Self::PostExec(_) => 0,
        }
    }

    /// The receiver; `None` for a contract creation. The zero address for type 0x7d, as in
    /// the answers of nodes.
    pub fn to(&self) -> Option<Address> {
        match self {
            Self::Signed(signed) => signed.to(),
            Self::Deposit(deposit) => deposit.to.to().copied(),
            Self::PostExec(_) => Some(Address::ZERO),
        }
    }

    /// Calldata or init code; empty for type 0x7d.
    pub fn input(&self) -> &[u8] {
        match self {
            Self::Signed(signed) => signed.input(),
            Self::Deposit(deposit) => &deposit.input,
            Self::PostExec(_) => &[],
        }
    }

    /// The value in wei.
    pub fn value(&self) -> U256 {
        match self {
            Self::Signed(signed) => signed.value(),
            Self::Deposit(deposit) => deposit.value,
            Self::PostExec(_) => U256::ZERO,
        }
    }

    /// The gas limit; 0 for type 0x7d.
    pub fn gas_limit(&self) -> u64 {
        match self {
            Self::Signed(signed) => signed.gas_limit(),
            Self::Deposit(deposit) => deposit.gas_limit,
            Self::PostExec(_) => 0,
        }
    }

    /// The chain id, if the transaction has one.
    pub fn chain_id(&self) -> Option<u64> {
        match self {
            Self::Signed(signed) => signed.chain_id(),
            Self::Deposit(_) | Self::PostExec(_) => None,
        }
    }

    /// The price of a unit of gas in wei at this base fee; 0 for transactions without signature.
    pub fn gas_price(&self, base_fee: u64) -> u128 {
        match self {
            Self::Signed(signed) => signed.effective_gas_price(Some(base_fee)),
            Self::Deposit(_) | Self::PostExec(_) => 0,
        }
    }

    /// The number of blobs.
    pub fn blob_count(&self) -> u64 {
        match self {
            Self::Signed(signed) => signed.blob_count().unwrap_or(0),
            Self::Deposit(_) | Self::PostExec(_) => 0,
        }
    }

    /// The EIP-2718 encoding.
    pub fn envelope(&self) -> Vec<u8> {
        self.encoded_2718()
    }

    /// Decodes the EIP-2718 encoding; `None` if it is none.
    pub fn from_envelope(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&tx_type::OP_DEPOSIT, rlp) => alloy_rlp::decode_exact(rlp).ok().map(Self::Deposit),
            (&tx_type::OP_POST_EXEC, content) => {
                Some(Self::PostExec(Bytes::copy_from_slice(content)))
            }
            _ => SignedTransaction::decode_2718_exact(bytes)
                .ok()
                .map(Self::Signed),
        }
    }

    /// Recovers the sender from the signature. High `s` values are accepted: they were valid
    /// before Homestead (EIP-2), and the node validated the block. A deposit contains its sender,
    /// and type 0x7d has the zero address.
    ///
    /// # Errors
    ///
    /// If there is no sender with this signature.
    pub fn recover_sender(&self) -> Result<Address, &'static str> {
        match self {
            Self::Signed(signed) => signed
                .recover_signer_unchecked()
                .map_err(|_| "no sender can be recovered from its signature"),
            Self::Deposit(deposit) => Ok(deposit.from),
            Self::PostExec(_) => Ok(Address::ZERO),
        }
    }

    /// Keccak-256 of the EIP-2718 encoding.
    pub fn hash(&self) -> B256 {
        match self {
            Self::Signed(signed) => *signed.tx_hash(),
            Self::Deposit(_) | Self::PostExec(_) => self.trie_hash(),
        }
    }
}

impl Typed2718 for StoredTransaction {
    fn ty(&self) -> u8 {
        match self {
            Self::Signed(signed) => signed.ty(),
            Self::Deposit(_) => tx_type::OP_DEPOSIT,
            Self::PostExec(_) => tx_type::OP_POST_EXEC,
        }
    }
}

impl Encodable2718 for StoredTransaction {
    fn encode_2718_len(&self) -> usize {
        match self {
            Self::Signed(signed) => signed.encode_2718_len(),
            Self::Deposit(deposit) => 1 + alloy_rlp::Encodable::length(deposit),
            Self::PostExec(content) => 1 + content.len(),
        }
    }

    fn encode_2718(&self, out: &mut dyn BufMut) {
        match self {
            Self::Signed(signed) => signed.encode_2718(out),
            Self::Deposit(deposit) => {
                out.put_u8(tx_type::OP_DEPOSIT);
                alloy_rlp::Encodable::encode(deposit, out);
            }
            Self::PostExec(content) => {
                out.put_u8(tx_type::OP_POST_EXEC);
                out.put_slice(content);
            }
        }
    }
}
