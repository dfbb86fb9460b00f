//! About a hundred hand-written logs, then the decoder compared with its naive twin.

use super::*;
use crate::testing::{
    self,
    naive::{self, OwnedLog, Rules},
};
use crate::{AddressFilter, Direction, Malformed, TokenFilter};
use alloy_primitives::{B256, address};
use proptest::collection::vec;
use proptest::prelude::*;

const ALICE: Address = address!("00000000000000000000000000000000000a11ce");
const BOB: Address = address!("0000000000000000000000000000000000000b0b");
const TOKEN: Address = address!("1000000000000000000000000000000000000001");
const WETH: Address = address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2");
const KITTIES: Address = address!("06012c8cf97bead5deae237070f9587f8e7a266d");
const SYSTEM: Address = EIP7708_LOG_ADDRESS;
const CHAIN: u64 = 735_700;

/// The word of an address with the lowest bit above the address set.
fn dirty(address: Address) -> Word {
    let mut word = address.into_word().0;
    word[11] = 1;
    word
}

/// Short notation for the words of a log: `a` Alice, `b` Bob, `0` the zero address, `A` Alice
/// with a dirty word, `!` the largest word, or a number.
fn words(text: &str) -> Vec<Word> {
    let word = |part: &str| match part {
        "a" => ALICE.into_word().0,
        "b" => BOB.into_word().0,
        "A" => dirty(ALICE),
        "!" => [0xff; 32],
        number => U256::from_str_radix(number, 10).unwrap().to_be_bytes(),
    };
    text.split_whitespace().map(word).collect()
}

fn log(address: Address, topic0: B256, topics: &str, data: &str) -> OwnedLog {
    let mut all = vec![topic0.0];
    all.extend(words(topics));
    OwnedLog {
        address,
        topics: all,
        data: words(data).concat(),
    }
}

fn name(address: &Address) -> &'static str {
    match *address {
        ALICE => "a",
        BOB => "b",
        Address::ZERO => "0",
        TOKEN => "token",
        WETH => "weth",
        KITTIES => "kitties",
        _ => "?",
    }
}

/// `log.sub standard kind from>to value #id`, one line for each transfer.
fn show(transfer: &Transfer) -> String {
    let log = transfer
        .log_index
        .map_or("-".to_owned(), |log| log.to_string());
    let id = transfer
        .token_id
        .map_or(String::new(), |id| format!(" #{id}"));
    let value = if transfer.value == U256::MAX {
        "max".to_owned()
    } else {
        transfer.value.to_string()
    };
    format!(
        "{log}.{} {} {} {} {}>{} {value}{id}",
        transfer.sub_index,
        transfer.token_address.as_ref().map_or("-", name),
        transfer.token_standard,
        transfer.kind,
        name(&transfer.from_address),
        name(&transfer.to_address),
    )
}

/// The transfers of one transaction that match a filter.
fn decode_one(
    chain_id: u64,
    wrapped: &WrappedNative,
    filter: &TransferFilter,
    transaction: Option<&TransactionView>,
    logs: &[OwnedLog],
) -> (Vec<String>, DecodeCounts) {
    let mut decoder = Decoder::new(chain_id, wrapped, filter);
    let mut out = Vec::new();
    decoder.begin_block(7, BlockTime::new(8));
    decoder.transaction(0, transaction, logs.iter().map(OwnedLog::view), &mut out);
    assert_eq!(decoder.counts().transfers, out.len() as u64);
    assert_eq!(decoder.counts().logs, logs.len() as u64);
    (out.iter().map(show).collect(), *decoder.counts())
}

/// The same for every transfer, on an unknown chain.
fn decode_all(
    transaction: Option<&TransactionView>,
    logs: &[OwnedLog],
) -> (Vec<String>, DecodeCounts) {
    let filter = TransferFilter::default();
    decode_one(CHAIN, &WrappedNative::Auto, &filter, transaction, logs)
}

/// Decodes one log in a block of its own, on an unknown chain.
fn check(log: OwnedLog, expected: &[&str]) -> DecodeCounts {
    let (rows, counts) = decode_all(None, std::slice::from_ref(&log));
    assert_eq!(rows, expected, "{log:?}");
    counts
}

fn check_malformed(log: OwnedLog) {
    let erc1155 = log.topics[0] == TRANSFER_SINGLE || log.topics[0] == TRANSFER_BATCH;
    let counts = check(log, &[]);
    assert_eq!(
        (counts.malformed, counts.malformed_erc1155),
        (1, u64::from(erc1155))
    );
    assert_eq!(counts.dirty_addresses, 0);
}

