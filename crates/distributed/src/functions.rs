//! Functions of SQL for amounts and addresses, which the driver, the scheduler and the executors
//! know.
//!
//! | function | of | returns |
//! | --- | --- | --- |
//! | `sum_u256(value)` | amounts as 32 bytes | the exact sum, as decimal digits; null without a row |
//! | `decimal(value)` | an amount as 32 bytes | decimal digits |
//! | `hex(bytes)` | an address or a hash | `0x` and lower-case digits |

use alloy_primitives::{U256, aliases::U320, hex};
use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryBuilder, StringBuilder},
        datatypes::{DataType, Field, FieldRef},
    },
    common::{Result, ScalarValue, exec_err, not_impl_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator,
        ScalarUDF, Signature, SimpleScalarUDF, TypeSignature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
};
use std::sync::Arc;

/// The bytes of an amount.
const AMOUNT: i32 = 32;
/// The bytes of a sum: room for 2^64 of the largest amounts.
const SUM: i32 = 40;

/// The aggregate functions.
pub(crate) fn aggregates() -> Vec<Arc<AggregateUDF>> {
    vec![Arc::new(AggregateUDF::from(SumU256::new()))]
}

/// The scalar functions.
pub(crate) fn scalars() -> Vec<Arc<ScalarUDF>> {
    vec![
        text("decimal", &[DataType::FixedSizeBinary(AMOUNT)], |bytes| {
            U256::try_from_be_slice(bytes).map(|amount| amount.to_string())
        }),
        text(
            "hex",
            &[
                DataType::FixedSizeBinary(20),
                DataType::FixedSizeBinary(AMOUNT),
                DataType::Binary,
            ],
            |bytes| Some(hex::encode_prefixed(bytes)),
        ),
    ]
}

/// The exact sum of amounts.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SumU256 {
    signature: Signature,
}

impl SumU256 {
    fn new() -> Self {
        let amounts = vec![DataType::FixedSizeBinary(AMOUNT)];
        Self {
            signature: Signature::exact(amounts, Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for SumU256 {
    fn name(&self) -> &'static str {
        "sum_u256"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let name = format!("{}[sum]", args.name);
        let field = Field::new(name, DataType::FixedSizeBinary(SUM), true);
        Ok(vec![Arc::new(field)])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        // The plan of a query is refused before.
        if args.is_distinct {
            return not_impl_err!("sum_u256(DISTINCT …) beside another aggregate");
        }
        Ok(Box::new(One(Sums::default())))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        _: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Sums::default()))
    }
}

/// The sums of groups. `None` for a group without an amount.
#[derive(Debug, Default)]
struct Sums(Vec<Option<U320>>);

impl Sums {
    /// Adds the values of a column, which has amounts or sums.
    fn add(
        &mut self,
        column: &ArrayRef,
        group: impl Fn(usize) -> usize,
        wanted: Option<&BooleanArray>,
    ) -> Result<()> {
        let Some(values) = column.as_fixed_size_binary_opt() else {
            return exec_err!("sum_u256 adds bytes, not {}", column.data_type());
        };
        for row in 0..values.len() {
            let is_wanted = wanted.is_none_or(|wanted| wanted.is_valid(row) && wanted.value(row));
            if values.is_null(row) || !is_wanted {
                continue;
            }
            let sum = &mut self.0[group(row)];
            let Some(value) = U320::try_from_be_slice(values.value(row)) else {
                return exec_err!("an amount has more than {SUM} bytes");
            };
            match sum.unwrap_or_default().checked_add(value) {
                Some(total) => *sum = Some(total),
                None => return exec_err!("a sum of amounts has more than {SUM} bytes"),
            }
        }
        Ok(())
    }

    fn states(sums: Vec<Option<U320>>) -> Result<ArrayRef> {
        let mut column = FixedSizeBinaryBuilder::with_capacity(sums.len(), SUM);
        for sum in sums {
            match sum {
                Some(sum) => column.append_value(sum.to_be_bytes::<40>())?,
                None => column.append_null(),
            }
        }
        Ok(Arc::new(column.finish()))
    }

    fn texts(sums: Vec<Option<U320>>) -> ArrayRef {
        let mut column = StringBuilder::new();
        for sum in sums {
            column.append_option(sum.map(|sum| sum.to_string()));
        }
        Arc::new(column.finish())
    }
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        wanted: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.0.resize(count, None);
        self.add(&values[0], |row| groups[row], wanted)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.update_batch(values, groups, None, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Self::texts(emit.take_needed(&mut self.0)))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Self::states(emit.take_needed(&mut self.0))?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        wanted: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut each = Self(vec![None; rows]);
        each.add(&values[0], |row| row, wanted)?;
        Ok(vec![Self::states(each.0)?])
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<Option<U320>>()
    }
}

