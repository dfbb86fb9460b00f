//! The state that the tables have, from the plain tables in layout v1 and the hashed tables in v2.
//! Also code, which is never deleted.
//!
//! It is the state as of the tip, except where [`Snapshot::state_block`] is an earlier block. Then
//! what later blocks changed has an older value here.

use crate::{Account, Layout, Result, Snapshot, account, tables::Table};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use std::ops::ControlFlow;

impl Snapshot<'_> {
    /// Returns an account as the table has it. Only valid under the conditions that
    /// [`Snapshot::state_coverage`] checks.
    pub fn current_account(&self, address: Address) -> Result<Option<Account>> {
        let hash;
        let (table, key) = match self.layout()? {
            Layout::V1 => (Table::PlainAccountState, address.as_slice()),
            Layout::V2 => {
                hash = keccak256(address);
                (Table::HashedAccounts, hash.as_slice())
            }
        };
        let stored = self.txn.get(table, key)?.map(account::account).transpose();
        stored.map_err(|what| self.bad_row(table, &address.to_string(), what))
    }

    /// Returns the value of a slot as the table has it, under the same conditions.
    pub fn current_storage(&self, address: Address, slot: B256) -> Result<U256> {
        let stored = match self.layout()? {
            Layout::V1 => {
                let table = Table::PlainStorageState;
                (
                    table,
                    self.txn
                        .get_duplicate(table, address.as_slice(), slot.as_slice())?,
                )
            }
            Layout::V2 => {
                let table = Table::HashedStorages;
                let (address, slot) = (keccak256(address), keccak256(slot));
                (
                    table,
                    self.txn
                        .get_duplicate(table, address.as_slice(), slot.as_slice())?,
                )
            }
        };
        let (table, Some(value)) = stored else {
            return Ok(U256::ZERO);
        };
        match account::storage_entry(value) {
            Ok((_, value)) => Ok(value),
            Err(what) => Err(self.bad_row(table, &format!("{address}, slot {slot}"), what)),
        }
    }

    /// Visits the non-zero slots of an account in its table, in the order of the table and
    /// with the keys of [`Snapshot::stored_slot`]. Under the same conditions.
    pub fn for_each_current_slot(
        &self,
        address: Address,
        visit: &mut dyn FnMut(B256, U256) -> ControlFlow<()>,
    ) -> Result<()> {
        let hash;
        let (table, key) = match self.layout()? {
            Layout::V1 => (Table::PlainStorageState, address.as_slice()),
            Layout::V2 => {
                hash = keccak256(address);
                (Table::HashedStorages, hash.as_slice())
            }
        };
        let mut rows = self.txn.walk_from(table, key)?;
        while let Some((_, value)) = rows.next()?.filter(|(found, _)| *found == key) {
            let (slot, value) = account::storage_entry(value)
                .map_err(|what| self.bad_row(table, &address.to_string(), what))?;
            if visit(slot, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the key of a slot in the table of current storage: the slot in layout v1, its
    /// Keccak-256 in v2.
    pub fn stored_slot(&self, slot: B256) -> Result<B256> {
        Ok(match self.layout()? {
            Layout::V1 => slot,
            Layout::V2 => keccak256(slot),
        })
    }

    /// Returns code by its hash, after checking the hash. `None` if no account ever had it.
    pub fn code(&self, hash: B256) -> Result<Option<Bytes>> {
        let Some(value) = self.txn.get(Table::Bytecodes, hash.as_slice())? else {
            return Ok(None);
        };
        match account::code(value, hash) {
            Ok(code) => Ok(Some(Bytes::copy_from_slice(code))),
            Err(what) => Err(self.bad_row(Table::Bytecodes, &hash.to_string(), what)),
        }
    }
}
