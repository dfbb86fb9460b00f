//! Scans: a server as stored blocks.

use crate::{
    decode::{Answers, Parts, decode_logs},
    error::{Error, Result},
    logs::{LOGS, LogQuery},
    node::{BLOCK, REORG_BUFFER, RpcNode},
    wire::{Header, Log},
};
use std::time::Duration;
use txgraph_stored::{StoredBlocks, StoredChunk, units};
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockTime, ChainInfo, Kind, ScanRequest, SourceError, SourceFailure,
    Transfer,
};
use txgraph_work::{Retry, RetryStep};

/// Blocks of a chunk whose transactions are read. Such blocks have up to a few MB each.
const BLOCKS: u64 = 32;

/// Blocks of a chunk whose logs are read, with the contracts named.
const BLOCKS_OF_CONTRACTS: u64 = 5_000;

/// Blocks of a chunk whose logs are read, of all contracts.
const BLOCKS_OF_LOGS: u64 = 200;

/// Blocks whose hashes of transactions are in memory at a time, when transfers are completed.
const LISTED_BLOCKS: usize = 256;

/// The attempts at a chunk whose answers are of different blocks, within 16 s: a node that
/// reorganizes, or a server behind the same URL, has the new blocks after a moment.
const REPLACED: Retry = Retry {
    attempts: 6,
    backoff: Duration::from_millis(500),
};

impl RpcNode {
    pub(crate) fn parts(&self, request: &ScanRequest) -> Parts {
        Parts::of(request, self.family, self.options.verify)
    }

    /// Asks for consecutive blocks and what a request needs of them.
    pub(crate) fn answers(&self, blocks: BlockRange, parts: Parts) -> Result<Answers> {
        let blocks = self.blocks(blocks)?;
        let receipts = parts.receipts.then(|| self.receipts(&blocks)).transpose()?;
        let traces = parts.traces.then(|| self.traces(&blocks)).transpose()?;
        Ok(Answers {
            blocks,
            receipts,
            traces,
        })
    }

