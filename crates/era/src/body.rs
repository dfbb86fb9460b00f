//! Bodies of blocks: transactions, ommers and withdrawals by position.

use crate::{error::Malformed, rlp::Items};
use alloy_primitives::{Address, B256, keccak256};
use alloy_trie::root::ordered_trie_root_with_encoder;
use std::ops::Range;
use txgraph_transfers::WithdrawalView;

/// The body of a block. The buffers are used again.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// The transactions as EIP-2718 envelopes.
    pub(crate) transactions: Vec<Range<usize>>,
    /// The RLP list of ommers.
    ommers: Range<usize>,
    /// The RLP of each withdrawal, if the body has a list of them.
    withdrawals: Option<Vec<Range<usize>>>,
}

impl Body {
    /// Decodes a body.
    pub(crate) fn decode(&mut self, rlp: &[u8]) -> Result<(), Malformed> {
        self.transactions.clear();
        let mut fields = Items::of_list(rlp)?;
        let mut transactions = fields.list()?;
        while let Some(item) = transactions.next_item()? {
            // Legacy transactions are lists, others are strings.
            self.transactions.push(match item.is_list {
                true => item.whole(),
                false => item.payload,
            });
        }
        let ommers = fields.item()?;
        if !ommers.is_list {
            return Err("the ommers are not a list");
        }
        self.ommers = ommers.whole();
        let mut withdrawals = self.withdrawals.take().unwrap_or_default();
        withdrawals.clear();
        if fields.is_empty() {
            return Ok(());
        }
        let mut items = fields.list()?;
        while let Some(item) = items.next_item()? {
            withdrawals.push(item.whole());
        }
        self.withdrawals = Some(withdrawals);
        fields.finish()
    }

    /// The transactions root of the header.
    pub(crate) fn transactions_root(&self, rlp: &[u8]) -> B256 {
        root_of(rlp, &self.transactions)
    }

    /// The ommers hash of the header.
    pub(crate) fn ommers_hash(&self, rlp: &[u8]) -> B256 {
        keccak256(&rlp[self.ommers.clone()])
    }

    /// The withdrawals root of the header; `None` before Shanghai.
    pub(crate) fn withdrawals_root(&self, rlp: &[u8]) -> Option<B256> {
        Some(root_of(rlp, self.withdrawals.as_ref()?))
    }

    pub(crate) fn withdrawals(&self, rlp: &[u8]) -> Result<Vec<WithdrawalView>, Malformed> {
        let withdrawals = self.withdrawals.iter().flatten();
        withdrawals
            .map(|range| {
                let mut fields = Items::of(rlp, range.clone()).list()?;
                // Index and validator.
                fields.number()?;
                fields.number()?;
                let address = Address::from(fields.fixed::<20>()?);
                let amount_gwei = fields.number()?;
                fields.finish()?;
                Ok(WithdrawalView {
                    address,
                    amount_gwei,
                })
            })
            .collect()
    }
}

/// The trie root of encoded items.
fn root_of(rlp: &[u8], items: &[Range<usize>]) -> B256 {
    ordered_trie_root_with_encoder(items, |item, out| out.extend_from_slice(&rlp[item.clone()]))
}
