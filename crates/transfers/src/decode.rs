//! Decodes logs and transactions of every standard into transfers.
//!
//! The checks of a log are ordered by cost and by how many logs they reject: emitter,
//! signature, form, sender and receiver, amount. A [`Transfer`] is built only if it is wanted,
//! and no memory is allocated per log.

use crate::address_prefilter::AddressPrefilter;
use crate::events::{
    DEPOSIT, EIP7708_LOG_ADDRESS, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, WITHDRAWAL,
};
use crate::log::{
    MultiToken, Word, address_of, is_dirty, number, three_words, transfer_batch, transfer_single,
    two_words,
};
use crate::wrap::{Movement, WrapMatcher, Wrappers};
use crate::{
    BlockTime, DecodeCounts, Kind, LogView, TokenFilter, TokenStandard, TransactionView, Transfer,
    TransferFilter, WithdrawalView, WrappedNative,
};
use alloy_primitives::{Address, U256};
use txgraph_base::KnownChain;

/// Wei in a Gwei.
const GWEI: u64 = 1_000_000_000;

/// The position of an event in its block.
#[derive(Clone, Copy)]
struct EventPosition {
    transaction: u32,
    log: Option<u32>,
    sub: u32,
}

/// The content of a transfer, without its position.
struct Event {
    token: Option<Address>,
    from: Address,
    to: Address,
    value: U256,
    token_id: Option<U256>,
    standard: TokenStandard,
    kind: Kind,
}

/// Decodes blocks into transfers. Can be used for any number of blocks.
///
/// # What becomes a transfer
///
/// * A `Transfer` log whose indexed and unindexed parameters are three whole words in total.
///   It is an ERC-721 transfer if all are indexed, otherwise an ERC-20 transfer.
/// * The items of ERC-1155's `TransferSingle` and `TransferBatch`.
/// * `Deposit` and `Withdrawal` of wrapped coins ([`WrappedNative`]), as movements from and to
///   the zero address. If the transaction also has an equal `Transfer` of the same token, only
///   that one is kept. In other forms, these two names belong to unrelated events.
/// * The mint of an OP-stack deposit, from the zero address to its sender. It precedes the value
///   of the deposit and has sub-index 0; the value then has sub-index 1.
/// * The value of a successful transaction and the withdrawals of a block, unless zero.
/// * Native movements that the chain itself logs (EIP-7708, since Amsterdam), as the same rows that
///   a replay gives for older blocks: [`Kind::Internal`], without a log index, only if the filter
///   includes [internal](TransferFilter::internal) movements. The first such log that equals the
///   value of its transaction is that value, which has a row already.
///
/// Other logs of requested tokens with these signatures are counted as malformed. The bytes of
/// a log are chosen by its emitter: no input makes the decoder panic or allocate.
#[derive(Debug)]
pub struct Decoder<'f> {
    filter: &'f TransferFilter,
    /// The contracts whose logs are decoded; `None`: all.
    emitters: Option<AddressPrefilter>,
    /// Whether movements inside of transactions are decoded and numbered.
    with_internal: bool,
    wrappers: Wrappers,
    unindexed_erc721: &'static [Address],
    block_number: u64,
    block_timestamp: Option<BlockTime>,
    /// Index in the block of the next log.
    next_log: u32,
    /// Index in the block of the next transaction.
    next_transaction: u32,
    matcher: WrapMatcher,
    /// Number of the next native movement of the current transaction.
    next_native: u32,
    /// Rows of the current transaction that are duplicates.
    dropped: Vec<usize>,
    counts: DecodeCounts,
    /// Anomalies by contract, if they are recorded.
    anomalies: Option<Vec<(Address, DecodeCounts)>>,
}

