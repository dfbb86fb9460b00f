//! Where settings come from.

use crate::harness::{Sample, bare, run};
use std::fs;

#[test]
fn flag_over_environment_over_file() {
    let sample = Sample::small();
    let data = sample.fixture.path().display().to_string();
    let folder = sample.folder.path();
    fs::write(
        sample.path("good.toml"),
        format!("[node]\ndatadir = \"{data}\"\n"),
    )
    .unwrap();
    fs::write(sample.path("bad.toml"), "[node]\ndatadir = \"nowhere\"\n").unwrap();

    let ok = |command: &mut std::process::Command| {
        run(command).ended(0);
    };
    let refused = |command: &mut std::process::Command| {
        run(command).ended(1).says("nowhere");
    };
    ok(bare(folder).args(["info", "--config", "good.toml"]));
    ok(bare(folder).env("TXGRAPH_CONFIG", "good.toml").arg("info"));
    refused(bare(folder).args(["info", "--config", "bad.toml"]));
    refused(
        bare(folder)
            .env("TXGRAPH_CONFIG", "good.toml")
            .args(["--config", "bad.toml", "info"]),
    );
    run(bare(folder)
        .env("RETH_DATADIR", &data)
        .args(["info", "--config", "bad.toml"]))
    .ended(0)
    .says("from the environment");
    ok(bare(folder)
        .env("TXGRAPH_DATADIR", &data)
        .env("RETH_DATADIR", "nowhere")
        .arg("info"));
    refused(
        bare(folder)
            .env("TXGRAPH_DATADIR", "nowhere")
            .args(["info", "--config", "good.toml"]),
    );
    ok(bare(folder)
        .env("TXGRAPH_DATADIR", "nowhere")
        .args(["info", "--datadir", &data]));

    // In the current directory, without being named.
    fs::rename(sample.path("good.toml"), sample.path("txgraph.toml")).unwrap();
    ok(bare(folder).arg("info"));
}

#[test]
fn parts_of_the_data_directory_can_be_elsewhere() {
    for sample in Sample::both() {
        let copy = sample.fixture.unpack();
        let moved = sample.path("elsewhere");
        fs::rename(copy.path().join("static_files"), &moved).unwrap();
        let mut command = bare(sample.folder.path());
        command
            .args(["info", "--json", "--datadir"])
            .arg(copy.path());
        run(&mut command).ended(1).says("--datadir.static-files");
        run(command.arg("--datadir.static-files").arg(&moved)).ended(0);
    }
}

#[test]
fn a_wrong_chain_id_is_refused() {
    let sample = Sample::small();
    sample.ok("transfers -q -b 1 --chain-id 735703");
    sample
        .run("transfers -b 1 --chain-id 1")
        .ended(2)
        .says("735703")
        .says("hint: leave --chain-id out");
    // A setting of a file is named with the file. Where it proves nothing, it is refused, too.
    sample.ok("transfers -q -o t.csv");
    for (source, setting, hint) in [
        (
            sample.fixture.path().display().to_string(),
            "[node]\nchain-id = 1",
            "hint: remove `chain-id` from f.toml",
        ),
        (
            "csv:t.csv".to_owned(),
            "[run]\ncheck-roots = true",
            "hint: remove `check-roots` from f.toml",
        ),
    ] {
        let text = setting.replace("[node]", &format!("[node]\nsource = '{source}'"));
        fs::write(sample.path("f.toml"), text).unwrap();
        let mut command = bare(sample.folder.path());
        command.args(["transfers", "--config", "f.toml"]);
        if setting.starts_with("[run]") {
            command.args(["--source", &source]);
        }
        run(&mut command).ended(2).says(hint);
    }
}
