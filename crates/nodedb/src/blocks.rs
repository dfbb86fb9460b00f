//! Streaming over blocks: one visitor call per block.

use crate::{
    Block, Blocks, BodyIndices, Error, Header, Parts, Result, Scratch, Snapshot,
    tables::{self, Table},
};
use alloy_consensus::constants::{EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS};
use alloy_primitives::B256;
use std::ops::ControlFlow;

impl Snapshot<'_> {
    /// Visits blocks in ascending order; buffers of `scratch` are reused between
    /// calls. The visitor takes from each block what it needs: receipts in order,
    /// transactions, hashes and senders by index. `parts` says what it will need;
    /// withdrawals are read only if asked for.
    ///
    /// That a header has the hash stored beside it is checked by
    /// [`Block::check_header`], for the visitor to call on blocks of which it keeps
    /// something: gas and roots of the others are only held against what was read,
    /// and give errors if wrong.
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
        self.visit(blocks, parts, scratch, visit)
            .map_err(|error| self.settle(error))
    }

    fn visit(
        &self,
        blocks: Blocks,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let last_body = self.body(blocks.last)?;
        let last_tx = (last_body.first_tx + last_body.tx_count).saturating_sub(1);
        let mut before: Option<Place> = None;
        for number in blocks.first..=blocks.last {
            let header = self.unchecked_header_of(number, scratch, blocks.last)?;
            let body = self.body(number)?;
            check_body(&header, body)?;
            if let Some(before) = before {
                before.check_next(&header, body)?;
            }
            before = Some(Place {
                number,
                hash: header.hash,
                end_tx: body.first_tx + body.tx_count,
            });
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
        match before {
            Some(last) => self.check_undisturbed(last.number, last.hash),
            None => Ok(()),
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

/// The block before the one that is looked at.
#[derive(Clone, Copy)]
struct Place {
    number: u64,
    hash: B256,
    /// Number of the first transaction behind it.
    end_tx: u64,
}

impl Place {
    fn check_next(self, header: &Header, body: BodyIndices) -> Result<()> {
        if header.parent_hash != self.hash {
            return inconsistent(
                header,
                format!(
                    "its parent is {}, block {} is {}",
                    header.parent_hash, self.number, self.hash
                ),
            );
        }
        if body.first_tx != self.end_tx {
            return inconsistent(
                header,
                format!(
                    "its first transaction is number {}, the block before ends before {}",
                    body.first_tx, self.end_tx
                ),
            );
        }
        Ok(())
    }
}

/// A free check of `BlockBodyIndices`.
fn check_body(header: &Header, body: BodyIndices) -> Result<()> {
    if (header.transactions_root == EMPTY_ROOT_HASH) == (body.tx_count == 0) {
        return Ok(());
    }
    inconsistent(
        header,
        format!(
            "BlockBodyIndices counts {} transactions, the header's transactions root says otherwise",
            body.tx_count
        ),
    )
}

fn inconsistent<T>(header: &Header, what: String) -> Result<T> {
    Err(Error::Inconsistent {
        block: header.number,
        what,
    })
}
