//! Lists: several values, commas, or `@FILE`.

use super::{
    Checksum,
    files::{Limited, unreadable},
    parse_address, parse_blocks,
};
use crate::{BlockSpec, Error, Result};
use alloy_primitives::{Address, map::AddressHashSet};
use serde_json::Value;
use std::{collections::BTreeMap, io::Read as _, path::Path};
use txgraph_transfers::{TokenFilter, WrappedNative};

/// Bytes that are read of a list at most: about 1.5 million addresses.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// Calls `each` for every value of a list. `@FILE` stands for the first column of a file:
/// one value per line, or CSV. Empty lines, lines that start with `#`, and a first line
/// whose first field is `address` or `token_address` are skipped.
fn for_each(written: &[String], mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let items = written.iter().flat_map(|text| text.split(','));
    for item in items.map(str::trim) {
        match item.strip_prefix('@') {
            Some(path) => {
                let path = Path::new(path);
                for_each_row(path, |row| {
                    each(&row.first).map_err(|error| error.at(row.place(path)))
                })?;
            }
            None if item.is_empty() => {}
            None => each(item)?,
        }
    }
    Ok(())
}

/// Reads addresses, in order; an address that occurs twice is kept once.
pub fn addresses(written: &[String], checksum: Checksum) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::new();
    let mut seen = AddressHashSet::default();
    for_each(written, |text| {
        let address = parse_address(text, checksum)?;
        if seen.insert(address) {
            addresses.push(address);
        }
        Ok(())
    })?;
    Ok(addresses)
}

/// Reads block ranges.
pub fn block_specs(written: &[String]) -> Result<Vec<BlockSpec>> {
    let mut specs = Vec::new();
    for_each(written, |text| {
        specs.extend(parse_blocks(text)?);
        Ok(())
    })?;
    match specs.is_empty() && !written.is_empty() {
        true => Err(Error::usage("the list of blocks is empty")),
        false => Ok(specs),
    }
}

/// Reads tokens: addresses, `eth` or `native` for the native coin, `all`. Nothing written
/// means all; an empty list (an empty file, say) is an error.
pub fn tokens(written: &[String], checksum: Checksum) -> Result<TokenFilter> {
    let (mut all, mut native) = (written.is_empty(), false);
    let mut tokens = AddressHashSet::default();
    for_each(written, |text| {
        match text.to_ascii_lowercase().as_str() {
            "all" => all = true,
            "eth" | "native" => native = true,
            _ => drop(tokens.insert(parse_address(text, checksum)?)),
        }
        Ok(())
    })?;
    match (all, native || !tokens.is_empty()) {
        (true, _) => Ok(TokenFilter::All),
        (false, true) => Ok(TokenFilter::Only { tokens, native }),
        (false, false) => Err(Error::usage("the list of tokens is empty")),
    }
}

/// Reads `auto`, `any`, `none`, or addresses.
pub fn wrapped_native(written: &[String], checksum: Checksum) -> Result<WrappedNative> {
    let (mut word, mut count, mut contracts) = (None, 0, Vec::new());
    for_each(written, |text| {
        count += 1;
        match text {
            "auto" if count == 1 => word = Some(WrappedNative::Auto),
            "any" if count == 1 => word = Some(WrappedNative::Any),
            "none" if count == 1 => word = Some(WrappedNative::None),
            // Next to another value, a word is read as an address and refused.
            _ => contracts.push(parse_address(text, checksum)?),
        }
        Ok(())
    })?;
    match (word, contracts.is_empty()) {
        (None, true) => Ok(WrappedNative::Auto),
        (None, false) => Ok(WrappedNative::Only(contracts)),
        (Some(word), true) => Ok(word),
        (Some(_), false) => Err(Error::usage(
            "wrapped coins are `auto`, `any`, `none`, or addresses",
        )),
    }
}

/// Reads a file of addresses with labels: CSV `address,label`, one address per line, or JSON: an
/// array of addresses, an array of objects with an `address`, or an object by address, whose values
/// are labels or objects. The label of an object is its `label`, else its `name`. The later of two
/// entries of an address counts.
///
/// # Errors
///
/// If the file cannot be read or is too large, or if an entry has no valid address or belongs to
/// one chain (`chainId`): an address of another chain may be somebody else.
pub fn stop_list(path: &Path, checksum: Checksum) -> Result<BTreeMap<Address, String>> {
    let mut list = BTreeMap::new();
    if let Some(json) = read_json(path)? {
        json_labels(json, |text, label| {
            list.insert(parse_address(text, checksum)?, label);
            Ok(())
        })
        .map_err(|error| error.at(path.display()))?;
        return Ok(list);
    }
    for_each_row(path, |row| {
        let address = parse_address(&row.first, checksum)
            .map_err(|error| Error::from(error).at(row.place(path)))?;
        list.insert(address, row.second);
        Ok(())
    })?;
    Ok(list)
}

