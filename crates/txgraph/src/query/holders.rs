//! Who holds a token: amounts by its transfers, and by the token itself.

use super::{
    analyze::write_table, query_metadata::Description, retry::retry_on_reorg, transfers::Transfers,
};
use crate::{
    AnalysisOutput, Error, ErrorKind, Result, Selection, Source, options::given,
    select::selection_methods, words::number,
};
use alloy_primitives::{Address, U256, map::AddressHashMap};
use serde_json::json;
use std::{cmp::Reverse, ops::ControlFlow};
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::Written;
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{BlockRanges, ScanReport, TokenStandard, Transfer};

/// The size of the table of amounts.
const LIMITS: Limits = Limits {
    first_removal: 1_000_000,
    holders: 13_000_000,
    // 16.7 million slots of a hash table, 1.1 GB.
    addresses: 14_000_000,
};

/// Addresses whose balances the token is asked for. A call takes some ten microseconds.
const ASKED_MAX: usize = 100_000;

/// Asks who holds a token. See [`Source::holders`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Holders<'s> {
    source: &'s Source,
    token: Address,
    selection: Selection,
    limit: usize,
}

/// A holder of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    /// The address.
    pub address: Address,
    /// The amount, in the smallest unit; a number of items of a token that is not fungible.
    pub amount: U256,
    /// Whether the token says so. Otherwise it is the sum of transfers.
    pub is_stated: bool,
}

/// The holders of a token.
#[derive(Debug)]
pub struct TokenHolders<'s> {
    /// The number of transfers.
    pub transfers: u64,
    /// The standard of the first of them.
    pub standard: Option<TokenStandard>,
    /// The largest holders; among equals, the lower address.
    pub holders: Vec<TokenHolder>,
    /// The number of other holders, by transfers.
    pub more: u64,
    /// Whether each of them has at most as much as the last listed one. Not known if transfers do not
    /// explain all amounts.
    pub is_ranked: bool,
    /// The block after which the token was asked; `None`: all amounts are sums of transfers.
    pub asked: Option<u64>,
    /// Notes about everything that is not known, a line each.
    pub notes: Vec<String>,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
    /// The blocks that were asked for.
    pub blocks: BlockRanges,
    /// The holders as a table.
    pub table: Table,
    source: &'s Source,
    description: Description,
}

impl Source {
    /// Asks who holds a token: the amount that each address received and did not send. If that is known
    /// from the first block on, and the source has the state after the last one, the token is asked
    /// for the balances of the largest holders, and of all who sent more than they received.
    pub fn holders(&self, token: Address) -> Holders<'_> {
        let mut selection = Selection::default();
        selection.add_token(token);
        Holders {
            source: self,
            token,
            selection,
            limit: usize::MAX,
        }
    }
}

/// Sums of transfers.
struct Sums {
    transfers: u64,
    standard: Option<TokenStandard>,
    /// Who has something, the largest amount first: as many as can be listed.
    held: Vec<(Address, AmountSum)>,
    /// The number of other holders, and the sum of their amounts.
    others: (u64, AmountSum),
    /// Who sent more than they received, ascending.
    negative: Vec<Address>,
    /// Whether all blocks up to the last one were read: sums are balances.
    is_whole: bool,
    scan: ScanReport,
}

/// How many addresses a table of amounts has.
#[derive(Clone, Copy)]
struct Limits {
    /// From this many addresses on, those that have nothing are removed.
    first_removal: usize,
    /// The holders that can be answered.
    holders: usize,
    /// All addresses: holders, and room for addresses that have nothing in the end.
    addresses: usize,
}

/// The amount that each address received and did not send, modulo 2^320.
struct Amounts {
    by_address: AddressHashMap<AmountSum>,
    limits: Limits,
    next_removal: usize,
}

impl Amounts {
    fn new(limits: Limits) -> Self {
        Self {
            by_address: AddressHashMap::default(),
            limits,
            next_removal: limits.first_removal,
        }
    }

    fn add(&mut self, transfer: &Transfer) {
        let amount = widen(transfer.value);
        let received = self.by_address.entry(transfer.to_address).or_default();
        *received = received.wrapping_add(amount);
        let sent = self.by_address.entry(transfer.from_address).or_default();
        *sent = sent.wrapping_sub(amount);
    }

