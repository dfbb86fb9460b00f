//! Balances, blocks, withdrawals, creations and first coins.

use super::{Chain, amount, text};
use crate::harness::{Served, number, small};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::SystemTime};
use txgraph_testkit::says;

#[test]
fn balances_are_those_of_the_node() {
    let fixture = small();
    let served = Served::new(&fixture);
    let mut compared = 0;
    for line in fixture
        .lines("state")
        .filter(|it| it["method"] == "eth_getBalance")
        .step_by(9)
    {
        let (address, block) = (
            line["params"][0].as_str().unwrap(),
            line["params"][1].as_str().unwrap(),
        );
        let expected = amount(line["result"].as_str().unwrap());
        let query = format!("module=account&action=balance&address={address}&tag={block}");
        assert_eq!(
            served.query(&query),
            json!({ "status": "1", "message": "OK", "result": expected })
        );
        let decimal = u64::from_str_radix(&block[2..], 16).unwrap();
        let query =
            format!("module=account&action=balancehistory&address={address}&blockno={decimal}");
        assert_eq!(served.query(&query)["result"], expected);
        let query =
            format!("module=account&action=balancemulti&address={address},{address}&tag={block}");
        let row = json!({ "account": address, "balance": expected });
        assert_eq!(served.query(&query)["result"], json!([row, row]));
        compared += 1;
    }
    assert!(compared > 20);
    let usd = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let query = format!(
        "module=account&action=tokenbalance&contractaddress={usd}&address={deployer}&Tag=Latest"
    );
    let found = served.query(&query)["result"].clone();
    let call = format!("0x70a08231{:0>64}", &deployer[2..]);
    let asked = served.result("eth_call", json!([{ "to": usd, "data": call }, "latest"]));
    assert_eq!(found, amount(asked.as_str().unwrap()));
    let query = format!("module=token&action=tokenholderlist&contractaddress={usd}&offset=7");
    let listed = [1, 2].map(|page| served.rows(&format!("{query}&page={page}")));
    assert_eq!(listed[0].len(), 7);
    for row in listed.concat() {
        let holder = row["TokenHolderAddress"].as_str().unwrap();
        let query = format!(
            "module=account&action=tokenbalance&contractaddress={usd}&address={holder}&tag=latest"
        );
        assert_eq!(served.query(&query)["result"], row["TokenHolderQuantity"]);
    }
    let supply = |of: &str| {
        let query = format!("module=stats&action=tokensupply&contractaddress={of}");
        served.query(&query)["result"].clone()
    };
    let asked = served.result(
        "eth_call",
        json!([{ "to": usd, "data": "0x18160ddd" }, "latest"]),
    );
    assert_eq!(supply(usd), amount(asked.as_str().unwrap()));
    // At the end of an earlier block.
    let call = |data: &str| {
        let found = served.result("eth_call", json!([{ "to": usd, "data": data }, "0x14"]));
        amount(found.as_str().unwrap())
    };
    let history = |query: &str| served.query(&format!("{query}&contractaddress={usd}&blockno=20"));
    let query = format!("module=account&action=tokenbalancehistory&address={deployer}");
    let found = history(&query)["result"].clone();
    assert_eq!(found, call(&format!("0x70a08231{:0>64}", &deployer[2..])));
    let found = history("module=stats&action=tokensupplyhistory")["result"].clone();
    assert_eq!(found, call("0x18160ddd"));
    let none = supply(deployer);
    assert!(
        none.as_str()
            .unwrap()
            .ends_with("it does not answer totalSupply")
    );
}

