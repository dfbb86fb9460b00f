//! Mistakes that users make, with the exit status and the message of each. The answers are in
//! `testdata/golden/mistakes.txt`; `UPDATE_GOLDEN=1` writes them again.

use crate::harness::Sample;
use std::{env, fs};
use txgraph_testkit::fixtures;

/// One mistake per line. The chain ends with block 40.
const MISTAKES: &[&str] = &[
    "info --datadir /nonexistent",
    "info --datadir DATADIR/db",
    "graph",
    "graph -r 0x4545AA9c2a6019f57de4d3c92661c6482e9ab8b0",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b",
    "graph -r 0xzz45aa9c2a6019f57de4d3c92661c6482e9ab8b0",
    "graph -r vitalik.eth",
    "graph -q -r 4545aa9c2a6019f57de4d3c92661c6482e9ab8b",
    "graph -r 0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
    "graph -q -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops -1",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops two",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hop 2",
    "transfers --token USDT",
    "transfers -b 30:90",
    "transfers -b 100:",
    "transfers -b 500:400",
    "transfers -b 10-20",
    "transfers --min-value lots",
    "transfers --kind tranfer",
    "transfers --standard erc-20",
    "transfers --kind internal",
    "analyze sumary",
    "analyze summary --table nosuch",
    "transfers -f xlsx",
    "transfers -o out.xlsx",
    "transfers -o no/such/folder/t.csv",
    "query nonsense",
    "query who-funded",
    "query who-funded --set nosuch=1",
    "query who-funded --set root=me",
    "info --config nosuch.toml",
    "graph -r @nosuch",
    "replay --tx 20",
    "replay --tx 20:9999",
    "evm run",
];

#[test]
fn mistakes_have_their_golden_messages() {
    let sample = Sample::small();
    let data = sample.fixture.path().display().to_string();
    let folder = sample.folder.path().display().to_string();
    let mut text = String::new();
    for line in MISTAKES {
        let run = sample.run(&line.replace("DATADIR", &data));
        assert_ne!(run.status, 0, "{line}: {run:?}");
        assert_eq!(run.stdout, "", "{line}");
        let message = run.stderr.replace(&data, "DATADIR");
        let message = message.replace(&folder, "FOLDER");
        text += &format!("$ txgraph {line}\n{message}exit status {}\n\n", run.status);
    }
    let golden = fixtures::testdata().join("golden/mistakes.txt");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&golden).unwrap());
}

/// Every end of a trail is stated, although the answer is complete.
#[test]
fn ends_of_trails_are_stated() {
    let sample = Sample::small();
    let typo = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b1";
    let run = sample.ok(&format!("graph -r {typo} -n 3"));
    let stated = format!("no matching transfer sent by root {typo} in these blocks; check the");
    assert!(run.stderr.to_lowercase().contains(&stated), "{run:?}");

    let token = "0xd601451207128971898aab8654521699f35222e2";
    let run = sample.ok(&format!("graph -r {token} -n 3"));
    let stated = format!("sent by root contract {token} in these blocks; transfers of a token");
    assert!(run.stderr.to_lowercase().contains(&stated), "{run:?}");

    let root = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
    let run = sample.ok(&format!("graph -r {root}"));
    assert!(run.stderr.contains(" at the last hop: 0x"), "{run:?}");
    let run = sample.ok(&format!("graph -r {root} -n all"));
    assert!(
        run.stderr
            .contains("without a further matching transfer: 0x"),
        "{run:?}"
    );
    let quiet = sample.ok(&format!("graph -q -r {root} -n all"));
    assert_eq!(quiet.stderr, "");
}

#[test]
fn accounts_without_code_are_stated() {
    let sample = Sample::small();
    let chain = crate::replay::chain();
    let account = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
    let token = "0xd601451207128971898aab8654521699f35222e2";
    let run = sample.run(&format!("token {account} {token} {chain}"));
    assert_eq!(run.status, 1, "{run:?}");
    assert!(
        run.stderr
            .contains("is not a token: the account has no code"),
        "{run:?}"
    );
    assert_eq!(run.stdout.lines().count(), 2, "{run:?}");
    sample.ok(&format!("token {token} {chain}"));

    let run = sample.ok(&format!("call --to {account} {chain}"));
    assert!(
        run.stderr.contains("has no code at the end of block"),
        "{run:?}"
    );
    let run = sample.ok(&format!("call --to {token} --data 0x18160ddd {chain}"));
    assert!(!run.stderr.contains("has no code"), "{run:?}");
}
