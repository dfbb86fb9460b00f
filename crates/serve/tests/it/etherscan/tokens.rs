//! Facts about tokens, their holders, and the chain.

use super::{Chain, text};
use crate::harness::{Served, number, small};
use serde_json::{Value, json};

/// Tokens that answer `balanceOf(address)`.
const TOKENS: [&str; 6] = ["usd6", "oza", "fee", "unix", "weth", "nft"];

#[test]
fn held_tokens_are_those_with_a_balance() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let mut found = 0;
    for holder in chain.busy(12) {
        let mut expected = [Vec::new(), Vec::new()];
        for name in TOKENS {
            let token = &fixture.truth["tokens"][name];
            let of = token["address"].as_str().unwrap();
            let query = format!("tokenbalance&contractaddress={of}&address={holder}");
            let balance = &served.query(&format!("module=account&action={query}"))["result"];
            if balance == "0" {
                continue;
            }
            let mut row = json!({
                "TokenAddress": of,
                "TokenName": token["name"],
                "TokenSymbol": token["symbol"],
                "TokenQuantity": balance,
            });
            let is_item = token["kind"] == "erc721";
            if !is_item {
                row["TokenDivisor"] = token["decimals"].to_string().into();
            }
            expected[usize::from(is_item)].push(row);
        }
        for (action, mut expected) in ["addresstokenbalance", "addresstokennftbalance"]
            .into_iter()
            .zip(expected)
        {
            expected.sort_by_key(|row| row["TokenAddress"].to_string());
            let query = format!("module=account&action={action}&address={holder}");
            assert_eq!(served.rows(&query), expected, "{query}");
            let page = served.rows(&format!("{query}&page=2&offset=1"));
            assert_eq!(page, expected.get(1..2).unwrap_or_default(), "{query}");
            found += expected.len();
        }
    }
    assert!(found > 5, "{found}");
}

#[test]
fn tokens_state_what_they_are() {
    let fixture = small();
    let served = Served::new(&fixture);
    for (name, kind) in [
        ("usd6", "ERC20"),
        ("weth", "ERC20"),
        ("nft", "ERC721"),
        ("multi", "ERC1155"),
    ] {
        let token = &fixture.truth["tokens"][name];
        let of = token["address"].as_str().unwrap();
        let rows = served.rows(&format!(
            "module=token&action=tokeninfo&contractaddress={of}"
        ));
        let supply = format!("module=stats&action=tokensupply&contractaddress={of}");
        let supply = served.query(&supply);
        let mut expected = json!({
            "contractAddress": of,
            "tokenName": token["name"],
            "symbol": token["symbol"],
            "divisor": token["decimals"].to_string(),
            "tokenType": kind,
        });
        if supply["status"] == "1" {
            expected["totalSupply"] = supply["result"].clone();
        }
        assert_eq!(rows, [expected], "{name}");
        let query = format!("contractaddress={of}");
        let count = served.query(&format!("module=token&action=tokenholdercount&{query}"));
        let list = served.rows(&format!("module=token&action=tokenholderlist&{query}"));
        assert_eq!(count["result"], list.len().to_string(), "{name}");
    }
    let contract = fixture.truth["contracts"]["disperse"].as_str().unwrap();
    let query = format!("module=token&action=tokeninfo&contractaddress={contract}");
    let why = served.query(&query)["result"].clone();
    assert!(
        why.as_str().unwrap().contains("is not known as a token"),
        "{why}"
    );
}

#[test]
fn the_next_blocks_are_estimated_by_the_pace_of_the_last() {
    let fixture = small();
    let (served, chain) = (Served::new(&fixture), Chain::of(&fixture));
    let time = |block: usize| number(&chain.blocks[block].0["timestamp"]);
    let tenths = 100 * (time(40) - time(1)) * 10 / 39;
    let query = |block: &str| {
        let query = format!("module=block&action=getblockcountdown&blockno={block}");
        served.query(&query)["result"].clone()
    };
    let expected = json!({
        "CurrentBlock": text(&json!("0x28")),
        "CountdownBlock": "140",
        "RemainingBlock": "100",
        "EstimateTimeInSec": format!("{}.{}", tenths / 10, tenths % 10),
    });
    assert_eq!(query("140"), expected);
    assert_eq!(query("40"), "Error! Block number already pass");
    assert!(query("18446744073709551615").is_object());
    assert_eq!(query("x"), "Error! Invalid parameter blockno");
}

#[test]
fn the_only_chain_is_listed() {
    let served = Served::new(&small());
    let list = served.get("/v2/chainlist").json();
    assert_eq!(list["totalcount"], 1);
    let row = &list["result"][0];
    let address = served.address;
    let url = format!("http://{address}/v2/api?chainid=735703");
    assert_eq!(
        (&row["chainid"], &row["apiurl"]),
        (&json!("735703"), &json!(url))
    );
    // A client of the list asks there.
    let path = url.split_once(&address.to_string()).unwrap().1;
    let balance = served.get(&format!(
        "{path}&module=account&action=balance&address={}",
        "0x".to_owned() + &"0".repeat(40)
    ));
    assert_eq!(balance.json()["status"], Value::from("1"));
    assert_eq!(Served::guarded(&small()).get("/v2/chainlist").status, 401);
}
