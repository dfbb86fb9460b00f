//! Executed blocks, as they are stored.
//!
//! The chain writer generates effects of transactions. A caller that executes them
//! instead provides receipts, and every account and slot that a block changed, before and
//! after.

#[cfg(feature = "op")]
use super::OpTransaction;
use super::{
    Error,
    encode::{Account, FirstAccount, StoredRow, compact},
};
use alloy_consensus::{
    EthereumReceipt, EthereumTxEnvelope, Header, TxEip4844, TxReceipt, TxType, proofs,
    transaction::SignerRecoverable,
};
use alloy_eips::{eip2718::Decodable2718, eip4895::Withdrawal};
use alloy_primitives::{Address, B256, Bloom, Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use std::collections::BTreeMap;

/// A changed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// The value before the block.
    pub before: T,
    /// The value after the block.
    pub after: T,
}

/// An executed transaction.
#[derive(Clone, Debug)]
pub struct ExecutedTransaction {
    /// The signer.
    pub sender: Address,
    /// The signed transaction.
    pub transaction: EthereumTxEnvelope<TxEip4844>,
    /// Its receipt.
    pub receipt: EthereumReceipt,
}

impl ExecutedTransaction {
    /// The stored rows of the transaction.
    pub(super) fn row(&self) -> StoredRow {
        StoredRow {
            hash: *self.transaction.tx_hash(),
            sender: self.sender,
            transaction: compact(&self.transaction),
            receipt: compact(&self.receipt),
        }
    }
}

/// An executed block.
#[derive(Clone, Debug, Default)]
pub struct ExecutedBlock {
    /// The complete header.
    pub header: Header,
    /// Transactions, in order.
    pub transactions: Vec<ExecutedTransaction>,
    /// The transactions of a block of the OP stack, which has no others.
    #[cfg(feature = "op")]
    pub op_transactions: Vec<OpTransaction>,
    /// Withdrawals, paid after the transactions.
    pub withdrawals: Vec<Withdrawal>,
    /// Changed accounts. `None` means that the account does not exist.
    pub accounts: BTreeMap<Address, Changed<Option<Account>>>,
    /// Changed slots by account and slot.
    pub slots: BTreeMap<(Address, B256), Changed<U256>>,
    /// New code in this block, by hash.
    pub codes: Vec<(B256, Bytes)>,
}

impl ExecutedBlock {
    /// Decodes a block without its state changes, ommers and withdrawals, as archives of a chain
    /// contain it. Senders are recovered from the signatures.
    ///
    /// `header` is RLP, each of `transactions` is an EIP-2718 envelope, and `receipts` is an RLP
    /// list of receipts without blooms: type, status, cumulative gas, logs (the form of eth/69,
    /// EIP-7642).
    pub fn decode(
        mut header: &[u8],
        transactions: &[Bytes],
        receipts: &[u8],
    ) -> Result<Self, Error> {
        let header = Header::decode(&mut header).map_err(|e| undecodable("header", &e))?;
        let number = header.number;
        let receipts = decode_receipts(receipts)
            .map_err(|e| undecodable(&format!("receipts of block {number}"), &e))?;
        if receipts.len() != transactions.len() {
            return Err(Error::Recorded(format!(
                "block {number} has {} transactions and {} receipts",
                transactions.len(),
                receipts.len()
            )));
        }
        let pairs = transactions.iter().zip(receipts).enumerate();
        let transactions = pairs.map(|(index, (bytes, receipt))| {
            let what = || format!("transaction {index} of block {number}");
            let transaction = EthereumTxEnvelope::decode_2718(&mut &bytes[..])
                .map_err(|e| undecodable(&what(), &e))?;
            let sender = transaction
                .recover_signer_unchecked()
                .map_err(|e| undecodable(&what(), &e))?;
            Ok(ExecutedTransaction {
                sender,
                transaction,
                receipt,
            })
        });
        Ok(Self {
            transactions: transactions.collect::<Result<_, _>>()?,
            header,
            ..Self::default()
        })
    }

    /// Returns block 0, which creates all accounts of the start.
    pub(super) fn first(header: Header, accounts: &BTreeMap<Address, FirstAccount>) -> Self {
        let mut block = Self {
            header,
            ..Self::default()
        };
        let mut codes: BTreeMap<B256, Bytes> = BTreeMap::new();
        for (address, first) in accounts {
            let code_hash = (!first.code.is_empty()).then(|| keccak256(&first.code));
            codes.extend(code_hash.map(|hash| (hash, first.code.clone())));
            let account = Account {
                nonce: first.nonce,
                balance: first.balance,
                code_hash,
            };
            let changed = Changed {
                before: None,
                after: Some(account),
            };
            block.accounts.insert(*address, changed);
            for (slot, value) in &first.storage {
                let changed = Changed {
                    before: U256::ZERO,
                    after: *value,
                };
                block.slots.insert((*address, *slot), changed);
            }
        }
        block.codes = codes.into_iter().collect();
        block
    }

    /// The stored rows of every transaction.
    pub(super) fn rows(&self) -> Vec<StoredRow> {
        let rows = self.transactions.iter().map(ExecutedTransaction::row);
        #[cfg(feature = "op")]
        let rows = rows.chain(self.op_transactions.iter().map(OpTransaction::row));
        rows.collect()
    }

    /// Whether the block changes accounts, slots or code.
    pub(super) fn changes_state(&self) -> bool {
        !(self.accounts.is_empty() && self.slots.is_empty() && self.codes.is_empty())
    }
}

fn undecodable(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Recorded(format!("{what}: {error}"))
}

fn decode_receipts(mut rlp: &[u8]) -> alloy_rlp::Result<Vec<EthereumReceipt>> {
    let mut list = alloy_rlp::Header::decode_bytes(&mut rlp, true)?;
    let mut receipts = Vec::new();
    while !list.is_empty() {
        let mut fields = alloy_rlp::Header::decode_bytes(&mut list, true)?;
        let tx_type = u8::decode(&mut fields)?;
        receipts.push(EthereumReceipt {
            tx_type: TxType::try_from(tx_type)
                .map_err(|_| alloy_rlp::Error::Custom("unknown transaction type"))?,
            success: bool::decode(&mut fields)?,
            cumulative_gas_used: u64::decode(&mut fields)?,
            logs: Vec::decode(&mut fields)?,
        });
    }
    Ok(receipts)
}

/// Sets the fields of a header that follow from the transactions alone.
pub(super) fn fill_roots(header: &mut Header, transactions: &[ExecutedTransaction]) {
    let envelopes: Vec<_> = transactions.iter().map(|it| &it.transaction).collect();
    header.transactions_root = proofs::calculate_transaction_root(&envelopes);
    let receipts = transactions
        .iter()
        .map(|it| it.receipt.clone().into_with_bloom());
    let receipts: Vec<_> = receipts.collect();
    header.receipts_root = proofs::calculate_receipt_root(&receipts);
    header.logs_bloom = receipts
        .iter()
        .fold(Bloom::ZERO, |all, it| all | it.logs_bloom);
}
