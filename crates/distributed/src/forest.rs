//! Components of all transfers, by spanning forests.
//!
//! A task for each chunk of blocks joins the ends of its transfers by union-find, and writes a
//! forest: a branch for each address. Forests are merged in a tree, and the last task returns the
//! components. Each step is a job of one stage, whose tasks depend on nothing but their input,
//! so a task that is repeated writes the same.

use crate::{
    Error, Result,
    parts::{self, PartWriter},
    rows::BATCH_ROWS,
    store::Store,
    wire::{Chunk, Part, Task},
};
use alloy_primitives::{Address, hex};
use datafusion::arrow::{
    array::{
        Array, AsArray, FixedSizeBinaryArray, FixedSizeBinaryBuilder, Int64Array, PrimitiveArray,
        RecordBatch, StringArray, UInt64Array,
    },
    datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type},
};
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use txgraph_analysis::{Branch, Connected};

/// Forests that one task merges.
pub(crate) const FAN_IN: usize = 8;

/// The columns of a forest.
pub(crate) fn forest_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let address = |name| Field::new(name, DataType::FixedSizeBinary(20), false);
        let number = |name| Field::new(name, DataType::UInt64, false);
        Arc::new(Schema::new(vec![
            address("address"),
            address("root"),
            number("transfers"),
            number("first_block"),
            number("last_block"),
        ]))
    });
    SCHEMA.clone()
}

/// The columns of components.
fn components_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        Arc::new(Schema::new(vec![
            Field::new("lowest_address", DataType::Utf8, false),
            Field::new("vertices", DataType::Int64, false),
            Field::new("transfers", DataType::Int64, false),
            Field::new("first_block", DataType::UInt64, true),
            Field::new("last_block", DataType::UInt64, true),
        ]))
    });
    SCHEMA.clone()
}

/// The part of a step that later steps read.
#[derive(Deserialize)]
struct Input {
    chunks: Vec<InputChunk>,
}

#[derive(Deserialize)]
struct InputChunk {
    parts: Vec<Part>,
}

/// Merges the forests of a step that the blocks of a chunk number. Returns the files with the
/// forest, or with the components.
pub(crate) fn merge(task: &Task, chunk: &Chunk, is_last: bool) -> Result<Vec<Part>> {
    let store = Store::shared(&task.run)?;
    let folder = &task.inputs;
    let name = format!("{folder}/{}", parts::STEP_FILE);
    let damaged = |why: &str| Error::run(&store.place(&name), why);
    let json = store
        .read(&name)?
        .ok_or_else(|| damaged("it was deleted"))?;
    let input: Input =
        serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
    let range = usize::try_from(chunk.blocks.first)
        .ok()
        .zip(usize::try_from(chunk.blocks.last).ok());
    let forests = range.and_then(|(first, last)| input.chunks.get(first..=last));
    let mut connected = Connected::default();
    for forest in forests.ok_or_else(|| damaged("it has too few forests"))? {
        for part in &forest.parts {
            for batch in parts::read(&store, folder, part, None)? {
                add(&mut connected, &decode(&batch?)?)?;
            }
        }
    }
    match is_last {
        true => write_components(task, connected),
        false => {
            let mut writer = PartWriter::new(&task.run, &task.step, forest_schema())?;
            write(connected, &mut writer)?;
            writer.finish()
        }
    }
}

fn add(connected: &mut Connected, branches: &[Branch]) -> Result<()> {
    let done = connected.merge(branches);
    done.map_err(|error| Error::Answer(error.to_string()))
}

/// Writes a forest.
pub(crate) fn write(connected: Connected, writer: &mut PartWriter) -> Result<()> {
    let mut branches = connected.into_forest();
    loop {
        let some: Vec<_> = branches.by_ref().take(BATCH_ROWS).collect();
        if some.is_empty() {
            return Ok(());
        }
        writer.write(&encode(&some)?)?;
    }
}

fn encode(branches: &[Branch]) -> Result<RecordBatch> {
    let addresses = |of: fn(&Branch) -> Address| -> Result<Arc<dyn Array>> {
        let mut column = FixedSizeBinaryBuilder::with_capacity(branches.len(), 20);
        for branch in branches {
            column.append_value(of(branch))?;
        }
        Ok(Arc::new(column.finish()))
    };
    let numbers = |of: fn(&Branch) -> u64| -> Arc<dyn Array> {
        Arc::new(UInt64Array::from_iter_values(branches.iter().map(of)))
    };
    let columns = vec![
        addresses(|branch| branch.address)?,
        addresses(|branch| branch.root)?,
        numbers(|branch| branch.transfers),
        numbers(|branch| branch.first_block),
        numbers(|branch| branch.last_block),
    ];
    Ok(RecordBatch::try_new(forest_schema(), columns)?)
}

fn decode(batch: &RecordBatch) -> Result<Vec<Branch>> {
    if batch.schema().fields() != forest_schema().fields() {
        return Err(Error::Answer("a batch is not of a forest".to_owned()));
    }
    let addresses =
        |at: usize| -> &FixedSizeBinaryArray { batch.column(at).as_fixed_size_binary() };
    let numbers = |at: usize| -> &PrimitiveArray<UInt64Type> { batch.column(at).as_primitive() };
    let branch = |row| Branch {
        address: Address::from_slice(addresses(0).value(row)),
        root: Address::from_slice(addresses(1).value(row)),
        transfers: numbers(2).value(row),
        first_block: numbers(3).value(row),
        last_block: numbers(4).value(row),
    };
    Ok((0..batch.num_rows()).map(branch).collect())
}

/// Writes the components, the largest first.
fn write_components(task: &Task, connected: Connected) -> Result<Vec<Part>> {
    let schema = components_schema();
    let mut writer = PartWriter::new(&task.run, &task.step, schema.clone())?;
    let found = connected.finish(&[], None);
    for some in found.components.chunks(BATCH_ROWS) {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let addresses = some
            .iter()
            .map(|one| hex::encode_prefixed(one.lowest_address));
        let columns: Vec<Arc<dyn Array>> = vec![
            Arc::new(StringArray::from_iter_values(addresses)),
            Arc::new(Int64Array::from_iter_values(
                some.iter().map(|one| count(one.vertices)),
            )),
            Arc::new(Int64Array::from_iter_values(
                some.iter().map(|one| count(one.transfers)),
            )),
            Arc::new(
                some.iter()
                    .map(|one| one.first_block)
                    .collect::<UInt64Array>(),
            ),
            Arc::new(
                some.iter()
                    .map(|one| one.last_block)
                    .collect::<UInt64Array>(),
            ),
        ];
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    writer.finish_table()
}
