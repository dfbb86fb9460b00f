//! Fuzzes the tables of other tools. The first byte chooses the format and one of the headers,
//! so that the rest of the input reaches the conversions of cells.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The directory of the input.
static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a temporary directory"));

const HEADERS: [&str; 4] = [
    "token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n",
    "log_index,transaction_hash,transaction_index,block_number,address,data,topics\n",
    "blockId,traceId,traceIndex,fromAddress,toAddress,value,status,callType,txHash\n",
    "",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    if choice % 5 == 4 {
        txgraph_import::fuzzing::read(FOLDER.path(), "json", rest);
        return;
    }
    let header = HEADERS[usize::from(choice % 5)];
    let text = [header.as_bytes(), rest].concat();
    txgraph_import::fuzzing::read(FOLDER.path(), "csv", &text);
});
