//! Measures the index and the lake, and checks every answer.
//!
//! Builds and scans are measured in CPU time (user and system), which does not depend on other
//! load. Latencies are the shortest elapsed time of several runs.

use crate::{console::say, measure::Cost};
use alloy_primitives::Address;
use anyhow::{Context, Result, ensure};
use nix::sys::resource::UsageWho;
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use txgraph_graph::{SearchRequest, search};
use txgraph_index::{Index, Indexed, drop_index};
use txgraph_lake::{Lake, LakeSource};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_stored::BuildSource;
use txgraph_transfers::{
    AddressFilter, BlockRange, Direction, Indexable, ScanReport, ScanRequest, TokenFilter,
    Transfer, TransferFilter, TransferSource,
};
use txgraph_work::{Threads, WorkContext};

/// The newest blocks, which neither index nor lake contain.
const REORG_BUFFER: u64 = 64;

/// Addresses of a query.
const FRONTIER: usize = 1000;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Data directory of the sample chain.
    #[arg(long)]
    datadir: PathBuf,
    /// Folder in which indexes and lakes are built and deleted.
    #[arg(long)]
    place: PathBuf,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Runs of each measurement.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Token of the search and of narrow queries.
    #[arg(long)]
    token: Address,
}

/// Measures the index: build compared with a full scan, bytes per transfer, opening, expanding a
/// frontier, a search from `root`.
pub(crate) fn index(options: &Options, root: Address) -> Result<()> {
    let bench = Bench::open(options)?;
    let (node, everything) = (&bench.node, &bench.everything);
    let folder = options.place.join("index");
    let (mut scan, mut built) = (Best::default(), Best::default());
    for _ in 0..options.runs {
        let found = scan.of(|| Ok(rows(node, everything)?.0))?;
        let made = bench.build_index(&folder, 1 << 15, &mut built)?;
        ensure!(
            made.transfers == found,
            "the index has another number of transfers than the scan"
        );
    }
    figure("scan of everything, CPU", ms(scan.cpu_s));
    figure("build, CPU", ms(built.cpu_s));
    figure("build / scan speed", ratio(scan.cpu_s, built.cpu_s));

    let index = Index::open(&folder, node.chain())?;
    txgraph_index::verify(&index, node, true)?;
    let status = index.status();
    figure("transfers", status.transfers);
    figure("segments", status.segments);
    figure("bytes per transfer", each(status.bytes, status.transfers));

    let indexed = Indexed::new(&index, node);
    let all = all(&indexed, everything)?;
    let [wide, narrow] = bench.queries(&all);
    let mut found = (0, ScanReport::default());
    let expansion = shortest(bench.queries, || {
        found = rows(&indexed, &wide.request)?;
        wide.check(found.0)
    })?;
    let expansion_of_token = shortest(bench.queries, || {
        narrow.check(rows(&indexed, &narrow.request)?.0)
    })?;
    figure("frontier addresses", wide.addresses);
    figure("frontier transfers", found.0);
    figure("frontier, shortest", ms(expansion));
    figure("of one token, transfers", narrow.expected);
    figure("of one token, shortest", ms(expansion_of_token));

    let request = SearchRequest {
        filter: TransferFilter {
            tokens: bench.token(),
            ..TransferFilter::default()
        },
        hops: Some(3),
        max_degree: Some(1000),
        ..SearchRequest::new(vec![root], bench.whole.into())
    };
    let mut edges = 0;
    let searched = shortest(3.max(options.runs), || {
        edges = search(&indexed, &request)?.graph.edge_count();
        Ok(())
    })?;
    ensure!(
        edges == search(node, &request)?.graph.edge_count(),
        "the graph has another number of edges"
    );
    figure("3-hop search, edges", edges);
    figure("3-hop search, shortest", ms(searched));
    drop(index);

    // Fifty segments.
    let many = options.place.join("many");
    let segment_blocks = (bench.whole.last + 1).div_ceil(50);
    bench.build_index(&many, segment_blocks, &mut Best::default())?;
    let mut segments = 0;
    let opening = shortest(bench.queries, || {
        segments = Index::open(&many, node.chain())?.segments().len();
        Ok(())
    })?;
    figure("opening, segments", segments);
    figure("opening, shortest", ms(opening));
    let index = Index::open(&many, node.chain())?;
    let indexed = Indexed::new(&index, node);
    let expansion = shortest(bench.queries, || {
        ensure!(
            rows(&indexed, &wide.request)? == found,
            "another answer with more segments"
        );
        Ok(())
    })?;
    figure("frontier in these segments, shortest", ms(expansion));
    drop(index);
    drop_index(&many)?;
    drop_index(&folder)?;
    Ok(())
}

