//! The footers of files, which have the metadata and are written last, when the counts of a scan
//! are known.

use arrow_ipc::{
    Block, FooterBuilder, convert::IpcSchemaEncoder, reader::read_footer_length, root_as_footer,
};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::{
    basic::{Compression, ZstdLevel},
    errors::Result,
    file::{
        metadata::SortingColumn,
        properties::{EnabledStatistics, WriterProperties},
    },
    schema::types::ColumnPath,
};
use std::collections::HashMap;

pub(crate) const METADATA_KEY: &str = "txgraph";

const ZSTD_LEVEL: i32 = 3;

/// The share of absent addresses that a bloom filter does not recognize.
const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// How Parquet is written, and what its footer states. With an `order`, that rows are sorted by the
/// first of these columns that exist; binary of 20 bytes has bloom filters then.
pub(super) fn parquet(
    schema: &Schema,
    order: Option<&[&str]>,
    rows_max: usize,
) -> Result<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        // The page index consists of the statistics of pages.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(rows_max));
    let Some(order) = order else {
        return Ok(builder.build());
    };
    let sorting = order.iter().map_while(|name| {
        Some(SortingColumn {
            column_idx: i32::try_from(schema.index_of(name).ok()?).ok()?,
            descending: false,
            nulls_first: true,
        })
    });
    let sorting: Vec<_> = sorting.collect();
    builder = builder.set_sorting_columns((!sorting.is_empty()).then_some(sorting));
    let address = DataType::FixedSizeBinary(20);
    let fields = schema.fields().iter();
    for field in fields.filter(|field| *field.data_type() == address) {
        let path = ColumnPath::from(field.name().as_str());
        builder = builder
            .set_column_bloom_filter_enabled(path.clone(), true)
            .set_column_bloom_filter_fpp(path, BLOOM_FALSE_POSITIVES);
    }
    Ok(builder.build())
}

/// Replaces the footer at the end of an Arrow IPC file by one whose schema has the metadata, where
/// readers look for it. The writer of the library takes its schema before the metadata is known.
pub(super) fn put_in_ipc(
    end: &mut Vec<u8>,
    schema: &Schema,
    metadata: String,
) -> Result<(), ArrowError> {
    let wrong = || ArrowError::IpcError("the footer cannot be read again".to_owned());
    let (before, trailer) = end.split_last_chunk::<10>().ok_or_else(wrong)?;
    let length = read_footer_length(*trailer)?;
    let magic: [u8; 6] = std::array::from_fn(|at| trailer[4 + at]);
    let start = before.len().checked_sub(length).ok_or_else(wrong)?;
    let old = root_as_footer(&before[start..]).map_err(|_| wrong())?;
    let blocks: Vec<Block> = old.recordBatches().iter().flatten().copied().collect();

    let metadata = HashMap::from([(METADATA_KEY.to_owned(), metadata)]);
    let schema = schema.clone().with_metadata(metadata);
    // An empty builder: its type is of a crate that only the library needs.
    let mut builder = IpcSchemaEncoder::new().schema_to_fb(&schema);
    builder.reset();
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, &schema);
    let dictionaries = builder.create_vector::<Block>(&[]);
    let blocks = builder.create_vector(&blocks);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(old.version());
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(blocks);
    let root = footer.finish();
    builder.finish(root, None);
    let footer = builder.finished_data();
    let length = i32::try_from(footer.len()).map_err(|_| wrong())?;
    end.truncate(start);
    end.extend_from_slice(footer);
    end.extend_from_slice(&length.to_le_bytes());
    end.extend_from_slice(&magic);
    Ok(())
}
