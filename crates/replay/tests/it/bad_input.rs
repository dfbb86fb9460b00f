//! Damaged databases, wrong rules and missing blocks: the error names the location, and all
//! blocks before it are delivered.

use crate::support::{Opened, database, genesis, open, open_copy};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};
use txgraph_nodedb::BlockRange;
use txgraph_replay::{Error, ReplayOptions, Replayer};
use txgraph_state::{StateDb, StateOptions};
use txgraph_testkit::{
    edit,
    fixtures::{self, Fixture, Unpacked},
    or_skip, says,
};
use txgraph_work::Threads;

/// Replays blocks up to an error. Returns the numbers of the delivered blocks and the error.
fn replay(opened: &Opened, blocks: BlockRange) -> (Vec<u64>, Error) {
    let mut done = Vec::new();
    // The other thread replays blocks after the error, which must not be delivered.
    let options = ReplayOptions {
        threads: Threads::new(2).unwrap(),
        ..ReplayOptions::default()
    };
    let end = opened.replayer(options).range(blocks, &mut |replay| {
        assert_eq!(replay.mismatches, []);
        done.push(replay.number);
        ControlFlow::Continue(())
    });
    (done, end.unwrap_err())
}

fn all(opened: &Opened) -> (Vec<u64>, Error) {
    replay(opened, opened.blocks)
}

/// The transactions file and the offsets of its rows.
fn transactions(dir: &Path) -> (PathBuf, Vec<u64>) {
    let path = dir.join("static_files/static_file_transactions_0_499999");
    let offsets = fs::read(path.with_extension("off")).unwrap();
    let (words, _) = offsets[1..].as_chunks::<8>();
    (
        path,
        words.iter().map(|word| u64::from_le_bytes(*word)).collect(),
    )
}

/// Changes the type of the first transaction that stores it in a separate byte.
fn with_unknown_type(fixture: &Fixture) -> (Unpacked, u64) {
    let copy = fixture.unpack();
    let (path, rows) = transactions(copy.path());
    let data = fs::read(&path).unwrap();
    // Type bits 3 and no compression: the type follows the signature.
    let row = rows
        .iter()
        .position(|at| data[usize::try_from(*at).unwrap()] & 0b1110 == 0b0110);
    let row = row.unwrap();
    edit::write_at(&path, rows[row] + 65, &[0x50]);
    (copy, block_of(fixture, row))
}

/// The block of a transaction, by its number in the chain.
fn block_of(fixture: &Fixture, row: usize) -> u64 {
    let mut before = 0;
    let is_before = |line: &serde_json::Value| {
        before += line["transactions"].as_array().unwrap().len();
        before <= row
    };
    fixture.lines("blocks").take_while(is_before).count() as u64
}

#[test]
fn unknown_transaction_type_is_an_error() {
    for fixture in fixtures::committed() {
        let (copy, block) = with_unknown_type(&fixture);
        let (done, error) = all(&open_copy(&fixture, copy));
        let text = error.to_string();
        says(&text, "unknown transaction type");
        says(&text, &format!("block {block}"));
        assert_eq!(done, Vec::from_iter(1..block), "{text}");
    }
}

/// Flips a bit in a row of the transactions file and returns the block of the row.
fn flip(dir: &Path, fixture: &Fixture, row: usize, byte: u64, bit: u8) -> u64 {
    let (path, rows) = transactions(dir);
    edit::flip(&path, rows[row] + byte, bit);
    block_of(fixture, row)
}

/// A flipped bit of a signature changes the hash of the transaction, but not its execution.
#[test]
fn verification_finds_changed_signature() {
    for fixture in fixtures::committed() {
        let copy = fixture.unpack();
        // After the flags, `r` and `s` of the signature.
        let block = flip(copy.path(), &fixture, 200, 10, 2);
        let opened = open_copy(&fixture, copy);
        let (done, error) = all(&opened);
        assert!(matches!(error, Error::NodeDb(_)), "{error}");
        let text = error.to_string();
        says(&text, "transactions root");
        says(&text, &format!("block {block}"));
        assert_eq!(done, Vec::from_iter(1..block));
        let mut options = ReplayOptions::default();
        options.verify.transactions = false;
        let report = opened
            .replayer(options)
            .range(opened.blocks, &mut |_| ControlFlow::Continue(()));
        assert_eq!(report.unwrap().mismatches, 0);
    }
}

/// A sender is not part of any root; it must be the signer of the transaction.
#[test]
fn verification_finds_changed_sender() {
    let [_, fixture] = fixtures::committed();
    let copy = fixture.unpack();
    let path = copy
        .path()
        .join("static_files/static_file_transaction-senders_0_499999");
    edit::flip(&path, 200 * 20 + 7, 1);
    let block = block_of(&fixture, 200);
    let (done, error) = all(&open_copy(&fixture, copy));
    assert!(
        matches!(
            error,
            Error::NodeDb(txgraph_nodedb::Error::WrongSender { block: it, .. }) if it == block
        ),
        "{error}"
    );
    assert_eq!(done, Vec::from_iter(1..block));
}

