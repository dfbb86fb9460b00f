//! Names on documentation pages exist: files, headings, names of the sources, counts, and
//! the runs behind figures of speed. `help.rs` of `cli` checks commands and options.

use crate::{fail_on, files, manifests, read, relative, workspace};
use std::{collections::BTreeSet, fs};
use txgraph_testkit::pages::{Page, pages};

/// Names of other projects, or of a commit that the page states. An entry that no page names is
/// a fault.
const FOREIGN: &[&str] = &[
    // Python and networkx
    "DiGraph",
    "KeyboardInterrupt",
    "MultiDiGraph",
    "True",
    "TypeError",
    "ValueError",
    // DuckDB and ClickHouse
    "from_hex('4545…')",
    "reinterpretAsUInt256(reverse(value_binary))",
    // reth, geth, libmdbx
    "CALLBlake2f_MaxRounds",
    "Finish",
    "FinishCheckpoint",
    "crates/storage/provider/src/providers/database/provider.rs",
    "save_blocks",
    "tx_range",
    // Contracts of the OP stack
    "BaseFeeVault",
    "L1FeeVault",
    "OperatorFeeVault",
    "SequencerFeeVault",
    // object_store
    "AWS_CONDITIONAL_PUT=disabled",
    // Commit 976c437, which docs/notes/gas-accounting.md describes
    "crates/evm-bench/src/ladder",
    "scripts/gas-share.sh",
];

/// The workspace as the pages describe it.
struct Truth {
    /// Files and folders, also without `src/`.
    paths: BTreeSet<String>,
    crates: BTreeSet<String>,
    /// The names that the Rust and Python sources define.
    defined: BTreeSet<String>,
    /// Every word of sources, scripts and settings outside of comments.
    words: BTreeSet<String>,
    /// Things that are counted, and how many there are.
    counts: Vec<(&'static str, usize)>,
}

/// Whether it is a name in a programming language.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| is_name(word))
}

/// The names that a line of Rust or Python defines: after a keyword, or a field or variant.
fn definitions(line: &str) -> impl Iterator<Item = &str> {
    const KEYWORDS: &str =
        " fn struct enum trait const static type mod union macro_rules class def ";
    let words = words_of(line).zip(words_of(line).skip(1));
    let items = words
        .filter_map(|(before, word)| KEYWORDS.contains(&format!(" {before} ")).then_some(word));
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let visible = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        visible.map_or(rest, |(_, rest)| rest).trim_start()
    });
    let member = words_of(line).next().filter(|word| {
        let rest = line.strip_prefix(word).unwrap_or("?");
        let is_variant = rest.starts_with(['(', '{', ' ']) && word.starts_with(char::is_uppercase);
        rest.starts_with(',') || is_variant || rest.starts_with(':') && !rest.starts_with("::")
    });
    items.chain(member)
}

fn variants(path: &str, name: &str) -> usize {
    let text = read(&workspace().join(path));
    let (_, rest) = text.split_once(&format!("enum {name} {{")).unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let begins = |line: &&str| {
        line[..line.len().min(5)]
            .trim()
            .starts_with(char::is_uppercase)
    };
    body.lines().filter(begins).count()
}

fn matches(path: &str, text: &str) -> usize {
    read(&workspace().join(path)).matches(text).count()
}

/// The list of the kinds of source. Entries of `import` are files of other tools.
const KINDS: &str = "crates/txgraph/src/kinds.rs";

