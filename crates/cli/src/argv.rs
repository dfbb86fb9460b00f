//! Arguments as text: rewritten before they are parsed, made again from what was parsed, and
//! quoted for a shell; and the files that they name.

use crate::{args::Global, hints::quoted};
use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};
use serde_json::{Map, Value};
use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use txgraph::{ProtectedPaths, Result};

/// Arguments whose values are files that are read, or directories of them.
const READ: [&str; 15] = [
    "abi",
    "bundle",
    "chain",
    "config",
    "file",
    "labels",
    "overrides",
    "paths",
    "prices",
    "program",
    "reference",
    "state",
    "stop_at",
    "token_file",
    "token_list",
];

/// Arguments whose values are files that are written.
const WRITTEN: [&str; 4] = ["output", "stats", "trace", "vertices"];

/// The files that a command line or a saved query names.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) read: Vec<PathBuf>,
    written: Vec<PathBuf>,
}

impl Files {
    /// The files of a command line, also of its subcommands.
    pub(crate) fn of(command: &Command, matches: &ArgMatches) -> Self {
        let mut files = Self::default();
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            if WRITTEN.contains(&id) {
                // As they were parsed, because a folder of outputs may have been added.
                if let Ok(Some(paths)) = matches.try_get_many::<PathBuf>(id) {
                    files.written.extend(paths.cloned());
                }
                continue;
            }
            let values = matches.try_get_raw(id).ok().flatten();
            for value in values.into_iter().flatten() {
                files.add(id, value);
            }
        }
        if let Some((name, inner)) = matches.subcommand()
            && let Some(command) = command.find_subcommand(name)
        {
            let Self { read, written } = Self::of(command, inner);
            files.read.extend(read);
            files.written.extend(written);
        }
        files
    }

    /// The files of a saved query.
    pub(crate) fn of_options(options: &Map<String, Value>) -> Self {
        let mut files = Self::default();
        for (name, value) in options {
            let values = match value {
                Value::Array(values) => values,
                one => std::slice::from_ref(one),
            };
            for value in values.iter().filter_map(Value::as_str) {
                files.add(&name.replace('-', "_"), OsStr::new(value));
            }
        }
        files
    }

    fn add(&mut self, id: &str, value: &OsStr) {
        if WRITTEN.contains(&id) {
            self.written.push(value.into());
            return;
        }
        let items = value.as_bytes().split(|byte| *byte == b',');
        let lists = items.filter_map(|item| item.trim_ascii().strip_prefix(b"@"));
        self.read
            .extend(lists.map(|list| PathBuf::from(OsStr::from_bytes(list))));
        if READ.contains(&id) {
            self.read.push(value.into());
        }
    }

    /// Refuses to write a file that is read, or one in the data directory.
    pub(crate) fn check(&self, global: &Global) -> Result<()> {
        let written = self.written.iter().filter(|path| path.as_os_str() != "-");
        let written: Vec<_> = written.collect();
        if written.is_empty() {
            return Ok(());
        }
        // The command says what is wrong with a configuration.
        let config = global.config().unwrap_or_default();
        let mut protected = config.protected_paths();
        // A directory of a source also has other files. The source names its own when it is open.
        let sources = config.source.iter().chain(&config.joined);
        let sources = sources.map(|source| PathBuf::from(source.location()));
        let sources = sources.filter(|path| path.is_file());
        let configured = [global.config_file(), config.chain, config.token_list];
        let configured = configured.into_iter().flatten().chain(sources);
        for path in configured.chain(self.read.iter().cloned()) {
            protected.add(&ProtectedPaths::files(files_in(&path)));
        }
        written
            .into_iter()
            .try_for_each(|path| protected.check(path))
    }
}

/// A file, or the files of a directory that are read. Pipes and devices are not replaced.
fn files_in(path: &Path) -> Vec<PathBuf> {
    let is_read = |path: &PathBuf| {
        let extension = path.extension().and_then(OsStr::to_str);
        extension.is_some_and(|word| ["csv", "json", "yaml", "yml", "txt"].contains(&word))
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let entries = entries.map(|entry| entry.path()).filter(is_read);
    let paths = std::iter::once(path.to_path_buf()).chain(entries);
    paths.filter(|path| path.is_file()).collect()
}

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

/// A command line of the program as a shell reads it.
pub(crate) fn command_line<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let words = words.into_iter().map(|word| format!(" {}", quoted(word)));
    format!("txgraph{}", words.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, ValueHint};
    use std::collections::BTreeSet;

    /// Arguments for directories that commands protect themselves, or make.
    const DIRECTORIES: [&str; 7] = [
        "datadir",
        "directory",
        "folder",
        "index",
        "rocksdb",
        "run",
        "static_files",
    ];

    fn paths_of(command: &Command, found: &mut BTreeSet<String>) {
        let paths = command
            .get_arguments()
            .filter(|arg| arg.get_value_hint() == ValueHint::AnyPath);
        found.extend(paths.map(|arg| arg.get_id().to_string()));
        for inner in command.get_subcommands() {
            paths_of(inner, found);
        }
    }

    /// A new argument for a path is in one of the lists.
    #[test]
    fn paths_are_read_or_written() {
        let mut found = BTreeSet::new();
        paths_of(&crate::Cli::command(), &mut found);
        for id in READ.iter().chain(&WRITTEN).chain(&DIRECTORIES) {
            found.remove(*id);
        }
        assert_eq!(found, BTreeSet::new());
    }

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
