//! Builders for the columns of a row group.

use crate::{
    ColumnType, Value,
    decimal::{LIMBS_MAX, big_endian, push_decimal, to_f64},
    fields::Get,
    plain_text,
};
use alloy_primitives::U256;
use arrow_array::{
    ArrayRef,
    builder::{
        ArrayBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, LargeBinaryBuilder,
        LargeStringBuilder, StringBuilder, StringDictionaryBuilder, TimestampMillisecondBuilder,
        UInt32Builder, UInt64Builder,
    },
    types::Int32Type,
};
use arrow_schema::{ArrowError, DataType};
use txgraph_transfers::Transfer;

/// Milliseconds of a second. Parquet has no timestamps in seconds.
const MILLISECONDS: u64 = 1_000;

/// Builds one column of a row group.
pub(crate) enum ColumnBuilder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Bytes(LargeBinaryBuilder),
    Text(LargeStringBuilder),
    /// Seconds since 1970, as a timestamp in UTC.
    Time(TimestampMillisecondBuilder),
    /// Bytes of one length.
    Fixed(FixedSizeBinaryBuilder),
    /// Text with offsets of 32 bits.
    ShortText(StringBuilder),
    /// Text of few different values.
    Word(StringDictionaryBuilder<Int32Type>),
}

impl ColumnBuilder {
    /// A column of the types that every reader has. Text and binary have offsets of 64 bits, and
    /// are not the "views" of 2023, which not every function of pyarrow supports.
    pub(crate) fn plain(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::U32 => Self::U32(UInt32Builder::new()),
            ColumnType::U64 => Self::U64(UInt64Builder::new()),
            ColumnType::F64 => Self::F64(Float64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Address | ColumnType::Hash => Self::Bytes(LargeBinaryBuilder::new()),
            // Amounts have a column for each of their types instead.
            ColumnType::Text
            | ColumnType::Amount
            | ColumnType::SignedAmount
            | ColumnType::Indices
            | ColumnType::Json => Self::Text(LargeStringBuilder::new()),
        }
    }

    /// The same, with binary of a fixed size, and text of less than 2 GiB in a row group.
    pub(crate) fn fixed(column_type: ColumnType) -> Self {
        let fixed = |length| Self::Fixed(FixedSizeBinaryBuilder::new(length));
        match column_type {
            ColumnType::Address => fixed(20),
            ColumnType::Hash => fixed(32),
            ColumnType::Text => Self::ShortText(StringBuilder::new()),
            other => Self::plain(other),
        }
    }

    pub(crate) fn time() -> Self {
        Self::Time(TimestampMillisecondBuilder::new().with_timezone("UTC"))
    }

    pub(crate) fn word() -> Self {
        Self::Word(StringDictionaryBuilder::new())
    }

