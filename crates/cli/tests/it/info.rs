//! `txgraph info`.

use crate::harness::Sample;
use txgraph_testkit::{or_skip, says};

#[test]
fn agrees_with_the_node() {
    for sample in Sample::both() {
        let run = sample.ok("info --json");
        let info = run.json();
        let known = &sample.fixture.chain_info;
        assert_eq!(info["chain"]["chain_id"], known["chain"]["chain_id"]);
        assert_eq!(
            info["chain"]["genesis_hash"],
            known["chain"]["genesis_hash"]
        );
        assert_eq!(info["layout"], known["reth"]["layout"]);
        assert_eq!(info["tip"]["number"], known["tip_on_disk"]["number"]);
        assert_eq!(info["tip"]["hash"], known["tip_on_disk"]["hash"]);
        assert_eq!(
            info["receipts"],
            serde_json::json!([{ "first": 0, "last": 40 }])
        );
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn prints_a_page() {
    for sample in Sample::both() {
        let page = sample.ok("info").stdout;
        let layout = format!("layout          {}", sample.fixture.layout().unwrap());
        for line in [
            "chain           735703 (not a known one)",
            "genesis         0xe1e1e99386dc34f3332d6acf0f9308e3199440b12795955d080565cbfb83551b",
            &layout,
            "headers         0:41 (41)",
            "receipts        0:41 (41), in static files",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        says(&page, "\ntip             block 40, 20");
        assert!(page.contains("reth 2.5.1"), "{page}");
    }
}

#[test]
fn lists_what_a_pruned_node_lacks() {
    let sample = or_skip!(Sample::named("pruned/dev-v1-receipts"));
    let answers = &sample.fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
    let lost = answers["last_block_without"].as_u64().unwrap();
    let info = sample.json("info --json");
    let last_run = info["receipts"].as_array().unwrap().last().unwrap();
    assert_eq!(last_run["first"], lost + 1);
    let page = sample.ok("info").stdout;
    assert!(page.contains("pruned"), "{page}");
}

/// A node that stores states later than blocks has the state up to block 96, and blocks up to 126.
#[test]
fn states_both_blocks_of_a_state_behind() {
    for (name, state_block, index) in [("masked/v1", 126, "MDBX"), ("masked/v2", 96, "RocksDB")] {
        let Some(sample) = Sample::named(name) else {
            continue;
        };
        let info = sample.json("info --json");
        assert_eq!(info["tip"]["number"], 126);
        assert_eq!(info["state_block"], state_block);
        assert_eq!(info["hash_index"], index);
        assert_eq!(info["history_index"], index);
        let page = sample.ok("info").stdout;
        let is_behind = state_block < 126;
        for line in [
            "stored state    block 96",
            "note            blocks 97:127: the state after them is not stored; it is computed by \
             executing them, by the rules of the chain",
        ] {
            let found = page.lines().any(|found| found == line);
            assert_eq!(found, is_behind, "{line}\n{page}");
        }
        let run = sample.run("balance 0x0000000000000000000000000000000000000001 --block 120");
        assert_eq!(run.status == 3, is_behind, "{run:?}");
        assert_eq!(run.stderr.contains("--chain FILE"), is_behind, "{run:?}");
    }
}
