//! A slow and simple decoder with the same rules, without prefilters, buffers or early exits.
//! Property tests compare the two, and `testkit` decodes the answers of nodes with it.

use crate::{
    DEPOSIT, DecodeCounts, EIP7708_LOG_ADDRESS, Kind, LogView, TRANSFER, TRANSFER_BATCH,
    TRANSFER_SINGLE, TokenFilter, TokenStandard, TransactionView, Transfer, TransferFilter,
    WITHDRAWAL, WithdrawalView, WrappedNative,
};
use alloy_primitives::{Address, B256, U256};

/// A log with its bytes.
#[derive(Clone, Debug)]
pub struct OwnedLog {
    /// The contract that emitted it.
    pub address: Address,
    /// Its topics.
    pub topics: Vec<[u8; 32]>,
    /// Its data.
    pub data: Vec<u8>,
}

impl OwnedLog {
    /// The log as decoders take it.
    pub fn view(&self) -> LogView<'_> {
        LogView {
            address: &self.address,
            topics: &self.topics,
            data: &self.data,
        }
    }
}

/// The facts and the filter on which the transfers of a chain depend.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The chain ID.
    pub chain_id: u64,
    /// The contracts that emit wraps.
    pub wrapped: &'a WrappedNative,
    /// The wanted transfers.
    pub filter: &'a TransferFilter,
}

/// Returns the transfers of a transaction that match the filter. `row` has its block, time, index
/// and hash; `first_log` is the index of its first log in the block.
pub fn transaction(
    rules: &Rules<'_>,
    row: &Transfer,
    transaction: Option<&TransactionView>,
    first_log: u32,
    logs: &[OwnedLog],
    counts: &mut DecodeCounts,
) -> Vec<Transfer> {
    counts.transactions += 1;
    let mut rows = Vec::new();
    // Movements that the chain logs, the value of the transaction among them.
    let mut logged = Vec::new();
    for (index, log) in (first_log..).zip(logs) {
        counts.logs += 1;
        if !is_asked_for(rules.filter, log.address) {
            continue;
        }
        for (sub_index, event) in (0..).zip(events(rules, row, log, counts)) {
            match event.kind {
                Kind::Internal => logged.push(event),
                _ => rows.push(Transfer {
                    log_index: Some(index),
                    sub_index,
                    ..event
                }),
            }
        }
    }
    let (rows, canceled) = without_duplicates(rows, rules);
    counts.wraps_deduplicated += canceled;
    let mut all = Vec::new();
    let minting = transaction.filter(|it| !it.mint.is_zero());
    if let Some(transaction) = minting {
        all.push(Transfer {
            to_address: transaction.from,
            value: transaction.mint,
            kind: Kind::Mint,
            ..row.clone()
        });
    }
    let sub_index = u32::from(minting.is_some());
    if let Some(transaction) = transaction.filter(|it| it.success && !it.value.is_zero()) {
        let ends = (transaction.from, transaction.to, transaction.value);
        let own = logged
            .iter()
            .position(|it| (it.from_address, it.to_address, it.value) == ends);
        own.map(|own| logged.remove(own));
        all.push(Transfer {
            sub_index,
            from_address: transaction.from,
            to_address: transaction.to,
            value: transaction.value,
            ..row.clone()
        });
    }
    if rules.filter.internal {
        let numbered = (sub_index + 1..).zip(logged);
        all.extend(numbered.map(|(sub_index, event)| Transfer { sub_index, ..event }));
    }
    all.extend(rows);
    all.retain(|transfer| rules.filter.matches(transfer));
    counts.transfers += all.len() as u64;
    all
}

/// Returns the withdrawals of a block that match the filter. `row` has its block and time, and the number
/// of its transactions as the index.
pub fn withdrawals(
    rules: &Rules<'_>,
    row: &Transfer,
    withdrawals: &[WithdrawalView],
    counts: &mut DecodeCounts,
) -> Vec<Transfer> {
    let all = (0..).zip(withdrawals).map(|(sub_index, it)| Transfer {
        sub_index,
        to_address: it.address,
        value: U256::from(it.amount_gwei) * U256::from(10).pow(U256::from(9)),
        kind: Kind::Withdrawal,
        ..row.clone()
    });
    let all: Vec<_> = all
        .filter(|it| !it.value.is_zero() && rules.filter.matches(it))
        .collect();
    counts.transfers += all.len() as u64;
    all
}

/// Whether the logs of a contract are decoded, and counted if they are anomalous.
fn is_asked_for(filter: &TransferFilter, emitter: Address) -> bool {
    match &filter.tokens {
        TokenFilter::All => true,
        TokenFilter::Only { tokens, native } => {
            tokens.contains(&emitter) || (*native && emitter == EIP7708_LOG_ADDRESS)
        }
    }
}

