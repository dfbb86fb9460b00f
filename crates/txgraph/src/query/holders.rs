//! Who holds a token: amounts by its transfers, and by the token itself.

use super::transfers::Transfers;
use crate::{Error, Result, Selection, Source, select::selection_methods};
use alloy_primitives::{Address, U256, map::AddressHashMap};
use std::{cmp::Reverse, ops::ControlFlow};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{ScanReport, TokenStandard};

/// Addresses whose amounts are kept. More need a gigabyte.
const ADDRESSES_MAX: usize = 8_000_000;

/// Asks who holds a token. See [`Source::holders`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Holders<'s> {
    source: &'s Source,
    selection: Selection,
    limit: usize,
}

/// The holders of a token, by its transfers.
#[derive(Clone, Debug)]
pub struct TokenHolders {
    /// The number of transfers.
    pub transfers: u64,
    /// The standard of the first of them.
    pub standard: Option<TokenStandard>,
    /// The largest holders; among equals, the lower address. Of a token that is not fungible, the
    /// amount is a number of items.
    pub holders: Vec<(Address, U256)>,
    /// The number of other holders.
    pub more: u64,
    /// The number of addresses that sent more than they received: the token changes balances
    /// without transfers, or blocks are missing.
    pub unexplained: u64,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

impl Source {
    /// Asks who holds a token: what each address received and did not send.
    pub fn holders(&self, token: Address) -> Holders<'_> {
        let holders = Holders {
            source: self,
            selection: Selection::default(),
            limit: usize::MAX,
        };
        holders.token(token)
    }
}

impl Holders<'_> {
    selection_methods!(selection);

    /// The number of holders; default: all.
    pub const fn limit(mut self, holders: usize) -> Self {
        self.limit = holders;
        self
    }

    /// Reads the transfers of the token.
    ///
    /// # Errors
    ///
    /// If the query is wrong, reading fails, or the token has too many holders.
    pub fn run(self) -> Result<TokenHolders> {
        let query = Transfers::new(self.source)
            .select(self.selection)
            .prepare()?;
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
        let unexplained = amounts.values().filter(|amount| is_negative(amount));
        let unexplained = unexplained.count() as u64;
        let held = amounts.into_iter();
        let held = held.filter(|(_, amount)| !amount.is_zero() && !is_negative(amount));
        let mut holders: Vec<(Address, U256)> = held
            .map(|(address, amount)| (address, amount.saturating_to()))
            .collect();
        holders.sort_unstable_by_key(|(address, amount)| (Reverse(*amount), *address));
        let more = holders.len().saturating_sub(self.limit) as u64;
        holders.truncate(self.limit);
        Ok(TokenHolders {
            transfers,
            standard,
            holders,
            more,
            unexplained,
            scan,
        })
    }
}
