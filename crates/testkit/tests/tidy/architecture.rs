//! ARCHITECTURE.md's tables against the manifests and the sources. A table is found by
//! the first cells of its head, so that the page may be ordered freely.

use crate::modules::tokens;
use crate::{dependencies, fail_on, manifests, our_crate, read, relative, sources, workspace};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the tables whose head begins with these cells, each as its cells. The crates
/// have one table for each group.
fn table(head: &[&str]) -> Vec<Vec<String>> {
    let text = read(&workspace().join("ARCHITECTURE.md"));
    let rows: Vec<_> = text
        .split("\n\n")
        .map(str::trim)
        .filter(|block| {
            block.lines().next().is_some_and(|line| {
                cells(line).iter().zip(head).filter(|(a, b)| a == b).count() == head.len()
            })
        })
        .flat_map(|table| table.lines().skip(2).map(cells))
        .collect();
    assert!(
        !rows.is_empty(),
        "ARCHITECTURE.md has no table with the head {head:?}"
    );
    rows
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The words of a cell that are in backquotes.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn first_quoted(row: &[String]) -> String {
    quoted(&row[0])
        .pop_first()
        .unwrap_or_else(|| panic!("no `name` in {:?}", row[0]))
}

#[test]
fn crate_table_is_complete_and_in_order() {
    let manifests = manifests();
    let rows = table(&["crate", "uses"]);
    let mut faults = Vec::new();
    let mut above = BTreeSet::new();
    for row in &rows {
        let name = first_quoted(row);
        let Some(manifest) = manifests.get(&name) else {
            faults.push(format!("`{name}` is in the table and not in crates/"));
            continue;
        };
        let used: BTreeSet<String> =
            dependencies(manifest, &["dependencies", "build-dependencies"])
                .into_iter()
                .filter_map(|name| our_crate(&name).map(str::to_owned))
                .collect();
        let stated = quoted(&row[1]);
        for (some, others, what) in [
            (&used, &stated, "is used and not in its row"),
            (&stated, &used, "is in its row and not used"),
            (&used, &above, "is used and not above it in the table"),
        ] {
            let lacking = some.difference(others);
            faults.extend(lacking.map(|other| format!("`{name}`: `{other}` {what}")));
        }
        if !above.insert(name.clone()) {
            faults.push(format!("`{name}` is in the table twice"));
        }
    }
    let missing = manifests.keys().filter(|name| !above.contains(*name));
    faults.extend(missing.map(|name| format!("`{name}` is missing from the table")));
    fail_on("the table of crates in ARCHITECTURE.md", &faults);
}

#[test]
fn heavy_dependencies_are_where_the_table_states() {
    let manifests = manifests();
    let mut faults = Vec::new();
    for row in table(&["dependency", "crates"]) {
        let homes = quoted(&row[1]);
        for dependency in quoted(&row[0]) {
            let users: BTreeSet<String> = manifests
                .iter()
                .filter(|(_, manifest)| {
                    dependencies(manifest, &["dependencies"]).contains(&dependency)
                })
                .map(|(name, _)| name.clone())
                .collect();
            for user in users.difference(&homes) {
                faults.push(format!("`{user}` uses `{dependency}`"));
            }
            for home in homes.difference(&users) {
                faults.push(format!("`{home}` does not use `{dependency}`"));
            }
        }
    }
    fail_on(
        "the table of heavy dependencies in ARCHITECTURE.md",
        &faults,
    );
}

#[test]
fn unsafe_code_is_where_the_table_states() {
    let stated: BTreeMap<String, String> = table(&["file with `unsafe`"])
        .into_iter()
        .map(|row| (first_quoted(&row), row[1].clone()))
        .collect();
    let mut faults = Vec::new();
    let mut found = BTreeSet::new();
    for path in sources() {
        let forms = ["{", "fn", "impl", "extern", "("];
        let text = read(&path);
        let is_unsafe = tokens(&text)
            .windows(2)
            .any(|pair| pair[0] == "unsafe" && forms.contains(&pair[1]));
        if is_unsafe {
            found.insert(relative(&path));
        }
    }
    for path in &found {
        if !stated.contains_key(path) {
            faults.push(format!("{path} has `unsafe` and no row"));
        }
    }
    for (path, reason) in &stated {
        if !found.contains(path) {
            faults.push(format!("{path} has a row and no `unsafe`"));
        }
        if reason.is_empty() {
            faults.push(format!("{path} has no reason"));
        }
    }
    fail_on(
        "the table of files with `unsafe` in ARCHITECTURE.md",
        &faults,
    );
}
