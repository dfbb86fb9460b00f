//! Typed values of tables, for people and for files.

use alloy_primitives::{Address, B256, U256};
use std::borrow::Cow;
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::TokenStandard;

/// The type of the values in a column. Any of them may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Text of any origin.
    Text,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// An exact amount of up to 320 bits in the smallest unit: of the token in the
    /// `token_address` column of the same row, or of the native coin if there is none.
    Amount,
    /// An amount of up to 256 bits with a sign. Decimal text in every format.
    SignedAmount,
    /// A double.
    F64,
    /// True or false.
    Bool,
    /// 20 bytes.
    Address,
    /// 32 bytes.
    Hash,
    /// A list of numbers: an array in JSONL, elsewhere text joined by `_` (as cryo
    /// writes trace addresses).
    Indices,
    /// JSON, already encoded. Text in formats that do not nest.
    Json,
}

impl ColumnType {
    /// Whether such values are right-aligned.
    pub const fn is_number(self) -> bool {
        matches!(
            self,
            Self::U32 | Self::U64 | Self::Amount | Self::SignedAmount | Self::F64
        )
    }
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value; allowed in a column of any type.
    Absent,
    /// [`ColumnType::Text`].
    Text(Cow<'a, str>),
    /// [`ColumnType::U32`].
    U32(u32),
    /// [`ColumnType::U64`].
    U64(u64),
    /// [`ColumnType::Amount`].
    Amount(AmountSum),
    /// [`ColumnType::SignedAmount`].
    SignedAmount {
        /// Whether it is below zero.
        is_negative: bool,
        /// The amount without its sign.
        magnitude: U256,
    },
    /// [`ColumnType::F64`].
    F64(f64),
    /// [`ColumnType::Bool`].
    Bool(bool),
    /// [`ColumnType::Address`].
    Address(Address),
    /// [`ColumnType::Hash`].
    Hash(B256),
    /// [`ColumnType::Indices`].
    Indices(Cow<'a, [u32]>),
    /// [`ColumnType::Json`].
    Json(Vec<u8>),
}

macro_rules! value_from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from(value: $type) -> Self {
                let make: fn($type) -> Value<'a> = $make;
                make(value)
            }
        })+
    };
}

value_from! {
    &'a str => |text| Self::Text(Cow::Borrowed(text)),
    String => |text| Self::Text(Cow::Owned(text)),
    u32 => Self::U32,
    u64 => Self::U64,
    usize => |number| Self::U64(number as u64),
    U256 => |number| Self::Amount(widen(number)),
    AmountSum => Self::Amount,
    // No value: NaN and infinity, as of a mean of nothing.
    f64 => |number| if number.is_finite() { Self::F64(number) } else { Self::Absent },
    bool => Self::Bool,
    Address => Self::Address,
    B256 => Self::Hash,
    TokenStandard => |standard| Self::Text(Cow::Borrowed(standard.as_str())),
    &'a [u32] => |list| Self::Indices(Cow::Borrowed(list)),
    Vec<u32> => |list| Self::Indices(Cow::Owned(list)),
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

impl<'v> Value<'v> {
    /// The values of an item.
    pub fn row<T: Copy>(attributes: &[Attribute<'v, T>], item: T) -> Vec<Self> {
        attributes.iter().map(|(_, _, get)| get(item)).collect()
    }

    /// The type of column this value belongs in; `None` for an absent value, which
    /// belongs in any.
    pub const fn column_type(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Absent => return None,
            Self::Text(_) => ColumnType::Text,
            Self::U32(_) => ColumnType::U32,
            Self::U64(_) => ColumnType::U64,
            Self::Amount(_) => ColumnType::Amount,
            Self::SignedAmount { .. } => ColumnType::SignedAmount,
            Self::F64(_) => ColumnType::F64,
            Self::Bool(_) => ColumnType::Bool,
            Self::Address(_) => ColumnType::Address,
            Self::Hash(_) => ColumnType::Hash,
            Self::Indices(_) => ColumnType::Indices,
            Self::Json(_) => ColumnType::Json,
        })
    }
}

/// The name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, in `snake_case`; unique in its table.
    pub name: String,
    /// Type of its values.
    pub column_type: ColumnType,
}

impl Column {
    /// A column of this name and type.
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Self {
        Self {
            name: name.into(),
            column_type,
        }
    }

    /// The columns of items.
    pub fn of<T>(attributes: &[Attribute<'_, T>]) -> Vec<Self> {
        let columns = attributes.iter();
        columns
            .map(|(name, column_type, _)| Self::new(*name, *column_type))
            .collect()
    }
}

/// A column of items: its name, its type, and the value of an item.
pub type Attribute<'v, T> = (&'static str, ColumnType, fn(T) -> Value<'v>);
