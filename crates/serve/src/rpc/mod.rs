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
    table::{row, table},
};
use serde_json::{Value, json};

/// How a method is answered.
type Answering = fn(&Ask<'_>, &Params<'_>) -> Answer<Value>;
/// The same, of a method whose first parameter names a block.
type OfBlock = fn(&Ask<'_>, Answer<u64>, &Params<'_>) -> Answer<Value>;

#[derive(Clone, Copy)]
enum Method {
    /// Answered here.
    Plain(Answering),
    /// Answered here, with a block by number or tag.
    Numbered(OfBlock),
    /// Answered here, with a block by hash.
    Hashed(OfBlock),
    /// Left to a node that can be asked, since it knows newer blocks.
    Newest(Answering),
    /// The same, about filters.
    Filter(fn(&Filters, &Ask<'_>, &Params<'_>) -> Answer<Value>),
}

use Method::{Filter, Hashed, Newest, Numbered, Plain};

table! {
    /// The methods that are answered here.
    pub const METHODS by Method;
    "debug_traceBlockByHash" => Hashed(debug::block),
    "debug_traceBlockByNumber" => Numbered(debug::block),
    "debug_traceCall" => Plain(debug::call),
    "debug_traceTransaction" => Plain(debug::transaction),
    "erigon_getHeaderByNumber" => Plain(ots::header),
    "eth_accounts" => Plain(|_, _| Ok(json!([]))),
    "eth_blobBaseFee" => Newest(|ask, _| fees::blob(ask)),
    "eth_blockNumber" => Plain(|ask, _| Ok(quantity(ask.tip.number))),
    "eth_call" => Plain(simulate::call),
    "eth_chainId" => Plain(|ask, _| Ok(quantity(ask.source.chain()?.chain_id))),
    "eth_createAccessList" => Newest(simulate::create_access_list),
    "eth_estimateGas" => Newest(simulate::estimate_gas),
    "eth_feeHistory" => Newest(fees::history),
    "eth_gasPrice" => Newest(|ask, _| fees::price(ask)),
    "eth_getBalance" => Plain(state::balance),
    "eth_getBlockByHash" => Hashed(eth::block),
    "eth_getBlockByNumber" => Numbered(eth::block),
    "eth_getBlockReceipts" => Plain(eth::block_receipts),
    "eth_getBlockTransactionCountByHash" => Hashed(eth::transaction_count),
    "eth_getBlockTransactionCountByNumber" => Numbered(eth::transaction_count),
    "eth_getCode" => Plain(state::code),
    "eth_getFilterChanges" => Filter(Filters::changes),
    "eth_getFilterLogs" => Filter(Filters::logs),
    "eth_getLogs" => Plain(eth::logs),
    "eth_getRawTransactionByHash" => Plain(eth::raw_transaction),
    "eth_getStorageAt" => Plain(state::storage),
    "eth_getTransactionByBlockHashAndIndex" => Hashed(eth::transaction_at),
    "eth_getTransactionByBlockNumberAndIndex" => Numbered(eth::transaction_at),
    "eth_getTransactionByHash" => Plain(eth::transaction),
    "eth_getTransactionBySenderAndNonce" => Plain(ots::sent_transaction),
    "eth_getTransactionCount" => Plain(state::nonce),
    "eth_getTransactionReceipt" => Plain(eth::receipt),
    "eth_getUncleByBlockHashAndIndex" => Hashed(eth::ommer),
    "eth_getUncleByBlockNumberAndIndex" => Numbered(eth::ommer),
    "eth_getUncleCountByBlockHash" => Hashed(eth::ommer_count),
    "eth_getUncleCountByBlockNumber" => Numbered(eth::ommer_count),
    "eth_maxPriorityFeePerGas" => Newest(|ask, _| fees::priority(ask)),
    "eth_newBlockFilter" => Filter(|filters, ask, _| filters.add(ask, None)),
    "eth_newFilter" => Filter(Filters::add_logs),
    // What is on the disk is in sync with itself; the node's own answer is about its peers.
    "eth_syncing" => Plain(|_, _| Ok(false.into())),
    "eth_uninstallFilter" => Filter(Filters::remove),
    // As nodes answer, whether or not they have peers.
    "net_listening" => Plain(|_, _| Ok(true.into())),
    "net_version" => Plain(|ask, _| Ok(ask.source.chain()?.chain_id.to_string().into())),
    "ots_getApiLevel" => Plain(|_, _| Ok(8.into())),
    "ots_getBlockDetails" => Numbered(ots::block_details),
    "ots_getBlockDetailsByHash" => Hashed(ots::block_details),
    "ots_getBlockTransactions" => Plain(ots::block_transactions),
    "ots_getContractCreator" => Plain(ots::contract_creator),
    "ots_getInternalOperations" => Plain(ots::internal_operations),
    "ots_getTransactionBySenderAndNonce" => Plain(ots::by_sender_and_nonce),
    "ots_getTransactionError" => Plain(ots::transaction_error),
    "ots_hasCode" => Plain(ots::has_code),
    "ots_searchTransactionsAfter" => Plain(ots::search_after),
    "ots_searchTransactionsBefore" => Plain(ots::search_before),
    "ots_traceTransaction" => Plain(ots::trace),
    "trace_block" => Plain(trace::block),
    "trace_call" => Plain(trace::call),
    "trace_filter" => Plain(trace::filter),
    "trace_replayBlockTransactions" => Plain(trace::replay_block),
    "trace_replayTransaction" => Plain(trace::replay_transaction),
    "trace_transaction" => Plain(trace::transaction),
    "web3_clientVersion" => Plain(|_, _| Ok(format!("txgraph/{}", txgraph::version()).into())),
}

/// The name of a method that is answered here, for counts.
pub(crate) fn known(method: &str) -> Option<&'static str> {
    row(TABLE, method).map(|(name, _)| *name)
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
/// not here.
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
    let answered = match (row(TABLE, method), ask.head) {
        (Some((_, Plain(answer))), _) | (Some((_, Newest(answer))), None) => answer(ask, params),
        (Some((_, Numbered(answer))), _) => answer(ask, params.block(ask, 0), params),
        (Some((_, Hashed(answer))), _) => answer(ask, params.block_hash(ask, 0), params),
        (Some((_, Filter(answer))), None) => answer(filters, ask, params),
        (Some((_, Newest(_) | Filter(_))), Some(_)) | (None, _) => {
            Err(Fault::Method(method.chars().take(100).collect()))
        }
    };
    match answered {
        Err(fault) if fault.is_elsewhere() && ask.head.is_some() && may_pass(method) => {
            Ok(Found::Pass)
        }
        found => found.map(Found::Here),
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
