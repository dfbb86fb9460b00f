//! Writes blocks: first the rows, then the records that make them visible.

use super::{
    super::{
        Changed, Error,
        block::Body,
        config::Layout,
        encode::{self, Account},
        error::Io,
        header,
        jar::Segment,
        masking,
        segments::{self, Segments},
        state::{Touched, Values},
        tables::{Changes, Frontier, StateRows},
        world::CONTRACT_CODE,
    },
    Appender, Recent, Uncommitted,
};
use alloy_primitives::Address;
use std::{collections::BTreeSet, thread};

impl Appender {
    pub(super) fn write_genesis(&mut self) -> Result<(), Error> {
        let specification = self.folder.join("genesis.json");
        let json = serde_json::to_vec_pretty(&header::specification(&self.world));
        let json = json.map_err(|e| Error::Config(e.to_string()))?;
        std::fs::write(&specification, json).io(&specification, "write")?;

        let changes = self.tables.begin()?;
        let (mut values, mut touched) = (Values::new(), Touched::new());
        for account in self.world.genesis_accounts() {
            let code_hash = account.contract.then_some(self.world.contract_code_hash);
            let state = Account {
                nonce: 0,
                balance: account.balance,
                code_hash,
            };
            values.insert(account.address, Some(state));
            let changed = Changed {
                before: None,
                after: Some(state),
            };
            touched.insert(account.address, changed);
        }
        let world = &self.world;
        for (hash, code, delegation) in [
            (world.contract_code_hash, &CONTRACT_CODE[..], false),
            (world.delegation_hash, &world.delegation[..], true),
        ] {
            changes.put(
                "Bytecodes",
                hash.as_slice(),
                &encode::bytecode(code, delegation),
            )?;
        }
        self.tables.identify(&changes, self.header.timestamp)?;

        let header = self.header.clone();
        self.segments.begin_block(&changes, &header, self.hash)?;
        self.segments
            .write_body(&changes, 0, 0, std::iter::empty(), &[])?;
        self.write_before(&changes, 0, &touched)?;
        self.uncommitted.accounts = values;
        self.commit(changes)
    }

    /// Writes the rows of the next block.
    pub(super) fn write(&mut self, changes: &Changes, body: &Body) -> Result<(), Error> {
        let header = header::on_top_of(&self.header, self.hash, body, &self.world.config);
        if header.gas_used > header.gas_limit {
            let problem = format!("block {} needs more gas than there is", body.number);
            return Err(Error::Config(problem));
        }
        let hash = header.hash_slow();
        let touched = self.accounts.apply(changes, &header, body)?;
        self.segments.begin_block(changes, &header, hash)?;
        let first_tx = self.next_tx;
        let rows = || body.transactions.iter().map(|done| &done.row);
        let withdrawals = body.withdrawals.as_deref().unwrap_or_default();
        self.next_tx =
            self.segments
                .write_body(changes, body.number, first_tx, rows(), withdrawals)?;
        let tx_hashes: Vec<_> = rows().map(|row| row.hash).collect();
        if self.world.config.layout == Layout::V1 {
            let lookup = tx_hashes.iter().copied().zip(first_tx..);
            self.uncommitted.lookup.extend(lookup);
        }
        self.write_before(changes, body.number, &touched)?;
        if let Some(truth) = &mut self.truth {
            truth.add(&self.world, body);
        }
        self.signed.push(body.signed_after);
        self.recent.push_back(Recent {
            header: header.clone(),
            hash,
            first_tx,
            tx_hashes,
            touched,
        });
        (self.header, self.hash) = (header, hash);
        Ok(())
    }

    /// Takes over hashed state, as far as a node would write it after the newest block, and
    /// forgets blocks that are final.
    pub(super) fn settle(&mut self) {
        let (tip, config) = (self.header.number, &self.world.config);
        let state = tip.saturating_sub(config.masking_blocks).max(self.state);
        let behind = self.behind().map(|it| (it.header.number, &it.touched));
        let rows = masking::written(behind, state);
        self.uncommitted.accounts.extend(rows);
        self.state = state;
        self.finalized = self.finalized.max(tip.saturating_sub(config.finality));
        // Keeps the finalized block itself, which may become the tip.
        let oldest = self.finalized.min(state);
        let old = self.recent.partition_point(|it| it.header.number < oldest);
        self.recent.drain(..old);
    }

    /// Writes the previous values of the accounts that a block changed.
    fn write_before(
        &mut self,
        changes: &Changes,
        block: u64,
        touched: &Touched,
    ) -> Result<(), Error> {
        let rows = touched
            .iter()
            .map(|(address, it)| encode::account_before(*address, it.before.as_ref()));
        self.segments
            .write_before(changes, block, &rows.collect::<Vec<_>>(), &[])
    }

    /// Commits static files, then the tables.
    pub(super) fn commit(&mut self, changes: Changes) -> Result<(), Error> {
        self.segments.all().try_for_each(Segment::commit)?;
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        let Uncommitted { accounts, lookup } = std::mem::take(&mut self.uncommitted);
        segments::write_lookup(&changes, self.world.config.layout, lookup)?;
        let newest = self.behind().flat_map(|it| it.touched.iter());
        let newest = newest.map(|(address, it)| (address, &it.after));
        self.accounts
            .write_plain(&changes, accounts.iter().chain(newest))?;
        self.accounts.write_hashed(&changes, &accounts)?;
        self.forget_accounts();
        self.write_checkpoints(&changes)?;
        changes.commit()
    }

    pub(super) fn write_checkpoints(&self, changes: &Changes) -> Result<(), Error> {
        let frontier = Frontier {
            tip: self.header.number,
            state: self.state,
        };
        self.tables
            .checkpoints(changes, frontier, self.finalized, StateRows::Changes)
    }

    /// The blocks whose hashed state is not written.
    fn behind(&self) -> impl Iterator<Item = &Recent> {
        let is_behind = |it: &&Recent| it.header.number > self.state;
        self.recent.iter().filter(is_behind)
    }

    /// Forgets accounts, except those whose hashed state is of an earlier block than the tip.
    pub(super) fn forget_accounts(&mut self) {
        let behind = self.behind().flat_map(|it| it.touched.keys().copied());
        let behind = behind.collect::<BTreeSet<Address>>();
        self.accounts.keep(&behind);
    }

    pub(super) fn take_back(&mut self, changes: &Changes, gone: &Recent) -> Result<(), Error> {
        Segments::take_back(
            changes,
            self.world.config.layout,
            (gone.header.number, gone.hash),
            gone.first_tx,
            &gone.tx_hashes,
        )
    }
}
