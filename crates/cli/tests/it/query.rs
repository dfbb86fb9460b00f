//! `txgraph query`: every saved query is also a test.
//!
//! `testdata/golden/queries/<query>/<case>.toml` contains the arguments, `<case>.out` the
//! expected output. A new case is a new file; `scripts/update-golden.sh` writes the outputs
//! again.

use crate::harness::{ROOT, Sample, USD6, run};
use std::{collections::BTreeSet, fs, path::PathBuf};
use txgraph::parse::BuiltInQuery;
use txgraph_testkit::{fixtures, says};

/// Every case: query, path without extension, arguments.
fn cases() -> Vec<(String, PathBuf, Vec<String>)> {
    let mut cases = Vec::new();
    for folder in fixtures::paths_in(&fixtures::testdata().join("golden/queries")) {
        let query = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for file in fixtures::paths_in(&folder) {
            if file
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let text = fs::read_to_string(&file).unwrap();
                let case: toml::Table = text
                    .parse()
                    .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                let args = case["args"].as_array().unwrap();
                let args = args
                    .iter()
                    .map(|arg| arg.as_str().unwrap().to_owned())
                    .collect();
                cases.push((query.clone(), file.with_extension(""), args));
            }
        }
    }
    cases.sort();
    cases
}

#[test]
fn saved_queries_give_their_golden_answers() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let samples = Sample::both();
    for (query, path, args) in cases() {
        let golden = path.with_extension("out");
        for sample in &samples {
            let run = run(sample.command().args(["-q", "query", &query]).args(&args)).ended(0);
            let answer = run.stdout.replace(&txgraph::version(), "VERSION");
            if update {
                fs::write(&golden, &answer).unwrap();
            }
            let expected = fs::read_to_string(&golden)
                .unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
            assert!(
                answer == expected,
                "{} on {} differs; it is now:\n{}",
                golden.display(),
                sample.fixture.name,
                answer
            );
        }
    }
}

#[test]
fn every_query_is_tested() {
    let tested: BTreeSet<String> = cases().into_iter().map(|(query, ..)| query).collect();
    let known: BTreeSet<String> = BuiltInQuery::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(tested, known);
}

#[test]
fn list_and_explain() {
    let sample = Sample::small();
    let list = sample.ok("query --list").stdout;
    for name in BuiltInQuery::ALL {
        let name = name.as_str();
        assert!(list.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let explained = sample
        .ok(&format!("query trace-token-out --show --set root={ROOT}"))
        .stdout;
    let command = explained
        .lines()
        .find(|line| line.starts_with("txgraph graph"))
        .unwrap();
    says(&command, &format!("--root {ROOT}"));
    // The explanation is the query: both give the same result.
    let asked = sample
        .ok(&format!("-q query trace-token-out --set root={ROOT}"))
        .stdout;
    assert_eq!(
        sample
            .ok(&format!("-q {}", &command["txgraph ".len()..]))
            .stdout,
        asked
    );
    let purpose = sample.ok("query who-funded --show").stdout;
    assert!(
        purpose.starts_with("Who funded these addresses?"),
        "{purpose}"
    );
    says(
        &purpose,
        "usage: txgraph query who-funded --set root=<addresses>",
    );
}

#[test]
fn a_local_file_does_not_replace_a_built_in_query() {
    let sample = Sample::small();
    fs::create_dir(sample.path("queries")).unwrap();
    let ours = "purpose = \"Something else?\"\n[ask]\ncommand = \"transfers\"\nblocks = 1\n";
    fs::write(sample.path("queries/cycles.toml"), ours).unwrap();
    fs::write(sample.path("cycles"), ours).unwrap();
    fs::write(sample.path("queries/mine.toml"), ours).unwrap();
    let asked = sample.ok("query cycles --set token=all");
    for note in [
        "query cycles (built in)\n",
        "queries/cycles.toml has the same name, and is not run",
    ] {
        asked.says(note);
    }
    assert!(!asked.stderr.contains("Something else?"), "{asked:?}");
    for (name, note) in [
        ("queries/cycles.toml", "query cycles (queries/cycles.toml)"),
        ("mine", "query mine (queries/mine.toml)"),
    ] {
        sample
            .ok(&format!("query {name}"))
            .says("Something else?")
            .says(note);
    }
    let list = sample.ok("query --list").stdout;
    for name in ["cycles ", "queries/cycles.toml ", "mine "] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}

/// The usage of a file names its path, as a shell reads it.
#[test]
fn the_usage_of_a_file_opens_it() {
    let sample = Sample::small();
    let folder = sample.path("our queries");
    fs::create_dir(&folder).unwrap();
    let text = "purpose = \"?\"\n[params.first]\ntype = \"blocks\"\ndoc = \"?\"\n\
                [ask]\ncommand = \"transfers\"\nblocks = \"${first}\"\n";
    fs::write(folder.join("mine.toml"), text).unwrap();
    let run = sample.run("query 'our queries/mine.toml'");
    run.ended(2)
        .says("usage: txgraph query 'our queries/mine.toml' --set first=<blocks>");
}

#[test]
fn a_saved_query_cannot_choose_files_to_write() {
    let sample = Sample::small();
    fs::write(sample.path("mine.csv"), "mine").unwrap();
    for (key, option) in [
        ("output", "output = \"mine.csv\""),
        ("overwrite", "overwrite = true"),
        ("vertices", "vertices = \"mine.csv\""),
    ] {
        let text = format!(
            "purpose = \"?\"\n[ask]\ncommand = \"graph\"\nroot = \"0x00000000000000000000000000000000000000aa\"\n{option}\n"
        );
        fs::write(sample.path("evil.toml"), text).unwrap();
        sample.fails("query evil.toml", 2, &format!("cannot set `{key}`"));
    }
    assert_eq!(sample.read("mine.csv"), "mine");
    sample.ok("query cycles --set token=all -f json -o mine.csv --overwrite");
    assert_ne!(sample.read("mine.csv"), "mine");
}

#[test]
fn own_queries_and_outputs() {
    let sample = Sample::small();
    fs::create_dir(sample.path("queries")).unwrap();
    fs::write(
        sample.path("queries/minted.toml"),
        "purpose = \"What was minted?\"\n[params.token]\ntype = \"tokens\"\ndoc = \"which\"\n\
         [ask]\ncommand = \"transfers\"\nkind = \"mint\"\ntoken = \"${token}\"\n",
    )
    .unwrap();
    assert!(
        sample
            .ok("query --list")
            .stdout
            .contains("What was minted?")
    );
    let asked = sample.ok(&format!("query minted --set token={USD6}"));
    asked.says("What was minted?");
    let direct = sample
        .ok(&format!("transfers -q --kind mint -t {USD6}"))
        .stdout;
    assert_eq!(asked.stdout, direct);
    sample.ok(&format!(
        "query queries/minted.toml -s token={USD6} -o m.csv"
    ));
    assert_eq!(sample.read("m.csv"), direct);
    sample
        .run("query minted")
        .ended(2)
        .says("`minted` needs a value for `token`")
        .says("--set token=");
}