/// Measures the lake: build compared with the index's, bytes per transfer of each file, a
/// scan of everything, and queries about addresses.
pub(crate) fn lake(options: &Options) -> Result<()> {
    let bench = Bench::open(options)?;
    let (index, folder) = (options.place.join("index"), options.place.join("lake"));
    let (mut indexed, mut laked) = (Best::default(), Best::default());
    for _ in 0..options.runs {
        bench.build_index(&index, 1 << 15, &mut indexed)?;
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let build = txgraph_lake::BuildOptions {
            last_block: Some(bench.last()),
            ..Default::default()
        };
        laked.of(|| Ok(txgraph_lake::build(&folder, bench.origin(), &build)?))?;
    }
    drop_index(&index)?;
    figure("index build, CPU", ms(indexed.cpu_s));
    figure("lake build, CPU", ms(laked.cpu_s));
    figure("index build, elapsed", ms(indexed.wall_s));
    figure("lake build, elapsed", ms(laked.wall_s));
    let speed = ratio(indexed.cpu_s, laked.cpu_s);
    figure("lake / index build speed, CPU", speed);

    let lake = Lake::open(&folder)?;
    txgraph_lake::check(&lake, &bench.work)?;
    let status = lake.status();
    figure("transfers", status.transfers);
    figure("addresses", status.addresses);
    figure("partitions", status.partitions);
    figure("bytes per transfer", each(status.bytes, status.transfers));
    for file in &status.files {
        let bytes = each(file.bytes, status.transfers);
        figure(&format!("  {}", file.name), bytes);
    }
    let source = LakeSource::new(&lake, bench.work.clone());
    let mut scan = Best::default();
    for _ in 0..options.runs {
        let found = scan.of(|| Ok(rows(&source, &bench.everything)?.0))?;
        ensure!(
            found == status.transfers,
            "the scan has another number of transfers"
        );
    }
    figure("scan of the lake, CPU", ms(scan.cpu_s));

    let queries = bench.queries(&all(&bench.node, &bench.everything)?);
    for (name, query) in ["all tokens", "one token"].iter().zip(queries) {
        let request = &query.request;
        let answer = shortest(bench.queries, || query.check(rows(&source, request)?.0))?;
        let opened = shortest(bench.queries, || {
            let again = Lake::open(&folder)?;
            let source = LakeSource::new(&again, bench.work.clone());
            query.check(rows(&source, request)?.0)
        })?;
        figure(&format!("{name}, transfers"), query.expected);
        figure(&format!("{name}, shortest"), ms(answer));
        figure(&format!("{name}, with opening"), ms(opened));
    }
    Ok(fs::remove_dir_all(&folder)?)
}

/// The node, and what is asked.
struct Bench<'a> {
    options: &'a Options,
    node: NodeSource,
    work: WorkContext,
    whole: BlockRange,
    /// All blocks but the newest, which are not stored.
    everything: ScanRequest,
    /// Runs of a query.
    queries: usize,
}

impl<'a> Bench<'a> {
    fn open(options: &'a Options) -> Result<Self> {
        let db = NodeDb::open(&DataDir::new(&options.datadir)).context("opening the chain")?;
        let threads = Threads::new(options.threads)?;
        let scan = ScanOptions {
            threads: threads.clone(),
            ..ScanOptions::default()
        };
        let node = NodeSource::new(Arc::new(db), scan, None)?;
        let whole = BlockRange::up_to(node.tip()?);
        let everything = ScanRequest {
            blocks: BlockRange {
                last: whole.last.saturating_sub(REORG_BUFFER),
                ..whole
            }
            .into(),
            with_times: true,
            ..ScanRequest::default()
        };
        Ok(Self {
            options,
            node,
            work: WorkContext {
                threads,
                ..WorkContext::default()
            },
            whole,
            everything,
            queries: 20.max(options.runs),
        })
    }

