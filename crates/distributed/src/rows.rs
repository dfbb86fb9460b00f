//! Transfers as Arrow columns, and back.
//!
//! The columns are as in `docs/schemas.md`, with addresses and amounts as bytes: 20 bytes, and
//! 32 bytes in big-endian order, so that the order of bytes is the order of numbers.

use crate::{Error, Result};
use alloy_primitives::{Address, B256, U256};
use datafusion::arrow::{
    array::{
        Array, AsArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch, StringArray,
        new_null_array,
    },
    datatypes::{ArrowPrimitiveType, DataType, Field, Schema, SchemaRef, UInt32Type, UInt64Type},
};
use std::sync::{Arc, LazyLock};
use txgraph::transfer_batch;
/// The table `transfers`.
pub use txgraph::transfer_schema as transfers_schema;
use txgraph_transfers::{BlockTime, Transfer};

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// The name of the column with reports.
const REPORT: &str = "report";

/// The columns of a scan: transfers, or a report in the last column.
pub(crate) fn scan_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let transfers = transfers_schema();
        let nullable = transfers.fields().iter();
        let nullable = nullable.map(|field| field.as_ref().clone().with_nullable(true));
        let report = Field::new(REPORT, DataType::Utf8, true);
        Arc::new(Schema::new(nullable.chain([report]).collect::<Vec<_>>()))
    });
    SCHEMA.clone()
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

/// Encodes transfers as a batch of [`scan_schema`].
pub(crate) fn encode_scan(transfers: &[Transfer]) -> Result<RecordBatch> {
    let mut columns = encode(transfers, None)?.columns().to_vec();
    columns.push(new_null_array(&DataType::Utf8, transfers.len()));
    Ok(RecordBatch::try_new(scan_schema(), columns)?)
}

/// A batch of [`scan_schema`] with one row: a report, or another text.
pub(crate) fn encode_report(text: String) -> Result<RecordBatch> {
    let schema = scan_schema();
    let transfers = transfers_schema();
    let columns = transfers.fields().iter();
    let mut columns: Vec<_> = columns
        .map(|field| new_null_array(field.data_type(), 1))
        .collect();
    columns.push(Arc::new(StringArray::from(vec![text])));
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// A part of a batch of [`scan_schema`].
pub(crate) enum Scanned {
    /// A batch of [`transfers_schema`], in total order.
    Transfers(RecordBatch),
    /// A report.
    Report(String),
}

/// Divides a batch of [`scan_schema`].
pub(crate) fn split_scan(batch: &RecordBatch) -> Result<Vec<Scanned>> {
    let (ours, theirs) = (scan_schema(), batch.schema());
    let kinds = |schema: &SchemaRef| {
        let fields = schema.fields().iter();
        fields
            .map(|field| field.data_type().clone())
            .collect::<Vec<_>>()
    };
    if kinds(&ours) != kinds(&theirs) {
        return Err(Error::Answer(
            "a batch has other columns than a scan".to_owned(),
        ));
    }
    let last = batch.num_columns() - 1;
    let reports = batch.column(last).as_string::<i32>();
    let transfers = |first: usize, rows: usize| {
        let columns = batch.columns()[..last].iter();
        let columns = columns.map(|column| column.slice(first, rows)).collect();
        // Fails if a column that must have values has none.
        RecordBatch::try_new(transfers_schema(), columns).map(Scanned::Transfers)
    };
    let mut parts = Vec::new();
    let mut first = 0;
    // Engines may join small batches, so a report may be in the middle.
    for row in 0..batch.num_rows() {
        if reports.is_valid(row) {
            if row > first {
                parts.push(transfers(first, row - first)?);
            }
            parts.push(Scanned::Report(reports.value(row).to_owned()));
            first = row + 1;
        }
    }
    if batch.num_rows() > first {
        parts.push(transfers(first, batch.num_rows() - first)?);
    }
    Ok(parts)
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
        let time = integer::<UInt64Type>(batch, 1, row).map(|seconds| {
            BlockTime::new(seconds)
                .ok_or_else(|| Error::Answer(format!("{seconds} is not the time of a block")))
        });
        transfers.push(Transfer {
            block_number: integer::<UInt64Type>(batch, 0, row).ok_or_else(needed)?,
            block_timestamp: time.transpose()?,
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
        let batch = encode_scan(&transfers).unwrap();
        let report = encode_report("{}".to_owned()).unwrap();
        let schema = scan_schema();
        let joined = [&report, &batch, &report, &batch];
        let joined = datafusion::arrow::compute::concat_batches(&schema, joined).unwrap();
        let mut read = Vec::new();
        let mut reports = 0;
        for part in split_scan(&joined).unwrap() {
            match part {
                Scanned::Transfers(part) => read.extend(decode(&part).unwrap()),
                Scanned::Report(text) => {
                    assert_eq!(text, "{}");
                    reports += 1;
                }
            }
        }
        assert_eq!(reports, 2);
        assert_eq!(read, [transfers.clone(), transfers].concat());
    }

    #[test]
    fn a_count_has_no_columns() {
        let batch = encode(&[transfer(1), transfer(2)], Some(&[])).unwrap();
        assert_eq!((batch.num_columns(), batch.num_rows()), (0, 2));
    }

    #[test]
    fn other_columns_are_refused() {
        assert!(split_scan(&encode(&[transfer(1)], None).unwrap()).is_err());
    }
}
