//! Receipts and traces of blocks.

use crate::{
    error::{Place, Result},
    node::{BLOCK_RECEIPTS, RECEIPT, RpcNode, hex},
    trace::{CallTraces, FlatTraces, Traced},
    wire::{Block, Header, Receipt},
};
use alloy_primitives::B256;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use txgraph_stored::BloomHashes;

pub(crate) const CALL_TRACES: &str = "debug_traceBlockByNumber";
const FLAT_TRACES: &str = "trace_block";

impl RpcNode {
    /// Returns the receipts of blocks, checked against the blocks.
    pub(crate) fn receipts(&self, blocks: &[Block]) -> Result<Vec<Vec<Receipt>>> {
        let numbers: Vec<u64> = blocks
            .iter()
            .filter(|block| !block.transactions.is_empty())
            .map(|block| block.header.number)
            .collect();
        let mut of_blocks = self.block_receipts(&numbers)?.map(Vec::into_iter);
        let mut all = Vec::new();
        let mut hashes = BloomHashes::default();
        for block in blocks {
            let receipts = match &mut of_blocks {
                _ if block.transactions.is_empty() => Vec::new(),
                Some(found) => found.next().unwrap_or_default(),
                None => self.single_receipts(block)?,
            };
            self.check_receipts(block, &receipts, &mut hashes)?;
            all.push(receipts);
        }
        Ok(all)
    }

    /// Asks for the receipts of whole blocks. `None` if the server does not have the method.
    fn block_receipts(&self, blocks: &[u64]) -> Result<Option<Vec<Vec<Receipt>>>> {
        if blocks.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if self.receipts.load(Ordering::Relaxed) == 0 {
            let known = if self.has(BLOCK_RECEIPTS, json!([hex(0)]))? {
                2
            } else {
                1
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
        let number = block.header.number;
        let asked = block.transactions.iter();
        let asked: Vec<_> = asked.map(|it| (number, json!([it.hash]))).collect();
        self.present(RECEIPT, &asked)
    }

    /// Finds out how the server traces blocks. `None` if it does not.
    pub(crate) fn tracer(&self) -> Result<Option<&'static str>> {
        let mut known = self.tracer.load(Ordering::Relaxed);
        if known == 0 {
            let has = |method| self.has(method, trace_params(method, 0));
            known = match () {
                () if has(CALL_TRACES)? => 1,
                () if has(FLAT_TRACES)? => 2,
                () => 3,
            };
            self.tracer.store(known, Ordering::Relaxed);
        }
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
            let is_other = |(traced, transaction): (&Traced, _)| !traced.is_of(transaction);
            if traced.len() != block.transactions.len()
                || traced.iter().zip(&block.transactions).any(is_other)
            {
                let what = "the traces do not belong to the transactions of the block";
                return Err(self.differs(method, number, what.to_owned()));
            }
            all.push(traced);
        }
        Ok(all)
    }
}

fn trace_params(method: &str, block: u64) -> Value {
    match method {
        CALL_TRACES => json!([hex(block), {"tracer": "callTracer"}]),
        _ => json!([hex(block)]),
    }
}
