//! Fuzzes files of labels. The first byte chooses the start of a format, so that the rest of the
//! input reaches its rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_labels::{Labels, Reader, decode};

const STARTS: [&str; 6] = [
    "",
    "address,name,category,chain,source\n",
    "title: x\nnetwork: ETH\ntags:\n- address: ",
    "{\"tokens\":[{\"chainId\":1,\"address\":\"",
    "{\"sdnEntry\":[{\"uid\":1,\"idList\":{\"id\":[",
    "{\"0x00000000000000000000000000000000000000aa\":{\"name\":\"",
];

fuzz_target!(|data: &[u8]| {
    let Some((start, rest)) = data.split_first() else {
        return;
    };
    let Ok(rest) = std::str::from_utf8(rest) else {
        return;
    };
    let text = format!("{}{rest}", STARTS[usize::from(*start) % STARTS.len()]);
    let reader = Reader {
        file: "labels.csv",
        chain_id: 1,
        address: &|text| text.parse().map_err(|_| "no address".to_owned()),
    };
    let Ok(decoded) = decode(&text, &reader) else {
        return;
    };
    assert!(decoded.bad.len() as u64 <= decoded.bad_rows);
    let mut labels = Labels::default();
    let addresses: Vec<_> = decoded.rows.iter().map(|row| row.address).collect();
    labels.read(decoded, "file");
    for address in addresses {
        assert!(!labels.get(address).is_empty());
    }
    for word in labels.categories().keys() {
        assert!(labels.with_category(word).is_some(), "{word}");
    }
});