/// The content of a regular file that begins like JSON.
fn read_json(path: &Path) -> Result<Option<Value>> {
    // A pipe can be read only once, and its rows are CSV.
    if !path.is_file() {
        return Ok(None);
    }
    let open = || Limited::open(path, LIST_BYTES_MAX).map_err(|error| Error::io(path, error));
    let mut start = [0; 64];
    let mut file = open()?;
    let length = file
        .read(&mut start)
        .map_err(|error| unreadable(path, error))?;
    let start = start[..length].trim_ascii_start();
    if !start.starts_with(b"[") && !start.starts_with(b"{") {
        return Ok(None);
    }
    let mut text = String::new();
    open()?
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, error))?;
    let json = serde_json::from_str(&text)
        .map_err(|error| Error::usage(format!("not valid JSON: {error}")).at(path.display()))?;
    Ok(Some(json))
}

/// Calls `each` for every address of a JSON document and its label.
fn json_labels(json: Value, mut each: impl FnMut(&str, String) -> Result<()>) -> Result<()> {
    match json {
        Value::Array(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                let place = || format!("entry {}", at + 1);
                let address = entry.as_str().or_else(|| entry.get("address")?.as_str());
                let address =
                    address.ok_or_else(|| Error::usage("has no `address`").at(place()))?;
                let label = match entry {
                    Value::String(_) => Ok(String::new()),
                    entry => label_of(entry),
                };
                label
                    .and_then(|label| each(address, label))
                    .map_err(|error| error.at(place()))?;
            }
        }
        Value::Object(entries) => {
            for (address, entry) in &entries {
                each(address, label_of(entry)?)?;
            }
        }
        _ => return Err(Error::usage("not a list of addresses")),
    }
    Ok(())
}

/// The label of an entry: text, or an object with a `label` or a `name`.
fn label_of(entry: &Value) -> Result<String> {
    if entry.get("chainId").is_some() {
        return Err(Error::usage("belongs to one chain (`chainId`)")
            .hint("write a list of the addresses of this chain, without `chainId`"));
    }
    let field = |name| entry.get(name).filter(|value| !value.is_null());
    match (entry, field("label").or_else(|| field("name"))) {
        (Value::String(label), _) | (Value::Object(_), Some(Value::String(label))) => {
            Ok(label.trim().to_owned())
        }
        (Value::Null, _) | (Value::Object(_), None) => Ok(String::new()),
        _ => Err(Error::usage("the label is not text")),
    }
}

struct Row {
    line: u64,
    first: String,
    second: String,
}

impl Row {
    fn place(&self, path: &Path) -> String {
        format!("{}:{}", path.display(), self.line)
    }
}

