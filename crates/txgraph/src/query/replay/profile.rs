//! Who an address is: its account, its first and last transfers, and its counterparties.

use super::{Creation, accounts::delegate};
use crate::{
    AccountState, BlockSpec, ErrorKind, Result, Selection, Source, query::retry::retry_on_reorg,
    select::Resolved,
};
use alloy_primitives::{Address, U256};
use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
};
use txgraph_export::Transactions;
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{
    AddressFilter, BlockTime, Direction, ScanReport, ScanRequest, TokenStandard, Transfer,
};

/// Tokens whose balances are read if none are named: those with the most transfers.
const TOKENS_MAX: usize = 10;

/// Asks who an address is. See [`Source::profile`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Profile<'s> {
    source: &'s Source,
    address: Address,
    selection: Selection,
    tokens: Vec<Address>,
    block: Option<u64>,
    top: usize,
}

/// The profile of an address.
#[derive(Clone, Debug)]
pub struct AddressProfile {
    /// The address.
    pub address: Address,
    /// The account at the end of a block.
    pub state: Option<ProfileState>,
    /// Why there is no state.
    pub without_state: Option<String>,
    /// Where its code was created.
    pub creation: Option<Creation>,
    /// Why that is not known, of a contract.
    pub without_creation: Option<String>,
    /// The balances of the native coin (`None`) and of tokens, at the end of the same block. No
    /// balance: the token does not answer.
    pub balances: Vec<(Option<Address>, Option<U256>)>,
    /// Why there are no balances of tokens.
    pub without_balances: Option<String>,
    /// The number of transfers; one to itself is one.
    pub transfers: u64,
    /// The transfers that it received.
    pub received: Activity,
    /// The transfers that it sent.
    pub sent: Activity,
    /// The first transfer of the native coin to it by another address, except mints. `None` if it
    /// had a balance before: then none of these transfers was the first.
    pub first_funding: Option<Transfer>,
    /// Its balance of the native coin at the end of the block before the first that was read. The
    /// balance of block 0 is the allocation of the genesis.
    pub balance_before: Option<(u64, U256)>,
    /// Why that is not known.
    pub without_balance_before: Option<String>,
    /// The native coin that left a contract, or arrived there, in none of the transfers. It is
    /// known if all blocks until the state were read.
    pub unrecorded: Option<Unrecorded>,
    /// The first transfer that it sent.
    pub first_sent: Option<FirstSent>,
    /// The request for its transfers.
    pub request: ScanRequest,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// The native coin that a contract moved in none of the transfers that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    /// It has less than the transfers explain.
    Left(U256),
    /// It has more.
    Arrived(U256),
}

/// The account of an address at the end of a block.
#[derive(Clone, Debug)]
pub struct ProfileState {
    /// The block.
    pub block: u64,
    /// The account.
    pub account: AccountState,
    /// The length of its code in bytes.
    pub code_bytes: usize,
    /// The contract that it delegates to (EIP-7702).
    pub delegate: Option<Address>,
}

/// The first transfer that an address sent.
#[derive(Clone, Debug)]
pub struct FirstSent {
    /// The transfer.
    pub transfer: Transfer,
    /// Who signed its transaction, and so paid for the gas. `None`: not known.
    pub gas_payer: Option<Address>,
}

/// The transfers of an address in one direction.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// The number of transfers.
    pub transfers: u64,
    /// The first.
    pub first: Option<Transfer>,
    /// The last.
    pub last: Option<Transfer>,
    /// The number of counterparties.
    pub counterparties: u64,
    /// The counterparties with the most transfers; among equals, the lower address.
    pub top: Vec<Counterparty>,
}

/// A counterparty of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterparty {
    /// Its address.
    pub address: Address,
    /// The number of transfers.
    pub transfers: u64,
    /// The time of the first, if it is known.
    pub first: Option<BlockTime>,
    /// The time of the last.
    pub last: Option<BlockTime>,
}

impl Source {
    /// Asks who an address is.
    pub fn profile(&self, address: Address) -> Profile<'_> {
        Profile {
            source: self,
            address,
            selection: Selection::default(),
            tokens: Vec::new(),
            block: None,
            top: 10,
        }
    }
}

