//! Logs and transactions in, transfers out: one decoder for every standard.
//!
//! A log is looked at in the order of what is cheapest and rejects most: its
//! emitter, its signature, its shape, its ends, its amount. A [`Transfer`] is built
//! only when it is wanted, and nothing is allocated for a log.

use crate::events::{
    DEPOSIT, EIP7708_BURN, EIP7708_LOG_ADDRESS, EIP7708_SELFDESTRUCT, TRANSFER, TRANSFER_BATCH,
    TRANSFER_SINGLE, WITHDRAWAL,
};
use crate::log::{
    MultiToken, Word, address_of, is_dirty, number, three_words, transfer_batch, transfer_single,
    two_words,
};
use crate::sieve::Sieve;
use crate::wrap::{Movement, WrapMatcher, Wrappers};
use crate::{
    DecodeCounts, Kind, LogView, TokenFilter, TokenStandard, Transfer, TransferFilter,
    WrappedNative,
};
use alloy_primitives::{Address, B256, U256};
use txgraph_base::KnownChain;

/// Wei in a Gwei.
const GWEI: u64 = 1_000_000_000;

/// What of a transaction moves native value.
#[derive(Clone, Copy, Debug)]
pub struct TransactionView {
    /// Recovered or stored signer.
    pub from: Address,
    /// Receiver; for a creation the address of the created contract.
    pub to: Address,
    /// Wei.
    pub value: U256,
    /// Receipt status. A failed transaction moves no value.
    pub success: bool,
}

/// A consensus-layer withdrawal (EIP-4895).
#[derive(Clone, Copy, Debug)]
pub struct WithdrawalView {
    /// Receiver.
    pub address: Address,
    /// Amount in Gwei, as stored.
    pub amount_gwei: u64,
}

/// Where in the block something happened.
#[derive(Clone, Copy)]
struct Place {
    transaction: u32,
    log: Option<u32>,
    sub: u32,
}

/// What happened, apart from where.
struct Event {
    token: Option<Address>,
    from: Address,
    to: Address,
    value: U256,
    token_id: Option<U256>,
    standard: TokenStandard,
    kind: Kind,
}

/// Turns what happened in a block into transfers. Reused from block to block.
///
/// # What becomes a transfer
///
/// * A `Transfer` log whose indexed and unindexed parameters are together three
///   whole words: ERC-721 when all are indexed, else ERC-20.
/// * The items of ERC-1155's `TransferSingle` and `TransferBatch`.
/// * `Deposit` and `Withdrawal` of wrapped coins ([`WrappedNative`]), as movements
///   from and to the zero address, unless the transaction has an equal `Transfer`
///   of the same token as well: then that one stands. In other shapes these two
///   names are other contracts' events and no concern of ours.
/// * The value of a successful transaction and the withdrawals of a block, unless
///   zero.
/// * Native movements that the chain itself logs (EIP-7708). The first that equals
///   the value of its transaction stands for it, at its log index; a
///   transaction to its own sender has none and keeps its row. The other logs are
///   [`Kind::Internal`], or [`Kind::Burn`] where a draft's burn log says so.
///
/// Other logs with these signatures, if of a token asked for, are counted as malformed. The bytes of a log are
/// its emitter's: nothing in them can make the decoder panic or allocate.
#[derive(Debug)]
pub struct Decoder<'f> {
    filter: &'f TransferFilter,
    /// Of contracts whose logs count, unless all do.
    emitters: Option<Sieve>,
    wrappers: Wrappers,
    unindexed_erc721: &'static [Address],
    block_number: u64,
    block_timestamp: u64,
    /// Index in the block of the next log.
    next_log: u32,
    /// Index in the block of the next transaction.
    next_transaction: u32,
    matcher: WrapMatcher,
    /// Rows of the current transaction that turned out to be told twice.
    dropped: Vec<usize>,
    counts: DecodeCounts,
    /// What was odd, by contract; only where somebody asks for it.
    odd: Option<Vec<(Address, DecodeCounts)>>,
}

impl<'f> Decoder<'f> {
    /// A decoder for one chain and one filter.
    pub fn new(chain_id: u64, wrapped: &WrappedNative, filter: &'f TransferFilter) -> Self {
        let emitters = match &filter.tokens {
            TokenFilter::All => None,
            TokenFilter::Only { tokens, .. } => {
                Some(Sieve::new(tokens.iter().chain([&EIP7708_LOG_ADDRESS])))
            }
        };
        Self {
            filter,
            emitters,
            wrappers: Wrappers::new(chain_id, wrapped),
            unindexed_erc721: KnownChain::by_id(chain_id)
                .map_or(&[], |chain| chain.unindexed_erc721),
            block_number: 0,
            block_timestamp: 0,
            next_log: 0,
            next_transaction: 0,
            matcher: WrapMatcher::default(),
            dropped: Vec::new(),
            counts: DecodeCounts::default(),
            odd: None,
        }
    }

