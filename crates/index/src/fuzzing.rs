//! For fuzz targets and tests of damage: a segment from bytes, and every query to it.

use crate::{
    builder::{Builder, Capacity},
    checksummed_file::Checksums,
    layout::{Format, Geometry, Head, PARTS, Part},
    segment::{Segment, Wanted},
};
use alloy_primitives::{Address, B256, U256};
use std::{
    io::Cursor,
    ops::{ControlFlow, Range},
    path::Path,
};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, BlockTime, DecodeCounts, Direction, Kind,
    Participation, Roles, TokenFilter, TokenStandard, Transfer, TransferFilter, testing,
};

/// Returns a segment of a few blocks with transfers of all kinds, made by the real writer.
///
/// # Panics
/// When writing to memory fails.
pub fn small_segment() -> Vec<u8> {
    let mut builder = Builder::new(
        1,
        B256::repeat_byte(1),
        100,
        B256::repeat_byte(2),
        Capacity::default(),
        Format::Transactions,
    );
    for block in 100..140 {
        let mut transfers = Vec::new();
        for index in 0..block % 7 {
            let address =
                |salt: u64| Address::left_padding_from(&(block * salt % 29).to_be_bytes());
            let at = usize::try_from(block + index).unwrap_or(0);
            let standard = TokenStandard::ALL[at % TokenStandard::ALL.len()];
            let is_native = standard == TokenStandard::Native;
            let has_id = matches!(standard, TokenStandard::Erc721 | TokenStandard::Erc1155);
            transfers.push(Transfer {
                block_timestamp: BlockTime::new(1_000_000 + 12 * block),
                transaction_index: u32::try_from(index).unwrap_or(0),
                log_index: (!is_native).then_some(u32::try_from(at % 9).unwrap_or(0)),
                sub_index: u32::try_from(at % 2).unwrap_or(0),
                token_address: (!is_native).then(|| address(7)),
                from_address: address(3 + index),
                to_address: address(5 + index),
                value: U256::from(block) << (at * 5 % 200),
                token_id: has_id.then(|| U256::from(at) << (at % 250)),
                token_standard: standard,
                kind: Kind::ALL[at % Kind::ALL.len()],
                ..testing::transfer(block)
            });
        }
        let participation = |transfer: &Transfer, address, roles| {
            Participation::new(block, transfer.transaction_index, address, roles)
        };
        let ends = transfers.iter().flat_map(|it| {
            [
                participation(it, it.from_address, Roles::SENDER),
                participation(it, it.to_address, Roles::RECEIVER),
                participation(it, Address::repeat_byte(9), Roles::INSIDE),
            ]
        });
        let mut participations: Vec<_> = ends.collect();
        Participation::settle(&mut participations);
        let account = BlockSummary {
            number: block,
            timestamp: 1_000_000 + 12 * block,
            counts: DecodeCounts {
                blocks: 1,
                transactions: 8,
                logs: 9,
                transfers: transfers.len() as u64,
                malformed: block % 2,
                ..DecodeCounts::default()
            },
        };
        let odd = (block % 2 == 1).then(|| AnomalousLogs {
            block,
            emitter: Address::repeat_byte(8),
            counts: DecodeCounts {
                malformed: 1,
                ..DecodeCounts::default()
            },
        });
        let odd: Vec<_> = odd.into_iter().collect();
        builder
            .push(
                &[account],
                &odd,
                &transfers,
                &participations,
                B256::repeat_byte(3),
            )
            .expect("blocks in order");
    }
    let mut file = Cursor::new(Vec::new());
    builder
        .finish(&mut file, Path::new("small"))
        .expect("writing to memory");
    file.into_inner()
}

