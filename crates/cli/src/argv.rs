//! Arguments that are rewritten before they are parsed.

use std::ffi::OsString;

/// Lets `--blocks` take several values, as in cryo, some of which start with a minus:
/// `-b -1000: 5M:6M` becomes `--blocks=-1000: --blocks=5M:6M`.
pub(crate) fn several_blocks(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
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
        let args = several_blocks(line.split(' ').map(OsString::from));
        args.iter()
            .map(|arg| arg.to_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
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
