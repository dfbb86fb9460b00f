//! Measures of all transfers in parts, as a cluster computes them.
//!
//! A measure is a series of steps ([`Stage`]). The tasks of the first read the transfers of a chunk
//! of blocks each ([`ScanTask`]), and write partial results, divided into partitions by a hash. A
//! task of a later step ([`run_task`]) reads its partition of what all tasks wrote, and so has
//! everything about some pairs, addresses or tokens. Results that are small are merged in a tree.
//! Tasks depend on nothing but their input, so a task that is repeated writes the same.
//!
//! [`Measures`] has the steps of each measure. It gets counts, the first rows of an answer, and no
//! others. How steps are done, and where rows are, is behind [`Steps`] and [`Tables`].

mod measures;
mod record;
mod rows;
mod stage;
mod task;
#[cfg(test)]
mod tests;

pub use measures::{Measures, Scanned};
pub use record::Record;
pub use stage::{EdgeRows, Stage};
pub use task::{ScanFacts, ScanTask, run_task};

use serde::{Serialize, de::DeserializeOwned};
use txgraph_graph::SearchError;

/// The tables that a task reads and writes. Those that it writes are numbered, and each has the
/// same number of partitions. A table without a hash is in partition 0.
pub trait Tables {
    /// An error of reading or writing.
    type Error: From<SearchError>;

    /// The number of tables that it reads.
    fn inputs(&self) -> usize;

    /// Passes the rows of a table, with the numbers of the tasks that wrote them: by task, and in the
    /// order in which each wrote them.
    ///
    /// # Errors
    ///
    /// If they cannot be read, or are of another kind, and the errors of `each`.
    fn read<const K: usize, const N: usize, const A: usize>(
        &self,
        input: usize,
        each: impl FnMut(usize, Record<K, N, A>) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Passes the counts of a table.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    fn read_counts<C: DeserializeOwned>(
        &self,
        input: usize,
        each: impl FnMut(C),
    ) -> Result<(), Self::Error>;

    /// The number of partitions.
    fn partitions(&self) -> u32;

    /// The partition of rows with these bytes.
    fn partition(&self, bytes: &[u8]) -> u32;

    /// Writes rows.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn write<const K: usize, const N: usize, const A: usize>(
        &mut self,
        table: u32,
        partition: u32,
        rows: &[Record<K, N, A>],
    ) -> Result<(), Self::Error>;

    /// Writes counts, as the only row of a table.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    fn write_counts(&mut self, table: u32, counts: &impl Serialize) -> Result<(), Self::Error>;

    /// Reports a small result, which is no row of a table.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    fn report(&mut self, facts: &impl Serialize) -> Result<(), Self::Error>;
}

/// Does the steps of a measure.
pub trait Steps {
    /// A finished step.
    type Step: Clone;
    /// An error of a step.
    type Error;

    /// Does the first step: a task for each chunk of the transfers.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn scan(&self, name: &str, stage: &Stage) -> Result<Self::Step, Self::Error>;

    /// Does a step with this number of tasks, which read tables.
    ///
    /// # Errors
    ///
    /// If a task fails.
    fn step(
        &self,
        name: &str,
        stage: &Stage,
        tasks: usize,
        tables: &[Table<'_, Self::Step>],
    ) -> Result<Self::Step, Self::Error>;

    /// Deletes the tables of a step.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn discard(&self, step: &Self::Step) -> Result<(), Self::Error>;

    /// The number of partitions.
    fn partitions(&self) -> usize;

    /// The number of tasks of a step.
    fn tasks(&self, step: &Self::Step) -> usize;

    /// The reports of the tasks of a step.
    ///
    /// # Errors
    ///
    /// If it is of another kind.
    fn facts<F: DeserializeOwned>(&self, step: &Self::Step) -> Result<Vec<F>, Self::Error>;

    /// The counts that the tasks of a step wrote, of its only table.
    ///
    /// # Errors
    ///
    /// As [`Self::rows`].
    fn counts<C: DeserializeOwned>(&self, step: &Self::Step) -> Result<Vec<C>, Self::Error>;

    /// The rows of the first table of a step, for each task.
    ///
    /// # Errors
    ///
    /// If they cannot be read, or are of another kind.
    fn rows<'a, const K: usize, const N: usize, const A: usize>(
        &'a self,
        step: &'a Self::Step,
    ) -> Vec<impl Iterator<Item = Result<Record<K, N, A>, Self::Error>> + 'a>;
}

/// A table of an earlier step, and the part of it that a task reads.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a, S> {
    /// The step.
    pub step: &'a S,
    /// The number of the table.
    pub table: u32,
    /// The part that a task reads.
    pub part: Part,
}

impl<'a, S> Table<'a, S> {
    const fn new(step: &'a S, table: u32, part: Part) -> Self {
        Self { step, table, part }
    }
}

/// The part of a table that a task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The partition with the number of the task.
    Partition,
    /// The rows of this many tasks: the first task reads the first of them.
    Tasks(usize),
}