impl Truth {
    fn read() -> Self {
        let mut truth = Self {
            paths: BTreeSet::new(),
            crates: manifests().into_keys().collect(),
            defined: BTreeSet::new(),
            words: BTreeSet::new(),
            counts: vec![
                ("crates", manifests().len()),
                ("commands", variants("crates/cli/src/lib.rs", "Command")),
                ("forks", variants("crates/evm/src/fork.rs", "Fork")),
                ("fuzz targets", matches("fuzz/Cargo.toml", "[[bin]]")),
                (
                    "kinds of source",
                    matches(KINDS, "        word: \"") + matches(KINDS, "    import("),
                ),
                ("saved queries", files(&workspace().join("queries")).len()),
            ],
        };
        for path in files(&workspace()) {
            let name = relative(&path);
            for part in path
                .ancestors()
                .map(relative)
                .take_while(|part| !part.is_empty())
            {
                truth.paths.insert(part.replace("/src/", "/"));
                truth.paths.insert(part);
            }
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let is_code = ["rs", "py", "pyi"].contains(&&*extension);
            let is_named =
                is_code || ["sh", "toml", "txt", "yaml", "yml", "sql"].contains(&&*extension);
            if !is_named || name.ends_with("tidy/truth.rs") || name.contains("runs/") {
                continue;
            }
            let comment = if extension == "rs" { "//" } else { "# " };
            for line in read(&path).lines() {
                // An address contains `//`, too.
                let line = line.replace("://", " ");
                let line = line.split(comment).next().unwrap_or_default();
                truth.words.extend(words_of(line).map(str::to_owned));
                if is_code {
                    truth.defined.extend(definitions(line).map(str::to_owned));
                }
            }
        }
        truth
    }

    /// Whether it looks like a path of the workspace, and nothing has this path. Paths may begin
    /// inside a crate.
    fn is_dead_path(&self, text: &str) -> bool {
        const ROOTS: &str =
            " .ci benchmarks configs crates docs fuzz python queries scripts src testdata tests ";
        let path = text.trim_start_matches("./").trim_end_matches('/');
        let parts: Vec<&str> = path.split('/').collect();
        let is_code = [".rs", ".sh", ".asm", ".py"]
            .iter()
            .any(|end| path.ends_with(end));
        let is_inside = self.crates.contains(parts[0])
            && parts.len() > 1
            && ["src", "tests", "examples", "benches"].contains(&parts[1]);
        let is_path = (path.chars()).all(|c| c.is_alphanumeric() || "_./-*".contains(c))
            && (is_code
                || is_inside
                || text.contains('/') && ROOTS.contains(&format!(" {} ", parts[0])));
        let (start, end) = path.split_once('*').unwrap_or((path, ""));
        let start = format!("/{start}");
        is_path
            && !workspace().join(path).exists()
            && !self.paths.iter().any(|known| {
                let known = format!("/{known}");
                match path.contains('*') {
                    true => known.contains(&start) && known.ends_with(end),
                    false => known.ends_with(&start),
                }
            })
    }

    /// Whether it looks like a name of the sources, and they do not have it.
    fn is_dead_name(&self, text: &str) -> bool {
        let end = text.find(['(', '=', '!']).unwrap_or(text.len());
        let (head, tail) = text.split_at(end);
        let is_call = tail.starts_with('(') && tail.ends_with(')');
        let parts: Vec<&str> = head.split("::").flat_map(|part| part.split('.')).collect();
        let last = parts[parts.len() - 1];
        let is_upper = last.starts_with(char::is_uppercase);
        let has_lower = last.contains(char::is_lowercase);
        if !parts.iter().all(|part| is_name(part)) || tail.starts_with('(') && !is_call {
            return false;
        }
        let is_strict = head.contains("::")
            || tail == "()"
            || tail.is_empty() && is_upper && has_lower && !last.contains('_');
        let is_mixed = last.contains('_') || has_lower && last.contains(char::is_uppercase);
        if is_strict && (!head.contains('.') || is_call || is_upper) {
            !self.defined.contains(last)
        } else {
            is_mixed && parts.len() == 1 && !self.words.contains(last)
        }
    }

    fn dead_names(&self, page: &Page) -> Vec<String> {
        let mut found: Vec<(usize, String)> = page.spans();
        found.retain(|(_, span)| {
            let mut words = span.split(' ').take_while(|word| !word.starts_with('-'));
            words.any(|word| self.is_dead_path(word)) || self.is_dead_name(span)
        });
        for (at, words) in page.commands() {
            let dead = words.into_iter().filter(|word| self.is_dead_path(word));
            found.extend(dead.map(|word| (at, word)));
        }
        let fault = |(at, name)| format!("{}:{at}: {name}", page.name);
        found.into_iter().map(fault).collect()
    }

