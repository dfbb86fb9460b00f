//! JSON-RPC: methods by name, and batches.

mod debug;
mod eth;
mod fees;
mod filters;
mod ots;
mod overrides;
mod params;
mod parity_diff;
mod replayed;
mod request;
mod simulate;
mod state;
mod steps;
mod trace;

pub(crate) use eth::find;
pub(crate) use filters::Filters;
pub(crate) use ots::creation;
pub(crate) use replayed::{Recorded, at, no_transaction, one, replay, replayed};

use params::Params;

use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    json::quantity,
};
use serde_json::{Value, json};

/// The methods that are answered here, ascending.
pub const METHODS: &[&str] = &[
    "debug_traceBlockByHash",
    "debug_traceBlockByNumber",
    "debug_traceCall",
    "debug_traceTransaction",
    "erigon_getHeaderByNumber",
    "eth_accounts",
    "eth_blobBaseFee",
    "eth_blockNumber",
    "eth_call",
    "eth_chainId",
    "eth_createAccessList",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlockByHash",
    "eth_getBlockByNumber",
    "eth_getBlockReceipts",
    "eth_getBlockTransactionCountByHash",
    "eth_getBlockTransactionCountByNumber",
    "eth_getCode",
    "eth_getFilterChanges",
    "eth_getFilterLogs",
    "eth_getLogs",
    "eth_getRawTransactionByHash",
    "eth_getStorageAt",
    "eth_getTransactionByBlockHashAndIndex",
    "eth_getTransactionByBlockNumberAndIndex",
    "eth_getTransactionByHash",
    "eth_getTransactionBySenderAndNonce",
    "eth_getTransactionCount",
    "eth_getTransactionReceipt",
    "eth_getUncleByBlockHashAndIndex",
    "eth_getUncleByBlockNumberAndIndex",
    "eth_getUncleCountByBlockHash",
    "eth_getUncleCountByBlockNumber",
    "eth_maxPriorityFeePerGas",
    "eth_newBlockFilter",
    "eth_newFilter",
    "eth_syncing",
    "eth_uninstallFilter",
    "net_listening",
    "net_version",
    "ots_getApiLevel",
    "ots_getBlockDetails",
    "ots_getBlockDetailsByHash",
    "ots_getBlockTransactions",
    "ots_getContractCreator",
    "ots_getInternalOperations",
    "ots_getTransactionBySenderAndNonce",
    "ots_getTransactionError",
    "ots_hasCode",
    "ots_searchTransactionsAfter",
    "ots_searchTransactionsBefore",
    "ots_traceTransaction",
    "trace_block",
    "trace_call",
    "trace_filter",
    "trace_replayBlockTransactions",
    "trace_replayTransaction",
    "trace_transaction",
    "web3_clientVersion",
];

/// The name of a method that is answered here, for counts.
pub(crate) fn known(method: &str) -> Option<&'static str> {
    let at = METHODS.binary_search(&method).ok()?;
    METHODS.get(at).copied()
}

/// How the names of methods begin that only ask, or that send a signed transaction. A node may answer
/// those that have no answer here. All others change the node, use its keys, or write its files.
const PASSED: &[&str] = &[
    "debug_accountRange",
    "debug_chainConfig",
    "debug_codeByHash",
    "debug_executionWitness",
    "debug_get",
    "debug_intermediateRoots",
    "debug_stateRootWithUpdates",
    "debug_storageRangeAt",
    "debug_trace",
    "erigon_",
    "eth_baseFee",
    "eth_blobBaseFee",
    "eth_call",
    "eth_coinbase",
    "eth_config",
    "eth_createAccessList",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_fillTransaction",
    "eth_gasPrice",
    "eth_get",
    "eth_hashrate",
    "eth_maxPriorityFeePerGas",
    "eth_mining",
    "eth_newBlockFilter",
    "eth_newFilter",
    "eth_newPendingTransactionFilter",
    "eth_pendingTransactions",
    "eth_protocolVersion",
    "eth_sendRawTransaction",
    "eth_simulate",
    "eth_syncing",
    "eth_uninstallFilter",
    "net_",
    "ots2_",
    "ots_",
    "reth_get",
    "trace_",
    "txpool_content",
    "txpool_inspect",
    "txpool_status",
    "web3_",
];