#[test]
fn erc20_with_any_indexed_parameters() {
    let erc20 = |topics, data| log(TOKEN, TRANSFER, topics, data);
    for (topics, data) in [("a b", "5"), ("a", "b 5"), ("", "a b 5")] {
        let counts = check(erc20(topics, data), &["0.0 token erc20 transfer a>b 5"]);
        assert_eq!((counts.malformed, counts.dirty_addresses), (0, 0));
    }
    check(erc20("a b", "0"), &["0.0 token erc20 transfer a>b 0"]);
    check(erc20("a a", "1"), &["0.0 token erc20 transfer a>a 1"]);
    check(erc20("a b", "!"), &["0.0 token erc20 transfer a>b max"]);
    check(erc20("0 b", "5"), &["0.0 token erc20 mint 0>b 5"]);
    check(erc20("a 0", "5"), &["0.0 token erc20 burn a>0 5"]);
    check(erc20("0 0", "5"), &["0.0 token erc20 mint 0>0 5"]);
}

#[test]
fn erc721_has_three_indexed_words() {
    let erc721 = |topics, data| log(TOKEN, TRANSFER, topics, data);
    check(erc721("a b 9", ""), &["0.0 token erc721 transfer a>b 1 #9"]);
    check(erc721("0 b 0", ""), &["0.0 token erc721 mint 0>b 1 #0"]);
    check(
        erc721("a 0 !", ""),
        &[&format!("0.0 token erc721 burn a>0 1 #{}", U256::MAX)],
    );
}

#[test]
fn counts_malformed_transfers() {
    let odd = |topics, data| log(TOKEN, TRANSFER, topics, data);
    for (topics, data) in [
        ("", ""),
        ("", "a b"),
        ("", "a b 5 6"),
        ("a", ""),
        ("a", "b"),
        ("a", "b 5 6"),
        ("a b", ""),
        ("a b", "5 6"),
        ("a b", "5 6 7"),
        ("a b 9", "5"),
        ("a b 9 9", ""),
    ] {
        check_malformed(odd(topics, data));
    }
    for bytes in [1, 31, 33, 63, 65, 95, 97] {
        for topics in ["", "a", "a b", "a b 9"] {
            let data = vec![1; bytes];
            check_malformed(OwnedLog {
                data,
                ..odd(topics, "")
            });
        }
    }
}

#[test]
fn dirty_address_words_are_masked_and_counted() {
    for (log, row) in [
        (
            log(TOKEN, TRANSFER, "A b", "5"),
            "0.0 token erc20 transfer a>b 5",
        ),
        (
            log(TOKEN, TRANSFER, "b A", "5"),
            "0.0 token erc20 transfer b>a 5",
        ),
        (
            log(TOKEN, TRANSFER, "A A 5", ""),
            "0.0 token erc721 transfer a>a 1 #5",
        ),
        (
            log(TOKEN, TRANSFER, "", "A b 5"),
            "0.0 token erc20 transfer a>b 5",
        ),
        (
            log(TOKEN, TRANSFER_SINGLE, "b A b", "1 2"),
            "0.0 token erc1155 transfer a>b 2 #1",
        ),
        (log(WETH, DEPOSIT, "A", "5"), "0.0 weth erc20 wrap 0>a 5"),
    ] {
        assert_eq!(check(log, &[row]).dirty_addresses, 1);
    }
    // The operator of an ERC-1155 log is neither sender nor receiver.
    let operator = log(TOKEN, TRANSFER_SINGLE, "A a b", "1 2");
    assert_eq!(
        check(operator, &["0.0 token erc1155 transfer a>b 2 #1"]).dirty_addresses,
        0
    );
}

#[test]
fn ignores_other_logs() {
    let anonymous = OwnedLog {
        topics: vec![],
        ..log(TOKEN, TRANSFER, "", "a b 5")
    };
    let other = log(TOKEN, B256::repeat_byte(1), "a b", "5");
    let burn = log(TOKEN, B256::repeat_byte(2), "a", "5");
    for log in [anonymous, other, burn] {
        assert_eq!(check(log, &[]).malformed, 0);
    }
}

