//! A program implements traits itself: a source, an inspector, a receiver of progress.

use crate::{PEELER, executed, small};
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use txgraph::{
    B256, Backend, Batch, BlockAnchor, BlockRange, BlockRanges, ChainInfo, FrameEnd, FrameStart,
    Hops, Inspector, Log, Progress, Result, ScanReport, ScanRequest, Sink, Source, SourceError,
    Step, TransactionName, Transfer, TransferFilter, TransferSource,
};

/// Transfers in memory.
#[derive(Debug)]
struct InMemory {
    chain: ChainInfo,
    blocks: BlockRange,
    transfers: Vec<Transfer>,
}

impl TransferSource for InMemory {
    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.check_available(request)?;
        let covered = request.blocks.intersect(&self.blocks.into());
        for blocks in covered.iter() {
            let wanted = self
                .transfers
                .iter()
                .filter(|it| blocks.contains(it.block_number) && request.filter.matches(it));
            let transfers = wanted.cloned().collect();
            if sink(Batch { blocks, transfers }).is_break() {
                break;
            }
        }
        Ok(ScanReport {
            covered,
            ..ScanReport::default()
        })
    }

    fn fill_hashes(&self, _: &mut [Transfer], _: &[BlockAnchor]) -> Result<(), SourceError> {
        Ok(())
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        request.check_blocks(&self.blocks.into(), "not in memory")
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        Ok(vec![None; blocks.len()])
    }
}

impl Backend for InMemory {
    fn chain(&self) -> Result<&ChainInfo> {
        Ok(&self.chain)
    }

    fn tip(&self) -> Result<u64> {
        Ok(self.blocks.last)
    }

    fn transfers(&self, _: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        Ok(Box::new(self))
    }
}

#[test]
fn a_source_of_a_program_answers_as_its_transfers_do() {
    let fixture = small();
    let node = Source::open(fixture.path()).unwrap();
    let own = Source::with_backend(
        "own:memory",
        InMemory {
            chain: node.chain().unwrap().clone(),
            blocks: node.default_range().unwrap(),
            transfers: node.transfers().collect().unwrap(),
        },
    );
    let size = |source: &Source| {
        let graph = source.search(PEELER).hops(Hops::All).run().unwrap();
        (graph.graph.node_count(), graph.graph.edge_count())
    };
    assert_eq!(size(&own), size(&node));
    let missing = own.transfers().blocks(0..=41).collect().unwrap_err();
    let gaps = missing.gaps.unwrap();
    assert_eq!(gaps.available, BlockRanges::from(BlockRange::up_to(40)));
    assert_eq!(gaps.missing[0].reason, "not in memory");
}

#[derive(Debug, Default)]
struct Counts {
    begun: u64,
    ended: u64,
    instructions: u64,
    logs: u64,
}

impl Inspector for Counts {
    fn needs_steps(&self) -> bool {
        true
    }

    fn step(&mut self, _: &Step<'_>) {
        self.instructions += 1;
    }

    fn enter(&mut self, _: &FrameStart<'_>) {
        self.begun += 1;
    }

    fn exit(&mut self, _: &FrameEnd<'_>) {
        self.ended += 1;
    }

    fn log(&mut self, _: &Log) {
        self.logs += 1;
    }
}

#[test]
fn an_inspector_of_a_program_observes_a_transaction() {
    let fixture = small();
    let source = executed(fixture.path(), "small/v2");
    let mut counts = Counts::default();
    // A transfer of a token.
    let name = TransactionName::Position {
        block: 13,
        index: 3,
    };
    let replay = source.replay().transaction(name);
    let (replayed, mismatches) = replay.one(Some(&mut counts)).unwrap();
    assert!(mismatches.is_empty());
    assert_eq!((counts.begun, counts.ended), (1, 1));
    assert_eq!(counts.logs, replayed.outcome.logs.len() as u64);
    assert!(counts.instructions > 10, "{counts:?}");
}

/// Counts blocks.
#[derive(Debug, Default)]
struct Blocks(AtomicU64);

impl Progress for Blocks {
    fn advance(&self, blocks: u64, _transfers: u64) {
        self.0.fetch_add(blocks, Ordering::Relaxed);
    }
}

#[test]
fn a_program_keeps_the_receiver_of_progress() {
    let fixture = small();
    let blocks = Arc::new(Blocks::default());
    let source = Source::builder(fixture.path()).progress(blocks.clone());
    let source = source.open().unwrap();
    let all = source
        .transfers()
        .for_each(|_| Ok(ControlFlow::Continue(())));
    assert_eq!(all.unwrap().covered, BlockRange::up_to(40).into());
    assert_eq!(blocks.0.load(Ordering::Relaxed), 41);
}
