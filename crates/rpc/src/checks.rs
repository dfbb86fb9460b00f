//! Checks that all answers must pass, without a recomputed root.

use crate::{
    error::{Error, Place, Result},
    fees::DEPOSIT,
    node::{BLOCK, BLOCK_RECEIPTS, RpcNode},
    wire::{Block, Header, Receipt, Transaction, Withdrawal},
};
use alloy_consensus::{EMPTY_ROOT_HASH, proofs};
use alloy_eips::eip4895;
use alloy_primitives::{Address, B256, Bloom};
use txgraph_base::ChainFamily;
use txgraph_stored::BloomHashes;

impl RpcNode {
    /// The error for an answer that is not of the block that was read before. A block that may be
    /// replaced is read again.
    pub(crate) fn differs(&self, method: &'static str, block: u64, what: String) -> Error {
        match self.may_change(block) {
            true => Error::Replaced {
                endpoint: self.client.endpoint.to_string(),
                method,
                block,
                what,
            },
            false => self.client.invalid(method, Place::block(block), what),
        }
    }

    /// The error for two hashes of the block with one number.
    pub(crate) fn replaced(
        &self,
        method: &'static str,
        block: u64,
        found: B256,
        expected: B256,
    ) -> Error {
        Error::Replaced {
            endpoint: self.client.endpoint.to_string(),
            method,
            block,
            what: format!("its hash is {found}, but was {expected}"),
        }
    }

    /// Checks that headers of adjacent blocks, in ascending order, link.
    pub(crate) fn check_links<'a>(
        &self,
        headers: impl IntoIterator<Item = &'a Header>,
    ) -> Result<()> {
        let mut before: Option<&Header> = None;
        for header in headers {
            if let Some(before) = before
                && before.number + 1 == header.number
                && before.hash != header.parent_hash
            {
                let (found, expected) = (header.parent_hash, before.hash);
                return Err(self.replaced(BLOCK, before.number, found, expected));
            }
            before = Some(header);
        }
        Ok(())
    }

    /// Checks the lists of a block against its header.
    pub(crate) fn check_block(&self, block: &Block) -> Result<()> {
        let header = &block.header;
        let invalid = |what: String| {
            Err(self
                .client
                .invalid(BLOCK, Place::block(header.number), what))
        };
        for (index, transaction) in (0..).zip(&block.transactions) {
            if transaction.transaction_index.is_some_and(|at| at != index) {
                return invalid(format!("transaction {index} has another index"));
            }
        }
        // Servers of chains without such a root return zero.
        let has_receipts = ![EMPTY_ROOT_HASH, B256::ZERO].contains(&block.receipts_root);
        if block.transactions.is_empty() && (has_receipts || header.gas_used.unwrap_or(0) > 0) {
            return invalid(
                "it has no transactions, but its header has gas or receipts".to_owned(),
            );
        }
        // On the OP stack this is the root of something else. All its blocks begin with a deposit,
        // also on chains that are not known.
        let is_op = block
            .transactions
            .first()
            .is_some_and(|it| it.kind == Some(DEPOSIT))
            || self.family == ChainFamily::OpStack;
        if let Some(root) = block.withdrawals_root.filter(|_| !is_op) {
            let withdrawals = block.withdrawals.iter().flatten();
            let withdrawals: Vec<_> = withdrawals.map(to_alloy).collect();
            let computed = proofs::calculate_withdrawals_root(&withdrawals);
            if computed != root {
                return invalid(format!(
                    "its withdrawals have the root {computed}, but its header has {root}"
                ));
            }
        }
        Ok(())
    }

    /// Checks that receipts belong to the transactions of a block, with all logs.
    pub(crate) fn check_receipts(
        &self,
        block: &Block,
        receipts: &[Receipt],
        hashes: &mut BloomHashes,
    ) -> Result<()> {
        let Header { number, hash, .. } = block.header;
        if let Some(other) = receipts.iter().find(|receipt| receipt.block_hash != hash) {
            return Err(self.replaced(BLOCK_RECEIPTS, number, other.block_hash, hash));
        }
        let differs = |what: String| Err(self.differs(BLOCK_RECEIPTS, number, what));
        let (given, expected) = (receipts.len(), block.transactions.len());
        if given != expected {
            return differs(format!("{given} receipts for {expected} transactions"));
        }
        let mut next_log = 0;
        let mut found = Bloom::ZERO;
        for (index, (receipt, transaction)) in (0..).zip(receipts.iter().zip(&block.transactions)) {
            if receipt.transaction_hash != transaction.hash || receipt.transaction_index != index {
                return differs(format!("receipt {index} is of another transaction"));
            }
            self.success(number, receipt)?;
            if transaction.to.is_none() {
                self.created(number, transaction, receipt)?;
            }
            for log in &receipt.logs {
                let is_of_block = log.block_number == number && log.block_hash == hash;
                let is_of_receipt = log.transaction_hash == receipt.transaction_hash;
                if log.removed || log.log_index != next_log || !is_of_block || !is_of_receipt {
                    return differs(format!("a log of receipt {index} is not log {next_log}"));
                }
                next_log += 1;
                hashes.add(&mut found, log.address.as_slice());
                for topic in &log.topics {
                    hashes.add(&mut found, topic);
                }
            }
        }
        // Some chains have logs that the header does not cover, or a filter that contains all.
        match block.header.logs_bloom {
            Some(bloom) if !found.contains(&bloom) && bloom != Bloom::repeat_byte(0xff) => differs(
                "its logs are not all that the bloom filter of its header contains".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Whether a transaction succeeded; `None` before Byzantium.
    pub(crate) fn success(&self, block: u64, receipt: &Receipt) -> Result<Option<bool>> {
        let index = receipt.transaction_index;
        let invalid = |what: String| {
            Err(self
                .client
                .invalid(BLOCK_RECEIPTS, Place::block(block), what))
        };
        match (receipt.status, receipt.root) {
            (Some(status @ 0..=1), _) => Ok(Some(status == 1)),
            (Some(status), _) => invalid(format!("receipt {index} has the status {status}")),
            (None, Some(_)) => Ok(None),
            (None, None) => invalid(format!(
                "receipt {index} has neither a status nor a state root"
            )),
        }
    }

    /// The contract that a transaction creates, which has no recipient.
    pub(crate) fn created(
        &self,
        block: u64,
        transaction: &Transaction,
        receipt: &Receipt,
    ) -> Result<Address> {
        match (receipt.contract_address, receipt.to, receipt.status) {
            (Some(created), None, _) => Ok(created),
            (_, Some(_), _) | (None, None, Some(1)) => Err(self.client.invalid(
                BLOCK_RECEIPTS,
                Place::block(block),
                format!(
                    "transaction {} has no recipient and creates no contract",
                    transaction.hash
                ),
            )),
            (None, None, _) => Ok(transaction.from.create(transaction.nonce)),
        }
    }
}

/// The withdrawal that a root covers.
const fn to_alloy(withdrawal: &Withdrawal) -> eip4895::Withdrawal {
    eip4895::Withdrawal {
        index: withdrawal.index,
        validator_index: withdrawal.validator_index,
        address: withdrawal.address,
        amount: withdrawal.amount,
    }
}
