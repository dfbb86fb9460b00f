//! The forms of files that are accepted, and what is refused.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_rlp::Encodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount, root::state_root_unhashed};
use serde_json::{Value, json};
use std::path::Path;
use txgraph_bundle::{
    Bundle, BundleWriter, BundledBlock, BundledChain, FlatAccount, FlatState, Missing, to_json,
};
use txgraph_evm::{Account, StateSource};

const ADDRESS: Address = address!("00000000000000000000000000000000000000aa");
const OTHER: Address = address!("00000000000000000000000000000000000000bb");

fn account() -> TrieAccount {
    TrieAccount {
        nonce: 3,
        balance: U256::from(77),
        ..TrieAccount::default()
    }
}

/// The header of a parent whose state has one account, and a block without transactions.
fn chain() -> (Header, BundledBlock) {
    let parent = Header {
        number: 4,
        state_root: state_root_unhashed([(ADDRESS, account())]),
        ..Header::default()
    };
    let header = Header {
        number: 5,
        parent_hash: parent.hash_slow(),
        ..Header::default()
    };
    let block = BundledBlock {
        hash: header.hash_slow(),
        header,
        transactions: Vec::new(),
        ommers: Vec::new(),
        withdrawals: Vec::new(),
    };
    (parent, block)
}

fn rlp(value: &impl Encodable) -> Bytes {
    alloy_rlp::encode(value).into()
}

/// The only node of the state trie: a leaf with the whole path.
fn leaf() -> Bytes {
    let path = [&[0x20][..], keccak256(ADDRESS).as_slice()].concat();
    let fields: Vec<Bytes> = vec![path.into(), rlp(&account())];
    rlp(&fields)
}

fn block_rlp() -> Bytes {
    let flat = to_json(&known_chain(), &chain().1, &FlatState::default()).unwrap();
    let json: Value = serde_json::from_slice(&flat).unwrap();
    serde_json::from_value(json["block_rlp"].clone()).unwrap()
}

fn known_chain() -> BundledChain {
    BundledChain {
        id: 1,
        genesis_hash: None,
        rules: None,
    }
}

fn parse(json: &Value) -> Result<Bundle, String> {
    let bundle = Bundle::parse(json.to_string().as_bytes(), Path::new("x.json"));
    bundle.map_err(|error| error.to_string())
}

/// The witness in each of the forms that are accepted.
fn witnesses() -> Vec<Value> {
    let parent = rlp(&chain().0);
    let (code, node) = (Bytes::from_static(b"\x60\x00"), leaf());
    let file = |key: &str, value: Value| {
        let mut file = json!({ "chain_id": 1, "block_rlp": block_rlp() });
        file[key] = value;
        file
    };
    let mut top_level = file("nodes", json!([node]));
    top_level["codes"] = json!([code]);
    top_level["parent_header_rlp"] = json!(parent);
    let mut with_root = file("nodes", json!([node]));
    with_root["codes"] = json!([code]);
    with_root["parent_state_root"] = json!(chain().0.state_root);
    let answer = json!({ "state": [node], "codes": [code], "keys": [], "headers": [parent] });
    // As geth answers: headers are objects.
    let mut objects = answer.clone();
    let zero = B256::ZERO;
    objects["headers"] = json!([{
        "parentHash": zero, "sha3Uncles": Header::default().ommers_hash, "miner": Address::ZERO,
        "stateRoot": chain().0.state_root, "transactionsRoot": EMPTY_ROOT_HASH,
        "receiptsRoot": EMPTY_ROOT_HASH, "logsBloom": Bytes::from(vec![0; 256]),
        "difficulty": "0x0", "number": "0x4", "gasLimit": "0x0", "gasUsed": "0x0",
        "timestamp": "0x0", "extraData": "0x", "mixHash": zero, "nonce": "0x0000000000000000",
        "baseFeePerGas": null, "hash": chain().0.hash_slow(),
    }]);
    // As geth encodes it: headers, codes, nodes, keys.
    let mut fields = Vec::new();
    let headers = alloy_rlp::Header {
        list: true,
        payload_length: parent.len(),
    };
    headers.encode(&mut fields);
    fields.extend_from_slice(&parent);
    vec![code].encode(&mut fields);
    vec![node].encode(&mut fields);
    Vec::<Bytes>::new().encode(&mut fields);
    let mut encoded = Vec::new();
    let list = alloy_rlp::Header {
        list: true,
        payload_length: fields.len(),
    };
    list.encode(&mut encoded);
    encoded.extend(fields);
    vec![
        top_level,
        with_root,
        file("witness", answer),
        file("witness", objects),
        file("witness", json!(Bytes::from(encoded))),
    ]
}

