//! State as of the end of one block.

use crate::{
    BlockChanges, Error, NewestState, Result, StateDb, changes::to_account, overlay::Overlay,
};
use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256,
    map::{AddressHashMap, B256HashSet, HashMap},
};
use std::{ops::ControlFlow, sync::Arc};
use txgraph_evm::{Account, StateSource};
use txgraph_nodedb::{BlockRange, Layout, Scratch, Snapshot};
use txgraph_work::Retry;

/// The changes of an account among which its destruction is looked for, see
/// [`StateRange::checked`](crate::StateRange::checked). Accounts that are created again have few.
const DESTRUCTION_CHANGES: u32 = 64;

/// State as of the end of one block, with its own snapshot. Keep it only for the replay of
/// the next block.
#[derive(Debug)]
pub struct StateAt<'db> {
    db: &'db StateDb,
    snapshot: Snapshot<'db>,
    block: u64,
    past: Past,
    /// Changes by the blocks whose state the node has not stored, for a state after one of them.
    newest: Option<Arc<NewestState>>,
    /// The previous values of what the next block changes, after [`Self::prefetch`].
    fetched_accounts: AddressHashMap<Option<Account>>,
    fetched_slots: HashMap<(Address, B256), U256>,
    /// See [`StateRange::checked`](crate::StateRange::checked).
    pub(crate) checked: bool,
}

/// Where values from before later changes are found.
#[derive(Debug)]
pub(crate) enum Past {
    /// Nowhere: the block is the tip.
    Current,
    /// In the change set that the history index points to.
    Index,
    /// In the changes of all later blocks.
    Overlay(Arc<Overlay>),
}

impl StateDb {
    /// Returns the state as of the end of a block, on a fresh snapshot. Without a usable
    /// index this works for the tip only; see [`StateDb::range`].
    pub fn at(&self, block: u64) -> Result<StateAt<'_>> {
        Retry::REREAD.run("reading a state", Error::is_stale, || {
            let newest = self.newest_for(block)?;
            self.at_with(self.node().snapshot()?, block, newest)
        })
    }

    /// Returns the state as of the end of a block, with what the newest blocks changed.
    pub(crate) fn at_with<'db>(
        &'db self,
        snapshot: Snapshot<'db>,
        block: u64,
        newest: Option<Arc<NewestState>>,
    ) -> Result<StateAt<'db>> {
        let past = self.look_up(&snapshot, block)?;
        StateAt::new(self, snapshot, block, past, newest)
    }

    /// Determines how to find the state after a block without an overlay.
    pub(crate) fn look_up(&self, snapshot: &Snapshot<'_>, block: u64) -> Result<Past> {
        let available = self.available_in(snapshot)?;
        available.check(self.path(), block)?;
        if block == snapshot.tip() {
            return Ok(Past::Current);
        }
        match &available.index_obstacle {
            Some(reason) if block < available.indexed_from => Err(Error::NoIndex {
                path: self.path().to_path_buf(),
                block,
                reason: reason.clone(),
            }),
            _ => Ok(Past::Index),
        }
    }
}

impl<'db> StateAt<'db> {
    pub(crate) fn new(
        db: &'db StateDb,
        snapshot: Snapshot<'db>,
        block: u64,
        past: Past,
        newest: Option<Arc<NewestState>>,
    ) -> Result<Self> {
        // The chain may have changed since `newest` was made, under another snapshot.
        let state_block = db.available_in(&snapshot)?.state_block;
        let holds = match &newest {
            None => block <= state_block,
            // What it does not contain is in the tables, or in the change sets of later blocks.
            Some(newest) => {
                newest.base() <= state_block
                    && block <= newest.last()
                    && newest.last() <= snapshot.tip()
                    && snapshot.block_hash(newest.last())? == newest.last_hash()
            }
        };
        if !holds {
            return Err(Error::Reorganized { block });
        }
        Ok(Self {
            db,
            snapshot,
            block,
            past,
            newest,
            fetched_accounts: AddressHashMap::default(),
            fetched_slots: HashMap::default(),
            checked: false,
        })
    }

