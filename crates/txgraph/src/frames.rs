//! Answers as data frames of polars. They have the columns that Parquet files have.
//!
//! Answers become arrays of Apache Arrow, and polars takes these through Arrow's C data interface.
//! Numbers, bytes and text are not copied. polars looks at text and bytes through "views" of its
//! own, which take 16 bytes each.

use crate::{
    Analysis, AnalysisFormat, AnalysisOutput, ArrowCollector, ArrowTable, ColumnChoice, Error,
    ErrorKind, GraphOutputs, GraphResult, PreparedTransfers, Result, TableFormat, Target,
    Transfers, TransfersOutput,
};
use crate::{PreparedReplay, ReplayOutput};
use arrow_array::{Array, RecordBatch, ffi::to_ffi, new_empty_array};
use polars::{
    error::{PolarsError, PolarsResult},
    prelude::{ArrayRef, DataFrame, IntoColumn, PlSmallStr, Series},
};
use polars_arrow::ffi;

impl Transfers<'_> {
    /// All transfers as a data frame of polars.
    ///
    /// ```no_run
    /// let source = txgraph::Source::open("/data/reth")?;
    /// let frame = source.transfers().last_blocks(1000).to_polars()?;
    /// println!("{frame}");
    /// # Ok::<(), txgraph::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::for_each`].
    pub fn to_polars(self) -> Result<DataFrame> {
        self.prepare()?.to_polars(&[])
    }
}

impl PreparedTransfers<'_> {
    /// All transfers as a data frame of polars with these columns. Starts again when the chain is
    /// reorganized in the meantime.
    ///
    /// # Errors
    ///
    /// If the columns are wrong, or reading fails.
    pub fn to_polars(&self, columns: &[ColumnChoice]) -> Result<DataFrame> {
        frame(|target| {
            let output = TransfersOutput {
                target,
                format: TableFormat::Ipc,
                more: Vec::new(),
                columns: columns.to_vec(),
                tokens: None,
                labels: None,
                overwrite: false,
            };
            self.write(&output).map(drop)
        })
    }
}

impl GraphResult<'_> {
    /// The edges as a data frame of polars: transfers, with the hop that reached them.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn to_polars(&self) -> Result<DataFrame> {
        self.frame(|target| GraphOutputs {
            files: vec![(TableFormat::Ipc.into(), target)],
            ..GraphOutputs::default()
        })
    }

    /// The edges as a data frame of polars: all transfers of a token from one address to another
    /// are one row.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn merged_to_polars(&self) -> Result<DataFrame> {
        self.frame(|target| GraphOutputs {
            files: vec![(TableFormat::Ipc.into(), target)],
            merge: true,
            ..GraphOutputs::default()
        })
    }

    /// The vertices as a data frame of polars, a row for each address.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn vertices_to_polars(&self) -> Result<DataFrame> {
        self.frame(|target| GraphOutputs {
            vertices: Some((TableFormat::Ipc, target)),
            ..GraphOutputs::default()
        })
    }

    fn frame(&self, outputs: impl FnOnce(Target) -> GraphOutputs) -> Result<DataFrame> {
        frame(|target| {
            let mut done = self.write_all(&outputs(target))?;
            done.failed.pop().map_or(Ok(()), Err)
        })
    }
}

impl Analysis<'_> {
    /// A table by its [id](crate::Table::id) as a data frame of polars; without one, the main
    /// table.
    ///
    /// # Errors
    ///
    /// If the measure has no such table.
    pub fn to_polars(&self, table: Option<&str>) -> Result<DataFrame> {
        frame(|target| {
            let output = AnalysisOutput {
                target,
                format: AnalysisFormat::Table(TableFormat::Ipc),
                table: table.map(str::to_owned),
                overwrite: false,
            };
            self.write(&[output]).map(drop)
        })
    }
}

impl PreparedReplay<'_> {
    /// The table of the replay as a data frame of polars: movements inside transactions, traces,
    /// or balances.
    ///
    /// # Errors
    ///
    /// If reading or replaying fails, or the replay has no table.
    pub fn to_polars(&self) -> Result<DataFrame> {
        frame(|target| {
            let output = ReplayOutput {
                target,
                format: Some(TableFormat::Ipc),
                overwrite: false,
            };
            self.write(&[output]).map(drop)
        })
    }
}

/// The frame of the table that is written.
fn frame(write: impl FnOnce(Target) -> Result<()>) -> Result<DataFrame> {
    let (collector, target) = ArrowCollector::new();
    write(target)?;
    let failed = |text: String| Error::new(ErrorKind::Failed, text);
    let table = collector.take();
    let table = table.ok_or_else(|| failed("the result has no table".to_owned()))?;
    frame_of(&table).map_err(|error| failed(error.to_string()))
}

