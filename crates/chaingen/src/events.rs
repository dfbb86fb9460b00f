//! Logs together with the transfers that they stand for.
//!
//! Every function appends one log and the transfers that it is intended to mean. The
//! truth about a chain is the sum of these intentions. No decoder is involved.

use super::contracts::{TOPICS, Token, TokenKind};
use alloy_primitives::{Address, B256, Bytes, Log, U256};
use txgraph_transfers::{Kind, TokenStandard};

/// An intended transfer, without its position in the block.
#[derive(Clone, Debug)]
pub(super) struct Move {
    /// Index among the logs of the transaction; `None` for native value.
    pub(super) log: Option<u32>,
    pub(super) sub: u32,
    pub(super) token: Option<Address>,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) value: U256,
    pub(super) token_id: Option<U256>,
    pub(super) standard: TokenStandard,
    pub(super) kind: Kind,
}

/// The logs of one transaction, and their intended transfers.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) logs: Vec<Log>,
    pub(super) moves: Vec<Move>,
    /// Logs with a transfer signature that no standard allows.
    pub(super) malformed: u64,
    /// The part of `malformed` with a signature of ERC-1155.
    pub(super) malformed_erc1155: u64,
    /// Transfers with bits set above an address.
    pub(super) dirty: u64,
    /// Wraps that a `Transfer` also reports.
    pub(super) deduplicated: u64,
}

/// Converts an address to a word.
pub(super) fn word(address: Address) -> B256 {
    address.into_word()
}

/// Concatenates words.
pub(super) fn words(words: &[B256]) -> Vec<u8> {
    words.concat::<u8>()
}

fn kind(from: Address, to: Address) -> Kind {
    if from.is_zero() {
        Kind::Mint
    } else if to.is_zero() {
        Kind::Burn
    } else {
        Kind::Transfer
    }
}

impl Events {
    /// Appends any log, without transfers.
    pub(super) fn log(&mut self, address: Address, topics: &[B256], data: Vec<u8>) {
        let log = Log::new(address, topics.to_vec(), Bytes::from(data));
        self.logs.push(log.expect("at most four topics"));
    }

    /// Appends a log with a transfer signature that is not a transfer.
    pub(super) fn malformed(&mut self, address: Address, topics: &[B256], data: Vec<u8>) {
        self.malformed += 1;
        self.log(address, topics, data);
    }

    /// Adds a transfer that the last log means.
    fn means(
        &mut self,
        token: Address,
        (from, to): (Address, Address),
        value: U256,
        standard: TokenStandard,
    ) -> &mut Move {
        let log = u32::try_from(self.logs.len() - 1).expect("few logs");
        self.moves.push_mut(Move {
            log: Some(log),
            sub: 0,
            token: Some(token),
            from,
            to,
            value,
            token_id: None,
            standard,
            kind: kind(from, to),
        })
    }

    /// Appends a fungible transfer in the form of the token.
    pub(super) fn transfer(&mut self, token: Token, from: Address, to: Address, value: U256) {
        let indexed = match token.kind {
            TokenKind::Standard | TokenKind::Wrapped | TokenKind::Fee => 2,
            TokenKind::SenderIndexed => 1,
            TokenKind::Unindexed => 0,
        };
        // The fee is a 64th, and is logged first.
        if token.kind == TokenKind::Fee && value > U256::from(64) && !from.is_zero() {
            let fee = value >> 6;
            self.erc20(token.address, from, token.address, fee, indexed);
            self.erc20(token.address, from, to, value - fee, indexed);
        } else {
            self.erc20(token.address, from, to, value, indexed);
        }
    }

    /// Appends an ERC-20 transfer in which the first `indexed` addresses are indexed.
    pub(super) fn erc20(
        &mut self,
        token: Address,
        from: Address,
        to: Address,
        value: U256,
        indexed: usize,
    ) {
        let all = [TOPICS.transfer, word(from), word(to), value.into()];
        self.log(token, &all[..1 + indexed], words(&all[1 + indexed..]));
        self.means(token, (from, to), value, TokenStandard::Erc20);
    }

    /// Appends an ERC-20 transfer with bits set above its addresses.
    pub(super) fn dirty_erc20(
        &mut self,
        token: Address,
        (from, to): (Address, Address),
        value: U256,
        dirt: B256,
    ) {
        let soil = |address: Address| {
            let mut word = word(address);
            word[..12].copy_from_slice(&dirt[..12]);
            word[0] |= 1;
            word
        };
        let all = [TOPICS.transfer, soil(from), soil(to)];
        self.log(token, &all, value.to_be_bytes_vec());
        self.dirty += 1;
        self.means(token, (from, to), value, TokenStandard::Erc20);
    }

