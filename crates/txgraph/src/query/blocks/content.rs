//! The content of a block, and how it is read.

use alloy_eips::Encodable2718;
use alloy_primitives::{Address, B256, Log};
use alloy_rlp::Encodable;
use std::{collections::BTreeSet, sync::Arc};
use txgraph_nodedb::{Block, Error as NodeError, Header, Receipt, StoredTransaction, Withdrawal};

/// A block of a node.
#[derive(Clone, Debug)]
pub struct NodeBlock {
    /// The header, which has the hash of the block.
    pub header: Arc<Header>,
    /// The headers of the ommers; none since the merge.
    pub ommers: Vec<Header>,
    /// The withdrawals; `None` before Shanghai.
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// The transactions, in order.
    pub transactions: Vec<NodeTransaction>,
    /// The bytes of the block in RLP.
    pub size: u64,
}

/// A transaction of a block.
#[derive(Clone, Debug)]
pub struct NodeTransaction {
    /// The header of its block.
    pub header: Arc<Header>,
    /// Its index in the block.
    pub index: u32,
    /// Its hash.
    pub hash: B256,
    /// Who signed it; of a deposit of the OP stack, its sender.
    pub sender: Address,
    /// The transaction.
    pub transaction: StoredTransaction,
    /// Its receipt, if that was asked for.
    pub receipt: Option<NodeReceipt>,
}

/// The receipt of a transaction.
#[derive(Clone, Debug)]
pub struct NodeReceipt {
    /// Whether it succeeded.
    pub success: bool,
    /// The gas used by this and all earlier transactions of the block.
    pub cumulative_gas_used: u64,
    /// The gas used.
    pub gas_used: u64,
    /// The index in the block of its first log; 0 if [`ReceiptDetail`] leaves out logs.
    pub first_log: u32,
    /// Its logs, in order; empty if [`ReceiptDetail`] leaves them out.
    pub logs: Vec<Log>,
    /// The nonce of the sender before a deposit of the OP stack.
    pub deposit_nonce: Option<u64>,
    /// The version of the receipt of a deposit of the OP stack.
    pub deposit_version: Option<u64>,
}

/// How much of the receipts of transactions is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptDetail {
    /// Nothing. The receipts may be pruned.
    None,
    /// Everything but logs. The index of the first log needs all earlier receipts of the block.
    WithoutLogs,
    /// Everything.
    Whole,
}

impl NodeTransaction {
    /// The price in wei of a unit of gas.
    pub fn gas_price(&self) -> u128 {
        let base_fee = self.header.base_fee_per_gas.unwrap_or_default();
        self.transaction.gas_price(base_fee)
    }

    /// The nonce of the sender before the transaction.
    pub fn nonce(&self) -> u64 {
        match &self.transaction {
            StoredTransaction::Signed(_) => self.transaction.nonce(),
            StoredTransaction::Deposit(_) | StoredTransaction::PostExec(_) => {
                let receipt = self.receipt.as_ref();
                receipt
                    .and_then(|receipt| receipt.deposit_nonce)
                    .unwrap_or_default()
            }
        }
    }

    /// The contract that the transaction creates, whether it succeeds or not.
    pub fn created(&self) -> Option<Address> {
        match self.transaction.to() {
            Some(_) => None,
            None => Some(self.sender.create(self.nonce())),
        }
    }
}

fn count(block: &Block<'_>) -> txgraph_nodedb::Result<u32> {
    u32::try_from(block.body.tx_count).map_err(|_| NodeError::Inconsistent {
        block: block.number,
        what: format!("it has {} transactions", block.body.tx_count),
    })
}

impl From<Header> for NodeBlock {
    /// A header without a body, as nodes show ommers.
    fn from(header: Header) -> Self {
        Self {
            size: size(&header, &[], &[], None),
            header: Arc::new(header),
            ommers: Vec::new(),
            withdrawals: None,
            transactions: Vec::new(),
        }
    }
}

/// Reads a whole block.
pub(super) fn whole(block: &mut Block<'_>, receipts: bool) -> txgraph_nodedb::Result<NodeBlock> {
    let header = Arc::new(block.check_header()?.clone());
    let ommers = block.ommers()?;
    let withdrawals = (header.withdrawals_root.is_some()).then(|| block.withdrawals().to_vec());
    let mut receipts = match receipts {
        true => receipts_until(block, u32::MAX, |_| true)?,
        false => Vec::new(),
    };
    receipts.resize(count(block)? as usize, None);
    let mut transactions = Vec::with_capacity(receipts.len());
    for (index, receipt) in (0..).zip(receipts) {
        transactions.push(one(block, &header, index, receipt)?);
    }
    let size = size(&header, &transactions, &ommers, withdrawals.as_deref());
    Ok(NodeBlock {
        header,
        ommers,
        withdrawals,
        transactions,
        size,
    })
}

