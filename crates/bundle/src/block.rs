//! The block of a bundle.

use alloy_consensus::{
    Block, BlockBody, EMPTY_OMMER_ROOT_HASH, EthereumTxEnvelope, Header, Transaction, TxEip4844,
    proofs, transaction::SignerRecoverable,
};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes};
use alloy_rlp::{Decodable, Encodable};

/// A block whose transactions, ommers and withdrawals match its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledBlock {
    /// The header.
    pub header: Header,
    /// The hash of the header.
    pub hash: B256,
    /// The signed transactions, in order.
    pub transactions: Vec<EthereumTxEnvelope<TxEip4844>>,
    /// The headers of the ommers; none since the merge.
    pub ommers: Vec<Header>,
    /// The withdrawals; none before Shanghai.
    pub withdrawals: Vec<Withdrawal>,
}

impl BundledBlock {
    /// Decodes the RLP of a block, and proves it by its header.
    ///
    /// `without_ommers` accepts a block that lacks its ommers. The rewards of such a block cannot
    /// be computed.
    ///
    /// # Errors
    ///
    /// A message if the bytes are not a block, or if a part does not match the header.
    pub(crate) fn decode(bytes: &Bytes, without_ommers: bool) -> Result<Self, String> {
        let mut rest = &bytes[..];
        let block = Block::<EthereumTxEnvelope<TxEip4844>>::decode(&mut rest);
        let block = block.map_err(|error| error.to_string())?;
        if !rest.is_empty() {
            return Err(format!("{} bytes follow the block", rest.len()));
        }
        let BlockBody {
            transactions,
            ommers,
            withdrawals,
        } = block.body;
        let header = block.header;
        let root = proofs::calculate_transaction_root(&transactions);
        let withdrawals_root =
            (withdrawals.as_ref()).map(|all| proofs::calculate_withdrawals_root(all));
        let ommers_hash = match ommers.is_empty() {
            true if without_ommers => header.ommers_hash,
            true => EMPTY_OMMER_ROOT_HASH,
            false => proofs::calculate_ommers_root(&ommers),
        };
        for (what, agrees) in [
            ("transactions", root == header.transactions_root),
            ("withdrawals", withdrawals_root == header.withdrawals_root),
            ("ommers", ommers_hash == header.ommers_hash),
        ] {
            if !agrees {
                return Err(format!("its {what} do not match its header"));
            }
        }
        Ok(Self {
            hash: header.hash_slow(),
            header,
            transactions,
            ommers,
            withdrawals: withdrawals.unwrap_or_default().0,
        })
    }

    /// Encodes the block as RLP.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let withdrawals = self.header.withdrawals_root.is_some();
        let block = Block {
            header: self.header.clone(),
            body: BlockBody {
                transactions: self.transactions.clone(),
                ommers: self.ommers.clone(),
                withdrawals: withdrawals.then(|| self.withdrawals.clone().into()),
            },
        };
        let mut bytes = Vec::with_capacity(block.length());
        block.encode(&mut bytes);
        bytes
    }

    /// The receiver of each transaction; `None` if it creates a contract.
    pub fn receivers(&self) -> impl Iterator<Item = Option<Address>> {
        self.transactions.iter().map(Transaction::to)
    }

    /// Recovers the sender of each transaction.
    ///
    /// Signatures with a high `s` are accepted: they were valid before Homestead (EIP-2), and the
    /// block hash proves that the signature is the one in the chain.
    ///
    /// # Errors
    ///
    /// The index of a transaction whose signature has no signer.
    pub fn senders(&self) -> Result<Vec<Address>, usize> {
        let transactions = self.transactions.iter().enumerate();
        transactions
            .map(|(index, signed)| signed.recover_signer_unchecked().map_err(|_| index))
            .collect()
    }
}
