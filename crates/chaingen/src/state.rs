//! The accounts: nonces, balances and code hashes, with what an unwind needs.
//!
//! Every payment, fee, withdrawal and creation is accounted for. Contracts have no
//! storage, because their code is not executed.

use super::{
    Changed, Error,
    block::Body,
    config::Layout,
    encode::{self, Account},
    header::blob_fee,
    intent::Effect,
    tables::Changes,
};
use alloy_consensus::Header;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::map::AddressHashMap;
use alloy_primitives::{Address, U256, keccak256};
use std::collections::{BTreeMap, BTreeSet};

/// The accounts that a block changed, sorted.
pub(super) type Touched = BTreeMap<Address, Changed<Option<Account>>>;

/// Values of accounts; `None` if the account does not exist.
pub(super) type Values = BTreeMap<Address, Option<Account>>;

/// Accounts that differ from the tables, or that were read.
#[derive(Debug)]
pub(super) struct Accounts {
    layout: Layout,
    /// Accounts read or changed in the current commit, and those whose row is of an earlier
    /// block; `None` if the account does not exist.
    cache: AddressHashMap<Option<Account>>,
}

impl Accounts {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            cache: AddressHashMap::default(),
        }
    }

    fn load(&mut self, changes: &Changes, address: Address) -> Result<Option<Account>, Error> {
        if let Some(account) = self.cache.get(&address) {
            return Ok(*account);
        }
        let bytes = match self.layout {
            Layout::V1 => changes.get("PlainAccountState", address.as_slice())?,
            Layout::V2 => changes.get("HashedAccounts", keccak256(address).as_slice())?,
        };
        let account = bytes.and_then(|bytes| encode::read_account(&bytes));
        self.cache.insert(address, account);
        Ok(account)
    }

    /// Applies a block with its header, and returns what it changed.
    pub(super) fn apply(
        &mut self,
        changes: &Changes,
        header: &Header,
        body: &Body,
    ) -> Result<Touched, Error> {
        let mut block = BlockState {
            accounts: self,
            changes,
            before: Values::new(),
        };
        let base_fee = u128::from(header.base_fee_per_gas.unwrap_or_default());
        for done in &body.transactions {
            let fee = done.fee;
            let price = fee.max_fee.min(base_fee + fee.max_priority_fee);
            let mut cost = U256::from(price) * U256::from(fee.gas_used);
            if fee.blobs > 0 {
                cost += blob_fee(header) * U256::from(fee.blobs * DATA_GAS_PER_BLOB);
            }
            block.change(done.row.sender, |sender| sender.nonce = done.nonce + 1)?;
            block.charge(done.row.sender, cost)?;
            let tip = U256::from(price.saturating_sub(base_fee)) * U256::from(fee.gas_used);
            block.pay(None, header.beneficiary, tip)?;
            block.pay(Some(done.row.sender), done.to, done.value)?;
            for effect in &done.effects {
                match *effect {
                    Effect::Moves { from, to, value } => block.pay(Some(from), to, value)?,
                    Effect::Code {
                        account,
                        nonce,
                        code_hash,
                    } => {
                        block.change(account, |account| {
                            account.nonce = nonce;
                            account.code_hash = Some(code_hash);
                        })?;
                    }
                }
            }
        }
        for withdrawal in body.withdrawals.iter().flatten() {
            let wei = U256::from(withdrawal.amount) * U256::from(1_000_000_000);
            block.pay(None, withdrawal.address, wei)?;
        }
        let before = block.before;
        let touched = before.into_iter().map(|(address, before)| {
            let after = self.cache.get(&address).copied().unwrap_or(before);
            (address, Changed { before, after })
        });
        Ok(touched.filter(|(_, it)| it.before != it.after).collect())
    }

    /// Sets accounts, such as those that a removed block changed.
    pub(super) fn set(&mut self, values: &Values) {
        self.cache.extend(values);
    }

    /// Forgets all accounts but these.
    pub(super) fn keep(&mut self, addresses: &BTreeSet<Address>) {
        self.cache.retain(|address, _| addresses.contains(address));
    }
}

struct BlockState<'a> {
    accounts: &'a mut Accounts,
    changes: &'a Changes,
    before: Values,
}

impl BlockState<'_> {
    fn change(&mut self, address: Address, change: impl FnOnce(&mut Account)) -> Result<(), Error> {
        let before = self.accounts.load(self.changes, address)?;
        self.before.entry(address).or_insert(before);
        let mut account = before.unwrap_or_default();
        change(&mut account);
        self.accounts.cache.insert(address, Some(account));
        Ok(())
    }

    fn pay(&mut self, from: Option<Address>, to: Address, value: U256) -> Result<(), Error> {
        if value.is_zero() {
            return Ok(());
        }
        if let Some(from) = from {
            self.charge(from, value)?;
        }
        self.change(to, |payee| {
            payee.balance = payee.balance.saturating_add(value)
        })
    }

    /// An account cannot pay more than it has. Signers start with enough for millions of
    /// blocks.
    fn charge(&mut self, payer: Address, value: U256) -> Result<(), Error> {
        let mut short = false;
        self.change(payer, |payer| match payer.balance.checked_sub(value) {
            Some(rest) => payer.balance = rest,
            None => short = true,
        })?;
        if short {
            return Err(Error::Config(format!(
                "{payer} cannot pay {value} wei any more"
            )));
        }
        Ok(())
    }
}
