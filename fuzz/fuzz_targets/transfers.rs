//! Fuzzes the transfer decoder with logs of any shape under any filter. It must not panic, its
//! rows must be in total order, and a filter must only remove rows.
#![no_main]

use alloy_primitives::{Address, B256, U256, address};
use libfuzzer_sys::fuzz_target;
use txgraph_transfers::{
    AddressFilter, DEPOSIT, DecodeCounts, Decoder, Direction, EIP7708_LOG_ADDRESS, Kind, LogView,
    TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, TokenFilter, TokenStandard, TransactionView,
    Transfer, TransferFilter, WITHDRAWAL, WithdrawalView, WrappedNative,
};

const ADDRESSES: [Address; 5] = [
    Address::ZERO,
    EIP7708_LOG_ADDRESS,
    address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
    address!("00000000000000000000000000000000000a11ce"),
    address!("0000000000000000000000000000000000000b0b"),
];
const TOPICS: [B256; 6] = [
    TRANSFER,
    TRANSFER_SINGLE,
    TRANSFER_BATCH,
    DEPOSIT,
    WITHDRAWAL,
    B256::ZERO,
];

/// The input as a sequence of choices, which are zero after its end.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: u8) -> usize {
        usize::from(self.byte() % bound)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn address(&mut self) -> Address {
        let place = self.below(6);
        ADDRESSES
            .get(place)
            .copied()
            .unwrap_or_else(|| Address::from(self.bytes()))
    }

    /// An address, with or without dirty upper bytes, a number that may be an offset, or any bytes.
    fn word(&mut self) -> [u8; 32] {
        match self.below(5) {
            0 | 1 => self.address().into_word().0,
            2 => U256::from(self.byte()).to_be_bytes(),
            3 => U256::from(32 * self.below(12)).to_be_bytes(),
            _ => self.bytes(),
        }
    }

    fn filter(&mut self) -> TransferFilter {
        let mut filter = TransferFilter::default();
        if self.byte() & 1 == 1 {
            let tokens = [self.address(), self.address()].into_iter().collect();
            filter.tokens = TokenFilter::Only {
                tokens,
                native: self.byte() & 1 == 1,
            };
        }
        if self.byte() & 1 == 1 {
            let direction = [Direction::Out, Direction::In, Direction::Both][self.below(3)];
            let addresses = [self.address()].into_iter().collect();
            filter.touching = Some(AddressFilter {
                addresses,
                direction,
            });
        }
        filter.min_value = U256::from(self.below(3));
        let (standards, kinds) = (self.byte(), self.byte());
        filter.standards = chosen(TokenStandard::ALL, standards);
        filter.kinds = chosen(Kind::ALL, kinds);
        filter
    }
}

fn chosen<T: Copy>(all: &[T], bits: u8) -> Vec<T> {
    (0..8)
        .zip(all)
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, one)| *one)
        .collect()
}

struct Log {
    address: Address,
    topics: Vec<[u8; 32]>,
    data: Vec<u8>,
}

struct Block {
    transactions: Vec<(TransactionView, Vec<Log>)>,
    withdrawals: Vec<WithdrawalView>,
}

fn log(choices: &mut Choices<'_>) -> Log {
    let address = choices.address();
    let mut topics: Vec<_> = (0..choices.below(5)).map(|_| choices.word()).collect();
    if let Some(topic0) = topics.first_mut() {
        *topic0 = TOPICS[choices.below(6)].0;
    }
    let mut data: Vec<u8> = (0..choices.below(12))
        .flat_map(|_| choices.word())
        .collect();
    data.truncate(
        data.len()
            .saturating_sub(choices.below(64).saturating_sub(32)),
    );
    Log {
        address,
        topics,
        data,
    }
}

fn block(choices: &mut Choices<'_>) -> Block {
    let transactions = (0..choices.below(4))
        .map(|_| {
            let transaction = TransactionView {
                from: choices.address(),
                to: choices.address(),
                mint: U256::from(choices.below(2)),
                value: U256::from(choices.below(3)),
                success: choices.byte() & 1 == 1,
            };
            (
                transaction,
                (0..choices.below(6)).map(|_| log(choices)).collect(),
            )
        })
        .collect();
    let withdrawals = (0..choices.below(3))
        .map(|_| WithdrawalView {
            address: choices.address(),
            amount_gwei: u64::from_be_bytes(choices.bytes()),
        })
        .collect();
    Block {
        transactions,
        withdrawals,
    }
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
        decoder.begin_block(number, None);
        for (index, (transaction, logs)) in (0..).zip(&block.transactions) {
            let logs = logs.iter().map(|log| LogView {
                address: &log.address,
                topics: &log.topics,
                data: &log.data,
            });
            let transaction = filter.needs_op_transactions().then_some(transaction);
            decoder.transaction(index, transaction, logs, &mut out);
        }
        if filter.needs_withdrawals() {
            decoder.withdrawals(block.withdrawals.iter().copied(), &mut out);
        }
    }
    (out, *decoder.counts())
}

fuzz_target!(|input: &[u8]| {
    let mut choices = Choices(input);
    let chain_id = [1, 10, 1337][choices.below(3)];
    let wrapped = match choices.below(4) {
        0 => WrappedNative::Auto,
        1 => WrappedNative::Any,
        2 => WrappedNative::None,
        _ => WrappedNative::Only(vec![choices.address()]),
    };
    let filter = choices.filter();
    let blocks: Vec<_> = (0..choices.below(4)).map(|_| block(&mut choices)).collect();

    let (all, counts) = decode(chain_id, &wrapped, &TransferFilter::default(), &blocks);
    assert!(
        all.is_sorted_by(|a, b| a.position() < b.position()),
        "total order"
    );
    assert_eq!(counts.transfers, all.len() as u64);
    assert!(counts.malformed + counts.dirty_addresses <= counts.logs);
    assert!(counts.malformed_erc1155 <= counts.malformed);

    let (some, filtered) = decode(chain_id, &wrapped, &filter, &blocks);
    let seen = |counts: &DecodeCounts| (counts.blocks, counts.transactions, counts.logs);
    assert_eq!(seen(&filtered), seen(&counts));
    let wanted: Vec<_> = all
        .into_iter()
        .filter(|transfer| filter.matches(transfer))
        .collect();
    assert_eq!(some, wanted);
});
