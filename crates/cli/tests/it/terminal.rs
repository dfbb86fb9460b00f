//! The contents of databases and files do not control the terminal.

use crate::harness::{HUB, ROOT, Run, Sample, run};
use std::fs;

/// Neither stream has a character that a terminal would interpret.
fn assert_plain(run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        let control =
            |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(control), "{run:?}");
    }
}

#[test]
fn names_of_files_are_escaped() {
    let sample = Sample::small();
    let copy = sample.fixture.unpack();
    let folder = copy.path().join("static_files");
    for name in [
        "\u{1b}[31mevil",
        "new\nnote          forged",
        "\u{202e}live",
    ] {
        fs::write(folder.join(format!("static_file_{name}_0_499999")), "").unwrap();
    }
    for line in ["info", "info --json"] {
        let mut command = sample.command();
        command
            .args(line.split(' '))
            .arg("--datadir")
            .arg(copy.path());
        let run = run(&mut command).ended(0);
        run.prints("evil");
        assert_plain(&run);
        let forged = |line: &str| line.starts_with("note          forged");
        assert!(!run.stdout.lines().any(forged), "{run:?}");
    }
}

#[test]
fn lists_and_queries_are_escaped() {
    let sample = Sample::small();
    let evil = "\u{1b}]0;pwned\u{7}";
    fs::write(
        sample.path("tokens.csv"),
        format!("address,symbol,decimals\n{evil}X,U,6\n"),
    )
    .unwrap();
    fs::write(sample.path("list.csv"), format!("{evil}\n")).unwrap();
    fs::write(sample.path("stop.csv"), format!("{HUB},{evil}\n{evil},x\n")).unwrap();
    fs::create_dir(sample.path("queries")).unwrap();
    fs::write(
        sample.path("queries/evil.toml"),
        "purpose = \"Is \\u001b[31mthis\\nerror: red?\"\n[params.x]\ntype = \"text\"\n\
         doc = \"\\u009b1m\"\ndefault = \"\\u001b\"\n[ask]\ncommand = \"transfers\"\n\
         blocks = \"${x}\"\n",
    )
    .unwrap();
    for (line, status) in [
        (
            format!("graph -r {ROOT} --token-list tokens.csv -o x.dot"),
            2,
        ),
        ("graph -r @list.csv".to_owned(), 2),
        (format!("graph -r {ROOT} --stop-at stop.csv"), 2),
        ("transfers -t @list.csv".to_owned(), 2),
        ("query --list".to_owned(), 0),
        ("query evil --show".to_owned(), 0),
        ("query evil".to_owned(), 2),
    ] {
        let run = sample.run(&line).ended(status);
        assert_plain(&run);
        let forged = |line: &str| line.starts_with("error: red");
        assert!(!run.stderr.lines().any(forged), "{run:?}");
    }
}
