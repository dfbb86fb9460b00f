//! The rows of a statement, with the balance after each, and the sums that must agree.

use alloy_primitives::{Address, B256, U256};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};
use txgraph_graph::{AmountSum, Asset, widen};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

/// The reason for a row of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A transfer of this kind. The parts of a fee that the account pays are one [`Self::Fee`].
    Transfer(Kind),
    /// The fee of a transaction that the account pays.
    Fee,
    /// The reward for a block, or for an ommer, before the merge.
    Reward,
    /// A change of the balance that no transfer, fee or reward explains.
    Unexplained,
}

impl Entry {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transfer(kind) => kind.as_str(),
            Self::Fee => "fee",
            Self::Reward => "reward",
            Self::Unexplained => "unexplained",
        }
    }
}

/// A row of a statement: a change of one balance of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRow {
    /// The block. A change of a token that nothing explains has the last block of the statement.
    pub block: u64,
    /// The time of the block in seconds since 1970, if it is known.
    pub timestamp: Option<u64>,
    /// The transaction: its index in the block, and its hash. `None`: outside of transactions.
    pub transaction: Option<(u32, Option<B256>)>,
    /// The index of the log in the block.
    pub log_index: Option<u32>,
    /// The reason.
    pub entry: Entry,
    /// The other side; `None` for fees, rewards and changes that nothing explains.
    pub counterparty: Option<Address>,
    /// The token or the native coin.
    pub asset: Asset,
    /// The id of the token, of ERC-721 and ERC-1155.
    pub token_id: Option<U256>,
    /// The amount that the account got, in the smallest unit.
    pub received: Option<AmountSum>,
    /// The amount that it gave.
    pub sent: Option<AmountSum>,
    /// The balance after it; of ERC-721 the number of items. `None`: not known.
    pub balance: Option<AmountSum>,
}

/// The sums of one asset: what the account had, plus what it received, minus what it sent, with what
/// nothing explains, is what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetBalance {
    /// The token or the native coin.
    pub asset: Asset,
    /// The id of the token, of ERC-1155.
    pub token_id: Option<U256>,
    /// The balance before the first block. `None`: not known.
    pub opening: Option<U256>,
    /// The amounts that it received, with rewards.
    pub received: AmountSum,
    /// The amounts that it sent, with fees.
    pub sent: AmountSum,
    /// The amounts that it got in changes that nothing explains.
    pub unexplained_received: AmountSum,
    /// The amounts that it lost in such changes.
    pub unexplained_sent: AmountSum,
    /// The balance after the last block, from the state. `None`: not known.
    pub closing: Option<U256>,
}

impl AssetBalance {
    fn new((asset, token_id): Account, ends: Option<&Ends>) -> Self {
        Self {
            asset,
            token_id,
            opening: ends.map(|(opening, _)| *opening),
            received: AmountSum::ZERO,
            sent: AmountSum::ZERO,
            unexplained_received: AmountSum::ZERO,
            unexplained_sent: AmountSum::ZERO,
            closing: ends.map(|(_, closing)| *closing),
        }
    }
}

/// The balances before and after the blocks of a statement.
pub(super) type Ends = (U256, U256);

/// A balance of its own: an asset, and of ERC-1155 an id.
pub(super) type Account = (Asset, Option<U256>);

/// The account of a transfer.
pub(super) fn account_of(transfer: &Transfer) -> Account {
    account(Asset::of(transfer), transfer.token_id)
}

fn account(asset: Asset, token_id: Option<U256>) -> Account {
    let by_id = asset.token_standard == TokenStandard::Erc1155;
    (asset, token_id.filter(|_| by_id))
}

/// A reward for a block or an ommer.
pub(super) struct Reward {
    pub(super) block: u64,
    pub(super) amount: U256,
}

/// The movements of an account, and its balances by the state.
pub(super) struct Facts {
    pub(super) address: Address,
    /// The last block.
    pub(super) last: u64,
    /// All transfers of the account and the parts of fees, in total order.
    pub(super) transfers: Vec<Transfer>,
    /// In order of blocks.
    pub(super) rewards: Vec<Reward>,
    /// The balance of the coin before the first block.
    pub(super) opening: U256,
    /// The balance of the coin after each block that changed the account, ascending.
    pub(super) after: BTreeMap<u64, U256>,
    /// The balances of tokens that are known.
    pub(super) tokens: BTreeMap<Account, Ends>,
}

