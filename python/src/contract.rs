//! Calls of contracts.

use crate::{
    abi,
    errors::{raise, warn},
    node::{Node, address},
    options,
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};
use serde::Deserialize;
use txgraph::{Address, Bytes, Error, Method, parse::parse_amount};

/// Options of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CallOptions {
    to: Option<String>,
    from: Option<String>,
    value: Option<String>,
    gas: Option<u64>,
    block: Option<u64>,
}

/// Block, success, output, gas, why it reverted, and the returned values.
type Called<'py> = (
    u64,
    bool,
    Bound<'py, PyBytes>,
    u64,
    Option<String>,
    Bound<'py, PyList>,
);

/// Warns that an address has no code.
pub(crate) fn warn_empty(py: Python<'_>, address: Address, block: u64) -> PyResult<()> {
    let text = format!("{address} has no code at the end of block {block}: nothing was executed");
    warn(py, &text)
}

/// Calls a contract with calldata, or with a function and its arguments.
#[pyfunction]
pub(crate) fn call<'py>(
    py: Python<'py>,
    node: &Node,
    options: &str,
    data: Vec<u8>,
    function: Option<&str>,
    arguments: Vec<Bound<'py, PyAny>>,
) -> PyResult<Called<'py>> {
    let options: CallOptions = options::read(options).map_err(|error| raise(py, &error))?;
    let method = function.map(Method::parse).transpose();
    let method = method.map_err(|error| raise(py, &error.into()))?;
    let data = match &method {
        Some(method) => abi::calldata(py, method, &arguments)?,
        None => data,
    };
    let (done, empty) = node.session.run(py, move |source| {
        let to = options.to.as_deref().map(address).transpose()?;
        let mut call = source.call(to).data(Bytes::from(data));
        if let Some(from) = &options.from {
            call = call.from(address(from)?);
        }
        if let Some(value) = &options.value {
            call = call.value(parse_amount(value).map_err(Error::usage)?);
        }
        if let Some(gas) = options.gas {
            call = call.gas(gas);
        }
        if let Some(block) = options.block {
            call = call.block(block);
        }
        let done = call.run()?;
        let empty = match to {
            Some(to) if source.has_nothing_to_call(to, done.block)? => Some(to),
            _ => None,
        };
        Ok((done, empty))
    })?;
    if let Some(to) = empty {
        warn_empty(py, to, done.block)?;
    }
    let success = done.outcome.is_success();
    let values = PyList::empty(py);
    if let Some(method) = method.filter(|method| success && method.has_outputs()) {
        let decoded = method.decode_values(&done.outcome.output);
        for value in decoded.map_err(|error| raise(py, &error.into()))? {
            values.append(abi::to_python(py, &value)?)?;
        }
    }
    let output = PyBytes::new(py, &done.outcome.output);
    let gas = done.outcome.gas_used;
    Ok((done.block, success, output, gas, done.reason, values))
}
