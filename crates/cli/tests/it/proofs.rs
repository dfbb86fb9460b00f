//! `txgraph statement --proofs`, and `statement verify --offline`, which needs no source.

use crate::harness::{CHAIN, HUB, Sample, ok};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};
use txgraph::{ErrorKind, verify_proofs};
use txgraph_testkit::{fixtures, or_skip};

/// Sends, receives, and has withdrawals.
const VALIDATOR: &str = "0xcaa8abeb21ea52d586925572de161da0bffe3e48";

/// The statement of an account with proofs, and the sample that it is of.
fn proven(account: &str) -> (Sample, Value) {
    let sample = Sample::small();
    sample.ok(&format!("statement {account} {CHAIN} --proofs -o s.json"));
    let statement = sample.read_json("s.json");
    (sample, statement)
}

/// Writes statements with proofs, verifies them in both ways, and returns the kinds of their rows with the
/// numbers of rows that are proven and not proven.
fn verified(sample: &Sample, accounts: &[&str]) -> (BTreeSet<String>, [u64; 2]) {
    let mut kinds = BTreeSet::new();
    let mut rows = [0; 2];
    for account in accounts {
        let line = format!("statement {account} {CHAIN} --with-internal --proofs");
        sample.ok(&format!("{line} -o s.json --overwrite"));
        let json = sample.read_json("s.json");
        for row in json["movements"].as_array().unwrap() {
            let [kind, standard] = ["kind", "token_standard"].map(|it| row[it].as_str().unwrap());
            kinds.insert(format!("{kind} {standard}"));
        }
        let found = verify_proofs(sample.read("s.json").as_bytes()).unwrap();
        let unproven: u64 = found.unproven.values().sum();
        rows = [rows[0] + found.proven, rows[1] + unproven];
        for kind in found.unproven.keys() {
            let known = ["internal", "burn", "fee", "priority", "unexplained"];
            assert!(known.contains(&kind.as_str()), "{account}: {kind}");
        }
        sample.ok(&format!("statement verify s.json {CHAIN}"));
    }
    (kinds, rows)
}

/// Senders, receivers, contracts, and the zero address, which has mints and burns.
#[test]
fn statements_prove_themselves() {
    let sample = Sample::small();
    let deployer = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
    let zero = &format!("0x{:040x}", 0)[..];
    let weth = sample.fixture.truth["tokens"]["weth"]["address"].clone();
    let accounts = [HUB, VALIDATOR, deployer, zero, weth.as_str().unwrap()];
    let (kinds, rows) = verified(&sample, &accounts);
    for kind in [
        "burn erc20",
        "burn erc721",
        "fee native",
        "internal native",
        "mint erc20",
        "mint erc721",
        "transfer erc20",
        "unwrap erc20",
        "value native",
        "withdrawal native",
        "wrap erc20",
    ] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    assert!(rows[0] > 100 && rows[1] > 100, "{rows:?}");
    // Also batches of ERC-1155.
    let sample = or_skip!(Sample::named("dev-v2"));
    let (kinds, rows) = verified(
        &sample,
        &[zero, "0x0a9f7f932c32332d772be4d866d40925a9401161"],
    );
    assert!(kinds.contains("mint erc1155"), "{kinds:?}");
    assert!(rows[0] > 2000, "{rows:?}");
}

/// A file of an earlier version, in a folder without anything else.
#[test]
fn a_file_is_verified_without_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixtures::testdata().join("statements/proven.json");
    fs::copy(file, folder.path().join("proven.json")).unwrap();
    let run = ok(folder.path(), "statement verify --offline proven.json");
    assert_eq!(
        run.stdout,
        "proven.json: 5 of 7 rows proven by 3 headers; the balances add up\n\
         not proven here, by replay or state only: 2 fee\n\
         not proven: opening balances, that no other block has rows, that the headers are of the chain\n\
         compare with any node: block 36 has the hash \
         0xf6fb77cd741d290d6628a599c050020f39772cd93e8086752ab8fb217259b473, block 39 \
         0x05de98722f158e9b2fa8245a1b1c81926e3d27eb35dc796f7cd8beb867e5559d; 1 other between them in `proofs`\n"
    );
}

