//! Arguments as text: rewritten before they are parsed, made again from what was parsed, and
//! quoted for a shell.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};
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
            // An address is the next argument.
            let is_hex = digits.is_some_and(|text| text.starts_with("0x"));
            relative || (!is_hex && first.is_some_and(|c| c.is_ascii_digit()))
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

/// The options that were given to `command` and that `keep` accepts, as words. Values that are not
/// UTF-8 are changed.
pub(crate) fn given(
    command: &Command,
    matches: &ArgMatches,
    keep: impl Fn(&Arg) -> bool,
) -> Vec<String> {
    let mut words = Vec::new();
    for arg in command.get_arguments().filter(|arg| keep(arg)) {
        let (id, name) = (arg.get_id().as_str(), arg.get_long());
        let Some(name) = name else { continue };
        let known = matches.try_contains_id(id).unwrap_or_default();
        if !known || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        match arg.get_action() {
            ArgAction::SetTrue => words.push(format!("--{name}")),
            ArgAction::Count => {
                let count = usize::from(matches.get_count(id));
                words.extend(std::iter::repeat_n(format!("--{name}"), count));
            }
            _ => {
                let values = matches.get_raw(id).into_iter().flatten();
                let values = values.map(|value| value.to_string_lossy());
                words.extend(values.map(|value| format!("--{name}={value}")));
            }
        }
    }
    words
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@+%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command line of the program as a shell reads it.
pub(crate) fn command_line<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let words = words.into_iter().map(|word| format!(" {}", quoted(word)));
    format!("txgraph{}", words.collect::<String>())
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
            ("t -b 1:2 5:6 0x7 8", "t -b 1:2 --blocks 5:6 0x7 8"),
            ("t -b @ranges -5:", "t -b @ranges --blocks -5:"),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }
}
