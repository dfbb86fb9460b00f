//! A function by its signature.

use crate::{AbiError, Result, decoded_size::fits_in, words::words};
use alloy_dyn_abi::{DynSolType, DynSolValue, FunctionExt, JsonAbiExt, Specifier};
use alloy_json_abi::{Function, Param};

/// The bytes that returned values have at most. Each copy counts, if offsets in the data share bytes.
const DECODED_BYTES_MAX: usize = 16 << 20;

/// A function: its name, and the types of its arguments and of what it returns.
///
/// ```
/// use txgraph_abi::Method;
///
/// let method = Method::parse("balanceOf(address)(uint256)")?;
/// let calldata = method.encode(&["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"])?;
/// assert_eq!(calldata.len(), 36);
/// assert_eq!(method.decode(&[&[0; 31][..], &[7]].concat())?, ["7"]);
/// # Ok::<(), txgraph_abi::AbiError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Method(Function);

impl Method {
    /// Reads a signature: `name(types)`, `name(types)(returned types)`, or a declaration of
    /// Solidity.
    ///
    /// # Errors
    ///
    /// [`AbiError::Signature`], and [`AbiError::Type`] for an unknown type.
    pub fn parse(text: &str) -> Result<Self> {
        let function = Function::parse(text.trim()).map_err(|error| AbiError::Signature {
            text: text.to_owned(),
            // The parser shows the place in several lines.
            reason: error
                .to_string()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        })?;
        let method = Self(function);
        for param in method.0.inputs.iter().chain(&method.0.outputs) {
            method.resolve(param)?;
        }
        Ok(method)
    }

    /// The signature without returned types, from which the selector is made.
    pub fn signature(&self) -> String {
        self.0.signature()
    }

    /// Whether the signature has the types of what the function returns.
    pub const fn has_outputs(&self) -> bool {
        !self.0.outputs.is_empty()
    }

    /// The calldata for some arguments: the selector and the encoded arguments.
    ///
    /// Numbers are decimal, hex, or have a unit (`1ether`); arrays are `[1, 2]`, tuples `(1, 0x…)`.
    ///
    /// # Errors
    ///
    /// [`AbiError::Count`] and [`AbiError::Argument`].
    pub fn encode(&self, arguments: &[impl AsRef<str>]) -> Result<Vec<u8>> {
        self.check_count(arguments.len())?;
        let inputs = &self.0.inputs;
        let mut values = Vec::with_capacity(inputs.len());
        for (at, (param, text)) in inputs.iter().zip(arguments).enumerate() {
            let text = text.as_ref();
            let value = self.resolve(param)?.coerce_str(text);
            values.push(value.map_err(|_| AbiError::Argument {
                signature: self.signature(),
                position: at + 1,
                kind: param.ty.clone(),
                text: text.to_owned(),
            })?);
        }
        self.encode_values(&values)
    }

    /// The types of the arguments.
    ///
    /// # Errors
    ///
    /// [`AbiError::Type`] for an unknown type, which [`Self::parse`] refuses.
    pub fn inputs(&self) -> Result<Vec<DynSolType>> {
        let inputs = self.0.inputs.iter();
        inputs.map(|param| self.resolve(param)).collect()
    }

    /// The calldata for arguments that are values already.
    ///
    /// # Errors
    ///
    /// [`AbiError::Count`], and [`AbiError::Type`] if a value is not of the type of its argument.
    pub fn encode_values(&self, values: &[DynSolValue]) -> Result<Vec<u8>> {
        self.check_count(values.len())?;
        let encoded = self.0.abi_encode_input(values);
        encoded.map_err(|error| self.of_type(&error))
    }

    /// The returned values, as text.
    ///
    /// # Errors
    ///
    /// [`AbiError::Output`] if the data is not of the types in the signature.
    pub fn decode(&self, output: &[u8]) -> Result<Vec<String>> {
        Ok(self.decode_values(output)?.iter().map(words).collect())
    }

