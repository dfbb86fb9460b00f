//! The interpreter against public tests.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use txgraph_evm_tools::{
    engine::Own,
    fixture::{Options, Report, run},
};

/// With `1`, all tests of the packed files instead of a sample.
const ALL_ENV: &str = "TXGRAPH_EVM_ALL";

pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/evm")
}

/// The folder of the large fixtures, found as everywhere (`testkit::fixtures::root`):
/// depending on testkit would build the node's database for the sake of a path.
pub(crate) fn fixtures() -> Option<PathBuf> {
    let root = match std::env::var_os("TXGRAPH_FIXTURES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"),
    };
    let folder = root.join("evm");
    let required = std::env::var("TXGRAPH_REQUIRE_FIXTURES").is_ok_and(|value| value == "1");
    assert!(
        folder.is_dir() || !required,
        "{} is missing",
        folder.display()
    );
    folder.is_dir().then_some(folder)
}

pub(crate) fn skipped() {
    let _ = writeln!(std::io::stderr(), "skipped: fixtures not present");
}

fn passes(path: &Path, options: &Options) -> Report {
    let report = run(&[path.to_path_buf()], options, Own::new).unwrap();
    assert!(
        report.all_passed(),
        "{}:\n{}",
        path.display(),
        report.table(10)
    );
    report
}

#[test]
fn committed_tests_pass() {
    let report = passes(&testdata().join("state"), &Options::default());
    assert!(report.total().passed >= 20, "{}", report.table(0));
    // Not all of one kind.
    assert!(report.counts.len() >= 8, "{}", report.table(0));
}

/// Whole blocks, of every rule of Amsterdam and of what surrounds the transactions.
#[test]
fn committed_blocks_pass() {
    let report = passes(&testdata().join("blocks"), &Options::default());
    assert!(report.total().passed >= 200, "{}", report.table(0));
}

#[test]
fn public_tests_pass() {
    let Some(folder) = fixtures() else {
        return skipped();
    };
    let all = std::env::var(ALL_ENV).is_ok_and(|value| value == "1");
    for (name, one_of) in [
        ("eest-v5.4.0-state", 100),
        ("legacy-cancun-state", 60),
        ("legacy-constantinople-state", 40),
        ("legacy-vmtests", 4),
        ("eest-amsterdam-devnet-blockchain", 20),
    ] {
        let sample = (!all).then_some((one_of, 7));
        let options = Options {
            sample,
            ..Options::default()
        };
        passes(&folder.join(format!("{name}.jsonl.zst")), &options);
    }
}