#[test]
fn blocks_are_found_by_time() {
    let fixture = small();
    let served = Served::new(&fixture);
    let times: Vec<u128> = fixture
        .lines("blocks")
        .map(|it| number(&it["timestamp"]))
        .collect();
    let ask = |seconds: u128, closest: &str| {
        served.query(&format!(
            "module=block&action=getblocknobytime&timestamp={seconds}&closest={closest}"
        ))
    };
    for (block, time) in times.iter().enumerate() {
        for closest in ["before", "after"] {
            assert_eq!(
                ask(*time, closest)["result"],
                block.to_string(),
                "{closest}"
            );
        }
        if let Some(next) = times.get(block + 1) {
            assert!(next - time > 1);
            assert_eq!(ask(time + 1, "before")["result"], block.to_string());
            assert_eq!(ask(time + 1, "after")["result"], (block + 1).to_string());
        }
    }
    let last = times.last().unwrap();
    // A time in the past after the newest block: the node may have newer ones. Clients ask for now.
    for closest in ["before", "after"] {
        let unknown = ask(last + 1, closest);
        assert_eq!(unknown["message"], "NOTOK", "{unknown}");
        says(&unknown.to_string(), "is not known yet");
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap();
    assert_eq!(ask(now.as_secs().into(), "before")["result"], "40");
    for future in [9_999_999_999, now.as_millis()] {
        says(&ask(future, "before").to_string(), "is in the future");
    }
    assert_eq!(ask(0, "after")["result"], "0");
    for document in [ask(9_999_999_999, "after"), ask(0, "before")] {
        assert_eq!(document["result"], "Error! No closest block found");
        assert_eq!(
            (&document["status"], &document["message"]),
            (&json!("0"), &json!("NOTOK"))
        );
    }
}

#[test]
fn blocks_and_withdrawals_of_an_address() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let miner = chain.blocks[5].0["miner"].as_str().unwrap();
    let mut expected = Vec::new();
    let mut withdrawn = BTreeMap::<String, Vec<Value>>::new();
    for (block, receipts) in &chain.blocks {
        let time = text(&block["timestamp"]);
        for it in block["withdrawals"].as_array().unwrap() {
            let receiver = it["address"].as_str().unwrap().to_owned();
            withdrawn.entry(receiver).or_default().push(json!({
                "withdrawalIndex": text(&it["index"]),
                "validatorIndex": text(&it["validatorIndex"]),
                "address": it["address"],
                "amount": text(&it["amount"]),
                "blockNumber": text(&block["number"]),
                "timestamp": time,
            }));
        }
        if block["miner"] != miner {
            continue;
        }
        let base_fee = number(&block["baseFeePerGas"]);
        let tips: u128 = (receipts.iter())
            .map(|it| (number(&it["effectiveGasPrice"]) - base_fee) * number(&it["gasUsed"]))
            .sum();
        expected.push(json!({
            "blockNumber": text(&block["number"]),
            "timeStamp": time,
            "blockReward": tips.to_string(),
        }));
    }
    let query = format!("module=account&action=getminedblocks&address={miner}&blocktype=blocks");
    assert_eq!(served.rows(&format!("{query}&sort=asc")), expected);
    expected.reverse();
    assert_eq!(served.rows(&query), expected);
    assert_eq!(
        served.rows(&format!("{query}&page=2&offset=3")),
        expected[3..6]
    );
    let of_range = |first: u64, last: u64| format!("{query}&startblock={first}&endblock={last}");
    let [from, to] = [9, 3].map(|at: usize| -> u64 {
        expected[at]["blockNumber"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    });
    assert_eq!(served.rows(&of_range(from, to)), expected[3..=9]);
    assert_eq!(served.query(&of_range(7, 6))["message"], "No blocks found");
    let none = served.query(
        "module=account&action=getminedblocks&address=0x000000000000000000000000000000000000dead",
    );
    assert_eq!(none["message"], "No blocks found");
    for (receiver, rows) in withdrawn {
        // Clients write the action in two ways.
        for action in ["txsBeaconWithdrawal", "txsbeaconwithdrawal"] {
            let query = format!("module=account&action={action}&address={receiver}");
            assert_eq!(served.rows(&query), rows, "{receiver}");
        }
    }
}

#[test]
fn rewards_are_the_tips_of_all_transactions() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    for (block, receipts) in &chain.blocks[1..] {
        let base_fee = number(&block["baseFeePerGas"]);
        let tips: u128 = (receipts.iter())
            .map(|it| (number(&it["effectiveGasPrice"]) - base_fee) * number(&it["gasUsed"]))
            .sum();
        let query = format!(
            "module=block&action=getblockreward&blockno={}",
            number(&block["number"])
        );
        let expected = json!({
            "blockNumber": text(&block["number"]),
            "timeStamp": text(&block["timestamp"]),
            "blockMiner": block["miner"],
            "blockReward": tips.to_string(),
            "uncles": [],
            "uncleInclusionReward": "0",
        });
        assert_eq!(served.query(&query)["result"], expected);
    }
    let missing = served.query("module=block&action=getblockreward&blockno=41");
    assert_eq!(missing["message"], "NOTOK");
}

#[test]
fn contracts_know_their_creation() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let mut found = 0;
    for (block, it, receipt) in chain.transactions() {
        let Some(contract) = receipt["contractAddress"].as_str() else {
            continue;
        };
        let code = served.result("eth_getCode", json!([contract, "latest"]));
        if receipt["status"] != "0x1" || code == "0x" || found == 6 {
            continue;
        }
        let query =
            format!("module=contract&action=getcontractcreation&contractaddresses={contract}");
        let row = served.rows(&query).pop().unwrap();
        // Some are destroyed and created again.
        if row["txHash"] != it["hash"] {
            continue;
        }
        found += 1;
        assert_eq!(
            row,
            json!({
                "contractAddress": contract,
                "contractCreator": it["from"],
                "txHash": it["hash"],
                "blockNumber": text(&block["number"]),
                "timestamp": text(&block["timestamp"]),
                "contractFactory": "",
                "creationBytecode": it["input"],
            })
        );
    }
    assert_eq!(found, 6);
    let account = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let none = served.query(&format!(
        "module=contract&action=getcontractcreation&contractaddresses={account}"
    ));
    assert_eq!(
        none,
        json!({ "status": "0", "message": "No data found", "result": null })
    );
}

/// The first coins of an address come from the first transaction or call that sent it any.
#[test]
fn the_first_funding_is_found() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let station = fixture.truth["accounts"]["gas_station"].as_str().unwrap();
    let funded = chain.transactions().find(|(_, it, receipt)| {
        let value = number(&it["value"]);
        it["from"] == station && value > 0 && receipt["status"] == "0x1"
    });
    let (block, it, _) = funded.unwrap();
    let query = format!(
        "module=account&action=fundedby&address={}",
        it["to"].as_str().unwrap()
    );
    let found = served.query(&query);
    assert_eq!(
        found["result"],
        json!({
            "block": text(&block["number"]),
            "timeStamp": text(&block["timestamp"]),
            "fundingAddress": it["from"],
            "fundingTxn": it["hash"],
            "value": text(&it["value"]),
        })
    );
    let none = served
        .query("module=account&action=fundedby&address=0x000000000000000000000000000000000000dead");
    assert_eq!(none["message"], "No transactions found");
}
