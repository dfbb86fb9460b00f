//! Servers as sources: traces, transactions, metadata, failures.

use crate::harness::{CHAIN, Sample};
use txgraph_testkit::{
    or_skip,
    rpc::{Fault, RpcServer},
};

/// Queries about internal transfers need the rules of the chain, which the server does not.
#[test]
fn traces_of_servers_give_the_answers_of_a_replay() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let server = RpcServer::start(&sample.fixture);
    let all = sample.rows("transfers -q");
    let root = &all[all.len() / 2]["from_address"];
    for query in [
        "transfers -q --with-internal",
        &format!("graph -q -r {root} -n 2 --with-internal -f csv -o -"),
        "transfers -q --with-internal --kind internal,burn,value,fee,priority",
    ] {
        let node = sample.ok(&format!("{query} {CHAIN}")).stdout;
        let source = format!("--source rpc:{}/KEY", server.url());
        let rpc = sample.ok(&format!("{query} {source}")).stdout;
        assert!(node == rpc, "{query}");
    }
}

#[test]
fn both_kinds_of_traces_give_the_same_answers() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let server = RpcServer::start(&sample.fixture);
    server.limit(|limits| limits.without.push("debug_traceBlockByNumber"));
    let query = "transfers -q --with-internal -b 100:200";
    let node = sample.ok(&format!("{query} {CHAIN}")).stdout;
    let rpc = sample.ok(&format!("{query} --source rpc:{}", server.url()));
    assert!(node == rpc.stdout);
    server.limit(|limits| limits.without.push("trace_block"));
    let refused = sample
        .run(&format!("{query} --source rpc:{}", server.url()))
        .ended(2);
    let reason = "offers neither debug_traceBlockByNumber nor trace_block";
    refused.says(reason);
}

/// Single transactions, by hash and by place.
#[test]
fn transactions_of_a_server_are_those_of_the_node() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let server = RpcServer::start(&sample.fixture);
    let source = format!("--source rpc:{}/KEY", server.url());
    let mut compared = 0;
    for line in sample.fixture.lines("receipts").step_by(9) {
        let Some(receipt) = line["receipts"].as_array().and_then(|all| all.last()) else {
            continue;
        };
        let hash = receipt["transactionHash"].as_str().unwrap();
        let ask = |name: &str, options: &str| {
            let mut found = sample.json(&format!("tx -q --json {name} {options}"));
            // Only a replay knows why, only the server the price of blobs, and only the node
            // approvals.
            found["revert_reason"].take();
            assert_eq!(found["approvals"].is_null(), options.contains("rpc:"));
            found["approvals"].take();
            if !receipt["blobGasUsed"].is_null() {
                found["fee"].take();
            }
            found
        };
        let served = ask(hash, &source);
        assert_eq!(served, ask(hash, CHAIN));
        let place = format!("{}:{}", served["block_number"], served["transaction_index"]);
        assert_eq!(served, ask(&place, &source));
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
    let nothing = format!("tx 0x{} {source}", "11".repeat(32));
    for (line, text) in [
        (nothing.as_str(), "has no block with transaction 0x1111"),
        (&format!("tx 9999999:0 {source}"), "above the head"),
    ] {
        let run = sample.run(line).ended(3);
        run.says(text);
        assert!(!run.stderr.contains("KEY"), "{line}: {run:?}");
    }
}

/// A lake keeps the answers of a server: appending asks for the blocks that it lacks.
#[test]
fn a_lake_of_a_server_asks_for_new_blocks_only() {
    for sample in Sample::both() {
        let server = RpcServer::start(&sample.fixture);
        let source = format!("--source rpc:{}", server.url());
        let receipts = || {
            let asked = server.take_asked().into_iter();
            let of_receipts = asked.filter(|(method, _)| method == "eth_getBlockReceipts");
            // Block 0 has no transactions. Its receipts are asked to find out about the method.
            let of_receipts = of_receipts.filter(|it| it.1[0] != "0x0");
            let mut blocks: Vec<_> = of_receipts.map(|it| it.1[0].to_string()).collect();
            blocks.sort_unstable();
            // The first block of a partition is asked twice.
            blocks.dedup();
            blocks
        };
        server.limit(|limits| limits.finalized = Some(25));
        sample.ok(&format!(
            "lake build -q x.lake --partition-blocks 16 --reorg-buffer 0 {source}"
        ));
        let asked = receipts();
        assert_eq!(asked.len(), 25, "{asked:?}");

        let query = "transfers -q --format csv -o -";
        let expected = sample.ok(query).stdout;

        server.limit(|limits| limits.finalized = Some(39));
        sample.ok(&format!("lake append -q x.lake --reorg-buffer 0 {source}"));
        let appended = receipts();
        assert_eq!(appended.len(), 14, "{appended:?}");
        assert!(
            appended.iter().all(|block| !asked.contains(block)),
            "{appended:?}"
        );

        let found = sample.ok(&format!("{query} --source lake:x.lake")).stdout;
        assert!(found == expected, "the lake");
        assert_eq!(receipts(), [""; 0], "a lake needs no server");
        sample.ok("lake verify -q x.lake");
        sample.ok(&format!("lake verify -q x.lake {source}"));
    }
}

#[test]
fn metadata_equals_that_of_the_node() {
    let sample = Sample::small();
    let server = RpcServer::start(&sample.fixture);
    sample.ok("transfers -q -o node.parquet");
    sample.ok(&format!(
        "transfers -q -o rpc.parquet --source rpc:{}",
        server.url()
    ));
    let read = |name: &str| std::fs::read(sample.path(name)).unwrap();
    assert!(read("node.parquet") == read("rpc.parquet"));
}

#[test]
fn failures_have_their_status_and_no_keys() {
    let sample = Sample::small();
    let server = RpcServer::start(&sample.fixture);
    let url = format!("{}/KEY?k=KEY", server.url());
    let failing = |fault| {
        server.fail("eth_getLogs", 1, fault);
        sample.run(&format!("transfers -v --standard erc20 --source rpc:{url}"))
    };
    for (fault, status, text) in [
        (
            Fault::Status(403, "<html>forbidden</html>", None),
            1,
            "HTTP status 403",
        ),
        (
            Fault::Error(4444, "pruned history unavailable"),
            3,
            "does not have this data",
        ),
        (
            Fault::Edit(|answer| answer["result"][0]["removed"] = true.into()),
            1,
            "was removed",
        ),
    ] {
        let run = failing(fault).refused(status);
        run.says(text);
        assert!(!run.stderr.contains("KEY"), "{run:?}");
    }
    let id = sample.fixture.chain_id().unwrap();
    sample.ok(&format!(
        "transfers -q -b 1 --source rpc:{url} --chain-id {id}"
    ));
    for (line, status, text) in [
        (
            format!("transfers --source rpc:{url} --chain-id 5"),
            2,
            "leave --chain-id out",
        ),
        (
            format!("transfers --source rpc:{url} -b 30:50"),
            3,
            "above the newest block",
        ),
        (
            format!("index build --source rpc:{url}"),
            2,
            "cannot be indexed",
        ),
        (
            format!("replay verify --source rpc:{url}"),
            2,
            "cannot replay",
        ),
        (
            "transfers --source rpc:localhost:8545".to_owned(),
            2,
            "http://",
        ),
        (
            format!("transfers --source rpc:{url}#speed=1"),
            2,
            "option `speed`",
        ),
        ("transfers --source rpc:".to_owned(), 2, "ETH_RPC_URL"),
    ] {
        let run = sample.run(&line).ended(status);
        run.says(text);
        assert!(!run.stderr.contains("KEY"), "{line}: {run:?}");
    }
}
