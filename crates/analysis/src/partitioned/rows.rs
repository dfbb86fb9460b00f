//! Rows, as tasks read and write them.

use super::{
    Tables,
    record::{ADDRESS, BranchRecord, EdgeRecord, Record, address},
};
use crate::{Connected, VertexDegrees, vertex_degrees};
use alloy_primitives::Address;
use serde::de::DeserializeOwned;
use txgraph_base::Interner;
use txgraph_graph::{Csr, MergedGraph, Merger, SearchError, StoredEdge};

/// Degrees of a vertex.
type VertexRecord = Record<ADDRESS, 5, 0>;

/// Rows that are written at a time.
const ROWS: usize = 1 << 13;

/// Edges that are merged at a time: few enough to stay in the cache.
const EDGES: usize = 1 << 10;

/// Writes the rows of a table, each into the partition of the bytes that `by` returns.
pub(super) fn scatter<const K: usize, const N: usize, const A: usize, const B: usize, T: Tables>(
    to: &mut T,
    table: u32,
    records: &[Record<K, N, A>],
    by: impl Fn(&Record<K, N, A>) -> [u8; B],
) -> Result<(), T::Error> {
    let partitions = records.iter().map(|record| to.partition(&by(record)));
    let places = grouped(to.partitions(), partitions.collect());
    write_grouped(to, table, &places, |places| {
        let some = places.iter().map(|place| records[*place as usize]);
        some.collect()
    })
}

/// The places of the rows of each partition.
fn grouped(count: u32, partitions: Vec<u32>) -> Csr {
    let places = || partitions.iter().copied().zip(0u32..);
    Csr::group(count as usize, places)
}

fn write_grouped<const K: usize, const N: usize, const A: usize, T: Tables>(
    to: &mut T,
    table: u32,
    places: &Csr,
    records: impl Fn(&[u32]) -> Vec<Record<K, N, A>>,
) -> Result<(), T::Error> {
    for partition in 0..to.partitions() {
        for places in places.of(partition).chunks(ROWS) {
            to.write(table, partition, &records(places))?;
        }
    }
    Ok(())
}

/// Writes the edges of a graph, by pair, as rows of this kind.
pub(super) fn write_edges<const K: usize, const N: usize, const A: usize, T: Tables>(
    graph: &MergedGraph,
    row: fn(&StoredEdge) -> Record<K, N, A>,
    to: &mut T,
) -> Result<(), T::Error> {
    let partition = |from: u32, to_vertex: u32| {
        let ends = [graph.address(from), graph.address(to_vertex)];
        let ends = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        to.partition(ends.map(|end| end.0.0).as_flattened())
    };
    let partitions = graph.edges().map(|edge| partition(edge.from, edge.to));
    let places = grouped(to.partitions(), partitions.collect());
    write_grouped(to, 0, &places, |places| {
        let edges = graph.edges_at(places);
        edges.map(|edge| row(&graph.stored(&edge))).collect()
    })
}

