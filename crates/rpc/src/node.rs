//! A server of one chain: what it is asked, and how answers are checked.

use crate::{
    client::{Call, Client, REQUEST},
    endpoint::Endpoint,
    error::{Error, Meaning, Place, Result},
    pace::Adaptive,
    wire::{Block, HashedBlock, Header, ListedBlock, Quantity},
};
use alloy_primitives::B256;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use txgraph_base::{ChainFamily, KnownChain};
use txgraph_transfers::{BlockRange, ChainInfo};
use txgraph_work::{CancelFlag, Retry, RetryStep};

/// Newest blocks that may be replaced, if the server does not name the finalized block.
pub(crate) const REORG_BUFFER: u64 = 128;

/// The blocks of the first `eth_getLogs`.
const FIRST_RANGE: u64 = 2_000;

const NEWEST: &str = "eth_blockNumber";
const SYNCING: &str = "eth_syncing";
pub(crate) const BLOCK: &str = "eth_getBlockByNumber";
pub(crate) const BLOCK_RECEIPTS: &str = "eth_getBlockReceipts";
pub(crate) const RECEIPT: &str = "eth_getTransactionReceipt";

/// Settings of a server as a source.
#[derive(Clone, Debug, Default)]
pub struct RpcOptions {
    /// The chain ID that the server must have.
    pub chain_id: Option<u64>,
    /// The number of blocks that a thread reads at a time; `None`: chosen by the request.
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
    /// How receipts are requested: 0 not known, 1 one by one, 2 all of a block together.
    pub(crate) receipts: AtomicU8,
    /// The method for traces: 0 not known, 1 `debug_traceBlockByNumber`, 2 `trace_block`.
    pub(crate) tracer: AtomicU8,
}

impl RpcNode {
    /// Asks a server for its chain, its newest block and its newest finalized block.
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
        if tip == 0 && is_syncing(&client)? {
            return Err(client.unknown(
                "the server is still synchronizing and has no blocks yet; ask again when it is done",
            ));
        }
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
            return Err(Error::Location(format!(
                "{}: the chain id is {chain_id}, but block 0 has the hash {genesis_hash} instead of \
                 {expected}; the server is of another chain",
                self.client.endpoint
            )));
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
        let call = Call {
            may_lack: true,
            ..Call::new(json!(["finalized", false]), Place::Chain)
        };
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

    /// Makes one call for each block.
    pub(crate) fn by_block<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        blocks: &[u64],
        params: impl Fn(u64) -> Value,
    ) -> Result<Vec<T>> {
        let asked: Vec<(u64, Value)> = blocks.iter().map(|it| (*it, params(*it))).collect();
        self.present(method, &asked)
    }

    /// Makes calls about blocks, and repeats those whose answer is `null`: the servers behind a
    /// URL may be a few blocks apart.
    pub(crate) fn present<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        asked: &[(u64, Value)],
    ) -> Result<Vec<T>> {
        let mut found: Vec<Option<T>> = asked.iter().map(|_| None).collect();
        let mut attempts = self.retry(REQUEST).start();
        loop {
            let waiting = (0..asked.len()).filter(|at| found[*at].is_none());
            let waiting: Vec<usize> = waiting.collect();
            let call = |at: &usize| Call::new(asked[*at].1.clone(), Place::block(asked[*at].0));
            let calls: Vec<Call> = waiting.iter().map(call).collect();
            let answers = self.client.ask::<Option<T>>(method, &calls)?;
            for (at, answer) in waiting.into_iter().zip(answers) {
                let place = Place::block(asked[at].0);
                found[at] =
                    answer.map_err(|refusal| self.client.refused(method, place, &refusal))?;
            }
            let Some(missing) = found.iter().position(Option::is_none) else {
                return Ok(found.into_iter().flatten().collect());
            };
            let (block, what) = (asked[missing].0, "the answer is null".to_owned());
            if method == RECEIPT && self.may_change(block) {
                // The transaction may be in another block by now.
                return Err(self.differs(method, block, what));
            }
            match attempts.next_spread(std::time::Duration::ZERO, &|| {
                self.client.cancel.is_canceled()
            }) {
                RetryStep::Retry => {}
                RetryStep::Stopped => return Err(Error::Interrupted),
                RetryStep::Exhausted => {
                    return Err(Error::Missing {
                        endpoint: self.client.endpoint.to_string(),
                        method,
                        place: Place::block(block),
                        what,
                    });
                }
            }
        }
    }

    /// The usual attempts, with the pauses that are set.
    pub(crate) fn retry(&self, usual: Retry) -> Retry {
        self.options.retry.unwrap_or(usual)
    }

    /// Whether the server has a method, by a call about block 0, which costs nothing.
    pub(crate) fn has(&self, method: &'static str, params: Value) -> Result<bool> {
        let call = Call {
            may_lack: true,
            ..Call::new(params, Place::block(0))
        };
        let answers = self.client.ask::<IgnoredAny>(method, &[call])?;
        Ok(match answers.into_iter().find_map(Result::err) {
            Some(refusal) if refusal.meaning == Meaning::NoMethod => {
                tracing::info!(method, %refusal, "the server does not have a method");
                false
            }
            _ => true,
        })
    }

    pub(crate) fn headers(&self, blocks: &[u64]) -> Result<Vec<Header>> {
        let headers: Vec<Header> =
            self.by_block(BLOCK, blocks, |number| json!([hex(number), false]))?;
        for (header, number) in headers.iter().zip(blocks) {
            self.check_number(header, *number)?;
        }
        Ok(headers)
    }

    /// Returns the time of a block, in seconds since 1970.
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
        for (block, number) in found.iter().zip(numbers) {
            self.check_number(&block.header, number)?;
        }
        self.check_links(found.iter().map(|block| &block.header))?;
        found.iter().try_for_each(|block| self.check_block(block))?;
        Ok(found)
    }

    /// Compares the hash of a block with the hash of its header.
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
}

fn number(client: &Client, method: &'static str) -> Result<u64> {
    let call = Call::new(json!([]), Place::Chain);
    Ok(client.ask_one::<Quantity>(method, call)?.0)
}

/// Whether the server says that it has not all blocks yet.
fn is_syncing(client: &Client) -> Result<bool> {
    let answers = client.ask::<Value>(SYNCING, &[Call::new(json!([]), Place::Chain)])?;
    Ok(answers
        .into_iter()
        .any(|answer| answer.is_ok_and(|it| it != false)))
}

/// A number as servers expect it.
pub(crate) fn hex(number: u64) -> String {
    format!("{number:#x}")
}
