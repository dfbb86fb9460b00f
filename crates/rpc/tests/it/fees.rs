//! Fees of chains of the OP stack, from receipts with their fields.

use crate::support::{items, open, options, refused, request, results, scan, server};
use alloy_primitives::{Address, U256, address};
use serde_json::Value;
use txgraph_rpc::RpcSource;
use txgraph_testkit::{
    fixtures,
    rpc::{Fault, RpcServer},
    says,
};
use txgraph_transfers::{BlockRange, Kind, ScanRequest, TransferFilter};

const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");
const L1_FEE_VAULT: Address = address!("420000000000000000000000000000000000001a");
const OPERATOR_FEE_VAULT: Address = address!("420000000000000000000000000000000000001b");

/// The committed chain under the name of OP Mainnet.
fn op_mainnet(server: &RpcServer) -> RpcSource {
    server.set_chain_id(10);
    let genesis = |answer: &mut Value| {
        results(answer).for_each(|block| {
            block["hash"] =
                "0x7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b".into();
        });
    };
    server.fail("eth_getBlockByNumber", 1, Fault::Edit(genesis));
    open(server, "", options())
}

/// The first block with transactions, and its receipts.
fn block() -> (u64, Value, Vec<Value>) {
    let [_v1, v2] = fixtures::committed();
    let mut blocks = v2.lines("blocks").zip(v2.lines("receipts"));
    let (block, mut receipts) = blocks
        .find(|(block, _)| !block["transactions"].as_array().unwrap().is_empty())
        .unwrap();
    let receipts = receipts["receipts"].as_array_mut().unwrap();
    let number: U256 = serde_json::from_value(block["number"].clone()).unwrap();
    (number.to(), block, std::mem::take(receipts))
}

fn fees(block: u64) -> ScanRequest {
    let filter = TransferFilter {
        internal: true,
        kinds: Kind::FEES.to_vec(),
        ..TransferFilter::default()
    };
    ScanRequest {
        blocks: BlockRange::one(block).into(),
        ..request(filter)
    }
}

#[test]
fn receipts_of_the_op_stack_give_four_fees() {
    let (number, block, receipts) = block();
    let server = server();
    let source = op_mainnet(&server);
    // After Jovian.
    let later = |answer: &mut Value| {
        results(answer).for_each(|block| block["timestamp"] = "0x70000000".into());
    };
    server.fail("eth_getBlockByNumber", 9, Fault::Edit(later));
    let with_fees = |answer: &mut Value| {
        items(answer).for_each(|receipt| {
            receipt["l1Fee"] = "0x64".into();
            receipt["operatorFeeScalar"] = "0x2".into();
            receipt["operatorFeeConstant"] = "0x5".into();
        });
    };
    // The first answer only shows that the method exists.
    server.fail("eth_getBlockReceipts", 2, Fault::Edit(with_fees));
    let (found, _) = scan(&source, &fees(number)).unwrap();
    let amount = |value: &Value| -> U256 { serde_json::from_value(value.clone()).unwrap() };
    let base_fee = amount(&block["baseFeePerGas"]);
    let mut expected = Vec::new();
    for receipt in &receipts {
        let gas = amount(&receipt["gasUsed"]);
        let miner = serde_json::from_value(block["miner"].clone()).unwrap();
        let tip = (amount(&receipt["effectiveGasPrice"]) - base_fee) * gas;
        let operator = gas * U256::from(200) + U256::from(5);
        expected.push((Kind::Fee, BASE_FEE_VAULT, base_fee * gas));
        expected.push((Kind::Priority, miner, tip));
        expected.push((Kind::L1Fee, L1_FEE_VAULT, U256::from(100)));
        expected.push((Kind::OperatorFee, OPERATOR_FEE_VAULT, operator));
    }
    expected.retain(|(_, _, value)| !value.is_zero());
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.kind, it.to_address, it.value))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn incomplete_and_unknown_receipts_of_the_op_stack_are_refused() {
    let (number, ..) = block();
    let server = server();
    let source = op_mainnet(&server);
    let text = refused(&source, &fees(number));
    says(&text, "a receipt has no field `l1Fee`");
    let refunds = |answer: &mut Value| items(answer).for_each(|it| it["type"] = "0x7d".into());
    server.fail("eth_getBlockReceipts", 1, Fault::Edit(refunds));
    let text = refused(&source, &fees(number));
    says(&text, "the block contains refunds of gas");
    // Deposits pay nothing.
    let deposits = |answer: &mut Value| items(answer).for_each(|it| it["type"] = "0x7e".into());
    server.fail("eth_getBlockReceipts", 1, Fault::Edit(deposits));
    assert!(scan(&source, &fees(number)).unwrap().0.is_empty());
    // A deposit on a chain that is not known. The root of withdrawals is of something else.
    let server = crate::support::server();
    let source = open(&server, "", options());
    let of_op = |answer: &mut Value| {
        results(answer).for_each(|block| {
            block["withdrawalsRoot"] = block["hash"].clone();
            block["transactions"][0]["type"] = "0x7e".into();
        });
    };
    server.fail("eth_getBlockByNumber", 1, Fault::Edit(of_op));
    server.fail("eth_getBlockReceipts", 2, Fault::Edit(deposits));
    let text = refused(&source, &fees(number));
    says(&text, "fees cannot be computed: the fees of chain 735703");
}
