//! `txgraph address`, compared with all transfers, receipts and balances.

use crate::harness::{CHAIN, ROOT, Row, Sample, USD6};
use serde_json::Value;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use txgraph::U256;
use txgraph_testkit::{fixtures, or_skip, says};

fn ask(sample: &Sample, line: &str) -> Value {
    sample.json(&format!("address {line} --json -q {CHAIN}"))
}

/// All transfers, with addresses in lower case.
pub(crate) fn transfers(sample: &Sample) -> Vec<Row> {
    let mut all = sample.rows("transfers -q");
    for row in &mut all {
        for name in ["from_address", "to_address"] {
            let lower = row[name].to_lowercase();
            row.insert(name.to_owned(), lower);
        }
    }
    all
}

/// Returns the allocation of the genesis to an address.
pub(crate) fn allocated(sample: &Sample, address: &str) -> u128 {
    let accounts = sample.fixture.genesis["alloc"].as_object().unwrap();
    let is_it = |key: &str| {
        key.trim_start_matches("0x")
            .eq_ignore_ascii_case(&address[2..])
    };
    let account = accounts.iter().find(|(key, _)| is_it(key));
    account.map_or(0, |(_, account)| {
        let balance = account["balance"].as_str().unwrap();
        match balance.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).unwrap(),
            None => balance.parse().unwrap(),
        }
    })
}

/// Compares the transfers in one direction with rows of a table.
fn check_side(found: &Value, all: &[&Row], other: &str) {
    assert_eq!(found["transfers"], all.len());
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for row in all {
        *counts.entry(&row[other]).or_default() += 1;
    }
    assert_eq!(found["counterparties"], counts.len());
    let mut top: Vec<_> = counts.into_iter().collect();
    top.sort_by_key(|(address, count)| (Reverse(*count), *address));
    top.truncate(10);
    let listed = found["top"].as_array().unwrap().iter();
    let listed = listed.map(|it| {
        (
            it["address"].as_str().unwrap(),
            it["transfers"].as_u64().unwrap(),
        )
    });
    assert_eq!(listed.collect::<Vec<_>>(), top);
    for counterparty in found["top"].as_array().unwrap() {
        // The number of transfers and the sum, by token.
        let mut assets: BTreeMap<&str, (u64, U256)> = BTreeMap::new();
        for row in all
            .iter()
            .filter(|row| *row[other] == counterparty["address"])
        {
            let (count, sum) = assets.entry(&row["token_address"]).or_default();
            *count += 1;
            *sum += row["value"].parse::<U256>().unwrap();
        }
        let mut assets: Vec<_> = assets.into_iter().collect();
        assets.sort_by_key(|(token, (count, sum))| (sum.is_zero(), Reverse(*count), *token));
        let listed = counterparty["assets"].as_array().unwrap().iter();
        let listed = listed.map(|it| {
            let sum: U256 = it["value"].as_str().unwrap().parse().unwrap();
            (
                it["token_address"].as_str().unwrap_or(""),
                (it["transfers"].as_u64().unwrap(), sum),
            )
        });
        assert_eq!(listed.collect::<Vec<_>>(), assets);
    }
    for (name, row) in [("first", all.first()), ("last", all.last())] {
        let Some(row) = row else {
            assert!(found[name].is_null());
            continue;
        };
        check_transfer(&found[name], row);
    }
}

/// Compares the items that an address holds with the rows of a table.
fn check_items(found: &Value, all: &[Row], address: &str) {
    let mut held: BTreeMap<(String, U256), i128> = BTreeMap::new();
    for row in all.iter().filter(|row| !row["token_id"].is_empty()) {
        let key = (
            row["token_address"].clone(),
            row["token_id"].parse().unwrap(),
        );
        let value: i128 = row["value"].parse().unwrap();
        let amount = held.entry(key).or_default();
        *amount += if row["to_address"] == address {
            value
        } else {
            0
        };
        *amount -= if row["from_address"] == address {
            value
        } else {
            0
        };
    }
    held.retain(|_, amount| *amount > 0);
    let listed = found.as_array().unwrap().iter().map(|it| {
        let text = |name: &str| it[name].as_str().unwrap();
        let key = (
            text("token_address").to_owned(),
            text("id").parse().unwrap(),
        );
        (key, text("value").parse().unwrap())
    });
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), held);
}

