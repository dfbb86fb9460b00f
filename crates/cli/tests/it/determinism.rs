//! The same query gives the same bytes, however it is answered.

use crate::harness::Sample;

const QUERIES: [&str; 6] = [
    "transfers",
    "transfers -f jsonl -b 3:38",
    "graph -r 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -d both -n 3",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n all --time-respecting -f json",
    "graph -r 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba -n 2 --max-degree 4 -f dot",
    "analyze summary -f json",
];

#[test]
fn answers_do_not_depend_on_threads_chunks_and_memory() {
    for sample in Sample::both() {
        for query in QUERIES {
            let expected = sample.ok(&format!("-q {query}")).stdout;
            for how in [
                "--threads 1 --chunk-blocks 1",
                "--threads 2 --chunk-blocks 7",
                "--threads 5 --chunk-blocks 1000",
                "--threads 3 --memory 0",
            ] {
                let found = sample.ok(&format!("-q {query} {how}")).stdout;
                assert!(found == expected, "{query} {how}");
            }
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_layout() {
    let [v1, v2] = Sample::both();
    for query in QUERIES {
        let [a, b] = [&v1, &v2].map(|sample| sample.ok(&format!("-q {query}")).stdout);
        assert!(a == b, "{query}");
    }
}

#[test]
fn files_do_not_depend_on_threads() {
    let sample = Sample::small();
    for name in ["t.parquet", "t.ipc", "t.csv"] {
        let bytes = |how: &str| {
            sample.ok(&format!("transfers -q --overwrite -o {name} {how}"));
            std::fs::read(sample.path(name)).unwrap()
        };
        assert!(
            bytes("--threads 1 --chunk-blocks 1") == bytes("--threads 4 --chunk-blocks 9"),
            "{name}"
        );
    }
}

/// Code is decoded after it was executed for a while, on each thread at another time.
#[test]
fn replays_do_not_depend_on_threads() {
    let sample = Sample::small();
    for query in [
        "replay trace call",
        "replay trace struct --tx 20:3",
        "transfers --with-internal",
    ] {
        let with = |threads: u32| {
            let line = format!("-q {query} --chain genesis.json --threads {threads}");
            sample.ok(&line).stdout
        };
        let expected = with(1);
        assert!(expected.len() > 10_000, "{query}");
        for threads in [2, 5] {
            assert!(with(threads) == expected, "{query} {threads}");
        }
    }
}
