//! Reads one file of a partition: columns of chosen rows, and rows by key through the page
//! index and bloom filters.

use crate::{
    checksummed_file::CheckedFile,
    error::{Error, Result, damaged},
    schema::Table,
};
use alloy_primitives::Address;
use arrow_array::{Array, RecordBatch, cast::AsArray, types};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder, RowSelection,
        },
    },
    basic::{Compression, Encoding},
    bloom_filter::Sbbf,
    file::{
        metadata::{ColumnChunkMetaData, PageIndexPolicy},
        page_index::{column_index::ColumnIndexMetaData, offset_index::PageLocation},
    },
};
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

const BATCH_ROWS: usize = 1 << 13;

/// The maximum number of keys of a row group for which its bloom filter is read. With more, a
/// large part of its pages is read anyway.
const BLOOM_KEYS_MAX: usize = 16;

/// The largest distance of rows that are read together by position.
const ROWS_TOGETHER: usize = 1 << 6;

/// An open file of a partition.
#[derive(Debug)]
pub(crate) struct TableFile {
    file: CheckedFile,
    table: Table,
    metadata: ArrowReaderMetadata,
}

/// A type of key by which rows are found.
pub(crate) trait Key: Copy + Ord {
    /// The smallest and the largest key of a page.
    fn page(index: &ColumnIndexMetaData, page: usize) -> Option<(Self, Self)>;
    /// Whether a bloom filter excludes the key.
    fn is_absent(self, bloom: &Sbbf) -> bool;
}

impl Key for u64 {
    fn page(index: &ColumnIndexMetaData, page: usize) -> Option<(Self, Self)> {
        let ColumnIndexMetaData::INT64(index) = index else {
            return None;
        };
        let (min, max) = (index.min_value(page)?, index.max_value(page)?);
        Some((min.cast_unsigned(), max.cast_unsigned()))
    }

    fn is_absent(self, bloom: &Sbbf) -> bool {
        !bloom.check(&self.cast_signed())
    }
}

impl Key for Address {
    fn page(index: &ColumnIndexMetaData, page: usize) -> Option<(Self, Self)> {
        let ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) = index else {
            return None;
        };
        let address = |bytes: &[u8]| Self::try_from(bytes).ok();
        Some((
            address(index.min_value(page)?)?,
            address(index.max_value(page)?)?,
        ))
    }

    fn is_absent(self, bloom: &Sbbf) -> bool {
        !bloom.check(self.as_slice())
    }
}

