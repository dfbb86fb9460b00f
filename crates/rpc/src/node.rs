//! A server of one chain: what it is asked, and how answers are checked.

use crate::{
    client::{Call, Client, REQUEST},
    endpoint::Endpoint,
    error::{Error, Meaning, Place, Result},
    pace::Adaptive,
    trace::{CallTraces, FlatTraces, Traced},
    wire::{Block, HashedBlock, Header, ListedBlock, Quantity, Receipt},
};
use alloy_primitives::B256;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use txgraph_base::{ChainFamily, KnownChain};
use txgraph_transfers::{BlockRange, ChainInfo};
use txgraph_work::{CancelFlag, Next, Retry};

/// Newest blocks that may be replaced, if the server does not name the finalized block.
const REORG_BUFFER: u64 = 128;

/// The blocks of the first `eth_getLogs`.
const FIRST_RANGE: u64 = 2_000;

const NEWEST: &str = "eth_blockNumber";
pub(crate) const BLOCK: &str = "eth_getBlockByNumber";
pub(crate) const BLOCK_RECEIPTS: &str = "eth_getBlockReceipts";
pub(crate) const RECEIPT: &str = "eth_getTransactionReceipt";
const CALL_TRACES: &str = "debug_traceBlockByNumber";
const FLAT_TRACES: &str = "trace_block";

/// Settings of a server as a source.
#[derive(Clone, Debug, Default)]
pub struct RpcOptions {
    /// The chain ID that the server must have.
    pub chain_id: Option<u64>,
    /// The number of blocks that a thread reads at a time; `None`: chosen by the question.
    pub chunk_blocks: Option<u64>,
    /// Whether the receipts root of every block is recomputed.
    pub verify: bool,
    /// Attempts at a request; `None`: seven within a minute.
    pub retry: Option<Retry>,
}

/// A server of one chain.
#[derive(Debug)]
pub struct RpcNode {
    pub(crate) client: Client,
    pub(crate) chain: ChainInfo,
    pub(crate) options: RpcOptions,
    pub(crate) family: ChainFamily,
    /// The newest block when it was last asked for.
    tip: AtomicU64,
    finalized: Option<u64>,
    /// Blocks of one `eth_getLogs`.
    pub(crate) range: Adaptive,
    /// How receipts are asked: 0 not known, 1 one by one, 2 those of a block together.
    receipts: AtomicU8,
    /// The method for traces: 0 not known, 1 `debug_traceBlockByNumber`, 2 `trace_block`.
    tracer: AtomicU8,
}

impl RpcNode {
    /// Asks a server for its chain, its newest block and its newest finalized block.
    ///
    /// # Errors
    ///
    /// If it does not answer, or is of another chain.
    pub fn open(endpoint: Endpoint, options: RpcOptions, cancel: CancelFlag) -> Result<Self> {
        let retry = options.retry.unwrap_or(REQUEST);
        let most = endpoint.settings.range;
        let client = Client::new(endpoint, retry, cancel);
        let chain_id = number(&client, "eth_chainId")?;
        if let Some(expected) = options.chain_id.filter(|expected| *expected != chain_id) {
            return Err(Error::WrongChain {
                endpoint: client.endpoint.to_string(),
                found: chain_id,
                expected,
            });
        }
        let tip = number(&client, NEWEST)?;
        let mut node = Self {
            range: Adaptive::new(FIRST_RANGE.min(most), most),
            chain: ChainInfo {
                chain_id,
                genesis_hash: B256::ZERO,
                name: None,
            },
            family: ChainFamily::Ethereum,
            tip: AtomicU64::new(tip),
            finalized: None,
            client,
            options,
            receipts: AtomicU8::new(0),
            tracer: AtomicU8::new(0),
        };
        let genesis = node.headers(&[0])?;
        node.identify(genesis.first().map_or(B256::ZERO, |header| header.hash))?;
        node.finalized = node.ask_finalized()?;
        tracing::debug!(chain_id, tip, finalized = node.finalized, "server");
        Ok(node)
    }

    /// Checks the hash of block 0.
    fn identify(&mut self, genesis_hash: B256) -> Result<()> {
        let chain_id = self.chain.chain_id;
        let by_id = KnownChain::by_id(chain_id).filter(|chain| chain.name.is_some());
        if let Some(expected) = by_id.and_then(|chain| chain.genesis_hash)
            && expected != genesis_hash
        {
            return Err(Error::WrongGenesis {
                endpoint: self.client.endpoint.to_string(),
                chain_id,
                found: genesis_hash,
                expected,
            });
        }
        let by_genesis = KnownChain::by_genesis(&genesis_hash);
        self.chain.genesis_hash = genesis_hash;
        self.chain.name = by_genesis.and_then(|chain| chain.name).map(str::to_owned);
        if let Some(chain) = by_genesis.or(by_id) {
            self.family = chain.family;
        }
        Ok(())
    }

