//! Vertices, transfers and amounts as Python values.
//!
//! Graphs have millions of them: names of attributes, and words and tokens that repeat, are one
//! text each.

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyInt, PyString},
};
use std::collections::HashMap;
use txgraph::{Address, AmountSum, Asset, BlockTime, MergedEdge, Transfer, U256, Vertex};

/// The attributes of a vertex.
pub(crate) fn node<'py>(
    py: Python<'py>,
    vertex: &Vertex,
    is_root: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item(intern!(py, "address"), format!("{:#x}", vertex.address))?;
    data.set_item(intern!(py, "label"), vertex.labels.name())?;
    data.set_item(intern!(py, "category"), vertex.labels.category())?;
    data.set_item(intern!(py, "label_source"), vertex.labels.source())?;
    data.set_item(intern!(py, "hop"), vertex.hop)?;
    data.set_item(intern!(py, "root"), is_root)?;
    data.set_item(intern!(py, "in_degree"), vertex.in_degree)?;
    data.set_item(intern!(py, "out_degree"), vertex.out_degree)?;
    Ok(data)
}

/// Makes the attributes of edges.
pub(crate) struct Values<'py> {
    py: Python<'py>,
    tokens: HashMap<Address, Bound<'py, PyString>>,
}

impl<'py> Values<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Self {
            py,
            tokens: HashMap::new(),
        }
    }

    /// The attributes of a transfer, in the names of the columns of transfers.
    pub(crate) fn transfer(&mut self, transfer: &Transfer) -> PyResult<Bound<'py, PyDict>> {
        let py = self.py;
        let data = PyDict::new(py);
        data.set_item(intern!(py, "block_number"), transfer.block_number)?;
        let time = transfer.block_timestamp.map(BlockTime::seconds);
        data.set_item(intern!(py, "block_timestamp"), time)?;
        let index = transfer.transaction_index;
        data.set_item(intern!(py, "transaction_index"), index)?;
        data.set_item(intern!(py, "log_index"), transfer.log_index)?;
        data.set_item(intern!(py, "sub_index"), transfer.sub_index)?;
        let hash = transfer.transaction_hash.map(|hash| format!("{hash:#x}"));
        data.set_item(intern!(py, "transaction_hash"), hash)?;
        self.asset(&data, &Asset::of(transfer))?;
        data.set_item(intern!(py, "value"), integer(py, &transfer.value)?)?;
        let id = transfer.token_id.as_ref().map(|id| integer(py, id));
        data.set_item(intern!(py, "token_id"), id.transpose()?)?;
        let kind = PyString::intern(py, transfer.kind.as_str());
        data.set_item(intern!(py, "kind"), kind)?;
        Ok(data)
    }

    /// The attributes of all transfers of a token from one address to another.
    pub(crate) fn merged(&mut self, edge: &MergedEdge) -> PyResult<Bound<'py, PyDict>> {
        let py = self.py;
        let data = PyDict::new(py);
        self.asset(&data, &edge.asset)?;
        data.set_item(intern!(py, "count"), edge.count)?;
        data.set_item(intern!(py, "sum"), sum(py, edge.sum)?)?;
        data.set_item(intern!(py, "first_block"), edge.first.0)?;
        data.set_item(intern!(py, "last_block"), edge.last.0)?;
        let first = edge.first.1.map(BlockTime::seconds);
        data.set_item(intern!(py, "first_timestamp"), first)?;
        let last = edge.last.1.map(BlockTime::seconds);
        data.set_item(intern!(py, "last_timestamp"), last)?;
        data.set_item(intern!(py, "hop"), edge.hop)?;
        Ok(data)
    }

    fn asset(&mut self, data: &Bound<'py, PyDict>, asset: &Asset) -> PyResult<()> {
        let py = self.py;
        let token = asset.token_address.map(|token| {
            let text = self.tokens.entry(token);
            &*text.or_insert_with(|| PyString::new(py, &format!("{token:#x}")))
        });
        data.set_item(intern!(py, "token_address"), token)?;
        let standard = PyString::intern(py, asset.token_standard.as_str());
        data.set_item(intern!(py, "token_standard"), standard)
    }
}

/// A number of 256 bits as an integer of Python, which has no limit.
pub(crate) fn integer<'py>(py: Python<'py>, number: &U256) -> PyResult<Bound<'py, PyAny>> {
    match u64::try_from(*number) {
        Ok(small) => Ok(small.into_pyobject(py)?.into_any()),
        Err(_) => from_bytes(py, &number.to_be_bytes::<32>()),
    }
}

/// A sum of such numbers.
fn sum<'py>(py: Python<'py>, sum: AmountSum) -> PyResult<Bound<'py, PyAny>> {
    from_bytes(py, &sum.to_be_bytes::<{ AmountSum::BYTES }>())
}

fn from_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let integers = py.get_type::<PyInt>();
    let bytes = (PyBytes::new(py, bytes), intern!(py, "big"));
    integers.call_method1(intern!(py, "from_bytes"), bytes)
}