#[test]
fn proofs_need_a_file_for_them() {
    let sample = Sample::small();
    let line = format!("statement {HUB} {CHAIN}");
    for outputs in ["", "-o s.csv", "-o s.html", "-f csv"] {
        let run = sample.run(&format!("{line} --proofs {outputs}")).ended(2);
        run.says("--proofs: only JSON contains proofs");
        run.says("hint: add -o FILE.json");
    }
    sample.ok(&format!("{line} -o s.json"));
    let run = sample.run("statement verify --offline s.json").ended(2);
    run.says("s.json: the statement has no proofs");
    run.says("hint: write it with `txgraph statement --proofs -o FILE.json`");
    // The page has the same command.
    sample.ok(&format!("{line} --proofs -o t.json -o t.html"));
    assert!(
        sample
            .read("t.html")
            .contains(" --proofs -o statement.json")
    );
}

/// Inverts a bit of a byte that is written in hex; `at` counts from the end if it is negative.
fn flip(hex: &mut Value, at: isize) {
    let mut text = hex.as_str().unwrap().to_owned().into_bytes();
    let at = match at < 0 {
        true => text.len() - at.unsigned_abs(),
        false => 2 + at.unsigned_abs(),
    };
    let digit = char::from(text[at]).to_digit(16).unwrap() ^ 1;
    text[at] = format!("{digit:x}").into_bytes()[0];
    *hex = String::from_utf8(text).unwrap().into();
}

/// The place of the first row with this kind.
fn row(statement: &Value, kind: &str) -> usize {
    let rows = statement["movements"].as_array().unwrap();
    rows.iter().position(|row| row["kind"] == kind).unwrap()
}

/// The places in `proofs` of the transaction of a row.
fn proof_of(statement: &Value, row: usize) -> (usize, usize) {
    let row = &statement["movements"][row];
    let blocks = statement["proofs"].as_array().unwrap();
    let block = blocks
        .iter()
        .position(|it| it["block_number"] == row["block_number"]);
    let block = block.unwrap();
    let transactions = blocks[block]["transactions"].as_array().unwrap();
    let index = &row["transaction_index"];
    let transaction = transactions
        .iter()
        .position(|it| it["transaction_index"] == *index);
    (block, transaction.unwrap())
}

