//! From the rows of a chunk to its transfers in total order.

use crate::{
    Error,
    file::ForeignFile,
    native::Frames,
    order::Indices,
    rows::{At, Direct, Header, Log, Place, Rows, Trace, Transaction},
};
use alloy_primitives::{B256, U256};
use txgraph_stored::StoredChunk;
use txgraph_transfers::{
    BlockRange, BlockTime, Decoder, EIP7708_LOG_ADDRESS, FrameMovement, Kind, LogView, Position, ScanRequest,
    TokenStandard, TransactionView, Transfer, TransferFilter,
};

/// The rows of one block.
pub(crate) struct Block<'r> {
    pub(crate) number: u64,
    rows: &'r Rows,
    logs: &'r [Log],
    pub(crate) traces: &'r [Trace],
    transactions: &'r [Transaction],
    pub(crate) headers: &'r [Header],
    direct: &'r [Direct],
}

/// Decodes the rows of a chunk. Sorts `rows` first.
pub(crate) fn assemble(
    rows: &mut Rows,
    files: &[ForeignFile],
    chain_id: u64,
    chunk: BlockRange,
    request: &ScanRequest,
) -> Result<StoredChunk, Error> {
    let duplicates = sort(rows, files)?;
    let rows = &*rows;
    let mut decoder = Decoder::new(chain_id, &request.wrapped_native, &request.filter);
    let mut out = StoredChunk::default();
    let mut assembler = Assembler {
        filter: &request.filter,
        files,
        decoder: &mut decoder,
        out: &mut out.transfers,
        extra: 0,
        duplicates,
        parent_hash: None,
        last_hash: None,
    };
    let mut cursors = [0; 5];
    while let Some(block) = next_block(rows, &mut cursors) {
        assembler.block(&block)?;
        let header = block.headers.first();
        if block.number == chunk.first {
            assembler.parent_hash = header.and_then(|header| header.parent_hash);
        }
        if block.number == chunk.last {
            assembler.last_hash = header.and_then(|header| header.hash);
        }
    }
    let (extra, duplicates) = (assembler.extra, assembler.duplicates);
    (out.parent_hash, out.last_hash) = (assembler.parent_hash, assembler.last_hash);
    out.counts = *decoder.counts();
    // Blocks without rows are part of the answer.
    out.counts.blocks = chunk.blocks();
    out.counts.transfers += extra;
    out.counts.duplicates = duplicates;
    Ok(out)
}

/// Sorts all rows by block, and removes equal ones. Returns how many were removed.
pub(crate) fn sort(rows: &mut Rows, files: &[ForeignFile]) -> Result<u64, Error> {
    let before = count(rows);
    rows.logs
        .sort_by_key(|log| (log.place.block, log.index, log.place.at));
    rows.traces
        .sort_by_key(|it| (it.place.block, it.order, it.place.at));
    let key = |it: &Transaction| {
        (
            it.place.block,
            it.place.tx.index,
            it.place.tx.hash,
            it.place.at,
        )
    };
    rows.transactions.sort_by_key(key);
    rows.headers.sort_by_key(|it| (it.place.block, it.place.at));
    rows.direct.sort_by_key(|it| (it.place.block, it.place.at));
    let mut logs = std::mem::take(&mut rows.logs);
    let name = |place: &Place| describe(files, place.at);
    unique(&mut logs, |one, other| {
        if (one.place.block, one.index) != (other.place.block, other.index) {
            return Ok(false);
        }
        let same = one.address == other.address
            && one.topics() == other.topics()
            && rows.data(one) == rows.data(other)
            && agree(&one.place, &other.place);
        same_or(
            same,
            || format!("log {}", one.index),
            &one.place,
            &other.place,
            &name,
        )
    })?;
    rows.logs = logs;
    unique(&mut rows.transactions, |one, other| {
        let (a, b) = (one.place.tx, other.place.tx);
        if one.place.block != other.place.block || a.index != b.index {
            return Ok(false);
        }
        let same = a.hash == b.hash
            && (one.from, one.to, one.value, one.success)
                == (other.from, other.to, other.value, other.success);
        let what = || format!("transaction {}", a.index.unwrap_or_default());
        same_or(same, what, &one.place, &other.place, &name)
    })?;
    unique(&mut rows.headers, |one, other| {
        if one.place.block != other.place.block {
            return Ok(false);
        }
        let same = one.hash == other.hash && one.place.time == other.place.time;
        same_or(
            same,
            || "the header".to_owned(),
            &one.place,
            &other.place,
            &name,
        )
    })?;
    Ok(before - count(rows))
}

