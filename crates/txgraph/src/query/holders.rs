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
use txgraph_transfers::{BlockRanges, ScanReport, TokenStandard};

/// Addresses whose amounts are kept. More need a gigabyte.
const ADDRESSES_MAX: usize = 8_000_000;

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
    /// Who has something, the largest amount first.
    held: Vec<(Address, AmountSum)>,
    /// Who sent more than they received, ascending.
    negative: Vec<Address>,
    scan: ScanReport,
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
            .prepare()?;
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
        let mut is_ranked = sums.negative.is_empty();
        let asked = self.ask(&blocks, &sums, &mut holders, &mut is_ranked, &mut notes)?;
        if !sums.negative.is_empty() {
            let senders = number(sums.negative.len() as u64, "address", "addresses");
            notes.push(format!(
                "{senders} sent more than transfers brought: the token changes balances in other \
                 ways"
            ));
        }
        holders.sort_unstable_by_key(|it| (Reverse(it.amount), it.address));
        let more = holders.len().saturating_sub(self.limit) as u64;
        let all = holders.iter().map(|it| widen(it.amount));
        let total = all.fold(AmountSum::ZERO, AmountSum::wrapping_add);
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
        // The amounts modulo 2^320: what was sent is subtracted.
        let mut amounts: AddressHashMap<AmountSum> = AddressHashMap::default();
        let (mut transfers, mut standard) = (0, None);
        let scan = query.for_each(|batch| {
            for transfer in &batch.transfers {
                transfers += 1;
                standard.get_or_insert(transfer.token_standard);
                let amount = widen(transfer.value);
                let received = amounts.entry(transfer.to_address).or_default();
                *received = received.wrapping_add(amount);
                let sent = amounts.entry(transfer.from_address).or_default();
                *sent = sent.wrapping_sub(amount);
            }
            match amounts.len() > ADDRESSES_MAX {
                true => Err(Error::usage(format!(
                    "the token has more than {ADDRESSES_MAX} holders; ask for fewer blocks"
                ))),
                false => Ok(ControlFlow::Continue(())),
            }
        })?;
        // Mints come from the zero address, which is no holder.
        amounts.remove(&Address::ZERO);
        let is_negative = |amount: &AmountSum| amount.bit(AmountSum::BITS - 1);
        let (negative, mut held): (Vec<_>, Vec<_>) = (amounts.into_iter())
            .filter(|(_, amount)| !amount.is_zero())
            .partition(|(_, amount)| is_negative(amount));
        held.sort_unstable_by_key(|(address, amount)| (Reverse(*amount), *address));
        let mut negative: Vec<_> = negative.into_iter().map(|(address, _)| address).collect();
        negative.sort_unstable();
        Ok(Sums {
            transfers,
            standard,
            held,
            negative,
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
        let is_whole = (blocks.iter().next()).is_some_and(|range| range.first <= 1)
            && blocks.iter().count() == 1
            && sums.scan.missing.is_empty();
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
        let Some(span) = blocks.span().filter(|_| is_whole) else {
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
        let left = holders.len().saturating_sub(asked.len());
        if self.limit > ASKED_MAX && left > 0 {
            let others = number(left as u64, "holder", "holders");
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
