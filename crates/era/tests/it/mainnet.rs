//! 20 consecutive blocks of mainnet through both formats.

use crate::support::{open, range, request, scan};
use alloy_primitives::{U256, address, keccak256};
use alloy_rlp::Decodable;
use txgraph_era::{EraBlock, EraOptions, EraWriter, Format, encode_body};
use txgraph_testkit::{mainnet, or_skip};
use txgraph_transfers::{Kind, TransferSource};

/// Stands for the real one, which is not in the fixture.
const DIFFICULTY_BEFORE: u64 = 1 << 60;

#[test]
fn blocks_of_mainnet_give_the_transfers_of_the_naive_decoder() {
    let blocks = or_skip!(mainnet::blocks());
    // Only WETH of mainnet is a wrapped coin.
    let weth = address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2");
    let mut expected = mainnet::transfers(&blocks).transfers;
    expected.retain(|it| {
        !matches!(it.kind, Kind::Wrap | Kind::Unwrap) || it.token_address == Some(weth)
    });
    assert!(expected.len() > 5000);
    let reference = mainnet::usdt_reference().unwrap();
    // None of the blocks has ommers, which the fixture would lack.
    let ommers = [0xc0];
    for format in [Format::Ere, Format::Era1] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = EraWriter::create(folder.path(), "mainnet", format).unwrap();
        let mut total = U256::from(DIFFICULTY_BEFORE);
        for block in &blocks {
            let header = alloy_consensus::Header::decode(&mut &block.header[..]).unwrap();
            total += header.difficulty;
            let transactions = block.transactions.iter().map(|it| &it[..]);
            writer
                .push(&EraBlock {
                    header: &block.header,
                    body: &encode_body(transactions, &ommers, None),
                    receipts: Some(&block.receipts),
                    total_difficulty: Some(total),
                })
                .unwrap();
        }
        let path = writer.finish().unwrap();
        let options = EraOptions {
            verify: true,
            ..EraOptions::default()
        };
        let source = open(&path, &options).unwrap();
        assert_eq!(source.chain().chain_id, 1);
        let all = request(range(mainnet::FIRST_BLOCK, mainnet::LAST_BLOCK));
        let (mut transfers, report) = scan(&source, &all).unwrap();
        assert_eq!(report.last_block_hash, Some(blocks[19].hash));
        let usdt_of_four_blocks = mainnet::usdt_rows(&transfers);
        assert_eq!(usdt_of_four_blocks, reference);
        for (found, expected) in transfers.iter_mut().zip(&expected) {
            let block = usize::try_from(found.block_number - mainnet::FIRST_BLOCK).unwrap();
            let at = usize::try_from(found.transaction_index).unwrap();
            let hash = keccak256(&blocks[block].transactions[at]);
            assert_eq!(found.transaction_hash, Some(hash));
            found.transaction_hash = expected.transaction_hash;
        }
        assert_eq!(transfers, expected);
    }
}
