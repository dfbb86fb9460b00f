//! Lists as people write them: several values, commas, or `@FILE`.

use crate::{Checksum, Error, Result, parse_address};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, fs, path::Path};
use txgraph_transfers::{TokenFilter, WrappedNative};

/// Takes lists apart. `@FILE` stands for the first column of a file: one value
/// per line or CSV; empty lines and lines that start with `#` do not count, nor
/// does a first line whose first field is `address` or `token_address`.
pub(crate) fn values(written: &[String]) -> Result<Vec<String>> {
    let mut values = Vec::new();
    for item in written
        .iter()
        .flat_map(|text| text.split(','))
        .map(str::trim)
    {
        match item.strip_prefix('@') {
            Some(path) => values.extend(rows(Path::new(path))?.into_iter().map(|row| row.first)),
            None if item.is_empty() => {}
            None => values.push(item.to_owned()),
        }
    }
    Ok(values)
}

/// Addresses, in the order written; an address written twice is kept once.
pub(crate) fn addresses(written: &[String], checksum: Checksum) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for text in values(written)? {
        let address = parse_address(&text, checksum)?;
        if seen.insert(address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// Tokens: addresses, `eth` or `native` for the coin of the chain, `all`.
/// Nothing written means all.
pub(crate) fn tokens(written: &[String], checksum: Checksum) -> Result<TokenFilter> {
    let values = values(written)?;
    if values.is_empty() && !written.is_empty() {
        return Err(Error::usage("the list of tokens is empty"));
    }
    let (mut all, mut native, mut tokens) = (values.is_empty(), false, Vec::new());
    for text in &values {
        match text.to_ascii_lowercase().as_str() {
            "all" => all = true,
            "eth" | "native" => native = true,
            _ => tokens.push(parse_address(text, checksum)?),
        }
    }
    Ok(match all {
        true => TokenFilter::All,
        false => TokenFilter::Only {
            tokens: tokens.into_iter().collect(),
            native,
        },
    })
}

/// `auto`, `any`, `none`, or addresses.
pub(crate) fn wrapped_native(written: &[String], checksum: Checksum) -> Result<WrappedNative> {
    let values = values(written)?;
    Ok(match values.as_slice() {
        [] => WrappedNative::Auto,
        [one] if one == "auto" => WrappedNative::Auto,
        [one] if one == "any" => WrappedNative::Any,
        [one] if one == "none" => WrappedNative::None,
        several => WrappedNative::Only(
            several
                .iter()
                .map(|text| parse_address(text, checksum))
                .collect::<Result<_, _>>()?,
        ),
    })
}

/// An exact whole number: digits, `_`, and a power of ten as in `2.5e18`.
pub fn parse_amount(text: &str) -> Result<U256, String> {
    let wrong = || format!("`{text}` is not a whole amount (smallest unit; 1000000 or 1e18)");
    let plain = text.trim().replace('_', "");
    let (digits, power) = match plain.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<usize>().map_err(|_| wrong())?),
        None => (plain.as_str(), 0),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let decimals = decimals.trim_end_matches('0');
    let all_digits = whole
        .bytes()
        .chain(decimals.bytes())
        .all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits || decimals.len() > power {
        return Err(wrong());
    }
    if power > 78 {
        return Err(format!("`{text}` exceeds 256 bits"));
    }
    U256::from_str_radix(&format!("{whole}{decimals:0<power$}"), 10)
        .map_err(|_| format!("`{text}` exceeds 256 bits"))
}

/// A file of addresses at which to stop, with labels: CSV `address,label`, or
/// one address per line.
pub(crate) fn stop_list(path: &Path, checksum: Checksum) -> Result<BTreeMap<Address, String>> {
    let mut list = BTreeMap::new();
    for row in rows(path)? {
        let address = parse_address(&row.first, checksum)
            .map_err(|error| Error::from(error).at(format!("{}:{}", path.display(), row.line)))?;
        list.insert(address, row.second);
    }
    Ok(list)
}

struct Row {
    line: u64,
    first: String,
    second: String,
}

fn rows(path: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut rows: Vec<Row> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Error::usage(error.to_string()).at(path.display()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |at| record.get(at).unwrap_or_default().to_owned();
        let (first, second) = (field(0), field(1));
        // A quote that nobody closed would swallow the rows after it.
        if record.iter().any(|field| field.contains('\n')) {
            return Err(
                Error::usage("a field holds a line break; is a quote not closed?")
                    .at(format!("{}:{line}", path.display())),
            );
        }
        let heading = matches!(
            first.to_ascii_lowercase().as_str(),
            "address" | "token_address"
        );
        if first.is_empty() || rows.is_empty() && heading {
            continue;
        }
        rows.push(Row {
            line,
            first,
            second,
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: &str = "0x00000000000000000000000000000000000000aa";
    const B: &str = "0x00000000000000000000000000000000000000bb";

    fn strings(values: &[&str]) -> Vec<String> {
        values.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lists_come_with_commas_or_from_files() {
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

        fs::write(&path, format!("{A}\nnobody\n")).unwrap();
        let error = stop_list(&path, Checksum::Verify).unwrap_err();
        assert!(error.message.contains("list.csv:2: `nobody`"), "{error}");
        fs::write(&path, format!("{A},\"open\n{B},b\n")).unwrap();
        let error = stop_list(&path, Checksum::Verify).unwrap_err();
        assert!(
            error
                .message
                .contains("list.csv:1: a field holds a line break"),
            "{error}"
        );
        assert!(values(&strings(&["@/no/such/list"])).is_err());
    }

    #[test]
    fn tokens_mean() {
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
    fn wraps_mean() {
        let read = |values: &[&str]| wrapped_native(&strings(values), Checksum::Verify).unwrap();
        assert_eq!(read(&[]), WrappedNative::Auto);
        assert_eq!(read(&["any"]), WrappedNative::Any);
        assert_eq!(read(&["none"]), WrappedNative::None);
        assert_eq!(read(&[A]), WrappedNative::Only(vec![A.parse().unwrap()]));
        assert!(wrapped_native(&strings(&["auto", A]), Checksum::Verify).is_err());
    }

    #[test]
    fn amounts_are_exact() {
        let max = U256::MAX.to_string();
        for (text, expected) in [
            ("0", "0"),
            ("1_000", "1000"),
            ("1e18", "1000000000000000000"),
            ("2.5e1", "25"),
            (&max, &max),
        ] {
            assert_eq!(parse_amount(text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "-1",
            "1.5",
            "1e",
            "e5",
            "0x10",
            "1e99",
            "2.55e1",
            &format!("{max}0"),
        ] {
            assert!(parse_amount(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn amounts_read_back(limbs: [u64; 4]) {
            let amount = U256::from_limbs(limbs);
            prop_assert_eq!(parse_amount(&amount.to_string()), Ok(amount));
        }
    }
}