impl<'f> Decoder<'f> {
    /// Creates a decoder for one chain and one filter.
    pub fn new(chain_id: u64, wrapped: &WrappedNative, filter: &'f TransferFilter) -> Self {
        let emitters = match &filter.tokens {
            TokenFilter::All => None,
            TokenFilter::Only { tokens, .. } => Some(AddressPrefilter::new(
                tokens.iter().chain([&EIP7708_LOG_ADDRESS]),
            )),
        };
        Self {
            filter,
            emitters,
            with_internal: filter.needs_traces(),
            wrappers: Wrappers::new(chain_id, wrapped),
            unindexed_erc721: KnownChain::by_id(chain_id)
                .map_or(&[], |chain| chain.unindexed_erc721),
            block_number: 0,
            block_timestamp: None,
            next_log: 0,
            next_transaction: 0,
            matcher: WrapMatcher::default(),
            next_native: 0,
            dropped: Vec::new(),
            counts: DecodeCounts::default(),
            anomalies: None,
        }
    }

    /// Also records which contracts emitted anomalous logs ([`Self::take_anomalies`]).
    #[must_use]
    pub fn recording_anomalies(self) -> Self {
        Self {
            anomalies: Some(Vec::new()),
            ..self
        }
    }

    /// Starts a block. Its transfers get this time.
    pub fn begin_block(&mut self, number: u64, timestamp: Option<BlockTime>) {
        self.block_number = number;
        self.block_timestamp = timestamp;
        self.next_log = 0;
        self.next_transaction = 0;
        self.counts.blocks += 1;
    }

    /// Counts a block that does not have to be read.
    pub fn skip_block(&mut self) {
        self.counts.blocks += 1;
        self.counts.skipped_blocks += 1;
    }

