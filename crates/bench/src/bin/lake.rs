//! Measures the lake and checks every answer: build compared with that of the index, bytes per
//! transfer of each file, a scan of everything, and questions about addresses.

use alloy_primitives::Address;
use anyhow::{Result, ensure};
use clap::Parser;
use std::{fs, ops::ControlFlow, path::PathBuf, time::Instant};
use txgraph_bench::direct::{
    REORG_BUFFER, cost, count, everything, frontier, least, ms, open_node, rows, say,
};
use txgraph_index::drop_index;
use txgraph_lake::{BuildOptions, Lake, LakeSource, build, check};
use txgraph_stored::Origin;
use txgraph_transfers::{
    BlockRange, Direction, Indexable, ScanRequest, TokenFilter, Touching, TransferFilter,
    TransferSource,
};
use txgraph_work::{Threads, Work};

#[derive(Parser)]
struct Args {
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
    /// Addresses of a question.
    #[arg(long, default_value_t = 1000)]
    frontier: usize,
    /// Token of the narrow question.
    #[arg(long)]
    token: Address,
    /// Block that is taken for the tip; default: the tip.
    #[arg(long)]
    to_block: Option<u64>,
    /// Keep the lake.
    #[arg(long)]
    keep: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let node = open_node(&args.datadir, args.threads)?;
    let whole = BlockRange {
        first: 0,
        last: args.to_block.map_or_else(|| node.tip(), Ok)?,
    };
    let last = whole.last.saturating_sub(REORG_BUFFER);
    let (index, folder) = (args.place.join("index"), args.place.join("lake"));
    let work = Work {
        threads: Threads::new(args.threads)?,
        ..Work::default()
    };
    let mut indexes = Vec::new();
    let mut lakes = Vec::new();
    for _ in 0..args.runs {
        if index.exists() {
            drop_index(&index)?;
        }
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let origin = || Origin {
            source: &node,
            internal: None,
            work: work.clone(),
        };
        indexes.push(cost(|| {
            Ok(txgraph_index::build(
                &index,
                origin(),
                &txgraph_index::BuildOptions {
                    last_block: Some(last),
                    ..Default::default()
                },
            )?)
        })?);
        lakes.push(cost(|| {
            let options = BuildOptions {
                last_block: Some(last),
                ..BuildOptions::default()
            };
            Ok(build(&folder, origin(), &options)?)
        })?);
    }
    drop_index(&index)?;
    let index_cpu = least(&indexes.iter().map(|it| it.cpu).collect::<Vec<_>>());
    let lake_cpu = least(&lakes.iter().map(|it| it.cpu).collect::<Vec<_>>());
    let index_time = least(&indexes.iter().map(|it| it.elapsed).collect::<Vec<_>>());
    let lake_time = least(&lakes.iter().map(|it| it.elapsed).collect::<Vec<_>>());
    say("index build, CPU", ms(index_cpu));
    say("lake build, CPU", ms(lake_cpu));
    say("index build, elapsed", ms(index_time));
    say("lake build, elapsed", ms(lake_time));
    say(
        "lake / index build speed, CPU",
        format!("{:.2}", index_cpu.as_secs_f64() / lake_cpu.as_secs_f64()),
    );

    let lake = Lake::open(&folder)?;
    check(&lake, &work)?;
    let status = lake.status();
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    let per_transfer = |bytes: u64| format!("{:.2}", bytes as f64 / status.transfers as f64);
    say("transfers", status.transfers.to_string());
    say("addresses", status.addresses.to_string());
    say("partitions", status.partitions.to_string());
    say("bytes per transfer", per_transfer(status.bytes));
    for file in &status.files {
        say(&format!("  {}", file.name), per_transfer(file.bytes));
    }
    let source = LakeSource::new(&lake, work.clone());
    let mut scans = Vec::new();
    for _ in 0..args.runs {
        let scan = cost(|| count(&source, &everything(whole)))?;
        ensure!(
            scan.value == status.transfers,
            "the scan has another number of transfers"
        );
        scans.push(scan);
    }
    say(
        "scan of the lake, CPU",
        ms(least(&scans.iter().map(|it| it.cpu).collect::<Vec<_>>())),
    );

    let mut all = Vec::new();
    node.scan(&everything(whole), &mut |mut batch| {
        all.append(&mut batch.transfers);
        ControlFlow::Continue(())
    })?;
    let addresses = frontier(&all, args.frontier);
    let touching = Some(Touching {
        addresses: addresses.iter().copied().collect(),
        direction: Direction::Out,
    });
    let of_token = TokenFilter::Only {
        tokens: [args.token].into_iter().collect(),
        native: false,
    };
    for (name, tokens) in [("all tokens", TokenFilter::All), ("one token", of_token)] {
        let request = ScanRequest {
            filter: TransferFilter {
                touching: touching.clone(),
                tokens,
                ..TransferFilter::default()
            },
            ..everything(whole)
        };
        let expected = all
            .iter()
            .filter(|transfer| request.filter.wants(transfer))
            .count();
        let mut times = Vec::new();
        let mut opened = Vec::new();
        for _ in 0..20.max(args.runs) {
            let began = Instant::now();
            let found = rows(&source, &request)?.0;
            times.push(began.elapsed());
            ensure!(
                found == expected,
                "the question has another number of transfers"
            );
            let began = Instant::now();
            let again = Lake::open(&folder)?;
            rows(&LakeSource::new(&again, work.clone()), &request)?;
            opened.push(began.elapsed());
        }
        say(&format!("{name}, transfers"), expected.to_string());
        say(&format!("{name}, shortest"), ms(least(&times)));
        say(&format!("{name}, with opening"), ms(least(&opened)));
    }
    if !args.keep {
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}
