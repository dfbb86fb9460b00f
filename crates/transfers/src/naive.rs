//! A slow and simple decoder with the same rules, without filters, buffers or early exits.
//! Property tests compare the two.

use crate::{
    BlockTime, DEPOSIT, DecodeCounts, EIP7708_LOG_ADDRESS, Kind, LogView, TRANSFER, TRANSFER_BATCH,
    TRANSFER_SINGLE, TokenFilter, TokenStandard, TransactionView, Transfer, TransferFilter,
    WITHDRAWAL, WithdrawalView, WrappedNative, testing,
};
use alloy_primitives::{Address, B256, U256};

#[derive(Clone, Debug)]
pub(crate) struct OwnedLog {
    pub(crate) address: Address,
    pub(crate) topics: Vec<[u8; 32]>,
    pub(crate) data: Vec<u8>,
}

impl OwnedLog {
    pub(crate) fn view(&self) -> LogView<'_> {
        LogView {
            address: &self.address,
            topics: &self.topics,
            data: &self.data,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) transactions: Vec<(TransactionView, Vec<OwnedLog>)>,
    pub(crate) withdrawals: Vec<WithdrawalView>,
}

/// Returns the transfers of `blocks` that match `filter`. Blocks have the numbers `0..` and the
/// times 1000 + number.
pub(crate) fn decode(
    chain_id: u64,
    wrapped: &WrappedNative,
    filter: &TransferFilter,
    blocks: &[Block],
) -> (Vec<Transfer>, DecodeCounts) {
    let mut counts = DecodeCounts::default();
    let mut all = Vec::new();
    for (number, block) in (0..).zip(blocks) {
        counts.blocks += 1;
        let mut log_index = 0;
        for (tx, (transaction, logs)) in (0..).zip(&block.transactions) {
            counts.transactions += 1;
            let row = |log_index, sub_index, event: Row| Transfer {
                block_timestamp: BlockTime::new(1000 + number),
                transaction_index: tx,
                log_index,
                sub_index,
                token_address: event.token,
                from_address: event.from,
                to_address: event.to,
                value: event.value,
                token_id: event.id,
                token_standard: event.standard,
                kind: event.kind,
                ..testing::transfer(number)
            };
            let mut rows = Vec::new();
            // Movements that the chain logs, the value of the transaction among them.
            let mut logged = Vec::new();
            for log in logs {
                counts.logs += 1;
                if !is_asked_for(filter, log.address) {
                    log_index += 1;
                    continue;
                }
                for (sub, event) in (0..).zip(events(chain_id, wrapped, log, &mut counts)) {
                    match event.kind {
                        Kind::Internal => logged.push(event),
                        _ => rows.push(row(Some(log_index), sub, event)),
                    }
                }
                log_index += 1;
            }
            let minting = !transaction.mint.is_zero();
            if transaction.success && !transaction.value.is_zero() {
                let event = Row {
                    token: None,
                    from: transaction.from,
                    to: transaction.to,
                    value: transaction.value,
                    id: None,
                    standard: TokenStandard::Native,
                    kind: Kind::Value,
                };
                let own = logged.iter().position(|it| {
                    (it.from, it.to, it.value) == (event.from, event.to, event.value)
                });
                own.map(|own| logged.remove(own));
                rows.insert(0, row(None, u32::from(minting), event));
            }
            if filter.internal {
                let natives = rows.iter().filter(|row| row.log_index.is_none()).count();
                for (at, event) in logged.into_iter().enumerate() {
                    let sub = 1 + u32::from(minting) + u32::try_from(at).unwrap();
                    rows.insert(natives + at, row(None, sub, event));
                }
            }
            if minting {
                let event = Row {
                    token: None,
                    from: Address::ZERO,
                    to: transaction.from,
                    value: transaction.mint,
                    id: None,
                    standard: TokenStandard::Native,
                    kind: Kind::Mint,
                };
                rows.insert(0, row(None, 0, event));
            }
            let kept = without_duplicates(rows, chain_id, wrapped);
            counts.wraps_deduplicated += kept.1;
            all.extend(kept.0);
        }
        for (sub, withdrawal) in (0..).zip(&block.withdrawals) {
            if withdrawal.amount_gwei > 0 {
                all.push(Transfer {
                    block_timestamp: BlockTime::new(1000 + number),
                    transaction_index: u32::try_from(block.transactions.len()).unwrap(),
                    sub_index: sub,
                    to_address: withdrawal.address,
                    value: U256::from(withdrawal.amount_gwei) * U256::from(10).pow(U256::from(9)),
                    kind: Kind::Withdrawal,
                    ..testing::transfer(number)
                });
            }
        }
    }
    all.retain(|transfer| filter.matches(transfer));
    counts.transfers = all.len() as u64;
    (all, counts)
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

struct Row {
    token: Option<Address>,
    from: Address,
    to: Address,
    value: U256,
    id: Option<U256>,
    standard: TokenStandard,
    kind: Kind,
}

fn events(
    chain_id: u64,
    wrapped: &WrappedNative,
    log: &OwnedLog,
    counts: &mut DecodeCounts,
) -> Vec<Row> {
    let Some(topic0) = log.topics.first() else {
        return vec![];
    };
    let topic0 = B256::from(*topic0);
    let system = log.address == EIP7708_LOG_ADDRESS;
    let token = Some(log.address);
    let (topics, bytes) = (log.topics.len() - 1, log.data.len());
    // Topics, then data, as numbers.
    let mut words: Vec<U256> = log.topics[1..]
        .iter()
        .map(|t| U256::from_be_bytes(*t))
        .collect();
    words.extend(
        log.data
            .chunks(32)
            .filter(|c| c.len() == 32)
            .map(U256::from_be_slice),
    );

    if system && topic0 != TRANSFER {
        counts.malformed += 1;
        return vec![];
    }
    if topic0 == TRANSFER {
        if topics + bytes / 32 != 3 || bytes % 32 != 0 || (system && topics == 3) {
            counts.malformed += 1;
            return vec![];
        }
        let (from, to) = ends(words[0], words[1], counts);
        if system {
            let (standard, kind) = (TokenStandard::Native, Kind::Internal);
            return vec![Row {
                token: None,
                from,
                to,
                value: words[2],
                id: None,
                standard,
                kind,
            }];
        }
        let kitties = "0x06012c8cf97bead5deae237070f9587f8e7a266d";
        let kitty = chain_id == 1 && format!("{:#x}", log.address) == kitties;
        let kind = token_kind(from, to);
        if topics == 3 || kitty {
            let (value, id, standard) = (U256::ONE, Some(words[2]), TokenStandard::Erc721);
            return vec![Row {
                token,
                from,
                to,
                value,
                id,
                standard,
                kind,
            }];
        }
        let standard = TokenStandard::Erc20;
        return vec![Row {
            token,
            from,
            to,
            value: words[2],
            id: None,
            standard,
            kind,
        }];
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
        let (from, to) = ends(words[1], words[2], counts);
        let (standard, kind) = (TokenStandard::Erc1155, token_kind(from, to));
        return items
            .into_iter()
            .map(|(id, value)| Row {
                token,
                from,
                to,
                value,
                id: Some(id),
                standard,
                kind,
            })
            .collect();
    }
    if topic0 == DEPOSIT || topic0 == WITHDRAWAL {
        if !is_wrapper(chain_id, wrapped, log.address)
            || topics > 1
            || topics + bytes / 32 != 2
            || bytes % 32 != 0
        {
            return vec![];
        }
        let (account, _) = ends(words[0], U256::ZERO, counts);
        let (standard, id, value) = (TokenStandard::Erc20, None, words[1]);
        let (from, to, kind) = if topic0 == DEPOSIT {
            (Address::ZERO, account, Kind::Wrap)
        } else {
            (account, Address::ZERO, Kind::Unwrap)
        };
        return vec![Row {
            token,
            from,
            to,
            value,
            id,
            standard,
            kind,
        }];
    }
    vec![]
}

fn ends(from: U256, to: U256, counts: &mut DecodeCounts) -> (Address, Address) {
    if from.bit_len() > 160 || to.bit_len() > 160 {
        counts.dirty_addresses += 1;
    }
    (
        Address::from_word(from.into()),
        Address::from_word(to.into()),
    )
}

fn token_kind(from: Address, to: Address) -> Kind {
    match (from == Address::ZERO, to == Address::ZERO) {
        (true, _) => Kind::Mint,
        (false, true) => Kind::Burn,
        (false, false) => Kind::Transfer,
    }
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

fn is_wrapper(chain_id: u64, wrapped: &WrappedNative, address: Address) -> bool {
    match wrapped {
        WrappedNative::Any => true,
        WrappedNative::None => false,
        WrappedNative::Only(addresses) => addresses.contains(&address),
        WrappedNative::Auto => {
            let known = WrappedNative::known(chain_id);
            known.is_empty() || known.contains(&address)
        }
    }
}

/// Pairs every wrap, in order, with an equal ERC-20 transfer that has no pair yet.
fn without_duplicates(
    rows: Vec<Transfer>,
    chain_id: u64,
    wrapped: &WrappedNative,
) -> (Vec<Transfer>, u64) {
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
        .filter(|row| is_wrapper(chain_id, wrapped, row.token_address.unwrap()))
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
