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
};
use reply::Reply;
use serde_json::{Value, json};
use txgraph::{ChainInfo, TokenStandard};

/// The modules and actions that are answered here, in lower case and ascending.
pub const ACTIONS: &[&str] = &[
    "account.addresstokenbalance",
    "account.addresstokennftbalance",
    "account.balance",
    "account.balancehistory",
    "account.balancemulti",
    "account.fundedby",
    "account.getminedblocks",
    "account.token1155tx",
    "account.tokenbalance",
    "account.tokenbalancehistory",
    "account.tokennfttx",
    "account.tokentx",
    "account.txlist",
    "account.txlistinternal",
    "account.txsbeaconwithdrawal",
    "block.getblockcountdown",
    "block.getblocknobytime",
    "block.getblockreward",
    "contract.getabi",
    "contract.getcontractcreation",
    "contract.getsourcecode",
    "logs.getlogs",
    "proxy.eth_blocknumber",
    "proxy.eth_call",
    "proxy.eth_estimategas",
    "proxy.eth_gasprice",
    "proxy.eth_getblockbynumber",
    "proxy.eth_getblocktransactioncountbynumber",
    "proxy.eth_getcode",
    "proxy.eth_getstorageat",
    "proxy.eth_gettransactionbyblocknumberandindex",
    "proxy.eth_gettransactionbyhash",
    "proxy.eth_gettransactioncount",
    "proxy.eth_gettransactionreceipt",
    "proxy.eth_getunclebyblocknumberandindex",
    "stats.tokensupply",
    "stats.tokensupplyhistory",
    "token.tokenholdercount",
    "token.tokenholderlist",
    "token.tokeninfo",
    "transaction.getstatus",
    "transaction.gettxreceiptstatus",
];

/// The name of an action that is answered here, for counts.
pub(crate) fn known(query: &Query) -> Option<&'static str> {
    let name = format!("{}.{}", query.module(), query.action());
    let at = ACTIONS.binary_search(&name.as_str()).ok()?;
    ACTIONS.get(at).copied()
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
        return proxy::answer(ask, query);
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
    match (query.module(), query.action()) {
        ("account", "addresstokenbalance") => tokens::held(ask, query, TokenStandard::Erc20),
        ("account", "addresstokennftbalance") => tokens::held(ask, query, TokenStandard::Erc721),
        ("account", "balance") => account::balance(ask, query),
        ("account", "balancemulti") => account::balances(ask, query),
        ("account", "balancehistory") => account::balance_history(ask, query),
        ("account", "tokenbalance") => account::token_balance(ask, query, query.tag(ask)?),
        ("account", "tokenbalancehistory") => {
            account::token_balance(ask, query, query.block_number(ask)?)
        }
        ("account", "txlist") => account::transactions(ask, query),
        ("account", "fundedby") => account::funded_by(ask, query),
        ("account", "txlistinternal") => internal::transactions(ask, query),
        ("account", "tokentx") => tokens::transfers(ask, query, TokenStandard::Erc20),
        ("account", "tokennfttx") => tokens::transfers(ask, query, TokenStandard::Erc721),
        ("account", "token1155tx") => tokens::transfers(ask, query, TokenStandard::Erc1155),
        ("account", "getminedblocks") => blocks::mined(ask, query),
        ("account", "txsbeaconwithdrawal") => blocks::withdrawals(ask, query),
        ("block", "getblockcountdown") => blocks::countdown(ask, query),
        ("block", "getblocknobytime") => blocks::by_time(ask, query),
        ("block", "getblockreward") => blocks::reward(ask, query),
        ("contract", "getabi") => contract::abi(query),
        ("contract", "getcontractcreation") => contract::creations(ask, query),
        ("contract", "getsourcecode") => contract::source_code(query),
        ("logs", "getlogs") => logs::logs(ask, query),
        ("stats", "tokensupply") => contract::supply(ask, query, ask.tip.number),
        ("stats", "tokensupplyhistory") => contract::supply(ask, query, query.block_number(ask)?),
        ("token", "tokenholdercount") => tokens::holder_count(ask, query),
        ("token", "tokeninfo") => tokens::info(ask, query),
        ("token", "tokenholderlist") => tokens::holders(ask, query),
        ("transaction", "getstatus") => transaction::status(ask, query),
        ("transaction", "gettxreceiptstatus") => transaction::receipt_status(ask, query),
        (module, action) => Err(Fault::Params(unanswered::why(module, action))),
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