    /// Returns the block after which this is the state.
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// Returns the snapshot that state is read from, for headers and transactions of the
    /// same chain.
    pub const fn snapshot(&self) -> &Snapshot<'db> {
        &self.snapshot
    }

    /// Reads what the next block changed.
    pub fn next_changes(&self) -> Result<BlockChanges> {
        BlockChanges::of(self.block + 1, &self.snapshot, &mut Scratch::default())
    }

    /// Stores the previous values in the change set of the next block: they are values of
    /// this state. Reading a change set is two sequential reads instead of two lookups for
    /// every account and slot. What the next block only reads is still looked up.
    pub fn prefetch(&mut self, next: &BlockChanges) {
        debug_assert_eq!(next.block, self.block + 1);
        if next.block != self.block + 1 {
            return;
        }
        let accounts = next.accounts.iter();
        self.fetched_accounts
            .extend(accounts.map(|change| (change.address, change.before)));
        let slots = next.storage.iter();
        self.fetched_slots
            .extend(slots.map(|change| ((change.address, change.slot.into()), change.before)));
    }

    /// Returns an account; `None` if it does not exist.
    pub fn account(&self, address: Address) -> Result<Option<Account>> {
        if let Some(fetched) = self.fetched_accounts.get(&address) {
            return Ok(*fetched);
        }
        let before = match &self.past {
            Past::Current => None,
            Past::Overlay(overlay) => {
                let before = overlay.account(address, self.block)?;
                before.map(|account| account.map(to_account))
            }
            Past::Index => match self.snapshot.next_account_change(address, self.block)? {
                None => None,
                Some(block) => Some(self.account_before(block, address)?),
            },
        };
        if let Some(before) = before {
            return Ok(before);
        }
        let newest = self.newest.as_ref();
        match newest.and_then(|newest| newest.account(address)) {
            Some(account) => Ok(account),
            None => Ok(self.snapshot.current_account(address)?.map(to_account)),
        }
    }

    /// Visits the blocks after this one, up to `last`, that changed an account, ascending, with the
    /// account before each.
    pub(crate) fn account_changes(
        &self,
        address: Address,
        last: u64,
        visit: &mut dyn FnMut(u64, Option<Account>) -> ControlFlow<()>,
    ) -> Result<()> {
        match &self.past {
            Past::Current => Ok(()),
            Past::Overlay(overlay) => {
                overlay.account_changes(address, self.block, &mut |block, before| match block {
                    _ if block > last => ControlFlow::Break(()),
                    _ => visit(block, before.map(to_account)),
                })
            }
            Past::Index => {
                let next = |block| self.snapshot.next_account_change(address, block);
                let before = |block| self.account_before(block, address);
                self.indexed_changes(last, &next, &before, visit)
            }
        }
    }

    /// Like [`Self::account_changes`], for a slot. The values come from the change sets, also in a
    /// [checked](crate::StateRange::checked) range.
    pub(crate) fn storage_changes(
        &self,
        address: Address,
        slot: B256,
        last: u64,
        visit: &mut dyn FnMut(u64, U256) -> ControlFlow<()>,
    ) -> Result<()> {
        match &self.past {
            Past::Current => Ok(()),
            Past::Overlay(overlay) => {
                overlay.storage_changes(address, slot, self.block, &mut |block, before| match block
                {
                    _ if block > last => ControlFlow::Break(()),
                    _ => visit(block, before),
                })
            }
            Past::Index => {
                let next = |block| self.snapshot.next_storage_change(address, slot, block);
                let before = |block| self.slot_before(block, address, slot);
                self.indexed_changes(last, &next, &before, visit)
            }
        }
    }

    /// Visits the blocks after this one, up to `last`, that `next` finds in the index, with the values
    /// before them.
    fn indexed_changes<T>(
        &self,
        last: u64,
        next: &dyn Fn(u64) -> txgraph_nodedb::Result<Option<u64>>,
        before: &dyn Fn(u64) -> Result<T>,
        visit: &mut dyn FnMut(u64, T) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut block = self.block;
        while let Some(change) = next(block)?
            && change <= last
        {
            if visit(change, before(change)?).is_break() {
                break;
            }
            block = change;
        }
        Ok(())
    }

    /// An account before a block that changed it, by the index.
    fn account_before(&self, block: u64, address: Address) -> Result<Option<Account>> {
        let before = self.snapshot.account_before(block, address)?;
        let missing = || missing_change(block, format!("account {address}"));
        Ok(before.ok_or_else(missing)?.map(to_account))
    }

    /// Returns the value of a slot.
    pub fn storage(&self, address: Address, slot: B256) -> Result<U256> {
        if let Some(fetched) = self.fetched_slots.get(&(address, slot)) {
            return Ok(*fetched);
        }
        let value = match self.before_change(address, slot)? {
            Some(before) => before,
            None => match self.newest.as_ref().and_then(|it| it.slot(address, slot)) {
                Some(value) => value,
                None => self.snapshot.current_storage(address, slot)?,
            },
        };
        match (self.checked && value.is_zero(), &self.past) {
            (true, Past::Index) => self.check_zero(address, slot),
            (true, Past::Overlay(_)) => self.check_zero_without_index(address, slot),
            _ => Ok(value),
        }
    }

    /// Returns the value of a slot, if a later block changed it.
    fn before_change(&self, address: Address, slot: B256) -> Result<Option<U256>> {
        match &self.past {
            Past::Current => Ok(None),
            Past::Overlay(overlay) => overlay.storage(address, slot, self.block),
            Past::Index => match self
                .snapshot
                .next_storage_change(address, slot, self.block)?
            {
                None => Ok(None),
                Some(block) => self.slot_before(block, address, slot).map(Some),
            },
        }
    }

    /// A slot before a block that changed it, by the index.
    fn slot_before(&self, block: u64, address: Address, slot: B256) -> Result<U256> {
        let before = self.snapshot.storage_before(block, address, slot)?;
        let missing = || missing_change(block, format!("slot {slot} of {address}"));
        before.ok_or_else(missing)
    }

    /// Returns the value of a slot that is zero according to the node.
    ///
    /// A v2 node loses the value if it destroys an account that was destroyed and created again
    /// before (see the [crate](crate)). It may not even list a change. So the block that wrote the
    /// slot is executed if the account is destroyed later, and those that changed the account
    /// since.
    fn check_zero(&self, address: Address, slot: B256) -> Result<U256> {
        // A pruned index refuses queries about blocks before it. One of them may have written the
        // slot.
        let indexed_from = self.db.available_in(&self.snapshot)?.indexed_from;
        let written = self.last_write(address, slot, indexed_from)?;
        if written.is_none() && indexed_from == 0 {
            return Ok(U256::ZERO);
        }
        // Since Cancun, whose headers have blob gas, contracts stay.
        let since = written.unwrap_or(self.block);
        if self.snapshot.header(since)?.excess_blob_gas.is_some()
            || !self.is_destroyed_later(address, slot)?
        {
            return Ok(U256::ZERO);
        }
        let unsure = |why: String| Error::UnsureSlot {
            address,
            slot,
            block: self.block,
            why,
        };
        let Some(written) = written else {
            return Err(unsure(format!(
                "the block that wrote it is not known: the index begins after block {indexed_from}"
            )));
        };
        let Some(executor) = &self.db.newest else {
            return Err(unsure(format!(
                "without the rules of the chain, block {written} cannot be executed"
            )));
        };
        let mut value = U256::ZERO;
        let mut block = Some(written);
        for _ in 0..DESTRUCTION_CHANGES {
            let Some(at) = block.filter(|at| *at <= self.block) else {
                return Ok(value);
            };
            let blocks = BlockRange::one(at);
            let hash = self.snapshot.block_hash(at)?;
            let executed = match executor.state(self.db, blocks, hash) {
                Err(error) if !error.is_stale() => return Err(unsure(error.to_string())),
                executed => executed?,
            };
            value = executed.slot(address, slot).unwrap_or(value);
            block = self.snapshot.next_account_change(address, at)?;
        }
        Err(unsure(format!(
            "more than {DESTRUCTION_CHANGES} blocks changed the account after block {written}"
        )))
    }

    /// The last block after `indexed_from`, up to this one, that changed a slot, by the index.
    fn last_write(&self, address: Address, slot: B256, indexed_from: u64) -> Result<Option<u64>> {
        let changes_after = |from: u64| -> Result<bool> {
            let change = self.snapshot.next_storage_change(address, slot, from)?;
            Ok(change.is_some_and(|change| change <= self.block))
        };
        if !changes_after(indexed_from)? {
            return Ok(None);
        }
        // A change is above `low`, and none above `written`.
        let (mut low, mut written) = (indexed_from, self.block);
        while written - low > 1 {
            let middle = low + (written - low) / 2;
            match changes_after(middle)? {
                true => low = middle,
                false => written = middle,
            }
        }
        Ok(Some(written))
    }

    /// Refuses a zero that a v2 node may have stored in place of a value that it lost. Without the index,
    /// the block that wrote the slot is not found.
    fn check_zero_without_index(&self, address: Address, slot: B256) -> Result<U256> {
        let may_be_lost = self.snapshot.layout()? == Layout::V2
            && self.snapshot.header(self.block)?.excess_blob_gas.is_none()
            && self.is_destroyed_later(address, slot)?;
        match may_be_lost {
            false => Ok(U256::ZERO),
            true => Err(Error::UnsureSlot {
                address,
                slot,
                block: self.block,
                why: "the history indices, which list its changes, are not readable".to_owned(),
            }),
        }
    }

    /// Whether a contract is destroyed by one of its next changes, up to the next one of a slot. By an overlay,
    /// whether it may be.
    fn is_destroyed_later(&self, address: Address, slot: B256) -> Result<bool> {
        let now = self.account(address)?;
        let Some(now) = now.filter(|account| account.code_hash != KECCAK256_EMPTY) else {
            return Ok(false);
        };
        let is_gone =
            |after: Option<Account>| after.is_none_or(|after| after.code_hash != now.code_hash);
        let mut end = u64::MAX;
        self.storage_changes(address, slot, u64::MAX, &mut |block, _| {
            end = block;
            ControlFlow::Break(())
        })?;
        let (mut changes, mut is_destroyed, mut is_last) = (0_u32, false, true);
        self.account_changes(address, u64::MAX, &mut |block, before| {
            // The account before a change is the one after the change before it.
            is_destroyed = changes > 0 && is_gone(before);
            is_last = !is_destroyed && block <= end && changes < DESTRUCTION_CHANGES;
            changes += 1;
            match is_last {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if is_last && changes > 0 {
            // Behind its range, an overlay has the first change only.
            if let Past::Overlay(_) = self.past {
                return Ok(true);
            }
            return Ok(is_gone(
                self.snapshot.current_account(address)?.map(to_account),
            ));
        }
        Ok(is_destroyed)
    }

    /// Returns code by its hash.
    pub fn code(&self, hash: B256) -> Result<Bytes> {
        if hash == KECCAK256_EMPTY {
            return Ok(Bytes::new());
        }
        if let Some(code) = self.db.codes.get(&hash) {
            return Ok(code);
        }
        let code = match self.newest.as_ref().and_then(|newest| newest.code(hash)) {
            Some(code) => Some(code.clone()),
            None => self.snapshot.code(hash)?,
        };
        let code = code.ok_or(Error::MissingCode { hash })?;
        self.db.codes.insert(hash, code.clone());
        Ok(code)
    }

    /// Returns whether an account has a slot that is not zero. Reads all slots that later
    /// blocks changed, then the newest ones, then the stored ones.
    pub fn has_storage(&self, address: Address) -> Result<bool> {
        // With the keys of the table of current slots.
        let mut changed = B256HashSet::default();
        let mut seen = |slot, before: U256| -> Result<bool> {
            changed.insert(self.snapshot.stored_slot(slot)?);
            Ok(!before.is_zero())
        };
        match &self.past {
            Past::Current => {}
            Past::Overlay(overlay) => {
                for (slot, before) in overlay.slots(address, self.block)? {
                    if seen(slot, before)? {
                        return Ok(true);
                    }
                }
            }
            Past::Index => {
                let mut next = self.snapshot.next_indexed_slot(address, B256::ZERO)?;
                while let Some(slot) = next {
                    if let Some(before) = self.before_change(address, slot)?
                        && seen(slot, before)?
                    {
                        return Ok(true);
                    }
                    next = match U256::from_be_bytes(slot.0).checked_add(U256::ONE) {
                        Some(from) => self.snapshot.next_indexed_slot(address, from.into())?,
                        None => None,
                    };
                }
            }
        }
        // Without a later change, a slot already had its newest value.
        if let Some(newest) = self.newest.as_ref().and_then(|it| it.slots(address)) {
            for (slot, value) in &newest.values {
                let is_newest = changed.insert(self.snapshot.stored_slot(*slot)?);
                if is_newest && !value.is_zero() {
                    return Ok(true);
                }
            }
            if newest.cleared {
                return Ok(false);
            }
        }
        let mut found = false;
        self.snapshot
            .for_each_current_slot(address, &mut |slot, _| {
                found = !changed.contains(&slot);
                if found {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        Ok(found)
    }
}

#[cold]
fn missing_change(block: u64, what: String) -> Error {
    Error::MissingChange { block, what }
}

impl StateSource for StateAt<'_> {
    type Error = Error;

    fn account(&mut self, address: Address) -> Result<Option<Account>> {
        StateAt::account(self, address)
    }

    /// On a chain whose rules are not known, calls are executed with another chain's rules, so that
    /// they may use a stored value that cannot be checked.
    fn storage(&mut self, address: Address, key: U256) -> Result<U256> {
        match StateAt::storage(self, address, key.into()) {
            Err(Error::UnsureSlot { .. }) if self.db.newest.is_none() => Ok(U256::ZERO),
            found => found,
        }
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes> {
        StateAt::code(self, code_hash)
    }

    /// Zero for blocks above the one of this state.
    fn block_hash(&mut self, number: u64) -> Result<B256> {
        if number > self.block {
            return Ok(B256::ZERO);
        }
        Ok(self.snapshot.block_hash(number)?)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool> {
        StateAt::has_storage(self, address)
    }
}