#[test]
fn erc1155_singles() {
    let single = |topics, data| log(TOKEN, TRANSFER_SINGLE, topics, data);
    check(
        single("b a b", "7 5"),
        &["0.0 token erc1155 transfer a>b 5 #7"],
    );
    check(single("b 0 b", "7 5"), &["0.0 token erc1155 mint 0>b 5 #7"]);
    check(single("b a 0", "7 0"), &["0.0 token erc1155 burn a>0 0 #7"]);
    check(
        single("", "b a b 7 5"),
        &["0.0 token erc1155 transfer a>b 5 #7"],
    );
    for (topics, data) in [
        ("b a b", ""),
        ("b a b", "7"),
        ("b a b", "7 5 5"),
        ("b a", "b 7 5"),
        ("b", "a b 7 5"),
    ] {
        check_malformed(single(topics, data));
    }
    check_malformed(OwnedLog {
        data: vec![0; 65],
        ..single("b a b", "")
    });
}

#[test]
fn erc1155_batches() {
    let batch = |topics, data| log(TOKEN, TRANSFER_BATCH, topics, data);
    let two = [
        "0.0 token erc1155 transfer a>b 10 #1",
        "0.1 token erc1155 transfer a>b 20 #2",
    ];
    check(batch("b a b", "64 160 2 1 2 2 10 20"), &two);
    check(batch("", "b a b 160 256 2 1 2 2 10 20"), &two);
    // The arrays in reverse order, and with a gap.
    check(batch("b a b", "192 64 2 10 20 99 2 1 2"), &two);
    // Overlapping arrays, and an array that overlaps the offsets.
    check(
        batch("b a b", "64 64 1 6"),
        &["0.0 token erc1155 transfer a>b 6 #6"],
    );
    check(batch("b a b", "64 64 0"), &[]);
    check(batch("b a b", "64 96 0 0"), &[]);
    let same = check(
        batch("b 0 b", "64 128 1 3 1 0"),
        &["0.0 token erc1155 mint 0>b 0 #3"],
    );
    assert_eq!(same.malformed, 0);
    for data in [
        "",
        "64",
        "64 160",
        "64 160 2 1 2 1 10", // unequal
        "64 160 2 1 2 2 10", // the last item is missing
        "64 160 2 1 2",      // the second array is missing
        "64 ! 0",            // offsets and lengths beyond the data
        "! 64 0",
        "64 64 !",
        "64 96 18446744073709551615 18446744073709551615",
        "64 96 576460752303423487 576460752303423487",
        "18446744073709551615 64 0",
        "18446744073709551584 64 0",
    ] {
        check_malformed(batch("b a b", data));
    }
    check_malformed(batch("b a", "b 96 192 2 1 2 2 10 20"));
    // Trailing bytes that are not a whole word are ignored.
    let mut padded = batch("b a b", "64 160 2 1 2 2 10 20");
    padded.data.push(1);
    check(padded, &two);
}

#[test]
fn wraps() {
    check(log(WETH, DEPOSIT, "a", "5"), &["0.0 weth erc20 wrap 0>a 5"]);
    check(
        log(WETH, WITHDRAWAL, "a", "5"),
        &["0.0 weth erc20 unwrap a>0 5"],
    );
    check(
        log(WETH, DEPOSIT, "", "a 5"),
        &["0.0 weth erc20 wrap 0>a 5"],
    );
    // Other contracts use these names for other events.
    for (topics, data) in [
        ("", ""),
        ("a", ""),
        ("a b", ""),
        ("a b", "5"),
        ("", "a 5 6"),
        ("a", "5 6"),
    ] {
        assert_eq!(check(log(TOKEN, DEPOSIT, topics, data), &[]).malformed, 0);
        assert_eq!(check(log(WETH, WITHDRAWAL, topics, data), &[]).malformed, 0);
    }
}

#[test]
fn wrapped_coins_by_chain_and_choice() {
    let logs = [log(WETH, DEPOSIT, "a", "1"), log(TOKEN, DEPOSIT, "a", "2")];
    let (weth, token) = ("0.0 weth erc20 wrap 0>a 1", "1.0 token erc20 wrap 0>a 2");
    for (chain_id, wrapped, expected) in [
        (1, WrappedNative::Auto, vec![weth]),
        (CHAIN, WrappedNative::Auto, vec![weth, token]),
        (8_453, WrappedNative::Auto, vec![]),
        (1, WrappedNative::Any, vec![weth, token]),
        (1, WrappedNative::None, vec![]),
        (1, WrappedNative::Only(vec![TOKEN]), vec![token]),
    ] {
        let (rows, _) = decode_one(chain_id, &wrapped, &TransferFilter::default(), None, &logs);
        assert_eq!(rows, expected, "{chain_id} {wrapped:?}");
    }
}

