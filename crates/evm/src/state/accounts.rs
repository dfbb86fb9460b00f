//! Accounts in the journal.

use super::{
    codes::NO_CODE,
    entry::{AccountEntry, Change},
    journal::Journal,
};
use crate::{
    code::{Code, CodeCache},
    source::{Failed, Source},
    word::Word,
};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY};
use std::sync::Arc;

impl Journal {
    /// The number of an account, which is read on its first use.
    #[inline]
    pub(crate) fn load(
        &mut self,
        source: &mut dyn Source,
        address: Address,
    ) -> Result<u32, Failed> {
        match self.account_ids.get(&address) {
            Some(account) => Ok(*account),
            None => self.load_new(source, address),
        }
    }

    #[cold]
    fn load_new(&mut self, source: &mut dyn Source, address: Address) -> Result<u32, Failed> {
        let original = source.account(address)?;
        let account = self.accounts.len() as u32;
        let is_warm = self.warm.has_account(&address);
        let warm = if is_warm { self.transaction } else { 0 };
        self.accounts
            .push(AccountEntry::new(address, original, warm));
        self.account_ids.insert(address, account);
        Ok(account)
    }

    #[inline(always)]
    pub(crate) fn account(&self, account: u32) -> &AccountEntry {
        &self.accounts[account as usize]
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, account: u32) -> &mut AccountEntry {
        &mut self.accounts[account as usize]
    }

    /// Makes an account warm; returns whether it was cold in this transaction.
    #[inline(always)]
    pub(crate) fn warm_account(&mut self, account: u32) -> bool {
        let transaction = self.transaction;
        let entry = self.entry(account);
        if entry.warm == transaction {
            return false;
        }
        entry.warm = transaction;
        self.changes.push(Change::AccountWarmed { account });
        true
    }

    /// Makes an account warm for this transaction, without reading it.
    pub(crate) fn announce_account(&mut self, address: Address) {
        match self.account_ids.get(&address).copied() {
            Some(account) => drop(self.warm_account(account)),
            None => drop(self.warm.accounts.insert(address)),
        }
    }

    /// Whether an account is cold, without reading it.
    #[cold]
    pub(crate) fn is_cold(&self, address: &Address) -> bool {
        match self.account_ids.get(address) {
            Some(account) => self.account(*account).warm != self.transaction,
            None => !self.warm.has_account(address),
        }
    }

    /// Marks an account as accessed. The access is paid, so it belongs to the block's access list even
    /// if the frame fails (EIP-7928).
    #[inline(always)]
    pub(crate) fn mark_accessed(&mut self, account: u32) {
        self.entry(account).accessed = true;
    }

    #[inline(always)]
    pub(crate) fn touch(&mut self, account: u32) {
        let transaction = self.transaction;
        let entry = self.entry(account);
        if entry.touched != transaction {
            entry.touched = transaction;
            let existed = std::mem::replace(&mut entry.exists, true);
            self.changes.push(Change::Touched { account, existed });
            self.touched.push(account);
        }
    }

    pub(super) fn set_balance(&mut self, account: u32, balance: Word) {
        self.touch(account);
        let before = std::mem::replace(&mut self.entry(account).balance, balance);
        self.changes.push(Change::Balance { account, before });
    }

    /// Adds wei. Wraps at 2^256, which no chain reaches.
    pub(crate) fn add_balance(&mut self, account: u32, amount: Word) {
        if amount.is_zero() {
            self.touch(account);
        } else {
            let balance = self.account(account).balance.wrapping_add(amount);
            self.set_balance(account, balance);
        }
    }

    /// Removes wei. Returns `false`, without a change, if the balance is too low.
    #[must_use]
    pub(crate) fn subtract_balance(&mut self, account: u32, amount: Word) -> bool {
        let balance = self.account(account).balance;
        if balance.lt(amount) {
            return false;
        }
        if amount.is_zero() {
            self.touch(account);
        } else {
            self.set_balance(account, balance.wrapping_sub(amount));
        }
        true
    }

    pub(crate) fn set_nonce(&mut self, account: u32, nonce: u64) {
        self.touch(account);
        let before = std::mem::replace(&mut self.entry(account).nonce, nonce);
        self.changes.push(Change::Nonce { account, before });
    }

    pub(crate) fn set_code(&mut self, account: u32, code_hash: B256, code: Arc<Code>) {
        self.touch(account);
        self.bytes_kept += code.footprint();
        let code = self.codes.add(code);
        let entry = self.entry(account);
        let before = (
            std::mem::replace(&mut entry.code_hash, code_hash),
            entry.code.replace(code),
        );
        let before = Box::new(before);
        self.changes.push(Change::Code { account, before });
    }

    /// Marks an account as a new contract.
    pub(crate) fn mark_created(&mut self, account: u32) {
        self.touch(account);
        let transaction = self.transaction;
        let before = std::mem::replace(&mut self.entry(account).created, transaction);
        self.changes.push(Change::Created { account, before });
    }

    pub(crate) fn was_created_now(&self, account: u32) -> bool {
        self.account(account).created == self.transaction
    }

    /// Marks an account as destroyed; returns whether it was not before, in this transaction.
    pub(crate) fn mark_destroyed(&mut self, account: u32) -> bool {
        self.touch(account);
        let transaction = self.transaction;
        let entry = self.entry(account);
        if entry.destroyed == transaction {
            return false;
        }
        entry.destroyed = transaction;
        self.changes.push(Change::Destroyed { account });
        true
    }

    /// The number of the prepared code of an account.
    #[inline]
    pub(crate) fn code(
        &mut self,
        source: &mut dyn Source,
        cache: &CodeCache,
        account: u32,
    ) -> Result<u32, Failed> {
        match self.account(account).code {
            Some(code) => Ok(code),
            None => self.load_code(source, cache, account),
        }
    }

    #[cold]
    fn load_code(
        &mut self,
        source: &mut dyn Source,
        cache: &CodeCache,
        account: u32,
    ) -> Result<u32, Failed> {
        let hash = self.account(account).code_hash;
        let code = if hash == KECCAK256_EMPTY {
            NO_CODE
        } else {
            let code = match cache.get(&hash) {
                Some(code) => code,
                None => cache.insert(hash, cache.prepare(&source.code(hash)?)),
            };
            self.codes.add(code)
        };
        self.entry(account).code = Some(code);
        Ok(code)
    }

    /// The code of an account, without preparing it.
    pub(super) fn code_bytes(
        &mut self,
        source: &mut dyn Source,
        account: u32,
    ) -> Result<Bytes, Failed> {
        let entry = self.account(account);
        match entry.code {
            Some(code) => Ok(self.codes.get(code).bytes().clone()),
            None if entry.has_code() => source.code(entry.code_hash),
            None => Ok(Bytes::new()),
        }
    }
}