    /// Removes addresses that have nothing if there are many addresses. Returns whether there is room for
    /// others.
    fn make_room(&mut self) -> bool {
        if self.by_address.len() <= self.next_removal {
            return true;
        }
        // Removals in place leave marks, for which the table would grow.
        let all = self.by_address.drain();
        let held: Vec<_> = all.filter(|(_, amount)| !amount.is_zero()).collect();
        self.by_address.extend(held);
        let left = self.by_address.len();
        // A removal looks at all addresses. Half as many others pay for it.
        let Limits {
            first_removal,
            holders,
            addresses,
        } = self.limits;
        self.next_removal = (left + left / 2).clamp(first_removal, addresses);
        left <= holders
    }
}

/// Keeps the largest amounts, in order; among equals, the lower address. Returns the number of others and
/// their sum.
fn keep_largest(held: &mut Vec<(Address, AmountSum)>, count: usize) -> (u64, AmountSum) {
    let key = |(address, amount): &(Address, AmountSum)| (Reverse(*amount), *address);
    let mut others = (0, AmountSum::ZERO);
    if count < held.len() {
        held.select_nth_unstable_by_key(count, key);
        for (_, amount) in held.drain(count..) {
            // As it would be listed.
            let amount: U256 = amount.saturating_to();
            others = (others.0 + 1, others.1.wrapping_add(widen(amount)));
        }
        held.shrink_to_fit();
    }
    held.sort_unstable_by_key(key);
    others
}

impl<'s> Holders<'s> {
    selection_methods!(selection);

    /// The number of holders; default: all.
    pub const fn limit(mut self, holders: usize) -> Self {
        self.limit = holders;
        self
    }

    /// Refuses outputs that cannot be written, before anything is read.
    ///
    /// # Errors
    ///
    /// If a file exists or cannot be written.
    pub fn check(&self, outputs: &[AnalysisOutput]) -> Result<()> {
        self.source.check_outputs(outputs)
    }

