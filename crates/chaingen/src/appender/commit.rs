//! Writes blocks: first the rows, then the records that make them visible.

use super::{
    super::{
        Error,
        block::Body,
        encode::{self, Account},
        error::Io,
        header,
        jar::Segment,
        segments::{self, Row, Segments},
        state::Before,
        tables::{Changes, StateRows},
        world::CONTRACT_CODE,
    },
    Appender, Recent,
};
use std::thread;
use txgraph_transfers::Transfer;

impl Appender {
    pub(super) fn write_genesis(&mut self) -> Result<(), Error> {
        let specification = self.folder.join("genesis.json");
        let json = serde_json::to_vec_pretty(&header::specification(&self.world));
        let json = json.map_err(|e| Error::Config(e.to_string()))?;
        std::fs::write(&specification, json).io(&specification, "write")?;

        let changes = self.tables.begin()?;
        let mut before = Before::new();
        for account in self.world.genesis_accounts() {
            let code_hash = account.contract.then_some(self.world.contract_code_hash);
            let state = Account {
                nonce: 0,
                balance: account.balance,
                code_hash,
            };
            self.accounts.set(account.address, state);
            before.insert(account.address, None);
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
        self.write_before(&changes, 0, &before)?;
        self.finish(changes)
    }

    pub(super) fn commit(
        &mut self,
        bodies: &[Body],
        sink: &mut dyn FnMut(&[Transfer]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let changes = self.tables.begin()?;
        let mut lookup = Vec::new();
        for body in bodies {
            let header = header::on_top_of(&self.header, self.hash, body, &self.world.config);
            if header.gas_used > header.gas_limit {
                let problem = format!("block {} needs more gas than there is", body.number);
                return Err(Error::Config(problem));
            }
            let hash = header.hash_slow();
            let before = self.accounts.apply(&changes, &header, body)?;
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
            self.write_before(&changes, body.number, &before)?;
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
                before,
            });
            (self.header, self.hash) = (header, hash);
        }
        segments::write_lookup(&changes, self.world.config.layout, lookup)?;
        self.finish(changes)
    }

    /// Writes the previous values of the accounts that a block changed.
    fn write_before(
        &mut self,
        changes: &Changes,
        block: u64,
        before: &Before,
    ) -> Result<(), Error> {
        let rows = before
            .iter()
            .map(|(address, account)| encode::account_before(*address, account.as_ref()));
        self.segments
            .write_before(changes, block, &rows.collect::<Vec<_>>(), &[])
    }

    /// Commits static files, then the tables.
    pub(super) fn finish(&mut self, changes: Changes) -> Result<(), Error> {
        let tip = self.header.number;
        let finality = self.world.config.finality;
        self.finalized = self.finalized.max(tip.saturating_sub(finality));
        // Keeps the finalized block itself, which may become the tip.
        let kept = usize::try_from(tip - self.finalized + 1).unwrap_or(usize::MAX);
        let old = self.recent.len().saturating_sub(kept);
        self.recent.drain(..old);

        self.segments.all().try_for_each(Segment::commit)?;
        if !self.pause.is_zero() {
            thread::sleep(self.pause);
        }
        self.accounts.write(&changes)?;
        self.write_checkpoints(&changes)?;
        changes.commit()
    }

    pub(super) fn write_checkpoints(&self, changes: &Changes) -> Result<(), Error> {
        self.tables.checkpoints(
            changes,
            self.header.number,
            self.finalized,
            StateRows::Changes,
        )
    }

    pub(super) fn take_back(&mut self, changes: &Changes, gone: &Recent) -> Result<(), Error> {
        Segments::take_back(
            changes,
            self.world.config.layout,
            (gone.header.number, gone.hash),
            gone.first_tx,
            &gone.tx_hashes,
        )?;
        self.accounts.restore(&gone.before);
        Ok(())
    }
}
