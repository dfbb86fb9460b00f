//! Graphs: their tables, their files, and what other graph libraries are filled from.

use crate::{
    errors::raise,
    options,
    session::{Session, locked},
    table::{Table, collected},
    values::{self, Values},
};
use pyo3::{intern, prelude::*, types::PyList};
use std::sync::{Arc, Mutex};
use txgraph::{
    ArrowCollector, ColumnChoice, DetachedGraph, GraphOutputs, Labels, MergedEdge, Result, Source,
    TableFormat, TokenList, Written, WrittenGraph, parse::GraphQuery,
};

/// Vertices and edges between two looks for signals.
const PART: usize = 4096;

/// A graph of transfers.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Graph {
    session: Arc<Session>,
    graph: DetachedGraph,
    names: Names,
}

/// The names that the query of a graph gave. Its outputs have them, too, unless they name others.
#[derive(Clone)]
pub(crate) struct Names {
    pub(crate) tokens: Option<TokenList>,
    pub(crate) labels: Option<Labels>,
}

impl Graph {
    pub(crate) const fn new(session: Arc<Session>, graph: DetachedGraph, names: Names) -> Self {
        Self {
            session,
            graph,
            names,
        }
    }

    /// Writes the graph without the interpreter's lock.
    fn write_with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        json: &str,
        outputs: impl FnOnce(GraphOutputs) -> GraphOutputs + Send + 'static,
        done: impl FnOnce(Vec<Written>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let query = options::query::<GraphQuery>(json).map_err(|error| raise(py, &error))?;
        let graph = self.graph.clone();
        let Names { tokens, labels } = self.names.clone();
        self.session.run(py, move |source| {
            let outputs = outputs(query.outputs(source, tokens, labels)?);
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
        let (collector, target) = ArrowCollector::new();
        self.write_with(
            py,
            json,
            move |mut outputs| {
                ColumnChoice::with_exact_numbers(&mut outputs.columns);
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
            move |_| collected(&collector),
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

    /// The report of the scan, with gaps, as JSON.
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
            list.append(values::node(py, vertex, is_root)?)?;
        }
        Ok(list)
    }

    /// The edges in parts. With `merge`, one for all transfers of a token from one address to
    /// another.
    fn edge_parts(&self, py: Python<'_>, merge: bool) -> PyResult<EdgeParts> {
        let graph = self.graph.clone();
        let merged = match merge {
            true => {
                let merged = move |source: &Source| graph.attach(source).merged_edges();
                Some(self.session.run(py, merged)?)
            }
            false => None,
        };
        Ok(EdgeParts {
            graph: self.graph.clone(),
            merged,
            next: Mutex::new(0),
        })
    }
}

/// The edges of a graph as lists, so that a program looks for signals between them, and never has
/// all of them twice.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct EdgeParts {
    graph: DetachedGraph,
    merged: Option<Vec<MergedEdge>>,
    next: Mutex<usize>,
}

#[pymethods]
impl EdgeParts {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next edges: number of the sender, number of the receiver, and a dictionary.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let transfers = self.graph.graph.raw_edges();
        let count = self.merged.as_ref().map_or(transfers.len(), Vec::len);
        let first = {
            let mut next = locked(&self.next);
            let first = *next;
            *next = first.saturating_add(PART).min(count);
            first
        };
        if first == count {
            return Ok(None);
        }
        py.check_signals()?;
        let mut values = Values::new(py);
        let list = PyList::empty(py);
        match &self.merged {
            Some(merged) => {
                for edge in merged.iter().skip(first).take(PART) {
                    let data = values.merged(edge)?;
                    list.append((edge.source.index(), edge.target.index(), data))?;
                }
            }
            None => {
                for edge in transfers.iter().skip(first).take(PART) {
                    let data = values.transfer(&edge.weight.transfer)?;
                    data.set_item(intern!(py, "hop"), edge.weight.hop)?;
                    list.append((edge.source().index(), edge.target().index(), data))?;
                }
            }
        }
        Ok(Some(list))
    }
}
