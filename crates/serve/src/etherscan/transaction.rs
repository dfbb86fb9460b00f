//! `transaction`: how a transaction ended.

use super::{query::Query, reply::Reply};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    rpc,
};
use serde_json::{Value, json};
use txgraph::ReceiptDetail;

/// Whether a transaction succeeded; `None` if the chain does not have it.
fn is_success(ask: &Ask<'_>, query: &Query) -> Answer<Option<bool>> {
    let wrong = || Fault::Params("Error! Invalid transaction hash format".to_owned());
    let hash = query.hash("txhash")?.ok_or_else(wrong)?;
    let found = rpc::find(ask, hash, ReceiptDetail::WithoutLogs).map(|it| {
        let receipt = it.receipt.as_ref();
        receipt.map_or(Value::Null, |receipt| receipt.success.into())
    });
    Ok(ask.or_null(found)?.as_bool())
}

pub(super) fn receipt_status(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let status = match is_success(ask, query)? {
        None => "",
        Some(false) => "0",
        Some(true) => "1",
    };
    Ok(Reply::Value(json!({ "status": status })))
}

/// The description is empty: the reason of a failure is not stored.
pub(super) fn status(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let is_error = match is_success(ask, query)? {
        Some(false) => "1",
        None | Some(true) => "0",
    };
    Ok(Reply::Value(
        json!({ "isError": is_error, "errDescription": "" }),
    ))
}