    /// Appends an ERC-721 transfer.
    pub(super) fn erc721(&mut self, token: Address, from: Address, to: Address, id: U256) {
        self.log(
            token,
            &[TOPICS.transfer, word(from), word(to), id.into()],
            Vec::new(),
        );
        self.means(token, (from, to), U256::ONE, TokenStandard::Erc721)
            .token_id = Some(id);
    }

    /// Appends an ERC-1155 transfer of one item, with all addresses indexed or none.
    pub(super) fn single(
        &mut self,
        token: Address,
        [operator, from, to]: [Address; 3],
        (id, value): (U256, U256),
        indexed: bool,
    ) {
        let ends = [TOPICS.transfer_single, word(operator), word(from), word(to)];
        let indexed = if indexed { 3 } else { 0 };
        let mut data = words(&ends[1 + indexed..]);
        data.extend(words(&[id.into(), value.into()]));
        self.log(token, &ends[..1 + indexed], data);
        self.means(token, (from, to), value, TokenStandard::Erc1155)
            .token_id = Some(id);
    }

    /// Appends an ERC-1155 transfer of several items, or of none.
    pub(super) fn batch(
        &mut self,
        token: Address,
        [operator, from, to]: [Address; 3],
        items: &[(U256, U256)],
    ) {
        let ends = [TOPICS.transfer_batch, word(operator), word(from), word(to)];
        let ids: Vec<U256> = items.iter().map(|item| item.0).collect();
        let values: Vec<U256> = items.iter().map(|item| item.1).collect();
        self.log(token, &ends, batch_data(&ids, &values));
        for (sub, &(id, value)) in (0..).zip(items) {
            let item = self.means(token, (from, to), value, TokenStandard::Erc1155);
            (item.sub, item.token_id) = (sub, Some(id));
        }
    }

    /// Appends an ERC-1155 log that is not a transfer.
    pub(super) fn malformed_erc1155(&mut self, token: Address, topics: &[B256], data: Vec<u8>) {
        self.malformed_erc1155 += 1;
        self.malformed(token, topics, data);
    }

    /// Appends a wrap of native coin for `account`.
    pub(super) fn wrap(&mut self, token: Address, account: Address, value: U256) {
        self.log(
            token,
            &[TOPICS.deposit, word(account)],
            value.to_be_bytes_vec(),
        );
        let ends = (Address::ZERO, account);
        self.means(token, ends, value, TokenStandard::Erc20).kind = Kind::Wrap;
    }

    /// Appends an unwrap of native coin by `account`.
    pub(super) fn unwrap(&mut self, token: Address, account: Address, value: U256) {
        self.log(
            token,
            &[TOPICS.withdrawal, word(account)],
            value.to_be_bytes_vec(),
        );
        let ends = (account, Address::ZERO);
        self.means(token, ends, value, TokenStandard::Erc20).kind = Kind::Unwrap;
    }

    /// Appends a wrap of a coin that also logs a `Transfer`: two logs, one transfer.
    pub(super) fn duplicate_wrap(
        &mut self,
        token: Address,
        account: Address,
        value: U256,
        transfer_first: bool,
    ) {
        let deposit = [TOPICS.deposit, word(account)];
        if !transfer_first {
            self.log(token, &deposit, value.to_be_bytes_vec());
        }
        self.erc20(token, Address::ZERO, account, value, 2);
        if transfer_first {
            self.log(token, &deposit, value.to_be_bytes_vec());
        }
        self.deduplicated += 1;
    }

    /// Appends an approval, which moves nothing.
    pub(super) fn approval(
        &mut self,
        token: Address,
        owner: Address,
        spender: Address,
        value: U256,
    ) {
        let topics = [TOPICS.approval, word(owner), word(spender)];
        self.log(token, &topics, value.to_be_bytes_vec());
    }

    /// Appends the logs of a pool after a trade.
    pub(super) fn trade(
        &mut self,
        pool: Address,
        sender: Address,
        to: Address,
        (amount_in, amount_out): (U256, U256),
    ) {
        let reserve = |amount: U256| B256::from(amount << 9);
        self.log(
            pool,
            &[TOPICS.sync],
            words(&[reserve(amount_in), reserve(amount_out)]),
        );
        let amounts = [amount_in.into(), B256::ZERO, B256::ZERO, amount_out.into()];
        self.log(
            pool,
            &[TOPICS.swap, word(sender), word(to)],
            words(&amounts),
        );
    }
}

/// Encodes two arrays in the ABI.
pub(super) fn batch_data(ids: &[U256], values: &[U256]) -> Vec<u8> {
    let length = |n: usize| U256::from(n);
    let mut all = vec![length(64), length(96 + 32 * ids.len()), length(ids.len())];
    all.extend(ids);
    all.push(length(values.len()));
    all.extend(values);
    all.iter().flat_map(U256::to_be_bytes::<32>).collect()
}