fn events(
    rules: &Rules<'_>,
    row: &Transfer,
    log: &OwnedLog,
    counts: &mut DecodeCounts,
) -> Vec<Transfer> {
    let Some(topic0) = log.topics.first() else {
        return vec![];
    };
    let topic0 = B256::from(*topic0);
    let system = log.address == EIP7708_LOG_ADDRESS;
    let (topics, bytes) = (log.topics.len() - 1, log.data.len());
    // Topics, then data, as numbers.
    let mut words: Vec<U256> = log.topics[1..]
        .iter()
        .map(|t| U256::from_be_bytes(*t))
        .collect();
    words.extend(log.data.chunks_exact(32).map(U256::from_be_slice));
    let mut moved = |from: U256, to: U256, value| {
        if [from, to].iter().any(|end| end.bit_len() > 160) {
            counts.dirty_addresses += 1;
        }
        let [from_address, to_address] = [from, to].map(|end| Address::from_word(end.into()));
        Transfer {
            token_address: Some(log.address),
            from_address,
            to_address,
            value,
            token_standard: TokenStandard::Erc20,
            kind: match (from_address == Address::ZERO, to_address == Address::ZERO) {
                (true, _) => Kind::Mint,
                (false, true) => Kind::Burn,
                (false, false) => Kind::Transfer,
            },
            ..row.clone()
        }
    };

    if system && topic0 != TRANSFER {
        counts.malformed += 1;
        return vec![];
    }
    if topic0 == TRANSFER {
        if topics + bytes / 32 != 3 || bytes % 32 != 0 || (system && topics == 3) {
            counts.malformed += 1;
            return vec![];
        }
        let moved = moved(words[0], words[1], words[2]);
        if system {
            return vec![Transfer {
                token_address: None,
                token_standard: TokenStandard::Native,
                kind: Kind::Internal,
                ..moved
            }];
        }
        let kitties = "0x06012c8cf97bead5deae237070f9587f8e7a266d";
        let kitty = rules.chain_id == 1 && format!("{:#x}", log.address) == kitties;
        if topics == 3 || kitty {
            return vec![Transfer {
                value: U256::ONE,
                token_id: Some(words[2]),
                token_standard: TokenStandard::Erc721,
                ..moved
            }];
        }
        return vec![moved];
    }
    if topic0 == TRANSFER_SINGLE || topic0 == TRANSFER_BATCH {
        let items = match topics {
            3 | 0 if topic0 == TRANSFER_SINGLE => {
                (words.len() == 5 && bytes % 32 == 0).then(|| vec![(words[3], words[4])])
            }
            3 | 0 if words.len() >= 5 => {
                let (ids, amounts) = (array(&log.data, words[3]), array(&log.data, words[4]));
                ids.zip(amounts)
                    .filter(|(ids, amounts)| ids.len() == amounts.len())
                    .map(|(ids, amounts)| ids.into_iter().zip(amounts).collect())
            }
            _ => None,
        };
        let Some(items) = items else {
            counts.malformed += 1;
            counts.malformed_erc1155 += 1;
            return vec![];
        };
        let moved = moved(words[1], words[2], U256::ZERO);
        let items = items.into_iter().map(|(id, value)| Transfer {
            value,
            token_id: Some(id),
            token_standard: TokenStandard::Erc1155,
            ..moved.clone()
        });
        return items.collect();
    }
    if topic0 == DEPOSIT || topic0 == WITHDRAWAL {
        if !is_wrapper(rules, log.address)
            || topics > 1
            || topics + bytes / 32 != 2
            || bytes % 32 != 0
        {
            return vec![];
        }
        let (from, to, kind) = match topic0 == DEPOSIT {
            true => (U256::ZERO, words[0], Kind::Wrap),
            false => (words[0], U256::ZERO, Kind::Unwrap),
        };
        let moved = moved(from, to, words[1]);
        return vec![Transfer { kind, ..moved }];
    }
    vec![]
}

/// Returns the numbers of an ABI array, with arithmetic that cannot overflow.
fn array(data: &[u8], offset: U256) -> Option<Vec<U256>> {
    let word = U256::from(32);
    let size = U256::from(data.len());
    let items = offset.saturating_add(word);
    if items > size {
        return None;
    }
    let at = |position: U256| {
        let position: usize = position.to();
        U256::from_be_slice(&data[position..position + 32])
    };
    let length = at(offset);
    if items.saturating_add(length.saturating_mul(word)) > size {
        return None;
    }
    let length: usize = length.to();
    Some(
        (0..length)
            .map(|item| at(items + U256::from(item) * word))
            .collect(),
    )
}

fn is_wrapper(rules: &Rules<'_>, address: Address) -> bool {
    match rules.wrapped {
        WrappedNative::Any => true,
        WrappedNative::None => false,
        WrappedNative::Only(addresses) => addresses.contains(&address),
        WrappedNative::Auto => {
            let known = WrappedNative::known(rules.chain_id);
            known.is_empty() || known.contains(&address)
        }
    }
}

/// Pairs every wrap, in order, with an equal ERC-20 transfer that has no pair yet. Returns the rows without
/// the wraps that have one, and their number.
fn without_duplicates(rows: Vec<Transfer>, rules: &Rules<'_>) -> (Vec<Transfer>, u64) {
    let movement = |row: &Transfer| {
        (
            row.token_address,
            row.from_address,
            row.to_address,
            row.value,
        )
    };
    let mut transfers: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.kind, Kind::Mint | Kind::Burn))
        .filter(|row| row.token_standard == TokenStandard::Erc20)
        .filter(|row| row.token_address.is_some_and(|it| is_wrapper(rules, it)))
        .map(movement)
        .collect();
    let mut canceled = 0;
    let kept = rows
        .into_iter()
        .filter(|row| {
            let wrap = matches!(row.kind, Kind::Wrap | Kind::Unwrap);
            let twin = transfers
                .iter()
                .position(|transfer| *transfer == movement(row));
            if let (true, Some(twin)) = (wrap, twin) {
                transfers.swap_remove(twin);
                canceled += 1;
                return false;
            }
            true
        })
        .collect();
    (kept, canceled)
}