    /// Decodes one transaction: its native mint and value, then its logs in order. Must be called for
    /// every transaction of the block, because log indices count through the block. Appends
    /// the wanted transfers to `out`, without transaction hashes. `transaction` may be `None`
    /// if the filter does not need it ([`TransferFilter::needs_transactions`], and on the OP stack
    /// [`TransferFilter::needs_op_transactions`]).
    pub fn transaction<'a>(
        &mut self,
        transaction_index: u32,
        transaction: Option<&TransactionView>,
        logs: impl Iterator<Item = LogView<'a>>,
        out: &mut Vec<Transfer>,
    ) {
        self.counts.transactions += 1;
        self.next_transaction = transaction_index.saturating_add(1);
        let position = EventPosition {
            transaction: transaction_index,
            log: None,
            sub: 0,
        };
        let minting = transaction.filter(|transaction| !transaction.mint.is_zero());
        if let Some(TransactionView { from, mint, .. }) = minting {
            let event = native(Address::ZERO, *from, *mint, Kind::Mint);
            self.offer(position, event, out);
        }
        let of_value = EventPosition {
            sub: u32::from(minting.is_some()),
            ..position
        };
        self.next_native = of_value.sub + 1;
        let mut own =
            transaction.filter(|transaction| transaction.success && !transaction.value.is_zero());
        if let Some(transaction) = own {
            self.offer(of_value, value_of(transaction), out);
        }
        let first = out.len();
        for log in logs {
            let position = EventPosition {
                log: Some(self.next_log),
                ..position
            };
            self.next_log = self.next_log.saturating_add(1);
            self.counts.logs += 1;
            self.log(position, &log, &mut own, out);
        }
        let Self {
            matcher,
            dropped,
            counts,
            anomalies,
            ..
        } = self;
        matcher.finish(dropped, |token| {
            let one = DecodeCounts {
                wraps_deduplicated: 1,
                ..DecodeCounts::default()
            };
            counts.wraps_deduplicated += 1;
            anomalies
                .iter_mut()
                .for_each(|anomalies| anomalies.push((token, one)));
        });
        if !self.dropped.is_empty() {
            self.counts.transfers -= self.dropped.len() as u64;
            remove_rows(out, &mut self.dropped);
        }
        if self.with_internal {
            // Native movements come before the logs.
            out[first..].sort_by_key(Transfer::position);
        }
    }

    /// Adds movements of the native coin that left no log: sender, receiver, amount and kind, in
    /// the order in which they are numbered. Must be called after [`Self::transaction`]; `first` is
    /// the number of the rows before that call, among which the new ones are sorted.
    pub fn movements(
        &mut self,
        transaction_index: u32,
        movements: impl Iterator<Item = (Address, Address, U256, Kind)>,
        first: usize,
        out: &mut Vec<Transfer>,
    ) {
        let before = out.len();
        for (from, to, value, kind) in movements {
            self.native_movement(transaction_index, native(from, to, value, kind), out);
        }
        if out.len() > before {
            out[first..].sort_by_key(Transfer::position);
        }
    }

    /// Passes over the first `count` transactions of the block, of which nothing is wanted.
    pub fn skip_transactions(&mut self, count: u32) {
        self.next_transaction = self.next_transaction.max(count);
    }

    /// Decodes the withdrawals of the block. Must be called after its last transaction.
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
            let position = EventPosition {
                transaction: self.next_transaction,
                log: None,
                sub,
            };
            let value = U256::from(u128::from(amount_gwei) * u128::from(GWEI));
            let event = native(Address::ZERO, address, value, Kind::Withdrawal);
            self.offer(position, event, out);
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> &DecodeCounts {
        &self.counts
    }

    /// Returns the anomalies in the logs of each contract since the last call, ascending by
    /// contract. Empty without [`Self::recording_anomalies`].
    pub fn take_anomalies(&mut self) -> Vec<(Address, DecodeCounts)> {
        let mut all = self
            .anomalies
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        all.sort_unstable_by_key(|(emitter, _)| *emitter);
        all.dedup_by(|(emitter, counts), (first, sum)| {
            let same = emitter == first;
            if same {
                *sum += *counts;
            }
            same
        });
        all
    }

    #[inline]
    fn log(
        &mut self,
        position: EventPosition,
        log: &LogView<'_>,
        own: &mut Option<&TransactionView>,
        out: &mut Vec<Transfer>,
    ) {
        let before = self.anomalies.is_some().then_some(self.counts);
        self.decode_log(position, log, own, out);
        if let (Some(anomalies), Some(before)) = (&mut self.anomalies, before) {
            let counts = self.counts.since(&before).anomalies();
            if counts != DecodeCounts::default() {
                anomalies.push((*log.address, counts));
            }
        }
    }

    #[inline]
    fn decode_log(
        &mut self,
        position: EventPosition,
        log: &LogView<'_>,
        own: &mut Option<&TransactionView>,
        out: &mut Vec<Transfer>,
    ) {
        if !self.asks_for(log.address) {
            return;
        }
        let Some(topic0) = log.topics.first() else {
            return;
        };
        let understood = if *log.address == EIP7708_LOG_ADDRESS {
            // Only the protocol emits logs there, and it has one form.
            (*topic0 == TRANSFER.0)
                .then(|| self.native_transfer(position, log, own, out))
                .flatten()
        } else if *topic0 == TRANSFER.0 {
            self.transfer(position, log, out)
        } else if *topic0 == TRANSFER_SINGLE.0 || *topic0 == TRANSFER_BATCH.0 {
            let single = *topic0 == TRANSFER_SINGLE.0;
            let decoded = if single {
                transfer_single(log)
            } else {
                transfer_batch(log)
            };
            self.counts.malformed_erc1155 += u64::from(decoded.is_none());
            decoded.map(|decoded| self.multi_token(position, log.address, &decoded, out))
        } else if *topic0 == DEPOSIT.0 || *topic0 == WITHDRAWAL.0 {
            self.wrap(position, log, *topic0 == DEPOSIT.0, out);
            return;
        } else {
            return;
        };
        self.counts.malformed += u64::from(understood.is_none());
    }

    /// ERC-20 and ERC-721.
    #[inline]
    fn transfer(
        &mut self,
        position: EventPosition,
        log: &LogView<'_>,
        out: &mut Vec<Transfer>,
    ) -> Option<()> {
        let words = three_words(log)?;
        let token = log.address;
        let (from, to) = self.ends(words.from, words.to);
        let kind = Kind::of_token(from, to);
        // Most transfers of a token are between addresses that are not wanted.
        if kind == Kind::Transfer && !self.filter.matches_ends(from, to) {
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
            position,
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
        position: EventPosition,
        token: &Address,
        items: &MultiToken<'_>,
        out: &mut Vec<Transfer>,
    ) {
        let (from, to) = self.ends(items.from, items.to);
        let kind = Kind::of_token(from, to);
        // These conditions are the same for all items, and a batch may be long.
        if !self.filter.tokens.matches(Some(token)) || !self.filter.matches_ends(from, to) {
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
            self.offer(EventPosition { sub, ..position }, event, out);
        }
    }

    fn wrap(
        &mut self,
        position: EventPosition,
        log: &LogView<'_>,
        deposit: bool,
        out: &mut Vec<Transfer>,
    ) {
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
        let row = self.offer(position, event, out);
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

    /// Decodes a native movement under EIP-7708. `own` is the value of the transaction, until a
    /// log reports the same movement.
    fn native_transfer(
        &mut self,
        position: EventPosition,
        log: &LogView<'_>,
        own: &mut Option<&TransactionView>,
        out: &mut Vec<Transfer>,
    ) -> Option<()> {
        let words = three_words(log).filter(|words| !words.last_indexed)?;
        let (&from, &to) = self.ends(words.from, words.to);
        let value = number(words.last);
        let is_own = own.take_if(|own| own.from == from && own.to == to && own.value == value);
        if is_own.is_none() && self.with_internal {
            let event = native(from, to, value, Kind::Internal);
            self.native_movement(position.transaction, event, out);
        }
        Some(())
    }

    /// Numbers a native movement after those before it, wanted or not.
    fn native_movement(&mut self, transaction: u32, event: Event, out: &mut Vec<Transfer>) {
        let position = EventPosition {
            transaction,
            log: None,
            sub: self.next_native,
        };
        self.next_native = self.next_native.saturating_add(1);
        self.offer(position, event, out);
    }

    /// Whether the logs of a contract can contain wanted transfers.
    #[inline]
    fn asks_for(&self, emitter: &Address) -> bool {
        let Some(prefilter) = &self.emitters else {
            return true;
        };
        prefilter.may_hold(emitter)
            && (self.filter.tokens.matches(Some(emitter))
                || (self.filter.tokens.matches(None) && *emitter == EIP7708_LOG_ADDRESS))
    }

    /// Returns the addresses in two words. Counts the log if a word has more bits set.
    #[inline]
    fn ends<'w>(&mut self, from: &'w Word, to: &'w Word) -> (&'w Address, &'w Address) {
        self.counts.dirty_addresses += u64::from(is_dirty(from) || is_dirty(to));
        (address_of(from), address_of(to))
    }

    /// Appends the event to `out` if it matches the filter, and returns its row.
    #[inline]
    fn offer(
        &mut self,
        position: EventPosition,
        event: Event,
        out: &mut Vec<Transfer>,
    ) -> Option<usize> {
        let filter = self.filter;
        let wanted = filter.tokens.matches(event.token.as_ref())
            && filter.matches_amount(event.token.as_ref(), &event.value, event.token_id.as_ref())
            && filter.matches_sort(event.standard, event.kind)
            && filter.matches_ends(&event.from, &event.to);
        if !wanted {
            return None;
        }
        self.counts.transfers += 1;
        out.push(Transfer {
            block_number: self.block_number,
            block_timestamp: self.block_timestamp,
            transaction_index: position.transaction,
            log_index: position.log,
            sub_index: position.sub,
            transaction_hash: None,
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

/// Removes the rows whose indices are in `dropped`, which must not be empty, and clears it.
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
