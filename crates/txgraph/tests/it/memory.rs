//! Answers in memory: tables for programs that take Arrow, and graphs without their source.

use crate::{OZA, PEELER, open, small};
use std::sync::Arc;
use txgraph::{
    ArrowCollector, ArrowReceiver, ArrowTable, ArrowTarget, BlockRange, ErrorKind, GraphOutputs,
    RecordBatch, SchemaRef, TableFormat, Target, TransfersOutput, parse::GraphQuery,
};

/// Refuses all rows.
struct Closed;

impl ArrowReceiver for Closed {
    fn start(&self, _: &SchemaRef) {}

    fn batch(&self, batch: RecordBatch) -> bool {
        panic!("{} rows for a receiver that wants none", batch.num_rows())
    }

    fn finish(&self, _: Option<&str>) {}

    fn is_closed(&self) -> bool {
        true
    }
}

fn output(target: Target) -> TransfersOutput {
    TransfersOutput {
        target,
        format: TableFormat::Ipc,
        ..TransfersOutput::to("x.arrow").unwrap()
    }
}

fn rows(table: &ArrowTable) -> usize {
    table.batches.iter().map(RecordBatch::num_rows).sum()
}

#[test]
fn transfers_arrive_in_memory() {
    let fixture = small();
    let source = open(&fixture);
    let (collector, target) = ArrowCollector::new();
    let prepared = source.transfers().prepare().unwrap();
    let answer = prepared.write(&output(target)).unwrap();
    let expected = source.transfers().collect().unwrap().len();
    let table = collector.take().unwrap();
    assert_eq!(rows(&table), expected);
    assert_eq!(answer.written[0].rows, Some(expected as u64));
    assert!(table.columns.index_of("value_string").is_ok());
    assert!(table.metadata.unwrap().contains("last_block_hash"));
}

#[test]
fn a_receiver_that_wants_no_more_ends_the_scan() {
    let fixture = small();
    let source = open(&fixture);
    let target = Target::Arrow(ArrowTarget::new(Arc::new(Closed)));
    let prepared = source.transfers().prepare().unwrap();
    let error = prepared.write(&output(target)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BrokenPipe);
}

#[test]
fn columns_are_known_before_anything_is_read() {
    let fixture = small();
    let source = open(&fixture);
    let (collector, target) = ArrowCollector::new();
    let prepared = source.transfers().prepare().unwrap();
    drop(prepared.writer(&output(target)).unwrap());
    let table = collector.take().unwrap();
    assert_eq!(table.columns.field(0).name(), "block_number");
    assert_eq!(rows(&table), 0);
}

#[test]
fn missing_blocks_are_part_of_the_error() {
    let fixture = small();
    let source = open(&fixture);
    let tip = source.tip().unwrap();
    let error = source.transfers().blocks(tip - 1..tip + 9).collect();
    let gaps = error.unwrap_err().gaps.unwrap();
    let above = BlockRange::from_to(tip + 1, tip + 8);
    let missing: Vec<_> = gaps.missing.iter().map(|gap| gap.blocks).collect();
    assert_eq!(missing, [above]);
    assert!(gaps.available.contains(tip) && !gaps.available.contains(tip + 1));
}

#[test]
fn graphs_are_written_after_they_were_detached() {
    let fixture = small();
    let source = open(&fixture);
    let answer = source.search(PEELER).hops(3).run().unwrap();
    let edges = answer.graph.edge_count();
    let merged = answer.merged_edges().unwrap();
    let detached = answer.detach();
    assert_eq!(detached.graph.edge_count(), edges);
    let (collector, target) = ArrowCollector::new();
    // Options of outputs alone, without a root.
    let query = GraphQuery {
        merge: true,
        ..GraphQuery::default()
    };
    let outputs = GraphOutputs {
        files: vec![(TableFormat::Ipc.into(), target)],
        ..query.outputs(&source, None, None).unwrap()
    };
    let done = detached
        .clone()
        .attach(&source)
        .write_all(&outputs)
        .unwrap();
    assert!(done.failed.is_empty());
    assert_eq!(rows(&collector.take().unwrap()), merged.len());
    assert!(!merged.is_empty() && merged.len() <= edges);
    let other = source.search(PEELER).token(OZA).run().unwrap();
    assert_ne!(other.graph.edge_count(), edges);
}