fn count(rows: &Rows) -> u64 {
    (rows.logs.len() + rows.transactions.len() + rows.headers.len()) as u64
}

/// Whether two rows can belong to the same transaction.
fn agree(one: &Place, other: &Place) -> bool {
    let index = one
        .tx
        .index
        .zip(other.tx.index)
        .is_none_or(|(one, other)| one == other);
    index
        && one
            .tx
            .hash
            .zip(other.tx.hash)
            .is_none_or(|(one, other)| one == other)
}

fn same_or(
    same: bool,
    what: impl FnOnce() -> String,
    one: &Place,
    other: &Place,
    name: &dyn Fn(&Place) -> String,
) -> Result<bool, Error> {
    match same {
        true => Ok(true),
        false => Err(Error::Contradiction {
            block: one.block,
            what: what(),
            one: name(one),
            other: name(other),
        }),
    }
}

/// Removes rows that equal the one before.
fn unique<T>(
    rows: &mut Vec<T>,
    mut is_same: impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut failed = None;
    rows.dedup_by(|later, first| match is_same(first, later) {
        Ok(same) => same,
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    failed.map_or(Ok(()), Err)
}

fn describe(files: &[ForeignFile], at: At) -> String {
    let path = files
        .get(at.file)
        .map_or_else(String::new, |file| file.path.display().to_string());
    format!("{path}, row {}", at.row + 1)
}

/// The rows of the next block that has any.
pub(crate) fn next_block<'r>(rows: &'r Rows, cursors: &mut [usize; 5]) -> Option<Block<'r>> {
    let at = |places: [Option<&Place>; 5]| places.into_iter().flatten().map(|it| it.block).min();
    let number = at([
        rows.logs.get(cursors[0]).map(|it| &it.place),
        rows.traces.get(cursors[1]).map(|it| &it.place),
        rows.transactions.get(cursors[2]).map(|it| &it.place),
        rows.headers.get(cursors[3]).map(|it| &it.place),
        rows.direct.get(cursors[4]).map(|it| &it.place),
    ])?;
    let [logs, traces, transactions, headers, direct] = cursors;
    Some(Block {
        number,
        rows,
        logs: take(&rows.logs, logs, |it| it.place.block == number),
        traces: take(&rows.traces, traces, |it| it.place.block == number),
        transactions: take(&rows.transactions, transactions, |it| {
            it.place.block == number
        }),
        headers: take(&rows.headers, headers, |it| it.place.block == number),
        direct: take(&rows.direct, direct, |it| it.place.block == number),
    })
}

fn take<'r, T>(rows: &'r [T], cursor: &mut usize, is_here: impl Fn(&T) -> bool) -> &'r [T] {
    let rest = &rows[*cursor..];
    let here = &rest[..rest
        .iter()
        .position(|row| !is_here(row))
        .unwrap_or(rest.len())];
    *cursor += here.len();
    here
}

impl<'r> Block<'r> {
    /// What rows contain of their transactions, in the order of appearance: call frames are
    /// the most complete, then logs.
    pub(crate) fn places(&self) -> impl Iterator<Item = &'r Place> + Clone {
        let traces = self.traces.iter().map(|it| &it.place);
        let logs = self.logs.iter().map(|it| &it.place);
        let transactions = self.transactions.iter().map(|it| &it.place);
        traces
            .chain(logs)
            .chain(transactions)
            .chain(self.direct.iter().map(|it| &it.place))
    }

    pub(crate) fn time(&self) -> Option<BlockTime> {
        let header = self.headers.first().and_then(|header| header.place.time);
        header.or_else(|| self.places().find_map(|place| place.time))
    }
}

/// Everything of one transaction.
#[derive(Default)]
struct Parts<'r> {
    transaction: Option<&'r Transaction>,
    logs: Vec<&'r Log>,
    traces: Vec<&'r Trace>,
}

