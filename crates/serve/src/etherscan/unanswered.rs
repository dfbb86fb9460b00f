//! Actions of Etherscan without an answer here.

/// Why an action has no answer, in the words of Etherscan if it does not exist.
pub(super) fn why(module: &str, action: &str) -> String {
    match reason(module, action) {
        Some(reason) => format!("Error! {action:.40} is not answered here: {reason}"),
        None => match module {
            "account" | "block" | "contract" | "logs" | "stats" | "token" | "transaction" => {
                "Error! Missing Or invalid Action name".to_owned()
            }
            _ => "Error! Missing Or invalid Module name".to_owned(),
        },
    }
}

/// The reason, of an action that Etherscan has.
fn reason(module: &str, action: &str) -> Option<&'static str> {
    Some(match (module, action) {
        (_, action) if action.starts_with("daily") => "sums by day are not kept",
        ("account", "addresstokennftinventory") => "tokennfttx has the transfers of its items",
        ("account", "getdeposittxs" | "getwithdrawaltxs" | "txnbridge") => {
            "which transactions belong to a bridge is not stored by a node"
        }
        (
            "contract",
            "checkproxyverification"
            | "checkverifystatus"
            | "verifyproxycontract"
            | "verifysourcecode",
        ) => "source code is neither compiled nor kept",
        ("gastracker", "gasestimate" | "gasoracle") => {
            "the fees of the chain are at eth_feeHistory and eth_gasPrice"
        }
        ("getapilimit", _) => "requests are not counted by key",
        ("nametag", _) => "labels are at /v1/labels",
        ("stats", "chainsize" | "nodecount") => "a data directory does not show the network",
        ("stats", "ethdailyprice" | "ethprice") => "prices are not on the chain",
        ("stats", "ethsupply" | "ethsupply2") => {
            "a node does not store how much of its coin exists"
        }
        ("token", "topholders") => "tokenholderlist has the holders",
        _ => return None,
    })
}
