//! `txgraph era export`, and answers from its files.

use crate::{
    harness::{Sample, entry, ok, rows},
    mainnet::directories,
};
use std::fs;
use txgraph_testkit::{mainnet, or_skip};

#[test]
fn an_archive_of_mainnet_gives_the_answers_of_the_node() {
    let [_v1, folder] = or_skip!(directories());
    let folder = folder.path();
    let blocks = mainnet::blocks().unwrap();
    let count = mainnet::transfers(&blocks).transfers.len();
    ok(
        folder,
        "era export -q --datadir data -b 15000001: -o archive",
    );
    let name = entry(&folder.join("archive"), "");
    let hash = &blocks[19].hash.to_string()[2..10];
    // Without block 0, the name of the network is not known for certain.
    let expected = format!("archive/chain1-01831-{hash}-noproofs.ere");
    assert_eq!(name, folder.join(expected));
    for options in ["", "--check-roots", "--wrapped-native any"] {
        let line = format!("transfers -q --from-block 15000001 {options}");
        let node = ok(folder, &format!("{line} --datadir data")).stdout;
        let archive = ok(folder, &format!("{line} --source era:archive")).stdout;
        assert!(node == archive, "{line}");
        if options.contains("any") {
            assert_eq!(rows(&archive).len(), count);
        }
    }
}

#[test]
fn missing_blocks_and_wrong_files_have_their_status() {
    let sample = Sample::small();
    sample.ok("era export -q --blocks 5:10 --blocks 20:30 -o archive");
    let missing = sample.run("transfers --source era:archive").ended(3);
    for part in [
        "0:5 (not in the files), 10:20 (not in the files)",
        "available: 5:10, 20:30",
    ] {
        missing.says(part);
    }
    let partial = sample.ok("transfers -q --source era:archive --allow-partial");
    let expected = sample.ok("transfers -q -b 5:10,20:30");
    assert_eq!(partial.stdout, expected.stdout);
    fs::create_dir(sample.path("empty")).unwrap();
    fs::write(sample.path("page.ere"), "<html></html>").unwrap();
    let id = sample.fixture.chain_id().unwrap();
    for (line, status, text) in [
        ("transfers --source era:empty", 3, "no .ere or .era1 files"),
        (
            "transfers --source era:page.ere",
            1,
            "page.ere: not a complete .ere",
        ),
        ("transfers --source era:none", 1, "none: "),
        ("replay verify --source era:archive", 2, "cannot replay"),
        ("info --source era:archive", 2, "cannot describe"),
        ("index build --source era:archive", 2, "cannot be indexed"),
        (
            "lake build x.lake --source era:archive",
            2,
            "--source rpc:URL",
        ),
        ("tx 7:0 --source era:archive", 2, "--source rpc:URL"),
        (
            "era export --source era:archive -o again",
            2,
            "cannot read whole blocks",
        ),
        (
            "transfers --with-internal --source era:archive",
            2,
            "cannot replay",
        ),
        (
            "transfers --source era:archive --chain-id 5",
            2,
            "the chain id that is set is of chain 5",
        ),
        (
            "transfers --source era:archive --chain-id 5",
            2,
            "leave --chain-id out",
        ),
        ("era export -b 5:10 -o archive", 2, "--overwrite"),
    ] {
        let run = sample.run(line).refused(status);
        run.says(text);
    }
    sample.ok("era export -q -b 5:10 -o archive --overwrite");
    sample.ok(&format!(
        "transfers -q -b 5:10 --source era:archive --chain-id {id}"
    ));
    // Nothing is written into the files of the source.
    let file = entry(&sample.path("archive"), "");
    let name = file.file_name().unwrap().to_str().unwrap();
    let line =
        format!("transfers -b 5:10 --source era:archive --overwrite -o archive/{name} -f csv");
    sample.run(&line).ended(2);
}

#[test]
fn an_unknown_chain_needs_its_id() {
    let sample = Sample::small();
    // Blocks without transactions, and a name without a chain.
    sample.ok("era export -q -b 0:1 -o archive");
    let file = entry(&sample.path("archive"), "");
    let known = sample.ok("transfers -q --source era:archive --format csv");
    assert_eq!(known.rows().len(), 0);
    fs::rename(file, sample.path("archive/x-00000-00000000.ere")).unwrap();
    let unknown = sample.run("transfers --source era:archive");
    let id = sample.fixture.chain_id().unwrap();
    match unknown.status {
        // Block 0 of `reth --dev`.
        0 => assert_eq!(id, 1337),
        status => {
            assert_eq!(status, 2, "{unknown:?}");
            unknown.says("pass --chain-id");
            sample.ok(&format!(
                "transfers -q --source era:archive --chain-id {id}"
            ));
        }
    }
}
