//! The tables that the tasks of measures read and write ([`txgraph_analysis::partitioned`]).
//!
//! The files of a task have sections for each partition of each table. A section has rows in as few bytes
//! as they need, because each edge of a chain is written and read once or twice. It begins with
//! three bytes, the lengths of a [`Record`], or zeros before counts as JSON. A row is
//!
//! ```text
//! bytes that its key has in common with the key before, and the others
//! for each number and amount: a length and its bytes, the lowest first
//! ```

use crate::{
    Error, Result,
    parts::{self, PartWriter},
    store::Store,
    wire::{Chunk, ChunkReport, Earlier, Task, Written},
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
/// The beginning of a section with counts.
const COUNTS: [u8; 3] = [0; 3];

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
pub(crate) struct EarlierStep {
    pub(crate) chunks: Vec<ChunkReport>,
}

/// The reports of the tasks of a step.
pub(crate) fn earlier(store: &Store, of: &Earlier) -> Result<Arc<EarlierStep>> {
    type Kept = ((PathBuf, String), Arc<EarlierStep>);
    static LAST: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let name = format!("{}/{}", of.folder, parts::STEP_FILE);
    let place = store.place(&name);
    let key = (place.clone(), of.job.clone());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, step)) = last.iter().find(|(known, _)| *known == key) {
        return Ok(step.clone());
    }
    let json = store.read(&name)?;
    let json = json.ok_or_else(|| Error::run(&place, "it was deleted"))?;
    let step = serde_json::from_slice::<EarlierStep>(&json);
    let step = Arc::new(step.map_err(|error| Error::run(&place, error.to_string()))?);
    last.truncate(STEPS_KEPT - 1);
    last.insert(0, (key, step.clone()));
    Ok(step)
}

impl<'a> TaskTables<'a> {
    pub(crate) fn new(task: &'a Task, chunk: &'a Chunk) -> Result<Self> {
        Ok(Self {
            task,
            chunk,
            store: Store::shared(&task.run)?,
            writer: PartWriter::new(&task.run, &task.step)?,
            facts: serde_json::Value::Null,
        })
    }

    /// Called whenever the task read something.
    pub(crate) fn beat(&mut self) {
        self.writer.beat();
    }

    pub(crate) fn finish(self) -> Result<Written> {
        Ok((self.writer.finish()?, self.facts))
    }