    /// The newest finalized block; `None` if there is none yet.
    fn ask_finalized(&self) -> Result<Option<u64>> {
        let call = Call::new(json!(["finalized", false]), Place::Chain);
        let mut answers = self.client.ask::<Option<Header>>(BLOCK, &[call])?;
        Ok(match answers.pop() {
            Some(Ok(Some(header))) => Some(header.number.min(self.tip())),
            // Servers of chains without finality.
            _ => self.tip().checked_sub(REORG_BUFFER),
        })
    }

    /// The newest block when the server was opened, or asked for it again.
    pub fn tip(&self) -> u64 {
        self.tip.load(Ordering::Relaxed)
    }

    /// Asks for the newest block again, and returns it. Blocks up to it can be asked for from now
    /// on.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn refresh(&self) -> Result<u64> {
        let tip = number(&self.client, NEWEST)?;
        self.tip.store(tip, Ordering::Relaxed);
        Ok(tip)
    }

    /// The newest block that is not replaced any more; `None` if there is none.
    pub const fn finalized(&self) -> Option<u64> {
        self.finalized
    }

    /// The server, without keys.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.client.endpoint
    }

    /// Whether a block may be replaced.
    pub(crate) fn may_change(&self, block: u64) -> bool {
        self.finalized.is_none_or(|finalized| block > finalized)
    }

    /// The error for two different blocks with one number.
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
            found,
            expected,
        }
    }

    /// Asks one question for each block, and again for those whose answer is `null`: the servers
    /// behind a URL may be a few blocks apart.
    fn by_block<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        blocks: &[u64],
        params: impl Fn(u64) -> Value,
    ) -> Result<Vec<T>> {
        let mut found: Vec<Option<T>> = blocks.iter().map(|_| None).collect();
        let mut attempts = self.options.retry.unwrap_or(REQUEST).start();
        loop {
            let waiting = (0..blocks.len()).filter(|at| found[*at].is_none());
            let waiting: Vec<usize> = waiting.collect();
            let Some(first) = waiting.first() else {
                return Ok(found.into_iter().flatten().collect());
            };
            let call = |at: &usize| Call::new(params(blocks[*at]), Place::block(blocks[*at]));
            let calls: Vec<Call> = waiting.iter().map(call).collect();
            let place = Place::block(blocks[*first]);
            let answers = self.client.ask::<Option<T>>(method, &calls)?;
            for (at, answer) in waiting.into_iter().zip(answers) {
                let place = Place::block(blocks[at]);
                found[at] =
                    answer.map_err(|refusal| self.client.refused(method, place, &refusal))?;
            }
            if found.iter().all(Option::is_some) {
                continue;
            }
            match attempts.next_spread(std::time::Duration::ZERO, &|| {
                self.client.cancel.is_cancelled()
            }) {
                Next::Retry => {}
                Next::Stopped => return Err(Error::Interrupted),
                Next::Exhausted => {
                    return Err(Error::Missing {
                        endpoint: self.client.endpoint.to_string(),
                        method,
                        place,
                        what: "the answer is null".to_owned(),
                    });
                }
            }
        }
    }

    /// Returns the headers of blocks.
    pub(crate) fn headers(&self, blocks: &[u64]) -> Result<Vec<Header>> {
        let headers: Vec<Header> =
            self.by_block(BLOCK, blocks, |number| json!([hex(number), false]))?;
        for (header, number) in headers.iter().zip(blocks) {
            self.check_number(header, *number)?;
        }
        Ok(headers)
    }

    /// Returns the time of a block, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn block_time(&self, block: u64) -> Result<u64> {
        let headers = self.headers(&[block])?;
        let header = headers.first().ok_or_else(|| {
            (self.client).invalid(BLOCK, Place::block(block), "there is no header".to_owned())
        })?;
        Ok(header.timestamp)
    }

    /// Returns blocks with the hashes of their transactions.
    pub(crate) fn listed(&self, blocks: &[u64]) -> Result<Vec<ListedBlock>> {
        let found: Vec<ListedBlock> =
            self.by_block(BLOCK, blocks, |number| json!([hex(number), false]))?;
        for (block, number) in found.iter().zip(blocks) {
            self.check_number(&block.header, *number)?;
        }
        Ok(found)
    }

    fn check_number(&self, header: &Header, number: u64) -> Result<()> {
        match header.number == number {
            true => Ok(()),
            false => Err(self.client.invalid(
                BLOCK,
                Place::block(number),
                format!("it is block {}", header.number),
            )),
        }
    }

    /// Returns consecutive blocks with their transactions. They link.
    pub(crate) fn blocks(&self, blocks: BlockRange) -> Result<Vec<Block>> {
        let numbers: Vec<u64> = (blocks.first..=blocks.last).collect();
        let params = |number| json!([hex(number), true]);
        let found: Vec<Block> = match self.options.verify {
            true => {
                let found: Vec<HashedBlock> = self.by_block(BLOCK, &numbers, params)?;
                let checked = found.into_iter().map(|it| self.checked_hash(it));
                checked.collect::<Result<_>>()?
            }
            false => self.by_block(BLOCK, &numbers, params)?,
        };
        let mut before: Option<&Header> = None;
        for (block, number) in found.iter().zip(numbers) {
            let header = &block.header;
            self.check_number(header, number)?;
            if let Some(before) = before.filter(|before| before.hash != header.parent_hash) {
                let (found, expected) = (header.parent_hash, before.hash);
                return Err(self.replaced(BLOCK, before.number, found, expected));
            }
            for (index, transaction) in (0..).zip(&block.transactions) {
                if transaction.transaction_index.is_some_and(|at| at != index) {
                    return Err(self.client.invalid(
                        BLOCK,
                        Place::block(number),
                        format!("transaction {index} has another index"),
                    ));
                }
            }
            before = Some(header);
        }
        Ok(found)
    }

    /// Compares the hash of a block with that of its header.
    fn checked_hash(&self, HashedBlock { block, computed }: HashedBlock) -> Result<Block> {
        let Header { number, hash, .. } = block.header;
        match computed == hash {
            true => Ok(block),
            false => Err(self.client.invalid(
                BLOCK,
                Place::block(number),
                format!("its hash is {hash}, but its header has the hash {computed}"),
            )),
        }
    }

    /// Returns the receipts of blocks, checked against the blocks.
    pub(crate) fn receipts(&self, blocks: &[Block]) -> Result<Vec<Vec<Receipt>>> {
        let numbers: Vec<u64> = blocks
            .iter()
            .filter(|block| !block.transactions.is_empty())
            .map(|block| block.header.number)
            .collect();
        let mut of_blocks = self.block_receipts(&numbers)?.map(Vec::into_iter);
        let mut all = Vec::new();
        for block in blocks {
            let receipts = match &mut of_blocks {
                _ if block.transactions.is_empty() => Vec::new(),
                Some(found) => found.next().unwrap_or_default(),
                None => self.single_receipts(block)?,
            };
            self.check_receipts(block, &receipts)?;
            all.push(receipts);
        }
        Ok(all)
    }

    /// Asks for the receipts of whole blocks. `None` if the server does not have the method.
    fn block_receipts(&self, blocks: &[u64]) -> Result<Option<Vec<Vec<Receipt>>>> {
        let Some(first) = blocks.first() else {
            return Ok(Some(Vec::new()));
        };
        if self.receipts.load(Ordering::Relaxed) == 0 {
            let call = Call::new(json!([hex(*first)]), Place::block(*first));
            let mut answers = self.client.ask::<IgnoredAny>(BLOCK_RECEIPTS, &[call])?;
            let known = match answers.pop() {
                Some(Err(refusal)) if refusal.meaning() == Meaning::NoMethod => {
                    tracing::info!(%refusal, "receipts are asked one by one");
                    1
                }
                _ => 2,
            };
            self.receipts.store(known, Ordering::Relaxed);
        }
        if self.receipts.load(Ordering::Relaxed) == 1 {
            return Ok(None);
        }
        let receipts = self.by_block(BLOCK_RECEIPTS, blocks, |number| json!([hex(number)]))?;
        Ok(Some(receipts))
    }

    fn single_receipts(&self, block: &Block) -> Result<Vec<Receipt>> {
        let place = Place::block(block.header.number);
        let calls: Vec<Call> = block
            .transactions
            .iter()
            .map(|transaction| Call::new(json!([transaction.hash]), place))
            .collect();
        let answers = self.client.ask::<Option<Receipt>>(RECEIPT, &calls)?;
        let receipt = |answer: Result<Option<Receipt>, _>| match answer {
            Ok(Some(receipt)) => Ok(receipt),
            Ok(None) => Err(Error::Missing {
                endpoint: self.client.endpoint.to_string(),
                method: RECEIPT,
                place,
                what: "the answer is null".to_owned(),
            }),
            Err(refusal) => Err(self.client.refused(RECEIPT, place, &refusal)),
        };
        answers.into_iter().map(receipt).collect()
    }

    fn check_receipts(&self, block: &Block, receipts: &[Receipt]) -> Result<()> {
        let number = block.header.number;
        let invalid = |what: String| {
            Err(self
                .client
                .invalid(BLOCK_RECEIPTS, Place::block(number), what))
        };
        let (given, expected) = (receipts.len(), block.transactions.len());
        if given != expected {
            return invalid(format!("{given} receipts for {expected} transactions"));
        }
        let mut next_log = 0;
        for (index, (receipt, transaction)) in (0..).zip(receipts.iter().zip(&block.transactions)) {
            if receipt.block_hash != block.header.hash {
                let (found, expected) = (receipt.block_hash, block.header.hash);
                return Err(self.replaced(BLOCK_RECEIPTS, number, found, expected));
            }
            if receipt.transaction_hash != transaction.hash || receipt.transaction_index != index {
                return invalid(format!("receipt {index} is of another transaction"));
            }
            for log in &receipt.logs {
                if log.removed || log.log_index != next_log || log.block_number != number {
                    return invalid(format!("a log of receipt {index} is not log {next_log}"));
                }
                next_log += 1;
            }
        }
        Ok(())
    }

    /// Finds out how the server traces blocks. `None` if it does not.
    pub(crate) fn tracer(&self) -> Result<Option<&'static str>> {
        let known = match self.tracer.load(Ordering::Relaxed) {
            0 => {
                // Blocks of any age; older states may be missing.
                let probe = self.tip();
                let mut known = 3;
                for (number, method) in [(1, CALL_TRACES), (2, FLAT_TRACES)] {
                    let call = Call::new(trace_params(method, probe), Place::block(probe));
                    let answers = self.client.ask::<IgnoredAny>(method, &[call])?;
                    let refused = answers.into_iter().find_map(Result::err);
                    if refused.is_none_or(|refusal| refusal.meaning() != Meaning::NoMethod) {
                        known = number;
                        break;
                    }
                }
                self.tracer.store(known, Ordering::Relaxed);
                known
            }
            known => known,
        };
        Ok(match known {
            1 => Some(CALL_TRACES),
            2 => Some(FLAT_TRACES),
            _ => None,
        })
    }

    /// Whether logs report the movements of the native coin in a block and those after it.
    pub(crate) fn is_logged(&self, block: u64) -> Result<bool> {
        let headers = self.headers(&[block.min(self.tip())])?;
        Ok(headers.iter().all(Header::is_logged))
    }

    /// Returns the traces of the transactions of blocks, checked against the blocks. Blocks whose
    /// logs report the same are not traced.
    pub(crate) fn traces(&self, blocks: &[Block]) -> Result<Vec<Vec<Traced>>> {
        let is_traced =
            |block: &&Block| !block.transactions.is_empty() && !block.header.is_logged();
        let numbers: Vec<u64> = blocks
            .iter()
            .filter(is_traced)
            .map(|block| block.header.number)
            .collect();
        if numbers.is_empty() {
            return Ok(blocks.iter().map(|_| Vec::new()).collect());
        }
        let Some(method) = self.tracer()? else {
            return Err(self
                .client
                .invalid(CALL_TRACES, Place::Chain, "there is no such method"));
        };
        let params = |number| trace_params(method, number);
        let found: Vec<(Option<B256>, Vec<Traced>)> = match method {
            CALL_TRACES => {
                let found: Vec<CallTraces> = self.by_block(method, &numbers, params)?;
                found.into_iter().map(|traces| (None, traces.0)).collect()
            }
            _ => {
                let found: Vec<FlatTraces> = self.by_block(method, &numbers, params)?;
                let parts = |traces: FlatTraces| (traces.block_hash, traces.transactions);
                found.into_iter().map(parts).collect()
            }
        };
        let mut found = found.into_iter();
        let mut all = Vec::new();
        for block in blocks {
            if !is_traced(&block) {
                all.push(Vec::new());
                continue;
            }
            let (hash, traced) = found.next().unwrap_or_default();
            let Header {
                number,
                hash: expected,
                ..
            } = block.header;
            if let Some(hash) = hash.filter(|hash| *hash != expected) {
                return Err(self.replaced(method, number, hash, expected));
            }
            let is_other = |(traced, transaction): (&Traced, &crate::wire::Transaction)| {
                traced.hash.is_some_and(|hash| hash != transaction.hash)
            };
            if traced.len() != block.transactions.len()
                || traced.iter().zip(&block.transactions).any(is_other)
            {
                let what = "the traces are not those of the transactions of the block";
                return Err(self.client.invalid(method, Place::block(number), what));
            }
            all.push(traced);
        }
        Ok(all)
    }
}

/// Asks for one number.
fn number(client: &Client, method: &'static str) -> Result<u64> {
    let call = Call::new(json!([]), Place::Chain);
    Ok(client.ask_one::<Quantity>(method, call)?.0)
}

fn trace_params(method: &str, block: u64) -> Value {
    match method {
        CALL_TRACES => json!([hex(block), {"tracer": "callTracer"}]),
        _ => json!([hex(block)]),
    }
}

/// A number as servers expect it.
pub(crate) fn hex(number: u64) -> String {
    format!("{number:#x}")
}