/// Methods with such names that do something else: the node opens a file, or hands out work to miners.
const EXCEPT: &[&str] = &["debug_traceBlockFromFile", "eth_getWork"];

/// Where the answer to a method is.
pub(crate) enum Found {
    /// Here.
    Here(Value),
    /// The server of the node is to be asked.
    Pass,
}

/// Answers a method, unless the server of the node is to be asked: if there is one, and the answer is
/// not here. Filters, fees and estimates are left to a node that can be asked, since it knows newer blocks.
pub(crate) fn answer(
    ask: &Ask<'_>,
    filters: &Filters,
    method: &str,
    params: &Value,
) -> Answer<Found> {
    let list: &[Value] = match params {
        Value::Null => &[],
        Value::Array(list) => list,
        _ => return Err(Fault::Params("the parameters are not an array".to_owned())),
    };
    let params = &Params(list);
    let answered = match ask.head {
        None => filters.answer(ask, method, params),
        Some(_) => None,
    };
    match answered.unwrap_or_else(|| answer_here(ask, method, params)) {
        Err(fault) if fault.is_elsewhere() && ask.head.is_some() && may_pass(method) => {
            Ok(Found::Pass)
        }
        found => found.map(Found::Here),
    }
}

/// Answers a method.
fn answer_here(ask: &Ask<'_>, method: &str, params: &Params<'_>) -> Answer<Value> {
    match method {
        "web3_clientVersion" => Ok(format!("txgraph/{}", txgraph::version()).into()),
        "net_version" => Ok(ask.source.chain()?.chain_id.to_string().into()),
        // As nodes answer, whether or not they have peers.
        "net_listening" => Ok(true.into()),
        "eth_chainId" => Ok(quantity(ask.source.chain()?.chain_id)),
        "eth_blockNumber" => Ok(quantity(ask.tip.number)),
        "eth_accounts" => Ok(json!([])),
        "eth_feeHistory" if ask.head.is_none() => fees::history(ask, params),
        "eth_gasPrice" if ask.head.is_none() => fees::price(ask),
        "eth_maxPriorityFeePerGas" if ask.head.is_none() => fees::priority(ask),
        "eth_blobBaseFee" if ask.head.is_none() => fees::blob(ask),
        "eth_estimateGas" if ask.head.is_none() => simulate::estimate_gas(ask, params),
        "eth_createAccessList" if ask.head.is_none() => simulate::create_access_list(ask, params),
        // What is on the disk is in sync with itself; the node's own answer is about its peers.
        "eth_syncing" => Ok(false.into()),
        "eth_getBlockByNumber" => eth::block_by_number(ask, params),
        "eth_getBlockByHash" => eth::block_by_hash(ask, params),
        "eth_getBlockReceipts" => eth::block_receipts(ask, params),
        "eth_getBlockTransactionCountByNumber" => eth::transaction_count(ask, params.block(ask, 0)),
        "eth_getBlockTransactionCountByHash" => {
            eth::transaction_count(ask, params.block_hash(ask, 0))
        }
        "eth_getUncleCountByBlockNumber" => eth::ommer_count(ask, params.block(ask, 0)),
        "eth_getUncleCountByBlockHash" => eth::ommer_count(ask, params.block_hash(ask, 0)),
        "eth_getUncleByBlockNumberAndIndex" => eth::ommer(ask, params.block(ask, 0), params),
        "eth_getUncleByBlockHashAndIndex" => eth::ommer(ask, params.block_hash(ask, 0), params),
        "eth_getTransactionByHash" => eth::transaction(ask, params),
        "eth_getRawTransactionByHash" => eth::raw_transaction(ask, params),
        "eth_getTransactionByBlockNumberAndIndex" => {
            eth::transaction_at(ask, params.block(ask, 0), params)
        }
        "eth_getTransactionByBlockHashAndIndex" => {
            eth::transaction_at(ask, params.block_hash(ask, 0), params)
        }
        "eth_getTransactionBySenderAndNonce" => ots::sent_transaction(ask, params),
        "eth_getTransactionReceipt" => eth::receipt(ask, params),
        "eth_getLogs" => eth::logs(ask, params),
        "eth_getBalance" => state::balance(ask, params),
        "eth_getTransactionCount" => state::nonce(ask, params),
        "eth_getCode" => state::code(ask, params),
        "eth_getStorageAt" => state::storage(ask, params),
        "eth_call" => simulate::call(ask, params),
        "trace_block" => trace::block(ask, params),
        "trace_call" => trace::call(ask, params),
        "trace_replayBlockTransactions" => trace::replay_block(ask, params),
        "trace_replayTransaction" => trace::replay_transaction(ask, params),
        "trace_transaction" => trace::transaction(ask, params),
        "trace_filter" => trace::filter(ask, params),
        "debug_traceCall" => debug::call(ask, params),
        "debug_traceTransaction" => debug::transaction(ask, params),
        "debug_traceBlockByNumber" => debug::block(ask, params.block(ask, 0)?, params),
        "debug_traceBlockByHash" => debug::block(ask, params.block_hash(ask, 0)?, params),
        "erigon_getHeaderByNumber" => ots::header(ask, params),
        "ots_getApiLevel" => Ok(8.into()),
        "ots_hasCode" => ots::has_code(ask, params),
        "ots_getBlockDetails" => ots::block_details(ask, params.block(ask, 0)),
        "ots_getBlockDetailsByHash" => ots::block_details(ask, params.block_hash(ask, 0)),
        "ots_getBlockTransactions" => ots::block_transactions(ask, params),
        "ots_getInternalOperations" => ots::internal_operations(ask, params),
        "ots_traceTransaction" => ots::trace(ask, params),
        "ots_getTransactionError" => ots::transaction_error(ask, params),
        "ots_getTransactionBySenderAndNonce" => ots::by_sender_and_nonce(ask, params),
        "ots_getContractCreator" => ots::contract_creator(ask, params),
        "ots_searchTransactionsBefore" => ots::search_before(ask, params),
        "ots_searchTransactionsAfter" => ots::search_after(ask, params),
        other => Err(Fault::Method(other.chars().take(100).collect())),
    }
}

