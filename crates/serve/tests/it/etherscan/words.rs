//! The words and types that clients parse.

use super::Chain;
use crate::harness::{Served, small};
use serde_json::json;

/// Every field is text, and none is `null`: clients parse them strictly.
#[test]
fn all_fields_are_text() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let mut creations = 0;
    for action in [
        "txlist",
        "txlistinternal",
        "tokentx",
        "tokennfttx",
        "token1155tx",
    ] {
        for address in chain.busy(4).iter().map(String::as_str).chain([deployer]) {
            let query = format!("module=account&action={action}&address={address}");
            for row in served.rows(&query) {
                for (name, value) in row.as_object().unwrap() {
                    assert!(value.is_string(), "{action} {name}: {value}");
                }
                if action == "txlist" && row["to"] == "" {
                    creations += 1;
                    assert!(row["contractAddress"].as_str().unwrap().starts_with("0x"));
                }
                if action == "txlist" {
                    assert!(["0", "1"].contains(&row["isError"].as_str().unwrap()));
                }
            }
        }
    }
    assert!(creations > 0);
}

/// Asserts that a query is refused because the node does not have what it needs.
#[track_caller]
fn missing(served: &Served, query: &str, words: &str) {
    let response = served.get(&format!("/api?{query}"));
    let found = response.json();
    assert_eq!(found["message"], "NOTOK", "{query}: {found}");
    let why = found["result"].as_str().unwrap();
    assert!(why.starts_with(words), "{query}: {why}");
    assert_eq!(response.headers["x-txgraph-incomplete"], "1", "{query}");
}

/// Missing data is answered neither with nothing nor with everything.
#[test]
fn empty_and_unknown_values_are_not_guessed() {
    let fixture = small();
    let served = Served::new(&fixture);
    missing(
        &served,
        "module=logs&action=getLogs&fromBlock=42&toBlock=latest",
        "blocks above 40",
    );
    // A client that has read all blocks asks for the next ones.
    let next = served.query("module=logs&action=getLogs&fromBlock=41&toBlock=latest");
    assert_eq!(next["message"], "No records found", "{next}");
    for path in ["/api/", "/v2/api/"] {
        let query = "chainid=735703&module=logs&action=getLogs&fromBlock=41";
        assert_eq!(served.get(&format!("{path}?{query}")).json(), next);
    }
    missing(
        &served,
        "module=logs&action=getLogs&fromBlock=0&toBlock=41",
        "blocks above 40",
    );
    let list = "module=account&action=txlistinternal";
    let refused = |query: &str| {
        let found = served.query(query);
        assert_eq!(found["message"], "NOTOK", "{query}: {found}");
        found["result"].as_str().unwrap().to_owned()
    };
    // The node may have it in a block that it has not stored yet.
    let unknown = refused(&format!("{list}&txhash=0x{:064x}", 1));
    assert!(unknown.starts_with("no block up to 40 has"), "{unknown}");
    let empty = refused(&format!("{list}&txhash="));
    assert_eq!(empty, "Error! Invalid transaction hash format");
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let contract = fixture.truth["contracts"]["disperse"].as_str().unwrap();
    let no_token = refused(&format!(
        "module=account&action=tokenbalance&contractaddress={contract}&address={deployer}"
    ));
    assert!(no_token.ends_with("is no ERC-20 or ERC-721 token: it does not answer balanceOf"));
    let funded = refused(&format!(
        "module=account&action=fundedby&address={deployer}"
    ));
    assert!(funded.starts_with("the genesis funded"), "{funded}");
}