impl Profile<'_> {
    /// Only transfers in these blocks. Call again for more blocks; default: all.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.selection.blocks.push(blocks.into());
        self
    }

    /// Answers with the blocks that exist if some are missing.
    pub const fn allow_partial(mut self) -> Self {
        self.selection.allow_partial = true;
        self
    }

    /// Also transfers inside of transactions, which are found by replaying them.
    pub const fn internal(mut self) -> Self {
        self.selection.internal = true;
        self
    }

    /// Reads the balance of this token. Call again for more; default: the tokens with the most
    /// transfers.
    pub fn token(mut self, token: Address) -> Self {
        if !self.tokens.contains(&token) {
            self.tokens.push(token);
        }
        self
    }

    /// Reads the state at the end of this block; default: the newest with a state.
    pub const fn block(mut self, block: u64) -> Self {
        self.block = Some(block);
        self
    }

    /// The number of counterparties in each direction.
    pub const fn top(mut self, counterparties: usize) -> Self {
        self.top = counterparties;
        self
    }

    /// Reads the transfers and the state. A source without a state, or of a chain without known
    /// rules, answers with what it has, and states what is missing.
    ///
    /// # Errors
    ///
    /// If the transfers cannot be read.
    pub fn run(self) -> Result<AddressProfile> {
        let source = self.source;
        let (request, cut) = self.request()?;
        let (seen, mut scan) = retry_on_reorg(source, || self.transfers(&request))?;
        scan.caveats.extend(cut);
        let tokens = if self.tokens.is_empty() {
            seen.most_tokens()
        } else {
            self.tokens.clone()
        };
        let Seen {
            transfers,
            received,
            sent,
            first_funding,
            native,
            ..
        } = seen;
        let first_sent = match sent.first.clone() {
            None => None,
            Some(transfer) => Some(FirstSent {
                gas_payer: self.gas_payer(&transfer)?,
                transfer,
            }),
        };
        let mut profile = AddressProfile {
            address: self.address,
            state: None,
            without_state: None,
            creation: None,
            without_creation: None,
            balances: Vec::new(),
            without_balances: None,
            transfers,
            received: received.finish(self.top),
            sent: sent.finish(self.top),
            first_funding,
            balance_before: None,
            without_balance_before: None,
            unrecorded: None,
            first_sent,
            request,
            scan,
        };
        self.add_balance_before(&mut profile)?;
        self.add_state(&mut profile, &tokens)?;
        profile.unrecorded = profile.unrecorded_of(native);
        Ok(profile)
    }

    /// The request for its transfers, and [`Resolved::cut`].
    fn request(&self) -> Result<(ScanRequest, Option<String>)> {
        let mut filter = self.selection.filter()?;
        filter.touching = Some(AddressFilter {
            addresses: [self.address].into_iter().collect(),
            direction: Direction::Both,
        });
        let Resolved { blocks, cut } = self.selection.resolve(self.source)?;
        let request = ScanRequest {
            blocks,
            filter,
            wrapped_native: self.selection.wrapped_native.clone(),
            with_times: true,
            with_hashes: true,
            allow_partial: self.selection.allow_partial,
        };
        Ok((request, cut))
    }

    fn transfers(&self, request: &ScanRequest) -> Result<(Seen, ScanReport)> {
        let mut seen = Seen::default();
        let scan = crate::query::scan(self.source, request, |batch| {
            for transfer in &batch.transfers {
                seen.add(self.address, transfer);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((seen, scan))
    }

    /// Who signed the transaction of a transfer, if the source has its transactions.
    fn gas_payer(&self, transfer: &Transfer) -> Result<Option<Address>> {
        let mut facts = Transactions::new();
        match self
            .source
            .add_transactions(&mut facts, [transfer].into_iter())
        {
            Ok(()) => Ok(facts.into_values().next().map(|facts| facts.from)),
            Err(error) if error.kind == ErrorKind::Interrupted => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reads what it had before the transfers.
    fn add_balance_before(&self, profile: &mut AddressProfile) -> Result<()> {
        let Some(read) = profile.scan.covered.span() else {
            return Ok(());
        };
        // No transfer is in block 0, and its state has what the genesis allocates.
        let before = read.first.saturating_sub(1);
        match self.source.balances(Some(before), &[(self.address, None)]) {
            Ok((block, balances)) => {
                let balance = balances.into_iter().flatten().next();
                profile.balance_before = balance.map(|balance| (block, balance));
            }
            Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
            Err(error) => profile.without_balance_before = Some(error.message),
        }
        if (profile.balance_before).is_some_and(|(_, balance)| !balance.is_zero()) {
            profile.first_funding = None;
        }
        Ok(())
    }

    fn add_state(&self, profile: &mut AddressProfile, tokens: &[Address]) -> Result<()> {
        let source = self.source;
        let missing = |error: crate::Error| match error.kind {
            ErrorKind::Interrupted => Err(error),
            _ => Ok(Some(error.message)),
        };
        let read = source.with_state(self.block, |state| {
            let account = state.account(self.address)?;
            let code = state.code(self.address)?;
            Ok(ProfileState {
                block: state.block(),
                account,
                code_bytes: code.len(),
                delegate: delegate(&code),
            })
        });
        let state = match read {
            Ok(read) => read,
            Err(error) => {
                profile.without_state = missing(error)?;
                return Ok(());
            }
        };
        profile.balances.push((None, Some(state.account.balance)));
        let (block, is_contract) = (
            state.block,
            state.code_bytes > 0 && state.delegate.is_none(),
        );
        profile.state = Some(state);
        let wanted: Vec<_> = (tokens.iter())
            .map(|token| (self.address, Some(*token)))
            .collect();
        match source.balances(Some(block), &wanted) {
            Ok((_, balances)) => {
                let tokens = tokens.iter().copied().map(Some);
                profile.balances.extend(tokens.zip(balances));
            }
            Err(error) => profile.without_balances = missing(error)?,
        }
        if is_contract {
            match source.creation_of(self.address) {
                Ok(creation) => profile.creation = creation,
                Err(error) => profile.without_creation = missing(error)?,
            }
        }
        Ok(())
    }
}

impl AddressProfile {
    /// Compares the balance of a contract with what it received and sent. Accounts without code
    /// also pay fees, which are no transfers.
    fn unrecorded_of(&self, (received, sent): (AmountSum, AmountSum)) -> Option<Unrecorded> {
        let state = self.state.as_ref()?;
        let is_contract = state.code_bytes > 0 && state.delegate.is_none();
        let (before, opening) = self.balance_before?;
        let [read] = *self.scan.covered.iter().collect::<Vec<_>>() else {
            return None;
        };
        if !is_contract || read.last != state.block || read.first.saturating_sub(1) != before {
            return None;
        }
        let (gained, had) = (
            widen(opening) + received,
            widen(state.account.balance) + sent,
        );
        let difference = |more: AmountSum, less: AmountSum| (more - less).saturating_to();
        match gained.cmp(&had) {
            Ordering::Equal => None,
            Ordering::Greater => Some(Unrecorded::Left(difference(gained, had))),
            Ordering::Less => Some(Unrecorded::Arrived(difference(had, gained))),
        }
    }
}

/// A summary of the transfers of an address so far.
#[derive(Default)]
struct Seen {
    transfers: u64,
    received: Side,
    sent: Side,
    first_funding: Option<Transfer>,
    /// The amounts of the native coin that it received and sent.
    native: (AmountSum, AmountSum),
    /// Transfers by ERC-20 token.
    tokens: BTreeMap<Address, u64>,
}

/// The transfers in one direction.
#[derive(Default)]
struct Side {
    transfers: u64,
    first: Option<Transfer>,
    last: Option<Transfer>,
    counterparties: HashMap<Address, Counterparty>,
}

impl Seen {
    fn add(&mut self, address: Address, transfer: &Transfer) {
        self.transfers += 1;
        let is_native = transfer.token_address.is_none();
        if transfer.to_address == address {
            self.received.add(transfer.from_address, transfer);
            if is_native {
                self.native.0 += widen(transfer.value);
            }
            let is_gift = !transfer.from_address.is_zero() && transfer.from_address != address;
            if is_native && is_gift && self.first_funding.is_none() {
                self.first_funding = Some(transfer.clone());
            }
        }
        if transfer.from_address == address {
            self.sent.add(transfer.to_address, transfer);
            if is_native {
                self.native.1 += widen(transfer.value);
            }
        }
        if let Some(token) = transfer.token_address
            && transfer.token_standard == TokenStandard::Erc20
        {
            *self.tokens.entry(token).or_default() += 1;
        }
    }

    fn most_tokens(&self) -> Vec<Address> {
        let mut tokens: Vec<_> = self.tokens.iter().collect();
        tokens.sort_by_key(|(token, transfers)| (Reverse(**transfers), **token));
        let tokens = tokens.into_iter().map(|(token, _)| *token);
        tokens.take(TOKENS_MAX).collect()
    }
}

impl Side {
    fn add(&mut self, other: Address, transfer: &Transfer) {
        let time = transfer.block_timestamp;
        self.transfers += 1;
        if self.first.is_none() {
            self.first = Some(transfer.clone());
        }
        self.last = Some(transfer.clone());
        let known = self.counterparties.entry(other).or_insert(Counterparty {
            address: other,
            transfers: 0,
            first: time,
            last: time,
        });
        known.transfers += 1;
        known.last = time;
    }

    fn finish(self, top: usize) -> Activity {
        let counterparties = self.counterparties.len() as u64;
        let mut all: Vec<_> = self.counterparties.into_values().collect();
        all.sort_unstable_by_key(|it| (Reverse(it.transfers), it.address));
        all.truncate(top);
        Activity {
            transfers: self.transfers,
            first: self.first,
            last: self.last,
            counterparties,
            top: all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::testing::{address, transfers};

    #[test]
    fn no_address_funds_itself_and_mints_do_not_count() {
        let mut seen = Seen::default();
        for transfer in transfers("a>a:5@eth 0>a:7@eth b>a:3@TOKEN c>a:2@eth a>d:1@eth") {
            seen.add(address("a"), &transfer);
        }
        let funder = seen.first_funding.unwrap().from_address;
        assert_eq!(funder, address("c"));
        let sum = AmountSum::from;
        assert_eq!(seen.native, (sum(14), sum(6)));
    }
}