impl TableFile {
    /// Opens a file and checks that it has the columns of the table.
    pub(crate) fn open(file: CheckedFile, table: Table, rows: u64) -> Result<Self> {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = guarded(file.path(), || {
            ArrowReaderMetadata::load(&file, options).map_err(|error| file.failure(&error))
        })?;
        let damaged = |what: String| Err(damaged(file.path(), what));
        let expected = table.schema();
        let found = metadata.schema();
        for column in expected.fields() {
            match found.field_with_name(column.name()) {
                Ok(field) if field.data_type() == column.data_type() => {}
                Ok(field) => {
                    return damaged(format!(
                        "column `{}` has the type {} instead of {}",
                        column.name(),
                        field.data_type(),
                        column.data_type()
                    ));
                }
                Err(_) => return damaged(format!("it has no column `{}`", column.name())),
            }
        }
        let file_rows = metadata.metadata().file_metadata().num_rows();
        if u64::try_from(file_rows) != Ok(rows) {
            return damaged(format!("it has {file_rows} rows instead of {rows}"));
        }
        Ok(Self {
            file,
            table,
            metadata,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Compares every byte with its checksum. Returns the CRC-32 of the file.
    pub(crate) fn check_all(&self) -> Result<u32> {
        self.file.check_all()
    }

    pub(crate) fn damaged(&self, what: impl Into<String>) -> Error {
        damaged(self.path(), what)
    }

    pub(crate) fn rows(&self) -> usize {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        usize::try_from(rows).unwrap_or(0)
    }

    /// Reads columns of all rows, or of those in ascending ranges.
    pub(crate) fn read(
        &self,
        columns: &[&str],
        rows: Option<Vec<Range<usize>>>,
    ) -> Result<Batches<'_>> {
        let reader = guarded(self.path(), || {
            let schema = self.metadata.parquet_schema();
            let mask = ProjectionMask::columns(schema, columns.iter().copied());
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.file.clone(),
                self.metadata.clone(),
            )
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
            if let Some(ranges) = rows {
                let selection =
                    RowSelection::from_consecutive_ranges(ranges.into_iter(), self.rows());
                builder = builder.with_row_selection(selection);
            }
            let reader = builder.build();
            reader.map_err(|error| self.file.failure(&error))
        })?;
        Ok(Batches {
            table: self,
            reader,
        })
    }

    /// Returns ranges of rows with all rows whose key is among `keys`, which are ascending.
    /// The column is the first one, by which the rows are sorted.
    pub(crate) fn rows_with<K: Key>(&self, keys: &[K]) -> Result<Vec<Range<usize>>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.rows() == 0 {
            // Without row groups there is no index.
            return Ok(found);
        }
        for group in self.pages()? {
            let (index, pages) = group?;
            let bounds: Vec<(K, K)> = (0..pages.len())
                .map(|page| K::page(index.column, page))
                .collect::<Option<_>>()
                .ok_or_else(|| self.damaged("a page has no smallest or largest key"))?;
            let (Some((first, _)), Some((_, last))) = (bounds.first(), bounds.last()) else {
                continue;
            };
            let from = keys.partition_point(|key| key < first);
            let to = keys.partition_point(|key| key <= last);
            let mut wanted = keys.get(from..to).unwrap_or_default().to_vec();
            if wanted.len() <= BLOOM_KEYS_MAX && !wanted.is_empty() {
                self.drop_absent(index.row_group, &mut wanted)?;
            }
            let mut next = wanted.into_iter().peekable();
            for ((min, max), rows) in bounds.into_iter().zip(pages) {
                while next.next_if(|key| *key < min).is_some() {}
                if next.peek().is_some_and(|key| *key <= max) {
                    match found.last_mut() {
                        Some(before) if before.end == rows.start => before.end = rows.end,
                        _ => found.push(rows),
                    }
                }
                // A key that ends this page may begin the next one.
            }
        }
        Ok(found)
    }

    /// Returns the rows of each page of the first column with the smallest and the largest key
    /// in them.
    pub(crate) fn key_pages<K: Key>(&self) -> Result<Vec<(Range<usize>, K, K)>> {
        let mut all = Vec::new();
        if self.rows() == 0 {
            return Ok(all);
        }
        for group in self.pages()? {
            let (index, pages) = group?;
            for (page, rows) in pages.into_iter().enumerate() {
                let (min, max) = K::page(index.column, page)
                    .ok_or_else(|| self.damaged("a page has no smallest or largest key"))?;
                all.push((rows, min, max));
            }
        }
        Ok(all)
    }

    /// Returns the values of the first column in these rows, which are ascending. Its values are bytes that
    /// are neither compressed nor encoded, so they are read by position.
    pub(crate) fn values_at<const N: usize>(&self, rows: &[usize]) -> Result<Vec<[u8; N]>> {
        let mut found = Vec::with_capacity(rows.len());
        let mut rest = rows;
        for group in self.pages()? {
            let (index, pages) = group?;
            for (page, location) in pages.into_iter().zip(index.locations) {
                let (wanted, later) = rest.split_at(rest.partition_point(|row| *row < page.end));
                rest = later;
                for rows in wanted.chunk_by(|a, b| b - a <= ROWS_TOGETHER) {
                    let range = index.values::<N>(page.end, location, rows);
                    let (start, length) =
                        range.ok_or_else(|| self.damaged("a page has other values"))?;
                    let bytes = self.file.read(start, length)?;
                    let values = bytes.as_chunks::<N>().0;
                    let values = rows.iter().filter_map(|row| values.get(row - rows[0]));
                    found.extend(values.copied());
                }
            }
        }
        match found.len() == rows.len() {
            true => Ok(found),
            false => Err(self.damaged("it has fewer rows than are wanted")),
        }
    }

