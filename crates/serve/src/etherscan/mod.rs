//! The query API of Etherscan: `module` and `action` of a URL, everything as text.

mod account;
mod blocks;
mod contract;
mod internal;
mod logs;
mod proxy;
mod query;
mod reply;
mod tokens;
mod transaction;
mod unanswered;

pub(crate) use query::Query;

use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    table::{row, table},
};
use reply::Reply;
use serde_json::{Value, json};
use txgraph::{ChainInfo, TokenStandard};

/// How an action is answered.
#[derive(Clone, Copy)]
enum Action {
    /// From the source.
    Own(fn(&Ask<'_>, &Query) -> Answer<Reply>),
    /// As a method of JSON-RPC, with these parameters, see [`proxy`].
    Method(&'static str, &'static [&'static str]),
}

use Action::{Method, Own};

table! {
    /// The modules and actions that are answered here, in lower case and ascending.
    pub const ACTIONS by Action;
    "account.addresstokenbalance" => Own(|ask, query| tokens::held(ask, query, TokenStandard::Erc20)),
    "account.addresstokennftbalance" => Own(|ask, query| tokens::held(ask, query, TokenStandard::Erc721)),
    "account.balance" => Own(account::balance),
    "account.balancehistory" => Own(account::balance_history),
    "account.balancemulti" => Own(account::balances),
    "account.fundedby" => Own(account::funded_by),
    "account.getminedblocks" => Own(blocks::mined),
    "account.token1155tx" => Own(|ask, query| tokens::transfers(ask, query, TokenStandard::Erc1155)),
    "account.tokenbalance" => Own(|ask, query| account::token_balance(ask, query, query.tag(ask)?)),
    "account.tokenbalancehistory" => Own(|ask, query| account::token_balance(ask, query, query.block_number(ask)?)),
    "account.tokennfttx" => Own(|ask, query| tokens::transfers(ask, query, TokenStandard::Erc721)),
    "account.tokentx" => Own(|ask, query| tokens::transfers(ask, query, TokenStandard::Erc20)),
    "account.txlist" => Own(account::transactions),
    "account.txlistinternal" => Own(internal::transactions),
    "account.txsbeaconwithdrawal" => Own(blocks::withdrawals),
    "block.getblockcountdown" => Own(blocks::countdown),
    "block.getblocknobytime" => Own(blocks::by_time),
    "block.getblockreward" => Own(blocks::reward),
    "contract.getabi" => Own(|_, query| contract::abi(query)),
    "contract.getcontractcreation" => Own(contract::creations),
    "contract.getsourcecode" => Own(|_, query| contract::source_code(query)),
    "logs.getlogs" => Own(logs::logs),
    "proxy.eth_blocknumber" => Method("eth_blockNumber", &[]),
    "proxy.eth_call" => Method("eth_call", &["call", "tag"]),
    "proxy.eth_estimategas" => Method("eth_estimateGas", &["call"]),
    "proxy.eth_gasprice" => Method("eth_gasPrice", &[]),
    "proxy.eth_getblockbynumber" => Method("eth_getBlockByNumber", &["tag", "boolean"]),
    "proxy.eth_getblocktransactioncountbynumber" => Method("eth_getBlockTransactionCountByNumber", &["tag"]),
    "proxy.eth_getcode" => Method("eth_getCode", &["address", "tag"]),
    "proxy.eth_getstorageat" => Method("eth_getStorageAt", &["address", "position", "tag"]),
    "proxy.eth_gettransactionbyblocknumberandindex" =>
        Method("eth_getTransactionByBlockNumberAndIndex", &["tag", "index"]),
    "proxy.eth_gettransactionbyhash" => Method("eth_getTransactionByHash", &["txhash"]),
    "proxy.eth_gettransactioncount" => Method("eth_getTransactionCount", &["address", "tag"]),
    "proxy.eth_gettransactionreceipt" => Method("eth_getTransactionReceipt", &["txhash"]),
    "proxy.eth_getunclebyblocknumberandindex" =>
        Method("eth_getUncleByBlockNumberAndIndex", &["tag", "index"]),
    "stats.tokensupply" => Own(|ask, query| contract::supply(ask, query, ask.tip.number)),
    "stats.tokensupplyhistory" => Own(|ask, query| contract::supply(ask, query, query.block_number(ask)?)),
    "token.tokenholdercount" => Own(tokens::holder_count),
    "token.tokenholderlist" => Own(tokens::holders),
    "token.tokeninfo" => Own(tokens::info),
    "transaction.getstatus" => Own(transaction::status),
    "transaction.gettxreceiptstatus" => Own(transaction::receipt_status),
}

/// The row of the action of a query.
fn find(query: &Query) -> Option<&'static (&'static str, Action)> {
    row(TABLE, &format!("{}.{}", query.module(), query.action()))
}

/// The name of an action that is answered here, for counts.
pub(crate) fn known(query: &Query) -> Option<&'static str> {
    find(query).map(|(name, _)| *name)
}

/// The document that answers a query.
pub(crate) enum Document {
    /// The answer is here.
    Here {
        body: Value,
        /// Whether blocks are missing.
        is_missing: bool,
        standing: Standing,
    },
    /// The server of the node is to be asked.
    Pass { method: &'static str, params: Value },
}

/// How long a document holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// As long as the newest block.
    Settled,
    /// It is an answer that the clock can change.
    Passing,
    /// It is no answer.
    Refused,
}

/// Answers a query; always with a document, unless it has to be asked again.
pub(crate) fn answer(ask: &Ask<'_>, query: &Query, needs_chain: bool) -> Answer<Document> {
    let document = |body, is_missing, standing| Document::Here {
        body,
        is_missing,
        standing,
    };
    let checked = check_chain(ask, query, needs_chain);
    if query.module() == "proxy" && checked.is_ok() {
        return proxy::answer(ask, query, find(query).map(|(_, action)| action));
    }
    let listed = |status: &str, message: &str, result: Value| json!({ "status": status, "message": message, "result": result });
    let reply = match checked.and_then(|()| dispatch(ask, query)) {
        // Asked again.
        Err(Fault::Source(error)) if error.kind == txgraph::ErrorKind::Reorged => {
            return Err(Fault::Source(error));
        }
        Err(fault) => {
            let is_missing = fault.is_missing();
            return Ok(document(refusal(&fault), is_missing, Standing::Refused));
        }
        Ok(reply) => reply,
    };
    let is_missing = matches!(reply, Reply::Partial(..));
    let standing = match reply {
        Reply::Passing(_) => Standing::Passing,
        _ => Standing::Settled,
    };
    let body = match reply {
        Reply::Value(value) | Reply::Passing(value) => listed("1", "OK", value),
        Reply::Nothing(message) => listed("0", message, Value::Null),
        Reply::Rows(rows, empty) | Reply::Partial(rows, empty) => match rows.is_empty() {
            true => listed("0", empty, json!([])),
            false => listed("1", "OK", rows.into()),
        },
    };
    Ok(document(body, is_missing, standing))
}

/// The document of a query without an answer, in the words that clients look for.
pub(crate) fn refusal(fault: &Fault) -> Value {
    match fault {
        Fault::Late | Fault::TooMuch(_) => json!({
            "status": "0",
            "message": "Query Timeout occured. Please select a smaller result dataset",
            "result": null,
        }),
        Fault::Window => json!({ "status": "0", "message": fault.message(), "result": null }),
        Fault::Busy => json!({
            "status": "0",
            "message": "NOTOK",
            "result": "Max rate limit reached, please try again",
        }),
        fault => json!({ "status": "0", "message": "NOTOK", "result": fault.message() }),
    }
}

fn check_chain(ask: &Ask<'_>, query: &Query, needed: bool) -> Answer<()> {
    let chain_id = ask.source.chain()?.chain_id;
    match query.get("chainid") {
        None if !needed => Ok(()),
        Some(given) if given.trim().parse() == Ok(chain_id) => Ok(()),
        _ => Err(Fault::Params(format!(
            "Missing or unsupported chainid parameter (required for v2 api), please use {chain_id}, the \
             chain of this node"
        ))),
    }
}

fn dispatch(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    match find(query) {
        Some((_, Own(answer))) => answer(ask, query),
        _ => Err(Fault::Params(unanswered::why(
            query.module(),
            query.action(),
        ))),
    }
}

/// The chains that are answered at a name of this host, as Etherscan lists its own: one.
pub(crate) fn chain_list(chain: &ChainInfo, host: &str) -> Value {
    let id = chain.chain_id;
    let name = chain.name.clone().unwrap_or_else(|| format!("chain {id}"));
    json!({
        "comments": "status: 0 offline, 1 ok, 2 degraded",
        "totalcount": 1,
        "result": [{
            "chainname": name,
            "chainid": id.to_string(),
            "blockexplorer": format!("http://{host}/"),
            "apiurl": format!("http://{host}/v2/api?chainid={id}"),
            "status": 1,
            "comment": "",
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_ascending() {
        assert!(ACTIONS.is_sorted());
        assert!(ACTIONS.iter().all(|name| *name == name.to_lowercase()));
    }
}