    /// Reads the transfers of the token, and asks it for balances.
    ///
    /// # Errors
    ///
    /// If the query is wrong, reading fails, or the token has too many holders.
    pub fn run(self) -> Result<TokenHolders<'s>> {
        retry_on_reorg(self.source, || self.read())
    }

    fn read(&self) -> Result<TokenHolders<'s>> {
        let query = Transfers::new(self.source)
            .select(self.selection.clone())
            .prepare()?
            .numbers_only();
        let blocks = query.blocks().clone();
        let sums = self.sums(&query)?;
        let mut notes = Vec::new();
        let mut holders: Vec<_> = (sums.held.iter())
            .map(|(address, amount)| TokenHolder {
                address: *address,
                amount: amount.saturating_to(),
                is_stated: false,
            })
            .collect();
        let mut is_ranked = sums.negative.is_empty() || !sums.is_whole;
        let asked = self.ask(&blocks, &sums, &mut holders, &mut is_ranked, &mut notes)?;
        if !sums.negative.is_empty() {
            let senders = number(sums.negative.len() as u64, "address", "addresses");
            notes.push(match sums.is_whole {
                true => format!(
                    "{senders} sent more than transfers brought: the token changes balances in \
                     other ways"
                ),
                false => format!("not listed: {senders} with less after these blocks than before"),
            });
        }
        holders.sort_unstable_by_key(|it| (Reverse(it.amount), it.address));
        let (others, of_others) = sums.others;
        let more = holders.len().saturating_sub(self.limit) as u64 + others;
        let all = holders.iter().map(|it| widen(it.amount));
        let total = all.fold(of_others, AmountSum::wrapping_add);
        holders.truncate(self.limit);
        let listed = holders.iter();
        if listed
            .clone()
            .any(|it| !it.is_stated && it.amount == U256::MAX)
        {
            notes.push(
                "sums of 2^256 and more, which no token can hold, are stated as 2^256 - 1".into(),
            );
        }
        if more > 0 && !is_ranked {
            let others = number(more, "more holder was", "more holders were");
            notes.push(format!(
                "{others} not compared: some can have more than the last one listed"
            ));
        }
        Ok(TokenHolders {
            table: self.table(sums.standard, &holders, total),
            transfers: sums.transfers,
            standard: sums.standard,
            holders,
            more,
            is_ranked,
            asked,
            notes,
            scan: sums.scan,
            blocks,
            source: self.source,
            description: self.description()?,
        })
    }

    fn description(&self) -> Result<Description> {
        let mut options = given(&self.selection)?;
        options.insert("token".into(), json!(self.token));
        if self.limit != usize::MAX {
            options.insert("limit".into(), json!(self.limit));
        }
        Ok(Description::new("holders", options))
    }

    /// Adds up the amounts that each address received and did not send.
    fn sums(&self, query: &super::PreparedTransfers<'_>) -> Result<Sums> {
        let mut amounts = Amounts::new(LIMITS);
        let (mut transfers, mut standard) = (0, None);
        let scan = query.for_each(|batch| {
            for transfer in &batch.transfers {
                transfers += 1;
                standard.get_or_insert(transfer.token_standard);
                amounts.add(transfer);
            }
            match amounts.make_room() {
                true => Ok(ControlFlow::Continue(())),
                false => Err(Error::usage(format!(
                    "the token has more than {} holders; ask for fewer blocks",
                    LIMITS.holders
                ))),
            }
        })?;
        let mut amounts = amounts.by_address;
        // Mints come from the zero address, which is no holder.
        amounts.remove(&Address::ZERO);
        let is_negative = |amount: &AmountSum| amount.bit(AmountSum::BITS - 1);
        let (negative, mut held): (Vec<_>, Vec<_>) = (amounts.into_iter())
            .filter(|(_, amount)| !amount.is_zero())
            .partition(|(_, amount)| is_negative(amount));
        // The token can state that each listed holder has nothing. Then the next ones are listed.
        let others = keep_largest(&mut held, self.limit.saturating_mul(2));
        let mut negative: Vec<_> = negative.into_iter().map(|(address, _)| address).collect();
        negative.sort_unstable();
        let blocks = query.blocks();
        Ok(Sums {
            transfers,
            standard,
            held,
            others,
            negative,
            is_whole: (blocks.iter().next()).is_some_and(|range| range.first <= 1)
                && blocks.iter().count() == 1
                && scan.missing.is_empty(),
            scan,
        })
    }

    /// Replaces sums by what the token says. Returns the block after which it was asked.
    fn ask(
        &self,
        blocks: &BlockRanges,
        sums: &Sums,
        holders: &mut Vec<TokenHolder>,
        is_ranked: &mut bool,
        notes: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let by_transfers = "amounts are the sums of the transfers that were read";
        let ids = self.selection.amounts.token_ids();
        let id = match (sums.standard, ids) {
            (Some(TokenStandard::Erc1155), [id]) => Some(*id),
            (Some(TokenStandard::Erc20 | TokenStandard::Erc721), []) => None,
            (Some(TokenStandard::Erc1155), []) => {
                notes.push(format!("{by_transfers}, of all ids of the token together"));
                return Ok(None);
            }
            (None, _) => return Ok(None),
            _ => {
                notes.push(by_transfers.into());
                return Ok(None);
            }
        };
        let Some(span) = blocks.span().filter(|_| sums.is_whole) else {
            notes.push(by_transfers.into());
            return Ok(None);
        };
        let count = self.limit.min(ASKED_MAX).min(holders.len());
        let negative = sums.negative.iter().take(ASKED_MAX);
        let asked: Vec<Address> = (holders[..count].iter().map(|it| it.address))
            .chain(negative.copied())
            .collect();
        let wanted: Vec<_> = (asked.iter())
            .map(|holder| (*holder, Some(self.token), id))
            .collect();
        let balances = match self.source.item_balances(Some(span.last), &wanted) {
            Ok((_, balances)) => balances,
            Err(error) if matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Reorged) => {
                return Err(error);
            }
            Err(error) => {
                notes.push(format!("{by_transfers}: {}", error.message));
                return Ok(None);
            }
        };
        let (stated, extra) = balances.split_at(count.min(balances.len()));
        let (mut differing, mut silent) = (0_u64, 0);
        for (holder, balance) in holders.iter_mut().zip(stated) {
            match balance {
                Some(balance) => {
                    differing += u64::from(holder.amount != *balance);
                    (holder.amount, holder.is_stated) = (*balance, true);
                }
                None => silent += 1,
            }
        }
        if silent == count && count > 0 {
            notes.push(format!(
                "{by_transfers}: the token does not answer balanceOf"
            ));
            return Ok(None);
        }
        for (address, balance) in sums.negative.iter().zip(extra) {
            holders.extend(balance.map(|amount| TokenHolder {
                address: *address,
                amount,
                is_stated: true,
            }));
        }
        holders.retain(|it| !it.amount.is_zero());
        *is_ranked &= differing == 0 && silent == 0;
        if differing > 0 {
            let balances = number(differing, "balance is", "balances are");
            notes.push(format!(
                "{balances} not the sum of transfers: the amount is what the token states"
            ));
        }
        if silent > 0 {
            let balances = number(silent as u64, "amount is", "amounts are");
            notes.push(format!(
                "{balances} the sum of transfers: the token does not state the balance"
            ));
        }
        let left = holders.len().saturating_sub(asked.len()) as u64 + sums.others.0;
        if self.limit > ASKED_MAX && left > 0 {
            let others = number(left, "holder", "holders");
            notes.push(format!("the amounts of {others} are sums of transfers"));
        }
        Ok(Some(span.last))
    }

    /// The table; `total` is the sum of all amounts.
    fn table(
        &self,
        standard: Option<TokenStandard>,
        holders: &[TokenHolder],
        total: AmountSum,
    ) -> Table {
        use ColumnType::{Address, Amount, Bool, F64, Text};
        let share = |amount: U256| txgraph_analysis::share(widen(amount), total);
        let mut table = Table::new(
            "holders",
            format!("Holders of {}", self.token),
            &[
                ("address", Address),
                ("amount", Amount),
                ("share", F64),
                ("stated", Bool),
                ("token_address", Address),
                ("token_standard", Text),
            ],
        );
        for it in holders {
            table.push(vec![
                it.address.into(),
                widen(it.amount).into(),
                share(it.amount).into(),
                it.is_stated.into(),
                self.token.into(),
                standard.into(),
            ]);
        }
        table
    }
}