/// Makes the rows, and the sums in order of the assets, the coin first.
pub(super) fn ledger(facts: Facts) -> (Vec<StatementRow>, Vec<AssetBalance>) {
    let Facts {
        address,
        last,
        transfers,
        rewards,
        opening,
        after,
        tokens,
    } = facts;
    let mut blocks: BTreeMap<u64, Vec<StatementRow>> = BTreeMap::new();
    let mut times = BTreeMap::new();
    for transfer in &transfers {
        let rows = blocks.entry(transfer.block_number).or_default();
        add(rows, transfer, address);
        if let Some(time) = transfer.block_timestamp {
            times.insert(transfer.block_number, time.seconds());
        }
    }
    for Reward { block, amount } in rewards {
        let row = StatementRow {
            received: Some(widen(amount)),
            ..without_transfer(block, Entry::Reward, Asset::NATIVE)
        };
        blocks.entry(block).or_default().push(row);
    }
    for block in after.keys() {
        blocks.entry(*block).or_default();
    }

    let coin = (Asset::NATIVE, None);
    let mut book = Book::default();
    let closing = after.values().next_back().copied().unwrap_or(opening);
    book.open(coin, Some(&(opening, closing)));
    let mut balance = widen(opening);
    let mut rows = Vec::with_capacity(transfers.len());
    for (block, of_block) in blocks {
        let begin = rows.len();
        for mut row in of_block {
            let account = account(row.asset, row.token_id);
            book.apply(account, &mut row, tokens.get(&account));
            rows.push(row);
        }
        // The state decides what the coins are after the block.
        let coins = rows[begin..]
            .iter()
            .filter(|row| row.asset == Asset::NATIVE);
        let (received, sent) = coins.fold((balance, AmountSum::ZERO), |(received, sent), row| {
            let amount = |side: Option<AmountSum>| side.unwrap_or_default();
            (received + amount(row.received), sent + amount(row.sent))
        });
        let expected = after.get(&block).map_or(balance, |after| widen(*after));
        book.settle(coin, Some(expected));
        rows.extend(
            unexplained(block, coin, received, sent + expected).map(|mut row| {
                row.balance = Some(expected);
                book.note(coin, &row);
                row
            }),
        );
        balance = expected;
    }
    let accounts: BTreeSet<Account> = book.accounts();
    for account in accounts.into_iter().filter(|account| *account != coin) {
        let sums = book.sums(account);
        let (Some(opening), Some(closing)) = (sums.opening, sums.closing) else {
            continue;
        };
        let (had, has) = (widen(opening) + sums.received, sums.sent + widen(closing));
        rows.extend(unexplained(last, account, had, has).map(|mut row| {
            row.balance = Some(widen(closing));
            book.note(account, &row);
            row
        }));
    }
    for row in &mut rows {
        row.timestamp = row.timestamp.or(times.get(&row.block).copied());
    }
    (rows, book.finish())
}

/// A row that is no transfer.
const fn without_transfer(block: u64, entry: Entry, asset: Asset) -> StatementRow {
    StatementRow {
        block,
        timestamp: None,
        transaction: None,
        log_index: None,
        entry,
        counterparty: None,
        asset,
        token_id: None,
        received: None,
        sent: None,
        balance: None,
    }
}

/// The row for a difference between what the account had and received, and what it sent and has.
fn unexplained(
    block: u64,
    (asset, token_id): Account,
    had: AmountSum,
    has: AmountSum,
) -> Option<StatementRow> {
    let (received, sent) = match had.cmp(&has) {
        Ordering::Equal => return None,
        Ordering::Less => (Some(has - had), None),
        Ordering::Greater => (None, Some(had - has)),
    };
    Some(StatementRow {
        token_id,
        received,
        sent,
        ..without_transfer(block, Entry::Unexplained, asset)
    })
}

