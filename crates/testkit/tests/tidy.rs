//! House rules as code: who may use whom, what every crate and file must have.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// Crates in the order of the flow, with what each may use of the others. A crate may
/// use only what stands above it.
const MAY_USE: [(&str, &[&str]); 20] = [
    ("keccak", &[]),
    ("transfers", &[]),
    ("nodedb", &["keccak"]),
    ("reader", &["nodedb", "transfers"]),
    ("index", &["reader", "transfers"]),
    ("evm", &[]),
    ("block", &["evm"]),
    ("state", &["evm", "nodedb"]),
    ("evm-tools", &["block", "evm"]),
    ("revm-peer", &["block", "evm", "evm-tools"]),
    (
        "replay",
        &["block", "evm", "nodedb", "revm-peer", "state", "transfers"],
    ),
    ("graph", &["transfers"]),
    ("analysis", &["graph", "transfers"]),
    ("export", &["analysis", "graph", "keccak", "transfers"]),
    (
        "txgraph",
        &[
            "analysis",
            "block",
            "evm",
            "export",
            "graph",
            "index",
            "nodedb",
            "reader",
            "replay",
            "state",
            "transfers",
        ],
    ),
    ("cli", &["block", "evm", "evm-tools", "txgraph"]),
    // Beside the flow. Others use `testkit` for their tests only, `bench` not at all.
    ("testkit", &["transfers"]),
    // Executes with revm alone, so that its chains can judge what is above.
    ("chaingen", &["evm-tools", "transfers"]),
    ("evm-bench", &["block", "evm", "evm-tools", "revm-peer"]),
    (
        "bench",
        &[
            "evm",
            "evm-tools",
            "export",
            "graph",
            "index",
            "nodedb",
            "reader",
            "transfers",
        ],
    ),
];

/// Heavy dependencies, each with the crates that may know it outside of tests.
const HEAVY: [(&str, &[&str]); 10] = [
    ("signet-libmdbx", &["nodedb", "chaingen", "testkit"]),
    ("rocksdb", &["nodedb"]),
    // The reference decoder; the reader of real directories has its own.
    ("reth-codecs", &["chaingen", "bench"]),
    // In `bench` only with the feature of the writers' bench, as their rival.
    ("polars", &["export", "bench"]),
    ("graphviz-rust", &["export"]),
    ("petgraph", &["graph", "analysis"]),
    (
        "rayon",
        &[
            "evm-tools",
            "graph",
            "reader",
            "index",
            "replay",
            "chaingen",
            "bench",
        ],
    ),
    ("clap", &["cli", "chaingen", "bench"]),
    ("anyhow", &["bench", "evm-bench"]),
    ("tokio", &["cli"]),
];

/// Lines of a source file, unit tests apart.
const LINES_MAX: usize = 600;

/// Longer ones, with the reason.
const LONGER: [(&str, &str); 4] = [
    (
        "crates/revm-peer/src/case.rs",
        "one random world, from its accounts to its transactions",
    ),
    (
        "crates/evm/src/interpreter.rs",
        "one loop with an arm for every instruction",
    ),
    (
        "crates/transfers/src/decode/tests.rs",
        "cases, one after the other, of one function",
    ),
    (
        "crates/analysis/src/summary.rs",
        "one measure with its tables, which may move out when either grows",
    ),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn parse(path: &Path) -> Table {
    read(path)
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file below `folder`, sorted; hidden ones and what is built apart.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "corpus", "artifacts"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(workspace())
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

fn sources() -> impl Iterator<Item = PathBuf> {
    files(&workspace().join("crates"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
}

/// Fails with all faults at once.
fn tidy(rule: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{rule}:\n  {}", faults.join("\n  "));
}

fn keys(manifest: &Table, section: &str) -> Vec<String> {
    match manifest.get(section) {
        Some(Value::Table(table)) => table.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

fn manifests() -> BTreeMap<String, Table> {
    let folders = fs::read_dir(workspace().join("crates")).unwrap();
    folders
        .map(|folder| folder.unwrap())
        .map(|folder| {
            let name = folder.file_name().into_string().unwrap();
            (name, parse(&folder.path().join("Cargo.toml")))
        })
        .collect()
}

/// Our own crates have short folders and prefixed packages, but for the façade.
fn ours(package: &str) -> Option<&str> {
    match package {
        "txgraph" => Some(package),
        _ => package.strip_prefix("txgraph-"),
    }
}

#[test]
fn crates_use_only_what_they_may() {
    let mut faults = Vec::new();
    let table: BTreeMap<_, _> = MAY_USE.into_iter().collect();
    for (name, manifest) in manifests() {
        let Some(allowed) = table.get(name.as_str()) else {
            faults.push(format!("{name} does not stand in the table of this test"));
            continue;
        };
        for section in ["dependencies", "build-dependencies"] {
            for used in keys(&manifest, section) {
                if let Some(used) = ours(&used).filter(|used| !allowed.contains(used)) {
                    faults.push(format!("{name} must not use {used}"));
                }
            }
        }
        for used in keys(&manifest, "dev-dependencies") {
            if let Some("bench" | "cli" | "evm-bench") = ours(&used) {
                faults.push(format!("tests of {name} must not use {used}"));
            }
        }
        let package = manifest["package"]["name"].as_str().unwrap();
        if ours(package) != Some(&name) {
            faults.push(format!("folder {name} holds package {package}"));
        }
        if manifest["lints"]["workspace"] != Value::Boolean(true) {
            faults.push(format!("{name} does not take the lints of the workspace"));
        }
    }
    tidy("who may use whom (ARCHITECTURE.md)", &faults);
}

#[test]
fn heavy_dependencies_live_in_few_crates() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        let used = keys(&manifest, "dependencies");
        for (heavy, homes) in HEAVY {
            if used.iter().any(|used| used == heavy) && !homes.contains(&name.as_str()) {
                faults.push(format!(
                    "{name} uses {heavy}, at home in {}",
                    homes.join(", ")
                ));
            }
        }
    }
    tidy("heavy dependencies", &faults);
}

/// Versions stand once, in the workspace.
#[test]
fn dependencies_are_those_of_the_workspace() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(Value::Table(table)) = manifest.get(section) else {
                continue;
            };
            for (used, how) in table {
                if how.get("workspace") != Some(&Value::Boolean(true)) {
                    faults.push(format!("{name}: {used}"));
                }
            }
        }
    }
    tidy("dependencies without `.workspace = true`", &faults);
}

#[test]
fn every_crate_says_what_it_is() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        let folder = workspace().join("crates").join(&name).join("src");
        let lib = folder.join("lib.rs");
        let root = if lib.exists() {
            lib
        } else {
            folder.join("main.rs")
        };
        if !read(&root).starts_with("//! ") {
            faults.push(format!("{} does not open with `//!`", relative(&root)));
        }
        if manifest["package"].get("description").is_none() {
            faults.push(format!("{name} has no description"));
        }
    }
    tidy("crate documentation", &faults);
}

