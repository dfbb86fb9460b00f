//! Answers in memory: tables for programs that take Arrow, and graphs without their source.

use crate::{OZA, PEELER, open, small};
use std::sync::{Arc, Mutex};
use txgraph::{
    ArrowBatch, ArrowColumns, ArrowReceiver, ArrowTarget, BlockRange, ErrorKind, GraphOutputs,
    TableFormat, Target, TransfersOutput, text::GraphQuery,
};

/// Counts the rows, and can refuse more.
#[derive(Default)]
struct Rows {
    names: Mutex<Vec<String>>,
    rows: Mutex<usize>,
    metadata: Mutex<Option<String>>,
    is_closed: bool,
}

impl ArrowReceiver for Rows {
    fn start(&self, columns: &ArrowColumns) {
        *self.names.lock().unwrap() = columns.names();
        *self.rows.lock().unwrap() = 0;
    }

    fn batch(&self, batch: ArrowBatch) -> bool {
        *self.rows.lock().unwrap() += batch.rows();
        true
    }

    fn finish(&self, metadata: Option<&str>) {
        *self.metadata.lock().unwrap() = metadata.map(str::to_owned);
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }
}

fn output(rows: Rows) -> (Arc<Rows>, TransfersOutput) {
    let rows = Arc::new(rows);
    let output = TransfersOutput {
        target: Target::Arrow(ArrowTarget::new(rows.clone())),
        format: TableFormat::Ipc,
        ..TransfersOutput::to("x.arrow").unwrap()
    };
    (rows, output)
}

#[test]
fn transfers_arrive_in_memory() {
    let fixture = small();
    let source = open(&fixture);
    let (rows, output) = output(Rows::default());
    let prepared = source.transfers().prepare().unwrap();
    let answer = prepared.write(&output).unwrap();
    let expected = source.transfers().collect().unwrap().len();
    assert_eq!(*rows.rows.lock().unwrap(), expected);
    assert_eq!(answer.written[0].rows, expected as u64);
    let names = rows.names.lock().unwrap();
    assert!(names.contains(&"value_string".to_owned()), "{names:?}");
    let metadata = rows.metadata.lock().unwrap();
    assert!(metadata.as_ref().unwrap().contains("last_block_hash"));
}

#[test]
fn a_receiver_that_wants_no_more_ends_the_scan() {
    let fixture = small();
    let source = open(&fixture);
    let (rows, output) = output(Rows {
        is_closed: true,
        ..Rows::default()
    });
    let prepared = source.transfers().prepare().unwrap();
    let error = prepared.write(&output).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BrokenPipe);
    assert_eq!(*rows.rows.lock().unwrap(), 0);
}

#[test]
fn columns_are_known_before_anything_is_read() {
    let fixture = small();
    let source = open(&fixture);
    let (rows, output) = output(Rows::default());
    let prepared = source.transfers().prepare().unwrap();
    drop(prepared.writer(&output).unwrap());
    assert_eq!(rows.names.lock().unwrap()[0], "block_number");
}

#[test]
fn missing_blocks_are_part_of_the_error() {
    let fixture = small();
    let source = open(&fixture);
    let tip = source.tip().unwrap();
    let error = source.transfers().blocks(tip - 1..tip + 9).collect();
    let gaps = error.unwrap_err().gaps.unwrap();
    let above = BlockRange {
        first: tip + 1,
        last: tip + 8,
    };
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
    let rows = Arc::new(Rows::default());
    let target = Target::Arrow(ArrowTarget::new(rows.clone()));
    // Options of outputs alone, without a root.
    let query = GraphQuery {
        merge: true,
        ..GraphQuery::default()
    };
    let outputs = GraphOutputs {
        files: vec![(TableFormat::Ipc.into(), target)],
        ..query.outputs(&source).unwrap()
    };
    let done = detached
        .clone()
        .attach(&source)
        .write_all(&outputs)
        .unwrap();
    assert!(done.failed.is_empty());
    assert_eq!(*rows.rows.lock().unwrap(), merged.len());
    assert!(!merged.is_empty() && merged.len() <= edges);
    let other = source.search(PEELER).token(OZA).run().unwrap();
    assert_ne!(other.graph.edge_count(), edges);
}