/// The words that clients look for when there is nothing, or when something is wrong.
#[test]
fn words_are_those_of_etherscan() {
    let served = Served::new(&small());
    let address = "0x000000000000000000000000000000000000dead";
    for action in [
        "txlist",
        "txlistinternal",
        "tokentx",
        "tokennfttx",
        "token1155tx",
        "txsBeaconWithdrawal",
    ] {
        let found = served.query(&format!("module=account&action={action}&address={address}"));
        let none = json!({ "status": "0", "message": "No transactions found", "result": [] });
        assert_eq!(found, none, "{action}");
        for end in [
            "endblock=40",
            "endblock=99999999",
            "endblock=latest",
            "startblock=41",
        ] {
            let query = format!("module=account&action={action}&address={address}&{end}");
            assert_eq!(served.query(&query), none, "{query}");
        }
        // Above the newest block.
        for range in [
            "startblock=42",
            "startblock=30&endblock=41",
            "startblock=41&endblock=0x5f5e0fe",
        ] {
            let query = format!("module=account&action={action}&address={address}&{range}");
            missing(&served, &query, "blocks above 40 are missing");
        }
        let wrong = served.query(&format!("module=account&action={action}&address=0x12"));
        let words =
            json!({ "status": "0", "message": "NOTOK", "result": "Error! Invalid address format" });
        assert_eq!(wrong, words, "{action}");
    }
    for (query, words) in [
        (
            "module=account&action=nothing",
            "Error! Missing Or invalid Action name",
        ),
        ("module=account", "Error! Missing Or invalid Action name"),
        (
            "module=nothing&action=gasoracle",
            "Error! Missing Or invalid Module name",
        ),
        (
            "module=Stats&action=EthPrice",
            "Error! ethprice is not answered here: prices are not on the chain",
        ),
        (
            "module=stats&action=dailytx",
            "Error! dailytx is not answered here: sums by day are not kept",
        ),
        (
            "module=contract&action=verifysourcecode",
            "Error! verifysourcecode is not answered here: source code is neither compiled nor kept",
        ),
        ("", "Error! Missing Or invalid Module name"),
    ] {
        let found = served.query(query);
        assert_eq!(
            found,
            json!({ "status": "0", "message": "NOTOK", "result": words }),
            "{query}"
        );
    }
    // No source code is known here.
    let unverified = "Contract source code not verified";
    let query = |action: &str| format!("module=contract&action={action}&address={address}");
    let abi = served.query(&query("getabi"));
    let words = json!({ "status": "0", "message": "NOTOK", "result": unverified });
    assert_eq!(abi, words);
    let rows = served.rows(&query("getsourcecode"));
    assert_eq!((rows.len(), &rows[0]["ABI"]), (1, &json!(unverified)));
    // Version 2 names the chain.
    let path = format!("/v2/api?module=account&action=balance&address={address}");
    let without = served.get(&path).json();
    assert_eq!(without["message"], "NOTOK");
    let why = without["result"].as_str().unwrap();
    assert!(
        why.starts_with("Missing or unsupported chainid parameter (required for v2 api)"),
        "{why}"
    );
    assert_eq!(
        served.get(&format!("{path}&chainid=1")).json()["message"],
        "NOTOK"
    );
    let right = served
        .get(&format!("{path}&chainId=735703&apikey=x"))
        .json();
    assert_eq!(
        right,
        json!({ "status": "1", "message": "OK", "result": "0" })
    );
}

/// Methods of JSON-RPC as actions, by GET and by POST of a form.
#[test]
fn methods_are_actions_of_the_proxy() {
    let fixture = small();
    let served = Served::new(&fixture);
    let frame = served.query("module=proxy&action=eth_blockNumber");
    assert_eq!(
        frame,
        json!({ "jsonrpc": "2.0", "id": 1, "result": "0x28" })
    );
    let block = served.query("module=proxy&action=eth_getBlockByNumber&tag=0x5&boolean=true");
    let expected = served.result("eth_getBlockByNumber", json!(["0x5", true]));
    assert_eq!(block["result"], expected);
    let decimal = served.query("module=proxy&action=eth_getBlockByNumber&tag=5&boolean=true");
    assert_eq!(decimal, block);
    let hash = expected["transactions"][0]["hash"].as_str().unwrap();
    let receipt = served.query(&format!(
        "module=proxy&action=eth_getTransactionReceipt&txhash={hash}"
    ));
    assert_eq!(
        receipt["result"],
        served.result("eth_getTransactionReceipt", json!([hash]))
    );
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let form = format!("module=proxy&action=eth_call&to={token}&data=0x313ce567&tag=LATEST");
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let posted = served.send("POST", "/api", &[kind], &form).json();
    assert_eq!(posted["result"], format!("0x{:064x}", 6));
    let slot = served.query(&format!(
        "module=proxy&action=eth_getStorageAt&address={token}&position=0x0&tag=latest"
    ));
    assert_eq!(
        slot["result"],
        served.result("eth_getStorageAt", json!([token, "0x0", "latest"]))
    );
    let unknown = served.query("module=proxy&action=eth_sendRawTransaction&hex=0x00");
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}