#[test]
fn no_file_is_too_long() {
    let mut faults = Vec::new();
    let mut excused: Vec<&str> = LONGER.iter().map(|(path, _)| *path).collect();
    for path in sources() {
        let text = read(&path);
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().count();
        let name = relative(&path);
        if lines > LINES_MAX {
            match excused.iter().position(|excused| *excused == name) {
                Some(at) => drop(excused.remove(at)),
                None => faults.push(format!("{name} has {lines}: do two ideas share it?")),
            }
        }
    }
    faults.extend(
        excused
            .iter()
            .map(|path| format!("{path} needs no excuse any more")),
    );
    tidy("lines of a file", &faults);
}

/// A file beside `main.rs` of a test program is a module of it, or is not run at all.
#[test]
fn no_test_file_is_forgotten() {
    let mut faults = Vec::new();
    for main in sources().filter(|path| path.ends_with("main.rs")) {
        let folder = main.parent().unwrap();
        if !relative(folder).contains("/tests/") {
            continue;
        }
        let text = read(&main);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_module = path.is_dir() && path.join("mod.rs").exists()
                || path.extension().is_some_and(|extension| extension == "rs");
            if is_module && stem != "main" && !text.contains(&format!("mod {stem};")) {
                faults.push(relative(&path));
            }
        }
    }
    tidy("test files that nobody runs", &faults);
}

#[test]
fn committed_questions_and_configurations_parse() {
    let mut faults = Vec::new();
    let folder = workspace().join("queries");
    let queries = files(&folder);
    assert!(queries.len() >= 5, "queries are missing");
    for path in queries {
        let query = parse(&path);
        if query
            .get("purpose")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            faults.push(format!("{} does not say what it is for", relative(&path)));
        }
    }
    for path in files(&workspace().join("configs")) {
        parse(&path);
    }
    tidy("queries", &faults);
}

#[test]
fn nothing_knows_this_machine() {
    let mut faults = Vec::new();
    // Taken apart, so that this file does not break its own rule.
    // Nobody in particular lives in `/home/me`.
    let known = ["work", "root", "tmp", "home"].map(|folder| format!("/{folder}/"));
    let text = ["rs", "toml", "md", "sh", "json", "py", "yml"];
    for path in files(&workspace()) {
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = relative(&path);
        let ours = [
            "crates/",
            "scripts/",
            "configs/",
            "queries/",
            "docs/",
            "benchmarks/",
            "fuzz/",
        ]
        .iter()
        .any(|folder| name.starts_with(folder))
            || !name.contains('/');
        if !ours || !text.contains(&extension.as_str()) {
            continue;
        }
        for (number, line) in (1..).zip(read(&path).replace("/home/me", "~").lines()) {
            // A path begins after something that is no part of one.
            let told = known.iter().any(|folder| {
                line.match_indices(folder.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_alphanumeric() && !"._-$}~/".contains(c))
                })
            });
            if told {
                faults.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    tidy("paths of one machine", &faults);
}