/// Opens bytes as a segment and calls every function that reads it. This must return for
/// any bytes. Returns the number of answers.
pub fn ask_everything(bytes: Vec<u8>) -> u64 {
    let Ok(segment) = Segment::from_bytes(bytes, Path::new("fuzzed")) else {
        return 0;
    };
    let mut answered = u64::from(segment.check().is_ok());
    let blocks = segment.blocks();
    let some = [
        blocks,
        BlockRange {
            last: blocks.first,
            ..blocks
        },
        BlockRange {
            first: blocks.last,
            ..blocks
        },
    ];
    for blocks in some {
        answered += u64::from(segment.counts(blocks).is_ok());
        answered += u64::from(segment.block(blocks.first).is_ok());
    }
    let classes = segment.classes().map_or(0, <[_]>::len);
    answered += classes as u64;
    let mut wanted = vec![true; classes];
    let mut addresses = vec![Address::ZERO, Address::repeat_byte(0xff)];
    if let Ok(rows) = segment.rows(0) {
        // A forged head may promise 2^64 rows.
        for row in (0..segment.row_count()).take(10_000) {
            if let Ok(transfer) = rows.transfer(row) {
                answered += 1;
                addresses.extend([transfer.from_address, transfer.to_address]);
            }
            answered += u64::from(rows.block(row).is_ok() && rows.value(row).is_ok());
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    let of_tokens = TransferFilter {
        tokens: TokenFilter::only(addresses.iter().copied()),
        ..TransferFilter::default()
    };
    let rows = segment.wanted(&of_tokens, 0);
    let rows = rows.and_then(|wanted| wanted.rows(&segment));
    answered += u64::from(rows.is_ok());
    let mut degrees = vec![0; addresses.len()];
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        for blocks in some {
            let mut rows = Vec::new();
            let some = Wanted::Some(wanted.clone());
            if let Ok(within) = segment.rows_of(blocks)
                && let Ok(numbers) = segment.numbers_of(&addresses)
                && segment
                    .rows_touching(&numbers, direction, &some, within, &mut rows)
                    .is_ok()
            {
                answered += rows.len() as u64;
            }
            // Alternately all classes and every third.
            for (at, wanted) in wanted.iter_mut().enumerate() {
                *wanted = !*wanted || at % 3 == 0;
            }
        }
        answered += u64::from(segment.degrees(&addresses, direction, &mut degrees).is_ok());
    }
    for address in &addresses {
        for (at, blocks) in some.into_iter().enumerate() {
            let mut take = |_: Participation| {
                answered += 1;
                ControlFlow::Continue(())
            };
            // Damage was counted above, or is not an answer.
            let _ = segment.each_place(*address, blocks, at % 2 == 0, &mut take);
        }
    }
    // Takes time in proportion to the counts in the head, which may be forged.
    if blocks.blocks() < 1 << 16 && segment.row_count() < 1 << 16 {
        answered += u64::from(segment.check_structure().is_ok());
        let participants = segment.participations();
        let read = participants.and_then(|mut all| all.read(blocks));
        answered += read.map_or(0, |all| all.len() as u64);
    }
    answered
}

/// Returns the name and the byte range of every region of a segment: its head, its parts
/// (those that are not empty), the table of checksums and its root.
///
/// # Panics
/// When `bytes` are not a valid segment.
pub fn regions(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let (head, _, geometry) = Head::decode(bytes).expect("a valid segment");
    let mut regions = vec![("head".to_owned(), 0..head.format.head_bytes())];
    for (part, location) in Part::ALL.into_iter().zip(&head.parts) {
        let start = usize::try_from(location.offset).unwrap_or(usize::MAX);
        let len = usize::try_from(location.bytes).unwrap_or(usize::MAX);
        if len > 0 {
            regions.push((format!("{part:?}"), start..start + len));
        }
    }
    let Geometry {
        data_end,
        table_end,
        file_end,
    } = geometry;
    regions.push(("table".to_owned(), data_end..table_end));
    regions.push(("root".to_owned(), table_end..file_end));
    regions
}

/// Changes the content of a segment and computes all checksums again, so that only bounds
/// checks are left. `chance(n)` draws a number below `n`.
pub fn with_nonsense(mut bytes: Vec<u8>, chance: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    let Ok((mut head, _, geometry)) = Head::decode(&bytes) else {
        return bytes;
    };
    let extreme = |chance: &mut dyn FnMut(usize) -> usize| match chance(5) {
        0 => u64::MAX,
        1 => 0,
        2 => 1 << chance(64),
        3 => u64::MAX - chance(64) as u64,
        _ => chance(1 << 16) as u64,
    };
    for _ in 0..=chance(4) {
        let part = chance(PARTS);
        let part = &mut head.parts[part];
        match chance(10) {
            0 => head.rows = extreme(chance),
            1 => head.addresses = extreme(chance),
            2 => head.bucket_bits = u32::try_from(chance(40)).unwrap_or(0),
            3 => head.blocks.last = head.blocks.last.max(extreme(chance)),
            4 => head.min_timestamp = extreme(chance),
            5 => part.width = u32::try_from(chance(12)).unwrap_or(0),
            6 => part.bytes = part.bytes.saturating_sub(chance(64) as u64),
            _ => {
                let length = usize::try_from(part.bytes).unwrap_or(0);
                if length > 0 {
                    let offset = usize::try_from(part.offset).unwrap_or(0);
                    bytes[offset + chance(length)] = u8::try_from(chance(256)).unwrap_or(0);
                }
            }
        }
    }
    sealed(bytes, head, geometry)
}

/// Computes all checksums of a segment again.
///
/// # Panics
/// When `bytes` have no valid head.
pub fn with_checksums(bytes: Vec<u8>) -> Vec<u8> {
    let (head, _, geometry) = Head::decode(&bytes).expect("a valid head");
    sealed(bytes, head, geometry)
}

/// A segment with this head, and checksums that fit.
fn sealed(mut bytes: Vec<u8>, mut head: Head, geometry: Geometry) -> Vec<u8> {
    let head_bytes = head.format.head_bytes();
    let mut checksums = Checksums::after_head(head.format);
    checksums.update(&bytes[head_bytes..geometry.data_end]);
    let (table, root) = checksums.finish();
    head.root_checksum = crc32fast::hash(&root);
    bytes.truncate(geometry.data_end);
    bytes.extend(table);
    bytes.extend(root);
    bytes[..head_bytes].copy_from_slice(&head.encode());
    bytes
}