    /// The same, which also notes whose logs were odd ([`Self::take_odd`]).
    #[must_use]
    pub fn noting_odd(self) -> Self {
        Self {
            odd: Some(Vec::new()),
            ..self
        }
    }

    /// Starts a block.
    pub fn begin_block(&mut self, number: u64, timestamp: u64) {
        self.block_number = number;
        self.block_timestamp = timestamp;
        self.next_log = 0;
        self.next_transaction = 0;
        self.counts.blocks += 1;
    }

    /// Counts a block that need not be read.
    pub fn skip_block(&mut self) {
        self.counts.blocks += 1;
        self.counts.skipped_blocks += 1;
    }

    /// Decodes one transaction: its native value, then its logs in order. Called
    /// for every transaction of the block, as log indices count through.
    /// Appends the wanted transfers to `out`, hashes left zero. `transaction` may
    /// be left out when the filter does not need it
    /// ([`TransferFilter::needs_transactions`]).
    pub fn transaction<'a>(
        &mut self,
        transaction_index: u32,
        transaction: Option<&TransactionView>,
        logs: impl Iterator<Item = LogView<'a>>,
        out: &mut Vec<Transfer>,
    ) {
        self.counts.transactions += 1;
        self.next_transaction = transaction_index.saturating_add(1);
        let place = Place {
            transaction: transaction_index,
            log: None,
            sub: 0,
        };
        let mut own = transaction
            .filter(|transaction| transaction.success && !transaction.value.is_zero())
            .map(|transaction| (transaction, self.offer(place, value_of(transaction), out)));
        for log in logs {
            let place = Place {
                log: Some(self.next_log),
                ..place
            };
            self.next_log = self.next_log.saturating_add(1);
            self.counts.logs += 1;
            self.log(place, &log, &mut own, out);
        }
        let Self {
            matcher,
            dropped,
            counts,
            odd,
            ..
        } = self;
        matcher.finish(dropped, |token| {
            let one = DecodeCounts {
                wraps_deduplicated: 1,
                ..DecodeCounts::default()
            };
            counts.wraps_deduplicated += 1;
            odd.iter_mut().for_each(|odd| odd.push((token, one)));
        });
        if !self.dropped.is_empty() {
            self.counts.transfers -= self.dropped.len() as u64;
            remove_rows(out, &mut self.dropped);
        }
    }

    /// Decodes the withdrawals of the block; called after its last transaction.
    pub fn withdrawals(
        &mut self,
        withdrawals: impl Iterator<Item = WithdrawalView>,
        out: &mut Vec<Transfer>,
    ) {
        for (
            sub,
            WithdrawalView {
                address,
                amount_gwei,
            },
        ) in (0..).zip(withdrawals)
        {
            if amount_gwei == 0 {
                continue;
            }
            let place = Place {
                transaction: self.next_transaction,
                log: None,
                sub,
            };
            let value = U256::from(u128::from(amount_gwei) * u128::from(GWEI));
            let event = native(Address::ZERO, address, value, Kind::Withdrawal);
            self.offer(place, event, out);
        }
    }

    /// What was seen so far.
    pub fn counts(&self) -> &DecodeCounts {
        &self.counts
    }

    /// What was odd in the logs of each contract since this was asked last, ascending.
    /// Nothing unless [`Self::noting_odd`].
    pub fn take_odd(&mut self) -> Vec<(Address, DecodeCounts)> {
        let mut odd = self.odd.as_mut().map(std::mem::take).unwrap_or_default();
        odd.sort_unstable_by_key(|(emitter, _)| *emitter);
        odd.dedup_by(|(emitter, counts), (first, sum)| {
            let same = emitter == first;
            if same {
                *sum += *counts;
            }
            same
        });
        odd
    }

    #[inline]
    fn log(
        &mut self,
        place: Place,
        log: &LogView<'_>,
        own: &mut Option<(&TransactionView, Option<usize>)>,
        out: &mut Vec<Transfer>,
    ) {
        let before = self.odd.is_some().then_some(self.counts);
        self.decode_log(place, log, own, out);
        if let (Some(odd), Some(before)) = (&mut self.odd, before) {
            let counts = self.counts.since(&before).only_odd();
            if counts != DecodeCounts::default() {
                odd.push((*log.address, counts));
            }
        }
    }

    #[inline]
    fn decode_log(
        &mut self,
        place: Place,
        log: &LogView<'_>,
        own: &mut Option<(&TransactionView, Option<usize>)>,
        out: &mut Vec<Transfer>,
    ) {
        if !self.asks_for(log.address) {
            return;
        }
        let Some(topic0) = log.topics.first() else {
            return;
        };
        let understood = if *topic0 == TRANSFER.0 {
            if *log.address == EIP7708_LOG_ADDRESS {
                self.native_transfer(place, log, own, out)
            } else {
                self.transfer(place, log, out)
            }
        } else if *topic0 == TRANSFER_SINGLE.0 || *topic0 == TRANSFER_BATCH.0 {
            let single = *topic0 == TRANSFER_SINGLE.0;
            let decoded = if single {
                transfer_single(log)
            } else {
                transfer_batch(log)
            };
            self.counts.malformed_erc1155 += u64::from(decoded.is_none());
            decoded.map(|decoded| self.multi_token(place, log.address, &decoded, out))
        } else if *topic0 == DEPOSIT.0 || *topic0 == WITHDRAWAL.0 {
            self.wrap(place, log, *topic0 == DEPOSIT.0, out);
            return;
        } else if *log.address == EIP7708_LOG_ADDRESS
            && (*topic0 == EIP7708_BURN.0 || *topic0 == EIP7708_SELFDESTRUCT.0)
        {
            self.native_burn(place, log, out)
        } else {
            return;
        };
        self.counts.malformed += u64::from(understood.is_none());
    }

    /// ERC-20 and ERC-721.
    #[inline]
    fn transfer(&mut self, place: Place, log: &LogView<'_>, out: &mut Vec<Transfer>) -> Option<()> {
        let words = three_words(log)?;
        let token = log.address;
        let (from, to) = self.ends(words.from, words.to);
        let kind = kind_of(from, to);
        // Most transfers of a token are between other people.
        if kind == Kind::Transfer && !self.filter.wants_ends(from, to) {
            return Some(());
        }
        let (token, from, to) = (*token, *from, *to);
        let last = number(words.last);
        let unique = words.last_indexed || self.unindexed_erc721.contains(&token);
        let (value, token_id, standard) = if unique {
            (U256::ONE, Some(last), TokenStandard::Erc721)
        } else {
            (last, None, TokenStandard::Erc20)
        };
        if kind != Kind::Transfer && !unique && self.wrappers.contains(&token) {
            self.matcher.transfer(Movement {
                token,
                from,
                to,
                value,
            });
        }
        self.offer(
            place,
            Event {
                token: Some(token),
                from,
                to,
                value,
                token_id,
                standard,
                kind,
            },
            out,
        );
        Some(())
    }

    fn multi_token(
        &mut self,
        place: Place,
        token: &Address,
        items: &MultiToken<'_>,
        out: &mut Vec<Transfer>,
    ) {
        let (from, to) = self.ends(items.from, items.to);
        let kind = kind_of(from, to);
        // What the items share decides for all of them, and a batch may be long.
        if !self.filter.tokens.wants(Some(token)) || !self.filter.wants_ends(from, to) {
            return;
        }
        let (token, from, to) = (*token, *from, *to);
        for (sub, (id, amount)) in (0..).zip(items.ids.iter().zip(items.amounts)) {
            let event = Event {
                token: Some(token),
                from,
                to,
                value: number(amount),
                token_id: Some(number(id)),
                standard: TokenStandard::Erc1155,
                kind,
            };
            self.offer(Place { sub, ..place }, event, out);
        }
    }

    fn wrap(&mut self, place: Place, log: &LogView<'_>, deposit: bool, out: &mut Vec<Transfer>) {
        if !self.wrappers.contains(log.address) {
            return;
        }
        let Some((account, value)) = two_words(log) else {
            return;
        };
        let (token, account) = (*log.address, *self.ends(account, &[0; 32]).0);
        let value = number(value);
        let (from, to, kind) = if deposit {
            (Address::ZERO, account, Kind::Wrap)
        } else {
            (account, Address::ZERO, Kind::Unwrap)
        };
        let standard = TokenStandard::Erc20;
        let event = Event {
            token: Some(token),
            from,
            to,
            value,
            token_id: None,
            standard,
            kind,
        };
        let row = self.offer(place, event, out);
        self.matcher.wrap(
            Movement {
                token,
                from,
                to,
                value,
            },
            row,
        );
    }

    /// A native movement under EIP-7708. `own` is the value of the transaction
    /// itself and its row, until a log told it again.
    fn native_transfer(
        &mut self,
        place: Place,
        log: &LogView<'_>,
        own: &mut Option<(&TransactionView, Option<usize>)>,
        out: &mut Vec<Transfer>,
    ) -> Option<()> {
        let words = three_words(log).filter(|words| !words.last_indexed)?;
        let (&from, &to) = self.ends(words.from, words.to);
        let value = number(words.last);
        let told_again =
            own.take_if(|(own, _)| own.from == from && own.to == to && own.value == value);
        let kind = if let Some((_, row)) = told_again {
            self.dropped.extend(row);
            Kind::Value
        } else {
            Kind::Internal
        };
        self.offer(place, native(from, to, value, kind), out);
        Some(())
    }

    fn native_burn(
        &mut self,
        place: Place,
        log: &LogView<'_>,
        out: &mut Vec<Transfer>,
    ) -> Option<()> {
        let (account, value) = two_words(log)?;
        let (&account, _) = self.ends(account, &[0; 32]);
        self.offer(
            place,
            native(account, Address::ZERO, number(value), Kind::Burn),
            out,
        );
        Some(())
    }

    /// Whether a contract's logs can tell of anything that is wanted.
    #[inline]
    fn asks_for(&self, emitter: &Address) -> bool {
        let Some(sieve) = &self.emitters else {
            return true;
        };
        sieve.may_hold(emitter)
            && (self.filter.tokens.wants(Some(emitter))
                || (self.filter.tokens.wants(None) && *emitter == EIP7708_LOG_ADDRESS))
    }

    /// The addresses in two words; counts the log when they hold more than these.
    #[inline]
    fn ends<'w>(&mut self, from: &'w Word, to: &'w Word) -> (&'w Address, &'w Address) {
        self.counts.dirty_addresses += u64::from(is_dirty(from) || is_dirty(to));
        (address_of(from), address_of(to))
    }

    /// Appends the event to `out` if it meets the filter, and returns its row.
    #[inline]
    fn offer(&mut self, place: Place, event: Event, out: &mut Vec<Transfer>) -> Option<usize> {
        let filter = self.filter;
        let wanted = filter.tokens.wants(event.token.as_ref())
            && event.value >= filter.min_value
            && filter.wants_sort(event.standard, event.kind)
            && filter.wants_ends(&event.from, &event.to);
        if !wanted {
            return None;
        }
        self.counts.transfers += 1;
        out.push(Transfer {
            block_number: self.block_number,
            block_timestamp: self.block_timestamp,
            transaction_index: place.transaction,
            log_index: place.log,
            sub_index: place.sub,
            transaction_hash: B256::ZERO,
            token_address: event.token,
            from_address: event.from,
            to_address: event.to,
            value: event.value,
            token_id: event.token_id,
            token_standard: event.standard,
            kind: event.kind,
        });
        Some(out.len() - 1)
    }
}

fn native(from: Address, to: Address, value: U256, kind: Kind) -> Event {
    let standard = TokenStandard::Native;
    Event {
        token: None,
        from,
        to,
        value,
        token_id: None,
        standard,
        kind,
    }
}

fn value_of(transaction: &TransactionView) -> Event {
    native(
        transaction.from,
        transaction.to,
        transaction.value,
        Kind::Value,
    )
}

/// Tokens sent by the zero address come into being, even if it sends to itself.
#[inline]
fn kind_of(from: &Address, to: &Address) -> Kind {
    if from.is_zero() {
        Kind::Mint
    } else if to.is_zero() {
        Kind::Burn
    } else {
        Kind::Transfer
    }
}

/// Removes the rows whose indices are in `dropped` (not empty), and empties that.
fn remove_rows(out: &mut Vec<Transfer>, dropped: &mut Vec<usize>) {
    dropped.sort_unstable();
    let mut next = dropped.iter().copied().peekable();
    let first = dropped[0];
    let mut kept = first;
    for row in first..out.len() {
        if next.next_if_eq(&row).is_none() {
            out.swap(kept, row);
            kept += 1;
        }
    }
    out.truncate(kept);
    dropped.clear();
}

#[cfg(test)]
mod tests;
