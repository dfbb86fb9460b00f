//! The tables that the tasks of measures read and write ([`txgraph_analysis::partitioned`]).
//!
//! The files of a task have a section for each partition of each table.

use crate::{
    Error, Result,
    parts::{self, PartWriter},
    rows,
    store::Store,
    wire::{Chunk, Part, Task, Written},
};
use datafusion::arrow::{
    array::{ArrayRef, AsArray, FixedSizeBinaryArray, RecordBatch, UInt64Array},
    datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_analysis::partitioned::{Record, Tables};
use txgraph_graph::{AmountSum, SearchError};

/// Steps whose lists of files stay in memory, for other tasks.
const STEPS_KEPT: usize = 4;
/// The bytes of an amount.
const AMOUNT: usize = 40;

/// The tables of a task.
pub(crate) struct TaskTables<'a> {
    task: &'a Task,
    chunk: &'a Chunk,
    store: Arc<Store>,
    writer: PartWriter,
    facts: serde_json::Value,
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        Self::Answer(error.to_string())
    }
}

/// The part of a step that later steps read.
#[derive(Deserialize)]
struct EarlierStep {
    chunks: Vec<EarlierChunk>,
}

#[derive(Deserialize)]
struct EarlierChunk {
    parts: Vec<Part>,
}

impl<'a> TaskTables<'a> {
    pub(crate) fn new(task: &'a Task, chunk: &'a Chunk) -> Result<Self> {
        Ok(Self {
            task,
            chunk,
            store: Store::shared(&task.run)?,
            writer: PartWriter::new(&task.run, &task.step, rows::report_schema())?,
            facts: serde_json::Value::Null,
        })
    }

    /// Called whenever the task read something.
    pub(crate) fn beat(&mut self) {
        self.writer.beat();
    }

    pub(crate) fn finish(self) -> Result<Written> {
        Ok(Written {
            parts: self.writer.finish()?,
            facts: self.facts,
        })
    }

    /// The files of the tasks of a step.
    fn earlier(&self, folder: &str) -> Result<Arc<EarlierStep>> {
        static LAST: Mutex<Vec<(PathBuf, Arc<EarlierStep>)>> = Mutex::new(Vec::new());
        let name = format!("{folder}/{}", parts::STEP_FILE);
        let place = self.store.place(&name);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, step)) = last.iter().find(|(known, _)| *known == place) {
            return Ok(step.clone());
        }
        let json = self.store.read(&name)?;
        let json = json.ok_or_else(|| Error::run(&place, "it was deleted"))?;
        let step = serde_json::from_slice::<EarlierStep>(&json);
        let step = Arc::new(step.map_err(|error| Error::run(&place, error.to_string()))?);
        last.truncate(STEPS_KEPT - 1);
        last.insert(0, (place, step.clone()));
        Ok(step)
    }

    /// Passes the batches of an input, with the numbers of the tasks that wrote them.
    fn batches(
        &self,
        input: usize,
        mut each: impl FnMut(usize, &RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let few = || Error::Plan("a task of a measure lacks an input".to_owned());
        let input = self.task.inputs.get(input).ok_or_else(few)?;
        let step = self.earlier(&input.folder)?;
        let [first, last] = [self.chunk.blocks.first, self.chunk.blocks.last].map(usize::try_from);
        let (first, last) = first.ok().zip(last.ok()).ok_or_else(few)?;
        let all = sections(input.table, self.task.partitions);
        let (tasks, sections) = match input.of_tasks {
            true => (first..last + 1, all),
            false => {
                let section = all.start + u32::try_from(first).map_err(|_| few())?;
                (0..step.chunks.len(), section..section + 1)
            }
        };
        let chunks = step.chunks.get(tasks.clone()).ok_or_else(few)?;
        for (number, chunk) in tasks.zip(chunks) {
            for part in &chunk.parts {
                let rows = parts::read(&self.store, &input.folder, part, sections.clone(), None)?;
                for batch in rows {
                    each(number, &batch?)?;
                }
            }
        }
        Ok(())
    }
}

