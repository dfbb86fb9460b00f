//! Graphs: their tables, their files, and what other graph libraries are filled from.

use crate::{
    errors::raise,
    options,
    session::Session,
    table::{Collected, Table},
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyInt, PyList},
};
use std::sync::Arc;
use txgraph::{
    AmountSum, Asset, BlockTime, DetachedGraph, GraphOutputs, Result, TableFormat, Transfer, U256,
    Vertex, Written, WrittenGraph,
};

/// Vertices and edges between two looks for signals.
const PART: usize = 4096;

/// A graph of transfers.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Graph {
    session: Arc<Session>,
    graph: DetachedGraph,
}

impl Graph {
    pub(crate) const fn new(session: Arc<Session>, graph: DetachedGraph) -> Self {
        Self { session, graph }
    }

    /// Writes the graph without the interpreter's lock.
    fn write_with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        json: &str,
        outputs: impl FnOnce(GraphOutputs) -> GraphOutputs + Send + 'static,
        done: impl FnOnce(Vec<Written>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let query = options::graph(json).map_err(|error| raise(py, &error))?;
        let graph = self.graph.clone();
        self.session.run(py, move |source| {
            let outputs = outputs(query.outputs(source)?);
            let WrittenGraph {
                written,
                mut failed,
                ..
            } = graph.attach(source).write_all(&outputs)?;
            match failed.pop() {
                Some(error) => Err(error),
                None => done(written),
            }
        })
    }

    /// The graph as a table in memory.
    fn table(&self, py: Python<'_>, json: &str, of_vertices: bool) -> PyResult<Table> {
        let (collected, target) = Collected::new();
        self.write_with(
            py,
            json,
            move |outputs| {
                let (files, vertices) = match of_vertices {
                    true => (Vec::new(), Some((TableFormat::Ipc, target))),
                    false => (vec![(TableFormat::Ipc.into(), target)], None),
                };
                GraphOutputs {
                    files,
                    vertices,
                    ..outputs
                }
            },
            move |_| collected.table(),
        )
    }
}

#[pymethods]
impl Graph {
    /// The number of vertices and of edges.
    fn size(&self) -> (usize, usize) {
        let graph = &self.graph.graph;
        (graph.node_count(), graph.edge_count())
    }

    /// The numbers of the roots.
    fn roots(&self) -> Vec<usize> {
        self.graph.roots.iter().map(|root| root.index()).collect()
    }

    /// The limits that were reached, as JSON.
    fn limits(&self) -> String {
        serde_json::to_string(&self.graph.limits).unwrap_or_default()
    }

    /// What was read, with gaps, as JSON.
    fn scan(&self) -> String {
        serde_json::to_string(&self.graph.scan).unwrap_or_default()
    }

    /// The vertices as a table.
    fn nodes(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "{}", true)
    }

    /// The edges as a table.
    fn edges(&self, py: Python<'_>, options: &str) -> PyResult<Table> {
        self.table(py, options, false)
    }

    /// Writes files. Returns what a reader must know about their form.
    fn write(&self, py: Python<'_>, options: &str) -> PyResult<Vec<String>> {
        let notes =
            |written: Vec<Written>| Ok(written.into_iter().flat_map(|file| file.notes).collect());
        self.write_with(py, options, |outputs| outputs, notes)
    }

    /// The vertices: a dictionary each, in the order of their numbers.
    fn node_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut is_root = vec![false; self.graph.graph.node_count()];
        for root in &self.graph.roots {
            is_root[root.index()] = true;
        }
        let vertices = self.graph.graph.node_weights().zip(is_root);
        for (number, (vertex, is_root)) in vertices.enumerate() {
            if number % PART == 0 {
                py.check_signals()?;
            }
            list.append(node(py, vertex, is_root)?)?;
        }
        Ok(list)
    }

    /// The edges: number of the sender, number of the receiver, and a dictionary. With `merge`,
    /// one for all transfers of a token from one address to another.
    fn edge_list<'py>(&self, py: Python<'py>, merge: bool) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if merge {
            let graph = self.graph.clone();
            let merged =
                (self.session).run(py, move |source| graph.attach(source).merged_edges())?;
            for (number, edge) in merged.iter().enumerate() {
                if number % PART == 0 {
                    py.check_signals()?;
                }
                let data = PyDict::new(py);
                asset(&data, &edge.asset)?;
                data.set_item("count", edge.count)?;
                data.set_item("sum", sum(py, edge.sum)?)?;
                data.set_item("first_block", edge.first.0)?;
                data.set_item("last_block", edge.last.0)?;
                data.set_item("first_timestamp", edge.first.1.map(BlockTime::seconds))?;
                data.set_item("last_timestamp", edge.last.1.map(BlockTime::seconds))?;
                data.set_item("hop", edge.hop)?;
                list.append((edge.source.index(), edge.target.index(), data))?;
            }
            return Ok(list);
        }
        for (number, edge) in self.graph.graph.raw_edges().iter().enumerate() {
            if number % PART == 0 {
                py.check_signals()?;
            }
            let data = transfer(py, &edge.weight.transfer)?;
            data.set_item("hop", edge.weight.hop)?;
            list.append((edge.source().index(), edge.target().index(), data))?;
        }
        Ok(list)
    }
}

fn node<'py>(py: Python<'py>, vertex: &Vertex, is_root: bool) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("address", format!("{:#x}", vertex.address))?;
    data.set_item("label", vertex.labels.name())?;
    data.set_item("category", vertex.labels.category())?;
    data.set_item("label_source", vertex.labels.source())?;
    data.set_item("hop", vertex.hop)?;
    data.set_item("root", is_root)?;
    data.set_item("in_degree", vertex.in_degree)?;
    data.set_item("out_degree", vertex.out_degree)?;
    Ok(data)
}

/// The attributes of an edge, in the names of the columns of transfers.
fn transfer<'py>(py: Python<'py>, transfer: &Transfer) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("block_number", transfer.block_number)?;
    let time = transfer.block_timestamp.map(BlockTime::seconds);
    data.set_item("block_timestamp", time)?;
    data.set_item("transaction_index", transfer.transaction_index)?;
    data.set_item("log_index", transfer.log_index)?;
    data.set_item("sub_index", transfer.sub_index)?;
    let hash = transfer.transaction_hash.map(|hash| format!("{hash:#x}"));
    data.set_item("transaction_hash", hash)?;
    asset(&data, &Asset::of(transfer))?;
    data.set_item("value", integer(py, &transfer.value)?)?;
    let id = transfer.token_id.as_ref().map(|id| integer(py, id));
    data.set_item("token_id", id.transpose()?)?;
    data.set_item("kind", transfer.kind.as_str())?;
    Ok(data)
}

fn asset(data: &Bound<'_, PyDict>, asset: &Asset) -> PyResult<()> {
    let token = asset.token_address.map(|token| format!("{token:#x}"));
    data.set_item("token_address", token)?;
    data.set_item("token_standard", asset.token_standard.as_str())
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
    integers.call_method1("from_bytes", (PyBytes::new(py, bytes), "big"))
}