    /// Counts in words or digits. Fewer than five may be some of them.
    fn wrong_counts(&self, page: &Page) -> Vec<String> {
        let prose = page.prose();
        let words: Vec<&str> = prose.split_whitespace().collect();
        let bare = |word: &str| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.strip_suffix('s').unwrap_or(word).to_lowercase()
        };
        let mut faults = Vec::new();
        for (at, word) in words
            .iter()
            .enumerate()
            .filter(|(at, _)| *at == 0 || words[at - 1] != "about")
        {
            let Some(number) = number(word).filter(|number| *number >= 5) else {
                continue;
            };
            for (things, count) in &self.counts {
                let is_named = things
                    .split(' ')
                    .zip(&words[at + 1..])
                    .filter(|(a, b)| bare(a) == bare(b));
                if is_named.count() == things.split(' ').count() && number != *count {
                    faults.push(format!("{}: {word} {things}, there are {count}", page.name));
                }
            }
        }
        faults
    }
}

fn number(word: &str) -> Option<usize> {
    const WORDS: &str = "zero one two three four five six seven eight nine ten eleven twelve \
                         thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty";
    let word = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let named = WORDS.split(' ').position(|name| name == word);
    named.or_else(|| word.replace(',', "").parse().ok())
}

/// Links to files and headings that do not exist.
fn dead_links(page: &Page) -> Vec<String> {
    let folder = workspace().join(&page.name).parent().unwrap().to_path_buf();
    let mut faults = Vec::new();
    for (at, link) in page
        .links()
        .into_iter()
        .filter(|(_, link)| !link.contains("://"))
    {
        let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let target = folder.join(file);
        let target = match file {
            "" => page.clone(),
            _ if !target.exists() => {
                faults.push(format!("{}:{at}: {link}", page.name));
                continue;
            }
            _ if anchor.is_empty() => continue,
            _ => Page {
                name: file.to_owned(),
                text: read(&target),
            },
        };
        if !target.anchors().contains(anchor) {
            faults.push(format!("{}:{at}: {link} (no such heading)", page.name));
        }
    }
    faults
}

/// Whether a text has a figure of speed: a number with a unit of time or of a rate.
fn has_speed(text: &str) -> bool {
    let bare = |word: &str| {
        word.trim_matches(|c: char| "(),.;:|*".contains(c))
            .to_owned()
    };
    let words: Vec<String> = text.split_whitespace().map(bare).collect();
    words.windows(2).any(|pair| {
        let is_number = pair[0].starts_with(|c: char| c.is_ascii_digit());
        is_number && (["s", "ms", "µs", "ns"].contains(&&*pair[1]) || pair[1].ends_with("/s"))
    })
}

/// Whether a stored run names the commit that it measured.
fn names_commit(run: &str) -> bool {
    let files = files(&workspace().join("benchmarks/runs").join(run));
    files.iter().any(|path| {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).to_lowercase();
        let mut commits = text.split("commit ").skip(1);
        commits.any(|rest| rest.chars().take_while(char::is_ascii_hexdigit).count() >= 7)
    })
}

/// Sections with figures of speed and without a link to a run that names its commit.
fn unproved_speed(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, section) in page.sections() {
        let place = format!("{}:{at}: speed", page.name);
        let runs = section.split("benchmarks/runs/").skip(1);
        let runs: BTreeSet<&str> = runs
            .filter_map(|rest| rest.split(['/', ')']).next())
            .collect();
        if has_speed(&section) && runs.is_empty() {
            faults.push(format!("{place} without a stored run"));
        }
        for run in runs.into_iter().filter(|run| !names_commit(run)) {
            faults.push(format!("{place} of {run}, which names no commit"));
        }
    }
    faults
}

