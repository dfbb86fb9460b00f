//! Arguments that are rewritten before they are parsed.

use std::ffi::OsString;

/// Rewrites arguments that the parser cannot express: [`several_blocks`] and [`source_columns`].
pub(crate) fn rewrite(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    source_columns(several_blocks(args))
}

/// Lets `--columns` also name the columns of a source: `--columns from=sender` becomes
/// `--source-columns from=sender`.
fn source_columns(args: Vec<OsString>) -> Vec<OsString> {
    const LONG: &str = "--source-columns";
    let names = |text: &str| text.contains('=');
    let mut out = Vec::with_capacity(args.len());
    let mut args = args.into_iter().peekable();
    while let Some(arg) = args.next() {
        let next = args.peek().and_then(|next| next.to_str());
        let attached = arg
            .to_str()
            .and_then(|text| text.strip_prefix("--columns="));
        match attached {
            Some(value) if names(value) => out.push(format!("{LONG}={value}").into()),
            None if arg == "--columns" && next.is_some_and(names) => out.push(LONG.into()),
            _ => out.push(arg),
        }
    }
    out
}

/// Lets `--blocks` take several values, as in cryo, some of which start with a minus:
/// `-b -1000: 5M:6M` becomes `--blocks=-1000: --blocks=5M:6M`.
fn several_blocks(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        let range = |arg: &OsString| {
            let digits = arg
                .to_str()
                .map(|text| text.trim_start_matches(['-', ':', '@']));
            let first = digits.and_then(|text| text.chars().next());
            let relative = arg.to_str().is_some_and(|text| text.starts_with(':'));
            relative || first.is_some_and(|c| c.is_ascii_digit())
        };
        out.push(arg);
        if !out
            .last()
            .is_some_and(|arg| arg == "-b" || arg == "--blocks")
        {
            continue;
        }
        let Some(first) = args.next() else { continue };
        out.push(first);
        while let Some(more) = args.next_if(range) {
            out.extend(["--blocks".into(), more]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let args = rewrite(line.split(' ').map(OsString::from));
        args.iter()
            .map(|arg| arg.to_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn columns_of_sources_are_pairs() {
        for (line, expected) in [
            ("t --columns from=a,to=b", "t --source-columns from=a,to=b"),
            ("t --columns=from=a", "t --source-columns=from=a"),
            ("t --columns from,to", "t --columns from,to"),
            ("t --columns=from", "t --columns=from"),
            ("t --columns", "t --columns"),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }

    #[test]
    fn blocks_take_several_values() {
        for (line, expected) in [
            (
                "t -b -10: 5:6 :7 -o x",
                "t -b -10: --blocks 5:6 --blocks :7 -o x",
            ),
            ("t --blocks 1M:2M --hops 3", "t --blocks 1M:2M --hops 3"),
            ("t --blocks=1 2", "t --blocks=1 2"),
            ("t -b", "t -b"),
            ("t -b 1:2 -q", "t -b 1:2 -q"),
            ("t -b @ranges -5:", "t -b @ranges --blocks -5:"),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }
}
