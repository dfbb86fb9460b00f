//! Entry points to the decoders for property tests and fuzzers. Not a stable interface.

use crate::{
    body::Body,
    header::Header,
    index::Index,
    receipts::Receipts,
    record::Format,
    records::Records,
    transaction::{Payment, signer},
};
use std::{fs::File, io::Write};
use txgraph_transfers::BlockRange;

/// Decodes bytes as each part of a block.
pub fn decode(rlp: &[u8]) {
    let _ = Header::decode(rlp);
    let mut receipts = Receipts::default();
    for format in [Format::Ere, Format::Era1] {
        if receipts.decode(format, rlp).is_ok() {
            for receipt in &receipts.rows {
                let _ = receipts.logs(rlp, receipt).count();
            }
            let _ = receipts.root(rlp, &mut txgraph_stored::BloomHashes::default());
        }
    }
    let mut body = Body::default();
    if body.decode(rlp).is_ok() {
        let _ = body.withdrawals(rlp);
        for range in &body.transactions {
            let _ = Payment::of(&rlp[range.clone()]);
            let _ = signer(&rlp[range.clone()]);
        }
    }
    let _ = (Payment::of(rlp), signer(rlp));
}

/// Reads bytes as a file: its index, and the header, the body and the receipts of each block.
/// `file` is overwritten.
///
/// # Panics
///
/// If the file cannot be written.
pub fn read_file(file: &mut File, bytes: &[u8]) {
    file.set_len(0).expect("the file can be truncated");
    std::io::Seek::rewind(file).expect("the file can be rewound");
    file.write_all(bytes).expect("the file can be written");
    let len = bytes.len() as u64;
    let Ok(index) = Index::read(file, len) else {
        return;
    };
    let BlockRange { first, last } = index.blocks;
    let Ok(positions) = index.positions(file, BlockRange { first, last }) else {
        return;
    };
    let mut records = Records::default();
    let mut rlp = Vec::new();
    let parts = |row: crate::index::Positions| {
        use crate::record::{BODY, HEADER};
        [
            (Some(row.header), HEADER),
            (row.body, BODY),
            (row.receipts, index.format.receipts()),
        ]
    };
    for (position, kind) in positions.into_iter().flat_map(parts) {
        let Some(position) = position else {
            continue;
        };
        if records
            .inflate((file, len), position, kind, &mut rlp)
            .is_ok()
        {
            decode(&rlp);
        }
    }
}