#[test]
fn accepts_every_form_of_a_witness() {
    for json in witnesses() {
        let bundle = parse(&json).unwrap();
        assert!(bundle.is_witness());
        let mut state = bundle.state();
        let found = state.account(ADDRESS).unwrap().unwrap();
        assert_eq!((found.nonce, found.balance), (3, U256::from(77)));
        assert_eq!(state.account(OTHER).unwrap(), None, "proven by the leaf");
        assert_eq!(state.storage(ADDRESS, U256::ZERO).unwrap(), U256::ZERO);
        assert!(!state.has_storage(ADDRESS).unwrap());
        let hash = keccak256([0x60, 0]);
        assert_eq!(state.code(hash).unwrap().len(), 2);
        assert_eq!(state.code(B256::ZERO), Err(Missing::Code(B256::ZERO)));
        assert_eq!(state.block_hash(4).unwrap(), chain().0.hash_slow());
        assert_eq!(state.block_hash(2), Err(Missing::BlockHash(2)));
        let root = bundle.state_root_after(&[]).unwrap();
        assert_eq!(root, chain().0.state_root);
        assert_ne!(root, EMPTY_ROOT_HASH);
    }
}

#[test]
fn written_bundles_are_read() {
    let state = FlatState {
        accounts: [
            (
                ADDRESS,
                Some(FlatAccount {
                    account: Account {
                        nonce: u64::MAX,
                        balance: U256::MAX,
                        code_hash: keccak256([0]),
                    },
                    storage: [(U256::MAX, U256::ZERO), (U256::ZERO, U256::MAX)].into(),
                    has_storage: Some(true),
                }),
            ),
            (OTHER, None),
        ]
        .into(),
        codes: [(keccak256([0]), Bytes::from_static(&[0]))].into(),
        block_hashes: [(1, B256::repeat_byte(1))].into(),
    };
    let directory = tempfile::tempdir().unwrap();
    let writer = BundleWriter::new(&directory.path().join("new"), false).unwrap();
    let path = writer.write(&known_chain(), &chain().1, &state).unwrap();
    assert!(path.ends_with("new/5.json.zst"));
    let error = writer.write(&known_chain(), &chain().1, &state);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("5.json.zst") && error.contains("exists"),
        "{error}"
    );
    // A file that cannot get its name leaves nothing.
    let taken = directory.path().join("taken");
    std::fs::create_dir_all(taken.join("5.json.zst")).unwrap();
    let writer = BundleWriter::new(&taken, true).unwrap();
    writer
        .write(&known_chain(), &chain().1, &state)
        .unwrap_err();
    assert_eq!(taken.read_dir().unwrap().count(), 1);

    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.block(), &chain().1);
    assert_eq!(bundle.chain(), &known_chain());
    let mut read = bundle.state();
    let account = read.account(ADDRESS).unwrap().unwrap();
    assert_eq!((account.nonce, account.balance), (u64::MAX, U256::MAX));
    assert_eq!(read.account(OTHER).unwrap(), None);
    let unknown = Address::repeat_byte(9);
    assert_eq!(read.account(unknown), Err(Missing::Account(unknown)));
    assert_eq!(read.storage(ADDRESS, U256::MAX).unwrap(), U256::ZERO);
    assert_eq!(read.storage(ADDRESS, U256::ZERO).unwrap(), U256::MAX);
    let key = U256::from(5);
    let missing = Missing::Slot {
        address: ADDRESS,
        key,
    };
    assert_eq!(read.storage(ADDRESS, key), Err(missing));
    assert!(read.has_storage(ADDRESS).unwrap());
    assert_eq!(read.block_hash(1).unwrap(), B256::repeat_byte(1));
    assert_eq!(bundle.state_root_after(&[]), Err(Missing::NoTrie));
}

/// Files of other tools list neither a version nor accounts that do not exist.
#[test]
fn unlisted_accounts_do_not_exist_without_a_version() {
    let json = json!({
        "chain_id": 1,
        "block_rlp": block_rlp(),
        "pre": { ADDRESS.to_string(): { "nonce": 3, "balance": "0x4d", "codeHash": null } },
        "origin": "elsewhere",
    });
    let bundle = parse(&json).unwrap();
    let mut state = bundle.state();
    assert_eq!(state.account(OTHER).unwrap(), None);
    assert_eq!(state.account(ADDRESS).unwrap().unwrap().nonce, 3);
    assert!(state.storage(ADDRESS, U256::ZERO).is_err());
}

