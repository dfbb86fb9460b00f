//! Words, and options of earlier versions. Whatever has another name now is refused with that name.

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
};
use serde::Serialize;
use std::{ffi::OsStr, str::FromStr};
use txgraph::UnknownWord;

/// Options of version 0.1, with what replaced them.
const RENAMED: [(&str, &str); 12] = [
    ("--against", "`txgraph replay compare FILE`"),
    ("--bundle", "`--source bundle:PATH`"),
    ("--fees", "`txgraph replay transfers --fees`"),
    ("--ms", "`--time`"),
    ("--no-checksum", "`--allow-bad-checksum`"),
    ("--state-at", "`--block`"),
    ("--top", "`--limit`, and `--follow-top` for a graph"),
    ("--trace", "`txgraph replay trace KIND`"),
    ("--verify", "`--check-roots`"),
    ("--verify-balances", "`txgraph replay balances TOKEN`"),
    ("--verify-only", "`txgraph replay verify`"),
    ("--write-bundle", "`txgraph replay bundle DIR`"),
];

/// Adds to an error about an option what replaced it, or which commands have it.
pub(crate) fn name_option(error: clap::Error, command: &Command) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let option = option.split('=').next().unwrap_or_default().to_owned();
    if let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == option) {
        return with_successor(error, old, new);
    }
    match (error.kind(), option.strip_prefix("--")) {
        (ErrorKind::UnknownArgument, Some(long)) => with_owners(error, long, command),
        _ => error,
    }
}

fn with_successor(mut error: clap::Error, old: &str, new: &str) -> clap::Error {
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedValue);
    with_tip(error, format!("`{old}` is now {new}"))
}

fn with_owners(error: clap::Error, long: &str, command: &Command) -> clap::Error {
    let is_it = |arg: &Arg| arg.get_long() == Some(long) && !arg.is_hide_set();
    let commands = command.get_subcommands();
    let owners = commands.filter(|it| !it.is_hide_set() && it.get_arguments().any(is_it));
    let owners: Vec<_> = owners.map(Command::get_name).collect();
    match owners[..] {
        [] => error,
        _ => with_tip(
            error,
            format!("these commands have `--{long}`: {}", owners.join(", ")),
        ),
    }
}

fn with_tip(mut error: clap::Error, tip: String) -> clap::Error {
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

/// Parses one of a list of words. A word of an earlier version is refused with the new one.
pub(crate) fn words<T: 'static>(
    all: &'static [T],
    as_str: fn(T) -> &'static str,
) -> NamedValues<T> {
    NamedValues { all, as_str }
}

/// The parser of [`words`].
#[derive(Clone, Debug)]
pub(crate) struct NamedValues<T: 'static> {
    all: &'static [T],
    as_str: fn(T) -> &'static str,
}

impl<T: Copy + 'static> NamedValues<T> {
    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|value| (self.as_str)(*value))
    }
}

impl<T: Copy + FromStr<Err = UnknownWord> + Send + Sync + 'static> TypedValueParser
    for NamedValues<T>
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let words = PossibleValuesParser::new(self.words());
        let word = words.parse_ref(command, argument, value);
        let parsed = value.to_string_lossy().parse::<T>();
        match (word, parsed) {
            (Ok(_), Ok(value)) => Ok(value),
            (Ok(_), Err(_)) => Err(clap::Error::new(ErrorKind::InvalidValue).with_cmd(command)),
            (
                Err(error),
                Err(UnknownWord {
                    word,
                    renamed: Some(new),
                    ..
                }),
            ) => Err(with_successor(error, &word, &format!("`{new}`"))),
            (Err(error), _) => Err(error),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words().map(PossibleValue::new)))
    }
}

/// The options that `--columns` replaced. They are read so that the refusal names the list that
/// says the same.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReplacedColumnArgs {
    #[arg(long, hide = true)]
    schema: Option<String>,
    #[arg(long, hide = true)]
    u256_types: Vec<String>,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, hide = true)]
    hex: bool,
    #[arg(long, hide = true)]
    types: Option<String>,
}
