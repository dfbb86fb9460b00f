//! Random chains, and random bytes in the decoders.

use crate::support::{Content, chain, erc20, expected, read_all, write};
use alloy_primitives::{Address, Log, LogData};
use proptest::{collection::vec, prelude::*};
use txgraph_era::{Format, fuzzing};
use txgraph_transfers::TransferFilter;

/// Logs of tokens, and logs with any topics and data.
fn log() -> impl Strategy<Value = Log> {
    let any_log = (
        any::<[u8; 20]>(),
        vec(any::<[u8; 32]>(), 0..5),
        vec(any::<u8>(), 0..200),
    );
    prop_oneof![
        (1u8..5, 0u8..5, 0u8..5, any::<u64>())
            .prop_map(|(token, from, to, amount)| erc20(token, from, to, amount)),
        any_log.prop_map(|(address, topics, data)| {
            let topics = topics.into_iter().map(Into::into).collect();
            Log {
                address: Address::from(address),
                data: LogData::new_unchecked(topics, data.into()),
            }
        }),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    let transactions = vec((0u64..3, vec(log(), 0..5)), 0..8);
    (transactions, any::<bool>()).prop_map(|(transactions, before_byzantium)| Content {
        transactions,
        before_byzantium,
        withdrawals: None,
        difficulty: 2,
        is_amsterdam: false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn files_give_back_the_transfers_of_their_blocks(
        contents in vec(content(), 1..12),
        first in 1u64..1_000_000,
        is_ere in any::<bool>(),
    ) {
        let blocks = chain(first, &contents);
        let format = if is_ere { Format::Ere } else { Format::Era1 };
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), format, &blocks);
        let expected = expected(&blocks, &TransferFilter::default());
        prop_assert_eq!(read_all(folder.path(), true).unwrap(), &expected[..]);
        prop_assert_eq!(read_all(&path, false).unwrap(), expected);
    }

    #[test]
    fn decoders_do_not_panic_on_random_bytes(bytes in vec(any::<u8>(), 0..300)) {
        fuzzing::decode(&bytes);
        let mut file = tempfile::tempfile().unwrap();
        fuzzing::read_file(&mut file, &bytes);
    }

    #[test]
    fn decoders_do_not_panic_on_damaged_blocks(
        content in content(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let (header, body, receipts) = chain(7, &[content])[0].encode();
        for mut rlp in [header, body, receipts] {
            fuzzing::decode(&rlp);
            let at = at.index(rlp.len());
            rlp[at] = byte;
            fuzzing::decode(&rlp);
        }
    }
}