fn check_transfer(found: &Value, row: &Row) {
    for name in ["block_number", "block_timestamp", "transaction_index"] {
        assert_eq!(found[name].to_string(), row[name], "{name}");
    }
    for name in ["value", "kind", "from_address", "to_address"] {
        assert_eq!(
            found[name].as_str().unwrap().to_lowercase(),
            row[name],
            "{name}"
        );
    }
}

#[test]
fn activity_is_that_of_all_transfers() {
    for sample in Sample::full() {
        let all = transfers(&sample);
        sample.ok("index build --index idx -q");
        let mut addresses: BTreeSet<&str> = BTreeSet::new();
        for row in all.iter().step_by(all.len() / 4) {
            addresses.extend([row["from_address"].as_str(), row["to_address"].as_str()]);
        }
        addresses.insert("0x1111111111111111111111111111111111111111");
        for address in addresses {
            let found = ask(&sample, address);
            let indexed = ask(&sample, &format!("{address} --index idx"));
            assert_eq!(found, indexed, "{address}");
            let side = |name: &str| -> Vec<&Row> {
                all.iter().filter(|row| row[name] == address).collect()
            };
            let received = side("to_address");
            check_side(&found["received"], &received, "from_address");
            check_side(&found["sent"], &side("from_address"), "to_address");
            let funding = received.iter().find(|row| {
                row["token_address"].is_empty()
                    && row["from_address"] != address
                    && !row["from_address"].trim_matches(['0', 'x']).is_empty()
            });
            check_items(&found["items"], &all, address);
            let allocated = allocated(&sample, address);
            assert_eq!(found["balance_before"]["block"], 0);
            assert_eq!(found["balance_before"]["value"], allocated.to_string());
            match funding.filter(|_| allocated == 0) {
                Some(row) => check_transfer(&found["first_funding"], row),
                None => assert!(found["first_funding"].is_null(), "{found}"),
            }
            // The command for balances returns the same.
            for balance in found["balances"].as_array().unwrap() {
                let token = balance["token_address"].as_str().unwrap_or("eth");
                let line = format!("balance {address} -t {token} --json -q {CHAIN}");
                let answer = sample.json(&line);
                assert_eq!(answer["balances"][0]["value"], balance["value"]);
            }
        }
    }
}

#[test]
fn contracts_have_their_creators() {
    for sample in Sample::full() {
        let mut created = Vec::new();
        for line in sample.fixture.lines("receipts") {
            for receipt in line["receipts"].as_array().unwrap() {
                if receipt["status"] == "0x1" && receipt["contractAddress"].is_string() {
                    created.push(receipt.clone());
                }
            }
        }
        assert!(created.len() > 3);
        let mut checked = 0;
        for receipt in created.iter().step_by(created.len().div_ceil(8)) {
            let found = ask(&sample, receipt["contractAddress"].as_str().unwrap());
            if found["state"]["is_contract"] == false {
                // Destroyed since.
                continue;
            }
            let creation = &found["creation"];
            for (name, key) in [
                ("block", "blockNumber"),
                ("transaction_index", "transactionIndex"),
            ] {
                let expected = receipt[key].as_str().unwrap().trim_start_matches("0x");
                let expected = u64::from_str_radix(expected, 16).unwrap();
                assert_eq!(creation[name], expected, "{found}");
            }
            assert_eq!(creation["sender"], receipt["from"]);
            assert_eq!(creation["creator"], receipt["from"]);
            assert_eq!(creation["transaction_hash"], receipt["transactionHash"]);
            checked += 1;
        }
        assert!(checked > 2);
    }
}