struct Assembler<'a, 'f> {
    filter: &'a TransferFilter,
    files: &'a [ForeignFile],
    decoder: &'a mut Decoder<'f>,
    out: &'a mut Vec<Transfer>,
    /// Transfers that the decoder did not count.
    extra: u64,
    duplicates: u64,
    parent_hash: Option<B256>,
    last_hash: Option<B256>,
}

impl Assembler<'_, '_> {
    fn block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        let start = self.out.len();
        let time = block.time();
        self.decoder.begin_block(block.number, time);
        let indices = Indices::new(block);
        // The decoder numbers the logs that it gets; some may be missing.
        let mut log_indices = Vec::with_capacity(block.logs.len());
        let is_logged = block
            .logs
            .iter()
            .any(|log| log.address == EIP7708_LOG_ADDRESS);
        let mut next = 0;
        for (index, parts) in transactions(block, &indices)? {
            next = index.saturating_add(1);
            let hash = parts.hash(&indices);
            let first = self.out.len();
            let frames = Frames::new(block.rows, parts.traces, |one, other| {
                self.duplicates += 1;
                let content = |it: &Trace| (it.kind, it.from, it.to, it.value, it.failed);
                let same = content(one) == content(other);
                let name = |place: &Place| describe(self.files, place.at);
                let what = || format!("a call frame of transaction {index}");
                same_or(same, what, &one.place, &other.place, &name).map(drop)
            })?;
            let own = parts
                .transaction
                .and_then(view)
                .or_else(|| frames.transaction());
            let views = parts.logs.iter().map(|log| LogView {
                address: &log.address,
                topics: log.topics(),
                data: block.rows.data(log),
            });
            self.decoder
                .transaction(index, own.as_ref(), views, self.out);
            log_indices.extend(parts.logs.iter().map(|log| log.index));
            for transfer in &mut self.out[first..] {
                transfer.log_index = transfer.log_index.map(|at| log_indices[at as usize]);
                transfer.transaction_hash = hash;
            }
            // Under EIP-7708, logs report these movements.
            if self.filter.internal && !is_logged {
                self.internal(block.number, time, index, hash, &frames.internal());
            }
        }
        self.withdrawals(block, next);
        self.direct(block, &indices, time)?;
        self.order(block, start)
    }

    fn internal(
        &mut self,
        block_number: u64,
        block_timestamp: Option<BlockTime>,
        transaction_index: u32,
        transaction_hash: Option<B256>,
        movements: &[FrameMovement],
    ) {
        for (sub_index, movement) in (1..).zip(movements) {
            self.offer(Transfer {
                block_number,
                block_timestamp,
                transaction_index,
                log_index: None,
                sub_index,
                transaction_hash,
                token_address: None,
                from_address: movement.from,
                to_address: movement.to,
                value: movement.value,
                token_id: None,
                token_standard: TokenStandard::Native,
                kind: movement.kind,
            });
        }
    }

    fn offer(&mut self, transfer: Transfer) {
        if self.filter.wants(&transfer) {
            self.extra += 1;
            self.out.push(transfer);
        }
    }

    /// Withdrawals come after the last transaction.
    fn withdrawals(&mut self, block: &Block<'_>, next: u32) {
        let Some(header) = block.headers.first() else {
            return;
        };
        if header.withdrawals.is_empty() {
            return;
        }
        if let Some(last) = header.transactions.and_then(|count| count.checked_sub(1))
            && last >= next
        {
            self.decoder
                .transaction(last, None, std::iter::empty(), self.out);
        }
        self.decoder
            .withdrawals(header.withdrawals.iter().copied(), self.out);
    }

    fn direct(
        &mut self,
        block: &Block<'_>,
        indices: &Indices,
        time: Option<BlockTime>,
    ) -> Result<(), Error> {
        let mut numbered: Vec<(u32, Option<u32>, u32)> = Vec::new();
        for direct in block.direct {
            let mut transfer = Transfer {
                block_number: block.number,
                block_timestamp: direct.place.time.or(time),
                transaction_index: indices.of(&direct.place)?,
                transaction_hash: indices.hash_of(&direct.place),
                ..direct.transfer.clone()
            };
            if !direct.has_sub {
                let key = (transfer.transaction_index, transfer.log_index);
                let known = numbered.iter_mut().find(|(tx, log, _)| (*tx, *log) == key);
                transfer.sub_index = match known {
                    Some((_, _, next)) => {
                        *next += 1;
                        *next - 1
                    }
                    None => {
                        numbered.push((key.0, key.1, 1));
                        0
                    }
                };
            }
            if self.wants_direct(&transfer) {
                self.offer(transfer);
            }
        }
        Ok(())
    }

    /// Whether the question includes movements that are not in the tables of tokens.
    fn wants_direct(&self, transfer: &Transfer) -> bool {
        match transfer.kind {
            Kind::Internal => self.filter.internal,
            Kind::Burn if transfer.token_address.is_none() => self.filter.internal,
            kind if kind.is_fee() => self.filter.wants_fees(),
            _ => true,
        }
    }

    /// Sorts the transfers of a block, and removes equal ones.
    fn order(&mut self, block: &Block<'_>, start: usize) -> Result<(), Error> {
        let here = &mut self.out[start..];
        here.sort_by_key(Transfer::position);
        let twice = here
            .windows(2)
            .any(|pair| pair[0].position() == pair[1].position());
        if !twice {
            return Ok(());
        }
        let mut kept: Vec<Transfer> = Vec::with_capacity(here.len());
        for transfer in self.out.drain(start..) {
            match kept.last() {
                Some(last) if last.position() == transfer.position() => {
                    if *last != transfer {
                        return Err(contradiction(block, self.files, last.position()));
                    }
                    self.duplicates += 1;
                    self.extra = self.extra.saturating_sub(1);
                }
                _ => kept.push(transfer),
            }
        }
        self.out.append(&mut kept);
        Ok(())
    }
}