/// The faults without those that are allowed, and the allowances that nothing needs.
fn without(allowed: &[&str], mut faults: Vec<String>) -> Vec<String> {
    let is_allowed =
        |fault: &String, name: &&str| fault == name || fault.ends_with(&format!(" {name}"));
    let unused = allowed
        .iter()
        .filter(|name| !faults.iter().any(|fault| is_allowed(fault, name)));
    let unused: Vec<String> = unused
        .map(|name| format!("{name} is allowed and not needed"))
        .collect();
    faults.retain(|fault| !allowed.iter().any(|name| is_allowed(fault, name)));
    faults.extend(unused);
    faults
}

#[test]
fn pages_are_true() {
    let truth = Truth::read();
    let pages = pages();
    let all =
        |check: &dyn Fn(&Page) -> Vec<String>| pages.iter().flat_map(check).collect::<Vec<_>>();
    let is_measured =
        |page: &&Page| page.name == "README.md" || page.name.starts_with("docs/performance");
    let speed = pages.iter().filter(is_measured).flat_map(unproved_speed);
    let faults = [
        without(FOREIGN, all(&|page| truth.dead_names(page))),
        all(&dead_links),
        all(&|page| truth.wrong_counts(page)),
        speed.collect(),
    ];
    fail_on(
        "names, links, counts and figures of pages",
        &faults.concat(),
    );
}

/// Features of a manifest that are on by default, as a page lists them.
#[test]
fn default_features_are_listed() {
    let manifest = read(&workspace().join("crates/txgraph/Cargo.toml"));
    let (_, list) = manifest.split_once("\ndefault = [").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    let on: BTreeSet<&str> = list
        .split(", ")
        .map(|name| name.trim_matches('"'))
        .collect();
    let page = read(&workspace().join("docs/library.md"));
    let rows = page.lines().filter(|line| line.contains("` | yes |"));
    let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(listed, on);
}

#[test]
fn planted_faults_are_found() {
    let truth = Truth::read();
    let page = |text: &str| Page {
        name: "docs/evm.md".to_owned(),
        text: text.to_owned(),
    };
    let found = |text: &str| {
        let page = page(text);
        let checks = [
            truth.dead_names(&page),
            dead_links(&page),
            truth.wrong_counts(&page),
        ];
        [checks.concat(), unproved_speed(&page)].concat()
    };
    let readme = pages().into_iter().find(|page| page.name == "README.md");
    let heading = readme.unwrap().anchors().pop_first().unwrap();
    let crates = manifests().len();
    for text in [
        "`crates/evm/src/lib.rs`, `evm/src/lib.rs`, `pages.rs`, `tests/tidy`, `chaingen/contracts/*.asm`",
        "`pages::Page`, `Page`, `Page::prose()`, `block_number`, `balanceOf(address)`, `wei`, `1 + 1`",
        "```console\n$ ./bench.sh evm | scripts/demo.sh\n$ other/place.txt\n```\n",
        &format!("[a](../README.md#{heading}), [b](evm.md), [c](https://nowhere), [d](#e)\n# E"),
        &format!("{crates} crates. {crates} `crates`, about 99 crates, three crates"),
        "It takes 1.5 s ([run](../benchmarks/runs/2026-11-22-scale/summary.md)). 15 seconds. 2 sizes.",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
    for text in [
        "`crates/evm/src/nothing.rs`",
        "`evm/src/nothing`",
        "`nothing.rs`",
        "`./scripts/nothing.sh all`",
        "`chaingen/contracts/*.nothing.asm`",
        "```sh\nA=1 scripts/nothing.sh\n```",
        "`NothingOfThis`",
        "`Page::nonesuch`",
        "`nothing_of_this()`",
        "`nothing_of_this`",
        "`NOTHING_OF_THIS=1`",
        "[a](nothing.md)",
        "[a](../README.md#nothing)",
        "[a](#nothing)",
        "99 crates",
        "nineteen\nfuzz targets",
        "99 kinds of sources",
        "| a | 0.1 s |",
        "## A\n(0.1 ms)\n## B\n[run](../benchmarks/runs/2026-11-22-scale)",
        "[run](../benchmarks/runs/2026-11-22-scale) and benchmarks/runs/nothing",
    ] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    assert_eq!(without(&["a", "b"], vec!["x: b".to_owned()]).len(), 1);
}
