//! The transfers in order, and by account.

use super::{
    finding::{Evidence, Finding, Found, HUB_COUNTERPARTIES, HUB_TRANSFERS},
    movement::{Movement, Trade, trades},
};
use alloy_primitives::{Address, U256};
use txgraph_base::Interner;
use txgraph_graph::{Csr, SearchError};
use txgraph_transfers::{Kind, Position, TokenStandard, Transfer};

/// The most fungible transfers. Each is in the histories of two accounts, and these places are numbered in
/// `u32`.
const MOVEMENTS_MAX: usize = (1 << 31) - 1;

/// All transfers. Numbers of transfers ascend in the order of the chain.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) addresses: Interner<Address>,
    assets: Interner<Option<Address>>,
    /// Number of the address, number of the asset.
    accounts: Interner<(u32, u32)>,
    movements: Vec<Movement>,
    /// By account: its transfers of an amount to or from others.
    by_account: Csr,
    /// By account: whether it is one of the zero address.
    is_zero: Vec<bool>,
    is_hub: Vec<bool>,
    /// By transfer: whether it is part of a trade.
    trades: Vec<Trade>,
    /// Whether nothing was added since it was sorted.
    is_sorted: bool,
    pub(super) transfers: u64,
}

impl History {
    /// Adds a transfer, in any order.
    pub(super) fn add(&mut self, transfer: &Transfer) -> Result<(), SearchError> {
        self.transfers += 1;
        self.is_sorted = false;
        let from = self.addresses.intern(transfer.from_address)?;
        let to = self.addresses.intern(transfer.to_address)?;
        if !transfer.token_standard.is_fungible() {
            return Ok(());
        }
        let asset = self.assets.intern(transfer.token_address)?;
        if self.movements.len() >= MOVEMENTS_MAX {
            return Err(SearchError::TooLarge { what: "transfers" });
        }
        self.movements.push(Movement {
            position: transfer.position(),
            from: self.accounts.intern((from, asset))?,
            to: self.accounts.intern((to, asset))?,
            value: transfer.value,
            kind: transfer.kind,
        });
        Ok(())
    }

    /// Puts the transfers in order. Nothing else can be asked before.
    pub(super) fn sort(&mut self) {
        if self.is_sorted {
            return;
        }
        self.is_sorted = true;
        if !self.movements.is_sorted_by_key(|it| it.position) {
            self.movements.sort_by_key(|it| it.position);
        }
        let accounts = self.accounts.len();
        self.by_account = Csr::group(accounts, || {
            let moved = (0u32..).zip(&self.movements);
            let moved = moved.filter(|(_, it)| !it.value.is_zero() && it.from != it.to);
            moved.flat_map(|(number, it)| [(it.from, number), (it.to, number)])
        });
        let accounts = || {
            self.all_accounts()
                .map(|account| self.accounts.value(account))
        };
        let is_zero = |(address, _)| self.addresses.value(address).is_zero();
        self.is_zero = accounts().map(is_zero).collect();
        let mut others = Vec::new();
        let is_hub = self.all_accounts().map(|account| {
            let numbers = self.of(account);
            if numbers.len() > HUB_TRANSFERS || numbers.len() <= HUB_COUNTERPARTIES {
                return numbers.len() > HUB_TRANSFERS;
            }
            others.clear();
            others.extend(numbers.iter().map(|number| self.other(*number, account)));
            others.sort_unstable();
            others.dedup();
            others.len() > HUB_COUNTERPARTIES
        });
        self.is_hub = is_hub.collect();
        self.trades = trades(
            &self.movements,
            |it| self.accounts.value(it),
            |it| self.holder(it),
        );
    }

    /// The address and the asset of an account. The contract of a token mints and burns it, so it stands for
    /// the zero address if it is in a transfer.
    fn holder(&self, account: u32) -> (u32, u32) {
        let (address, asset) = self.accounts.value(account);
        let token = self.assets.value(asset).filter(|_| self.is_zero(account));
        let contract = token.and_then(|token| self.addresses.get(&token));
        (contract.unwrap_or(address), asset)
    }

    /// Whether a transfer is part of a trade: in its transaction, its sender gains another token, or its
    /// receiver loses one.
    pub(super) fn is_trade(&self, number: u32) -> bool {
        let trade = self.trades[number as usize];
        trade.sells || trade.buys
    }

    /// Whether the receiver of a transfer loses another token in its transaction.
    pub(super) fn is_bought(&self, number: u32) -> bool {
        self.trades[number as usize].buys
    }

    /// The number of accounts.
    pub(super) fn account_count(&self) -> usize {
        self.accounts.len()
    }

    fn all_accounts(&self) -> impl Iterator<Item = u32> + use<> {
        (0u32..).take(self.accounts.len())
    }

    /// All addresses, by number.
    pub(super) fn all_addresses(&self) -> impl Iterator<Item = Address> {
        (0u32..)
            .take(self.addresses.len())
            .map(|number| self.addresses.value(number))
    }

    /// All accounts with an address other than zero.
    pub(super) fn accounts(&self) -> impl Iterator<Item = u32> {
        self.all_accounts()
            .filter(|account| !self.is_zero(*account))
    }

