//! A summary of one transaction: its sender, all movements, and the balances that changed.

mod execution_order;
#[cfg(feature = "rpc")]
mod served;

use super::{
    Location, Trace, TransactionName,
    approvals::{GrantedApproval, granted_by},
};
use crate::{
    Capability, Error, ErrorKind, Hint, NodeReceipt, NodeTransaction, ReceiptDetail, Result,
    Source, query::retry::retry_on_reorg, words::number,
};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use execution_order::execution_order;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use txgraph_abi::Dictionary;
use txgraph_graph::{NetChange, Netting, net_changes, netting};
use txgraph_nodedb::{ChainFamily, StoredTransaction};
use txgraph_replay::{NativeTransfer, TransactionReplay, transaction_transfers};
use txgraph_transfers::{
    BlockTime, Decoder, Fields, TransactionView, Transfer, TransferFilter, WrappedNative,
};

/// A transaction, and everything that it moved.
#[derive(Clone, Debug)]
pub struct TransactionSummary {
    /// The number of its block.
    pub block: u64,
    /// Its index in the block.
    pub index: u32,
    /// Its hash.
    pub hash: B256,
    /// The time of the block, in seconds since 1970.
    pub timestamp: u64,
    /// Who signed it.
    pub sender: Address,
    /// The account that was called; `None`: a contract was created.
    pub to: Option<Address>,
    /// The contract that was created.
    pub created: Option<Address>,
    /// The sender's nonce.
    pub nonce: u64,
    /// The value in wei.
    pub value: U256,
    /// Calldata or init code.
    pub input: Bytes,
    /// Whether it succeeded.
    pub success: bool,
    /// Why it reverted, if it was replayed and the contract returned a text.
    pub reason: Option<String>,
    /// The gas used.
    pub gas_used: u64,
    /// The fee in wei, with the fee for blobs. `None` if it cannot be computed from the block
    /// alone.
    pub fee: Option<U256>,
    /// All movements: first of the native coin, then of tokens, in the order of their logs.
    pub transfers: Vec<Transfer>,
    /// The approvals that it granted or revoked, in the order of their logs. `None`: not known, because
    /// the logs of a server are checked for transfers only.
    pub approvals: Option<Vec<GrantedApproval>>,
    /// Why transfers inside of the transaction are not known; `None` if they are.
    pub without_internal: Option<String>,
    /// The places of the transfers in the order of execution; empty if it is not known.
    pub order: Vec<usize>,
}

impl TransactionSummary {
    /// The transfers in the order of execution, else in their total order.
    pub fn executed(&self) -> impl Iterator<Item = &Transfer> {
        let all = match self.order.is_empty() {
            true => &self.transfers[..],
            false => &[],
        };
        let order = self.order.iter().filter_map(|at| self.transfers.get(*at));
        order.chain(all)
    }

    /// The changed balances: first the balances of the sender, then by address, token and id.
    /// The zero address, which mints come from, is left out.
    pub fn net(&self) -> Vec<NetChange> {
        let mut net = net_changes(&self.transfers);
        net.sort_by_key(|change| change.address != self.sender);
        net
    }

    /// The swaps, with the sender first. A pool that an address swaps with has a swap, too.
    pub fn swaps(&self) -> Netting {
        let mut netting = netting(&self.transfers);
        netting.swaps.sort_by_key(|it| it.address != self.sender);
        netting
    }

    /// The called function with its arguments, or its selector.
    pub fn method(&self, names: &Dictionary) -> Option<String> {
        let selector = self.input.first_chunk::<4>()?;
        self.to?;
        let named = names.call(&self.input).map(|named| named.to_string());
        Some(named.unwrap_or_else(|| hex::encode_prefixed(selector)))
    }

    /// Everything as JSON, amounts as text. `method` is the called function.
    pub fn to_json(&self, method: Option<&str>) -> Value {
        let transfers = self.transfers.iter().map(Fields::moved);
        let Netting {
            swaps, unresolved, ..
        } = self.swaps();
        let net: Vec<_> = self.net().iter().map(net_json).collect();
        json!({
            "transaction_hash": self.hash,
            "block_number": self.block,
            "transaction_index": self.index,
            "block_timestamp": self.timestamp,
            "sender": self.sender,
            "to": self.to,
            "created": self.created,
            "nonce": self.nonce,
            "value": self.value.to_string(),
            "input": self.input,
            "method": method,
            "success": self.success,
            "revert_reason": self.reason,
            "gas_used": self.gas_used,
            "fee": self.fee.map(|fee| fee.to_string()),
            "internal_transfers": self.without_internal.is_none(),
            "without_internal": self.without_internal,
            "swaps": swaps,
            "unresolved": unresolved,
            "approvals": self.approvals,
            "transfers": transfers.collect::<Vec<_>>(),
            "net": net,
        })
    }
}

