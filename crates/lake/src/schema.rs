//! The tables of a partition: their columns, and how each is stored.
//!
//! `docs/lake.md` describes them for readers. The columns differ from exported tables, because they
//! are made for look-ups and for size: 20 bytes for sender and receiver, instead of ids, would
//! double a lake (`docs/decisions.md`).

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::{
    basic::{Compression, Encoding, ZstdLevel},
    file::{
        metadata::SortingColumn,
        properties::{EnabledStatistics, WriterProperties},
    },
    schema::types::ColumnPath,
};
use std::sync::Arc;
use txgraph_base::string_enum;

pub(crate) const ROW_GROUP_ROWS: usize = 1 << 17;
/// The share of absent values that a bloom filter does not recognize.
const BLOOM_FALSE_POSITIVES: f64 = 0.02;

string_enum! {
    /// The table of a file.
    pub(crate) enum Table: "table" {
        Transfers = "transfers.parquet",
        BySender = "by_sender.parquet",
        ByReceiver = "by_receiver.parquet",
        Transactions = "transactions.parquet",
        Blocks = "blocks.parquet",
        Addresses = "addresses.parquet",
        Assets = "assets.parquet",
        Anomalies = "anomalies.parquet",
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    U64,
    U32,
    Bytes20,
    Bytes32,
    /// One of a few words.
    Word,
}

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Differences, for values that ascend or nearly do. Not compressed: they are packed bits.
    Deltas,
    /// A dictionary, for values that repeat. Not compressed, for the same reason.
    Dictionary,
    /// The first bytes of all values, then the second bytes …, compressed. For ids: their high
    /// bytes are zero, so they take less room than [`Plain`], and half the time to read.
    /// Values of 32 bytes stay plain, because polars and DuckDB read this encoding of numbers only.
    Split,
    /// Values one after another, compressed.
    Plain,
    /// Values one after another, as they are: they look random.
    Raw,
}

struct Column {
    name: &'static str,
    data: Type,
    nullable: bool,
    storage: Storage,
}

const fn column(name: &'static str, data: Type, storage: Storage) -> Column {
    Column {
        name,
        data,
        nullable: false,
        storage,
    }
}

const fn optional(name: &'static str, data: Type, storage: Storage) -> Column {
    Column {
        name,
        data,
        nullable: true,
        storage,
    }
}

use Storage::{Deltas, Dictionary, Plain, Raw, Split};
use Type::{Bytes20, Bytes32, U32, U64, Word};

const TRANSFERS: &[Column] = &[
    column("block_number", U64, Deltas),
    column("block_timestamp", U64, Deltas),
    column("transaction_index", U32, Dictionary),
    optional("log_index", U32, Deltas),
    column("sub_index", U32, Dictionary),
    optional("token_address_id", U64, Dictionary),
    column("from_address_id", U64, Split),
    column("to_address_id", U64, Split),
    column("value", Bytes32, Plain),
    optional("token_id", Bytes32, Plain),
    column("token_standard", Word, Dictionary),
    column("kind", Word, Dictionary),
];
const BY_SENDER: &[Column] = &[
    column("from_address_id", U64, Deltas),
    column("to_address_id", U64, Split),
    optional("token_address_id", U64, Dictionary),
    column("row", U32, Deltas),
];
const BY_RECEIVER: &[Column] = &[
    column("to_address_id", U64, Deltas),
    column("from_address_id", U64, Split),
    optional("token_address_id", U64, Dictionary),
    column("row", U32, Deltas),
];
const TRANSACTIONS: &[Column] = &[
    column("block_number", U64, Deltas),
    column("transaction_index", U32, Deltas),
    column("transaction_hash", Bytes32, Raw),
];
const BLOCKS: &[Column] = &[
    column("block_number", U64, Deltas),
    column("block_timestamp", U64, Deltas),
    column("block_hash", Bytes32, Raw),
    column("transactions", U32, Dictionary),
    column("logs", U32, Dictionary),
    column("transfers", U32, Dictionary),
];
const ADDRESSES: &[Column] = &[column("address", Bytes20, Raw), column("id", U64, Deltas)];
const ASSETS: &[Column] = &[
    optional("token_address_id", U64, Plain),
    column("token_standard", Word, Dictionary),
    column("kind", Word, Dictionary),
    column("transfers", U64, Plain),
];
const ANOMALIES: &[Column] = &[
    column("block_number", U64, Plain),
    column("emitter", Bytes20, Plain),
    column("malformed", U64, Plain),
    column("malformed_erc1155", U64, Plain),
    column("dirty_addresses", U64, Plain),
    column("wraps_deduplicated", U64, Plain),
];

