//! Streaming over blocks: one visitor call per block.

use crate::{
    Block, Blocks, BodyIndices, Error, Header, Parts, Result, Scratch, Snapshot,
    tables::{self, Table},
};
use alloy_consensus::constants::{EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS};
use std::ops::ControlFlow;

impl Snapshot<'_> {
    /// Visits blocks in ascending order; buffers of `scratch` are reused between
    /// calls. The visitor takes from each block what it needs: receipts in order,
    /// transactions, hashes and senders by index. `parts` says what it will need;
    /// withdrawals are read only if asked for.
    pub fn for_each_block(
        &self,
        blocks: Blocks,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if blocks.first > blocks.last {
            return Ok(());
        }
        self.check_tip(blocks.last)?;
        let last_body = self.body(blocks.last)?;
        let last_tx = (last_body.first_tx + last_body.tx_count).saturating_sub(1);
        let mut expected_first_tx = None;
        for number in blocks.first..=blocks.last {
            let header = self.header_of(number, scratch, blocks.last)?;
            let body = self.body(number)?;
            self.check_body(&header, body, expected_first_tx)?;
            expected_first_tx = Some(body.first_tx + body.tx_count);
            if parts.withdrawals {
                self.read_withdrawals(&header, scratch)?;
            } else {
                scratch.withdrawals.clear();
            }
            let mut block = Block {
                header,
                body,
                snapshot: self,
                scratch,
                last_tx,
                next_receipt: 0,
                cumulative_gas_used: 0,
            };
            if visit(&mut block)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Free checks of `BlockBodyIndices`.
    fn check_body(&self, header: &Header, body: BodyIndices, first_tx: Option<u64>) -> Result<()> {
        let inconsistent = |what: String| {
            Err(Error::Inconsistent {
                block: header.number,
                what,
            })
        };
        if (header.transactions_root == EMPTY_ROOT_HASH) != (body.tx_count == 0) {
            return inconsistent(format!(
                "BlockBodyIndices counts {} transactions, the header's transactions root says otherwise",
                body.tx_count
            ));
        }
        match first_tx {
            Some(first_tx) if first_tx != body.first_tx => inconsistent(format!(
                "its first transaction is number {}, the block before ends before {first_tx}",
                body.first_tx
            )),
            _ => Ok(()),
        }
    }

    fn read_withdrawals(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        scratch.withdrawals.clear();
        let key = tables::number_key(header.number);
        if let Some(value) = self.txn.get(Table::BlockWithdrawals, &key)? {
            tables::withdrawals(value, &mut scratch.withdrawals)
                .map_err(|what| self.bad_value(Table::BlockWithdrawals, header.number, what))?;
        }
        let announced = header
            .withdrawals_root
            .is_some_and(|root| root != EMPTY_WITHDRAWALS);
        if announced == scratch.withdrawals.is_empty() {
            return Err(Error::Inconsistent {
                block: header.number,
                what: format!(
                    "the database holds {} withdrawals, the header's withdrawals root says otherwise",
                    scratch.withdrawals.len()
                ),
            });
        }
        Ok(())
    }
}
