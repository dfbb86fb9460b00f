//! Columns of a record batch as cells.

use crate::{
    Role,
    cell::{Cell, FLOAT},
    column_role::ROLES,
    dialect::Slot,
    error::Problem,
};
use alloy_primitives::{U256, hex};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array, cast::AsArray,
};
use arrow_schema::{DataType, TimeUnit};

/// A column of a type that cells have.
enum Column<'b> {
    Bool(&'b BooleanArray),
    I8(&'b Int8Array),
    I16(&'b Int16Array),
    I32(&'b Int32Array),
    I64(&'b Int64Array),
    U8(&'b UInt8Array),
    U16(&'b UInt16Array),
    U32(&'b UInt32Array),
    U64(&'b UInt64Array),
    F32(&'b Float32Array),
    F64(&'b Float64Array),
    Text(&'b StringArray),
    Binary(&'b BinaryArray),
    Fixed(&'b FixedSizeBinaryArray),
    Decimal128(&'b Decimal128Array, i8),
    Decimal256(&'b Decimal256Array, i8),
    Seconds(&'b TimestampSecondArray),
    Millis(&'b TimestampMillisecondArray),
    Micros(&'b TimestampMicrosecondArray),
    Nanos(&'b TimestampNanosecondArray),
    /// The topics of a log.
    List(&'b ListArray, Box<Self>),
    /// The withdrawals of a block, as JSON.
    Json(StringArray),
}

/// Whether a column of this type can be read for a role.
pub(super) fn check(role: Role, data_type: &DataType) -> Result<(), Problem> {
    use DataType as D;
    let known = match data_type {
        D::Float32 | D::Float64
            if matches!(role, Role::Value | Role::BoughtValue | Role::TokenId) =>
        {
            return Err(FLOAT.into());
        }
        D::Boolean | D::Utf8 | D::Binary | D::FixedSizeBinary(_) => true,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 => true,
        D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => true,
        D::Float32 | D::Float64 | D::Decimal128(..) | D::Decimal256(..) => true,
        D::Timestamp(..) => true,
        D::List(item) => match item.data_type() {
            D::Utf8 | D::Binary => role == Role::Topics,
            D::Struct(fields) => {
                let has = |name: &&str| fields.find(name).is_some();
                role == Role::Withdrawals && WITHDRAWAL.iter().all(has)
            }
            _ => false,
        },
        _ => false,
    };
    match known {
        true => Ok(()),
        false => Err(format!("the type {data_type} cannot be read as {role}").into()),
    }
}

impl<'b> Column<'b> {
    fn of(array: &'b dyn Array) -> Option<Self> {
        use arrow_array::types as t;
        Some(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean_opt()?),
            DataType::Int8 => Self::I8(array.as_primitive_opt()?),
            DataType::Int16 => Self::I16(array.as_primitive_opt()?),
            DataType::Int32 => Self::I32(array.as_primitive_opt()?),
            DataType::Int64 => Self::I64(array.as_primitive_opt()?),
            DataType::UInt8 => Self::U8(array.as_primitive_opt()?),
            DataType::UInt16 => Self::U16(array.as_primitive_opt()?),
            DataType::UInt32 => Self::U32(array.as_primitive_opt()?),
            DataType::UInt64 => Self::U64(array.as_primitive_opt()?),
            DataType::Float32 => Self::F32(array.as_primitive_opt()?),
            DataType::Float64 => Self::F64(array.as_primitive_opt()?),
            DataType::Utf8 => Self::Text(array.as_string_opt()?),
            DataType::Binary => Self::Binary(array.as_binary_opt()?),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary_opt()?),
            DataType::Decimal128(_, scale) => Self::Decimal128(array.as_primitive_opt()?, *scale),
            DataType::Decimal256(_, scale) => Self::Decimal256(array.as_primitive_opt()?, *scale),
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => {
                    Self::Seconds(array.as_primitive_opt::<t::TimestampSecondType>()?)
                }
                TimeUnit::Millisecond => Self::Millis(array.as_primitive_opt()?),
                TimeUnit::Microsecond => Self::Micros(array.as_primitive_opt()?),
                TimeUnit::Nanosecond => Self::Nanos(array.as_primitive_opt()?),
            },
            DataType::List(_) => {
                let list: &ListArray = array.as_list_opt()?;
                if let Some(items) = list.values().as_struct_opt() {
                    return Some(Self::Json(withdrawals(list, items)?));
                }
                Self::List(list, Box::new(Self::of(list.values().as_ref())?))
            }
            _ => return None,
        })
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        macro_rules! each {
            ($array:expr, $convert:expr) => {
                match $array.is_null(row) {
                    true => Cell::Null,
                    false => $convert($array.value(row)),
                }
            };
        }
        match self {
            Self::Bool(array) => each!(array, Cell::Bool),
            Self::I8(array) => each!(array, |it: i8| Cell::signed(it.into())),
            Self::I16(array) => each!(array, |it: i16| Cell::signed(it.into())),
            Self::I32(array) => each!(array, |it: i32| Cell::signed(it.into())),
            Self::I64(array) => each!(array, Cell::signed),
            Self::U8(array) => each!(array, |it: u8| Cell::unsigned(it.into())),
            Self::U16(array) => each!(array, |it: u16| Cell::unsigned(it.into())),
            Self::U32(array) => each!(array, |it: u32| Cell::unsigned(it.into())),
            Self::U64(array) => each!(array, Cell::unsigned),
            Self::F32(array) => each!(array, |_| Cell::Inexact(FLOAT)),
            Self::F64(array) => each!(array, |_| Cell::Inexact(FLOAT)),
            Self::Text(array) => each!(array, Cell::Text),
            Self::Json(array) => each!(array, Cell::Text),
            Self::Binary(array) => each!(array, Cell::Bytes),
            Self::Fixed(array) => each!(array, Cell::Bytes),
            Self::Decimal128(array, scale) => each!(array, |it: i128| {
                match u128::try_from(it) {
                    Ok(digits) => decimal(U256::from(digits), *scale),
                    Err(_) => Cell::Inexact("a negative number"),
                }
            }),
            Self::Decimal256(array, _) if array.is_null(row) => Cell::Null,
            Self::Decimal256(array, scale) => match array.value(row).to_be_bytes() {
                [0..=0x7f, ..] => {
                    let bytes = array.value(row).to_be_bytes();
                    decimal(U256::from_be_bytes(bytes), *scale)
                }
                _ => Cell::Inexact("a negative number"),
            },
            Self::Seconds(array) => each!(array, |it| seconds(it, 1)),
            Self::Millis(array) => each!(array, |it| seconds(it, 1_000)),
            Self::Micros(array) => each!(array, |it| seconds(it, 1_000_000)),
            Self::Nanos(array) => each!(array, |it| seconds(it, 1_000_000_000)),
            Self::List(..) => Cell::Null,
        }
    }
}

/// The fields of a withdrawal that are read.
const WITHDRAWAL: [&str; 2] = ["address", "amount"];

/// The withdrawals of each block as in files of other formats.
fn withdrawals(list: &ListArray, items: &StructArray) -> Option<StringArray> {
    let [address, amount] = WITHDRAWAL.map(|name| items.column_by_name(name));
    let (address, amount) = (Column::of(address?)?, Column::of(amount?)?);
    let text = |cell: Cell<'_>| match cell {
        Cell::Text(text) => text.to_owned(),
        Cell::Bytes(bytes) => hex::encode_prefixed(bytes),
        Cell::Whole(number) => number.to_string(),
        _ => String::new(),
    };
    let item = |at: usize| {
        let (address, amount) = (text(address.cell(at)), text(amount.cell(at)));
        serde_json::json!({ "address": address, "amount": amount })
    };
    let block = |row: usize| {
        let offsets = list.value_offsets();
        let items = (offset(offsets[row])..offset(offsets[row + 1])).map(item);
        list.is_valid(row)
            .then(|| serde_json::Value::from_iter(items).to_string())
    };
    Some((0..list.len()).map(block).collect())
}

/// A decimal number as a whole one.
fn decimal(digits: U256, scale: i8) -> Cell<'static> {
    let power = U256::from(10).checked_pow(U256::from(scale.unsigned_abs()));
    let Some(power) = power else {
        return Cell::Inexact("a decimal number with more than 77 places");
    };
    match scale {
        0 => Cell::Whole(digits),
        1.. => match digits.div_rem(power) {
            (whole, rest) if rest.is_zero() => Cell::Whole(whole),
            _ => Cell::Inexact("a number with a fraction"),
        },
        _ => match digits.checked_mul(power) {
            Some(whole) => Cell::Whole(whole),
            None => Cell::Inexact("a number above 2^256"),
        },
    }
}

fn seconds(time: i64, unit: u64) -> Cell<'static> {
    match u64::try_from(time) {
        Ok(time) if time.is_multiple_of(unit) => Cell::Seconds(time / unit),
        Ok(_) => Cell::Inexact("a time with a fraction of a second"),
        Err(_) => Cell::Inexact("a time before 1970"),
    }
}

pub(super) struct Columns<'b>(Vec<(Role, Column<'b>)>);

/// The roles of the topics of a log.
const TOPICS: [Role; 4] = [Role::Topic0, Role::Topic1, Role::Topic2, Role::Topic3];

impl<'b> Columns<'b> {
    pub(super) fn of(
        batch: &'b RecordBatch,
        slots: &[Slot],
        header: &[String],
    ) -> Result<Self, Problem> {
        let columns = slots.iter().map(|(role, column)| {
            let name = &header[*column];
            let array = batch.column_by_name(name);
            let column = array.and_then(|array| Column::of(array.as_ref()));
            match column {
                Some(column) => Ok((*role, column)),
                None => Err(Problem::from(format!(
                    "column {name} has an unexpected type"
                ))),
            }
        });
        columns.collect::<Result<_, _>>().map(Self)
    }

    /// Sets the cells of one row.
    pub(super) fn fill<'c>(
        &'c self,
        row: usize,
        cells: &mut [Cell<'c>; ROLES],
    ) -> Result<(), (Role, Problem)> {
        for (role, column) in &self.0 {
            let Column::List(list, items) = column else {
                cells[*role as usize] = column.cell(row);
                continue;
            };
            let offsets = list.value_offsets();
            let span = match list.is_null(row) {
                true => 0..0,
                false => offset(offsets[row])..offset(offsets[row + 1]),
            };
            if span.len() > TOPICS.len() {
                return Err((
                    *role,
                    format!("{} topics instead of at most 4", span.len()).into(),
                ));
            }
            for (at, topic) in TOPICS.into_iter().enumerate() {
                cells[topic as usize] = match at < span.len() {
                    true => items.cell(span.start + at),
                    false => Cell::Null,
                };
            }
        }
        Ok(())
    }
}

/// Arrow validates offsets when it reads a list.
fn offset(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}
