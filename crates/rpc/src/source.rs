//! A server as a source of transfers, and as what a lake is built from.

use crate::{
    decode::Decoded,
    error::{Error, Result},
    node::{BLOCK, RpcNode},
};
use alloy_primitives::B256;
use txgraph_stored::StoredSource;
use txgraph_transfers::{
    AllLogged, BlockAnchor, BlockRange, BlockRanges, BlockReader, BlockRun, ChainInfo, Indexable,
    InternalReader, InternalSource, InternalTransfers, ScanReport, ScanRequest, Sink, SourceError,
    Transfer, TransferFilter, TransferSource,
};
use txgraph_work::WorkContext;

/// Blocks that are read at a time for a lake.
const RUN_BLOCKS: u64 = 32;

/// Answers requests from a server.
#[derive(Debug)]
pub struct RpcSource {
    source: StoredSource<RpcNode>,
}

impl RpcSource {
    /// Creates a source. As many chunks as `work` has threads are asked at a time, within the
    /// limits of the endpoint.
    pub const fn new(node: RpcNode, work: WorkContext) -> Self {
        Self {
            source: StoredSource::new(node, work),
        }
    }

    /// The server.
    pub const fn node(&self) -> &RpcNode {
        self.source.blocks()
    }

    /// The threads, the flag and the progress of scans.
    pub const fn work(&self) -> &WorkContext {
        self.source.work()
    }
}

impl TransferSource for RpcSource {
    fn chain(&self) -> &ChainInfo {
        self.source.chain()
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.source.scan(request, sink)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        self.node().fill(transfers)?;
        // A reorganization before this would have changed the hashes.
        let changeable = anchors
            .iter()
            .filter(|anchor| self.node().may_change(anchor.blocks.last));
        let changeable: Vec<&BlockAnchor> = changeable.collect();
        let numbers: Vec<u64> = changeable.iter().map(|anchor| anchor.blocks.last).collect();
        let headers = self.node().headers(&numbers)?;
        match headers
            .iter()
            .zip(changeable)
            .find(|(header, anchor)| header.hash != anchor.hash)
        {
            Some((header, _)) => Err(SourceError::Reorged {
                block: header.number,
            }),
            None => Ok(()),
        }
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.source.check_available(request)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let tip = self.node().tip();
        let there: Vec<u64> = blocks
            .iter()
            .copied()
            .filter(|block| *block <= tip)
            .collect();
        let mut headers = self.node().headers(&there)?.into_iter();
        let hash = |block: &u64| (*block <= tip).then(|| headers.next().map(|header| header.hash));
        Ok(blocks.iter().map(hash).map(Option::flatten).collect())
    }
}

impl Indexable for RpcSource {
    /// The newest block that is not replaced any more.
    fn tip(&self) -> Result<u64, SourceError> {
        Ok(self.node().finalized().unwrap_or(0))
    }

    fn block_reader<'a>(
        &'a self,
        request: &'a ScanRequest,
        participations: bool,
    ) -> Box<dyn BlockReader + 'a> {
        Box::new(Reader {
            node: self.node(),
            request,
            participations,
        })
    }
}

/// Reads blocks one after the other.
struct Reader<'a> {
    node: &'a RpcNode,
    request: &'a ScanRequest,
    participations: bool,
}

impl Reader<'_> {
    fn run(&self, blocks: BlockRange) -> Result<BlockRun> {
        let mut parts = self.node.parts(self.request);
        // Each block has its own counts. Traces are read by an `InternalReader`.
        (parts.blocks, parts.receipts, parts.traces) = (true, true, false);
        let answers = self.node.answers(blocks, parts)?;
        let Decoded {
            transfers,
            summaries,
            anomalies,
            ..
        } = self.node.decode(self.request, &answers)?;
        let (Some(first), Some(last)) = (answers.blocks.first(), answers.blocks.last()) else {
            let place = crate::error::Place::Blocks(blocks);
            return Err(self
                .node
                .client
                .invalid(BLOCK, place, "there are no blocks"));
        };
        Ok(BlockRun {
            blocks,
            parent_hash: first.header.parent_hash,
            last_hash: last.header.hash,
            summaries,
            hashes: answers.blocks.iter().map(|it| it.header.hash).collect(),
            anomalies,
            transfers,
            participations: Vec::new(),
        })
    }
}

impl BlockReader for Reader<'_> {
    fn read(&mut self, blocks: BlockRange) -> Result<BlockRun, SourceError> {
        check_participations(self.participations)?;
        let run = (self.node).consistent(|| self.run(blocks.prefix(RUN_BLOCKS)));
        run.map_err(as_reorg)
    }
}

impl InternalSource for RpcSource {
    fn reader(
        &self,
        blocks: &BlockRanges,
        participations: bool,
    ) -> Result<Box<dyn InternalReader + '_>, SourceError> {
        check_participations(participations)?;
        let first = blocks.span().map_or(0, |blocks| blocks.first);
        if self.node().is_logged(first)? {
            return Ok(Box::new(AllLogged));
        }
        self.node().check_tracer(first)?;
        Ok(Box::new(Traces(self.node())))
    }
}

/// Reads traces. Blocks that have logs of the same are asked for without them.
struct Traces<'a>(&'a RpcNode);

impl InternalReader for Traces<'_> {
    fn read(&self, blocks: BlockRange) -> Result<InternalTransfers, SourceError> {
        let request = ScanRequest {
            blocks: blocks.into(),
            filter: TransferFilter {
                internal: true,
                kinds: vec![
                    txgraph_transfers::Kind::Internal,
                    txgraph_transfers::Kind::Burn,
                ],
                tokens: txgraph_transfers::TokenFilter::native(),
                ..TransferFilter::default()
            },
            with_times: true,
            with_hashes: true,
            ..ScanRequest::default()
        };
        let read = || {
            let mut parts = self.0.parts(&request);
            parts.receipts = false;
            let answers = self.0.answers(blocks, parts)?;
            let last = answers.blocks.last().map(|block| &block.header);
            Ok(InternalTransfers {
                transfers: self.0.decode(&request, &answers)?.transfers,
                participations: Vec::new(),
                last_block: last.map(|header| (header.number, header.hash)),
            })
        };
        self.0.consistent(read).map_err(as_reorg)
    }
}

/// Only the data directory of a node is read for transactions by address.
fn check_participations(wanted: bool) -> Result<(), SourceError> {
    match wanted {
        false => Ok(()),
        true => Err(SourceError::Unsupported {
            what: "a request for transactions by address",
            reason: "they are read from the data directory of a node",
        }),
    }
}

fn as_reorg(error: Error) -> SourceError {
    match error {
        Error::Replaced { block, .. } => SourceError::Reorged { block },
        error => error.into(),
    }
}
