//! Transfers as Arrow columns, and back.
//!
//! The columns are as in `docs/schemas.md`, with addresses and amounts as bytes: 20 bytes, and
//! 32 bytes in big-endian order, so that the order of bytes is the order of numbers.

use crate::{Error, Result};
use alloy_primitives::{Address, B256, U256};
use base64::{Engine, prelude::BASE64_STANDARD};
use datafusion::arrow::{
    array::{Array, AsArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch, StringArray},
    datatypes::{ArrowPrimitiveType, DataType, Field, Schema, SchemaRef, UInt32Type, UInt64Type},
    ipc::{
        CompressionType,
        reader::StreamReader,
        writer::{IpcWriteOptions, StreamWriter},
    },
};
use serde::Serialize;
use std::sync::{Arc, LazyLock};
use txgraph::transfer_batch;
/// The table `transfers`.
pub use txgraph::transfer_schema as transfers_schema;
use txgraph_transfers::{BlockTime, Transfer};

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// The one column of messages between driver and tasks, as JSON: chunks and reports.
pub(crate) fn report_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let report = Field::new("report", DataType::Utf8, false);
        Arc::new(Schema::new(vec![report]))
    });
    SCHEMA.clone()
}

/// A batch of [`report_schema`] with one row.
pub(crate) fn encode_report(report: &impl Serialize) -> Result<RecordBatch> {
    let json = serde_json::to_string(report);
    let json = json.map_err(|error| Error::Answer(error.to_string()))?;
    let column = Arc::new(StringArray::from(vec![json]));
    Ok(RecordBatch::try_new(report_schema(), vec![column])?)
}

/// The reports of a batch of [`report_schema`].
pub(crate) fn decode_reports(batch: &RecordBatch) -> Result<Vec<String>> {
    let column = batch
        .columns()
        .first()
        .and_then(|column| column.as_string_opt::<i32>());
    let column = column.ok_or_else(|| Error::Answer("a batch has no reports".to_owned()))?;
    Ok(column.iter().flatten().map(str::to_owned).collect())
}

/// Writes a batch, with its columns.
pub(crate) fn to_ipc(batch: &RecordBatch, to: &mut Vec<u8>) -> Result<()> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
    let mut writer = StreamWriter::try_new_with_options(to, &batch.schema(), options?)?;
    writer.write(batch)?;
    Ok(writer.finish()?)
}

/// Reads a batch, or some of its columns.
pub(crate) fn of_ipc(bytes: &[u8], columns: Option<&[usize]>) -> Result<RecordBatch> {
    let columns = columns.map(<[usize]>::to_vec);
    let batch = StreamReader::try_new(bytes, columns)?.next();
    Ok(batch.ok_or_else(|| Error::Answer("a file has no rows".to_owned()))??)
}

/// Columns as text, for a task.
pub(crate) fn columns_text(columns: SchemaRef) -> Result<String> {
    let mut bytes = Vec::new();
    to_ipc(&RecordBatch::new_empty(columns), &mut bytes)?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// The columns of a text.
pub(crate) fn columns(text: &str) -> Result<SchemaRef> {
    let bytes = BASE64_STANDARD.decode(text);
    let bytes = bytes.map_err(|error| Error::Plan(format!("the columns of a task: {error}")))?;
    Ok(of_ipc(&bytes, None)?.schema())
}

/// Encodes transfers as a batch of [`transfers_schema`], or of some of its columns.
pub(crate) fn encode(transfers: &[Transfer], columns: Option<&[usize]>) -> Result<RecordBatch> {
    let batch = transfer_batch(transfers)?;
    match columns {
        // A count needs no columns, but the number of rows.
        Some(columns) => Ok(batch.project(columns)?),
        None => Ok(batch),
    }
}

/// Decodes a batch of [`transfers_schema`].
pub(crate) fn decode(batch: &RecordBatch) -> Result<Vec<Transfer>> {
    let words = |at: usize| batch.column(at).as_string::<i32>();
    let bytes = |at: usize| batch.column(at).as_fixed_size_binary();
    let (standards, kinds) = (words(11), words(12));
    let mut transfers = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let word = |error: txgraph_base::UnknownWord| Error::Answer(error.to_string());
        let address = |at| fixed::<20>(bytes(at), row).map(|bytes| bytes.map(Address::from));
        let number = |at| fixed::<32>(bytes(at), row).map(|bytes| bytes.map(U256::from_be_bytes));
        let needed = || Error::Answer("a transfer lacks a value".to_owned());
        transfers.push(Transfer {
            block_number: integer::<UInt64Type>(batch, 0, row).ok_or_else(needed)?,
            block_timestamp: time(batch, row)?,
            transaction_index: integer::<UInt32Type>(batch, 2, row).ok_or_else(needed)?,
            log_index: integer::<UInt32Type>(batch, 3, row),
            sub_index: integer::<UInt32Type>(batch, 4, row).ok_or_else(needed)?,
            transaction_hash: fixed::<32>(bytes(5), row)?.map(B256::from),
            token_address: address(6)?,
            from_address: address(7)?.ok_or_else(needed)?,
            to_address: address(8)?.ok_or_else(needed)?,
            value: number(9)?.ok_or_else(needed)?,
            token_id: number(10)?,
            token_standard: standards.value(row).parse().map_err(word)?,
            kind: kinds.value(row).parse().map_err(word)?,
        });
    }
    Ok(transfers)
}