    /// The returned values.
    ///
    /// # Errors
    ///
    /// [`AbiError::Output`] if the data is not of the types in the signature, or the values have more than
    /// 16 MiB.
    pub fn decode_values(&self, output: &[u8]) -> Result<Vec<DynSolValue>> {
        let wrong = |reason: String| AbiError::Output {
            types: types(&self.0.outputs),
            bytes: output.len(),
            reason,
        };
        let kinds = self.0.outputs.iter().map(|param| self.resolve(param));
        let kinds = kinds.collect::<Result<Vec<_>>>()?;
        if !fits_in(&kinds, output, DECODED_BYTES_MAX) {
            return Err(wrong(format!(
                "the values have more than {} MiB; leave their types out to get the bytes",
                DECODED_BYTES_MAX >> 20
            )));
        }
        let values = self.0.abi_decode_output(output);
        let values = values.map_err(|error| wrong(error.to_string()))?;
        // The decoder cuts addresses, and takes any word for a boolean. The words of dynamic types can be anywhere,
        // so only outputs without one are compared.
        let is_dynamic = values.iter().any(DynSolValue::is_dynamic);
        let is_whole = || {
            let encoded = DynSolValue::Tuple(values.clone()).abi_encode_params();
            output.starts_with(&encoded)
        };
        if !values.iter().all(fits) || !(is_dynamic || is_whole()) {
            return Err(wrong("a word is not a value of its type".into()));
        }
        Ok(values)
    }

    /// Checks the number of arguments.
    ///
    /// # Errors
    ///
    /// [`AbiError::Count`] if the function has another number.
    pub fn check_count(&self, given: usize) -> Result<()> {
        let expected = self.0.inputs.len();
        match expected == given {
            true => Ok(()),
            false => Err(AbiError::Count {
                signature: self.signature(),
                expected,
                given,
            }),
        }
    }

    fn resolve(&self, param: &Param) -> Result<DynSolType> {
        param.resolve().map_err(|error| self.of_type(&error))
    }

    fn of_type(&self, error: &alloy_dyn_abi::Error) -> AbiError {
        AbiError::Type {
            signature: self.signature(),
            reason: error.to_string(),
        }
    }
}

/// Whether numbers and bytes are in the range of their types.
fn fits(value: &DynSolValue) -> bool {
    match value {
        DynSolValue::Uint(number, bits) => number.bit_len() <= *bits,
        DynSolValue::Int(number, bits) => number.bits() <= u32::try_from(*bits).unwrap_or(u32::MAX),
        DynSolValue::FixedBytes(word, length) => word.iter().skip(*length).all(|byte| *byte == 0),
        DynSolValue::Array(items) | DynSolValue::FixedArray(items) | DynSolValue::Tuple(items) => {
            items.iter().all(fits)
        }
        _ => true,
    }
}

