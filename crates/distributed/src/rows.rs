//! Transfers as Arrow columns, and as rows of few bytes.
//!
//! The columns are as in `docs/schemas.md`, with addresses and amounts as bytes: 20 bytes, and
//! 32 bytes in big-endian order, so that the order of bytes is the order of numbers.

use crate::{Error, Result};
use alloy_primitives::{Address, B256, U256};
use base64::{Engine, prelude::BASE64_STANDARD};
use datafusion::arrow::{
    array::{AsArray, RecordBatch, StringArray},
    datatypes::{DataType, Field, Schema, SchemaRef},
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
use txgraph_analysis::partitioned::Record;
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer};

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

/// Reads a batch.
pub(crate) fn of_ipc(bytes: &[u8]) -> Result<RecordBatch> {
    let batch = StreamReader::try_new(bytes, None)?.next();
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
    Ok(of_ipc(&bytes)?.schema())
}

/// Encodes transfers as a batch of these columns of [`transfers_schema`]. A count needs none.
pub(crate) fn encode(transfers: &[Transfer], columns: &[usize]) -> Result<RecordBatch> {
    Ok(transfer_batch(transfers)?.project(columns)?)
}

/// A transfer in few bytes, for rows that only the driver reads: standard, kind, whether it has a token and a
/// hash, these, sender and receiver; block, its time, transaction, log and place in it; amount and id of
/// the token. A number that may be missing is one higher.
pub(crate) type TransferRecord = Record<96, 5, 2>;

/// Encodes a transfer.
pub(crate) fn to_record(transfer: &Transfer) -> TransferRecord {
    let (token, hash) = (transfer.token_address, transfer.transaction_hash);
    let mut key = [transfer.token_standard as u8; 96];
    key[1..4].copy_from_slice(&[
        transfer.kind as u8,
        u8::from(token.is_some()),
        u8::from(hash.is_some()),
    ]);
    key[4..24].copy_from_slice(token.unwrap_or_default().as_slice());
    key[24..56].copy_from_slice(hash.unwrap_or_default().as_slice());
    key[56..76].copy_from_slice(transfer.from_address.as_slice());
    key[76..].copy_from_slice(transfer.to_address.as_slice());
    let known = |number: Option<u64>| number.map_or(0, |number| number + 1);
    let id = transfer.token_id.map(|id| widen(id) + AmountSum::from(1));
    Record {
        key,
        numbers: [
            transfer.block_number,
            known(transfer.block_timestamp.map(BlockTime::seconds)),
            transfer.transaction_index.into(),
            known(transfer.log_index.map(u64::from)),
            transfer.sub_index.into(),
        ],
        amounts: [widen(transfer.value), id.unwrap_or_default()],
    }
}

/// Decodes a transfer.
pub(crate) fn of_record(record: &TransferRecord) -> Result<Transfer> {
    let other = || Error::Answer("a file has no transfer".to_owned());
    let [standard, kind, has_token, has_hash, ..] = record.key;
    let address = |at: usize| Address::from_slice(&record.key[at..at + 20]);
    let number = |number: u64| u32::try_from(number).map_err(|_| other());
    let amount = |amount: AmountSum| {
        U256::try_from_le_slice(&amount.as_le_bytes_trimmed()).ok_or_else(other)
    };
    let [block_number, seconds, transaction, log, place] = record.numbers;
    let [value, id] = record.amounts;
    let time = |seconds| BlockTime::new(seconds).ok_or_else(other);
    Ok(Transfer {
        block_number,
        block_timestamp: seconds.checked_sub(1).map(time).transpose()?,
        transaction_index: number(transaction)?,
        log_index: log.checked_sub(1).map(number).transpose()?,
        sub_index: number(place)?,
        transaction_hash: (has_hash == 1).then(|| B256::from_slice(&record.key[24..56])),
        token_address: (has_token == 1).then(|| address(4)),
        from_address: address(56),
        to_address: address(76),
        value: amount(value)?,
        token_id: id.checked_sub(AmountSum::from(1)).map(amount).transpose()?,
        token_standard: *TokenStandard::ALL
            .get(usize::from(standard))
            .ok_or_else(other)?,
        kind: *Kind::ALL.get(usize::from(kind)).ok_or_else(other)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            token_id: (number == 4).then_some(U256::MAX),
            token_standard: TokenStandard::ALL[usize::from(number) % TokenStandard::ALL.len()],
            kind: Kind::ALL[usize::from(number) % Kind::ALL.len()],
        }
    }

    #[test]
    fn transfers_and_reports_survive_rows() {
        let transfers: Vec<_> = (0..60).map(transfer).collect();
        for transfer in &transfers {
            let mut record = to_record(transfer);
            assert_eq!(&of_record(&record).unwrap(), transfer);
            record.amounts[0] = AmountSum::MAX;
            assert!(of_record(&record).is_err());
        }
        let batch = encode(&transfers, &[3, 1]).unwrap();
        let mut bytes = Vec::new();
        to_ipc(&batch, &mut bytes).unwrap();
        assert_eq!(of_ipc(&bytes).unwrap(), batch);
        let reports = [encode_report(&1), encode_report(&"two")].map(Result::unwrap);
        let joined =
            datafusion::arrow::compute::concat_batches(&report_schema(), &reports).unwrap();
        assert_eq!(decode_reports(&joined).unwrap(), ["1", "\"two\""]);
    }

    #[test]
    fn a_count_has_no_columns() {
        let batch = encode(&[transfer(1), transfer(2)], &[]).unwrap();
        let mut bytes = Vec::new();
        to_ipc(&batch, &mut bytes).unwrap();
        let batch = of_ipc(&bytes).unwrap();
        assert_eq!((batch.num_columns(), batch.num_rows()), (0, 2));
    }

    #[test]
    fn other_columns_are_refused() {
        assert!(decode_reports(&encode(&[transfer(1)], &[0]).unwrap()).is_err());
    }
}
