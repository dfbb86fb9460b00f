//! Names for selectors and topics.

use crate::{AbiError, Result, known, words::words};
use alloy_dyn_abi::{DynSolValue, ErrorExt, EventExt, FunctionExt, JsonAbiExt};
use alloy_json_abi::{ContractObject, Error, Event, Function, Param};
use alloy_primitives::{B256, Selector, hex};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

/// Bad lines of a file that are reported.
const BAD_REPORTED: usize = 10;

/// Bytes that are decoded; longer data has no name. Many offsets can point to the same bytes, and the
/// decoder copies them for each.
const DECODED_MAX: usize = 32 << 10;

/// Functions, events and errors by their selectors and topics.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    functions: HashMap<Selector, Vec<Function>>,
    events: HashMap<B256, Vec<Event>>,
    errors: HashMap<Selector, Vec<Error>>,
}

/// The signatures read from a file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Functions, events and errors.
    pub items: usize,
    /// Rows that are not signatures.
    pub bad: usize,
    /// The first of them: the file, the line and the reason.
    pub bad_rows: Vec<String>,
}

/// Something with a name and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name of the function, event or error.
    pub name: String,
    /// The names of the values, empty where none is known, and their texts.
    pub values: Vec<(String, String)>,
}

impl Dictionary {
    /// The signatures of common standards.
    pub fn common() -> Self {
        let mut dictionary = Self::default();
        for text in known::FUNCTIONS
            .iter()
            .chain(known::EVENTS)
            .chain(known::ERRORS)
        {
            // A test checks that all are valid.
            let _ = dictionary.signature(text);
        }
        dictionary
    }

    /// Adds the signatures of a file, or of all `*.json` files of a directory. They take precedence
    /// over those that were added before.
    ///
    /// A file is the JSON ABI of a contract, an artifact with one under `abi`, or lines with a
    /// selector and a signature (`0xa9059cbb transfer(address,uint256)`) or a declaration
    /// (`event Transfer(address indexed from, …)`). Lines of `#` are comments.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or has no signature.
    pub fn load(&mut self, path: &Path) -> Result<Loaded> {
        let io = |source| AbiError::Io {
            path: path.to_owned(),
            source,
        };
        let mut loaded = Loaded::default();
        if path.is_dir() {
            let mut files: Vec<PathBuf> = Vec::new();
            for entry in fs::read_dir(path).map_err(io)? {
                let file = entry.map_err(io)?.path();
                if file
                    .extension()
                    .is_some_and(|extension| extension == "json")
                {
                    files.push(file);
                }
            }
            files.sort();
            for file in &files {
                self.file(file, &mut loaded)?;
            }
        } else {
            self.file(path, &mut loaded)?;
        }
        match loaded.items {
            0 => Err(AbiError::File {
                path: path.to_owned(),
                reason: "it has no function, event or error".to_owned(),
            }),
            _ => Ok(loaded),
        }
    }

