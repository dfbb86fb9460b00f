//! Who an address is: its account, its first and last transfers, and its counterparties.

mod seen;

pub use seen::{Activity, Counterparty, HeldItem, MovedAsset};

use seen::Seen;

use super::{Creation, contract_facts::ContractFacts};
use crate::{
    AccountState, BlockSpec, ErrorKind, Result, Selection, Source, query::retry::retry_on_reorg,
    select::Resolved,
};
use crate::{
    options::{addresses, given},
    query::query_metadata::Description,
};
use alloy_primitives::{Address, U256};
use std::{cmp::Ordering, ops::ControlFlow};
use txgraph_evm::delegate;
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::StateUsed;
use txgraph_transfers::{AddressFilter, Direction, ScanReport, ScanRequest, Transfer};

/// Asks who an address is. See [`Source::profile`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Profile<'s> {
    source: &'s Source,
    address: Address,
    selection: Selection,
    /// `None`: the tokens with the most transfers.
    tokens: Option<Vec<Address>>,
    block: Option<u64>,
    top: usize,
}

/// The profile of an address.
#[derive(Clone, Debug, Default)]
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
    /// The facts about it, if it is a contract.
    pub contract: Option<ContractFacts>,
    /// Why that is not known.
    pub without_contract: Option<String>,
    /// The balances of the native coin (`None`) and of tokens, at the end of the same block. No
    /// balance: the token does not answer.
    pub balances: Vec<(Option<Address>, Option<U256>)>,
    /// Why there are no balances of tokens.
    pub without_balances: Option<String>,
    /// The number of tokens that it exchanged and whose balances were not asked for.
    pub other_tokens: usize,
    /// The items of ERC-721 and ERC-1155 that it received and did not send on, by token and id.
    pub items: Vec<HeldItem>,
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
    description: Description,
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

impl Source {
    /// Asks who an address is.
    pub fn profile(&self, address: Address) -> Profile<'_> {
        Profile {
            source: self,
            address,
            selection: Selection::default(),
            tokens: None,
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
    /// transfers. `None` is the native coin, whose balance is read in any case.
    pub fn token(mut self, token: impl Into<Option<Address>>) -> Self {
        let tokens = self.tokens.get_or_insert_default();
        tokens.extend(token.into().filter(|token| !tokens.contains(token)));
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
        let description = self.description()?;
        let (request, cut) = self.request()?;
        let (seen, mut scan) = retry_on_reorg(source, || self.transfers(&request))?;
        scan.caveats.extend(cut);
        let (tokens, other_tokens) = match &self.tokens {
            Some(tokens) => (tokens.clone(), 0),
            None => seen.most_tokens(),
        };
        let Seen {
            transfers,
            received,
            sent,
            first_funding,
            native,
            items,
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
            items: items.held(),
            transfers,
            received: received.finish(self.top),
            sent: sent.finish(self.top),
            first_funding,
            first_sent,
            request,
            scan,
            description,
            other_tokens,
            ..AddressProfile::default()
        };
        self.add_balance_before(&mut profile)?;
        self.add_state(&mut profile, &tokens)?;
        profile.unrecorded = profile.unrecorded_of(native);
        Ok(profile)
    }

    /// The query for the metadata of the answer.
    fn description(&self) -> Result<Description> {
        let mut options = given(&self.selection)?;
        options.insert("address".into(), serde_json::json!(self.address));
        if let Some(tokens) = &self.tokens {
            options.insert("token".into(), addresses(tokens));
        }
        if let Some(block) = self.block {
            options.insert("block".into(), block.into());
        }
        Ok(Description::new("address", options))
    }

    /// The request for its transfers, and [`Resolved::cut`].
    fn request(&self) -> Result<(ScanRequest, Option<String>)> {
        let mut filter = self.selection.filter()?;
        filter.touching = Some(AddressFilter::new([self.address], Direction::Both));
        let Resolved { blocks, cut } = self.selection.resolve(self.source)?;
        let request = ScanRequest {
            blocks,
            filter,
            wrapped_native: self.selection.wrapped_native.clone(),
            with_times: true,
            // Few transfers are shown.
            with_hashes: false,
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
        let from = self.source.transfer_source(&request.filter)?;
        let mut shown: Vec<_> = seen.shown().map(|it| it.clone()).collect();
        from.fill_hashes(&mut shown, &scan.anchors)?;
        for (transfer, filled) in seen.shown().zip(shown) {
            *transfer = filled;
        }
        Ok((seen, scan))
    }

    /// Who signed the transaction of a transfer, if the source has its transactions.
    fn gas_payer(&self, transfer: &Transfer) -> Result<Option<Address>> {
        match self.source.initiators([transfer]) {
            Ok(initiators) => Ok(initiators.into_values().next()),
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
                Ok(Some(creation)) => profile.creation = Some(creation),
                Ok(None) => {
                    let why = "it was before the first block whose changes the node keeps";
                    profile.without_creation = Some(why.to_owned());
                }
                Err(error) => profile.without_creation = missing(error)?,
            }
            match source.contract_facts(self.address, block) {
                Ok(facts) => profile.contract = Some(facts),
                Err(error) => profile.without_contract = missing(error)?,
            }
        }
        Ok(())
    }
}

impl AddressProfile {
    /// The parts that could not be read, each with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let is_cut = self.state.is_some() && self.other_tokens > 0;
        let cut = is_cut.then_some("only the 10 tokens with the most transfers were asked");
        let all = [
            ("the state", self.without_state.as_deref()),
            (
                "the balance of each token",
                self.without_balances.as_deref(),
            ),
            ("the balance of any other token", cut),
            ("the creation", self.without_creation.as_deref()),
            (
                "what the contract says of itself",
                self.without_contract.as_deref(),
            ),
        ];
        all.into_iter().filter_map(|(what, why)| Some((what, why?)))
    }

    /// The metadata of the answer. `source` is the source that it came from.
    ///
    /// # Errors
    ///
    /// If the chain of the source cannot be read.
    pub fn metadata(&self, source: &Source) -> Result<txgraph_export::Metadata> {
        let mut metadata =
            (self.description).metadata(source.chain()?, &self.request.blocks, &self.scan);
        let block = self.state.as_ref().map(|state| state.block);
        metadata.state = Some(StateUsed { block });
        Ok(metadata)
    }

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