/// The position of a transaction, its hash, and the time of its block.
type HashRow = ((u64, u32), Option<B256>, Option<BlockTime>);

/// The columns of [`decode_hashes`].
pub(crate) const HASH_COLUMNS: [usize; 4] = [0, 1, 2, 5];

/// Decodes [`HASH_COLUMNS`].
pub(crate) fn decode_hashes(batch: &RecordBatch) -> Result<Vec<HashRow>> {
    let hashes = batch.column(3).as_fixed_size_binary();
    let needed = || Error::Answer("a transfer lacks a value".to_owned());
    let row = |row| {
        let block = integer::<UInt64Type>(batch, 0, row).ok_or_else(needed)?;
        let transaction = integer::<UInt32Type>(batch, 2, row).ok_or_else(needed)?;
        let hash = fixed::<32>(hashes, row)?.map(B256::from);
        Ok(((block, transaction), hash, time(batch, row)?))
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The time of a block, from the second column.
fn time(batch: &RecordBatch, row: usize) -> Result<Option<BlockTime>> {
    let time = integer::<UInt64Type>(batch, 1, row).map(|seconds| {
        BlockTime::new(seconds)
            .ok_or_else(|| Error::Answer(format!("{seconds} is not the time of a block")))
    });
    time.transpose()
}

fn integer<T: ArrowPrimitiveType>(batch: &RecordBatch, at: usize, row: usize) -> Option<T::Native> {
    let column: &PrimitiveArray<T> = batch.column(at).as_primitive();
    column.is_valid(row).then(|| column.value(row))
}

fn fixed<const N: usize>(column: &FixedSizeBinaryArray, row: usize) -> Result<Option<[u8; N]>> {
    if column.is_null(row) {
        return Ok(None);
    }
    let value = column.value(row).try_into();
    let value = value.map_err(|_| Error::Answer(format!("a value does not have {N} bytes")))?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_transfers::{Kind, TokenStandard};

    fn transfer(number: u8) -> Transfer {
        let address = Address::repeat_byte;
        Transfer {
            block_number: u64::MAX - u64::from(number),
            block_timestamp: BlockTime::new(0),
            transaction_index: u32::MAX,
            log_index: number.is_multiple_of(2).then_some(u32::from(number)),
            sub_index: 7,
            transaction_hash: number.is_multiple_of(3).then(|| B256::repeat_byte(number)),
            token_address: (!number.is_multiple_of(5)).then(|| address(number)),
            from_address: address(number),
            to_address: address(number + 1),
            value: U256::MAX - U256::from(number),
            token_id: (number == 4).then_some(U256::from(9)),
            token_standard: TokenStandard::ALL[usize::from(number) % TokenStandard::ALL.len()],
            kind: Kind::ALL[usize::from(number) % Kind::ALL.len()],
        }
    }

    #[test]
    fn transfers_and_reports_survive_columns() {
        let transfers: Vec<_> = (0..60).map(transfer).collect();
        let batch = encode(&transfers, None).unwrap();
        assert_eq!(decode(&batch).unwrap(), transfers);
        let mut bytes = Vec::new();
        to_ipc(&batch, &mut bytes).unwrap();
        assert_eq!(of_ipc(&bytes, None).unwrap(), batch);
        let some = of_ipc(&bytes, Some(&HASH_COLUMNS)).unwrap();
        assert_eq!(some, batch.project(&HASH_COLUMNS).unwrap());
        let reports = [encode_report(&1), encode_report(&"two")].map(Result::unwrap);
        let joined =
            datafusion::arrow::compute::concat_batches(&report_schema(), &reports).unwrap();
        assert_eq!(decode_reports(&joined).unwrap(), ["1", "\"two\""]);
    }

    #[test]
    fn a_count_has_no_columns() {
        let batch = encode(&[transfer(1), transfer(2)], Some(&[])).unwrap();
        let mut bytes = Vec::new();
        to_ipc(&batch, &mut bytes).unwrap();
        let batch = of_ipc(&bytes, None).unwrap();
        assert_eq!((batch.num_columns(), batch.num_rows()), (0, 2));
    }

    #[test]
    fn other_columns_are_refused() {
        assert!(decode_reports(&encode(&[transfer(1)], None).unwrap()).is_err());
    }
}