    fn file(&mut self, path: &Path, loaded: &mut Loaded) -> Result<()> {
        let text = fs::read_to_string(path).map_err(|source| AbiError::Io {
            path: path.to_owned(),
            source,
        })?;
        if text.trim_start().starts_with(['[', '{']) {
            let object = ContractObject::from_json_with(&completed(&text), true);
            let object = object.map_err(|error| AbiError::File {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
            let abi = object.abi.unwrap_or_default();
            loaded.items += abi.functions().count() + abi.events().count() + abi.errors().count();
            abi.functions().for_each(|one| self.function(one.clone()));
            abi.events().for_each(|one| self.event_of(one.clone()));
            abi.errors().for_each(|one| self.error_of(one.clone()));
            return Ok(());
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match self.line(line) {
                Ok(()) => loaded.items += 1,
                Err(reason) => {
                    loaded.bad += 1;
                    if loaded.bad_rows.len() < BAD_REPORTED {
                        let row = format!("{}:{}: {reason}", path.display(), number + 1);
                        loaded.bad_rows.push(row);
                    }
                }
            }
        }
        Ok(())
    }

    /// A line: a signature, with its selector before it or not.
    fn line(&mut self, line: &str) -> Result<(), String> {
        let Some((first, rest)) = line.split_once([' ', '\t', ',', ':', ';']) else {
            return self.signature(line);
        };
        let Ok(selector) = hex::decode(first) else {
            return self.signature(line);
        };
        let signature = rest.trim_matches([' ', '\t', ',', ':', ';', '"']);
        let function = Function::parse(signature).map_err(|error| one_line(&error))?;
        if function.selector()[..] != selector[..] {
            let theirs = function.selector();
            return Err(format!(
                "{signature} has the selector {theirs}, not {first}"
            ));
        }
        self.function(function);
        Ok(())
    }

    fn signature(&mut self, text: &str) -> Result<(), String> {
        if text.starts_with("event ") {
            self.event_of(Event::parse(text).map_err(|error| one_line(&error))?);
        } else if text.starts_with("error ") {
            self.error_of(Error::parse(text).map_err(|error| one_line(&error))?);
        } else {
            self.function(Function::parse(text).map_err(|error| one_line(&error))?);
        }
        Ok(())
    }

    fn function(&mut self, function: Function) {
        let all = self.functions.entry(function.selector()).or_default();
        all.insert(0, function);
    }

    fn event_of(&mut self, event: Event) {
        let all = self.events.entry(event.selector()).or_default();
        all.insert(0, event);
    }

    fn error_of(&mut self, error: Error) {
        let all = self.errors.entry(error.selector()).or_default();
        all.insert(0, error);
    }

    /// The signatures of a selector, the last added first. Different functions can share one.
    pub fn signatures(&self, selector: [u8; 4]) -> impl Iterator<Item = String> + '_ {
        let functions = self.functions.get(&Selector::from(selector));
        functions.into_iter().flatten().map(Function::signature)
    }

    /// The function and the arguments of calldata. `None` if no function fits exactly.
    pub fn call(&self, calldata: &[u8]) -> Option<Named> {
        let (function, values) = self.function_of(calldata)?;
        let names = function.inputs.iter().map(|param| param.name.clone());
        Some(Named::new(&function.name, names, &values))
    }

    /// The declaration of the function of calldata, as in `transfer(address to, uint256 amount)`.
    /// `None` if no function fits exactly.
    pub fn declaration(&self, calldata: &[u8]) -> Option<String> {
        let (function, _) = self.function_of(calldata)?;
        let words = |param: &Param| match param.name.as_str() {
            "" => param.selector_type().into_owned(),
            name => format!("{} {name}", param.selector_type()),
        };
        let inputs: Vec<_> = function.inputs.iter().map(words).collect();
        Some(format!("{}({})", function.name, inputs.join(", ")))
    }

    /// The values that a call returned, if its function and the returned types are known.
    pub fn returned(&self, calldata: &[u8], output: &[u8]) -> Option<Vec<String>> {
        let (function, _) = self.function_of(calldata)?;
        if function.outputs.is_empty() || output.len() > DECODED_MAX {
            return None;
        }
        let values = function.abi_decode_output(output).ok()?;
        (size(&values) <= output.len()).then(|| values.iter().map(words).collect())
    }

    fn function_of(&self, calldata: &[u8]) -> Option<(&Function, Vec<DynSolValue>)> {
        let (selector, data) = calldata.split_first_chunk::<4>()?;
        if data.len() > DECODED_MAX {
            return None;
        }
        let functions = self.functions.get(&Selector::from(*selector))?;
        functions.iter().find_map(|function| {
            let values = function.abi_decode_input(data).ok()?;
            if size(&values) > data.len() {
                return None;
            }
            // Data of another function with this selector rarely encodes to itself.
            let again = function.abi_encode_input_raw(&values).ok()?;
            (again == data).then_some((function, values))
        })
    }

    /// The event and the values of a log. `None` if no event fits.
    pub fn event(&self, topics: &[B256], data: &[u8]) -> Option<Named> {
        if data.len() > DECODED_MAX {
            return None;
        }
        let events = self.events.get(topics.first()?)?;
        events.iter().find_map(|event| {
            let indexed = event.inputs.iter().filter(|param| param.indexed).count();
            if indexed + 1 != topics.len() {
                return None;
            }
            let decoded = event.decode_log_parts(topics.iter().copied(), data).ok()?;
            if size(&decoded.body) > data.len() {
                return None;
            }
            let (mut indexed, mut body) = (decoded.indexed.into_iter(), decoded.body.into_iter());
            let values: Option<Vec<DynSolValue>> = event
                .inputs
                .iter()
                .map(|param| match param.indexed {
                    true => indexed.next(),
                    false => body.next(),
                })
                .collect();
            let names = event.inputs.iter().map(|param| param.name.clone());
            Some(Named::new(&event.name, names, &values?))
        })
    }

    /// The error that a call reverted with, if it is a known custom error.
    pub fn error(&self, output: &[u8]) -> Option<Named> {
        let selector = output.first_chunk::<4>()?;
        if output.len() > DECODED_MAX {
            return None;
        }
        let errors = self.errors.get(&Selector::from(*selector))?;
        errors.iter().find_map(|error| {
            let decoded = error.decode_error(output).ok()?;
            if size(&decoded.body) > output.len() {
                return None;
            }
            let names = error.inputs.iter().map(|param| param.name.clone());
            Some(Named::new(&error.name, names, &decoded.body))
        })
    }
}

impl Named {
    fn new(name: &str, names: impl Iterator<Item = String>, values: &[DynSolValue]) -> Self {
        Self {
            name: name.to_owned(),
            values: names.zip(values.iter().map(words)).collect(),
        }
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.name)?;
        for (at, (name, value)) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            match name.as_str() {
                "" => write!(f, "{comma}{value}")?,
                name => write!(f, "{comma}{name}: {value}")?,
            }
        }
        f.write_str(")")
    }
}

