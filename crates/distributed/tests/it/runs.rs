//! The folder of a run, and runs that are continued.

use crate::harness::{Cluster, ROOT, driver, ok, run};
use alloy_primitives::B256;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};
use txgraph_testkit::fixtures::paths_in;
use txgraph_transfers::{BlockRange, BlockRanges};

#[test]
fn a_run_has_steps_for_hops_and_is_continued() {
    let (_v2, cluster) = Cluster::small(1);
    let folder = cluster.folder.path();
    let line = format!("graph -q -r {ROOT} -n 3 --format csv -o -");
    let first = cluster.ok(&format!("{line} --run run"));
    let steps = || -> Vec<String> {
        let paths = paths_in(&folder.join("run/steps")).into_iter();
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        paths.map(name).collect()
    };
    // The first hop keeps all transfers of this small chain, which the driver reads. The second step
    // finds hashes of those in the answer.
    assert_eq!(steps().len(), 2);

    let shown = ok(folder, "runs show run --plans");
    shown.prints("state      done");
    assert_eq!(shown.stdout.matches("WorkExec").count(), 2, "{shown:?}");
    let kept = shown.stdout.matches("Scan of earlier steps").count();
    assert_eq!(kept, 1, "{shown:?}");
    let scans = self::steps(&folder.join("run"));
    let mut chunks = scans[0]["chunks"].as_array().unwrap().iter();
    assert!(chunks.all(|chunk| chunk["facts"].is_u64()), "{}", scans[0]);

    // Without its last step and with rests of a killed driver, only that step is repeated.
    let kept = steps();
    fs::remove_dir_all(folder.join("run/steps").join(&kept[1])).unwrap();
    let rest = folder.join("run/steps/0002-0123456789abcdef");
    fs::create_dir(&rest).unwrap();
    fs::write(rest.join("part-0123456789abcdef-0"), "rest").unwrap();
    let again = ok(folder, "runs resume run");
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(steps(), kept);

    // A finished run needs no executor.
    let mut cluster = cluster;
    cluster.executors[0].kill();
    let folder = cluster.folder.path();
    let again = run(&mut driver(folder, "runs resume run"));
    assert_eq!(again.stdout, first.stdout, "{again:?}");

    // A changed file is not trusted.
    let rows = parts(&folder.join("run/steps").join(&kept[1]));
    let rows = rows.first().unwrap();
    let mut bytes = fs::read(rows).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(rows, bytes).unwrap();
    let refused = run(&mut driver(folder, "runs resume run")).ended(1);
    refused.says("was changed");

    // Another query needs another folder.
    let other = cluster
        .ask(&format!("graph -q -r {ROOT} -n 2 --run run"))
        .ended(1);
    other.says("another query");

    ok(folder, "runs drop run");
    assert!(!folder.join("run").exists());
}

/// The files with the rows of a step.
fn parts(step: &Path) -> Vec<PathBuf> {
    let mut parts = paths_in(step);
    parts.retain(|path| path.extension().is_none());
    parts
}

/// The steps of a run.
fn steps(run: &Path) -> Vec<serde_json::Value> {
    let steps = paths_in(&run.join("steps")).into_iter();
    let files = steps.map(|step| fs::read(step.join("step.json")).unwrap());
    files
        .map(|json| serde_json::from_slice(&json).unwrap())
        .collect()
}

#[test]
fn all_executors_have_work() {
    let (_v2, cluster) = Cluster::small(4);
    cluster.ok("transfers -q --format csv -o - --run run");
    let steps = steps(&cluster.folder.path().join("run"));
    let [step] = &steps[..] else {
        panic!("a scan is one step");
    };
    // Four executors with two tasks each, and up to four chunks for a task.
    let chunks = step["chunks"].as_array().unwrap();
    assert!((17..=32).contains(&chunks.len()), "{}", chunks.len());
    let executors = chunks.iter().map(|chunk| chunk["executor"].as_str());
    let executors: BTreeSet<_> = executors.collect();
    assert_eq!(executors.len(), 4, "{executors:?}");
}