fn for_each_row(path: &Path, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
    let file = Limited::open(path, LIST_BYTES_MAX).map_err(|error| Error::io(path, error))?;
    // Skips a byte order mark by itself.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(file);
    let mut is_first = true;
    for record in reader.records() {
        let record = record.map_err(|error| {
            let message = error.to_string();
            match error.into_kind() {
                csv::ErrorKind::Io(error) => unreadable(path, error),
                _ => Error::usage(message).at(path.display()),
            }
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |at| record.get(at).unwrap_or_default().to_owned();
        let row = Row {
            line,
            first: field(0),
            second: field(1),
        };
        // A quote that is not closed would swallow the rows after it.
        if record.iter().any(|field| field.contains('\n')) {
            return Err(
                Error::usage("a field contains a line break; is a quote not closed?")
                    .at(row.place(path)),
            );
        }
        if row.first.is_empty() {
            continue;
        }
        let heading = matches!(
            row.first.to_ascii_lowercase().as_str(),
            "address" | "token_address"
        );
        if std::mem::take(&mut is_first) && heading {
            continue;
        }
        each(row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const A: &str = "0x00000000000000000000000000000000000000aa";
    const B: &str = "0x00000000000000000000000000000000000000bb";

    fn strings(values: &[&str]) -> Vec<String> {
        values.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lists_have_commas_or_come_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.csv");
        fs::write(
            &path,
            format!("Address,label\n# no\n\n{B},\"a, \"\"b\"\"\"\r\n{A}\n"),
        )
        .unwrap();
        let at = format!("@{}", path.display());
        let list = addresses(&strings(&[A, &at]), Checksum::Verify).unwrap();
        assert_eq!(list, [A.parse::<Address>().unwrap(), B.parse().unwrap()]);
        let stop = stop_list(&path, Checksum::Verify).unwrap();
        assert_eq!(stop[&B.parse::<Address>().unwrap()], "a, \"b\"");
        assert_eq!(stop[&A.parse::<Address>().unwrap()], "");

        fs::write(&path, format!("{A}\nunknown\n")).unwrap();
        let error = stop_list(&path, Checksum::Verify).unwrap_err();
        assert!(error.message.contains("list.csv:2: `unknown`"), "{error}");
        fs::write(&path, format!("{A},\"open\n{B},b\n")).unwrap();
        let error = stop_list(&path, Checksum::Verify).unwrap_err();
        assert!(
            error
                .message
                .contains("list.csv:1: a field contains a line break"),
            "{error}"
        );
        assert!(tokens(&strings(&["@/no/such/list"]), Checksum::Verify).is_err());
    }

    #[test]
    fn labels_come_from_json() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.json");
        let read = |json: &str| {
            fs::write(&path, json).unwrap();
            stop_list(&path, Checksum::Verify)
        };
        let (a, b) = (A.parse::<Address>().unwrap(), B.parse::<Address>().unwrap());
        let both = |x: &str, y: &str| BTreeMap::from([(a, x.to_owned()), (b, y.to_owned())]);
        for (json, expected) in [
            (format!(r#" ["{A}", "{B}"]"#), both("", "")),
            (
                format!(r#"[{{"address":"{A}","label":"x"}},{{"address":"{B}","name":"y"}}]"#),
                both("x", "y"),
            ),
            (
                format!(r#"{{"{A}":{{"name":" x","labels":["dex"]}},"{B}":"y"}}"#),
                both("x", "y"),
            ),
            (
                format!(r#"["{A}","{B}",{{"address":"{A}","label":"z"}}]"#),
                both("z", ""),
            ),
        ] {
            assert_eq!(read(&json).unwrap(), expected, "{json}");
        }
        for (json, reason) in [
            ("[".into(), "not valid JSON"),
            (format!(r#"["{A}",7]"#), "entry 2"),
            (r#"{"tokens":[]}"#.into(), "list.json"),
            (
                format!(r#"[{{"address":"{A}","chainId":10}}]"#),
                "belongs to one chain",
            ),
            (format!(r#"{{"{A}":7}}"#), "the label is not text"),
        ] {
            let error = read(&json).unwrap_err();
            assert!(error.message.contains(reason), "{json}: {error}");
        }
    }

    #[test]
    fn reads_tokens() {
        let read = |values: &[&str]| tokens(&strings(values), Checksum::Verify);
        assert!(matches!(read(&[]), Ok(TokenFilter::All)));
        assert!(matches!(read(&["all"]), Ok(TokenFilter::All)));
        assert!(matches!(read(&[A, "all"]), Ok(TokenFilter::All)));
        let both = format!("ETH,{A}");
        let Ok(TokenFilter::Only { tokens, native }) = read(&[&both]) else {
            panic!()
        };
        assert!(native && tokens.len() == 1);
        let Ok(TokenFilter::Only { tokens, native }) = read(&[A]) else {
            panic!()
        };
        assert!(!native && tokens.len() == 1);
        assert!(read(&["usdc"]).is_err());
        // A file without tokens must not mean all of them.
        assert!(read(&[","]).is_err());
    }

    #[test]
    fn reads_wrapped_coins() {
        let read = |values: &[&str]| wrapped_native(&strings(values), Checksum::Verify).unwrap();
        assert_eq!(read(&[]), WrappedNative::Auto);
        assert_eq!(read(&["any"]), WrappedNative::Any);
        assert_eq!(read(&["none"]), WrappedNative::None);
        assert_eq!(read(&[A]), WrappedNative::Only(vec![A.parse().unwrap()]));
        assert!(wrapped_native(&strings(&["auto", A]), Checksum::Verify).is_err());
    }

    #[test]
    fn files_have_a_limit() {
        let zeros = addresses(&strings(&["@/dev/zero"]), Checksum::Verify).unwrap_err();
        assert_eq!(zeros.kind, crate::ErrorKind::Usage, "{zeros:?}");
        let long = "x".repeat(1 << 20);
        let error = addresses(&strings(&[&long]), Checksum::Verify).unwrap_err();
        assert!(error.to_string().len() < 300, "{}", error.to_string().len());
    }
}
