//! House rules as code: what ARCHITECTURE.md states about crates and files, and what every
//! crate, file and page must have.

mod architecture;
mod modules;
mod prose;
mod truth;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use toml::{Table, Value};
use txgraph_testkit::fixtures::workspace;

/// Lines of a source file at most, without its unit tests.
const LINES_MAX: usize = 600;

/// Lines of a module of the page at most.
const PAGE_LINES_MAX: usize = 300;

/// Longer files, with the reason.
const LONGER: [(&str, &str); 3] = [
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
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn parse(path: &Path) -> Table {
    read(path)
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file below `folder`, sorted, without hidden files and build outputs.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let outputs = ["target", "corpus", "artifacts", "node_modules"];
        if name.starts_with('.') || outputs.contains(&name.as_str()) {
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

/// Fails with all faults at once, if there are any.
fn fail_on(rule: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{rule}:\n  {}", faults.join("\n  "));
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

/// The folder of one of our packages. Packages have a prefix, except the façade.
fn our_crate(package: &str) -> Option<&str> {
    match package {
        "txgraph" => Some(package),
        _ => package.strip_prefix("txgraph-"),
    }
}

fn dependencies(manifest: &Table, sections: &[&str]) -> Vec<String> {
    sections
        .iter()
        .flat_map(|section| match manifest.get(*section) {
            Some(Value::Table(table)) => table.keys().cloned().collect(),
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn manifests_follow_the_conventions() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for used in dependencies(&manifest, &["dev-dependencies"]) {
            if let Some("bench" | "cli") = our_crate(&used) {
                faults.push(format!("tests of {name} must not use {used}"));
            }
        }
        let package = manifest["package"]["name"].as_str().unwrap();
        if our_crate(package) != Some(&name) {
            faults.push(format!("folder {name} has package {package}"));
        }
        if manifest["lints"]["workspace"] != Value::Boolean(true) {
            faults.push(format!("{name} does not use the lints of the workspace"));
        }
        if manifest["package"].get("description").is_none() {
            faults.push(format!("{name} has no description"));
        }
    }
    fail_on("manifests", &faults);
}

/// Versions are in the manifest of the workspace only.
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
    fail_on("dependencies without `.workspace = true`", &faults);
}

#[test]
fn every_crate_has_documentation() {
    let mut faults = Vec::new();
    for name in manifests().into_keys() {
        let folder = workspace().join("crates").join(&name).join("src");
        let lib = folder.join("lib.rs");
        let root = if lib.exists() {
            lib
        } else {
            folder.join("main.rs")
        };
        if !read(&root).starts_with("//! ") {
            faults.push(format!("{} does not begin with `//!`", relative(&root)));
        }
    }
    fail_on("crate documentation", &faults);
}

#[test]
fn no_file_is_too_long() {
    let mut faults = Vec::new();
    let mut exceptions: Vec<&str> = LONGER.iter().map(|(path, _)| *path).collect();
    for path in sources() {
        let text = read(&path);
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().count();
        let name = relative(&path);
        if lines > LINES_MAX {
            match exceptions.iter().position(|exceptions| *exceptions == name) {
                Some(at) => drop(exceptions.remove(at)),
                None => faults.push(format!("{name} has {lines} lines; split it")),
            }
        }
    }
    faults.extend(
        exceptions
            .iter()
            .map(|path| format!("{path} no longer needs its exception: remove it")),
    );
    fail_on("lines of a file", &faults);
}

#[test]
fn modules_of_the_page_are_small_and_say_what_they_are() {
    let folder = workspace().join("crates/serve/page");
    let modules = files(&folder).into_iter();
    let modules = modules.filter(|path| path.extension().is_some_and(|it| it == "ts"));
    let mut faults = Vec::new();
    for path in modules {
        let (name, text) = (relative(&path), read(&path));
        let (lines, is_test) = (text.lines().count(), name.contains("/test/"));
        if lines > PAGE_LINES_MAX && !is_test {
            faults.push(format!("{name} has {lines} lines; split it"));
        }
        if !text.starts_with("// ") && !name.ends_with(".test.ts") {
            faults.push(format!("{name} does not begin with what it is"));
        }
        // Text from outside is never parsed as markup, and nothing is run that is not in the bundle.
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            if text.contains(word) && !is_test {
                faults.push(format!("{name} has {word}"));
            }
        }
    }
    fail_on("modules of the page", &faults);
}

/// Packages come from the registry that the user has configured, at exact versions.
#[test]
fn the_lock_file_of_the_page_names_no_registry() {
    let text = read(&workspace().join("crates/serve/page/package-lock.json"));
    assert!(!text.contains("\"resolved\""), "see .npmrc beside the file");
    assert!(text.contains("\"integrity\": \"sha512-"));
    let manifest = read(&workspace().join("crates/serve/page/package.json"));
    let (_, versions) = manifest.split_once("\"dependencies\"").unwrap();
    assert!(!versions.contains(['^', '~', '*']), "{versions}");
}

/// A file next to `main.rs` of a test binary must be one of its modules, or it is not run.
#[test]
fn every_test_file_is_a_module() {
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
    fail_on("test files that are not run", &faults);
}

/// `cli` runs every golden case; this finds the saved queries without one.
#[test]
fn saved_queries_have_a_purpose_and_golden_cases() {
    let mut faults = Vec::new();
    let golden = workspace().join("testdata/golden/queries");
    let mut queries = 0;
    for path in files(&workspace().join("queries")) {
        queries += 1;
        let purpose = parse(&path).get("purpose").cloned();
        if purpose
            .as_ref()
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            faults.push(format!("{} has no purpose", relative(&path)));
        }
        let cases = files(&golden.join(path.file_stem().unwrap()));
        let has = |end: &str| {
            cases
                .iter()
                .any(|case| case.extension().is_some_and(|it| it == end))
        };
        if !has("toml") || !has("out") {
            faults.push(format!("{} has no golden case", relative(&path)));
        }
    }
    assert!(queries >= 5, "queries are missing");
    for case in files(&golden) {
        let name = case.parent().unwrap().file_name().unwrap();
        let query = workspace()
            .join("queries")
            .join(name)
            .with_extension("toml");
        if !query.exists() {
            faults.push(format!("{} belongs to no query", relative(&case)));
        }
    }
    fail_on("saved queries", &faults);
}

#[test]
fn no_path_of_one_machine_is_committed() {
    let mut faults = Vec::new();
    // Assembled here, so that this file does not break its own rule. Examples use
    // `/home/me`, which is not a real folder.
    let known = ["work", "root", "tmp", "home"].map(|folder| format!("/{folder}/"));
    let text = [
        "rs", "toml", "md", "sh", "json", "py", "yml", "ts", "mjs", "css", "html",
    ];
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
            // A path begins after a character that is not part of one.
            let is_found = known.iter().any(|folder| {
                line.match_indices(folder.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_alphanumeric() && !"._-$}~/".contains(c))
                })
            });
            if is_found {
                faults.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    fail_on("paths of one machine", &faults);
}

/// The versions of reth in the code equal the versions on the page about compatibility.
#[test]
fn tested_versions_are_those_of_the_documentation() {
    let code = read(&workspace().join("crates/nodedb/src/version.rs"));
    let constant = |name: &str| {
        let line = code.lines().find(|line| line.contains(name)).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let page = read(&workspace().join("docs/compatibility.md"));
    let (_, tested) = page.split_once("## What was tested").unwrap();
    let (tested, later) = tested.split_once("\n## ").unwrap();
    // The last version that a line begins with, after `start`.
    let last = |text: &str, start: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(start));
        let words = lines.filter_map(|line| line.split([' ', ',', ':']).next());
        let mut versions = words.filter(|word| word.split('.').count() == 3);
        versions.next_back().unwrap().to_owned()
    };
    assert_eq!(last(tested, "- reth "), constant("NEWEST_TESTED: "));
    assert_eq!(last(later, "| "), constant("NEWEST_KNOWN: "));
}