    /// For each row group the index of its first column, and the rows of each page.
    fn pages(&self) -> Result<impl Iterator<Item = Result<(GroupIndex<'_>, Vec<Range<usize>>)>>> {
        let metadata = self.metadata.metadata();
        let (Some(columns), Some(offsets)) = (metadata.column_index(), metadata.offset_index())
        else {
            return Err(self.damaged("it has no page index"));
        };
        let mut start = 0_usize;
        let groups = metadata.row_groups().iter().enumerate();
        Ok(groups.map(move |(row_group, group)| {
            let missing = || self.damaged("a row group has no page index");
            let rows = usize::try_from(group.num_rows()).map_err(|_| missing())?;
            let end = start.checked_add(rows).ok_or_else(missing)?;
            let column = columns.get(row_group).and_then(|columns| columns.first());
            let offsets = offsets.get(row_group).and_then(|columns| columns.first());
            let (Some(column), Some(offsets), Some(chunk)) =
                (column, offsets, group.columns().first())
            else {
                return Err(missing());
            };
            let locations = offsets.page_locations();
            let firsts = locations.iter();
            let firsts: Option<Vec<usize>> = firsts
                .map(|page| start.checked_add(usize::try_from(page.first_row_index).ok()?))
                .collect();
            let firsts = firsts.ok_or_else(missing)?;
            let ends = firsts.iter().skip(1).copied().chain([end]);
            let pages: Vec<Range<usize>> = firsts
                .iter()
                .zip(ends)
                .map(|(first, end)| *first..end)
                .collect();
            if !pages
                .iter()
                .all(|rows| start <= rows.start && rows.start <= rows.end && rows.end <= end)
                || column.num_pages() != pages.len() as u64
            {
                return Err(self.damaged("its page index contradicts itself"));
            }
            start = end;
            let index = GroupIndex {
                row_group,
                column,
                chunk,
                locations,
            };
            Ok((index, pages))
        }))
    }

    /// Removes keys that the bloom filter of a row group excludes.
    fn drop_absent<K: Key>(&self, row_group: usize, keys: &mut Vec<K>) -> Result<()> {
        let group = self.metadata.metadata().row_group(row_group);
        let Some(column) = group.columns().first() else {
            return Ok(());
        };
        guarded(self.path(), || {
            let bloom = Sbbf::read_from_column_chunk(column, &self.file)
                .map_err(|error| self.file.failure(&error))?;
            if let Some(bloom) = bloom {
                keys.retain(|key| !key.is_absent(&bloom));
            }
            Ok(())
        })
    }
}

/// Calls the Parquet reader. Its panics, on content that was made to harm, become errors.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(damaged(path, "the Parquet reader cannot decode it")))
}

/// The first column of a row group.
struct GroupIndex<'a> {
    row_group: usize,
    column: &'a ColumnIndexMetaData,
    chunk: &'a ColumnChunkMetaData,
    locations: &'a [PageLocation],
}

impl GroupIndex<'_> {
    /// The start and the number of the bytes from the first of some rows of a page to the last. The page
    /// ends before the row `page_end`. `None` if its values have no known place.
    fn values<const N: usize>(
        &self,
        page_end: usize,
        location: &PageLocation,
        rows: &[usize],
    ) -> Option<(u64, usize)> {
        let is_plain = self.chunk.compression() == Compression::UNCOMPRESSED
            && self.chunk.column_descr().max_def_level() == 0
            && self.chunk.dictionary_page_offset().is_none()
            // Levels, of which there are none, are listed as RLE.
            && (self.chunk.encodings()).all(|it| matches!(it, Encoding::PLAIN | Encoding::RLE));
        if !is_plain {
            return None;
        }
        // The values are behind the header, at the end of the page.
        let end = u64::try_from(location.offset).ok()?;
        let end = end.checked_add(u64::try_from(location.compressed_page_size).ok()?)?;
        let (first, last) = (rows.first()?, rows.last()?);
        let to_end = page_end.checked_sub(*first)?.checked_mul(N)?;
        let start = end.checked_sub(u64::try_from(to_end).ok()?)?;
        Some((start, (last - first + 1).checked_mul(N)?))
    }
}

