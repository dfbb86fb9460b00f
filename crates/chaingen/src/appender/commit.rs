//! Writes blocks: first the rows, then the records that make them visible.

use super::{
    super::{
        Changed, Error,
        block::Body,
        encode::{self, Account},
        error::Io,
        header,
        jar::Segment,
        masking,
        segments::{self, Row, Segments},
        state::{Touched, Values},
        tables::{Changes, Frontier, StateRows},
        world::CONTRACT_CODE,
    },
    Appender, Recent,
};
use alloy_primitives::Address;
use std::{collections::BTreeSet, thread};
use txgraph_transfers::Transfer;

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
        self.finish(changes, &values, &values)
    }

    pub(super) fn commit(
        &mut self,
        bodies: &[Body],
        sink: &mut dyn FnMut(&[Transfer]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let changes = self.tables.begin()?;
        let (mut lookup, mut values) = (Vec::new(), Values::new());
        for body in bodies {
            let header = header::on_top_of(&self.header, self.hash, body, &self.world.config);
            if header.gas_used > header.gas_limit {
                let problem = format!("block {} needs more gas than there is", body.number);
                return Err(Error::Config(problem));
            }
            let hash = header.hash_slow();
            let touched = self.accounts.apply(&changes, &header, body)?;
            self.segments.begin_block(&changes, &header, hash)?;
            let first_tx = self.next_tx;
            let rows = body.transactions.iter().map(|done| Row {
                hash: done.hash,
                sender: done.sender,
                transaction: &done.transaction,
                receipt: &done.receipt,
            });
            let withdrawals = body.withdrawals.as_deref().unwrap_or_default();
            self.next_tx =
                self.segments
                    .write_body(&changes, body.number, first_tx, rows, withdrawals)?;
            lookup.extend(
                (first_tx..)
                    .zip(&body.transactions)
                    .map(|(tx, done)| (done.hash, tx)),
            );
            self.write_before(&changes, body.number, &touched)?;
            values.extend(touched.iter().map(|(address, it)| (*address, it.after)));
            sink(&body.transfers)?;
            if let Some(truth) = &mut self.truth {
                truth.add(&self.world, body);
            }
            let tx_hashes = body.transactions.iter().map(|done| done.hash).collect();
            self.recent.push_back(Recent {
                header: header.clone(),
                hash,
                first_tx,
                tx_hashes,
                touched,
            });
            (self.header, self.hash) = (header, hash);
        }
        segments::write_lookup(&changes, self.world.config.layout, lookup)?;
        let masking = self.world.config.masking_blocks;
        let (before, tip) = (self.state, self.header.number);
        self.state = tip.saturating_sub(masking).max(before);
        let recent = self.recent.iter().map(|it| (it.header.number, &it.touched));
        let recent = recent.filter(|(number, _)| *number > before);
        let hashed = masking::written(recent, self.state);
        self.finish(changes, &values, &hashed)
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

    /// Commits static files, then the tables with these values of plain and hashed state.
    fn finish(&mut self, changes: Changes, plain: &Values, hashed: &Values) -> Result<(), Error> {
        let tip = self.header.number;
        let finality = self.world.config.finality;
        self.finalized = self.finalized.max(tip.saturating_sub(finality));
        // Keeps the finalized block itself, which may become the tip.
        let oldest = self.finalized.min(self.state);
        let kept = usize::try_from(tip - oldest + 1).unwrap_or(usize::MAX);
        let old = self.recent.len().saturating_sub(kept);
        self.recent.drain(..old);

        self.segments.all().try_for_each(Segment::commit)?;
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        let behind = self.changed_after(self.state);
        self.accounts.write(&changes, plain, hashed, &behind)?;
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

    /// The accounts that blocks after `state` changed.
    pub(super) fn changed_after(&self, state: u64) -> BTreeSet<Address> {
        let recent = self.recent.iter().filter(|it| it.header.number > state);
        recent.flat_map(|it| it.touched.keys().copied()).collect()
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