fn check_wraps(logs: &[OwnedLog], expected: &[&str], deduplicated: u64) {
    let (rows, counts) = decode_all(None, logs);
    assert_eq!(rows, expected);
    assert_eq!(counts.wraps_deduplicated, deduplicated);
}

#[test]
fn equal_transfers_cancel_wraps() {
    let deposit = log(WETH, DEPOSIT, "a", "5");
    let mint = log(WETH, TRANSFER, "0 a", "5");
    let (wrapped, minted) = ("erc20 wrap 0>a 5", "erc20 mint 0>a 5");
    let row = |index: usize, what: &str| format!("{index}.0 weth {what}");
    // The transfer before or after the wrap.
    check_wraps(&[deposit.clone(), mint.clone()], &[&row(1, minted)], 1);
    check_wraps(&[mint.clone(), deposit.clone()], &[&row(0, minted)], 1);
    // Each transfer cancels one wrap.
    check_wraps(
        &[deposit.clone(), mint.clone(), deposit.clone()],
        &[&row(1, minted), &row(2, wrapped)],
        1,
    );
    check_wraps(
        &[mint.clone(), mint.clone(), deposit.clone()],
        &[&row(0, minted), &row(1, minted)],
        1,
    );
    // With another token, amount, account or direction it is another movement.
    for other in [
        log(TOKEN, TRANSFER, "0 a", "5"),
        log(WETH, TRANSFER, "0 a", "6"),
        log(WETH, TRANSFER, "0 b", "5"),
        log(WETH, TRANSFER, "a 0", "5"),
        log(WETH, TRANSFER, "b a", "5"),
        log(WETH, TRANSFER, "0 a 5", ""),
    ] {
        let (rows, counts) = decode_all(None, &[deposit.clone(), other]);
        assert_eq!((rows.len(), counts.wraps_deduplicated), (2, 0), "{rows:?}");
    }
    // A token with an ID is not an amount of 1.
    check_wraps(
        &[
            log(WETH, DEPOSIT, "a", "1"),
            log(WETH, TRANSFER, "0 a 5", ""),
        ],
        &["0.0 weth erc20 wrap 0>a 1", "1.0 weth erc721 mint 0>a 1 #5"],
        0,
    );
    check_wraps(
        &[
            log(WETH, WITHDRAWAL, "a", "5"),
            log(WETH, TRANSFER, "a 0", "5"),
        ],
        &["1.0 weth erc20 burn a>0 5"],
        1,
    );
    // Only within one transaction.
    let filter = TransferFilter::default();
    let mut decoder = Decoder::new(CHAIN, &WrappedNative::Auto, &filter);
    let mut out = Vec::new();
    decoder.begin_block(1, BlockTime::new(1));
    for (index, log) in [(0, &deposit), (1, &mint)] {
        decoder.transaction(index, None, [log.view()].into_iter(), &mut out);
    }
    assert_eq!((out.len(), decoder.counts().wraps_deduplicated), (2, 0));
}

/// A transfer that the filter excludes still cancels the wrap.
#[test]
fn excluded_transfers_cancel_wraps() {
    let filter = TransferFilter {
        kinds: vec![Kind::Wrap],
        ..Default::default()
    };
    let logs = [
        log(WETH, DEPOSIT, "a", "5"),
        log(WETH, TRANSFER, "0 a", "5"),
    ];
    let (rows, counts) = decode_one(CHAIN, &WrappedNative::Auto, &filter, None, &logs);
    assert_eq!((rows.len(), counts.wraps_deduplicated), (0, 1));
}

#[test]
fn cryptokitties_are_erc721_on_mainnet() {
    let kitty = [log(KITTIES, TRANSFER, "", "a b 77")];
    let (wrapped, filter) = (WrappedNative::Auto, TransferFilter::default());
    let decode = |chain_id| decode_one(chain_id, &wrapped, &filter, None, &kitty).0;
    assert_eq!(decode(1), ["0.0 kitties erc721 transfer a>b 1 #77"]);
    assert_eq!(decode(CHAIN), ["0.0 kitties erc20 transfer a>b 77"]);
}

fn sends(from: Address, to: Address, value: u64) -> TransactionView {
    TransactionView {
        from,
        to,
        value: U256::from(value),
        mint: U256::ZERO,
        success: true,
    }
}