#[test]
fn rows_of_measures_do_not_pass_through_the_driver() {
    let (_v2, cluster) = Cluster::small(1);
    cluster.ok("pagerank --rounds 3 --run run");
    let run = cluster.folder.path().join("run");
    let mut kept = 0;
    for step in steps(&run) {
        let tasks = step["chunks"].as_array().unwrap().len();
        // A report for each task, whatever it wrote.
        let bytes = step["bytes"].as_u64().unwrap();
        assert!(bytes < 4096 * tasks as u64, "{step}");
        kept += usize::from(step["superseded"] == false);
    }
    // The files of earlier rounds are deleted.
    let with_rows = paths_in(&run.join("steps")).into_iter();
    let with_rows = with_rows.filter(|step| !parts(step).is_empty());
    assert!(with_rows.count() <= kept);
    let ranks = steps(&run).into_iter().filter(|step| {
        let name = step["name"].as_str().unwrap();
        name.starts_with("ranks, round") && step["superseded"] == false
    });
    assert_eq!(ranks.count(), 1);

    // Also without them, the run is continued from every step.
    let first = cluster.ok("pagerank --rounds 3 --run run");
    let steps = paths_in(&run.join("steps"));
    fs::remove_dir_all(steps.last().unwrap()).unwrap();
    let again = cluster.ok("pagerank --rounds 3 --run run");
    assert_eq!(again.stdout, first.stdout);
}

#[test]
fn a_second_driver_is_refused() {
    let (_v2, cluster) = Cluster::small(1);
    let line = format!("graph -q -r {ROOT} -n 1 --format csv -o - --run run");
    cluster.ok(&line);
    let lock = txgraph_stored::folder::lock(&cluster.folder.path().join("run")).unwrap();
    let refused = cluster.ask(&line).refused(1);
    refused.says("another process");
    drop(lock);
    cluster.ok(&line);
}

/// Forests are merged in more than one step.
#[test]
fn components_come_from_forests() {
    let (_v2, cluster) = Cluster::small(1);
    let folder = cluster.folder.path();
    let mut answers = Vec::new();
    for chunks in [1, 40] {
        cluster.configure(&format!("chunks = {chunks}"));
        let line = format!("analyze components -q --format json --run run-{chunks}");
        let found = cluster.ask(&line).ended(0);
        answers.push(found.stdout);
    }
    assert_eq!(answers[0], answers[1]);
    let steps = steps(&folder.join("run-40"));
    let tasks: Vec<_> = steps
        .iter()
        .map(|step| step["chunks"].as_array().unwrap().len())
        .collect();
    // Forests, merged forests, components: each chunk is reported once.
    assert_eq!(tasks.len(), 3, "{tasks:?}");
    assert!(
        tasks[0] > 8 && tasks[1] == tasks[0].div_ceil(8),
        "{tasks:?}"
    );
    assert_eq!(tasks[2], 1);
    let bytes = steps.iter().map(|step| step["bytes"].as_u64());
    let bytes: u64 = bytes.map(Option::unwrap).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes came to the driver");
}

