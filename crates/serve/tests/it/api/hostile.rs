//! Requests that want to do harm, and names that want to.

use super::{BUSY, ROOT, SPENDER, get, refused, rows, token, with_names};
use crate::harness::{Served, small};
use txgraph::{ClaimedMetadata, Label, Labels, TokenList};
use txgraph_serve::Names;

/// A label or a symbol that tries to be code.
const EVIL: &str = "</script><b onclick='x'>\"\\\u{202e}\u{0}\n@FILE";

#[test]
fn hostile_names_are_data() {
    let fixture = small();
    let usd6 = token(&fixture, "usd6");
    let mut labels = Labels::default();
    for address in [ROOT, SPENDER] {
        labels.add(address.parse().unwrap(), Label::named(EVIL));
    }
    let mut tokens = TokenList::default();
    let claim = ClaimedMetadata {
        symbol: Some(EVIL.to_owned()),
        decimals: Some(6),
    };
    tokens.claim(usd6.parse().unwrap(), claim);
    let served = with_names(Names {
        labels,
        tokens,
        ..Names::default()
    });
    let graph = get(&served, &format!("graph?root={ROOT}&token={usd6}&hops=2"));
    let roots = rows(&graph, "vertices").iter();
    let root = roots.clone().find(|it| it["address"] == ROOT).unwrap();
    let name = root["label"]["name"].as_str().unwrap();
    assert!(name.starts_with("</script><b onclick='x'>\"\\"), "{name}");
    // What is not seen as it is, is replaced.
    assert!(!name.contains(['\u{202e}', '\u{0}', '\n']), "{name:?}");
    let symbol = graph["tokens"][&usd6]["symbol"].as_str().unwrap();
    assert!(symbol.starts_with("</script>"), "{symbol}");
    let found = get(&served, "search?q=%3C/SCRIPT%3E");
    let mut results = rows(&found, "results").iter();
    assert!(results.any(|it| it["value"] == ROOT));
    let labels = get(&served, &format!("labels?address={ROOT}"));
    assert_eq!(labels["labels"][ROOT]["name"], name);
    let approvals = get(
        &served,
        &format!("approvals?address={SPENDER}&as_spender=true"),
    );
    assert_eq!(approvals["labels"][SPENDER]["name"], name);
    let statement = get(&served, &format!("statement?address={BUSY}"));
    assert_eq!(statement["tokens"][&usd6]["symbol"], symbol);
    // In files, too.
    let koinly = format!("/v1/statement?address={BUSY}&format=csv&table=koinly");
    let koinly = served.get(&koinly).body;
    assert!(koinly.contains("</script><b onclick='x'"), "{koinly}");
    assert!(!koinly.contains(['\u{202e}', '\u{0}']), "{koinly:?}");
}

#[test]
fn files_are_not_read_for_parameters() {
    let served = Served::new(&small());
    for query in [
        "transfers?token=@/etc/passwd",
        "transfers?address=@/etc/passwd",
        "transfers?blocks=@/etc/passwd",
        "graph?root=@/etc/passwd",
        "block?block=../x",
        "transfers?min=1.5",
        "transfers?min=-1",
        "transfers?min=0x10",
        "transfers?limit=1e3",
        "transfers?limit=-1",
        "transfers?internal=yes",
        "neighbors?address=0x12",
        "neighbors?address=0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "transaction?hash=0x12",
        "approvals?address=@/etc/passwd",
        "approvals?address=0x12",
        "statement?address=0x12",
        "statement?address=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0&year=-1",
        "statement?address=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0&year=10000",
        "statement?address=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0&blocks=@/etc/passwd",
        "statement?address=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0&table=../x&format=csv",
        "transfers?blocks=5:4",
        "transfers?limit=1&limit=2",
    ] {
        let (status, code, message) = refused(&served, query);
        assert_eq!((status, code.as_str()), (400, "parameter"), "{query}");
        assert!(!message.contains("root:"), "{message}");
    }
    let many = format!("graph?root={ROOT}{}", format!("&root={ROOT}").repeat(200));
    assert_eq!(refused(&served, &many).0, 400);
    let long = format!("search?q={}", "x".repeat(2_000));
    assert_eq!(refused(&served, &long).0, 400);
    let unknown = format!("transaction?hash=0x{}", "11".repeat(32));
    assert_eq!(refused(&served, &unknown).0, 404);
    assert_eq!(refused(&served, "block?block=99999").0, 404);
    assert_eq!(served.send("POST", "/v1/info", &[], "").status, 405);
}

#[test]
fn answers_are_bounded_and_tagged() {
    let served = Served::limited(&small(), |limits| limits.rows = 50);
    let (status, code, _) = refused(&served, "transfers?limit=1000");
    assert_eq!((status, code.as_str()), (413, "too_much"));
    assert_eq!(
        rows(&get(&served, "transfers?limit=40"), "transfers").len(),
        40
    );
    let served = Served::limited(&small(), |limits| limits.answer_bytes = 2_000);
    assert_eq!(refused(&served, "transfers?limit=1000").0, 413);

    let served = Served::new(&small());
    let first = served.get("/v1/block?block=7");
    let tag = first.headers["etag"].clone();
    let again = served.send("GET", "/v1/block?block=7", &[("if-none-match", &tag)], "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    // An index can appear while the newest block stays.
    assert_eq!(served.get("/v1/info").headers.get("etag"), None);
    assert!(served.get("/metrics").body.contains("name=\"/v1/info\""));
}

#[test]
fn a_token_is_needed_where_there_is_one() {
    let served = Served::guarded(&small());
    assert_eq!(served.get("/v1/info").status, 401);
    // It is no parameter.
    let query = "/v1/info?apikey=a%20long%20secret";
    assert_eq!(served.get(query).status, 200);
    let foreign = [("host", "evil.example")];
    assert_eq!(served.send("GET", query, &foreign, "").status, 403);
}