    /// Passes the sections of an input, with the numbers of the tasks that wrote them.
    pub(crate) fn sections(
        &self,
        input: usize,
        mut each: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let few = || Error::Plan("a task of a measure lacks an input".to_owned());
        let input = self.task.inputs.get(input).ok_or_else(few)?;
        let step = earlier(&self.store, input)?;
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
                let wanted = sections.clone();
                for section in parts::read(&self.store, &input.folder, part, wanted)? {
                    each(number, &section?)?;
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
        mut each: impl FnMut(usize, Record<K, N, A>) -> Result<()>,
    ) -> Result<()> {
        self.sections(input, |task, section| {
            each_row(section, |record| each(task, record))
        })
    }

    fn read_counts<C: DeserializeOwned>(
        &self,
        input: usize,
        mut each: impl FnMut(C),
    ) -> Result<()> {
        self.sections(input, |_, section| {
            each(decode_counts(section)?);
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
        write(&mut self.writer, section, rows)
    }

    fn write_counts(&mut self, table: u32, counts: &impl Serialize) -> Result<()> {
        let section = sections(table, self.task.partitions).start;
        self.writer.write(section, 1, |to| {
            to.extend(COUNTS);
            serde_json::to_writer(to, counts).map_err(|error| Error::Answer(error.to_string()))
        })
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

/// The beginning of a section with rows.
fn kind<const K: usize, const N: usize, const A: usize>() -> [u8; 3] {
    [K, N, A].map(low_byte)
}

/// A length of less than 256.
const fn low_byte(length: usize) -> u8 {
    length.to_le_bytes()[0]
}

/// Writes rows as a section, if there are any.
pub(crate) fn write<const K: usize, const N: usize, const A: usize>(
    to: &mut PartWriter,
    section: u32,
    rows: &[Record<K, N, A>],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    to.write(section, rows.len(), |to| {
        encode(rows, to);
        Ok(())
    })
}

fn encode<const K: usize, const N: usize, const A: usize>(
    rows: &[Record<K, N, A>],
    to: &mut Vec<u8>,
) {
    to.extend(kind::<K, N, A>());
    let mut before = [0; K];
    for row in rows {
        let common = row.key.iter().zip(&before);
        let common = common.take_while(|(ours, theirs)| ours == theirs).count();
        to.push(low_byte(common));
        to.extend_from_slice(&row.key[common..]);
        before = row.key;
        for number in row.numbers {
            let length = (u64::BITS - number.leading_zeros()).div_ceil(8);
            put(to, number.to_le_bytes(), length as usize);
        }
        for amount in row.amounts {
            put(to, amount.to_le_bytes::<40>(), amount.byte_len());
        }
    }
}

/// Writes a number of this length. A copy of constant length takes less time.
fn put<const L: usize>(to: &mut Vec<u8>, bytes: [u8; L], length: usize) {
    to.push(low_byte(length));
    let end = to.len() + length;
    to.extend_from_slice(&bytes);
    to.truncate(end);
}

/// Reads a length and that number of bytes.
fn take<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_first()?;
    let (bytes, rest) = rest.split_at_checked(usize::from(*length))?;
    *from = rest;
    Some(bytes)
}

/// Passes the rows of a section.
pub(crate) fn each_row<const K: usize, const N: usize, const A: usize>(
    section: &[u8],
    mut each: impl FnMut(Record<K, N, A>) -> Result<()>,
) -> Result<()> {
    let other = || Error::Answer("a file has rows of another kind".to_owned());
    let mut from = section.strip_prefix(&kind::<K, N, A>()).ok_or_else(other)?;
    let mut key = [0; K];
    while !from.is_empty() {
        each(decode_row(&mut key, &mut from).ok_or_else(other)?)?;
    }
    Ok(())
}

/// The rows of a section.
pub(crate) fn decode<const K: usize, const N: usize, const A: usize>(
    section: &[u8],
) -> Result<Vec<Record<K, N, A>>> {
    let mut rows = Vec::new();
    each_row(section, |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// Reads a row. `key` is the key of the one before.
fn decode_row<const K: usize, const N: usize, const A: usize>(
    key: &mut [u8; K],
    from: &mut &[u8],
) -> Option<Record<K, N, A>> {
    let (common, rest) = from.split_first()?;
    let others = key.get_mut(usize::from(*common)..)?;
    let (bytes, rest) = rest.split_at_checked(others.len())?;
    others.copy_from_slice(bytes);
    *from = rest;
    let (mut numbers, mut amounts) = ([0; N], [AmountSum::ZERO; A]);
    for number in &mut numbers {
        let mut all = [0; 8];
        let bytes = take(from)?;
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        *number = u64::from_le_bytes(all);
    }
    for amount in &mut amounts {
        *amount = AmountSum::try_from_le_slice(take(from)?)?;
    }
    Some(Record {
        key: *key,
        numbers,
        amounts,
    })
}

/// The counts of a section.
pub(crate) fn decode_counts<C: DeserializeOwned>(section: &[u8]) -> Result<C> {
    let other = || Error::Answer("a file has no counts".to_owned());
    let json = section.strip_prefix(&COUNTS).ok_or_else(other)?;
    serde_json::from_slice(json).map_err(|error| Error::Answer(format!("counts: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_sections() {
        let row = |number: u8| Record {
            key: std::array::from_fn(|at| if at < 20 { number / 2 } else { number }),
            numbers: [u64::MAX, u64::from(number) << 16],
            amounts: [
                AmountSum::MAX - AmountSum::from(number),
                AmountSum::from(number),
            ],
        };
        let rows: Vec<_> = (0..6).map(row).collect();
        let mut section = Vec::new();
        encode(&rows, &mut section);
        assert_eq!(decode::<21, 2, 2>(&section).unwrap(), rows);
        assert!(decode::<20, 2, 2>(&section).is_err());
        assert!(decode::<21, 1, 2>(&section).is_err());
        assert!(decode::<21, 2, 2>(&section[..section.len() - 1]).is_err());
        assert!(decode_counts::<u64>(&section).is_err());
        assert_eq!((sections(0, 3), sections(2, 3)), (0..3, 6..9));
    }
}