/// Reads some transactions of a block; indices that it does not have are left out.
pub(super) fn some(
    block: &mut Block<'_>,
    indices: &BTreeSet<u32>,
    detail: ReceiptDetail,
) -> txgraph_nodedb::Result<Vec<NodeTransaction>> {
    let wanted: Vec<u32> = indices.range(..count(block)?).copied().collect();
    let Some(last) = wanted.last() else {
        return Ok(Vec::new());
    };
    let header = Arc::new(block.check_header()?.clone());
    let receipts = match detail {
        ReceiptDetail::None => vec![None; wanted.len()],
        ReceiptDetail::WithoutLogs => receipts_without_logs(block, &wanted)?,
        ReceiptDetail::Whole => {
            let mut receipts = receipts_until(block, *last, |index| indices.contains(&index))?;
            receipts.retain(Option::is_some);
            receipts
        }
    };
    let of_index = wanted.into_iter().zip(receipts);
    of_index
        .map(|(index, receipt)| one(block, &header, index, receipt))
        .collect()
}

fn one(
    block: &mut Block<'_>,
    header: &Arc<Header>,
    index: u32,
    receipt: Option<NodeReceipt>,
) -> txgraph_nodedb::Result<NodeTransaction> {
    let transaction = block.stored_transaction(index)?;
    Ok(NodeTransaction {
        header: header.clone(),
        index,
        hash: transaction.hash(),
        sender: block.sender(index)?,
        transaction,
        receipt,
    })
}

/// Reads the receipts of a block up to one of them; `None` for those that are not wanted, of which only
/// the gas and the number of logs matter.
fn receipts_until(
    block: &mut Block<'_>,
    last: u32,
    is_wanted: impl Fn(u32) -> bool,
) -> txgraph_nodedb::Result<Vec<Option<NodeReceipt>>> {
    let mut read = Vec::new();
    let (mut gas_before, mut first_log) = (0, 0);
    while let Some(receipt) = block.next_receipt()? {
        let index = receipt.index;
        read.push(match is_wanted(index) {
            true => Some(NodeReceipt {
                first_log,
                logs: receipt.to_logs()?,
                ..without_logs(&receipt, gas_before)
            }),
            false => None,
        });
        gas_before = receipt.cumulative_gas_used;
        first_log += receipt.log_count;
        if index == last {
            break;
        }
    }
    Ok(read)
}

/// Reads receipts of a block without their logs, by ascending index. Of the others only the one before
/// each is read, for the gas.
fn receipts_without_logs(
    block: &mut Block<'_>,
    wanted: &[u32],
) -> txgraph_nodedb::Result<Vec<Option<NodeReceipt>>> {
    let mut read = Vec::with_capacity(wanted.len());
    let mut gas_before = 0;
    for index in wanted {
        block.skip_receipts_before(index.saturating_sub(1));
        while let Some(receipt) = block.next_receipt()? {
            let is_wanted = receipt.index == *index;
            if is_wanted {
                read.push(Some(without_logs(&receipt, gas_before)));
            }
            gas_before = receipt.cumulative_gas_used;
            if is_wanted {
                break;
            }
        }
    }
    Ok(read)
}

fn without_logs(receipt: &Receipt<'_>, gas_before: u64) -> NodeReceipt {
    NodeReceipt {
        success: receipt.success,
        cumulative_gas_used: receipt.cumulative_gas_used,
        gas_used: receipt.cumulative_gas_used - gas_before,
        first_log: 0,
        logs: Vec::new(),
        deposit_nonce: receipt.deposit_nonce,
        deposit_version: receipt.deposit_version,
    }
}

/// The bytes of a block in RLP.
fn size(
    header: &Header,
    transactions: &[NodeTransaction],
    ommers: &[Header],
    withdrawals: Option<&[Withdrawal]>,
) -> u64 {
    let list = |payload: usize| payload + alloy_rlp::length_of_length(payload);
    let transactions = transactions.iter();
    let transactions = transactions.map(|it| it.transaction.network_len()).sum();
    let ommers = ommers.iter().map(|ommer| ommer.fields.length()).sum();
    let withdrawals = withdrawals.map(|all| list(all.iter().map(Encodable::length).sum()));
    let payload = header.fields.length()
        + list(transactions)
        + list(ommers)
        + withdrawals.unwrap_or_default();
    list(payload) as u64
}
