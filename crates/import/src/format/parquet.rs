//! Parquet files.

use super::{
    Row, Visit,
    arrow_ipc::Columns,
    piece::{Piece, Place, block_column, wrong_cell},
};
use crate::{Error, Role, cell::Cell, column_role::ROLES, dialect::Slot};
use arrow_array::RecordBatch;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    file::{metadata::RowGroupMetaData, statistics::Statistics},
};
use std::{fs::File, path::Path};
use txgraph_transfers::BlockRange;

/// The rows that are decoded at a time.
const ROWS_PER_BATCH: usize = 8192;

#[derive(Debug)]
pub(crate) struct Parquet {
    metadata: ArrowReaderMetadata,
    pub(super) header: Vec<String>,
}

impl Parquet {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        // Parquet has fewer types than the writer, and they are exact.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        let fields = metadata.schema().fields().iter();
        let header = fields.map(|field| field.name().clone()).collect();
        Ok(Self { metadata, header })
    }

    /// The metadata that txgraph writes into a file.
    pub(crate) fn stated(&self) -> Option<&str> {
        let stated = self.metadata.metadata().file_metadata();
        let mut pairs = stated.key_value_metadata()?.iter();
        pairs.find(|it| it.key == "txgraph")?.value.as_deref()
    }

    /// One piece for each row group, by the statistics of the column of blocks. Without
    /// statistics of whole numbers, the column is read.
    pub(super) fn pieces(&self, path: &Path, slots: &[Slot]) -> Result<Vec<Piece>, Error> {
        self.check_types(path, slots)?;
        let column = block_column(slots);
        let mut pieces = Vec::new();
        let mut first_row = 0;
        for (number, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows())
                .map_err(|_| Error::damaged(path, "a row group has a negative number of rows"))?;
            if rows == 0 {
                continue;
            }
            let mut piece = Piece {
                first_row,
                rows,
                blocks: BlockRange::one(0),
                place: Place::RowGroup(number),
            };
            match self.statistics(group, column) {
                Some(blocks) => piece.blocks = blocks,
                None => piece.blocks = self.blocks_of(path, &piece, column)?,
            }
            first_row += rows;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn statistics(&self, group: &RowGroupMetaData, column: usize) -> Option<BlockRange> {
        // Statistics of other types, such as decimals, are not in the unit of the cells.
        if !self
            .metadata
            .schema()
            .field(column)
            .data_type()
            .is_integer()
        {
            return None;
        }
        let name = self.header.get(column)?;
        let leaf = group
            .columns()
            .iter()
            .find(|leaf| leaf.column_path().parts() == [name.as_str()])?;
        let (first, last) = match leaf.statistics()? {
            // Unsigned numbers have the same bits.
            Statistics::Int32(it) => {
                let number = |it: &i32| u64::from(it.cast_unsigned());
                (number(it.min_opt()?), number(it.max_opt()?))
            }
            Statistics::Int64(it) => (
                u64::try_from(*it.min_opt()?).ok()?,
                u64::try_from(*it.max_opt()?).ok()?,
            ),
            _ => return None,
        };
        BlockRange::new(first, last)
    }

    fn blocks_of(&self, path: &Path, piece: &Piece, column: usize) -> Result<BlockRange, Error> {
        let slots = [(Role::Block, column)];
        let mut blocks: Option<BlockRange> = None;
        self.read(path, piece, &slots, &mut |row| {
            let block = row
                .cell(Role::Block)
                .u64()
                .map_err(|problem| wrong_cell(path, row.number, &self.header[column], problem))?;
            let block = BlockRange::one(block);
            blocks = Some(blocks.map_or(block, |blocks| blocks.hull(&block)));
            Ok(())
        })?;
        blocks.ok_or_else(|| Error::damaged(path, "a row group has no rows"))
    }

    /// Refuses columns of types that no cell has, before rows are read.
    fn check_types(&self, path: &Path, slots: &[Slot]) -> Result<(), Error> {
        for (role, column) in slots {
            let field = self.metadata.schema().field(*column);
            if let Err(problem) = super::arrow_ipc::check(*role, field.data_type()) {
                return Err(Error::damaged(
                    path,
                    format_args!("column {}: {problem}", field.name()),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn read(
        &self,
        path: &Path,
        piece: &Piece,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let Place::RowGroup(group) = piece.place else {
            return Ok(());
        };
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let mut reader = guarded(path, || {
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let columns = slots.iter().map(|(_, column)| *column);
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
            let builder = builder.with_projection(mask).with_row_groups(vec![group]);
            builder.with_batch_size(ROWS_PER_BATCH).build()
        })?;
        let mut number = piece.first_row;
        while let Some(batch) = guarded(path, || reader.next().transpose())? {
            self.visit_batch(path, &batch, number, slots, visit)?;
            number += batch.num_rows() as u64;
        }
        match number - piece.first_row == piece.rows {
            true => Ok(()),
            false => Err(Error::damaged(
                path,
                "a row group has fewer rows than its metadata states",
            )),
        }
    }

    fn visit_batch(
        &self,
        path: &Path,
        batch: &RecordBatch,
        first_row: u64,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let columns = Columns::of(batch, slots, &self.header)
            .map_err(|problem| Error::damaged(path, problem))?;
        let mut cells = [Cell::Null; ROLES];
        for row in 0..batch.num_rows() {
            let number = first_row + row as u64;
            columns.fill(row, &mut cells).map_err(|(role, problem)| {
                let slot = slots.iter().find(|(known, _)| *known == role);
                let column = slot.map_or("", |(_, column)| self.header[*column].as_str());
                wrong_cell(path, number, column, problem)
            })?;
            visit(&Row::new(number, &cells))?;
        }
        Ok(())
    }
}

/// Runs code of the Parquet library. It panics on some damaged files instead of returning an
/// error.
fn guarded<T, E: std::fmt::Display>(
    path: &Path,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, Error> {
    let read = std::panic::AssertUnwindSafe(read);
    match std::panic::catch_unwind(read) {
        Ok(result) => result.map_err(|error| Error::damaged(path, error)),
        Err(_) => Err(Error::damaged(path, "the Parquet file is damaged")),
    }
}