    /// The transfers of an account to and from others.
    pub(super) fn of(&self, account: u32) -> &[u32] {
        self.by_account.of(account)
    }

    /// The transfers of an account after one of them, until a block.
    pub(super) fn after(&self, account: u32, number: u32, last: u64) -> impl Iterator<Item = u32> {
        let all = self.of(account);
        let next = all.partition_point(|it| *it <= number);
        let later = all[next..].iter().copied();
        later.take_while(move |it| self.get(*it).block() <= last)
    }

    pub(super) fn get(&self, number: u32) -> &Movement {
        &self.movements[number as usize]
    }

    pub(super) fn movements(&self) -> &[Movement] {
        &self.movements
    }

    /// The other account of a transfer.
    pub(super) fn other(&self, number: u32, account: u32) -> u32 {
        let movement = self.get(number);
        match movement.from == account {
            true => movement.to,
            false => movement.from,
        }
    }

    pub(super) fn is_zero(&self, account: u32) -> bool {
        self.is_zero[account as usize]
    }

    /// Whether transfers are not followed through an account.
    pub(super) fn is_hub(&self, account: u32) -> bool {
        self.is_hub[account as usize]
    }

    pub(super) fn hubs(&self) -> u64 {
        self.accounts().filter(|it| self.is_hub(*it)).count() as u64
    }

    /// The numbers of the address and the asset of an account.
    pub(super) fn address_and_asset(&self, account: u32) -> (u32, u32) {
        self.accounts.value(account)
    }

    /// The account of an address with a token, if it is in a transfer.
    pub(super) fn account(&self, address: Address, token: Address) -> Option<u32> {
        let asset = self.assets.get(&Some(token))?;
        self.accounts.get(&(self.addresses.get(&address)?, asset))
    }

    /// The token of an asset; `None` for the native coin.
    pub(super) fn token(&self, asset: u32) -> Option<Address> {
        self.assets.value(asset)
    }

    /// The transfers of the transaction of a transfer, with their numbers.
    pub(super) fn with_transaction(&self, number: u32) -> impl Iterator<Item = (u32, &Movement)> {
        let transaction = self.get(number).transaction();
        let of = move |number: &u32| {
            let it = self.movements.get(*number as usize)?;
            (it.transaction() == transaction).then_some((*number, it))
        };
        let first = (0..number).rev().take_while(move |it| of(it).is_some());
        (first.last().unwrap_or(number)..).map_while(move |it| of(&it))
    }

    pub(super) fn is_native(&self, account: u32) -> bool {
        let (_, asset) = self.accounts.value(account);
        self.assets.value(asset).is_none()
    }

    /// The number of addresses in the evidence. The spender of a drainer is in the approvals, and mostly
    /// in no transfer.
    pub(super) fn addresses_in(&self, found: &Found) -> u64 {
        let ends = found.evidence.iter().flat_map(|(number, _)| {
            let movement = self.get(*number);
            [movement.from, movement.to]
        });
        let mut addresses: Vec<u32> = ends.map(|account| self.accounts.value(account).0).collect();
        addresses.push(found.address);
        addresses.sort_unstable();
        addresses.dedup();
        addresses.len() as u64
    }

    /// The finding with its addresses and transfers.
    pub(super) fn finding(&self, number: u64, addresses: u64, found: &Found) -> Finding {
        let mut evidence = found.evidence.clone();
        evidence.sort_by_key(|(number, _)| *number);
        let evidence: Vec<Evidence> = evidence
            .into_iter()
            .map(|(number, role)| self.evidence(number, role))
            .collect();
        let token_address = self.assets.value(found.asset);
        Finding {
            pattern: found.pattern,
            number,
            address: self.addresses.value(found.address),
            other_address: found.other.map(|address| self.addresses.value(address)),
            token_address,
            token_standard: TokenStandard::of_fungible(token_address),
            amount: found.amount,
            addresses,
            first_block: evidence.first().map_or(0, |it| it.transfer.block_number),
            last_block: evidence.last().map_or(0, |it| it.transfer.block_number),
            note: found.note.clone(),
            evidence,
            approvals: Vec::new(),
        }
    }

    fn evidence(&self, number: u32, role: &'static str) -> Evidence {
        let movement = self.get(number);
        let (from, asset) = self.accounts.value(movement.from);
        let (to, _) = self.accounts.value(movement.to);
        let parties = [from, to].map(|address| self.addresses.value(address));
        Evidence {
            role,
            transfer: transfer(
                movement.position,
                movement.kind,
                (parties, self.assets.value(asset)),
                movement.value,
            ),
        }
    }
}

/// A fungible transfer, of which the time and the hash of the transaction are not known.
pub(super) fn transfer(
    position: Position,
    kind: Kind,
    ([from_address, to_address], token_address): ([Address; 2], Option<Address>),
    value: U256,
) -> Transfer {
    Transfer {
        transaction_index: position.tx,
        log_index: position.log,
        sub_index: position.sub,
        token_address,
        from_address,
        to_address,
        value,
        token_standard: TokenStandard::of_fungible(token_address),
        kind,
        ..Transfer::first_of(position.block)
    }
}