fn check_native(transaction: TransactionView, logs: &[OwnedLog], expected: &[&str]) {
    let (rows, counts) = decode_all(Some(&transaction), logs);
    assert_eq!(rows, expected);
    assert_eq!(counts.malformed, 0);
}

#[test]
fn transaction_values() {
    check_native(sends(ALICE, BOB, 3), &[], &["-.0 - native value a>b 3"]);
    check_native(sends(ALICE, ALICE, 3), &[], &["-.0 - native value a>a 3"]);
    check_native(sends(ALICE, BOB, 0), &[], &[]);
    check_native(
        TransactionView {
            success: false,
            ..sends(ALICE, BOB, 3)
        },
        &[],
        &[],
    );
    check_native(
        sends(ALICE, BOB, 3),
        &[log(TOKEN, TRANSFER, "a b", "5")],
        &["-.0 - native value a>b 3", "0.0 token erc20 transfer a>b 5"],
    );
}

#[test]
fn deposits_mint_before_their_value() {
    let deposit = |value, success| TransactionView {
        mint: U256::from(7),
        success,
        ..sends(ALICE, BOB, value)
    };
    check_native(
        deposit(3, true),
        &[log(TOKEN, TRANSFER, "a b", "5")],
        &[
            "-.0 - native mint 0>a 7",
            "-.1 - native value a>b 3",
            "0.0 token erc20 transfer a>b 5",
        ],
    );
    check_native(deposit(0, true), &[], &["-.0 - native mint 0>a 7"]);
    check_native(deposit(3, false), &[], &["-.0 - native mint 0>a 7"]);
}

#[test]
fn native_logs_of_eip7708() {
    let native = |topics, data| log(SYSTEM, TRANSFER, topics, data);
    let token = || log(TOKEN, TRANSFER, "a b", "9");
    let inside = TransferFilter::with_internal(true);
    let decode = |filter: &TransferFilter, transaction: &TransactionView, logs: &[OwnedLog]| {
        decode_one(CHAIN, &WrappedNative::Auto, filter, Some(transaction), logs).0
    };
    let check = |transaction: TransactionView, logs: &[OwnedLog], expected: &[&str]| {
        let all = decode(&inside, &transaction, logs);
        assert_eq!(all, expected);
        // Without internal movements the other rows are the same.
        let outside: Vec<_> = expected
            .iter()
            .filter(|row| !row.contains("internal"))
            .collect();
        let some = decode_all(Some(&transaction), logs).0;
        assert_eq!(some.iter().collect::<Vec<_>>(), outside);
    };
    check(
        sends(ALICE, BOB, 3),
        &[
            native("a b", "3"),
            token(),
            native("b a", "1"),
            token(),
            native("a b", "3"),
        ],
        &[
            "-.0 - native value a>b 3",
            "-.1 - native internal b>a 1",
            "-.2 - native internal a>b 3",
            "1.0 token erc20 transfer a>b 9",
            "3.0 token erc20 transfer a>b 9",
        ],
    );
    // A transaction to its own sender is not logged, but calls inside of it can be.
    check(
        sends(ALICE, ALICE, 3),
        &[native("a b", "3")],
        &["-.0 - native value a>a 3", "-.1 - native internal a>b 3"],
    );
    check(
        sends(ALICE, BOB, 0),
        &[token(), native("b a", "1")],
        &[
            "-.1 - native internal b>a 1",
            "0.0 token erc20 transfer a>b 9",
        ],
    );
    // Movements that are not wanted are numbered, too.
    let from_bob = TransferFilter {
        touching: Some(AddressFilter::new([BOB], Direction::Out)),
        ..inside.clone()
    };
    let logs = [native("a b", "3"), native("a b", "4"), native("b a", "1")];
    assert_eq!(
        decode(&from_bob, &sends(ALICE, BOB, 3), &logs),
        ["-.2 - native internal b>a 1"]
    );
    // The address is not a token, even if a query names it.
    let as_token = TransferFilter {
        tokens: TokenFilter::only([SYSTEM]),
        ..inside
    };
    assert!(decode(&as_token, &sends(ALICE, BOB, 3), &logs).is_empty());
    check_malformed(native("a b 5", ""));
    check_malformed(native("a b", ""));
    // `Burn(address,uint256)` of drafts.
    let burn = alloy_primitives::keccak256("Burn(address,uint256)");
    check_malformed(log(SYSTEM, burn, "a", "5"));
}