fn types(params: &[Param]) -> String {
    let types: Vec<_> = params.iter().map(|param| param.ty.as_str()).collect();
    types.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{U256, hex};
    use proptest::prelude::*;

    #[test]
    fn encodes_what_people_write() {
        let method = Method::parse("transfer(address to, uint256 amount) returns (bool)").unwrap();
        assert_eq!(method.signature(), "transfer(address,uint256)");
        let to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        let data = method.encode(&[to, "1ether"]).unwrap();
        assert_eq!(
            hex::encode(data),
            "a9059cbb0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed\
             0000000000000000000000000000000000000000000000000de0b6b3a7640000"
        );
        assert_eq!(
            method.decode(&[&[0; 31][..], &[1]].concat()).unwrap(),
            ["true"]
        );
    }

    #[test]
    fn values_are_encoded_as_their_text() {
        let method = Method::parse("f(string,uint8[])(bytes,int8)").unwrap();
        let kinds = method.inputs().unwrap();
        let text = DynSolValue::String("a,\"b".to_owned());
        let values = [text, kinds[1].coerce_str("[1,2]").unwrap()];
        let data = method.encode_values(&values).unwrap();
        assert_eq!(data, method.encode(&["a,\"b", "[1,2]"]).unwrap());
        assert!(method.encode_values(&values[..1]).is_err());
        let swapped = [values[1].clone(), values[0].clone()];
        assert!(method.encode_values(&swapped).is_err());
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for (signature, arguments, message) in [
            ("balanceOf", vec![], "is not a signature"),
            ("balanceOf(adress)", vec![], "adress"),
            (
                "balanceOf(address)",
                vec![],
                "has 1 arguments, and 0 are given",
            ),
            (
                "balanceOf(address)",
                vec!["0x12"],
                "`0x12` is not of type address",
            ),
            ("f(uint8)", vec!["256"], "`256` is not of type uint8"),
        ] {
            let error = Method::parse(signature)
                .and_then(|method| method.encode(&arguments))
                .unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        let method = Method::parse("symbol()(string)").unwrap();
        let error = method.decode(&[0; 20]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("20 returned bytes are not (string)"),
            "{error}"
        );
    }

    #[test]
    fn refuses_words_that_are_no_values_of_their_types() {
        let mut word = [0; 32];
        (word[0], word[15], word[31]) = (1, 1, 200);
        for types in [
            "uint8", "int8", "bool", "address", "bytes4", "uint8[1]", "(bool)",
        ] {
            let method = Method::parse(&format!("f()({types})")).unwrap();
            let error = method.decode(&word).unwrap_err().to_string();
            assert!(
                error.contains("not a value of its type"),
                "{types}: {error}"
            );
        }
        let decode = |types: &str, words: &[[u8; 32]]| {
            let method = Method::parse(&format!("f()({types})")).unwrap();
            method.decode(&words.concat())
        };
        assert!(decode("uint256", &[word]).is_ok());
        assert!(decode("uint256", &[word, word]).is_ok());
        assert_eq!(decode("int8", &[[255; 32]]).unwrap(), ["-1"]);
        let number = |number: u8| {
            let mut word = [0; 32];
            word[31] = number;
            word
        };
        let list = |item| [number(32), number(1), number(item)];
        assert_eq!(decode("int8[]", &list(127)).unwrap(), ["[127]"]);
        assert!(decode("int8[]", &list(128)).is_err());
    }

    /// Decoded, the largest ones would have gigabytes.
    #[test]
    fn values_that_share_bytes_are_bounded() {
        let word = |number: usize| U256::from(number).to_be_bytes::<32>();
        let list = |items: usize, offset: usize| {
            let offsets = (0..items).flat_map(move |_| word(offset));
            word(items).into_iter().chain(offsets)
        };
        // An array of arrays of bytes: all offsets of a level are the same.
        let nested = |levels: u32, items: usize, bytes: usize| {
            let mut data = word(32).to_vec();
            (0..levels).for_each(|_| data.extend(list(items, 32 * items)));
            data.extend(word(bytes));
            data.resize(data.len() + bytes.next_multiple_of(32), 7);
            data
        };
        for (kind, levels, items, bytes, is_decoded) in [
            ("bytes[]", 1, 3, 40, true),
            ("bytes[]", 1, 500, 30_000, true),
            ("bytes[]", 1, 600, 30_000, false),
            ("bytes[]", 1, 60_000, 2_000_000, false),
            ("bytes[][]", 2, 10, 100_000, true),
            ("bytes[][]", 2, 3_000, 32, false),
            ("string[][][]", 3, 2_000, 0, false),
        ] {
            let method = Method::parse(&format!("f()({kind})")).unwrap();
            let data = nested(levels, items, bytes);
            match method.decode_values(&data) {
                Ok(_) => assert!(is_decoded, "{kind} {items} {bytes}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_decoded && error.contains("more than 16 MiB"), "{error}");
                }
            }
        }
        let endless = [word(32), word(usize::MAX)].concat();
        let list = Method::parse("f()(uint256[])").unwrap();
        let error = list.decode(&endless).unwrap_err().to_string();
        assert!(!error.contains("MiB"), "{error}");
    }

    proptest! {
        #[test]
        fn any_output_is_decoded_or_refused(
            output in prop::collection::vec(prop_oneof![Just(0u8), Just(32), Just(255), any::<u8>()], 0..300),
        ) {
            for signature in ["f()(string,uint256[])", "f()(bytes[][],(address,int8)[3])", "f()(bool)"] {
                let _ = Method::parse(signature).unwrap().decode(&output);
            }
        }
    }
}
