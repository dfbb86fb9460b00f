//! Reads a chunk of blocks as transfers.

use crate::{
    archive::Archive,
    error::{Error, Result},
    file::EraFile,
    header::Header,
    receipts::{Outcome, Receipt},
    scratch::{BlockReader, Scratch},
    transaction::{Payment, signer},
};
use alloy_primitives::{Bloom, BloomInput, U256, keccak256};
use txgraph_stored::StoredChunk;
use txgraph_transfers::{
    BlockRange, BlockTime, Decoder, Direction, Kind, ScanRequest, TransactionView, Transfer,
    TransferFilter,
};

/// The largest number of tokens for which the bloom filters of headers are checked.
const TOKENS_MAX: usize = 64;

impl Archive {
    /// Reads blocks that are all in `file`.
    pub(crate) fn read_blocks(
        &self,
        file: &EraFile,
        blocks: BlockRange,
        request: &ScanRequest,
        scratch: &mut Scratch,
    ) -> Result<StoredChunk> {
        let filter = &request.filter;
        let tokens = (!self.verify).then(|| token_blooms(filter)).flatten();
        let with_body = filter.needs_transactions() || filter.needs_withdrawals() || self.verify;
        let mut decoder = Decoder::new(self.chain.chain_id, &request.wrapped_native, filter);
        let mut reader = BlockReader::new(file, blocks, scratch)?;
        let mut chunk = StoredChunk::default();
        for number in blocks.first..=blocks.last {
            let header = reader.header(number)?;
            if let Some(before) = chunk.last_hash.filter(|hash| *hash != header.parent_hash) {
                let parent = header.parent_hash;
                return Err(file.block_error(
                    number,
                    format!("its parent is {parent}, but the block before is {before}"),
                ));
            }
            chunk.parent_hash.get_or_insert(header.parent_hash);
            chunk.last_hash = Some(header.hash);
            let is_excluded = tokens
                .as_ref()
                .is_some_and(|tokens| !tokens.iter().any(|it| header.logs_bloom.contains(it)));
            if is_excluded {
                decoder.skip_block();
                continue;
            }
            reader.receipts(&header)?;
            if with_body {
                reader.body(&header)?;
                require_receipts(file, &header, reader.scratch)?;
            }
            let first_row = chunk.transfers.len();
            decoder.begin_block(number, BlockTime::new(header.timestamp));
            self.decode(&reader, number, filter, &mut decoder, &mut chunk.transfers)?;
            let rows = &mut chunk.transfers[first_row..];
            if request.with_hashes && !rows.is_empty() {
                if !with_body {
                    reader.body(&header)?;
                    require_receipts(file, &header, reader.scratch)?;
                }
                self.fill_block(file, reader.scratch, number, rows)?;
            }
        }
        chunk.counts = *decoder.counts();
        Ok(chunk)
    }

    /// Decodes the block in the scratch.
    fn decode(
        &self,
        reader: &BlockReader<'_>,
        block: u64,
        filter: &TransferFilter,
        decoder: &mut Decoder<'_>,
        transfers: &mut Vec<Transfer>,
    ) -> Result<()> {
        let (file, scratch) = (reader.file, &*reader.scratch);
        let receipts = &scratch.receipts;
        let mut gas_before = 0;
        for (index, receipt) in (0u32..).zip(&receipts.rows) {
            let mut view = None;
            if filter.needs_transactions() {
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                let gas = receipt.cumulative_gas.saturating_sub(gas_before);
                view = self.view(file, scratch, (block, at), (receipt, gas), filter)?;
            }
            gas_before = receipt.cumulative_gas;
            let logs = receipts.logs(&scratch.receipts_rlp, receipt);
            decoder.transaction(index, view.as_ref(), logs, transfers);
        }
        if filter.needs_withdrawals() {
            let withdrawals = scratch.body.withdrawals(&scratch.body_rlp);
            let withdrawals = withdrawals.map_err(|what| file.block_error(block, what))?;
            decoder.withdrawals(withdrawals.into_iter(), transfers);
        }
        Ok(())
    }