#[test]
fn withdrawals_follow_the_last_transaction() {
    let filter = TransferFilter::default();
    let mut decoder = Decoder::new(CHAIN, &WrappedNative::Auto, &filter);
    let mut out = Vec::new();
    let withdrawal = |amount_gwei| WithdrawalView {
        address: BOB,
        amount_gwei,
    };
    decoder.begin_block(7, BlockTime::new(8));
    decoder.transaction(0, None, std::iter::empty(), &mut out);
    decoder.transaction(1, None, std::iter::empty(), &mut out);
    decoder.withdrawals([2, 0, u64::MAX].map(withdrawal).into_iter(), &mut out);
    decoder.begin_block(8, BlockTime::new(20));
    decoder.withdrawals([1].map(withdrawal).into_iter(), &mut out);
    let shown: Vec<_> = out.iter().map(show).collect();
    assert_eq!(
        shown,
        [
            "-.0 - native withdrawal 0>b 2000000000",
            "-.2 - native withdrawal 0>b 18446744073709551615000000000",
            "-.0 - native withdrawal 0>b 1000000000",
        ]
    );
    let places: Vec<_> = out
        .iter()
        .map(|t| (t.block_number, t.block_timestamp, t.transaction_index))
        .map(|(block, time, index)| (block, time.map(BlockTime::seconds), index))
        .collect();
    assert_eq!(places, [(7, Some(8), 2), (7, Some(8), 2), (8, Some(20), 0)]);
    assert!(
        out.iter()
            .all(|transfer| transfer.transaction_hash.is_none())
    );
}

#[test]
fn log_indices_continue_through_the_block() {
    let filter = TransferFilter::default();
    let mut decoder = Decoder::new(CHAIN, &WrappedNative::Auto, &filter);
    let mut out = Vec::new();
    let transfer = log(TOKEN, TRANSFER, "a b", "1");
    let other = log(TOKEN, B256::ZERO, "", "");
    for block in 0..2 {
        decoder.begin_block(block, None);
        for index in 0..2 {
            let logs = [other.view(), transfer.view(), transfer.view()];
            decoder.transaction(index, None, logs.into_iter(), &mut out);
        }
    }
    let places: Vec<_> = out
        .iter()
        .map(|t| (t.block_number, t.transaction_index, t.log_index))
        .collect();
    let first = [(0, 1), (0, 2), (1, 4), (1, 5)];
    let first = first.map(|(transaction, log)| (0, transaction, Some(log)));
    assert_eq!(places[..4], first);
    assert_eq!(places.len(), 8);
    assert_eq!(places[4], (1, 0, Some(1)));
}

// ---- Comparison with the naive twin ----

#[derive(Clone, Debug)]
struct Block {
    transactions: Vec<(TransactionView, Vec<OwnedLog>)>,
    withdrawals: Vec<WithdrawalView>,
}

fn some_address() -> impl Strategy<Value = Address> {
    prop::sample::select(vec![
        Address::ZERO,
        ALICE,
        BOB,
        TOKEN,
        WETH,
        KITTIES,
        SYSTEM,
    ])
}

fn some_word() -> impl Strategy<Value = Word> {
    prop_oneof![
        6 => some_address().prop_map(|address| address.into_word().0),
        1 => some_address().prop_map(dirty),
        4 => (0u64..4).prop_map(|number| U256::from(number).to_be_bytes()),
        3 => (0u64..12).prop_map(|number| U256::from(32 * number).to_be_bytes()),
        1 => any::<u64>().prop_map(|number| U256::from(number).to_be_bytes()),
        1 => any::<Word>(),
    ]
}

fn some_topic0() -> impl Strategy<Value = Word> {
    let known = [
        TRANSFER,
        TRANSFER,
        TRANSFER,
        TRANSFER_SINGLE,
        TRANSFER_BATCH,
        DEPOSIT,
        WITHDRAWAL,
        B256::ZERO,
    ];
    prop::sample::select(known.map(|topic| topic.0).to_vec())
}

/// Random logs: mostly with a known signature, rarely well-formed.
fn wild_log() -> impl Strategy<Value = OwnedLog> {
    (
        some_address(),
        some_topic0(),
        vec(some_word(), 0..4),
        vec(some_word(), 0..9),
        0usize..70,
    )
        .prop_map(|(address, topic0, mut topics, data, cut)| {
            topics.insert(0, topic0);
            let mut data = data.concat();
            // Mostly nothing is cut off, otherwise up to 31 bytes.
            data.truncate(data.len().saturating_sub(cut.saturating_sub(38)));
            OwnedLog {
                address,
                topics,
                data,
            }
        })
}

