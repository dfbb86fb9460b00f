//! The help texts of the command line. Commands are listed in groups. `-h` fits on one page:
//! options that are used rarely are in `--help` only. `txgraph help options` describes the options
//! of every command.

use clap::{Arg, Command};

/// The name of the topic.
pub(crate) const OPTIONS: &str = "options";

/// The commands by purpose, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Follow transfers",
        &[
            "graph",
            "transfers",
            "watch",
            "analyze",
            "path",
            "common",
            "query",
        ],
    ),
    (
        "Look up",
        &[
            "info",
            "address",
            "statement",
            "approvals",
            "holders",
            "tx",
            "token",
        ],
    ),
    ("Document", &["case"]),
    ("State", &["balance", "nonce", "code", "storage", "call"]),
    ("Execute", &["replay", "evm"]),
    ("Store and serve", &["index", "lake", "era", "serve"]),
    ("Setup", &["completions", "man"]),
];

/// Options that `-h` does not list.
const RARE: [&str; 19] = [
    "allow-bad-checksum",
    "code-format",
    "expand-zero",
    "failures",
    "fold",
    "link",
    "max-edges",
    "max-vertices",
    "partition-blocks",
    "prices",
    "refresh",
    "reorg-buffer",
    "run",
    "sample",
    "segment-blocks",
    "standard",
    "stop-at-category",
    "token-id",
    "wrapped-native",
];

/// The end of every help text.
const FOOT: &str = "\
Options of every command:
  --datadir DIR, --source KIND:LOCATION    what to read
  --config FILE, --threads N, --index DIR  how to run
  --explain, --verbose, --quiet            what to print on stderr
  All of them: txgraph help options";

/// The command line as it is parsed.
pub(crate) fn complete(command: Command) -> Command {
    let shared: Vec<Arg> = (command.get_arguments())
        .filter(|arg| arg.is_global_set())
        .cloned()
        .collect();
    let topic = Command::new(OPTIONS)
        .about("Options of every command")
        .hide(true)
        .args(shared);
    let template = template(&command);
    let hide = |arg: Arg| {
        let is_global = arg.is_global_set();
        arg.hide(is_global)
    };
    with_foot(command.mut_args(hide))
        .help_template(template)
        .subcommand(topic)
}

/// The help of the program, with commands in groups.
fn template(command: &Command) -> String {
    let style = command.get_styles().get_header();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        text += &format!("\n{style}{title}:{style:#}\n");
        // Some commands are features of the build.
        for command in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = command.get_about().map(ToString::to_string);
            text += &format!(
                "  {:11}  {}\n",
                command.get_name(),
                about.unwrap_or_default()
            );
        }
    }
    text + &format!("\n{style}Options:{style:#}\n{{options}}{{after-help}}")
}