#[test]
fn each_damage_is_named() {
    let (sample, statement) = proven(VALIDATOR);
    let [value, log, fee, withdrawal] =
        ["value", "transfer", "fee", "withdrawal"].map(|kind| row(&statement, kind));
    let (block, transaction) = proof_of(&statement, log);
    let of_block = |it: &Value, at: usize| it["proofs"][at]["block_number"].clone();
    let (number, hash) = (
        of_block(&statement, block),
        &statement["proofs"][block]["block_hash"],
    );
    let index = statement["movements"][log]["transaction_index"].clone();
    let at = |row: usize| format!("row {} of `movements`: ", row + 1);
    let in_block = format!("the proofs of block {number}: ");
    let with_withdrawal = statement["movements"][withdrawal]["block_number"].clone();
    let proofs = statement["proofs"].as_array().unwrap();
    let withdrawing = proofs
        .iter()
        .position(|it| it["block_number"] == with_withdrawal);
    let withdrawing = withdrawing.unwrap();
    let place = &proofs[withdrawing]["withdrawals"][0]["withdrawal_place"];
    let of_transaction = |it: &mut Value, field: &str, change: &dyn Fn(&mut Value)| {
        change(&mut it["proofs"][block]["transactions"][transaction][field]);
    };
    let number_in = |it: &mut Value, by: i64| *it = (it.as_i64().unwrap() + by).into();
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: &[(Change<'_>, String)] = &[
        // Proofs.
        (
            &|it| flip(&mut it["proofs"][block]["header"], -1),
            format!("{in_block}`header` is of block {number} and has the hash 0x"),
        ),
        (
            &|it| flip(&mut it["proofs"][block]["header"], 0),
            format!("{in_block}`header` is not the RLP of one"),
        ),
        (
            &|it| flip(&mut it["proofs"][block]["block_hash"], 9),
            format!(
                "{in_block}`header` is of block {number} and has the hash {}",
                hash.as_str().unwrap()
            ),
        ),
        (
            &|it| of_transaction(it, "transaction", &|it| flip(it, -5)),
            format!("{in_block}transaction {index}: its proof is of other bytes"),
        ),
        (
            &|it| of_transaction(it, "receipt", &|it| flip(it, -5)),
            format!("{in_block}the receipt of transaction {index}: its proof is of other bytes"),
        ),
        (
            &|it| of_transaction(it, "receipt", &|it| *it = Value::Null),
            format!("{in_block}transaction {index}: there is no receipt"),
        ),
        (
            &|it| of_transaction(it, "transaction_proof", &|it| flip(&mut it[0], 20)),
            format!("{in_block}transaction {index}: node 1 of its proof has not the hash"),
        ),
        (
            &|it| of_transaction(it, "receipt_proof", &|it| flip(&mut it[1], 20)),
            format!(
                "{in_block}the receipt of transaction {index}: node 2 of its proof has not the hash"
            ),
        ),
        (
            &|it| {
                of_transaction(it, "receipt_proof", &|it| {
                    drop(it.as_array_mut().unwrap().pop())
                })
            },
            format!("{in_block}the receipt of transaction {index}: its proof ends after node"),
        ),
        (
            &|it| of_transaction(it, "first_log_index", &|it| number_in(it, 1)),
            "`log_index` is ".to_owned(),
        ),
        (
            &|it| {
                let transactions = &mut it["proofs"][block]["transactions"];
                let again = transactions[transaction].clone();
                transactions
                    .as_array_mut()
                    .unwrap()
                    .insert(transaction, again);
            },
            format!("{in_block}transactions or withdrawals are not in order"),
        ),
        (
            &|it| {
                let transactions = &mut it["proofs"][block]["transactions"];
                transactions.as_array_mut().unwrap().remove(transaction);
            },
            "there is no proof of its transaction".to_owned(),
        ),
        (
            &|it| {
                let again = it["proofs"][block].clone();
                it["proofs"].as_array_mut().unwrap().push(again);
            },
            format!("there are two proofs of block {number}"),
        ),
        (
            &|it| drop(it["proofs"].as_array_mut().unwrap().remove(block)),
            "there is no proof of its block".to_owned(),
        ),
        (
            &|it| {
                flip(
                    &mut it["proofs"][withdrawing]["withdrawals"][0]["withdrawal"],
                    -1,
                )
            },
            format!(
                "the proofs of block {with_withdrawal}: withdrawal {place}: its proof is of other bytes"
            ),
        ),
        (
            &|it| it["metadata"]["chain"]["chain_id"] = 1.into(),
            ": it is of another chain than the statement".to_owned(),
        ),
        // Rows.
        (
            &|it| {
                let row = &mut it["movements"][log];
                let side = if row["sent"].is_null() {
                    "received"
                } else {
                    "sent"
                };
                row[side] = "12345".into();
            },
            format!("{}`", at(log)),
        ),
        (
            &|it| it["movements"][log]["counterparty"] = json!(HUB),
            format!("{}`counterparty` is ", at(log)),
        ),
        (
            &|it| it["movements"][log]["token_address"] = json!(HUB),
            format!("{}`token_address` is ", at(log)),
        ),
        (
            &|it| number_in(&mut it["movements"][log]["log_index"], 1),
            format!("{}`log_index` is ", at(log)),
        ),
        (
            &|it| flip(&mut it["movements"][value]["transaction_hash"], 3),
            format!("{}`transaction_hash` is ", at(value)),
        ),
        (
            &|it| {
                let side = ["sent", "received"].into_iter();
                let row = &mut it["movements"][value];
                for side in side
                    .filter(|side| !row[*side].is_null())
                    .collect::<Vec<_>>()
                {
                    row[side] = "1".into();
                }
            },
            format!("{}`", at(value)),
        ),
        (
            &|it| it["movements"][withdrawal]["received"] = "1".into(),
            format!("{}`received` is \"1\" in the file, and \"", at(withdrawal)),
        ),
        (
            &|it| {
                let times = [0, statement["movements"].as_array().unwrap().len() - 1];
                let [first, last] = times.map(|at| it["movements"][at]["timestamp"].clone());
                assert_ne!(first, last);
                it["movements"][times[0]]["timestamp"] = last;
                it["movements"][times[1]]["timestamp"] = first;
            },
            format!("{}`timestamp` is ", at(0)),
        ),
        (
            &|it| number_in(&mut it["movements"][fee]["timestamp"], 1),
            format!("{}`timestamp` is ", at(fee)),
        ),
        (
            &|it| flip(&mut it["movements"][fee]["transaction_hash"], 3),
            format!("{}`transaction_hash` is ", at(fee)),
        ),
        (
            &|it| drop(it["movements"].as_array_mut().unwrap().remove(log)),
            "row ".to_owned(),
        ),
        (
            &|it| {
                it["movements"][log]["kind"] = "internal".into();
                it["movements"][log]["log_index"] = Value::Null;
            },
            format!("{}a row of kind internal is of a token", at(log)),
        ),
        // Sums.
        (
            &|it| it["movements"][fee]["sent"] = "1".into(),
            format!("{}`balance` is ", at(fee)),
        ),
        (
            &|it| it["movements"][fee]["balance"] = "-1".into(),
            format!("{}`balance` is \"-1\", which is no amount", at(fee)),
        ),
        (
            &|it| it["balances"][0]["received"] = "1".into(),
            "row 1 of `balances`: `received` is 1, but by the rows it is ".to_owned(),
        ),
        (
            &|it| it["balances"][0]["closing"] = Value::Null,
            "row 1 of `balances`: `closing` is absent, but by the rows it is ".to_owned(),
        ),
        (
            &|it| it["balances"][0]["opening"] = "7".into(),
            "`balance` is ".to_owned(),
        ),
        (
            &|it| drop(it["balances"].as_array_mut().unwrap().remove(0)),
            "`balances` lacks its asset".to_owned(),
        ),
        (
            &|it| it["address"] = json!(HUB),
            "`address` is not ".to_owned(),
        ),
    ];
    for (change, why) in cases {
        let mut changed = statement.clone();
        change(&mut changed);
        assert_ne!(changed, statement, "{why}");
        let error = verify_proofs(changed.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed, "{error}");
        assert!(error.message.contains(why), "{why}: {error}");
    }
    // The program names the file. A node finds it, too.
    let mut changed = statement.clone();
    flip(&mut changed["proofs"][block]["header"], -1);
    fs::write(sample.path("bad.json"), changed.to_string()).unwrap();
    let run = sample.run("statement verify --offline bad.json").ended(1);
    run.says(&format!(
        "bad.json: {in_block}`header` is of block {number}"
    ));
    let run = sample.run(&format!("statement verify bad.json {CHAIN}"));
    let run = run.ended(1);
    run.says(&format!(
        "the proofs of block {number} differ from the source"
    ));
}

/// Any bit of any proof.
#[test]
fn random_damage_is_found() {
    let (_, statement) = proven(VALIDATOR);
    fn texts<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
        match value {
            Value::String(_) => found.push(value),
            Value::Array(items) => items.iter_mut().for_each(|it| texts(it, found)),
            Value::Object(fields) => fields.values_mut().for_each(|it| texts(it, found)),
            _ => {}
        }
    }
    for seed in 0..400_usize {
        let mut changed = statement.clone();
        let mut found = Vec::new();
        texts(&mut changed["proofs"], &mut found);
        let place = seed.wrapping_mul(2_654_435_761) % found.len();
        let length = found[place].as_str().unwrap().len() - 2;
        let at = seed.wrapping_mul(40_503) % length;
        flip(found[place], isize::try_from(at).unwrap());
        let error = verify_proofs(changed.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    }
}

/// Nothing is proven by transactions that the header does not have.
#[test]
fn damaged_blocks_are_no_proof() {
    let sample = Sample::small();
    let copy = sample.with_damaged_signature();
    let block = sample.fixture.lines("blocks").nth(13).unwrap();
    let account = block["transactions"][0]["from"].as_str().unwrap();
    let data = copy.path().display();
    let line = format!("statement {account} {CHAIN} --blocks 13 --datadir {data} -f json");
    sample.ok(&line);
    let run = sample.run(&format!("{line} --proofs")).ended(1);
    run.says("block 13 is inconsistent: the stored transactions have the root 0x");
}

/// Receipts from before Byzantium have state roots, which the node does not store.
#[test]
fn old_receipts_are_not_proven() {
    let sample = or_skip!(Sample::named("odd/import-v2"));
    let genesis = fixtures::root().unwrap().join("odd/import-genesis.json");
    let genesis = genesis.display();
    let line = "statement 0x5f552da00dfb4d3749d9e62dcee3c918855a86a0 --proofs -o s.json";
    let run = sample.ok(&format!("{line} --chain {genesis}"));
    run.says("receipts of 1 block are not proven: before Byzantium they have a state root");
    let run = sample.ok("statement verify --offline s.json");
    let stdout = run.stdout;
    assert!(
        stdout.starts_with("s.json: 1 of 2 rows proven by 2 headers"),
        "{stdout}"
    );
    assert!(
        stdout.contains("by replay or state only: 1 value\n"),
        "{stdout}"
    );
    let json = sample.read_json("s.json");
    assert_eq!(json["proofs"][0]["block_number"], 7);
    assert_eq!(json["proofs"][0]["transactions"][0]["receipt"], Value::Null);
    sample.ok(&format!("statement verify s.json --chain {genesis}"));
}