impl Table {
    const fn columns(self) -> &'static [Column] {
        match self {
            Self::Transfers => TRANSFERS,
            Self::BySender => BY_SENDER,
            Self::ByReceiver => BY_RECEIVER,
            Self::Transactions => TRANSACTIONS,
            Self::Blocks => BLOCKS,
            Self::Addresses => ADDRESSES,
            Self::Assets => ASSETS,
            Self::Anomalies => ANOMALIES,
        }
    }

    /// The names of its columns.
    pub(crate) fn names(self) -> Vec<&'static str> {
        self.columns().iter().map(|column| column.name).collect()
    }

    /// The number of leading columns by which its rows are sorted, and whether the first of
    /// them has a bloom filter.
    const fn order(self) -> (&'static [&'static str], bool) {
        match self {
            Self::Transfers => (
                &[
                    "block_number",
                    "transaction_index",
                    "log_index",
                    "sub_index",
                ],
                false,
            ),
            Self::BySender => (&["from_address_id", "row"], true),
            Self::ByReceiver => (&["to_address_id", "row"], true),
            Self::Transactions => (&["block_number", "transaction_index"], false),
            Self::Blocks => (&["block_number"], false),
            Self::Addresses => (&["address"], true),
            Self::Assets => (&[], false),
            Self::Anomalies => (&["block_number", "emitter"], false),
        }
    }

    /// The most rows of a page: fewer make a lookup of a single row cheaper.
    const fn page_rows(self) -> usize {
        match self {
            Self::Addresses | Self::Transactions | Self::Transfers => 1 << 11,
            _ => 1 << 12,
        }
    }

    /// Its columns as an Arrow schema.
    pub(crate) fn schema(self) -> SchemaRef {
        let field = |column: &Column| {
            let data = match column.data {
                Type::U64 => DataType::UInt64,
                Type::U32 => DataType::UInt32,
                Type::Bytes20 => DataType::FixedSizeBinary(20),
                Type::Bytes32 => DataType::FixedSizeBinary(32),
                Type::Word => {
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
                }
            };
            Field::new(column.name, data, column.nullable)
        };
        let fields: Vec<Field> = self.columns().iter().map(field).collect();
        Arc::new(Schema::new(fields))
    }

    /// How its file is written.
    pub(crate) fn properties(self) -> WriterProperties {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let (order, has_bloom) = self.order();
        let mut builder = WriterProperties::builder()
            .set_compression(zstd)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_data_page_row_count_limit(self.page_rows())
            .set_write_batch_size(1 << 10);
        let sorting = order.iter().filter_map(|name| {
            let column = self
                .columns()
                .iter()
                .position(|column| column.name == *name);
            Some(SortingColumn {
                column_idx: i32::try_from(column?).ok()?,
                descending: false,
                // Native movements come before the logs of their transaction.
                nulls_first: true,
            })
        });
        builder = builder.set_sorting_columns(Some(sorting.collect()));
        for column in self.columns() {
            let path = ColumnPath::from(column.name);
            builder = match column.storage {
                Storage::Deltas => builder
                    .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                    .set_column_compression(path, Compression::UNCOMPRESSED),
                Storage::Dictionary => builder
                    .set_column_dictionary_enabled(path.clone(), true)
                    .set_column_compression(path, Compression::UNCOMPRESSED),
                Storage::Split => builder.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT),
                Storage::Plain => builder,
                Storage::Raw => builder.set_column_compression(path, Compression::UNCOMPRESSED),
            };
            if matches!(column.data, Type::Bytes32 | Type::Word) {
                // The smallest and the largest hash, amount or word of a page exclude nothing.
                builder = builder.set_column_statistics_enabled(
                    ColumnPath::from(column.name),
                    EnabledStatistics::None,
                );
            }
        }
        if has_bloom && let Some(first) = order.first() {
            builder = builder
                .set_column_bloom_filter_enabled(ColumnPath::from(*first), true)
                .set_column_bloom_filter_fpp(ColumnPath::from(*first), BLOOM_FALSE_POSITIVES);
        }
        builder.build()
    }
}