fn frame_of(table: &ArrowTable) -> PolarsResult<DataFrame> {
    let fields = table.columns.fields().iter().enumerate();
    let columns = fields.map(|(at, field)| {
        let mut chunks: Vec<_> = table
            .batches
            .iter()
            .map(|it| it.column(at).clone())
            .collect();
        if chunks.is_empty() {
            chunks.push(new_empty_array(field.data_type()));
        }
        let chunks = chunks.iter().map(|chunk| import(chunk));
        let chunks = chunks.collect::<PolarsResult<Vec<_>>>()?;
        let name = PlSmallStr::from_str(field.name());
        Ok(Series::try_from((name, chunks))?.into_column())
    });
    let height = table.batches.iter().map(RecordBatch::num_rows).sum();
    DataFrame::new(height, columns.collect::<PolarsResult<_>>()?)
}

/// Hands an array over to polars. Both share its buffers.
#[expect(
    unsafe_code,
    reason = "two crates have structs of their own for Arrow's C data interface"
)]
fn import(array: &dyn Array) -> PolarsResult<ArrayRef> {
    let (array, schema) = to_ffi(&array.to_data())
        .map_err(|error| PolarsError::ComputeError(error.to_string().into()))?;
    // SAFETY: Both structs of each pair are `repr(C)` with exactly the fields of the same struct in
    // Arrow's C data interface. Each is moved, so its `release` is called once. `to_ffi` fills them
    // from a valid array: the schema describes the array, and the buffers live until `release`,
    // which polars calls when it drops the last buffer.
    unsafe {
        let schema: ffi::ArrowSchema = std::mem::transmute(schema);
        let array: ffi::ArrowArray = std::mem::transmute(array);
        let field = ffi::import_field_from_c(&schema)?;
        ffi::import_array_from_c(array, field.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, BooleanArray, LargeBinaryArray, LargeStringArray, UInt64Array};
    use std::sync::Arc;

    const LONG: &str = "a text that does not fit into a view";

    fn table() -> ArrowTable {
        let numbers = UInt64Array::from(vec![Some(1), None, Some(u64::MAX)]);
        let texts = LargeStringArray::from(vec![Some(LONG), Some(""), None]);
        let bytes = LargeBinaryArray::from(vec![None, Some(LONG.as_bytes()), Some(b"x")]);
        let flags = BooleanArray::from(vec![Some(true), None, Some(false)]);
        let columns: [(&str, ArrayRef); 4] = [
            ("number", Arc::new(numbers)),
            ("text", Arc::new(texts)),
            ("bytes", Arc::new(bytes)),
            ("flag", Arc::new(flags)),
        ];
        let columns = columns.map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        ArrowTable {
            columns: batch.schema(),
            batches: vec![batch.clone(), batch.slice(1, 2)],
            metadata: None,
        }
    }

    #[test]
    fn values_and_nulls_arrive_and_outlive_their_table() {
        let table = table();
        let frame = frame_of(&table).unwrap();
        drop(table);
        assert_eq!((frame.height(), frame.width()), (5, 4));
        let numbers = frame.column("number").unwrap().u64().unwrap();
        let all = [Some(1), None, Some(u64::MAX), None, Some(u64::MAX)];
        assert_eq!(numbers.iter().collect::<Vec<_>>(), all);
        let texts = frame.column("text").unwrap().str().unwrap();
        let all = [Some(LONG), Some(""), None, Some(""), None];
        assert_eq!(texts.iter().collect::<Vec<_>>(), all);
        let bytes = frame.column("bytes").unwrap().binary().unwrap();
        let (long, short) = (Some(LONG.as_bytes()), Some(&b"x"[..]));
        let all = [None, long, short, long, short];
        assert_eq!(bytes.iter().collect::<Vec<_>>(), all);
        let flags = frame.column("flag").unwrap().bool().unwrap();
        let all = [Some(true), None, Some(false), None, Some(false)];
        assert_eq!(flags.iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn buffers_are_shared() {
        let table = table();
        let frame = frame_of(&table).unwrap();
        let ours = table.batches[0].column(0).to_data();
        let numbers = frame.column("number").unwrap().u64().unwrap();
        let theirs = numbers.downcast_iter().next().unwrap().values();
        assert_eq!(ours.buffers()[0].as_ptr(), theirs.as_ptr().cast());
        let ours = table.batches[0].column(1).to_data();
        let texts = frame.column("text").unwrap().str().unwrap();
        assert_eq!(ours.buffers()[1].as_ptr(), texts.get(0).unwrap().as_ptr());
    }

    #[test]
    fn an_empty_table_has_columns() {
        let table = ArrowTable {
            batches: Vec::new(),
            ..table()
        };
        let frame = frame_of(&table).unwrap();
        assert_eq!((frame.height(), frame.width()), (0, 4));
        assert_eq!(frame.dtypes(), frame_of(&self::table()).unwrap().dtypes());
    }
}
