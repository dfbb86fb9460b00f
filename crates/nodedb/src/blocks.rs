//! Iterates over blocks: one visitor call per block.

use crate::{
    Block, BlockRange, Error, Header, Parts, Result, Scratch, Snapshot,
    tables::{self, Table},
};
use alloy_consensus::{
    constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_WITHDRAWALS},
    proofs,
};
use alloy_primitives::B256;
use std::ops::ControlFlow;
use txgraph_base::ChainFamily;

impl Snapshot<'_> {
    /// Visits blocks in ascending order. `scratch` has buffers that are reused between
    /// calls. The visitor reads from each block what it needs: the header, receipts in
    /// order; transactions, hashes and senders by index. `parts` are the parts that it will
    /// read; withdrawals are only available if they are set.
    ///
    /// At the end the hash of the last block is read again and compared. An unchanged hash
    /// proves that no row of the range was replaced while it was read: a node truncates all
    /// segments before it writes another branch.
    ///
    /// A header costs more than all receipts of a small block, so it is read on demand
    /// ([`Block::header`]). With [`Parts::headers`] all headers are read, must link, and must
    /// match what is read of their block. The visitor should call [`Block::check_header`] or
    /// [`Block::check_header_later`] for blocks of which it uses something: they compare the
    /// header with the stored hash.
    pub fn for_each_block(
        &self,
        blocks: BlockRange,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if blocks.first > blocks.last {
            return Ok(());
        }
        self.check_tip(blocks.last)?;
        // May be left over from a call that failed.
        scratch.unchecked.clear();
        self.visit(blocks, parts, scratch, visit)
            .and_then(|()| self.check_queued(scratch))
            .map_err(|error| self.stale_if_changed(error))
    }

    fn visit(
        &self,
        blocks: BlockRange,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let last_body = self.body(blocks.last)?;
        let last_tx = (last_body.first_tx + last_body.tx_count).saturating_sub(1);
        let mut bodies = self.bodies(blocks)?;
        let mut parent: Option<B256> = None;
        let mut read: Option<(u64, Option<B256>)> = None;
        for number in blocks.first..=blocks.last {
            let body = bodies.next()?;
            scratch.withdrawals.clear();
            let mut block = Block::new(number, body, self, scratch, (blocks.last, last_tx));
            if parts.headers {
                let header = block.header()?;
                let (hash, before) = (header.hash, header.parent_hash);
                if parent.is_some_and(|parent| parent != before) {
                    return Err(unlinked(number, before, parent));
                }
                parent = Some(hash);
            }
            if parts.withdrawals {
                block.read_withdrawals()?;
            }
            let flow = visit(&mut block)?;
            read = Some((number, block.known_hash()));
            if flow.is_break() {
                break;
            }
        }
        match read {
            Some((last, hash)) => self.check_unchanged(last, hash),
            None => Ok(()),
        }
    }
}

#[cold]
fn unlinked(block: u64, parent: B256, before: Option<B256>) -> Error {
    Error::Inconsistent {
        block,
        what: format!(
            "its parent is {parent}, but the previous block is {}",
            before.unwrap_or_default()
        ),
    }
}

impl Block<'_> {
    /// Returns the ommers of the block, compared with the header. None since the merge.
    pub fn ommers(&mut self) -> Result<Vec<Header>> {
        let (number, snapshot) = (self.number, self.snapshot);
        let expected = self.header()?.ommers_hash;
        if expected == EMPTY_OMMER_ROOT_HASH {
            return Ok(Vec::new());
        }
        let value = snapshot
            .txn
            .get(Table::BlockOmmers, &tables::number_key(number))?;
        let ommers = tables::ommers(value.unwrap_or(&[0]))
            .map_err(|what| snapshot.bad_value(Table::BlockOmmers, number, what))?;
        let headers: Vec<_> = ommers.iter().map(|ommer| ommer.fields.clone()).collect();
        if proofs::calculate_ommers_root(&headers) != expected {
            return Err(Error::Inconsistent {
                block: number,
                what: format!(
                    "the {} stored ommers do not have the header's ommers hash",
                    ommers.len()
                ),
            });
        }
        Ok(ommers)
    }

    fn read_withdrawals(&mut self) -> Result<()> {
        let (number, snapshot) = (self.number, self.snapshot);
        let root = self.header()?.withdrawals_root;
        let key = tables::number_key(number);
        if let Some(value) = snapshot.txn.get(Table::BlockWithdrawals, &key)? {
            tables::withdrawals(value, &mut self.scratch.withdrawals)
                .map_err(|what| snapshot.bad_value(Table::BlockWithdrawals, number, what))?;
        }
        // Since Isthmus the field of the OP stack has the storage root of a contract. Its blocks
        // never have withdrawals.
        let has_withdrawals = snapshot.family() == ChainFamily::Ethereum
            && root.is_some_and(|root| root != EMPTY_WITHDRAWALS);
        if has_withdrawals == self.scratch.withdrawals.is_empty() {
            return Err(Error::Inconsistent {
                block: number,
                what: format!(
                    "the {} stored withdrawals contradict the header's withdrawals root",
                    self.scratch.withdrawals.len()
                ),
            });
        }
        Ok(())
    }
}