    fn last(&self) -> u64 {
        self.whole.last.saturating_sub(REORG_BUFFER)
    }

    fn origin(&self) -> BuildSource<'_> {
        BuildSource {
            source: &self.node,
            internal: None,
            work: self.work.clone(),
        }
    }

    /// Builds an index from nothing.
    fn build_index(
        &self,
        folder: &Path,
        segment_blocks: u64,
        best: &mut Best,
    ) -> Result<txgraph_index::BuildReport> {
        if folder.exists() {
            drop_index(folder)?;
        }
        let options = txgraph_index::BuildOptions {
            unit_blocks: Some(segment_blocks),
            last_block: Some(self.last()),
            ..Default::default()
        };
        best.of(|| Ok(txgraph_index::build(folder, self.origin(), &options)?))
    }

    fn token(&self) -> TokenFilter {
        TokenFilter::only([self.options.token])
    }

    /// Queries for the transfers of distinct addresses, spread evenly over all senders and
    /// receivers: of all tokens, and of one.
    fn queries(&self, all: &[Transfer]) -> [Query; 2] {
        let ends = |transfer: &Transfer| [transfer.from_address, transfer.to_address];
        let mut addresses: Vec<_> = all.iter().flat_map(ends).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let step = (addresses.len() / FRONTIER).max(1);
        let addresses = addresses.into_iter().step_by(step).take(FRONTIER);
        let addresses: Vec<_> = addresses.collect();
        [TokenFilter::All, self.token()].map(|tokens| {
            let filter = TransferFilter {
                touching: Some(AddressFilter::new(
                    addresses.iter().copied(),
                    Direction::Out,
                )),
                tokens,
                ..TransferFilter::default()
            };
            Query {
                addresses: addresses.len(),
                expected: all
                    .iter()
                    .filter(|transfer| filter.matches(transfer))
                    .count() as u64,
                request: ScanRequest {
                    filter,
                    ..self.everything.clone()
                },
            }
        })
    }
}

/// A query about addresses.
struct Query {
    addresses: usize,
    request: ScanRequest,
    expected: u64,
}

impl Query {
    fn check(&self, found: u64) -> Result<()> {
        ensure!(
            found == self.expected,
            "the query has another number of transfers"
        );
        Ok(())
    }
}

/// The least cost of several runs.
struct Best {
    cpu_s: f64,
    wall_s: f64,
}

impl Default for Best {
    fn default() -> Self {
        Self {
            cpu_s: f64::INFINITY,
            wall_s: f64::INFINITY,
        }
    }
}

impl Best {
    fn of<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (value, cost) = Cost::of(UsageWho::RUSAGE_SELF, work)?;
        self.cpu_s = self.cpu_s.min(cost.cpu_s());
        self.wall_s = self.wall_s.min(cost.wall_s);
        Ok(value)
    }
}

/// Returns the shortest elapsed time of several runs, in seconds.
fn shortest(runs: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let began = Instant::now();
        work()?;
        best = best.min(began.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Counts the transfers of an answer, with its report.
fn rows(source: &dyn TransferSource, request: &ScanRequest) -> Result<(u64, ScanReport)> {
    let mut count = 0;
    let report = source.scan(request, &mut |batch| {
        count += batch.transfers.len() as u64;
        ControlFlow::Continue(())
    })?;
    Ok((count, report))
}

fn all(source: &dyn TransferSource, request: &ScanRequest) -> Result<Vec<Transfer>> {
    let mut all = Vec::new();
    source.scan(request, &mut |mut batch| {
        all.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

fn figure(what: &str, figure: impl std::fmt::Display) {
    say(format_args!("{what:32} {figure}"));
}

fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

fn ratio(a: f64, b: f64) -> String {
    format!("{:.2}", a / b)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
fn each(bytes: u64, transfers: u64) -> String {
    ratio(bytes as f64, transfers as f64)
}
