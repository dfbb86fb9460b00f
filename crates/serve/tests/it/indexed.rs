//! Answers with an index equal those without, byte for byte.

use crate::{
    etherscan::Chain,
    harness::{Indexed, Served, call, number, small},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// Requests whose answers an index may give.
struct Requests {
    /// Queries of Etherscan's interface.
    queries: Vec<String>,
    /// Methods with parameters.
    calls: Vec<(&'static str, Value)>,
}

impl Requests {
    fn of(fixture: &Fixture, most: usize) -> Self {
        let chain = Chain::of(fixture);
        let tip = fixture.tip().unwrap();
        let mut addresses: BTreeSet<String> = chain.busy(most).into_iter().collect();
        // Contracts that are only called inside of transactions.
        let traces = fixture
            .has("call-traces")
            .then(|| fixture.lines("call-traces"));
        let mut called = BTreeSet::new();
        for line in traces.into_iter().flatten().skip(1) {
            for one in line["result"].as_array().unwrap() {
                inside(&one["result"], &mut called);
            }
        }
        let apart = (called.len() / (2 * most)).max(1);
        addresses.extend(called.into_iter().step_by(apart));
        addresses.insert(format!("0x{}", "00".repeat(20)));
        addresses.insert(format!("0x{}", "17".repeat(20)));
        let (third, half) = (tip / 3, tip / 2);
        let (mut queries, mut calls) = (Vec::new(), Vec::new());
        for address in &addresses {
            let list = format!("module=account&action=txlist&address={address}");
            queries.extend([
                list.clone(),
                format!("{list}&sort=desc&page=2&offset=3"),
                format!("{list}&startblock={third}&endblock={half}&offset=7"),
                format!("module=contract&action=getcontractcreation&contractaddresses={address}"),
            ]);
            for size in [1, 3, 1000] {
                for block in [0, third, half, tip] {
                    let params = json!([address, block, size]);
                    calls.push(("ots_searchTransactionsBefore", params.clone()));
                    calls.push(("ots_searchTransactionsAfter", params));
                }
            }
            calls.push(("ots_getContractCreator", json!([address])));
            for nonce in [0, 1, 5, 1000] {
                calls.push((
                    "ots_getTransactionBySenderAndNonce",
                    json!([address, nonce]),
                ));
            }
            let last = format!("{half:#x}");
            for filter in [
                json!({ "fromAddress": [address] }),
                json!({ "toAddress": [address], "toBlock": last }),
                json!({ "fromAddress": [address], "toAddress": [address], "count": 5, "after": 1 }),
                json!({ "fromAddress": [address], "toAddress": addresses, "mode": "intersection" }),
            ] {
                calls.push(("trace_filter", json!([filter])));
            }
        }
        for (_, transaction, _) in chain.transactions().step_by(7) {
            let nonce = u64::try_from(number(&transaction["nonce"])).unwrap();
            let params = json!([transaction["from"], nonce]);
            calls.push(("ots_getTransactionBySenderAndNonce", params));
        }
        Self { queries, calls }
    }

    /// All answers, with their headers.
    fn ask(&self, served: &Served) -> Vec<String> {
        let queries = self.queries.iter();
        let queries = queries.map(|query| served.get(&format!("/api?{query}")));
        let calls = self
            .calls
            .iter()
            .map(|(method, params)| served.post(&call(1, method, params.clone()).to_string()));
        let answers = queries.chain(calls);
        answers
            .map(|answer| format!("{} {}", answer.status, answer.body))
            .collect()
    }

    fn name(&self, at: usize) -> String {
        match self.queries.get(at) {
            Some(query) => query.clone(),
            None => format!("{:?}", self.calls[at - self.queries.len()]),
        }
    }
}

fn inside(call: &Value, names: &mut BTreeSet<String>) {
    for child in call["calls"].as_array().into_iter().flatten() {
        names.extend(child["to"].as_str().map(str::to_owned));
        inside(child, names);
    }
}

fn compare(fixture: &Fixture, most: usize) {
    let requests = Requests::of(fixture, most);
    let expected = requests.ask(&Served::new(fixture));
    let tip = fixture.tip().unwrap();
    for contents in [
        (true, true, None),
        (true, true, Some(tip / 2)),
        (true, false, Some(tip - 1)),
        (false, true, None),
    ] {
        let (transactions, inside, last_block) = contents;
        let served = Served::indexed(
            fixture,
            Indexed {
                transactions,
                inside,
                last_block,
            },
        );
        let found = requests.ask(&served);
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{contents:?}: {}", requests.name(at));
        }
        assert_eq!(found.len(), expected.len());
    }
}

#[test]
fn answers_from_an_index_are_those_of_the_blocks() {
    compare(&small(), 6);
}

#[test]
fn answers_for_the_other_layout_are_the_same() {
    if let Some(fixture) = fixtures::fixture("small/v1") {
        compare(&fixture, 2);
    }
}

#[test]
fn a_contract_that_was_created_again_is_of_its_last_creation() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    // Created in block 120, destroyed in 122, created again in 123.
    let contract = "0xc82d0fcd5d25ef420706a75d94a988edc5ee05f2";
    let contents = Indexed {
        transactions: true,
        inside: true,
        last_block: None,
    };
    for served in [Served::new(&fixture), Served::indexed(&fixture, contents)] {
        let address = served
            .get(&format!("/v1/address?address={contract}"))
            .json();
        assert_eq!(address["creator"]["block"], 123, "{address}");
        let query =
            format!("module=contract&action=getcontractcreation&contractaddresses={contract}");
        assert_eq!(served.rows(&query)[0]["blockNumber"], "123");
        let creator = served.result("ots_getContractCreator", json!([contract]));
        assert_eq!(creator["hash"], address["creator"]["transaction"]);
    }
}