    /// Appends a field of transfers, without a [`Value`] for each of them. Returns `false`, and appends
    /// nothing, if the column takes this field only as values.
    pub(crate) fn extend<'a>(
        &mut self,
        get: Get,
        transfers: impl Iterator<Item = &'a Transfer>,
    ) -> Result<bool, ArrowError> {
        match (get, self) {
            (Get::U32(get), Self::U32(column)) => {
                transfers.for_each(|it| column.append_option(get(it)));
            }
            (Get::U64(get) | Get::Time(get), Self::U64(column)) => {
                transfers.for_each(|it| column.append_option(get(it)));
            }
            (Get::Address(get), column) => return column.extend_bytes(transfers.map(get)),
            (Get::Hash(get), column) => return column.extend_bytes(transfers.map(get)),
            (Get::Amount(get), column @ (Self::Bytes(_) | Self::Fixed(_))) => {
                let bytes = |it| get(it).map(U256::to_be_bytes::<32>);
                return column.extend_bytes(transfers.map(bytes));
            }
            (Get::Amount(get), Self::Text(column)) => {
                let mut digits = Vec::new();
                transfers.for_each(|it| match get(it) {
                    Some(number) => push_digits(column, number.as_limbs(), &mut digits),
                    None => column.append_null(),
                });
            }
            (Get::Amount(get), Self::F64(column)) => {
                let double = |number: &U256| to_f64(number.as_limbs());
                transfers.for_each(|it| column.append_option(get(it).map(double)));
            }
            (Get::Word(get), Self::Text(column)) => {
                transfers.for_each(|it| column.append_value(get(it)));
            }
            (Get::Word(get), Self::ShortText(column)) => {
                transfers.for_each(|it| column.append_value(get(it)));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The same for bytes.
    fn extend_bytes(
        &mut self,
        mut values: impl Iterator<Item = Option<impl AsRef<[u8]>>>,
    ) -> Result<bool, ArrowError> {
        match self {
            Self::Bytes(column) => values.for_each(|bytes| column.append_option(bytes)),
            Self::Fixed(column) => values.try_for_each(|bytes| match bytes {
                Some(bytes) => column.append_value(bytes),
                None => {
                    column.append_null();
                    Ok(())
                }
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The type of a column that is still empty.
    pub(crate) fn data_type(&mut self) -> DataType {
        self.take().data_type().clone()
    }

    /// Appends a value. One of another type is absent, which is a bug: the columns must keep the
    /// same length.
    pub(crate) fn push(&mut self, value: &Value<'_>) -> Result<(), ArrowError> {
        match (self, value) {
            (Self::U32(column), Value::U32(number)) => column.append_value(*number),
            (Self::U64(column), Value::U64(number)) => column.append_value(*number),
            (Self::F64(column), Value::F64(number)) => column.append_value(*number),
            (Self::F64(column), Value::Amount(amount)) => {
                column.append_value(to_f64(amount.as_limbs()));
            }
            (Self::Bool(column), Value::Bool(value)) => column.append_value(*value),
            (Self::Bytes(column), Value::Address(address)) => column.append_value(address),
            (Self::Bytes(column), Value::Hash(hash)) => column.append_value(hash),
            (Self::Bytes(column), Value::Amount(amount)) => {
                let mut space = [0; 8 * LIMBS_MAX];
                column.append_value(big_endian(amount.as_limbs(), &mut space));
            }
            (Self::Text(column), Value::Text(text)) => column.append_value(text),
            (
                column @ (Self::Text(_) | Self::ShortText(_)),
                Value::Amount(_)
                | Value::SignedAmount { .. }
                | Value::Address(_)
                | Value::Hash(_)
                | Value::Indices(_)
                | Value::Json(_),
            ) => {
                return column.push(&plain_text(value).into());
            }
            (Self::Time(column), Value::U64(seconds)) => {
                let time = seconds.checked_mul(MILLISECONDS);
                column.append_option(time.and_then(|time| i64::try_from(time).ok()));
            }
            (Self::Fixed(column), Value::Address(address)) => column.append_value(address)?,
            (Self::Fixed(column), Value::Hash(hash)) => column.append_value(hash)?,
            (Self::ShortText(column), Value::Text(text)) => column.append_value(text),
            (Self::Word(column), Value::Text(text)) => column.append_value(text),
            (column, value) => {
                debug_assert!(
                    *value == Value::Absent,
                    "a value of another type than its column: {value:?}"
                );
                column.push_absent();
            }
        }
        Ok(())
    }

    fn push_absent(&mut self) {
        match self {
            Self::U32(column) => column.append_null(),
            Self::U64(column) => column.append_null(),
            Self::F64(column) => column.append_null(),
            Self::Bool(column) => column.append_null(),
            Self::Bytes(column) => column.append_null(),
            Self::Text(column) => column.append_null(),
            Self::Time(column) => column.append_null(),
            Self::Fixed(column) => column.append_null(),
            Self::ShortText(column) => column.append_null(),
            Self::Word(column) => column.append_null(),
        }
    }

    /// Returns the column so far, and empties the builder.
    pub(crate) fn take(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            Self::U32(column) => column,
            Self::U64(column) => column,
            Self::F64(column) => column,
            Self::Bool(column) => column,
            Self::Bytes(column) => column,
            Self::Text(column) => column,
            Self::Time(column) => column,
            Self::Fixed(column) => column,
            Self::ShortText(column) => column,
            Self::Word(column) => column,
        };
        builder.finish()
    }
}

/// Appends a number in decimal. `digits` is space.
fn push_digits(column: &mut LargeStringBuilder, limbs: &[u64], digits: &mut Vec<u8>) {
    digits.clear();
    push_decimal(digits, limbs);
    // Digits are ASCII.
    column.append_option(std::str::from_utf8(digits).ok());
}