/// Adds the end to the help of a command and of its subcommands, and shortens `-h`.
fn with_foot(command: Command) -> Command {
    let shorten = |arg: Arg| {
        let is_rare = arg.get_long().is_some_and(|name| RARE.contains(&name));
        arg.hide_short_help(is_rare)
    };
    let command = command.mut_args(shorten);
    let long = match command.get_after_long_help() {
        Some(text) => format!("{}\n\n{FOOT}", text.to_string().trim_end()),
        None => FOOT.to_owned(),
    };
    command
        .after_help(FOOT)
        .after_long_help(long)
        .mut_subcommands(with_foot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;
    use txgraph_testkit::pages::{Page, pages, split};

    /// Options of builds with more features.
    const FEATURES: [&str; 1] = ["--engine"];

    /// Options of other programs that pages name without the program. One that no page names is
    /// a fault.
    const OTHER: [&str; 6] = [
        "--engine.num-state-masking-blocks",
        "--features",
        "--include-columns",
        "--listen",
        "--pid",
        "--run",
    ];

    /// The argument that an option, as it is written, belongs to.
    fn option<'a>(path: &[&'a Command], word: &str) -> Option<&'a Arg> {
        let mut args = path.iter().flat_map(|command| command.get_arguments());
        let name = word.split('=').next().unwrap_or_default();
        match name.strip_prefix("--") {
            Some(long) => args.find(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(long) || aliases.contains(&long)
            }),
            None => args.find(|arg| arg.get_short() == name.chars().nth(1)),
        }
    }

    /// The words that are no command, no option and no known value of an option.
    fn faults(root: &Command, words: &[&str]) -> Vec<String> {
        let mut path = vec![root];
        let mut faults = Vec::new();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let command = path[path.len() - 1];
            let is_option = |word: &str| {
                let name = word.trim_start_matches('-');
                name.len() < word.len() && name.starts_with(char::is_alphabetic)
            };
            // clap adds these.
            if ["--help", "-h", "--version", "help"].contains(&word) {
                continue;
            }
            if word == "--" {
                // Another command of the program follows.
                path.truncate(1);
                continue;
            }
            if is_option(word) {
                let Some(arg) = option(&path, word) else {
                    faults.extend((!FEATURES.contains(&word)).then(|| word.to_owned()));
                    continue;
                };
                let takes = arg.get_action().takes_values() && !word.contains('=');
                let value = takes.then(|| words.next()).flatten().unwrap_or_default();
                let known = arg.get_possible_values();
                let parts = value.split([',', '|']).filter(|_| !known.is_empty());
                let unknown = |part: &&str| {
                    !part.is_empty()
                        && part.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                        && !known.iter().any(|value| value.matches(part, false))
                };
                faults.extend(parts.filter(unknown).map(|part| format!("{word} {part}")));
            } else if let Some(command) = command.find_subcommand(word) {
                path.push(command);
            } else if command.has_subcommands() && word.chars().all(|c| c.is_ascii_lowercase()) {
                faults.push(word.to_owned());
            }
        }
        faults
    }

    /// Commands and options in a page which the command line does not have. `others` loses the
    /// options that the page names.
    fn unknown(page: &Page, others: &mut BTreeSet<String>) -> Vec<String> {
        let mut root = complete(crate::Cli::command());
        root.build();
        let mut found = Vec::new();
        let mut check = |at: usize, words: &[String], is_command: bool| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let is_ours = |word: &&str| word.split('/').next_back() == Some("txgraph");
            let prefix = |word: &&&str| {
                (word.contains('=') && !word.starts_with('-'))
                    || ["do", "then", "time"].contains(word)
            };
            let start = words.iter().take_while(prefix).count();
            let words = &words[start..];
            let faults = match words {
                // An option by itself is one of any command.
                [option, ..] if option.len() > 2 && option.starts_with("--") && !is_command => {
                    let name = option.split('=').next().unwrap_or(option);
                    others.remove(name);
                    let known = [&OTHER[..], &FEATURES].concat().contains(&name);
                    let known = known || has_option(&root, name);
                    (!known).then(|| (*option).to_owned()).into_iter().collect()
                }
                [program, "…", rest @ ..] if is_ours(program) => {
                    let options = rest.iter().filter(|word| word.starts_with("--"));
                    let options = options.filter(|word| !has_option(&root, word));
                    options.map(|word| (*word).to_owned()).collect()
                }
                [program, rest @ ..] if is_ours(program) => faults(&root, rest),
                [name, ..] if !is_command && root.find_subcommand(name).is_some() => {
                    faults(&root, words)
                }
                _ => Vec::new(),
            };
            found.extend(
                faults
                    .iter()
                    .map(|word| format!("{}:{at}: {word}", page.name)),
            );
        };
        for (at, span) in page.spans() {
            // Of `a | b`, the second is a value of an option.
            let words = split(&span.replace('|', ",")).into_iter().next();
            check(at, &words.unwrap_or_default(), false);
        }
        for (at, words) in page.commands() {
            check(at, &words, true);
        }
        found
    }

    /// Whether a command or one of its subcommands has this option.
    fn has_option(command: &Command, word: &str) -> bool {
        option(&[command], word).is_some()
            || (command.get_subcommands()).any(|command| has_option(command, word))
    }

    /// Calls `see` for a command and all below it, with its path.
    fn walk(command: &Command, path: &str, see: &mut impl FnMut(&str, &Command)) {
        let path = format!("{path} {}", command.get_name());
        see(&path, command);
        for command in command.get_subcommands() {
            walk(command, &path, see);
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let known: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let all = crate::Cli::command();
        let all: BTreeSet<&str> = all.get_subcommands().map(Command::get_name).collect();
        assert!(all.is_subset(&known.iter().copied().collect()), "{all:?}");
        assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len());
    }

    #[test]
    fn first_lines_fit_in_one_line() {
        let mut long = Vec::new();
        let mut rare = BTreeSet::from(RARE);
        walk(&crate::Cli::command(), "", &mut |path, command| {
            let about = command.get_about().map(|text| ("", text.to_string()));
            let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
            let args = args.filter_map(|arg| {
                rare.remove(arg.get_long().unwrap_or_default());
                Some((arg.get_id().as_str(), arg.get_help()?.to_string()))
            });
            let texts = about.into_iter().chain(args);
            let texts = texts.filter(|(_, text)| text.chars().count() > 72);
            long.extend(texts.map(|(name, text)| format!("{path} {name}: {text}")));
        });
        assert!(long.is_empty(), "{long:#?}");
        assert!(rare.is_empty(), "no command has {rare:?}");
    }

    #[test]
    fn pages_name_commands_and_options_that_exist() {
        let mut others = BTreeSet::from(OTHER.map(str::to_owned));
        let mut found = Vec::new();
        for page in pages() {
            found.extend(unknown(&page, &mut others));
        }
        assert!(found.is_empty(), "{found:#?}");
        assert!(others.is_empty(), "no page names {others:?}");
    }

    #[test]
    fn planted_commands_and_options_are_found() {
        let unknown = |text: &str| {
            let (name, text) = ("page.md".to_owned(), text.to_owned());
            unknown(&Page { name, text }, &mut BTreeSet::new())
        };
        for text in [
            "`txgraph`, `txgraph COMMAND --help`, `txgraph help options`, `txgraph … --hops`",
            "`--root`, `--with-internal`, `graph --format tree`, `--direction out\\|both`",
            "`cargo test --nothing`, `-1000:`, `index build --memory 1`, `txgraph index`",
            "```console\n$ A=1 ./txgraph -q graph -r 0x1 \\\n  --hops 2 | wc --nothing\n--nothing\n```",
        ] {
            assert_eq!(unknown(text), Vec::<String>::new(), "{text}");
        }
        for text in [
            "`--nothing`",
            "`--nothing=1 --hops`",
            "`txgraph nothing`",
            "`txgraph … --nothing`",
            "`txgraph lake nothing`",
            "`txgraph info --hops`",
            "`graph --nothing`",
            "`graph --direction out\\|nowhere`",
            "```sh\ntxgraph transfers -b 1 \\\n  -z\n```",
            "```console\n$ ls && txgraph --quiet transfers --hops 2 | cat\n```",
        ] {
            assert_eq!(unknown(text).len(), 1, "{text}");
        }
    }
}