/// A contract that a factory created is found in the trace of the block.
#[test]
fn contracts_of_factories_have_their_factory() {
    let sample = or_skip!(Sample::named("long-v2"));
    let factory = sample.fixture.truth["contracts"]["factory"]
        .as_str()
        .unwrap();
    let mut children = BTreeSet::new();
    let mut blocks = BTreeMap::new();
    for line in sample.fixture.lines("receipts") {
        for receipt in line["receipts"].as_array().unwrap() {
            if receipt["to"] == factory && receipt["status"] == "0x1" {
                blocks.insert(receipt["transactionHash"].to_string(), receipt.clone());
            }
        }
    }
    // Its frames name the children.
    for receipt in blocks.values().take(4) {
        let hash = receipt["transactionHash"].as_str().unwrap();
        let trace = sample.ok(&format!("replay trace call --tx {hash} -q {CHAIN}"));
        for line in trace.stdout.lines() {
            let frame: Value = serde_json::from_str(line).unwrap();
            let frame = frame.get("result").cloned().unwrap_or(frame);
            for call in frame["calls"].as_array().unwrap() {
                if call["type"].as_str().unwrap().starts_with("CREATE") && call["to"].is_string() {
                    children.insert((call["to"].as_str().unwrap().to_owned(), hash.to_owned()));
                }
            }
        }
    }
    assert!(!children.is_empty());
    for (child, hash) in children {
        let found = ask(&sample, &child);
        if found["state"]["is_contract"] == true {
            assert_eq!(found["creation"]["creator"], factory, "{found}");
            assert_eq!(found["creation"]["transaction_hash"], hash, "{found}");
        }
    }
}

/// Tokens say what they are, pools name their tokens, and owners of items see them.
#[test]
fn contracts_say_what_they_are() {
    let mut pools = 0;
    for sample in Sample::full() {
        let truth = &sample.fixture.truth;
        for token in truth["tokens"].as_object().unwrap().values() {
            let found = ask(&sample, token["address"].as_str().unwrap());
            for name in ["name", "symbol", "decimals"] {
                if !token[name].is_null() && !found["contract"][name].is_null() {
                    assert_eq!(found["contract"][name], token[name], "{token}");
                }
            }
        }
        let pools_of_chain = truth["scenarios"]["layering-over-exchange"]["pairs"].as_array();
        for pool in pools_of_chain.into_iter().flatten() {
            let found = ask(&sample, pool.as_str().unwrap());
            let tokens = found["contract"]["tokens"].as_array().unwrap();
            let sides = [&found["received"], &found["sent"]];
            let moved = |token: &Value| {
                let of_side = |side: &&Value| side.to_string().contains(token.as_str().unwrap());
                sides.iter().any(of_side)
            };
            assert!(tokens.len() == 2 && tokens.iter().all(moved), "{found}");
            pools += 1;
        }
        let trail = &truth["scenarios"]["nft-trail"];
        if let Some(first) = trail["owners"].as_array().and_then(|owners| owners.first()) {
            // It had the item, and passed it on.
            let found = ask(&sample, first.as_str().unwrap());
            let id = trail["token_id"].to_string();
            let mut items = found["items"].as_array().unwrap().iter();
            assert!(!items.any(|it| it["token_address"] == trail["token"] && it["id"] == *id));
        }
    }
    assert!(pools > 0 || fixtures::fixture("dev-v2").is_none());
    let sample = Sample::small();
    let token = sample.fixture.truth["tokens"]["usd6"]["address"].clone();
    sample
        .ok(&format!("address {}", token.as_str().unwrap()))
        .prints("token         USD6, USD Six, 6 decimals, supply ");
}

#[test]
fn profiles_are_readable() {
    let sample = Sample::small();
    let found = sample.ok("address 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0");
    for part in [
        "no contract",
        "first funder  0x",
        "signed by     itself",
        "balances at the end of block ",
        " USD6",
        "Sent to",
        "moved most often",
    ] {
        found.prints(part);
    }
    sample
        .ok("address 0x1111111111111111111111111111111111111111")
        .prints("does not exist")
        .prints("received      nothing");
    sample.run("address 0x1234").ended(2);
    sample
        .run(&format!("address 0x{} --blocks 99999:", "11".repeat(20)))
        .ended(3);
}