impl Source {
    /// The block of a transaction and its index there. A hash is looked up as in
    /// [`Self::transaction`].
    ///
    /// # Errors
    ///
    /// If there is no such transaction, or the source does not store transactions.
    pub fn place_of(&self, name: TransactionName) -> Result<(u64, u32)> {
        #[cfg(feature = "rpc")]
        let name = match served::find(self, name)? {
            served::Found::Served(_, found) => return Ok((found.block, found.index)),
            served::Found::Stored(name) => name,
        };
        self.stored_place(name)
    }

    /// Returns a summary of a transaction. Its transfers inside are found in its logs
    /// (EIP-7708), in blocks before Amsterdam by replay, if the source has the state before the
    /// block and the rules of the chain are known.
    ///
    /// A hash is looked up in the node's index, else searched backwards from the tip. A server
    /// finds its own; the server of a head answers for blocks above the newest one in the files.
    ///
    /// # Errors
    ///
    /// If there is no such transaction, or its receipt was pruned.
    pub fn transaction(&self, name: TransactionName) -> Result<TransactionSummary> {
        retry_on_reorg(self, || self.transaction_once(name))
    }

    /// The place of a transaction in the files of a node. A server was asked before.
    fn stored_place(&self, name: TransactionName) -> Result<(u64, u32)> {
        let node = self.node(Capability::Blocks);
        let node = node.map_err(|error| match self.spec().kind() {
            "bundle" => error,
            _ => error.with_hint(Hint::NameNodeOrServer),
        })?;
        let location = Location::find(&self.replay(), node, name)?.0;
        let (block, index) = (location.block, location.index);
        let count = node.db().snapshot()?.body(block)?.tx_count;
        match u64::from(index) < count {
            true => Ok((block, index)),
            false => {
                let transactions = number(count, "transaction", "transactions");
                Err(Error::unavailable(format!(
                    "block {block} has {transactions}"
                )))
            }
        }
    }

    fn transaction_once(&self, name: TransactionName) -> Result<TransactionSummary> {
        #[cfg(feature = "rpc")]
        let name = match served::find(self, name)? {
            served::Found::Served(server, found) => return served::summary(server, *found),
            served::Found::Stored(name) => name,
        };
        let (block, index) = self.stored_place(name)?;
        let places = BTreeSet::from([(block, index)]);
        let mut found = self.transactions_at(&places, ReceiptDetail::Whole)?;
        let found = found.pop_first().map(|(_, found)| found);
        let found = found.and_then(|it| Some((it.receipt.clone()?, it)));
        let (receipt, stored) =
            found.ok_or_else(|| Error::unavailable(format!("block {block} was not read")))?;
        let mut summary = self.stored_summary(&stored, &receipt)?;
        if summary.success && stored.header.block_access_list_hash.is_some() {
            // Since Amsterdam, logs report the transfers inside of the transaction.
        } else if summary.success {
            match self.replayed(block, index) {
                Ok((replay, internal)) => {
                    let moved = internal.iter().map(|it| it.transfer.clone()).collect();
                    add_internal(&mut summary, moved);
                    summary.order =
                        execution_order(&replay, &internal, &summary.transfers, receipt.first_log);
                    summary.created = replay.outcome.created.or(summary.created);
                }
                Err(error) => summary.without_internal = Some(error.message),
            }
        } else if let Ok((replay, _)) = self.replayed(block, index) {
            summary.reason = txgraph_replay::revert_reason(&replay.outcome.output);
        }
        Ok(summary)
    }

