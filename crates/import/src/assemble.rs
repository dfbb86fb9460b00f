//! From the rows of a chunk to its transfers in total order.

use crate::{
    Error, Role,
    block::{Block, next_block},
    cell::WrongCell,
    file::ImportedFile,
    gaps::{self, Tables},
    native_transfers::Frames,
    order::Indices,
    parts::transactions,
    rows::{Header, Log, Place, Receipt, Rows, Trace, Transaction},
    unique::{describe, same_or, sort},
};
use alloy_primitives::{B256, U256};
use txgraph_stored::StoredChunk;
use txgraph_transfers::{
    BlockRange, BlockTime, Decoder, EIP7708_LOG_ADDRESS, FrameKind, FrameMovement, Gaps, Kind,
    LogView, Position, ScanRequest, TransactionView, Transfer, TransferFilter,
};

/// Decodes the rows of a chunk. Sorts `rows` first.
pub(crate) fn assemble(
    rows: &mut Rows,
    files: &[ImportedFile],
    tables: Tables,
    chain_id: u64,
    chunk: BlockRange,
    request: &ScanRequest,
) -> Result<StoredChunk, Error> {
    let duplicates = sort(rows, files)?;
    let gaps = gaps::of_chunk(rows, files, tables, chunk, &request.filter)?;
    let rows = &*rows;
    let mut decoder = Decoder::new(chain_id, &request.wrapped_native, &request.filter);
    let mut out = StoredChunk::default();
    let mut assembler = Assembler {
        filter: &request.filter,
        files,
        tables,
        decoder: &mut decoder,
        out: &mut out.transfers,
        extra: 0,
        duplicates,
        gaps,
        before: None,
        time_before: None,
        parent_hash: None,
        last_hash: None,
    };
    let mut cursors = [0; 6];
    while let Some(block) = next_block(rows, &mut cursors) {
        assembler.block(&block)?;
        let header = block.headers.first();
        assembler.link(header)?;
        if block.number == chunk.first {
            assembler.parent_hash = header.and_then(|header| header.parent_hash);
        }
        if block.number == chunk.last {
            assembler.last_hash = header.and_then(|header| header.hash);
        }
    }
    let (extra, duplicates, gaps) = (assembler.extra, assembler.duplicates, assembler.gaps);
    (out.parent_hash, out.last_hash) = (assembler.parent_hash, assembler.last_hash);
    out.counts = *decoder.counts();
    // Blocks without rows are part of the answer.
    out.counts.blocks = chunk.blocks();
    out.counts.transfers += extra;
    out.counts.duplicates = duplicates;
    out.counts.gaps = gaps;
    Ok(out)
}

struct Assembler<'a, 'f, 'r> {
    filter: &'a TransferFilter,
    files: &'a [ImportedFile],
    tables: Tables,
    decoder: &'a mut Decoder<'f>,
    out: &'a mut Vec<Transfer>,
    /// Transfers that the decoder did not count.
    extra: u64,
    duplicates: u64,
    gaps: Gaps,
    before: Option<&'r Header>,
    /// The time of the last block that has one, and its row.
    time_before: Option<(BlockTime, Place)>,
    parent_hash: Option<B256>,
    last_hash: Option<B256>,
}

impl<'r> Assembler<'_, '_, 'r> {
    /// Checks that a block follows the one before.
    fn link(&mut self, header: Option<&'r Header>) -> Result<(), Error> {
        let Some(header) = header else {
            return Ok(());
        };
        if let Some(before) = self.before.replace(header)
            && before.place.block + 1 == header.place.block
            && let (Some(hash), Some(parent)) = (before.hash, header.parent_hash)
            && hash != parent
        {
            let parent = describe(self.files, header.place.at);
            return Err(Error::Contradiction {
                block: before.place.block,
                what: "its hash".to_owned(),
                one: describe(self.files, before.place.at),
                other: format!("the parent hash in {parent}"),
            });
        }
        Ok(())
    }

    /// The time of a block. It is an error if the block before has a later one.
    fn time(&mut self, block: &Block<'_>) -> Result<Option<BlockTime>, Error> {
        let Some((time, place)) = block.time() else {
            return Ok(None);
        };
        match self.time_before.replace((time, place)) {
            Some((before, earlier)) if before > time => Err(Error::Row(format!(
                "block {} has time {} in {}, but block {} before it has the later time {} in {}; export \
                 these blocks again, or leave out the table with wrong times",
                place.block,
                time.seconds(),
                describe(self.files, place.at),
                earlier.block,
                before.seconds(),
                describe(self.files, earlier.at)
            ))),
            _ => Ok(Some(time)),
        }
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), Error> {
        let start = self.out.len();
        let time = self.time(block)?;
        self.decoder.begin_block(block.number, time);
        let indices = Indices::new(block);
        // The decoder numbers the logs that it gets; some may be missing.
        let mut log_indices = Vec::with_capacity(block.logs.len());
        let is_logged = block
            .logs
            .iter()
            .any(|log| log.address == EIP7708_LOG_ADDRESS);
        let mut next = 0;
        let mut seen = gaps::Seen::default();
        for (index, parts) in transactions(block, &indices, self.files)? {
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
            let outcome = self.outcome(block, parts.transaction, parts.receipt, &frames)?;
            seen.add(parts.transaction, outcome.is_some(), &frames);
            let views = parts.logs.iter().map(|log| LogView {
                address: &log.address,
                topics: log.topics(),
                data: block.rows.data(log),
            });
            self.decoder
                .transaction(index, outcome.as_ref(), views, self.out);
            for log in parts.logs {
                if log_indices.last().is_some_and(|last| *last >= log.index) {
                    return Err(self.disordered(block, log));
                }
                log_indices.push(log.index);
            }
            for transfer in &mut self.out[first..] {
                transfer.log_index = transfer.log_index.map(|at| log_indices[at as usize]);
                transfer.transaction_hash = hash;
            }
            // Under EIP-7708, logs report these movements.
            if self.filter.internal && !is_logged {
                let (movements, kept) = frames.internal();
                let doubtful = movements.iter().filter(|it| it.is_doubtful);
                self.gaps.doubtful += doubtful.count() as u64;
                self.gaps.burns += kept;
                self.internal(block.number, time, index, hash, &movements);
            }
        }
        seen.finish(block, next, self.tables, self.filter, &mut self.gaps);
        self.withdrawals(block, next);
        self.direct(block, &indices, time)?;
        self.order(block, start)
    }