/// The first funder is stated with what was not read.
#[test]
fn first_funders_are_not_more_than_is_known() {
    let sample = Sample::small();
    let text = |line: &str| {
        let answer = sample.ok(&format!("address {line} {CHAIN}"));
        let line = answer.stdout.lines().find(|it| it.starts_with("first fun"));
        line.unwrap().to_owned()
    };
    let accounts = sample.fixture.genesis["alloc"].as_object().unwrap();
    let addresses = accounts.keys().map(|key| match key.strip_prefix("0x") {
        Some(_) => key.clone(),
        None => format!("0x{key}"),
    });
    let addresses: Vec<_> = addresses.collect();
    let funded = addresses.iter().find(|it| allocated(&sample, it) > 0);
    let funded = funded.unwrap();
    assert!(text(funded).contains("first funder  the genesis, with "));
    let later = text(&format!("{funded} -b 5:"));
    says(&later, "not in these blocks: it had ");
    let row = sample
        .rows("transfers -q -t eth -f csv")
        .into_iter()
        .find(|row| allocated(&sample, &row["to_address"]) == 0)
        .unwrap();
    let address = &row["to_address"];
    assert!(text(address).contains("--with-internal"));
    let whole = text(&format!("{address} --with-internal"));
    assert!(whole.contains(" with ") && !whole.contains('('), "{whole}");
    let block: u64 = row["block_number"].parse().unwrap();
    let part = text(&format!("{address} -b {}:", block + 1));
    assert!(
        part.contains("not in these blocks") || part.contains("only"),
        "{part}"
    );
    // Without a state, the genesis is not known.
    sample.ok("lake build -q l.lake --reorg-buffer 0");
    sample
        .ok(&format!("address {address} --source lake:l.lake"))
        .prints("what the genesis allocated");
}

/// An amount that left a contract without a log is stated, and read with
/// `--with-internal`.
#[test]
fn contracts_that_pay_without_logs_are_noticed() {
    let sample = Sample::small();
    let mixer = &sample.fixture.truth["scenarios"]["mixer"];
    let pool = mixer["contract"].as_str().unwrap();
    let edges = mixer["edges"].as_array().unwrap().iter();
    let paid = edges.filter(|edge| edge["from"] == pool);
    let paid = paid.map(|edge| edge["value"].as_str().unwrap().parse::<u128>().unwrap());
    let found = ask(&sample, pool);
    let left = paid.sum::<u128>().to_string();
    assert_eq!(found["unrecorded"]["left"], left, "{found}");
    let text = sample.ok(&format!("address {pool} {CHAIN}"));
    let line = "left the contract without one of these transfers (--with-internal)";
    text.prints(line);
    let whole = ask(&sample, &format!("{pool} --with-internal"));
    assert!(whole["unrecorded"].is_null(), "{whole}");
}

#[test]
fn tokens_of_balances_can_be_the_native_coin_or_a_symbol() {
    let sample = Sample::small();
    let list = format!("address,symbol,decimals\n{USD6},USD6,6\n");
    std::fs::write(sample.path("t.csv"), list).unwrap();
    let balances = |line: &str| {
        let found = sample.json(&format!("address {ROOT} {line} {CHAIN} --json -q"));
        let balances = found["balances"].as_array().unwrap().iter();
        balances
            .map(|it| it["token_address"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(balances("-t eth"), [Value::Null]);
    for line in [
        format!("-t eth,{USD6}"),
        "-t usd6 --token-list t.csv".to_owned(),
    ] {
        assert_eq!(balances(&line), [Value::Null, USD6.into()]);
    }
    let found = sample.json(&format!("address {ROOT} --json -q"));
    assert_eq!(
        found["state"]["account"]["balance"],
        found["balances"][0]["value"]
    );
    sample.fails(&format!("address {ROOT} -t USD6"), 2, "--token-list FILE");
    sample.fails(
        &format!("balance {ROOT} -t USD6"),
        2,
        "name it by its address",
    );
}