/// Logs as contracts normally emit them.
fn tame_log() -> impl Strategy<Value = OwnedLog> {
    // Few addresses, so that many wraps have an equal transfer.
    let emitter = prop_oneof![3 => Just(WETH), 2 => some_address()];
    let end = || prop::sample::select(vec![Address::ZERO, ALICE, BOB]);
    (0..7, (emitter, end(), end()), vec((0u64..3, 0u64..3), 1..4)).prop_map(
        |(sort, (emitter, from, to), items)| {
            let (from, to) = (from.into_word().0, to.into_word().0);
            let n = |number: u64| U256::from(number).to_be_bytes::<32>();
            let (id, amount) = items[0];
            let (topics, data) = match sort {
                0 | 1 => (vec![TRANSFER.0, from, to], vec![n(amount)]),
                2 => (vec![TRANSFER.0, from, to, n(id)], vec![]),
                3 => (
                    vec![TRANSFER_SINGLE.0, from, from, to],
                    vec![n(id), n(amount)],
                ),
                4 => {
                    let count = items.len() as u64;
                    let mut data = vec![n(64), n(96 + 32 * count), n(count)];
                    data.extend(items.iter().map(|item| n(item.0)));
                    data.push(n(count));
                    data.extend(items.iter().map(|item| n(item.1)));
                    (vec![TRANSFER_BATCH.0, from, from, to], data)
                }
                5 => (vec![DEPOSIT.0, to], vec![n(amount)]),
                _ => (vec![WITHDRAWAL.0, from], vec![n(amount)]),
            };
            OwnedLog {
                address: emitter,
                topics,
                data: data.concat(),
            }
        },
    )
}

fn some_block() -> impl Strategy<Value = Block> {
    let amounts = (0u64..3, 0u64..2);
    let transaction = (some_address(), some_address(), amounts, any::<bool>()).prop_map(
        |(from, to, (value, mint), success)| TransactionView {
            mint: U256::from(mint),
            success,
            ..sends(from, to, value)
        },
    );
    let logs = vec(prop_oneof![wild_log(), tame_log()], 0..8);
    let withdrawal = (some_address(), 0u64..3).prop_map(|(address, amount_gwei)| WithdrawalView {
        address,
        amount_gwei,
    });
    (vec((transaction, logs), 0..4), vec(withdrawal, 0..3)).prop_map(
        |(transactions, withdrawals)| Block {
            transactions,
            withdrawals,
        },
    )
}

fn some_filter() -> impl Strategy<Value = TransferFilter> {
    let addresses = || vec(some_address(), 0..4).prop_map(|all| all.into_iter().collect());
    let tokens = prop_oneof![
        Just(TokenFilter::All),
        (addresses(), any::<bool>())
            .prop_map(|(tokens, native)| TokenFilter::Only { tokens, native }),
    ];
    let direction = prop::sample::select(vec![Direction::Out, Direction::In, Direction::Both]);
    let touching =
        proptest::option::of((addresses(), direction).prop_map(|(addresses, direction)| {
            AddressFilter {
                addresses,
                direction,
            }
        }));
    let some = |max| 0..=max;
    (
        tokens,
        touching,
        0u64..3,
        proptest::sample::subsequence(TokenStandard::ALL, some(4)),
        proptest::sample::subsequence(Kind::ALL, some(8)),
        any::<bool>(),
    )
        .prop_map(
            |(tokens, touching, min_value, standards, kinds, internal)| TransferFilter {
                tokens,
                touching,
                min_value: U256::from(min_value),
                amounts: Default::default(),
                standards,
                kinds,
                internal,
            },
        )
}

fn some_wrapped() -> impl Strategy<Value = WrappedNative> {
    prop_oneof![
        Just(WrappedNative::Auto),
        Just(WrappedNative::Any),
        Just(WrappedNative::None),
        vec(some_address(), 0..3).prop_map(WrappedNative::Only),
    ]
}