impl Tables for TaskTables<'_> {
    type Error = Error;

    fn inputs(&self) -> usize {
        self.task.inputs.len()
    }

    fn read<const K: usize, const N: usize, const A: usize>(
        &self,
        input: usize,
        mut each: impl FnMut(usize, Vec<Record<K, N, A>>) -> Result<()>,
    ) -> Result<()> {
        self.batches(input, |task, batch| each(task, decode(batch)?))
    }

    fn read_counts<C: DeserializeOwned>(
        &self,
        input: usize,
        mut each: impl FnMut(C),
    ) -> Result<()> {
        self.batches(input, |_, batch| {
            decode_counts(batch)?.into_iter().for_each(&mut each);
            Ok(())
        })
    }

    fn partitions(&self) -> u32 {
        self.task.partitions.max(1)
    }

    fn partition(&self, bytes: &[u8]) -> u32 {
        crc32fast::hash(bytes) % self.partitions()
    }

    fn write<const K: usize, const N: usize, const A: usize>(
        &mut self,
        table: u32,
        partition: u32,
        rows: &[Record<K, N, A>],
    ) -> Result<()> {
        let section = sections(table, self.task.partitions).start + partition;
        self.writer.write_section(section, &encode(rows)?)
    }

    fn write_counts(&mut self, table: u32, counts: &impl Serialize) -> Result<()> {
        let section = sections(table, self.task.partitions).start;
        self.writer
            .write_section(section, &rows::encode_report(counts)?)
    }

    fn report(&mut self, facts: &impl Serialize) -> Result<()> {
        let facts = serde_json::to_value(facts);
        self.facts = facts.map_err(|error| Error::Answer(error.to_string()))?;
        Ok(())
    }
}

/// The sections of a table: one for each partition.
fn sections(table: u32, partitions: u32) -> Range<u32> {
    let partitions = partitions.max(1);
    table * partitions..(table + 1) * partitions
}

/// The columns of rows.
fn schema<const K: usize, const N: usize, const A: usize>() -> SchemaRef {
    let bytes = |name, size| {
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        Field::new(name, DataType::FixedSizeBinary(size), false)
    };
    let mut columns = vec![bytes("key".to_owned(), K)];
    columns.extend((0..N).map(|at| Field::new(format!("number_{at}"), DataType::UInt64, false)));
    columns.extend((0..A).map(|at| bytes(format!("amount_{at}"), AMOUNT)));
    Arc::new(Schema::new(columns))
}

fn encode<const K: usize, const N: usize, const A: usize>(
    rows: &[Record<K, N, A>],
) -> Result<RecordBatch> {
    let mut columns = vec![bytes(rows.iter().map(|row| row.key))?];
    for at in 0..N {
        let numbers = rows.iter().map(|row| row.numbers[at]);
        columns.push(Arc::new(UInt64Array::from_iter_values(numbers)));
    }
    for at in 0..A {
        let amounts = rows.iter().map(|row| row.amounts[at]);
        columns.push(bytes(amounts.map(|amount| amount.to_be_bytes::<AMOUNT>()))?);
    }
    Ok(RecordBatch::try_new(schema::<K, N, A>(), columns)?)
}

/// A column of bytes.
fn bytes<const S: usize>(values: impl Iterator<Item = [u8; S]>) -> Result<ArrayRef> {
    let size = i32::try_from(S).unwrap_or(i32::MAX);
    let bytes: Vec<u8> = values.flatten().collect();
    Ok(Arc::new(FixedSizeBinaryArray::try_new(
        size,
        bytes.into(),
        None,
    )?))
}

pub(crate) fn decode<const K: usize, const N: usize, const A: usize>(
    batch: &RecordBatch,
) -> Result<Vec<Record<K, N, A>>> {
    let other = || Error::Answer("a file has rows of another kind".to_owned());
    if batch.schema().fields() != schema::<K, N, A>().fields() {
        return Err(other());
    }
    let bytes = |at: usize| batch.column(at).as_fixed_size_binary();
    let keys = bytes(0);
    let numbers: [_; N] =
        std::array::from_fn(|at| batch.column(1 + at).as_primitive::<UInt64Type>());
    let amounts: [_; A] = std::array::from_fn(|at| bytes(1 + N + at));
    let row = |row| {
        Ok(Record {
            key: keys.value(row).try_into().map_err(|_| other())?,
            numbers: numbers.map(|column| column.value(row)),
            amounts: amounts.map(|column| AmountSum::from_be_slice(column.value(row))),
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

pub(crate) fn decode_counts<C: DeserializeOwned>(batch: &RecordBatch) -> Result<Vec<C>> {
    let counts = rows::decode_reports(batch)?;
    let counts: Result<_, _> = counts
        .iter()
        .map(|json| serde_json::from_str(json))
        .collect();
    counts.map_err(|error| Error::Answer(format!("counts: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_columns() {
        let row = |number: u8| Record {
            key: [number; 21],
            numbers: [u64::MAX, u64::from(number)],
            amounts: [AmountSum::MAX - AmountSum::from(number)],
        };
        let rows: Vec<_> = (0..4).map(row).collect();
        let batch = encode(&rows).unwrap();
        assert_eq!(decode::<21, 2, 1>(&batch).unwrap(), rows);
        assert!(decode::<20, 2, 1>(&batch).is_err());
        assert!(decode::<21, 1, 1>(&batch).is_err());
        assert_eq!((sections(0, 3), sections(2, 3)), (0..3, 6..9));
    }
}
