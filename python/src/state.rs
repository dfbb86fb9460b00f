//! Accounts, storage and transactions.

use crate::{
    contract::warn_empty,
    errors::{raise, warn},
    node::{Node, address, to_json},
    values::integer,
};
use pyo3::{prelude::*, types::PyBytes};
use std::path::PathBuf;
use txgraph::{
    Dictionary, Error, ErrorKind,
    parse::{parse_slot, parse_transaction},
};

/// The balance of an address at the end of a block: of a token, or of the native coin in wei.
#[pyfunction]
pub(crate) fn balance<'py>(
    py: Python<'py>,
    node: &Node,
    holder: String,
    token: Option<String>,
    block: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (amount, empty) = node.session.run(py, move |source| {
        let token = token.as_deref().map(address).transpose()?;
        let (block, found) = source.balances(block, &[(address(&holder)?, token)])?;
        let amount = found.into_iter().next().flatten().ok_or_else(|| {
            let token = token.unwrap_or_default();
            let text =
                format!("{token} is no ERC-20 or ERC-721 token: it does not answer balanceOf");
            Error::new(ErrorKind::Failed, text)
        })?;
        let empty = match token {
            Some(token) if amount.is_zero() && source.has_nothing_to_call(token, block)? => {
                Some((token, block))
            }
            _ => None,
        };
        Ok((amount, empty))
    })?;
    if let Some((token, block)) = empty {
        warn_empty(py, token, block)?;
    }
    integer(py, &amount)
}

/// The nonce of an account at the end of a block.
#[pyfunction]
pub(crate) fn nonce(
    py: Python<'_>,
    node: &Node,
    account: String,
    block: Option<u64>,
) -> PyResult<u64> {
    node.session.run(py, move |source| {
        let account = address(&account)?;
        source.with_state(block, |state| Ok(state.account(account)?.nonce))
    })
}

/// The code of an account at the end of a block; empty if it has none.
#[pyfunction]
pub(crate) fn code<'py>(
    py: Python<'py>,
    node: &Node,
    account: String,
    block: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let code = node.session.run(py, move |source| {
        let account = address(&account)?;
        source.with_state(block, |state| state.code(account))
    })?;
    Ok(PyBytes::new(py, &code))
}

/// The value of a slot at the end of a block: 32 bytes.
#[pyfunction]
pub(crate) fn storage<'py>(
    py: Python<'py>,
    node: &Node,
    account: String,
    slot: String,
    block: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let found = node.session.run(py, move |source| {
        let account = address(&account)?;
        let number = parse_slot(&slot).map_err(Error::usage)?;
        source.with_state(block, |state| state.storage(account, number))
    })?;
    if let Some(caveat) = &found.caveat {
        warn(py, caveat)?;
    }
    Ok(PyBytes::new(py, &found.value.to_be_bytes::<32>()))
}

/// The effects of a transaction, as JSON.
#[pyfunction]
pub(crate) fn transaction(
    py: Python<'_>,
    node: &Node,
    name: String,
    abi: Vec<PathBuf>,
) -> PyResult<String> {
    let mut names = Dictionary::common();
    for path in abi {
        let loaded = names
            .load(&path)
            .map_err(|error| raise(py, &error.into()))?;
        for row in loaded.bad_rows {
            warn(py, &row)?;
        }
    }
    node.session.run(py, move |source| {
        let found = source.transaction(parse_transaction(&name)?)?;
        to_json(&found.to_json(found.method(&names).as_deref()))
    })
}