/// Adds a transfer to the rows of its block. The parts of a fee become one row.
pub(super) fn add(rows: &mut Vec<StatementRow>, transfer: &Transfer, address: Address) {
    let value = widen(transfer.value);
    let is = |side: Address| (side == address).then_some(value);
    // Withdrawals have no transaction.
    let transaction = match transfer.kind {
        Kind::Withdrawal => None,
        _ => Some((transfer.transaction_index, transfer.transaction_hash)),
    };
    let mut row = StatementRow {
        block: transfer.block_number,
        timestamp: transfer.block_timestamp.map(|time| time.seconds()),
        transaction,
        log_index: transfer.log_index,
        entry: Entry::Transfer(transfer.kind),
        counterparty: Some(match transfer.from_address == address {
            true => transfer.to_address,
            false => transfer.from_address,
        }),
        asset: Asset::of(transfer),
        token_id: transfer.token_id,
        received: is(transfer.to_address).filter(|_| !is_destroyed(transfer)),
        sent: is(transfer.from_address).filter(|_| !is_created(transfer)),
        balance: None,
    };
    if row.received.is_none() && row.sent.is_none() {
        return;
    }
    if transfer.kind.is_fee() && row.sent.is_some() {
        let fee = rows.iter_mut().rev().find(|row| row.entry == Entry::Fee);
        match fee.filter(|fee| fee.transaction == transaction) {
            Some(fee) => fee.sent = Some(fee.sent.unwrap_or_default() + value),
            None => rows.push(StatementRow {
                entry: Entry::Fee,
                counterparty: None,
                received: None,
                ..row.clone()
            }),
        }
        // A beneficiary that pays the priority fee to itself.
        if row.received.is_none() {
            return;
        }
        row.sent = None;
    }
    rows.push(row);
}

/// Whether coins are destroyed, although the zero address stands for their receiver.
fn is_destroyed(transfer: &Transfer) -> bool {
    transfer.token_address.is_none()
        && transfer.to_address.is_zero()
        && matches!(transfer.kind, Kind::Fee | Kind::Burn)
}

/// Whether coins are created, although the zero address stands for their sender.
fn is_created(transfer: &Transfer) -> bool {
    transfer.token_address.is_none()
        && transfer.from_address.is_zero()
        && matches!(transfer.kind, Kind::Withdrawal | Kind::Mint)
}

/// The running balances and the sums of all assets.
#[derive(Default)]
struct Book(BTreeMap<Account, (AssetBalance, Option<AmountSum>)>);

impl Book {
    fn open(
        &mut self,
        account: Account,
        ends: Option<&Ends>,
    ) -> &mut (AssetBalance, Option<AmountSum>) {
        (self.0.entry(account)).or_insert_with(|| {
            let opening = ends.map(|(opening, _)| widen(*opening));
            (AssetBalance::new(account, ends), opening)
        })
    }

    /// Books a row, and sets its balance.
    fn apply(&mut self, account: Account, row: &mut StatementRow, ends: Option<&Ends>) {
        let (sums, balance) = self.open(account, ends);
        let (received, sent) = (
            row.received.unwrap_or_default(),
            row.sent.unwrap_or_default(),
        );
        sums.received += received;
        sums.sent += sent;
        // With less than it sends, what it had is not what was read.
        *balance = balance.and_then(|balance| (balance + received).checked_sub(sent));
        row.balance = *balance;
    }

    /// Books a change that nothing explains.
    fn note(&mut self, account: Account, row: &StatementRow) {
        let (sums, balance) = self.open(account, None);
        sums.unexplained_received += row.received.unwrap_or_default();
        sums.unexplained_sent += row.sent.unwrap_or_default();
        *balance = row.balance;
    }

    fn settle(&mut self, account: Account, balance: Option<AmountSum>) {
        self.open(account, None).1 = balance;
    }

    fn sums(&mut self, account: Account) -> AssetBalance {
        self.open(account, None).0
    }

    fn accounts(&self) -> BTreeSet<Account> {
        self.0.keys().copied().collect()
    }

