//! A summary of one transaction: its sender, all movements, and the balances that changed.

mod execution_order;
#[cfg(feature = "rpc")]
mod served;

use super::{
    Location, Trace, TransactionName,
    approvals::{GrantedApproval, granted_by},
};
use crate::{
    Capability, Error, ErrorKind, Hint, Result, Source, query::retry::retry_on_reorg,
    source::RethNode, words::number,
};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use execution_order::execution_order;
use serde_json::{Value, json};
use txgraph_abi::Dictionary;
use txgraph_graph::{NetChange, Netting, net_changes, netting};
use txgraph_nodedb::{ChainFamily, Scratch};
use txgraph_replay::{
    NativeTransfer, StoredBlock, StoredTransaction, TransactionReplay, transaction_transfers,
};
use txgraph_transfers::{
    BlockRange, BlockTime, Decoder, Fields, TransactionView, Transfer, TransferFilter,
    WrappedNative,
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
        let node = self.node(Capability::Blocks)?;
        let location = Location::find(&self.replay(), node, name)?.0;
        let (block, index) = (location.block, location.index);
        let count = node.db().snapshot()?.body(block)?.tx_count;
        if u64::from(index) < count {
            Ok((block, index))
        } else {
            Err(too_few(block, count))
        }
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

    fn transaction_once(&self, name: TransactionName) -> Result<TransactionSummary> {
        #[cfg(feature = "rpc")]
        let name = match served::find(self, name)? {
            served::Found::Served(server, found) => return served::summary(server, *found),
            served::Found::Stored(name) => name,
        };
        let node = self.node(Capability::Blocks)?;
        let location = Location::find(&self.replay(), node, name)?.0;
        let (block, index) = (location.block, location.index);
        let mut read = Vec::new();
        let blocks = BlockRange::one(block);
        let mut scratch = Scratch::default();
        StoredBlock::read(
            &node.db().snapshot()?,
            blocks,
            &mut scratch,
            false,
            &mut read,
        )?;
        let stored = read.pop();
        let stored =
            stored.ok_or_else(|| Error::unavailable(format!("block {block} was not read")))?;
        let mut summary = self.stored_summary(node, &stored, index)?;
        if summary.success && stored.header.block_access_list_hash.is_some() {
            // Since Amsterdam, logs report the transfers inside of the transaction.
        } else if summary.success {
            match self.replayed(block, index) {
                Ok((replay, internal)) => {
                    let moved = internal.iter().map(|it| it.transfer.clone()).collect();
                    add_internal(&mut summary, moved);
                    summary.order = execution_order(
                        &replay,
                        &internal,
                        &summary.transfers,
                        first_log(&stored, index),
                    );
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
        node: &RethNode,
        stored: &StoredBlock,
        index: u32,
    ) -> Result<TransactionSummary> {
        let header = &stored.header;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let found = stored
            .transactions
            .get(at)
            .ok_or_else(|| too_few(header.number, stored.transactions.len() as u64))?;
        let StoredTransaction { hash, transaction } = found;
        let receipts = stored.receipts.as_deref();
        let receipt = receipts.and_then(|receipts| receipts.get(at));
        let (receipts, receipt) = receipts.zip(receipt).ok_or_else(|| {
            Error::unavailable(format!(
                "the receipts of block {} are not stored: the node pruned or filtered them",
                header.number
            ))
            .with_hint(Hint::ListBlocks)
        })?;
        let before = at.checked_sub(1).and_then(|before| receipts.get(before));
        let gas_before = before.map_or(0, |before| before.cumulative_gas_used);
        let gas_used = receipt.cumulative_gas_used.saturating_sub(gas_before);
        let created = match transaction.to {
            None => Some(transaction.caller.create(transaction.nonce)),
            Some(_) => None,
        };
        let view = TransactionView {
            from: transaction.caller,
            to: transaction.to.or(created).unwrap_or_default(),
            value: transaction.value,
            mint: U256::ZERO,
            success: receipt.success,
        };
        let filter = TransferFilter::with_internal(true);
        let chain_id = self.chain()?.chain_id;
        let mut decoder = Decoder::new(chain_id, &WrappedNative::Auto, &filter);
        decoder.begin_block(header.number, BlockTime::new(header.timestamp));
        let first_log = first_log(stored, index);
        let mut transfers =
            transaction_transfers(&mut decoder, index, Some(&view), &receipt.logs, first_log);
        for transfer in &mut transfers {
            transfer.transaction_hash = Some(*hash);
        }
        let blob_gas = U256::from(transaction.blob_hashes.len() as u64 * DATA_GAS_PER_BLOB);
        let blob_fee = match node.db().family() {
            // A part of the fee follows from the prices of the parent chain.
            ChainFamily::OpStack => None,
            _ if blob_gas.is_zero() => Some(U256::ZERO),
            // The rules of the chain may not be known.
            _ => (self.blob_base_fee(header).ok().flatten()).map(|price| price * blob_gas),
        };
        let base_fee = U256::from(header.base_fee_per_gas.unwrap_or_default());
        let room = transaction.max_fee_per_gas.saturating_sub(base_fee);
        let tip = transaction
            .max_priority_fee_per_gas
            .unwrap_or(room)
            .min(room);
        Ok(TransactionSummary {
            block: header.number,
            index,
            hash: *hash,
            timestamp: header.timestamp,
            sender: transaction.caller,
            to: transaction.to,
            created: created.filter(|_| receipt.success),
            nonce: transaction.nonce,
            value: transaction.value,
            input: transaction.input.clone(),
            success: receipt.success,
            reason: None,
            gas_used,
            fee: blob_fee.map(|blobs| (base_fee + tip) * U256::from(gas_used) + blobs),
            transfers,
            approvals: Some(granted_by(&receipt.logs)),
            without_internal: None,
            order: Vec::new(),
        })
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

/// The number of the first log of a transaction in its block.
fn first_log(stored: &StoredBlock, index: u32) -> u32 {
    let receipts = stored.receipts.iter().flatten();
    let before = receipts.take(usize::try_from(index).unwrap_or(usize::MAX));
    let logs = before.map(|receipt| receipt.logs.len()).sum::<usize>();
    u32::try_from(logs).unwrap_or(u32::MAX)
}

fn too_few(block: u64, count: u64) -> Error {
    let transactions = number(count, "transaction", "transactions");
    Error::unavailable(format!("block {block} has {transactions}"))
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