/// A runner that passes everything proves nothing: each expectation is bent once.
#[test]
fn wrong_expectations_fail() {
    let folder = tempfile::tempdir().unwrap();
    let file = testdata().join("state/eip1153.json");
    let text = fs::read_to_string(&file).unwrap();
    // What to look for, what stands behind it from then on (in place of as many
    // characters), and what is said about it.
    for (name, before, instead, reason) in [
        ("root", r#""hash":"0x"#, "0000", "state root"),
        ("logs", r#""logs":"0x"#, "0000", "hash of the logs"),
        ("nonce", r#""transaction":{"nonce":"0x"#, "07", "refused"),
        ("sender", r#""sender":"0x"#, "0000", "the key belongs to"),
        ("indexes", r#""indexes":{"data":"#, "9", "behind the end"),
        ("fork", r#""post":{"#, r#""Canada""#, "no fork is called"),
    ] {
        let mut bent = text.clone();
        let at = text
            .find(before)
            .unwrap_or_else(|| panic!("{name}: no {before}"))
            + before.len();
        bent.replace_range(at..at + instead.len(), instead);
        assert_ne!(bent, text, "{name}");
        let path = folder.path().join(format!("{name}.json"));
        fs::write(&path, bent).unwrap();
        let report = run(&[path], &Options::default(), Own::new).unwrap();
        assert!(!report.all_passed());
        assert!(
            report.table(1).contains(reason),
            "{name}: {}",
            report.table(1)
        );
    }
    let refused = text.replacen(r#""indexes":{"#, r#""expectException":"X","indexes":{"#, 1);
    let path = folder.path().join("refused.json");
    fs::write(&path, refused).unwrap();
    let report = run(&[path], &Options::default(), Own::new).unwrap();
    assert_eq!(report.total().failed, 1);
    assert!(report.failures[0].reason.contains("must be refused: X"));
}

/// The same for blocks.
#[test]
fn wrong_blocks_fail() {
    let folder = tempfile::tempdir().unwrap();
    let test = committed_block("test_sstore_zero_to_nonzero");
    let header = &test["blocks"][0]["blockHeader"];
    let runs = |name: &str, bent: &serde_json::Value| {
        let path = folder.path().join(format!("{name}.json"));
        fs::write(&path, serde_json::json!({ name: bent }).to_string()).unwrap();
        run(&[path], &Options::default(), Own::new).unwrap()
    };
    let fails = |name: &str, bent: &serde_json::Value, reason: &str| {
        let report = runs(name, bent);
        assert!(!report.all_passed(), "{name}");
        let told = report.table(1);
        assert!(told.contains(reason), "{name}: {told}");
    };
    assert!(runs("straight", &test).all_passed());
    for (field, reason) in [
        ("parentHash", "parent: the header says"),
        ("stateRoot", "state root: the header says"),
        ("transactionsTrie", "transactions root: the header says"),
        ("receiptTrie", "receipts root: the header says"),
        ("withdrawalsRoot", "withdrawals root: the header says"),
        ("requestsHash", "requests hash: the header says"),
        (
            "blockAccessListHash",
            "block access list hash: the header says",
        ),
    ] {
        let mut bent = test.clone();
        let rlp = bent["blocks"][0]["rlp"].as_str().unwrap();
        let hash = &header[field].as_str().unwrap()[2..];
        let other = format!("0000{}", &hash[4..]);
        bent["blocks"][0]["rlp"] = rlp.replacen(hash, &other, 1).into();
        fails(field, &bent, reason);
        // Which is right only if that was asked for.
        bent["blocks"][0]["expectException"] = "BlockException.INVALID_BASEFEE_PER_GAS".into();
        fails(field, &bent, "but was for another reason");
    }
    let bent = |bend: &dyn Fn(&mut serde_json::Value)| {
        let mut bent = test.clone();
        bend(&mut bent);
        bent
    };
    let cut = bent(&|test| test["blocks"][0]["rlp"] = "0xf9".into());
    fails("cut", &cut, "cannot be decoded");
    let last = bent(&|test| test["lastblockhash"] = header["parentHash"].clone());
    fails("last", &last, "the last block is");
    let pre = bent(&|test| test["pre"] = serde_json::json!({}));
    fails("pre", &pre, "state root of the genesis block");
    let accepted = bent(&|test| {
        test["blocks"][0]["expectException"] = "TransactionException.SENDER_NOT_EOA".into();
    });
    fails(
        "accepted",
        &accepted,
        "must be refused: TransactionException",
    );
    let unchecked = bent(&|test| {
        test["blocks"][0]["expectException"] = "BlockException.INVALID_GASLIMIT".into();
        test["lastblockhash"] = header["parentHash"].clone();
        test["postState"] = serde_json::Value::Null;
    });
    fails(
        "unchecked",
        &unchecked,
        "refusals not checked 1: BlockException.INVALID_GASLIMIT",
    );
}

/// The first of the committed blockchain tests with this in its name.
fn committed_block(name: &str) -> serde_json::Value {
    let file = fs::File::open(testdata().join("blocks/amsterdam-devnet.jsonl.zst")).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let line = text.lines().find(|line| line.contains(name)).unwrap();
    let (_, _, test): (String, String, serde_json::Value) = serde_json::from_str(line).unwrap();
    test
}

#[test]
fn what_is_no_test_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let none = run(
        &[folder.path().to_path_buf()],
        &Options::default(),
        Own::new,
    )
    .unwrap_err();
    assert!(none.to_string().contains("no tests found"), "{none}");
    for (name, text, what) in [
        ("a.json", "{\"a\": {\"exec\": 1}}", "a.json, a: "),
        ("b.json", "[", "b.json: "),
        ("c.jsonl", "[\"f\", \"n\", {}]\n[1]\n", "c.jsonl:2: "),
        ("d.txt", "", "no tests found"),
        ("e.jsonl.zst", "no zstd", "e.jsonl.zst: "),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let error = run(&[path], &Options::default(), Own::new)
            .unwrap_err()
            .to_string();
        assert!(error.contains(what), "{error}");
    }
    let path = folder.path().join("other.jsonl");
    fs::write(&path, "[\"f\", \"n\", {\"difficulty\": 1}]\n").unwrap();
    let report = run(&[path], &Options::default(), Own::new).unwrap();
    assert!(!report.all_passed());
    assert!(
        report.table(1).contains("not known, made of difficulty"),
        "{}",
        report.table(1)
    );
}

/// A line of a packed file, and the same test in a file of its own.
#[test]
fn packed_and_plain_files_are_the_same() {
    let file = testdata().join("state/eip1153.json");
    let text = fs::read_to_string(&file).unwrap();
    let tests: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut packed = zstd::Encoder::new(Vec::new(), 3).unwrap();
    for (name, test) in &tests {
        writeln!(
            packed,
            "{}",
            serde_json::json!(["eip1153.json", name, test])
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.jsonl.zst");
    fs::write(&path, packed.finish().unwrap()).unwrap();
    let start = Instant::now();
    let (packed, plain) = (
        passes(&path, &Options::default()),
        passes(&file, &Options::default()),
    );
    assert_eq!(packed.counts, plain.counts);
    assert!(packed.time + plain.time <= start.elapsed() + Duration::from_millis(1));
}