    /// The value and the outcome of a transaction; `None` if one of them is not known. What
    /// several tables have of it must be the same.
    fn outcome(
        &self,
        block: &Block<'_>,
        own: Option<&Transaction>,
        receipt: Option<&Receipt>,
        frames: &Frames<'_>,
    ) -> Result<Option<TransactionView>, Error> {
        let traced = frames.root().zip(frames.transaction());
        let Some(own) = own else {
            return Ok(traced.map(|(_, view)| view));
        };
        let differs = |what: &str, other: &Place| Error::Contradiction {
            block: other.block,
            what: format!("the {what} of a transaction"),
            one: describe(self.files, own.place.at),
            other: describe(self.files, other.at),
        };
        // Transfers without paths do not say what failed.
        let traced = traced.filter(|(root, _)| block.rows.path(root).is_some());
        let mut success = own.success;
        let outcomes = [
            receipt.and_then(|it| Some((it.success?, &it.place))),
            traced.map(|(root, view)| (view.success, &root.place)),
        ];
        for (other, place) in outcomes.into_iter().flatten() {
            if *success.get_or_insert(other) != other {
                return Err(differs("outcome", place));
            }
        }
        let succeeded = success == Some(true);
        let mut to = own.to;
        if let Some((root, view)) = traced {
            // The address of a created contract may not follow from the nonce.
            if own.lacks_receiver && root.kind == FrameKind::Create {
                to = view.to;
            }
            if own.from != view.from || own.value != view.value || succeeded && to != view.to {
                return Err(differs("value", &root.place));
            }
        }
        let file = &self.files[own.place.at.file];
        let creates = match receipt {
            Some(receipt) => receipt.creates,
            // Where the column is missing, the address follows from the nonce.
            None => !file.has(Role::Created),
        };
        if own.lacks_receiver && succeeded && !creates {
            let problem = "neither a receiver nor a created contract".into();
            let role = Role::To;
            return Err(file.wrong(own.place.at.row, WrongCell { role, problem }));
        }
        Ok(success.map(|success| TransactionView {
            from: own.from,
            to,
            value: own.value,
            mint: U256::ZERO,
            success,
        }))
    }

    /// The error of a log that is not in the order of the transactions.
    fn disordered(&self, block: &Block<'_>, log: &Log) -> Error {
        let others = block.logs.iter().rev();
        let before = others
            .filter(|it| it.index >= log.index)
            .find(|it| it.place.at != log.place.at);
        Error::Contradiction {
            block: block.number,
            what: format!("the order of logs and transactions at log {}", log.index),
            one: before.map_or_else(String::new, |it| describe(self.files, it.place.at)),
            other: describe(self.files, log.place.at),
        }
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
                block_timestamp,
                transaction_index,
                sub_index,
                transaction_hash,
                from_address: movement.from,
                to_address: movement.to,
                value: movement.value,
                kind: movement.kind,
                ..Transfer::first_of(block_number)
            });
        }
    }

    fn offer(&mut self, transfer: Transfer) {
        if self.filter.matches(&transfer) {
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
        let rows = block.direct.chunk_by(|a, b| a.place.at == b.place.at);
        let all = (0..)
            .zip(rows)
            .flat_map(|(number, row)| row.iter().map(move |it| (number, it)));
        for (number, direct) in all {
            let transaction_index =
                match indices.is_alone && direct.transfer.kind != Kind::Withdrawal {
                    true => direct.transfer.log_index.unwrap_or(number),
                    false => indices.of(&direct.place)?,
                };
            let mut transfer = Transfer {
                block_number: block.number,
                block_timestamp: direct.place.time.or(time),
                transaction_index,
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
            if self.matches_direct(&transfer) {
                self.offer(transfer);
            }
        }
        Ok(())
    }

    /// Whether the query includes movements that are not in the tables of tokens.
    fn matches_direct(&self, transfer: &Transfer) -> bool {
        match transfer.kind {
            Kind::Internal => self.filter.internal,
            Kind::Burn if transfer.token_address.is_none() => self.filter.internal,
            kind if kind.is_fee() => self.filter.needs_fees(),
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
fn contradiction(block: &Block<'_>, files: &[ImportedFile], position: Position) -> Error {
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
