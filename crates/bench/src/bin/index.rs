//! Measures the index and checks every answer: build compared with a full scan, bytes per
//! transfer, opening, expanding a frontier, a search.
//!
//! Build and scan are measured in CPU time (user and system), which does not depend on other
//! load. Latencies are the shortest elapsed time of several runs.

use alloy_primitives::Address;
use anyhow::{Result, ensure};
use clap::Parser;
use std::{ops::ControlFlow, path::PathBuf, time::Instant};
use txgraph_bench::direct::{cost, count, everything, frontier, least, ms, open_node, rows, say};
use txgraph_graph::{SearchRequest, search};
use txgraph_index::{BuildOptions, Index, Indexed, build, drop_index, verify};
use txgraph_transfers::{
    BlockRange, Direction, Indexable, ScanReport, ScanRequest, TokenFilter, Touching,
    TransferFilter, TransferSource,
};

#[derive(Parser)]
struct Args {
    /// Data directory of the sample chain.
    #[arg(long)]
    datadir: PathBuf,
    /// Folder in which indexes are built and deleted.
    #[arg(long)]
    place: PathBuf,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Runs of each measurement.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Addresses in a frontier.
    #[arg(long, default_value_t = 1000)]
    frontier: usize,
    /// Root of the search.
    #[arg(long)]
    root: Address,
    /// Token of the search; default: all.
    #[arg(long)]
    token: Option<Address>,
    /// Keep the index.
    #[arg(long)]
    keep: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let node = open_node(&args.datadir, args.threads)?;
    let tip = node.tip()?;
    let whole = BlockRange {
        first: 0,
        last: tip,
    };
    let folder = args.place.join("index");

    let mut all = Vec::new();
    let mut scans = Vec::new();
    let mut builds = Vec::new();
    for _ in 0..args.runs {
        all.clear();
        let scan = cost(|| count(&node, &everything(whole)))?;
        scans.push(scan.cpu);
        if folder.exists() {
            drop_index(&folder)?;
        }
        let made = cost(|| Ok(build(&folder, &node, &options(1 << 15))?))?;
        builds.push(made.cpu);
        ensure!(
            made.value.transfers == scan.value,
            "the index has another number of transfers than the scan"
        );
    }
    let (scan, built) = (least(&scans), least(&builds));
    say("scan of everything, CPU", ms(scan));
    say("build, CPU", ms(built));
    say(
        "build / scan speed",
        format!("{:.2}", scan.as_secs_f64() / built.as_secs_f64()),
    );

    let index = Index::open(&folder, node.chain())?;
    verify(&index, &node, true)?;
    let status = index.status();
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    let ratio = status.bytes as f64 / status.transfers as f64;
    say("transfers", status.transfers.to_string());
    say("segments", status.segments.to_string());
    say("bytes per transfer", format!("{ratio:.2}"));

    let indexed = Indexed::new(&index, &node);
    indexed.scan(&everything(whole), &mut |mut batch| {
        all.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    let frontier = frontier(&all, args.frontier);
    let request = ScanRequest {
        filter: TransferFilter {
            touching: Some(Touching {
                addresses: frontier.iter().copied().collect(),
                direction: Direction::Out,
            }),
            ..TransferFilter::default()
        },
        with_times: true,
        ..everything(whole)
    };
    let mut expansions = Vec::new();
    let mut found = (0, ScanReport::default());
    for _ in 0..20.max(args.runs) {
        let began = Instant::now();
        found = rows(&indexed, &request)?;
        expansions.push(began.elapsed());
    }
    let expected = all.iter().filter(|transfer| request.filter.wants(transfer));
    ensure!(
        found.0 == expected.count(),
        "the frontier has another number of transfers"
    );
    let of_token_request = ScanRequest {
        filter: TransferFilter {
            touching: request.filter.touching.clone(),
            ..of_token_filter(&args)
        },
        ..request.clone()
    };
    let mut narrow = Vec::new();
    let mut narrow_rows = 0;
    for _ in 0..20.max(args.runs) {
        let began = Instant::now();
        narrow_rows = rows(&indexed, &of_token_request)?.0;
        narrow.push(began.elapsed());
    }
    let expected = all
        .iter()
        .filter(|transfer| of_token_request.filter.wants(transfer));
    ensure!(
        narrow_rows == expected.count(),
        "the frontier of one token has another number of transfers"
    );
    say("frontier addresses", frontier.len().to_string());
    say("frontier transfers", found.0.to_string());
    say("frontier, shortest", ms(least(&expansions)));
    say("of one token, transfers", narrow_rows.to_string());
    say("of one token, shortest", ms(least(&narrow)));

    let search_request = SearchRequest {
        filter: of_token_filter(&args),
        hops: Some(3),
        max_degree: Some(1000),
        ..SearchRequest::new(vec![args.root], whole.into())
    };
    let mut searches = Vec::new();
    let mut edges = 0;
    for _ in 0..3.max(args.runs) {
        let began = Instant::now();
        let graph = search(&indexed, &search_request)?;
        searches.push(began.elapsed());
        edges = graph.graph.edge_count();
    }
    let expected = search(&node, &search_request)?;
    ensure!(
        edges == expected.graph.edge_count(),
        "the graph has another number of edges"
    );
    say("3-hop search, edges", edges.to_string());
    say("3-hop search, shortest", ms(least(&searches)));
    drop(index);

    // Fifty segments.
    let many = args.place.join("many");
    if many.exists() {
        drop_index(&many)?;
    }
    build(&many, &node, &options((tip + 1).div_ceil(50)))?;
    let mut opens = Vec::new();
    let mut segments = 0;
    for _ in 0..20.max(args.runs) {
        let began = Instant::now();
        segments = Index::open(&many, node.chain())?.segments().len();
        opens.push(began.elapsed());
    }
    say("opening, segments", segments.to_string());
    say("opening, shortest", ms(least(&opens)));
    let index = Index::open(&many, node.chain())?;
    let indexed = Indexed::new(&index, &node);
    let mut expansions = Vec::new();
    for _ in 0..20.max(args.runs) {
        let began = Instant::now();
        ensure!(
            rows(&indexed, &request)? == found,
            "another answer with more segments"
        );
        expansions.push(began.elapsed());
    }
    say(
        "frontier in these segments, shortest",
        ms(least(&expansions)),
    );
    drop(index);
    drop_index(&many)?;
    if !args.keep {
        drop_index(&folder)?;
    }
    Ok(())
}

/// The filter of the search.
fn of_token_filter(args: &Args) -> TransferFilter {
    let mut filter = TransferFilter::default();
    if let Some(token) = args.token {
        filter.tokens = TokenFilter::Only {
            tokens: [token].into_iter().collect(),
            native: false,
        };
    }
    filter
}

fn options(segment_blocks: u64) -> BuildOptions {
    BuildOptions {
        segment_blocks,
        ..BuildOptions::default()
    }
}