/// The least bytes that encode some values. Values that share bytes have more of them than their data.
fn size(values: &[DynSolValue]) -> usize {
    let sizes = values.iter().map(|value| match value {
        DynSolValue::Bytes(bytes) => bytes.len(),
        // A byte that is not UTF-8 became a character of several.
        DynSolValue::String(text) => text.chars().count(),
        DynSolValue::Array(values)
        | DynSolValue::FixedArray(values)
        | DynSolValue::Tuple(values) => size(values),
        _ => 32,
    });
    sizes.sum()
}

/// An ABI in JSON as it is read: events by hand often lack `anonymous`, and explorers answer with the ABI
/// as a text in `result`.
fn completed(text: &str) -> Cow<'_, str> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return text.into();
    };
    let answer = value.get("result").and_then(Value::as_str);
    if let Some(inner) = answer.and_then(|inner| serde_json::from_str(inner).ok()) {
        value = inner;
    }
    let items = match &mut value {
        Value::Array(items) => Some(items),
        value => value.get_mut("abi").and_then(Value::as_array_mut),
    };
    for item in items.into_iter().flatten() {
        if item["type"] == "event" && item.get("anonymous").is_none() {
            item["anonymous"] = false.into();
        }
    }
    value.to_string().into()
}

/// The message of a parser without its picture of the place.
fn one_line(error: &impl std::fmt::Display) -> String {
    error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{U256, b256};
    use proptest::prelude::*;

    const TRANSFER: B256 =
        b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

    #[test]
    fn common_signatures_are_valid() {
        let mut dictionary = Dictionary::default();
        for text in known::FUNCTIONS
            .iter()
            .chain(known::EVENTS)
            .chain(known::ERRORS)
        {
            assert_eq!(dictionary.signature(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn names_calls_events_and_errors() {
        let dictionary = Dictionary::common();
        let calldata = crate::Method::parse("transfer(address,uint256)")
            .unwrap()
            .encode(&["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "7"])
            .unwrap();
        let call = dictionary.call(&calldata).unwrap();
        assert_eq!(
            call.to_string(),
            "transfer(to: 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed, amount: 7)"
        );
        let declaration = dictionary.declaration(&calldata);
        assert_eq!(
            declaration.as_deref(),
            Some("transfer(address to, uint256 amount)")
        );
        assert_eq!(dictionary.declaration(&calldata[..67]), None);
        let one = B256::with_last_byte(1);
        assert_eq!(dictionary.returned(&calldata, &one[..]).unwrap(), ["true"]);
        // One byte too many is another function.
        assert_eq!(dictionary.call(&[&calldata[..], &[0]].concat()), None);

        let value = B256::with_last_byte(9);
        let erc20 = dictionary
            .event(&[TRANSFER, one, value], &value[..])
            .unwrap();
        assert!(erc20.to_string().ends_with("value: 9)"), "{erc20}");
        let erc721 = dictionary.event(&[TRANSFER, one, one, value], &[]).unwrap();
        assert!(erc721.to_string().ends_with("id: 9)"), "{erc721}");
        assert_eq!(dictionary.event(&[TRANSFER], &[]), None);

        let error = Error::parse("ERC20InvalidSender(address)").unwrap();
        let output = [&error.selector()[..], &one[..]].concat();
        let named = dictionary.error(&output).unwrap().to_string();
        assert!(
            named.starts_with("ERC20InvalidSender(sender: 0x0000"),
            "{named}"
        );
    }

    /// Data with one text of bytes, and many offsets to it: `multicall` returns it, and takes it.
    fn shared(offsets: usize, bytes: usize) -> Vec<u8> {
        let word = |number: usize| U256::from(number).to_be_bytes::<32>();
        let mut data = [word(32), word(offsets)].concat();
        data.extend((0..offsets).flat_map(|_| word(32 * offsets)));
        data.extend(word(bytes));
        data.resize(data.len() + bytes.next_multiple_of(32), 7);
        data
    }

    #[test]
    fn data_with_shared_bytes_has_no_name() {
        let dictionary = Dictionary::common();
        let multicall = Function::parse("multicall(bytes[])").unwrap().selector();
        let call = |data: &[u8]| [&multicall[..], data].concat();
        let empty = call(&shared(0, 0)[..64]);
        assert_eq!(
            dictionary.call(&empty).unwrap().to_string(),
            "multicall(calls: [])"
        );
        let returned = |data: &[u8]| dictionary.returned(&empty, data);
        assert_eq!(returned(&shared(1, 2)).unwrap(), ["[0x0707]"]);
        // Decoded, the larger one has 1 GiB.
        for data in [
            shared(5_793, 185_000),
            shared(500, 15_000),
            shared(2, 4_000),
        ] {
            assert_eq!(returned(&data), None);
            assert_eq!(dictionary.call(&call(&data)), None);
        }

        let mut custom = Dictionary::default();
        custom.signature("event Many(bytes[] all)").unwrap();
        custom.signature("error Many(bytes[] all)").unwrap();
        let topic = Event::parse("event Many(bytes[] all)").unwrap().selector();
        let selector = Error::parse("error Many(bytes[] all)").unwrap().selector();
        let error = |data: &[u8]| custom.error(&[&selector[..], data].concat());
        let one = shared(1, 2);
        assert!(custom.event(&[topic], &one).is_some() && error(&one).is_some());
        for data in [shared(5_793, 185_000), shared(500, 15_000)] {
            assert_eq!((custom.event(&[topic], &data), error(&data)), (None, None));
        }
    }

    /// Selectors of applications, as they are seen on mainnet.
    #[test]
    fn known_functions_have_their_selectors() {
        let dictionary = Dictionary::common();
        for (selector, name) in [
            (
                0xb6f9de95_u32,
                "swapExactETHForTokensSupportingFeeOnTransferTokens",
            ),
            (
                0x791ac947,
                "swapExactTokensForETHSupportingFeeOnTransferTokens",
            ),
            (
                0x5c11d795,
                "swapExactTokensForTokensSupportingFeeOnTransferTokens",
            ),
            (0xfb3bdb41, "swapETHForExactTokens"),
            (0x4a25d94a, "swapTokensForExactETH"),
            (0xf305d719, "addLiquidityETH"),
            (0x414bf389, "exactInputSingle"),
            (0x04e45aaf, "exactInputSingle"),
            (0xc04b8d59, "exactInput"),
            (0xb858183f, "exactInput"),
            (0xdb3e2198, "exactOutputSingle"),
            (0x5023b4df, "exactOutputSingle"),
            (0x49404b7c, "unwrapWETH9"),
            (0x24856bc3, "execute"),
            (0x87517c45, "approve"),
            (0x2b67b570, "permit"),
            (0x36c78516, "transferFrom"),
            (0x07ed2379, "swap"),
            (0x83800a8e, "unoswap"),
            (0x617ba037, "supply"),
            (0x69328dec, "withdraw"),
            (0xa415bcad, "borrow"),
            (0x573ade81, "repay"),
            (0xa1903eab, "submit"),
            (0x21a0adb6, "withdraw"),
            (0xb214faa5, "deposit"),
            (0x22895118, "deposit"),
            (0xe63d38ed, "disperseEther"),
            (0xc73a2d60, "disperseToken"),
            (0x252dba42, "aggregate"),
            (0x82ad56cb, "aggregate3"),
            (0xbce38bd7, "tryAggregate"),
            (0x1fad948c, "handleOps"),
            (0x765e827f, "handleOps"),
        ] {
            let mut signatures = dictionary.signatures(selector.to_be_bytes());
            let is_known = signatures.any(|it| it.split('(').next() == Some(name));
            assert!(is_known, "{selector:#x} {name}");
        }
    }

    #[test]
    fn reads_abi_files_and_lists() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("4byte.txt");
        fs::write(
            &list,
            "# selectors\n0x12345678 foo(uint256)\na9059cbb: transfer(address,uint256)\n\
             event Odd(uint256 indexed a)\nbad(\n",
        )
        .unwrap();
        let mut dictionary = Dictionary::default();
        let loaded = dictionary.load(&list).unwrap();
        assert_eq!((loaded.items, loaded.bad), (2, 2));
        assert!(
            loaded.bad_rows[0].contains("4byte.txt:2: foo(uint256) has the selector 0x2fbebd38")
        );
        assert!(loaded.bad_rows[1].contains("4byte.txt:5: "), "{loaded:?}");

        let abis = folder.path().join("abis");
        fs::create_dir(&abis).unwrap();
        let abi = r#"[{"type":"function","name":"poke","inputs":[{"name":"x","type":"bool"}],
            "outputs":[],"stateMutability":"nonpayable"}]"#;
        fs::write(abis.join("a.json"), abi).unwrap();
        fs::write(abis.join("b.json"), format!("{{\"abi\":{abi}}}")).unwrap();
        let loaded = dictionary.load(&abis).unwrap();
        assert_eq!(
            loaded,
            Loaded {
                items: 2,
                ..Loaded::default()
            }
        );
        let selector = Function::parse("poke(bool)").unwrap().selector();
        assert_eq!(
            dictionary.signatures(selector.0).next().unwrap(),
            "poke(bool)"
        );

        fs::write(abis.join("c.json"), "{\"abi\": 7}").unwrap();
        assert!(
            dictionary
                .load(&abis)
                .unwrap_err()
                .to_string()
                .contains("c.json")
        );
        fs::write(&list, "# nothing\n").unwrap();
        let empty = dictionary.load(&list).unwrap_err().to_string();
        assert!(empty.contains("no function, event or error"), "{empty}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_named_or_not(
            which in 0..known::FUNCTIONS.len(),
            data in prop::collection::vec(prop_oneof![Just(0u8), Just(32), Just(255), any::<u8>()], 0..300),
        ) {
            let dictionary = Dictionary::common();
            let selector = Function::parse(known::FUNCTIONS[which]).unwrap().selector();
            let calldata = [&selector[..], &data].concat();
            let _ = (dictionary.call(&calldata), dictionary.returned(&calldata, &data));
            let words: Vec<B256> = data.chunks_exact(32).take(4).map(B256::from_slice).collect();
            let _ = (dictionary.event(&words, &data), dictionary.error(&data));
            for topics in 0..4 {
                let topics = [vec![TRANSFER], vec![B256::ZERO; topics]].concat();
                let _ = dictionary.event(&topics, &data);
            }
        }
    }
}