    /// The native value that a transaction moves. `None` if it is zero or cannot be wanted, so
    /// that the signature is not recovered.
    fn view(
        &self,
        file: &EraFile,
        scratch: &Scratch,
        (block, index): (u64, usize),
        (receipt, gas): (&Receipt, u64),
        filter: &TransferFilter,
    ) -> Result<Option<TransactionView>> {
        let malformed =
            |what: &str| file.block_error(block, format!("transaction {index}: {what}"));
        let envelope = &scratch.body_rlp[scratch.body.transactions[index].clone()];
        let payment = Payment::of(envelope).map_err(malformed)?;
        if let Some(id) = payment.chain_id.filter(|id| *id != self.chain.chain_id) {
            let ours = self.chain.chain_id;
            return Err(malformed(&format!(
                "it is for chain {id}, but the archive is of chain {ours}"
            )));
        }
        let is_received = |filter: &TransferFilter| match (&filter.touching, payment.to) {
            (Some(touching), Some(to)) if touching.direction == Direction::In => {
                touching.addresses.contains(&to)
            }
            _ => true,
        };
        // The logs of movements inside of transactions include the transaction's value.
        let is_wanted =
            filter.internal || (payment.value >= filter.min_value && is_received(filter));
        if payment.value.is_zero() || !is_wanted {
            return Ok(None);
        }
        match receipt.outcome {
            Outcome::Succeeded => {}
            Outcome::Failed => return Ok(None),
            // A transaction that fails uses all its gas and keeps no log. Before Byzantium there
            // was no other way to fail.
            Outcome::StateRoot if gas < payment.gas_limit || receipt.has_logs() => {}
            Outcome::StateRoot => {
                let what = format!(
                    "block {block}: the receipt of transaction {index} does not contain whether it \
                     succeeded (before Byzantium), and its gas does not show it; ask without the \
                     values of transactions, or for later blocks"
                );
                let path = file.path.clone();
                return Err(Error::Missing { path, what });
            }
        }
        let from = signer(envelope).map_err(malformed)?;
        Ok(Some(TransactionView {
            from,
            to: payment.to.unwrap_or_else(|| from.create(payment.nonce)),
            value: payment.value,
            mint: U256::ZERO,
            success: true,
        }))
    }

    /// Fills in the hashes of transfers of the block in the scratch.
    pub(crate) fn fill_block(
        &self,
        file: &EraFile,
        scratch: &Scratch,
        block: u64,
        rows: &mut [Transfer],
    ) -> Result<()> {
        let mut known = None;
        for row in rows {
            if row.kind == Kind::Withdrawal || row.transaction_hash.is_some() {
                continue;
            }
            let index = row.transaction_index;
            let hash = match known {
                Some((same, hash)) if same == index => hash,
                _ => {
                    let at = usize::try_from(index).unwrap_or(usize::MAX);
                    let Some(range) = scratch.body.transactions.get(at) else {
                        return Err(
                            file.block_error(block, format!("it has no transaction {index}"))
                        );
                    };
                    keccak256(&scratch.body_rlp[range.clone()])
                }
            };
            known = Some((index, hash));
            row.transaction_hash = Some(hash);
        }
        Ok(())
    }
}

/// Checks that the block in the scratch has one receipt for each transaction.
fn require_receipts(file: &EraFile, header: &Header, scratch: &Scratch) -> Result<()> {
    let (receipts, transactions) = (scratch.receipts.rows.len(), scratch.body.transactions.len());
    match receipts == transactions {
        true => Ok(()),
        false => Err(file.block_error(
            header.number,
            format!("it has {receipts} receipts for {transactions} transactions"),
        )),
    }
}

/// The bloom filters of the wanted tokens. `None` if the header of a block cannot exclude its
/// receipts.
fn token_blooms(filter: &TransferFilter) -> Option<Vec<Bloom>> {
    let tokens = filter.only_logs_of()?;
    let few = (1..=TOKENS_MAX).contains(&tokens.len());
    let bloom = |token: &alloy_primitives::Address| Bloom::from(BloomInput::Raw(token.as_slice()));
    few.then(|| tokens.iter().map(bloom).collect())
}
