//! Runs public tests on the interpreter, and tests the runner itself.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use txgraph_evm::{DecodeAfter, Fork};
use txgraph_evm_tools::{
    engine::OurEvm,
    fixture::{Options, Report, run},
};
use txgraph_testkit::{fixtures, or_skip};

/// If `1`, runs all tests of the packed files instead of a sample.
const ALL_ENV: &str = "TXGRAPH_EVM_ALL";

pub(crate) fn testdata() -> PathBuf {
    fixtures::testdata().join("evm")
}

/// A form of the interpreter: its name, its engine, and by how much its sample is divided.
type Form = (&'static str, fn() -> OurEvm, u64);

/// The forms of the interpreter, and how many times smaller a sample is for each: most tests are the same in
/// all forms.
const FORMS: [Form; 5] = [
    ("as usual", OurEvm::new, 1),
    ("not decoded", || OurEvm::decoding(DecodeAfter::NEVER), 4),
    (
        "decoded while it runs",
        || OurEvm::decoding(DecodeAfter::executed(1)),
        4,
    ),
    ("decoded", || OurEvm::decoding(DecodeAfter::AT_ONCE), 4),
    ("step by step", OurEvm::stepping, 4),
];

fn passes(path: &Path, options: &Options) -> Report {
    let reports = FORMS.map(|(form, evm, part)| {
        let sample = options.sample.map(|(one_of, at)| (one_of * part, at));
        let options = Options {
            sample,
            ..options.clone()
        };
        let report = run(&[path.to_path_buf()], &options, evm).unwrap();
        assert!(
            report.all_passed(),
            "{}, {form}:\n{}",
            path.display(),
            report.table(10)
        );
        report
    });
    let [usual, ..] = reports;
    usual
}

#[test]
fn committed_tests_pass() {
    let report = passes(&testdata().join("state"), &Options::default());
    assert!(report.total().passed >= 20, "{}", report.table(0));
    // Tests of several kinds.
    assert!(report.counts.len() >= 8, "{}", report.table(0));
}

/// Whole blocks, which cover the rules of Amsterdam and the steps around transactions.
#[test]
fn committed_blocks_pass() {
    let report = passes(&testdata().join("blocks"), &Options::default());
    assert!(report.total().passed >= 100, "{}", report.table(0));
}

#[test]
fn public_tests_pass() {
    let root = or_skip!(fixtures::require_root());
    let all = std::env::var(ALL_ENV).is_ok_and(|value| value == "1");
    for (name, one_of) in [
        ("eest-v5.4.0-state", 100),
        ("legacy-cancun-state", 60),
        ("legacy-constantinople-state", 40),
        ("legacy-vmtests", 4),
    ] {
        let sample = (!all).then_some((one_of, 7));
        let options = Options {
            sample,
            ..Options::default()
        };
        passes(&root.join(format!("evm/{name}.jsonl.zst")), &options);
    }
}

/// The collection of the development network of Amsterdam has no blocks that are valid now: their
/// states lack the contracts of EIP-8282.
#[test]
fn blocks_of_the_development_network_do_not_apply() {
    let root = or_skip!(fixtures::require_root());
    let path = root.join("evm/eest-amsterdam-devnet-blockchain.jsonl.zst");
    let file = fs::File::open(path).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let contracts = [
        "0000bff46984e3725691fa540a8c7589300d8282",
        "000064d678505ad48f8ccb093bc65613800e8282",
    ];
    for line in text.lines() {
        let line = line.to_ascii_lowercase();
        assert!(contracts.iter().all(|contract| !line.contains(contract)));
    }
}

/// Corrupts each expectation once: a runner that passes everything proves nothing.
#[test]
fn wrong_expectations_fail() {
    let folder = tempfile::tempdir().unwrap();
    let file = testdata().join("state/eip1153.json");
    let text = fs::read_to_string(&file).unwrap();
    let unknown_fork = "Canada".parse::<Fork>().unwrap_err().to_string();
    // Name, the text to look for, the text that replaces what follows it, and the message.
    for (name, before, instead, reason) in [
        ("root", r#""hash":"0x"#, "0000", "state root"),
        ("logs", r#""logs":"0x"#, "0000", "hash of the logs"),
        ("nonce", r#""transaction":{"nonce":"0x"#, "07", "rejected"),
        ("sender", r#""sender":"0x"#, "0000", "the key belongs to"),
        ("indexes", r#""indexes":{"data":"#, "9", "behind the end"),
        ("fork", r#""post":{"#, r#""Canada""#, &unknown_fork),
    ] {
        let mut corrupted = text.clone();
        let at = text
            .find(before)
            .unwrap_or_else(|| panic!("{name}: no {before}"))
            + before.len();
        corrupted.replace_range(at..at + instead.len(), instead);
        assert_ne!(corrupted, text, "{name}");
        let path = folder.path().join(format!("{name}.json"));
        fs::write(&path, corrupted).unwrap();
        let report = run(&[path], &Options::default(), OurEvm::new).unwrap();
        assert!(!report.all_passed());
        assert!(
            report.table(1).contains(reason),
            "{name}: {}",
            report.table(1)
        );
    }
    let invalid = text.replacen(r#""indexes":{"#, r#""expectException":"X","indexes":{"#, 1);
    let path = folder.path().join("invalid.json");
    fs::write(&path, invalid).unwrap();
    let report = run(&[path], &Options::default(), OurEvm::new).unwrap();
    assert_eq!(report.total().failed, 1);
    assert!(report.failures[0].reason.contains("it is invalid: X"));
}

/// Corrupts each expectation of a block once.
#[test]
fn wrong_blocks_fail() {
    let folder = tempfile::tempdir().unwrap();
    let test = committed_block();
    let header = &test["blocks"][0]["blockHeader"];
    let runs = |name: &str, test: &serde_json::Value| {
        let path = folder.path().join(format!("{name}.json"));
        fs::write(&path, serde_json::json!({ name: test }).to_string()).unwrap();
        run(&[path], &Options::default(), OurEvm::new).unwrap()
    };
    let fails = |name: &str, test: &serde_json::Value, reason: &str| {
        let report = runs(name, test);
        assert!(!report.all_passed(), "{name}");
        let table = report.table(1);
        assert!(table.contains(reason), "{name}: {table}");
    };
    assert!(runs("unchanged", &test).all_passed());
    for (field, reason) in [
        ("parentHash", "parent: "),
        ("stateRoot", "state root: "),
        ("transactionsTrie", "transactions root: "),
        ("receiptTrie", "receipts root: "),
        ("withdrawalsRoot", "withdrawals root: "),
        ("requestsHash", "requests hash: "),
        ("blockAccessListHash", "block access list hash: "),
    ] {
        let mut corrupted = test.clone();
        let rlp = corrupted["blocks"][0]["rlp"].as_str().unwrap();
        let hash = &header[field].as_str().unwrap()[2..];
        let other = format!("0000{}", &hash[4..]);
        corrupted["blocks"][0]["rlp"] = rlp.replacen(hash, &other, 1).into();
        fails(field, &corrupted, &format!("{reason}0x"));
        // Rejecting the block is correct only for the expected reason.
        corrupted["blocks"][0]["expectException"] = "BlockException.INVALID_BASEFEE_PER_GAS".into();
        fails(field, &corrupted, "rejected for another reason");
    }
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = test.clone();
        change(&mut changed);
        changed
    };
    let cut = changed(&|test| test["blocks"][0]["rlp"] = "0xf9".into());
    fails("cut", &cut, "cannot decode the block");
    let last = changed(&|test| test["lastblockhash"] = header["parentHash"].clone());
    fails("last", &last, "the last block is");
    let pre = changed(&|test| test["pre"] = serde_json::json!({}));
    fails("pre", &pre, "state root of the genesis block");
    let accepted = changed(&|test| {
        test["blocks"][0]["expectException"] = "TransactionException.SENDER_NOT_EOA".into();
    });
    fails(
        "accepted",
        &accepted,
        "was accepted, but is invalid: TransactionException",
    );
    let unchecked = changed(&|test| {
        test["blocks"][0]["expectException"] = "BlockException.EXTRA_DATA_TOO_BIG".into();
        test["lastblockhash"] = header["parentHash"].clone();
        test["postStateHash"] = serde_json::Value::Null;
    });
    fails(
        "unchecked",
        &unchecked,
        "rejections not checked 1: BlockException.EXTRA_DATA_TOO_BIG",
    );
}

/// Returns a committed blockchain test with transactions and withdrawals.
fn committed_block() -> serde_json::Value {
    let file = fs::File::open(testdata().join("blocks/amsterdam-geth.jsonl.zst")).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let line = text.lines().find(|line| line.contains("seed 1\"")).unwrap();
    let (_, _, test): (String, String, serde_json::Value) = serde_json::from_str(line).unwrap();
    test
}

#[test]
fn rejects_files_without_tests() {
    let folder = tempfile::tempdir().unwrap();
    let none = run(
        &[folder.path().to_path_buf()],
        &Options::default(),
        OurEvm::new,
    )
    .unwrap_err();
    assert!(none.to_string().contains("no tests found"), "{none}");
    for (name, text, what) in [
        ("a.json", "{\"a\": {\"exec\": 1}}", "a.json, a: "),
        ("b.json", "[", "b.json: "),
        ("c.jsonl", "[\"f\", \"n\", {}]\n[1]\n", "c.jsonl:2: "),
        ("d.txt", "", "no tests found"),
        ("e.jsonl.zst", "not zstd", "e.jsonl.zst: "),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let error = run(&[path], &Options::default(), OurEvm::new)
            .unwrap_err()
            .to_string();
        assert!(error.contains(what), "{error}");
    }
    let path = folder.path().join("other.jsonl");
    fs::write(&path, "[\"f\", \"n\", {\"difficulty\": 1}]\n").unwrap();
    let report = run(&[path], &Options::default(), OurEvm::new).unwrap();
    assert!(!report.all_passed());
    assert!(
        report
            .table(1)
            .contains("unknown kind of test with the keys difficulty"),
        "{}",
        report.table(1)
    );
}

/// A test gives the same result as a line of a packed file and as a file.
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

/// Files that are not UTF-8 can be read; their contents are wrong.
#[test]
fn text_that_is_not_utf8_is_a_fault_of_the_file() {
    use txgraph_evm_tools::{Error, call::open_state, program::Program};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, [0x7b, 0xff]).unwrap();
    let errors = [
        open_state(&path).unwrap_err(),
        Program::open(&path).unwrap_err(),
        run(
            std::slice::from_ref(&path),
            &Options::default(),
            OurEvm::new,
        )
        .unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Format { .. }), "{error:?}");
        assert!(error.to_string().contains("a.json: "), "{error}");
    }
    let missing = open_state(&folder.path().join("b.json")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing:?}");
}