/// Names the rows behind two different transfers at one position.
fn contradiction(block: &Block<'_>, files: &[ForeignFile], position: Position) -> Error {
    let logs = block.logs.iter().map(|log| (&log.place, Some(log.index)));
    let direct = block
        .direct
        .iter()
        .map(|it| (&it.place, it.transfer.log_index));
    let mut rows = logs.chain(direct).filter(|(_, log)| *log == position.log);
    let mut name = || {
        let row = rows.next();
        row.map_or_else(
            || "another row".to_owned(),
            |(place, _)| describe(files, place.at),
        )
    };
    Error::Contradiction {
        block: block.number,
        what: match position.log {
            Some(log) => format!("log {log}, item {}", position.sub),
            None => format!("movement {} of transaction {}", position.sub, position.tx),
        },
        one: name(),
        other: name(),
    }
}

impl Parts<'_> {
    fn hash(&self, indices: &Indices) -> Option<B256> {
        let transaction = self.transaction.map(|it| &it.place);
        let logs = self.logs.iter().map(|it| &it.place);
        let traces = self.traces.iter().map(|it| &it.place);
        let mut places = transaction.into_iter().chain(logs).chain(traces);
        places.find_map(|place| indices.hash_of(place))
    }
}

/// The transactions of a block, ascending.
fn transactions<'r>(
    block: &Block<'r>,
    indices: &Indices,
) -> Result<impl Iterator<Item = (u32, Parts<'r>)> + use<'r>, Error> {
    // Sorted by index, of which there are few gaps.
    let mut parts: std::collections::BTreeMap<u32, Parts<'r>> = std::collections::BTreeMap::new();
    for transaction in block.transactions {
        parts
            .entry(indices.of(&transaction.place)?)
            .or_default()
            .transaction = Some(transaction);
    }
    for log in block.logs {
        parts
            .entry(indices.of(&log.place)?)
            .or_default()
            .logs
            .push(log);
    }
    for trace in block.traces {
        parts
            .entry(indices.of(&trace.place)?)
            .or_default()
            .traces
            .push(trace);
    }
    Ok(parts.into_iter())
}

/// The value of a transaction, if it is known whether it succeeded.
fn view(transaction: &Transaction) -> Option<TransactionView> {
    Some(TransactionView {
        from: transaction.from,
        to: transaction.to,
        value: transaction.value,
        mint: U256::ZERO,
        success: transaction.success?,
    })
}