#[test]
fn refuses_wrong_files_with_the_key() {
    let flat = || json!({ "chain_id": 1, "block_rlp": block_rlp(), "pre": {} });
    assert!(parse(&flat()).is_ok());
    let mut other_block = block_rlp().to_vec();
    other_block.push(0);
    let damaged = {
        // Another transactions root in the header.
        let (_, mut block) = chain();
        block.header.transactions_root = B256::repeat_byte(1);
        let json = to_json(&known_chain(), &block, &FlatState::default()).unwrap();
        serde_json::from_slice::<Value>(&json).unwrap()["block_rlp"].clone()
    };
    for (key, value, expected) in [
        ("txgraph_bundle", json!(2), "version 2"),
        ("chain_id", Value::Null, "expected u64 at line 1 column"),
        ("block_rlp", json!("0x01"), "block_rlp"),
        (
            "block_rlp",
            json!(Bytes::from(other_block)),
            "1 bytes follow",
        ),
        (
            "block_rlp",
            damaged,
            "its transactions do not match its header",
        ),
        ("hash", json!(B256::ZERO), "hash: the hash of the block is"),
        ("number", json!(6), "number: the block is 5"),
        ("pre", Value::Null, "neither `pre` nor"),
        ("nodes", json!([]), "both `pre` and"),
        ("block_hashes", json!({ "x": B256::ZERO }), "block_hashes"),
        (
            "block_hashes",
            json!({ "4": B256::ZERO }),
            "hash of block 4 is wrong",
        ),
        ("parent_header_rlp", json!("0xc0"), "headers"),
        (
            "parent_header_rlp",
            json!(rlp(&Header {
                number: 4,
                ..Header::default()
            })),
            "is not the parent of block 5",
        ),
        (
            "rules",
            json!({ "fork": "Paris", "blob_target": 1, "blob_max": 1, "blob_update_fraction": 0,
                "moves_dao": false, "deposit_contract": OTHER }),
            "blob_update_fraction is 0",
        ),
        (
            "pre",
            json!({ ADDRESS.to_string(): { "nonce": "0x10000000000000000" } }),
            "nonce",
        ),
    ] {
        let mut file = flat();
        file[key] = value;
        let error = parse(&file).unwrap_err();
        assert!(error.contains(expected), "{key}: {error}");
        assert!(error.starts_with("x.json is not a bundle: "), "{error}");
    }
    let mut witness = witnesses().remove(0);
    witness["parent_state_root"] = json!(B256::ZERO);
    assert!(parse(&witness).unwrap_err().contains("parent_state_root"));
    let mut witness = witnesses().remove(1);
    witness["parent_state_root"] = Value::Null;
    assert!(
        parse(&witness)
            .unwrap_err()
            .contains("header of the parent block")
    );
}

/// Truncated and changed files are errors: nothing panics.
#[test]
fn damaged_files_are_errors() {
    for json in witnesses() {
        let text = json.to_string();
        for end in (0..text.len()).step_by(7) {
            assert!(Bundle::parse(&text.as_bytes()[..end], Path::new("x")).is_err());
        }
        for at in (0..text.len()).step_by(3) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = bytes[at].wrapping_add(1);
            if let Ok(bundle) = Bundle::parse(&bytes, Path::new("x")) {
                let _ = bundle.state().account(ADDRESS);
                let _ = bundle.state_root_after(&[]);
            }
        }
    }
}

#[test]
fn lists_files_of_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let error = Bundle::list(directory.path()).unwrap_err().to_string();
    assert!(error.contains("*.json.zst"), "{error}");
    for name in [
        "b.json",
        "a.json.zst",
        "100.json",
        "20.json.zst",
        "index.csv",
    ] {
        std::fs::write(directory.path().join(name), "{}").unwrap();
    }
    let files = Bundle::list(directory.path()).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap()).collect();
    assert_eq!(names, ["20.json.zst", "100.json", "a.json.zst", "b.json"]);
    let one = directory.path().join("index.csv");
    assert_eq!(Bundle::list(&one).unwrap(), [one]);
    assert!(Bundle::list(&directory.path().join("absent")).is_err());
}