    /// Repeats work whose answers are of different blocks.
    pub(crate) fn consistent<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let mut attempts = self.retry(REPLACED).start();
        loop {
            match work() {
                Err(error @ Error::Replaced { .. }) => {
                    tracing::debug!(%error, "reading again");
                    match attempts.next(&|| self.client.cancel.is_canceled()) {
                        RetryStep::Retry => {}
                        RetryStep::Exhausted => return Err(error),
                        RetryStep::Stopped => return Err(Error::Interrupted),
                    }
                }
                done => return done,
            }
        }
    }

    fn read_blocks(&self, chunk: BlockRange, request: &ScanRequest) -> Result<StoredChunk> {
        let answers = self.answers(chunk, self.parts(request))?;
        let decoded = self.decode(request, &answers)?;
        let header = |block: Option<&crate::wire::Block>| block.map(|block| block.header.clone());
        Ok(StoredChunk {
            transfers: decoded.transfers,
            counts: decoded.counts,
            parent_hash: header(answers.blocks.first()).map(|header| header.parent_hash),
            last_hash: header(answers.blocks.last()).map(|header| header.hash),
        })
    }

    fn read_logs(&self, chunk: BlockRange, request: &ScanRequest) -> Result<StoredChunk> {
        let query = LogQuery::of(&request.filter);
        let mut logs = match &query {
            Some(query) => self.logs(chunk, query)?,
            None => Vec::new(),
        };
        let headers = self.headers(&self.needed_headers(chunk, request, &logs))?;
        self.check_links(&headers)?;
        if let Some(query) = &query {
            let overlooked = self.overlooked(&headers, &logs, query)?;
            logs.extend(overlooked);
            logs.sort_by_key(|log| (log.block_number, log.log_index));
        }
        self.check_headers(&headers, &logs)?;
        let (mut transfers, counts) = decode_logs(self.chain.chain_id, request, chunk, &logs);
        let at = |number: u64| {
            let at = headers.binary_search_by_key(&number, |header| header.number);
            at.ok().map(|at| &headers[at])
        };
        for transfer in &mut transfers {
            if let Some(header) = at(transfer.block_number) {
                transfer.block_timestamp = BlockTime::new(header.timestamp);
            }
        }
        Ok(StoredChunk {
            transfers,
            counts,
            parent_hash: at(chunk.first).map(|header| header.parent_hash),
            last_hash: at(chunk.last).map(|header| header.hash),
        })
    }

    /// The blocks whose headers are read with logs: the ends of the chunk and of the logs, blocks
    /// without a time, and blocks that may be replaced. Of the newest blocks, all.
    fn needed_headers(&self, chunk: BlockRange, request: &ScanRequest, logs: &[Log]) -> Vec<u64> {
        let mut numbers = vec![chunk.first, chunk.last];
        let ends = [logs.first(), logs.last()].into_iter().flatten();
        numbers.extend(ends.map(|log| log.block_number));
        let is_needed = |log: &&Log| {
            (request.with_times && log.time().is_none()) || self.may_change(log.block_number)
        };
        let needed = logs.iter().filter(is_needed);
        numbers.extend(needed.map(|log| log.block_number));
        let newest = self.tip().saturating_sub(REORG_BUFFER);
        let newest = chunk.first.max(newest)..=chunk.last;
        numbers.extend(newest.filter(|number| self.may_change(*number)));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Compares logs with the headers that were read: hashes, and times, which do not decrease.
    fn check_headers(&self, headers: &[Header], logs: &[Log]) -> Result<()> {
        let mut times: Vec<(u64, u64)> = headers
            .iter()
            .map(|header| (header.number, header.timestamp))
            .collect();
        let mut headers = headers.iter().peekable();
        for log in logs {
            let number = log.block_number;
            while headers.next_if(|header| header.number < number).is_some() {}
            if let Some(header) = headers.peek().filter(|it| it.number == number)
                && header.hash != log.block_hash
            {
                return Err(self.replaced(BLOCK, number, header.hash, log.block_hash));
            }
            times.extend(log.time().map(|time| (number, time)));
        }
        times.sort_unstable();
        times.dedup();
        for pair in times.windows(2) {
            let [(before, earlier), (block, time)] = [pair[0], pair[1]];
            if before == block || earlier > time {
                let what =
                    format!("block {before} has the time {earlier}, and block {block} {time}");
                return Err(self.differs(LOGS, block, what));
            }
        }
        Ok(())
    }

    /// Refuses requests for internal transfers from a block on if the server has no traces, and the
    /// block has no logs of them.
    pub(crate) fn check_tracer(&self, first: u64) -> Result<(), SourceError> {
        if self.is_logged(first)? {
            return Ok(());
        }
        match self.tracer()? {
            Some(_) => Ok(()),
            None => Err(SourceError::Unsupported {
                what: "a request for internal transfers",
                reason: "the server offers neither debug_traceBlockByNumber nor trace_block, which \
                         blocks before Amsterdam need",
            }),
        }
    }

    /// Fills in the hashes and times of transfers that do not have them.
    pub(crate) fn fill(&self, transfers: &mut [Transfer]) -> Result<()> {
        let lacks = |it: &Transfer| lacks_hash(it) || it.block_timestamp.is_none();
        let mut lacking: Vec<&mut Transfer> = transfers.iter_mut().filter(|it| lacks(it)).collect();
        lacking.sort_by_key(|transfer| transfer.block_number);
        let mut numbers: Vec<u64> = lacking.iter().map(|it| it.block_number).collect();
        numbers.dedup();
        let mut lacking = lacking.into_iter().peekable();
        for numbers in numbers.chunks(LISTED_BLOCKS) {
            for block in self.listed(numbers)? {
                let number = block.header.number;
                while let Some(transfer) = lacking.next_if(|it| it.block_number == number) {
                    let time = BlockTime::new(block.header.timestamp);
                    transfer.block_timestamp = transfer.block_timestamp.or(time);
                    if lacks_hash(transfer) {
                        let index = transfer.transaction_index;
                        let hash = block.transactions.get(index as usize).copied();
                        transfer.transaction_hash = Some(hash.ok_or_else(|| {
                            let what = format!("it has no transaction {index}");
                            self.differs(BLOCK, number, what)
                        })?);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a transfer of a transaction has no hash. Withdrawals are of no transaction.
fn lacks_hash(transfer: &Transfer) -> bool {
    transfer.transaction_hash.is_none() && transfer.kind != Kind::Withdrawal
}

impl StoredBlocks for RpcNode {
    type Scratch = ();

    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn available(&self) -> BlockRanges {
        let last = self.tip();
        BlockRange::up_to(last).into()
    }

    fn missing_reason(&self) -> &str {
        "above the newest block of the server"
    }

    fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        match request.blocks.span() {
            Some(blocks) if self.parts(request).traces => self.check_tracer(blocks.first),
            _ => Ok(()),
        }
    }

    fn may_change(&self) -> bool {
        true
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        request: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let query = LogQuery::of(&request.filter);
        let usual = match (self.parts(request).blocks, query) {
            (true, _) => BLOCKS,
            (false, Some(query)) if !query.is_narrow() => BLOCKS_OF_LOGS,
            (false, _) => BLOCKS_OF_CONTRACTS,
        };
        let size = self.options.chunk_blocks.unwrap_or(usual).max(1);
        Ok(units(blocks, size).into())
    }

    fn read(
        &self,
        (): &mut (),
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        Ok(self.consistent(|| match self.parts(request).blocks {
            true => self.read_blocks(chunk, request),
            false => self.read_logs(chunk, request),
        })?)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceFailure> {
        Ok(self.fill(transfers)?)
    }
}
