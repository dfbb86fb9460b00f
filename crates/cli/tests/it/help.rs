//! Help texts, their examples, man pages and completions.

use crate::harness::{Sample, bare, run, words};
use std::{fs, process::Command};
use txgraph_testkit::fixtures;

/// Lines that begin with `$ txgraph`, with their continuations.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut open = false;
    for line in help.lines().map(str::trim) {
        let (text, more) = match line.strip_suffix('\\') {
            Some(text) => (text.trim(), true),
            None => (line, false),
        };
        match (text.strip_prefix("$ txgraph"), open) {
            (Some(rest), _) => examples.push(rest.trim().to_owned()),
            (None, true) => {
                let last = examples.last_mut().unwrap();
                *last = format!("{last} {text}");
            }
            (None, false) => continue,
        }
        open = more;
    }
    examples
}

/// The commands that the help lists.
fn commands(sample: &Sample) -> Vec<String> {
    let help = run(bare(sample.folder.path()).arg("--help"));
    let lines = help.stdout.lines();
    let lines = lines.skip_while(|line| !line.starts_with("Usage: "));
    let names = lines.take_while(|line| *line != "Options:");
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every example of every command works on the sample chain. The examples of `evm` are shell
/// lines, and `serve` and `watch` do not end; they have tests of their own.
#[test]
fn examples_work() {
    let sample = Sample::small();
    // scripts/demo.sh copies it there, too.
    let genesis = fixtures::testdata().join("small/v2/genesis.json");
    fs::copy(genesis, sample.fixture.path().join("genesis.json")).unwrap();
    let graphviz = Command::new("dot").arg("-V").output().is_ok();
    let commands = commands(&sample);
    assert!(commands.len() >= 12, "{commands:?}");
    let mut seen = 0;
    for command in commands.iter().map(String::as_str).chain([""]) {
        let help = run(bare(sample.folder.path())
            .args(command.split_whitespace())
            .arg("--help"))
        .ended(0);
        if ["evm", "serve", "watch"].contains(&command) {
            continue;
        }
        let found = examples(&help.stdout);
        assert!(!found.is_empty(), "{command}: no example");
        for line in found {
            let mut arguments = words(&line);
            if line.contains("-o ") {
                arguments.push("--overwrite".to_owned());
            }
            let run = run(sample.command().args(arguments));
            let draws = line.contains(".svg") && !graphviz;
            assert_eq!(run.status, i32::from(draws), "{line}: {run:?}");
            seen += 1;
        }
    }
    assert!(seen >= 35, "{seen}");
}

#[test]
fn help_is_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = run(bare(folder.path()).arg("--help"));
    for words in [
        "Exit status:",
        "Environment:",
        "TXGRAPH_DATADIR",
        "RUST_LOG",
        "Examples",
    ] {
        page.prints(words);
    }
    assert_eq!(page.stderr, "");
    assert!(
        page.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        page.stdout
    );
    let version = run(bare(folder.path()).arg("--version"));
    let stated = version
        .stdout
        .strip_prefix(concat!("txgraph ", env!("CARGO_PKG_VERSION"), " ("));
    let (commit, tested) = stated.unwrap().split_once(", ").unwrap();
    assert!(commit == "unknown" || commit.len() >= 7, "{version:?}");
    assert_eq!(
        tested,
        format!("tested with reth {})\n", txgraph::NEWEST_TESTED)
    );
    // Metadata of answers name the same.
    let tool = format!("\"tool\":\"{}\"", version.stdout.trim_end());
    let graph =
        Sample::small().ok("graph -r 0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529 --format json");
    graph.prints(&tool);
}

/// The options of every command are in one place.
#[test]
fn shared_options_are_a_topic() {
    let sample = Sample::small();
    let topic = sample.ok("help options").stdout;
    assert_eq!(sample.ok("options --help").stdout, topic);
    assert_eq!(sample.ok("options").stdout, topic);
    let shared: Vec<&str> = topic
        .lines()
        .filter_map(|line| {
            line.trim_start()
                .split([' ', ','])
                .find(|word| word.starts_with("--"))
        })
        .collect();
    assert!(shared.len() >= 16, "{topic}");
    for command in commands(&sample)
        .iter()
        .map(String::as_str)
        .chain(["", "index build"])
    {
        for flag in ["-h", "--help"] {
            let help = sample.ok(&format!("{command} {flag}")).stdout;
            assert!(help.contains("txgraph help options"), "{command}: {help}");
            for option in ["--datadir.rocksdb", "--chunk-blocks", "--covers"] {
                assert!(shared.contains(&option), "{topic}");
                assert!(!help.contains(option), "{command}: {help}");
            }
        }
    }
    // They still work after every command.
    sample.ok("transfers -b 1 --threads 1 --chunk-blocks 7 -q");
    assert!(sample.ok("graph --help").stdout.contains("breadth-first"));
}

#[test]
fn completions_offer_names() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(bare(folder.path()).args(["completions", shell])).ended(0);
        for word in ["transfers", "analyze", "chunk-blocks"] {
            script.prints(word);
        }
        // These offer values, too.
        if ["bash", "zsh", "fish"].contains(&shell) {
            for word in [
                "who-funded",
                "top-senders-by-amount",
                "hubs",
                "from_label",
                "distributor=",
            ] {
                script.prints(word);
            }
        }
    }
}

/// A shell would run a command in the name of a file or of a parameter.
#[test]
fn completions_offer_plain_names_only() {
    let folder = tempfile::tempdir().unwrap();
    let queries = folder.path().join("queries");
    fs::create_dir(&queries).unwrap();
    let query = |parameter: &str| {
        format!(
            "purpose = \"?\"\n[params.\"{parameter}\"]\ntype = \"blocks\"\ndoc = \"?\"\n\
             [ask]\ncommand = \"transfers\"\nblocks = \"${{{parameter}}}\"\n"
        )
    };
    for (name, text) in [
        ("mine", query("since")),
        ("a$(touch made)", query("since")),
        ("params", query("b$(touch made)")),
        ("foreign", "a = 1".to_owned()),
    ] {
        fs::write(queries.join(format!("{name}.toml")), text).unwrap();
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(bare(folder.path()).args(["completions", shell])).ended(0);
        assert!(!script.stdout.contains("touch"), "{shell}");
    }
    let script = run(bare(folder.path()).args(["completions", "bash"])).ended(0);
    script.prints(" mine ").prints("since=");
    // The list names everything, and what is no query.
    let list = run(bare(folder.path()).args(["query", "--list"])).ended(0);
    list.prints("a$(touch made)").prints("who-funded");
    list.says("warning: queries/foreign.toml: ");
}

#[test]
fn man_pages_describe_every_command() {
    let sample = Sample::small();
    let all = sample.ok("man").stdout;
    for command in commands(&sample) {
        let page = sample.ok(&format!("man {command}")).stdout;
        assert!(
            page.starts_with(".ie") && page.contains(".TH"),
            "{command}: {page}"
        );
        assert!(
            page.contains(&format!("txgraph\\-{command}")),
            "{command}: {page}"
        );
        assert!(all.contains(&format!("txgraph\\-{command}")), "{command}");
    }
    let build = sample.ok("man index build").stdout;
    assert!(build.contains("segment\\-blocks"), "{build}");
    sample.run("man nonsense").ended(2);
}