/// The bytes that the driver of a run received: objects, reports, descriptions of the cluster.
pub(crate) fn received(run: &Path) -> u64 {
    let info = fs::read_to_string(run.join("run.json")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    info["received"].as_u64().unwrap()
}

/// Asks for measures of whole chains with short answers, and checks that the driver received little
/// more than those.
pub(crate) fn check_received(cluster: &Cluster) {
    for (run, line) in [
        (
            "received-1",
            "analyze components -q --limit 5 --format json",
        ),
        ("received-2", "analyze degrees -q --limit 5 --format json"),
        ("received-3", "motifs"),
    ] {
        let found = cluster.ok(&format!("{line} --run {run}"));
        let bytes = received(&cluster.folder.path().join(run));
        let answer = found.stdout.len() as u64;
        println!("{line}: the driver received {bytes} bytes for an answer of {answer}");
        assert!((1..(1 << 20) + answer).contains(&bytes), "{line}: {bytes}");
    }
}

/// The transfers of the chain below; `TXGRAPH_CLUSTER_TRANSFERS` sets another number.
const TRANSFERS: u64 = 200_000;

/// Writes a chain as a table of transfers, which executors read as their source.
fn write_chain(folder: &Path, transfers: u64) -> PathBuf {
    let per_block = 20;
    let mut chance = SmallRng::seed_from_u64(1);
    let mut table = "block_number,block_timestamp,transaction_index,log_index,sub_index,\
                     transaction_hash,token_address,from_address,to_address,value,token_id,\
                     token_standard,kind,chain_id\n"
        .to_owned();
    for number in 0..transfers {
        let (block, index) = (number / per_block, number % per_block);
        let time = 1_700_000_000 + 12 * block;
        let token = 1 + chance.random_range(0..9) * chance.random_range(0..2);
        // A few addresses have most of the transfers.
        let mut draw = || chance.random_range(1..=transfers);
        let mut end = || draw().min(draw()).min(draw());
        let (from, to, value) = (end(), end(), end());
        writeln!(
            table,
            "{block},{time},{index},{index},0,0x{number:064x},0x70{token:038x},0xaa{from:038x},\
             0xaa{to:038x},{value},,erc20,transfer,1337"
        )
        .unwrap();
    }
    let path = folder.join("chain.csv");
    fs::write(&path, table).unwrap();
    let blocks = BlockRanges::from(BlockRange::up_to(transfers.div_ceil(per_block) - 1));
    let metadata = serde_json::json!({
        "command": "transfers",
        "chain": { "chain_id": 1337, "genesis_hash": B256::repeat_byte(7), "name": null },
        "scan": { "covered": blocks },
    });
    fs::write(folder.join("chain.csv.meta.json"), metadata.to_string()).unwrap();
    PathBuf::from(format!("csv:{}", path.display()))
}

#[test]
fn drivers_receive_little_more_than_the_answer() {
    let transfers = std::env::var("TXGRAPH_CLUSTER_TRANSFERS");
    let transfers = transfers.map_or(TRANSFERS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let source = write_chain(folder.path(), transfers);
    let cluster = Cluster::start(&[Some(&source), Some(&source)]);
    check_received(&cluster);
    for line in [
        // The first hop keeps more than the driver reads.
        "graph -q -r 0xaa00000000000000000000000000000000000064 -n 3 --max-degree 9 --format csv -o -",
        "analyze degrees -q --format json",
        "analyze pairs -q --limit 20 --format json",
        "analyze summary -q --format json",
    ] {
        let local = format!("{line} --source {}", source.display());
        let expected = ok(folder.path(), &local);
        assert!(cluster.ok(line).stdout == expected.stdout, "{line}");
    }
}

#[test]
fn runs_without_a_folder_are_listed() {
    let (_v2, cluster) = Cluster::small(1);
    let folder = cluster.folder.path();
    cluster.configure("chunks = 3");
    cluster.ok("analyze summary -q --format json");
    // One that failed before its first step is not kept, unless it has a name.
    let wrong = || {
        let mut command = cluster.driver("sql");
        command.arg("SELECT nothing FROM transfers");
        command
    };
    run(&mut wrong()).ended(2);
    cluster.ask("transfers --blocks 5:1").ended(2);
    run(wrong().args(["--run", "named"])).ended(2);
    assert!(folder.join("named/run.json").exists());
    let listed = run(&mut driver(folder, "runs list"));
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
    listed.prints("done");
    listed.prints("analyze summary");
    let name = listed.stdout.split_whitespace().next().unwrap();
    let shown = run(&mut driver(folder, &format!("runs show {name}")));
    shown.prints("step 0001-");
    // The driver merges counts of few tasks itself.
    assert_eq!(shown.stdout.matches("step 000").count(), 5, "{shown:?}");
}

#[test]
fn statements_of_a_run_are_about_one_chain() {
    let (_v2, cluster) = Cluster::small(1);
    let folder = cluster.folder.path();
    cluster.configure("chunks = 4");
    let mut statement = cluster.driver("sql --run run");
    run(statement.arg("SELECT count(*) FROM transfers")).ended(0);

    // As if a block was replaced after the run began: what is read later is refused.
    let steps = paths_in(&folder.join("run/steps"));
    for step in &steps[1..] {
        fs::remove_dir_all(step).unwrap();
    }
    let file = steps[0].join("step.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut step: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hash = &mut step["chunks"][2]["report"]["last_block_hash"];
    assert_eq!(hash.as_str().unwrap().len(), 66, "{hash}");
    *hash = format!("0x{}", "12".repeat(32)).into();
    fs::write(&file, step.to_string()).unwrap();
    let resume = || run(&mut driver(folder, "runs resume run"));
    resume().refused(1).says("replaced");

    fs::write(&file, &text[1..]).unwrap();
    let damaged = resume().refused(1);
    damaged.says("is damaged");
    damaged.says("delete the folder that it is in");
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    resume().ended(0);
}

/// The blocks of dates are found once in a run, so that it keeps its blocks.
#[test]
fn a_run_keeps_the_blocks_of_its_dates() {
    let (_v2, mut cluster) = Cluster::small(1);
    let line = "transfers -q --since 2024-01-01T00:52:00 --format csv -o - --run run";
    let first = cluster.ok(line);
    assert!(first.stdout.lines().count() > 10, "{first:?}");
    let recorded = fs::read_to_string(cluster.folder.path().join("run/run.json")).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&recorded).unwrap();
    assert_eq!(recorded["dates"], serde_json::json!({ "1704070320": 10 }));

    let late = cluster.ask("transfers --since 2025-01-01").ended(3);
    late.says("is after the last block");

    cluster.executors[0].kill();
    let again = run(&mut driver(cluster.folder.path(), "runs resume run"));
    assert_eq!(again.stdout, first.stdout, "{again:?}");
}