    /// Returns the summary of a transaction that the node stores.
    fn stored_summary(
        &self,
        stored: &NodeTransaction,
        receipt: &NodeReceipt,
    ) -> Result<TransactionSummary> {
        let NodeTransaction {
            header,
            transaction,
            ..
        } = stored;
        let deposit = match transaction {
            StoredTransaction::Deposit(deposit) => Some(deposit),
            StoredTransaction::Signed(_) | StoredTransaction::PostExec(_) => None,
        };
        let has_nonce = deposit.is_none() || receipt.deposit_nonce.is_some();
        let created = stored.created().filter(|_| has_nonce);
        if transaction.to().or(created).is_none() && !transaction.value().is_zero() {
            return Err(Error::unavailable(format!(
                "block {}: the contract that deposit {} created is not known: before Regolith, receipts have no \
                 nonce of deposits",
                header.number, stored.index
            )));
        }
        let view = TransactionView {
            from: stored.sender,
            to: transaction.to().or(created).unwrap_or_default(),
            value: transaction.value(),
            mint: U256::from(deposit.map_or(0, |deposit| deposit.mint)),
            success: receipt.success,
        };
        let filter = TransferFilter::with_internal(true);
        let chain_id = self.chain()?.chain_id;
        let mut decoder = Decoder::new(chain_id, &WrappedNative::Auto, &filter);
        decoder.begin_block(header.number, BlockTime::new(header.timestamp));
        let (index, first_log) = (stored.index, receipt.first_log);
        let mut transfers =
            transaction_transfers(&mut decoder, index, Some(&view), &receipt.logs, first_log);
        for transfer in &mut transfers {
            transfer.transaction_hash = Some(stored.hash);
        }
        Ok(TransactionSummary {
            block: header.number,
            index,
            hash: stored.hash,
            timestamp: header.timestamp,
            sender: stored.sender,
            to: transaction.to(),
            created: created.filter(|_| receipt.success),
            nonce: stored.nonce(),
            value: transaction.value(),
            input: Bytes::copy_from_slice(transaction.input()),
            success: receipt.success,
            reason: None,
            gas_used: receipt.gas_used,
            fee: self.fee_of(stored, receipt)?,
            transfers,
            approvals: Some(granted_by(&receipt.logs)),
            without_internal: None,
            order: Vec::new(),
        })
    }

    /// The fee of a transaction, with the fee for blobs, if it can be computed from the block alone.
    fn fee_of(&self, stored: &NodeTransaction, receipt: &NodeReceipt) -> Result<Option<U256>> {
        let blob_gas = U256::from(stored.transaction.blob_count() * DATA_GAS_PER_BLOB);
        let family = self.node(Capability::Blocks)?.db().family();
        let blob_fee = match (&stored.transaction, family) {
            // The sequencer pays for deposits and its own transactions.
            (StoredTransaction::Deposit(_) | StoredTransaction::PostExec(_), _) => Some(U256::ZERO),
            // A part of the fee follows from the prices of the parent chain.
            (_, ChainFamily::OpStack) => None,
            _ if blob_gas.is_zero() => Some(U256::ZERO),
            // The rules of the chain may not be known.
            _ => (self.blob_base_fee(&stored.header).ok().flatten()).map(|price| price * blob_gas),
        };
        let gas = U256::from(stored.gas_price()) * U256::from(receipt.gas_used);
        Ok(blob_fee.map(|blobs| gas + blobs))
    }

    /// The transaction executed again, with the transfers inside of it.
    fn replayed(&self, block: u64, index: u32) -> Result<(TransactionReplay, Vec<NativeTransfer>)> {
        let name = TransactionName::Position { block, index };
        let query = self.replay().transaction(name).trace(Trace::Call);
        let (replay, mismatches) = query.one(None)?;
        if let Some(mismatch) = mismatches.first() {
            return Err(match self.is_sample_chain()? {
                true => {
                    let why = "this is a sample chain, which was not executed";
                    Error::new(ErrorKind::Failed, why)
                }
                false => Error::disagrees(mismatch),
            });
        }
        let internal = replay.internal_transfers(0);
        Ok((replay, internal))
    }
}

/// A changed balance as JSON.
pub(super) fn net_json(change: &NetChange) -> Value {
    let sign = if change.is_gain { "" } else { "-" };
    json!({
        "address": change.address,
        "token_address": change.token,
        "token_id": change.token_id.map(|id| id.to_string()),
        "change": format!("{sign}{}", change.amount),
    })
}

/// Adds the transfers inside of a transaction, in the total order of transfers.
fn add_internal(summary: &mut TransactionSummary, internal: Vec<Transfer>) {
    let time = summary
        .transfers
        .first()
        .and_then(|first| first.block_timestamp);
    let time = time.or(BlockTime::new(summary.timestamp));
    let internal = internal.into_iter().map(|mut transfer| {
        transfer.block_timestamp = time;
        transfer.transaction_hash = Some(summary.hash);
        transfer
    });
    summary.transfers.extend(internal);
    summary.transfers.sort_by_key(Transfer::position);
}
