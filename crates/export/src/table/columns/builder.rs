//! Builders for the columns of a row group.

use crate::{
    TransferTableOptions, U256Type,
    decimal::{LIMBS_MAX, big_endian, push_decimal, to_f64},
};
use polars::prelude::{
    BinaryChunkedBuilder, BooleanChunked, Column, DataType, Float64Chunked, IntoColumn, IntoSeries,
    NewChunkedArray, PlSmallStr, StringChunkedBuilder, UInt32Chunked, UInt64Chunked,
};

/// Builds one column of a row group.
pub(crate) enum ColumnBuilder {
    U32(String, Vec<Option<u32>>),
    U64(String, Vec<Option<u64>>),
    F64(String, Vec<Option<f64>>),
    Bool(String, Vec<Option<bool>>),
    Binary(String, BinaryChunkedBuilder),
    Text(String, StringChunkedBuilder),
}

impl ColumnBuilder {
    pub(crate) const fn u32(name: String) -> Self {
        Self::U32(name, Vec::new())
    }

    pub(crate) const fn u64(name: String) -> Self {
        Self::U64(name, Vec::new())
    }

    pub(crate) const fn f64(name: String) -> Self {
        Self::F64(name, Vec::new())
    }

    pub(crate) const fn bool(name: String) -> Self {
        Self::Bool(name, Vec::new())
    }

    pub(crate) fn binary(name: String) -> Self {
        let builder = BinaryChunkedBuilder::new(PlSmallStr::from_str(&name), 0);
        Self::Binary(name, builder)
    }

    pub(crate) fn text(name: String) -> Self {
        let builder = StringChunkedBuilder::new(PlSmallStr::from_str(&name), 0);
        Self::Text(name, builder)
    }

    /// Appends an absent value.
    pub(crate) fn push_absent(&mut self) {
        match self {
            Self::U32(_, values) => values.push(None),
            Self::U64(_, values) => values.push(None),
            Self::F64(_, values) => values.push(None),
            Self::Bool(_, values) => values.push(None),
            Self::Binary(_, builder) => builder.append_null(),
            Self::Text(_, builder) => builder.append_null(),
        }
    }

    pub(crate) fn push_u32(&mut self, value: Option<u32>) {
        match self {
            Self::U32(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_u64(&mut self, value: Option<u64>) {
        match self {
            Self::U64(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_f64(&mut self, value: Option<f64>) {
        match self {
            Self::F64(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_bool(&mut self, value: Option<bool>) {
        match self {
            Self::Bool(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_bytes(&mut self, value: Option<&[u8]>) {
        match self {
            Self::Binary(_, builder) => builder.append_option(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_text(&mut self, value: Option<&str>) {
        match self {
            Self::Text(_, builder) => builder.append_option(value),
            _ => self.push_misfit(),
        }
    }

    /// Appends an absent value for one of the wrong type, which is a bug: the columns must keep
    /// the same length.
    fn push_misfit(&mut self) {
        debug_assert!(false, "a value of another type than {:?}", self.field());
        self.push_absent();
    }

    /// Returns name and type.
    pub(crate) fn field(&self) -> (String, DataType) {
        match self {
            Self::U32(name, _) => (name.clone(), DataType::UInt32),
            Self::U64(name, _) => (name.clone(), DataType::UInt64),
            Self::F64(name, _) => (name.clone(), DataType::Float64),
            Self::Bool(name, _) => (name.clone(), DataType::Boolean),
            Self::Binary(name, _) => (name.clone(), DataType::Binary),
            Self::Text(name, _) => (name.clone(), DataType::String),
        }
    }

    /// Returns the column so far, and empties the builder.
    pub(crate) fn take(&mut self) -> Column {
        let name = |name: &String| PlSmallStr::from_str(name);
        match self {
            Self::U32(n, values) => {
                UInt32Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::U64(n, values) => {
                UInt64Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::F64(n, values) => {
                Float64Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::Bool(n, values) => {
                BooleanChunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::Binary(n, builder) => {
                let next = BinaryChunkedBuilder::new(name(n), 0);
                std::mem::replace(builder, next)
                    .finish()
                    .into_series()
                    .into_column()
            }
            Self::Text(n, builder) => {
                let next = StringChunkedBuilder::new(name(n), 0);
                std::mem::replace(builder, next)
                    .finish()
                    .into_series()
                    .into_column()
            }
        }
    }
}

/// Builds the columns of a number of 256 or more bits, one for each requested type.
pub(crate) struct NumberBuilder {
    columns: Vec<ColumnBuilder>,
    digits: Vec<u8>,
}

impl NumberBuilder {
    pub(crate) fn new(name: &str, options: &TransferTableOptions) -> Self {
        let column = |(name, u256_type)| match u256_type {
            U256Type::Binary => ColumnBuilder::binary(name),
            U256Type::String => ColumnBuilder::text(name),
            U256Type::F64 => ColumnBuilder::f64(name),
        };
        Self {
            columns: options.u256_columns(name).map(column).collect(),
            digits: Vec::new(),
        }
    }

    /// Appends the number with these limbs.
    pub(crate) fn push(&mut self, limbs: Option<&[u64]>) {
        let Some(limbs) = limbs else {
            return self.columns.iter_mut().for_each(ColumnBuilder::push_absent);
        };
        for column in &mut self.columns {
            match column {
                ColumnBuilder::Binary(..) => {
                    let mut space = [0; 8 * LIMBS_MAX];
                    column.push_bytes(Some(big_endian(limbs, &mut space)));
                }
                ColumnBuilder::Text(..) => {
                    self.digits.clear();
                    push_decimal(&mut self.digits, limbs);
                    // Digits are ASCII.
                    column.push_text(std::str::from_utf8(&self.digits).ok());
                }
                _ => column.push_f64(Some(to_f64(limbs))),
            }
        }
    }

    pub(crate) fn builders(&mut self) -> &mut [ColumnBuilder] {
        &mut self.columns
    }
}