impl TokenHolders<'_> {
    /// Writes the holders to each output, except as human-readable tables: those the caller draws.
    /// Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let chain = self.source.chain()?;
        let mut about = (self.description).metadata(chain, &self.blocks, &self.scan);
        about.notes.clone_from(&self.notes);
        let fields = [
            ("transfers", json!(self.transfers)),
            ("more", json!(self.more)),
            ("asked_after_block", json!(self.asked)),
            ("notes", json!(self.notes)),
        ];
        write_table(self.source, outputs, &about, &fields, &self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u64) -> Address {
        Address::left_padding_from(&number.to_be_bytes())
    }

    fn moved(from: u64, to: u64, value: u64) -> Transfer {
        Transfer {
            from_address: address(from),
            to_address: address(to),
            value: U256::from(value),
            ..Transfer::first_of(1)
        }
    }

    /// Amounts that pass through a thousand addresses, with and without removals.
    #[test]
    fn removals_change_no_amount() {
        let limits = Limits {
            first_removal: 10,
            holders: 80,
            addresses: 100,
        };
        let mut plain = Amounts::new(Limits {
            first_removal: usize::MAX,
            ..limits
        });
        let mut removing = Amounts::new(limits);
        let mut largest = 0;
        for number in 1..1000_u64 {
            // Each tenth keeps a part, and some of these send more than they have.
            let kept = u64::from(number.is_multiple_of(20));
            let sent = 5 - kept + 7 * u64::from(number.is_multiple_of(300));
            for transfer in [
                moved(0, number, 5),
                moved(number, 1_000_000 + number % 7, sent),
            ] {
                plain.add(&transfer);
                removing.add(&transfer);
            }
            assert!(plain.make_room() && removing.make_room(), "{number}");
            largest = largest.max(removing.by_address.len());
        }
        assert!(largest <= 101, "{largest}");
        assert!(removing.by_address.capacity() < 200);
        assert!(plain.by_address.len() > 1000);
        plain.by_address.retain(|_, amount| !amount.is_zero());
        removing.by_address.retain(|_, amount| !amount.is_zero());
        assert_eq!(removing.by_address, plain.by_address);
        // More holders than there is room for.
        let all_have = (2000..2200).all(|number| {
            removing.add(&moved(0, number, 1));
            removing.make_room()
        });
        assert!(!all_have);
    }

    #[test]
    fn the_largest_are_the_first_of_all_in_order() {
        let all: Vec<_> = (0..100_u64)
            .map(|number| {
                (
                    address(number * 37 % 100),
                    AmountSum::from(number * number % 17 + 1),
                )
            })
            .collect();
        let mut sorted = all.clone();
        sorted.sort_by_key(|(address, amount)| (Reverse(*amount), *address));
        for count in [0, 1, 2, 50, 99, 100, 101, usize::MAX] {
            let mut held = all.clone();
            let others = keep_largest(&mut held, count);
            let (listed, rest) = sorted.split_at(count.min(100));
            assert_eq!(held, listed);
            let sum = rest
                .iter()
                .fold(AmountSum::ZERO, |sum, (_, amount)| sum + *amount);
            assert_eq!(others, (rest.len() as u64, sum));
        }
    }
}