pub(crate) struct Batches<'a> {
    table: &'a TableFile,
    reader: ParquetRecordBatchReader,
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let table = self.table;
        let next = match guarded(table.path(), || Ok(self.reader.next())) {
            Ok(next) => next?,
            Err(error) => return Some(Err(error)),
        };
        Some(match next {
            Ok(batch) => Ok(Batch { table, batch }),
            Err(error) => Err(table.file.failure(&error)),
        })
    }
}

/// Rows of a table.
pub(crate) struct Batch<'a> {
    pub(crate) table: &'a TableFile,
    batch: RecordBatch,
}

impl Batch<'_> {
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, name: &str) -> Result<&dyn Array> {
        let column = self.batch.column_by_name(name);
        Ok(&**column.ok_or_else(|| self.table.damaged(format!("it has no column `{name}`")))?)
    }

    fn wrong(&self, name: &str) -> Error {
        self.table
            .damaged(format!("column `{name}` has another type"))
    }

    pub(crate) fn u64s(&self, name: &str) -> Result<&[u64]> {
        let column = self.column(name)?.as_primitive_opt::<types::UInt64Type>();
        Ok(column.ok_or_else(|| self.wrong(name))?.values())
    }

    pub(crate) fn optional_u64s(
        &self,
        name: &str,
    ) -> Result<impl Fn(usize) -> Option<u64> + use<'_>> {
        let column = self.column(name)?.as_primitive_opt::<types::UInt64Type>();
        let column = column.ok_or_else(|| self.wrong(name))?;
        Ok(move |row| column.is_valid(row).then(|| column.value(row)))
    }

    pub(crate) fn u32s(&self, name: &str) -> Result<&[u32]> {
        let column = self.column(name)?.as_primitive_opt::<types::UInt32Type>();
        Ok(column.ok_or_else(|| self.wrong(name))?.values())
    }

    pub(crate) fn optional_u32s(
        &self,
        name: &str,
    ) -> Result<impl Fn(usize) -> Option<u32> + use<'_>> {
        let column = self.column(name)?.as_primitive_opt::<types::UInt32Type>();
        let column = column.ok_or_else(|| self.wrong(name))?;
        Ok(move |row| column.is_valid(row).then(|| column.value(row)))
    }

    /// Values of `N` bytes each.
    pub(crate) fn bytes<const N: usize>(&self, name: &str) -> Result<&[[u8; N]]> {
        let column = self.column(name)?.as_fixed_size_binary_opt();
        let column = column.filter(|column| usize::try_from(column.value_length()) == Ok(N));
        let column = column.ok_or_else(|| self.wrong(name))?;
        let rows = column.value_data().as_chunks::<N>().0;
        match rows.len() == column.len() {
            true => Ok(rows),
            false => Err(self.wrong(name)),
        }
    }

    pub(crate) fn optional_bytes<const N: usize>(
        &self,
        name: &str,
    ) -> Result<impl Fn(usize) -> Option<[u8; N]> + use<'_, N>> {
        let column = self.column(name)?;
        let values = self.bytes::<N>(name)?;
        Ok(move |row| column.is_valid(row).then(|| values[row]))
    }

    /// Words of an enum.
    pub(crate) fn words<W: std::str::FromStr + Copy>(
        &self,
        name: &str,
    ) -> Result<impl Fn(usize) -> Result<W> + use<'_, W>> {
        let column = self.column(name)?;
        let column = column.as_dictionary_opt::<types::Int32Type>();
        let column = column.ok_or_else(|| self.wrong(name))?;
        let words = column.values().as_string_opt::<i32>();
        let words = words.ok_or_else(|| self.wrong(name))?;
        let words: Vec<Option<W>> = (words.iter())
            .map(|word| word.and_then(|word| word.parse().ok()))
            .collect();
        let name = name.to_owned();
        Ok(move |row| {
            let key = column.key(row);
            let word = key.and_then(|key| words.get(key).copied().flatten());
            word.ok_or_else(|| {
                self.table
                    .damaged(format!("column `{name}` has an unknown word"))
            })
        })
    }
}

impl TableFile {
    pub(crate) const fn table(&self) -> Table {
        self.table
    }
}