/// The sum of one group.
#[derive(Debug)]
struct One(Sums);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.0.resize(1, None);
        self.0.add(&values[0], |_| 0, None)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.0.0.first().copied().flatten();
        Ok(ScalarValue::Utf8(sum.map(|sum| sum.to_string())))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = self.0.0.first().copied().flatten();
        let bytes = sum.map(|sum| sum.to_be_bytes::<40>().to_vec());
        Ok(vec![ScalarValue::FixedSizeBinary(SUM, bytes)])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }
}

/// A function of bytes that returns a text.
fn text(name: &'static str, of: &[DataType], text: fn(&[u8]) -> Option<String>) -> Arc<ScalarUDF> {
    let kinds = of.iter().cloned();
    let kinds = kinds.map(|kind| TypeSignature::Exact(vec![kind])).collect();
    let function = move |args: &[ColumnarValue]| {
        let column = ColumnarValue::values_to_arrays(args)?.remove(0);
        let fixed = column.as_fixed_size_binary_opt();
        let plain = column.as_binary_opt::<i32>();
        let mut texts = StringBuilder::new();
        for row in 0..column.len() {
            let bytes = match (fixed, plain) {
                _ if column.is_null(row) => None,
                (Some(fixed), _) => Some(fixed.value(row)),
                (_, Some(plain)) => Some(plain.value(row)),
                _ => return exec_err!("{name} is of bytes, not of {}", column.data_type()),
            };
            texts.append_option(bytes.and_then(text));
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    };
    Arc::new(ScalarUDF::from(SimpleScalarUDF::new_with_signature(
        name,
        Signature::one_of(kinds, Volatility::Immutable),
        DataType::Utf8,
        Arc::new(function),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(values: &[Option<U256>]) -> ArrayRef {
        let mut column = FixedSizeBinaryBuilder::new(AMOUNT);
        for value in values {
            match value {
                Some(value) => column.append_value(value.to_be_bytes::<32>()).unwrap(),
                None => column.append_null(),
            }
        }
        Arc::new(column.finish())
    }

    #[test]
    fn sums_are_exact_and_independent_of_how_they_are_divided() {
        let values: Vec<_> = (0..100u64)
            .map(|n| (n % 7 > 0).then(|| U256::MAX - U256::from(n * n)))
            .collect();
        let groups: Vec<usize> = (0..100).map(|n| n % 3).collect();
        let mut naive = [U320::ZERO; 3];
        for (value, group) in values.iter().zip(&groups) {
            let value = value.map(|value| U320::from_limbs_slice(value.as_limbs()));
            naive[*group] += value.unwrap_or_default();
        }
        let naive: Vec<_> = naive.iter().map(ToString::to_string).collect();
        let column = amounts(&values);
        let texts = |sums: &mut Sums| -> Vec<String> {
            let column = sums.evaluate(EmitTo::All).unwrap();
            let texts = column.as_string::<i32>().iter();
            texts.map(|text| text.unwrap().to_owned()).collect()
        };

        let mut whole = Sums::default();
        whole
            .update_batch(std::slice::from_ref(&column), &groups, None, 3)
            .unwrap();
        assert_eq!(texts(&mut whole), naive);

        let mut merged = Sums::default();
        for part in 0..10 {
            let rows = part * 10..(part + 1) * 10;
            let column = column.slice(rows.start, 10);
            let mut partial = Sums::default();
            partial
                .update_batch(
                    std::slice::from_ref(&column),
                    &groups[rows.clone()],
                    None,
                    3,
                )
                .unwrap();
            let states = match part % 2 {
                0 => partial.state(EmitTo::All).unwrap(),
                _ => partial.convert_to_state(&[column], None).unwrap(),
            };
            let groups = match part % 2 {
                0 => vec![0, 1, 2],
                _ => groups[rows].to_vec(),
            };
            merged.merge_batch(&states, &groups, 3).unwrap();
        }
        assert_eq!(texts(&mut merged), naive);

        let mut one = One(Sums::default());
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Utf8(None));
        one.update_batch(&[amounts(&[Some(U256::MAX), None, Some(U256::MAX)])])
            .unwrap();
        let state = one.state().unwrap()[0].to_array().unwrap();
        let mut other = One(Sums::default());
        other.merge_batch(&[state]).unwrap();
        assert_eq!(one.evaluate().unwrap(), other.evaluate().unwrap());
    }
}