/// Whether the server of the node may answer a method that has no answer here.
fn may_pass(method: &str) -> bool {
    PASSED.iter().any(|begin| method.starts_with(begin)) && !EXCEPT.contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_ascending() {
        assert!(METHODS.is_sorted());
        assert_eq!(known("eth_call"), Some("eth_call"));
        assert_eq!(known("eth_sendRawTransaction"), None);
    }

    #[test]
    fn only_reads_are_passed_on() {
        assert!(PASSED.is_sorted() && EXCEPT.is_sorted());
        for method in [
            "debug_executionWitness",
            "debug_getRawHeader",
            "debug_traceCall",
            "eth_feeHistory",
            "eth_gasPrice",
            "eth_getFilterChanges",
            "eth_getProof",
            "eth_sendRawTransaction",
            "eth_simulateV1",
            "net_peerCount",
            "reth_getBalanceChangesInBlock",
            "trace_replayBlockTransactions",
            "txpool_contentFrom",
            "web3_sha3",
        ] {
            assert!(may_pass(method), "{method}");
        }
        for method in [
            "",
            "ETH_gasPrice",
            "admin_addPeer",
            "anvil_setBalance",
            "clique_propose",
            "debug_chaindbCompact",
            "debug_cpuProfile",
            "debug_dbGet",
            "debug_freeOSMemory",
            "debug_setGCPercent",
            "debug_setHead",
            "debug_standardTraceBlockToFile",
            "debug_startGoTrace",
            "debug_traceBlockFromFile",
            "debug_verbosity",
            "debug_writeMemProfile",
            "dev_setFeeRecipient",
            "engine_forkchoiceUpdatedV1",
            "eth_getWork",
            "eth_resend",
            "eth_sendTransaction",
            "eth_sign",
            "eth_signTransaction",
            "eth_signTypedData_v4",
            "eth_submitWork",
            "eth_subscribe",
            "evm_mine",
            "les_addBalance",
            "miner_start",
            "personal_sign",
            "reth_forkchoiceUpdated",
            "reth_newPayload",
            "rpc_modules",
            "testing_buildBlockV1",
            "x",
        ] {
            assert!(!may_pass(method), "{method}");
        }
    }
}