    fn finish(self) -> Vec<AssetBalance> {
        self.0.into_values().map(|(sums, _)| sums).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::testing::{address, transfers};

    fn facts(moved: &str, opening: u64, after: &[(u64, u64)]) -> Facts {
        Facts {
            address: address("a"),
            last: 999,
            transfers: transfers(moved),
            rewards: Vec::new(),
            opening: U256::from(opening),
            after: (after.iter())
                .map(|(block, balance)| (*block, U256::from(*balance)))
                .collect(),
            tokens: BTreeMap::new(),
        }
    }

    /// Kind, what was received and sent, and the balance; `-` for nothing.
    fn text(rows: &[StatementRow]) -> Vec<String> {
        let amount = |it: Option<AmountSum>| it.map_or("-".to_owned(), |it| it.to_string());
        let row = |row: &StatementRow| {
            let [received, sent, balance] = [row.received, row.sent, row.balance].map(amount);
            format!("{} {received} {sent} {balance}", row.entry.as_str())
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn the_state_decides_after_each_block() {
        let mut facts = facts("b>a:5@eth a>c:3@eth a>a:9@eth", 10, &[]);
        let blocks: Vec<u64> = facts.transfers.iter().map(|it| it.block_number).collect();
        // The second block took 4 more than its transfer; the third changed nothing; in a later one, 7
        // came from nowhere.
        let after = [(blocks[0], 15), (blocks[1], 8), (150, 15)];
        facts.after = after.map(|(block, it)| (block, U256::from(it))).into();
        let (rows, balances) = ledger(facts);
        assert_eq!(
            text(&rows),
            [
                "value 5 - 15",
                "value - 3 12",
                "unexplained - 4 8",
                "value 9 9 8",
                "unexplained 7 - 15",
            ]
        );
        assert_eq!(rows.last().unwrap().block, 150);
        let [coin] = balances[..] else {
            panic!("{balances:?}")
        };
        let sum = AmountSum::from;
        assert_eq!(
            (coin.opening, coin.closing),
            (Some(U256::from(10)), Some(U256::from(15)))
        );
        assert_eq!((coin.received, coin.sent), (sum(14), sum(12)));
        assert_eq!(
            (coin.unexplained_received, coin.unexplained_sent),
            (sum(7), sum(4))
        );
    }

    #[test]
    fn the_parts_of_a_fee_are_one_row() {
        let mut facts = facts("a>b:5@eth a>0:2@eth a>m:1@eth", 10, &[]);
        let first = facts.transfers[0].clone();
        for (place, (transfer, kind)) in (facts.transfers.iter_mut())
            .zip([Kind::Value, Kind::Fee, Kind::Priority])
            .enumerate()
        {
            transfer.kind = kind;
            transfer.block_number = first.block_number;
            transfer.transaction_index = first.transaction_index;
            transfer.transaction_hash = first.transaction_hash;
            transfer.sub_index = u32::try_from(place).unwrap();
        }
        let mut of_miner = facts.transfers.clone();
        facts.after.insert(first.block_number, U256::from(2));
        assert_eq!(text(&ledger(facts).0), ["value - 5 5", "fee - 3 2"]);
        // A beneficiary gets the priority fee of its own transaction.
        of_miner[2].to_address = address("a");
        let mut facts = self::facts("", 10, &[(first.block_number, 3)]);
        facts.transfers = of_miner;
        let rows = ledger(facts).0;
        assert_eq!(text(&rows), ["value - 5 5", "fee - 3 2", "priority 1 - 3"]);
    }

    #[test]
    fn tokens_are_compared_at_the_ends() {
        let moved = "b>a:5@TOKEN a>c:7@TOKEN b>a:2@OTHER";
        let mut facts = facts(moved, 0, &[]);
        let account = account_of(&facts.transfers[0]);
        let ends = |opening: u64, closing: u64| (U256::from(opening), U256::from(closing));
        facts.tokens.insert(account, ends(4, 1));
        let (rows, balances) = ledger(facts);
        // The second token does not say what the account had.
        let expected = [
            "transfer 5 - 9",
            "transfer - 7 2",
            "transfer 2 - -",
            "unexplained - 1 1",
        ];
        assert_eq!(text(&rows), expected);
        assert_eq!((rows[3].block, rows[3].asset), (999, account.0));
        assert_eq!(balances.len(), 3);
        // A balance that is too small for what is sent is not known.
        let mut facts = self::facts(moved, 0, &[]);
        facts.tokens.insert(account, ends(1, 1));
        let rows = text(&ledger(facts).0);
        assert_eq!(rows[1], "transfer - 7 -");
        assert_eq!(rows[3], "unexplained 2 - 1");
    }
}