fn decode(
    chain_id: u64,
    wrapped: &WrappedNative,
    filter: &TransferFilter,
    blocks: &[Block],
) -> (Vec<Transfer>, DecodeCounts) {
    let mut decoder = Decoder::new(chain_id, wrapped, filter);
    let mut out = Vec::new();
    for (number, block) in (0..).zip(blocks) {
        decoder.begin_block(number, BlockTime::new(1000 + number));
        for (index, (transaction, logs)) in (0..).zip(&block.transactions) {
            let transaction = filter.needs_op_transactions().then_some(transaction);
            decoder.transaction(
                index,
                transaction,
                logs.iter().map(OwnedLog::view),
                &mut out,
            );
        }
        if filter.needs_withdrawals() {
            decoder.withdrawals(block.withdrawals.iter().copied(), &mut out);
        }
    }
    (out, *decoder.counts())
}

/// The same with the naive decoder.
fn decode_naively(rules: &Rules<'_>, blocks: &[Block]) -> (Vec<Transfer>, DecodeCounts) {
    let mut counts = DecodeCounts::default();
    let mut out = Vec::new();
    for (number, block) in (0..).zip(blocks) {
        counts.blocks += 1;
        let mut row = Transfer {
            block_timestamp: BlockTime::new(1000 + number),
            ..testing::transfer(number)
        };
        let mut first_log = 0;
        for (transaction, logs) in &block.transactions {
            let transaction = Some(transaction);
            out.extend(naive::transaction(
                rules,
                &row,
                transaction,
                first_log,
                logs,
                &mut counts,
            ));
            row.transaction_index += 1;
            first_log += u32::try_from(logs.len()).unwrap();
        }
        let withdrawals = &block.withdrawals;
        out.extend(naive::withdrawals(rules, &row, withdrawals, &mut counts));
    }
    (out, counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn agrees_with_the_naive_twin(
        blocks in vec(some_block(), 0..4),
        wrapped in some_wrapped(),
        filter in prop_oneof![1 => Just(TransferFilter::default()), 2 => some_filter()],
        chain_id in prop::sample::select(vec![1, 10, CHAIN]),
    ) {
        let (rows, counts) = decode(chain_id, &wrapped, &filter, &blocks);
        let rules = Rules { chain_id, wrapped: &wrapped, filter: &filter };
        let (expected, expected_counts) = decode_naively(&rules, &blocks);
        prop_assert_eq!(&rows, &expected);
        prop_assert_eq!(counts, expected_counts);
        if matches!(filter.tokens, TokenFilter::All) {
            let logs = blocks.iter().flat_map(|block| &block.transactions);
            let logs = logs.flat_map(|(_, logs)| logs);
            let malformed = logs.filter(|log| Malformed::of(&log.view()).is_some());
            prop_assert_eq!(malformed.count() as u64, counts.malformed);
        }
        let positions: Vec<_> = rows.iter().map(Transfer::position).collect();
        prop_assert!(positions.is_sorted_by(|a, b| a < b), "{:?}", positions);
    }

    /// Counts of blocks, transactions and logs do not depend on the filter, the rows are the
    /// matching ones of all rows, and the counts of parts add up to the whole.
    #[test]
    fn filters_only_leave_rows_out(
        blocks in vec(some_block(), 1..5),
        filter in some_filter(),
    ) {
        let all = TransferFilter::with_internal(true);
        let wrapped = WrappedNative::Auto;
        let (rows, whole) = decode(CHAIN, &wrapped, &all, &blocks);
        let (some, filtered) = decode(CHAIN, &wrapped, &filter, &blocks);
        let seen = |counts: &DecodeCounts| (counts.blocks, counts.transactions, counts.logs);
        prop_assert_eq!(seen(&filtered), seen(&whole));
        prop_assert!(filtered.malformed <= whole.malformed);
        let wanted = |row: &Transfer| {
            filter.matches(row) && (filter.internal || row.kind != Kind::Internal)
        };
        prop_assert_eq!(rows.into_iter().filter(wanted).collect::<Vec<_>>(), some);
        let parts = blocks.iter().map(|block| decode(CHAIN, &wrapped, &all, std::slice::from_ref(block)).1);
        prop_assert_eq!(parts.sum::<DecodeCounts>(), whole);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        address in some_address(),
        topics in vec(any::<Word>(), 0..6),
        topic0 in proptest::option::of(some_topic0()),
        data in vec(any::<u8>(), 0..300),
    ) {
        let topics = topic0.into_iter().chain(topics).collect();
        let log = OwnedLog { address, topics, data };
        let (rows, counts) = decode_one(1, &WrappedNative::Any, &TransferFilter::default(), None, &[log]);
        prop_assert!(rows.len() <= 9 && counts.malformed <= 1);
    }
}