/// A damaged transaction is reported as damage, not as a wrong chain id of the rules.
#[test]
fn damaged_chain_id_is_not_blamed_on_the_rules() {
    let [fixture, _] = fixtures::committed();
    let mut options = ReplayOptions::default();
    options.verify.transactions = false;
    let copy = fixture.unpack();
    let (path, rows) = transactions(copy.path());
    let data = fs::read(path).unwrap();
    // Bit 3 marks compressed rows.
    let row = (100..)
        .find(|row| data[usize::try_from(rows[*row]).unwrap()] & 0b1000 == 0)
        .unwrap();
    let mut damaged = 0;
    for byte in 65..rows[row + 1] - rows[row] {
        let block = flip(copy.path(), &fixture, row, byte, 1);
        let db = Arc::new(database(copy.path()));
        let state = StateDb::new(Arc::clone(&db), StateOptions::default());
        let rules = genesis(&fixture).rules;
        let replayer = Replayer::new(rules, &*db, &state, options.clone()).unwrap();
        match replayer.block(block) {
            Err(Error::WrongChainId { .. }) => panic!("byte {byte}"),
            Err(Error::NodeDb(txgraph_nodedb::Error::Inconsistent { what, .. }))
                if what.contains("transactions root") =>
            {
                damaged += 1;
            }
            _ => {}
        }
        flip(copy.path(), &fixture, row, byte, 1);
    }
    assert!(damaged > 0, "no byte of the chain id was changed");
}

#[test]
fn missing_code_is_an_error() {
    for fixture in fixtures::committed() {
        let copy = fixture.unpack();
        let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
        let hash = {
            let state = StateDb::new(database(copy.path()).into(), StateOptions::default());
            let account = state.at(40).unwrap().account(token.parse().unwrap());
            account.unwrap().unwrap().code_hash
        };
        edit::delete(copy.path(), "Bytecodes", hash.as_slice());
        let opened = open_copy(&fixture, copy);
        // Start after the creation of the contract, which would provide its code.
        let (done, error) = replay(&opened, BlockRange::from_to(20, 40));
        let next = 20 + done.len() as u64;
        assert!(
            matches!(error, Error::State { block, .. } if block == next),
            "{error}"
        );
        let text = error.to_string();
        says(&text, "Bytecodes");
        says(&text, &hash.to_string());
    }
}

#[test]
fn truncated_change_sets_are_an_error() {
    let [v1, v2] = fixtures::committed();
    // Layout v2 stores change sets in files.
    let copy = v2.unpack();
    let path = copy
        .path()
        .join("static_files/static_file_account-change-sets_0_499999");
    edit::set_len(&path, fs::metadata(&path).unwrap().len() / 2);
    let state = StateDb::new(database(copy.path()).into(), StateOptions::default());
    let error = state.range(BlockRange::up_to(40)).unwrap_err();
    let text = error.to_string();
    says(&text, "account-change-sets");

    // Layout v1 stores them in a table.
    let copy = v1.unpack();
    edit::delete(copy.path(), "AccountChangeSets", &20_u64.to_be_bytes());
    let opened = open_copy(&v1, copy);
    let (done, error) = replay(&opened, BlockRange::from_to(17, 40));
    let next = 17 + done.len() as u64;
    assert!(next <= 20, "{error}");
    let text = error.to_string();
    says(&text, &format!("block {next}"));
    says(&text, "block 20");
}

#[test]
fn wrong_chain_id_is_an_error() {
    for fixture in fixtures::committed() {
        let mut opened = open(&fixture);
        opened.rules.chain_id += 1;
        let (done, error) = all(&opened);
        let found = fixture.chain_id().unwrap();
        assert!(
            matches!(error, Error::WrongChainId { found: it, expected, .. } if it == found && expected == found + 1),
            "{error}"
        );
        // The first blocks have no transactions, or only ones without a chain id.
        assert!(done.len() < 5, "{done:?}");
        let text = error.to_string();
        says(&text, "`chainId`");
    }
    // The genesis hash does not depend on the chain id.
    let [fixture, _] = fixtures::committed();
    let mut file = fixture.genesis.clone();
    file["config"]["chainId"] = 77.into();
    let rules = txgraph_replay::Genesis::parse(&file.to_string())
        .unwrap()
        .rules;
    assert_eq!(rules.genesis_hash, genesis(&fixture).rules.genesis_hash);
}

#[test]
fn blocks_above_the_tip_are_an_error() {
    for fixture in fixtures::committed() {
        let opened = open(&fixture);
        let (done, error) = replay(&opened, BlockRange::from_to(38, 50));
        assert_eq!(done, [38, 39, 40]);
        let text = error.to_string();
        says(&text, "41");
        says(&text, "40");
        let replayer = opened.replayer(ReplayOptions::default());
        let text = replayer.block(41).unwrap_err().to_string();
        says(&text, "41");
    }
}

#[test]
fn pruned_range_is_an_error() {
    let fixture = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
    let opened = open(&fixture);
    let state = opened.state.range(BlockRange::from_to(100, 120));
    let text = state.unwrap_err().to_string();
    says(&text, "pruned up to block 449");
    let replayer = Replayer::new(
        opened.rules.clone(),
        &*opened.db,
        &opened.state,
        ReplayOptions::default(),
    );
    let text = replayer.unwrap().block(101).unwrap_err().to_string();
    says(&text, "block 101");
    says(&text, "pruned up to block 449");
}
