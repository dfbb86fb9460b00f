//! Python values as arguments of contracts, and what contracts return as Python values.

use crate::{errors::raise, values::integer};
use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyBytes, PyInt, PyList, PyTuple},
};
use txgraph::{AbiType, AbiValue, Address, B256, Error, Method};

/// The calldata of a function with arguments.
pub(crate) fn calldata(
    py: Python<'_>,
    method: &Method,
    arguments: &[Bound<'_, PyAny>],
) -> PyResult<Vec<u8>> {
    let kinds = method.check_count(arguments.len());
    let kinds = kinds.and_then(|()| method.inputs());
    let kinds = kinds.map_err(|error| raise(py, &error.into()))?;
    let mut values = Vec::with_capacity(kinds.len());
    for (at, (kind, value)) in kinds.iter().zip(arguments).enumerate() {
        let name = || format!("argument {} of {}", at + 1, method.signature());
        values.push(from_python(value, kind, &name)?);
    }
    let encoded = method.encode_values(&values);
    encoded.map_err(|error| raise(py, &error.into()))
}

/// A value of a type. Text is read as on the command line, except that a string is exactly itself.
fn from_python(
    value: &Bound<'_, PyAny>,
    kind: &AbiType,
    name: &dyn Fn() -> String,
) -> PyResult<AbiValue> {
    let wrong = || {
        let text = format!("{}: {value} is not of type {kind}", name());
        raise(value.py(), &Error::usage(text))
    };
    let coerced = |text: &str| kind.coerce_str(text).map_err(|_| wrong());
    if let Ok(text) = value.extract::<String>() {
        return match kind {
            AbiType::String => Ok(AbiValue::String(text)),
            _ => coerced(&text),
        };
    }
    // Integers of numpy are no `int`.
    let is_number =
        value.hasattr(intern!(value.py(), "__index__"))? && !value.is_instance_of::<PyBool>();
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    let bytes = || value.extract::<Vec<u8>>().ok().filter(|_| !is_list);
    let items = |kinds: &mut dyn Iterator<Item = &AbiType>| -> PyResult<Vec<AbiValue>> {
        let values = value.try_iter()?.zip(kinds);
        values
            .map(|(value, kind)| from_python(&value?, kind, name))
            .collect()
    };
    let count = || value.len();
    let found = match kind {
        AbiType::Bool if value.is_instance_of::<PyBool>() => AbiValue::Bool(value.extract()?),
        AbiType::Int(_) | AbiType::Uint(_) if is_number => {
            let number = value.call_method0(intern!(value.py(), "__index__"))?;
            coerced(&number.str()?.extract::<String>()?)?
        }
        AbiType::Array(kind) if is_list => AbiValue::Array(items(&mut std::iter::repeat(&**kind))?),
        AbiType::FixedArray(kind, length) if is_list => match count()? == *length {
            true => AbiValue::FixedArray(items(&mut std::iter::repeat(&**kind))?),
            false => return Err(wrong()),
        },
        AbiType::Tuple(kinds) if is_list => match count()? == kinds.len() {
            true => AbiValue::Tuple(items(&mut kinds.iter())?),
            false => return Err(wrong()),
        },
        _ => match (kind, bytes()) {
            (AbiType::Bytes, Some(bytes)) => AbiValue::Bytes(bytes),
            (AbiType::Address, Some(bytes)) => {
                AbiValue::Address(Address::try_from(&*bytes).map_err(|_| wrong())?)
            }
            (AbiType::FixedBytes(length), Some(bytes)) if bytes.len() == *length => {
                AbiValue::FixedBytes(B256::right_padding_from(&bytes), *length)
            }
            (AbiType::FixedBytes(_), Some(_)) => return Err(wrong()),
            _ => {
                let given = value.get_type().name()?;
                let text = format!("{}: a value of type {given} cannot be {kind}", name());
                return Err(PyTypeError::new_err(text));
            }
        },
    };
    Ok(found)
}

/// A value that a contract returned: numbers as integers, addresses as text with checksum.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &AbiValue) -> PyResult<Bound<'py, PyAny>> {
    let list = |values: &[AbiValue]| -> PyResult<Vec<Bound<'py, PyAny>>> {
        values.iter().map(|value| to_python(py, value)).collect()
    };
    Ok(match value {
        AbiValue::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        AbiValue::Uint(value, _) => integer(py, value)?,
        AbiValue::Int(value, _) => py.get_type::<PyInt>().call1((value.to_string(),))?,
        AbiValue::Address(address) => address.to_string().into_pyobject(py)?.into_any(),
        AbiValue::FixedBytes(word, length) => {
            PyBytes::new(py, word.get(..*length).unwrap_or(&word[..])).into_any()
        }
        AbiValue::Function(function) => PyBytes::new(py, function.as_slice()).into_any(),
        AbiValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        AbiValue::String(text) => text.into_pyobject(py)?.into_any(),
        AbiValue::Array(values) | AbiValue::FixedArray(values) => {
            PyList::new(py, list(values)?)?.into_any()
        }
        AbiValue::Tuple(values) => PyTuple::new(py, list(values)?)?.into_any(),
    })
}