pub(super) fn write_pairs<T: Tables>(edges: &[StoredEdge], to: &mut T) -> Result<(), T::Error> {
    for some in edges.chunks(ROWS) {
        write_all(to, 0, &some.iter().map(EdgeRecord::of).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Writes the rows of a table without a hash.
pub(super) fn write_all<const K: usize, const N: usize, const A: usize, T: Tables>(
    to: &mut T,
    table: u32,
    records: &[Record<K, N, A>],
) -> Result<(), T::Error> {
    let mut chunks = records.chunks(ROWS);
    chunks.try_for_each(|some| to.write(table, 0, some))
}

/// Writes the vertices of a graph into a table, by address.
pub(super) fn write_vertices<T: Tables>(
    graph: &MergedGraph,
    table: u32,
    to: &mut T,
) -> Result<(), T::Error> {
    let degrees = graph.addresses.iter().zip(vertex_degrees(graph));
    let records =
        degrees.map(|(address, degrees)| VertexRecord::new(&[address.as_slice()], degrees, []));
    scatter(to, table, &records.collect::<Vec<_>>(), |record| record.key)
}

pub(super) fn write_forest<T: Tables>(connected: Connected, to: &mut T) -> Result<(), T::Error> {
    let mut branches = connected.into_forest();
    loop {
        let some = branches.by_ref().take(ROWS);
        let some: Vec<_> = some.map(|branch| BranchRecord::from(&branch)).collect();
        if some.is_empty() {
            return Ok(());
        }
        to.write(0, 0, &some)?;
    }
}

/// Passes the rows of an input.
pub(super) fn each<const K: usize, const N: usize, const A: usize, T: Tables>(
    from: &T,
    input: usize,
    mut each: impl FnMut(Record<K, N, A>) -> Result<(), SearchError>,
) -> Result<(), T::Error> {
    from.read(input, |_, record| Ok(each(record)?))
}

/// The rows of an input.
pub(super) fn all<const K: usize, const N: usize, const A: usize, T: Tables>(
    from: &T,
    input: usize,
) -> Result<Vec<Record<K, N, A>>, T::Error> {
    let mut all = Vec::new();
    each(from, input, |record| {
        all.push(record);
        Ok(())
    })?;
    Ok(all)
}

/// Merges the counts of an input.
pub(super) fn fold<S: Default + DeserializeOwned, T: Tables>(
    from: &T,
    input: usize,
    mut merge: impl FnMut(&mut S, S),
) -> Result<S, T::Error> {
    let mut all = S::default();
    from.read_counts(input, |one| merge(&mut all, one))?;
    Ok(all)
}

/// Merges the rows with equal keys, by `add`. In the order in which their keys came.
pub(super) fn merged<const K: usize, const N: usize, const A: usize, T: Tables>(
    from: &T,
    input: usize,
    add: impl Fn(&mut Record<K, N, A>, &Record<K, N, A>),
) -> Result<Vec<Record<K, N, A>>, T::Error> {
    let mut keys = Interner::default();
    let mut records: Vec<Record<K, N, A>> = Vec::new();
    each(from, input, |record: Record<K, N, A>| {
        let place = keys.intern(record.key)? as usize;
        match records.get_mut(place) {
            Some(known) => add(known, &record),
            None => records.push(record),
        }
        Ok(())
    })?;
    Ok(records)
}

/// Adds up the rows with equal keys.
pub(super) fn sums<const K: usize, const N: usize, const A: usize, T: Tables>(
    from: &T,
    input: usize,
) -> Result<Vec<Record<K, N, A>>, T::Error> {
    merged(from, input, Record::add)
}

/// The graph of a partition of edges, in rows of this kind.
pub(super) fn graph<const K: usize, const N: usize, const A: usize, T: Tables>(
    from: &T,
    edge: fn(&Record<K, N, A>) -> Result<StoredEdge, SearchError>,
) -> Result<MergedGraph, T::Error> {
    let mut merger = Merger::default();
    let (mut edges, mut of) = (Vec::new(), 0);
    from.read(0, |task, record| {
        // The blocks of a task are after the blocks of earlier tasks. Rows with one number have none.
        if task != of || (N == 1 && edges.len() == EDGES) {
            merger.add_stored(&edges)?;
            edges.clear();
            of = task;
        }
        edges.push(edge(&record)?);
        Ok(())
    })?;
    merger.add_stored(&edges)?;
    Ok(merger.finish()?)
}

/// Addresses and their degrees.
pub(super) type Vertices = (Vec<Address>, Vec<VertexDegrees>);

/// The vertices of a partition.
pub(super) fn vertices<T: Tables>(from: &T) -> Result<Vertices, T::Error> {
    let records: Vec<VertexRecord> = sums(from, 0)?;
    let vertices = records.iter();
    Ok(vertices
        .map(|record| (address(&record.key, 0), record.numbers))
        .unzip())
}

pub(super) fn forest<T: Tables>(from: &T) -> Result<Connected, T::Error> {
    let (mut connected, mut branches) = (Connected::default(), Vec::new());
    each(from, 0, |record: BranchRecord| {
        branches.push(record.branch());
        if branches.len() == ROWS {
            connected.merge(&branches)?;
            branches.clear();
        }
        Ok(())
    })?;
    connected.merge(&branches)?;
    Ok(connected)
}
