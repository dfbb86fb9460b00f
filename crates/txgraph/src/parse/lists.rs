//! Lists: several values, commas, or `@FILE`.

use crate::{
    BlockSpec, Error, Result,
    files::read_list,
    grammar::{Checksum, parse_address, parse_blocks},
};
use alloy_primitives::{Address, map::AddressHashSet};
use std::path::Path;
use txgraph_transfers::{TokenFilter, WrappedNative};

/// Calls `each` for every value of a list. `@FILE` stands for the first column of a file:
/// one value per line, or CSV. Empty lines, lines that start with `#`, and a first line
/// whose first field is `address` or `token_address` are skipped.
pub(super) fn for_each(written: &[String], mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
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

/// Refuses a list that was given and has no items, such as an empty file: it does not mean all.
fn check_items(written: &[String], is_empty: bool, what: &str) -> Result<()> {
    match is_empty && !written.is_empty() {
        true => Err(Error::usage(format!("the list of {what} is empty"))),
        false => Ok(()),
    }
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
    check_items(written, addresses.is_empty(), "addresses")?;
    Ok(addresses)
}

/// Reads block ranges.
pub fn block_specs(written: &[String]) -> Result<Vec<BlockSpec>> {
    let mut specs = Vec::new();
    for_each(written, |text| {
        specs.extend(parse_blocks(text)?);
        Ok(())
    })?;
    check_items(written, specs.is_empty(), "blocks")?;
    Ok(specs)
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
    check_items(written, count == 0, "wrapped coins")?;
    match (word, contracts.is_empty()) {
        (None, true) => Ok(WrappedNative::Auto),
        (None, false) => Ok(WrappedNative::Only(contracts)),
        (Some(word), true) => Ok(word),
        (Some(_), false) => Err(Error::usage(
            "wrapped coins are `auto`, `any`, `none`, or addresses",
        )),
    }
}

struct Row {
    line: u64,
    first: String,
}

impl Row {
    fn place(&self, path: &Path) -> String {
        format!("{}:{}", path.display(), self.line)
    }
}

fn for_each_row(path: &Path, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
    let text = read_list(path)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut is_first = true;
    for record in reader.records() {
        let record = record.map_err(|error| Error::usage(error.to_string()).at(path.display()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |at| record.get(at).unwrap_or_default().to_owned();
        let row = Row {
            line,
            first: field(0),
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
        // A variable of a shell that is not set must not mean all.
        assert!(addresses(&[], Checksum::Verify).unwrap().is_empty());
        assert!(addresses(&strings(&[""]), Checksum::Verify).is_err());

        fs::write(&path, format!("{A}\nunknown\n")).unwrap();
        let read = || addresses(&strings(&[&at]), Checksum::Verify).unwrap_err();
        let error = read();
        assert!(error.message.contains("list.csv:2: `unknown`"), "{error}");
        fs::write(&path, format!("{A},\"open\n{B},b\n")).unwrap();
        let error = read();
        assert!(
            error
                .message
                .contains("list.csv:1: a field contains a line break"),
            "{error}"
        );
        assert!(tokens(&strings(&["@/no/such/list"]), Checksum::Verify).is_err());
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
        assert!(wrapped_native(&strings(&[""]), Checksum::Verify).is_err());
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
