//! Writing blocks: rows first, then what makes them count.

use super::{
    super::{
        Error,
        block::Body,
        config::Layout,
        encode::{self, Account},
        error::Io,
        header,
        jar::Segment,
        state::Before,
        tables::Changes,
        world::CONTRACT_CODE,
    },
    Appender, Recent,
};
use alloy_consensus::Header;
use alloy_primitives::B256;
use reth_codecs::Compact;
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
        let (world, layout) = (&self.world, self.world.config.layout);
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
        let settings = format!(r#"{{"storage_v2":{}}}"#, layout == Layout::V2);
        changes.put(
            "Metadata",
            b"storage_settings",
            &encode::scale(settings.as_bytes()),
        )?;
        let version = format!("{}-chaingen", env!("CARGO_PKG_VERSION"));
        let version = encode::client_version([&version, "sample", ""]);
        changes.put(
            "VersionHistory",
            &self.header.timestamp.to_be_bytes(),
            &version,
        )?;

        let header = self.header.clone();
        self.begin_block(0)?;
        self.write_header(&changes, &header, self.hash)?;
        changes.append(
            "BlockBodyIndices",
            &0u64.to_be_bytes(),
            &encode::body_indices(0, 0),
        )?;
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
            self.begin_block(body.number)?;
            self.write_header(&changes, &header, hash)?;
            let first_tx = self.next_tx;
            self.write_transactions(&changes, body)?;
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
        if self.world.config.layout == Layout::V1 {
            lookup.sort_unstable();
            for (hash, tx) in lookup {
                changes.put("TransactionHashNumbers", hash.as_slice(), &tx.to_le_bytes())?;
            }
        }
        self.finish(changes)
    }

    fn begin_block(&mut self, number: u64) -> Result<(), Error> {
        self.segments
            .all()
            .try_for_each(|segment| segment.begin_block(number))
    }

    fn write_header(
        &mut self,
        changes: &Changes,
        header: &Header,
        hash: B256,
    ) -> Result<(), Error> {
        let mut compact = Vec::with_capacity(700);
        header.to_compact(&mut compact);
        self.segments
            .headers
            .header(&compact, &[0], hash.as_slice())?;
        changes.put(
            "HeaderNumbers",
            hash.as_slice(),
            &header.number.to_le_bytes(),
        )
    }

    fn write_transactions(&mut self, changes: &Changes, body: &Body) -> Result<(), Error> {
        let key = body.number.to_be_bytes();
        let first_tx = self.next_tx;
        for done in &body.transactions {
            let tx = self.next_tx;
            self.segments
                .transactions
                .transaction(tx, &done.transaction)?;
            self.segments.receipts.transaction(tx, &done.receipt)?;
            match &mut self.segments.senders {
                Some(senders) => senders.transaction(tx, done.sender.as_slice())?,
                None => {
                    let key = tx.to_be_bytes();
                    changes.append("TransactionSenders", &key, done.sender.as_slice())?;
                }
            }
            self.next_tx += 1;
        }
        let count = self.next_tx - first_tx;
        changes.append(
            "BlockBodyIndices",
            &key,
            &encode::body_indices(first_tx, count),
        )?;
        if count > 0 {
            let last = (self.next_tx - 1).to_be_bytes();
            changes.append("TransactionBlocks", &last, &body.number.to_le_bytes())?;
        }
        let withdrawals = body.withdrawals.as_deref().unwrap_or_default();
        if !withdrawals.is_empty() {
            changes.append("BlockWithdrawals", &key, &encode::withdrawals(withdrawals))?;
        }
        Ok(())
    }

    /// Writes the accounts that a block changed, as they were before.
    fn write_before(
        &mut self,
        changes: &Changes,
        block: u64,
        before: &Before,
    ) -> Result<(), Error> {
        let rows = before
            .iter()
            .map(|(address, account)| encode::account_before(*address, account.as_ref()));
        let segments = (
            &mut self.segments.account_changes,
            &mut self.segments.storage_changes,
        );
        if let (Some(accounts), Some(storage)) = segments {
            accounts.changes(&rows.collect::<Vec<_>>())?;
            return storage.changes(&[]);
        }
        for row in rows {
            changes.append_duplicate("AccountChangeSets", &block.to_be_bytes(), &row)?;
        }
        Ok(())
    }

    /// Commits static files, then the tables.
    pub(super) fn finish(&mut self, changes: Changes) -> Result<(), Error> {
        let tip = self.header.number;
        let finality = self.world.config.finality;
        self.finalized = self.finalized.max(tip.saturating_sub(finality));
        // The finalized block itself stays: it may become the tip.
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
        let tip = self.header.number;
        self.tables.checkpoints(changes, tip)?;
        let safe = self.finalized + (tip - self.finalized) / 2;
        changes.put("ChainState", &[0], &self.finalized.to_le_bytes())?;
        changes.put("ChainState", &[1], &safe.to_le_bytes())
    }

    pub(super) fn take_back(&mut self, changes: &Changes, gone: &Recent) -> Result<(), Error> {
        let number = gone.header.number;
        let key = number.to_be_bytes();
        changes.delete("HeaderNumbers", gone.hash.as_slice())?;
        changes.delete("BlockBodyIndices", &key)?;
        changes.delete("BlockWithdrawals", &key)?;
        let txs = gone.first_tx..gone.first_tx + gone.tx_hashes.len() as u64;
        if let Some(last) = txs.clone().last() {
            changes.delete("TransactionBlocks", &last.to_be_bytes())?;
        }
        if self.world.config.layout == Layout::V1 {
            changes.delete("AccountChangeSets", &key)?;
            for (tx, hash) in txs.zip(&gone.tx_hashes) {
                changes.delete("TransactionSenders", &tx.to_be_bytes())?;
                changes.delete("TransactionHashNumbers", hash.as_slice())?;
            }
        }
        self.accounts.restore(&gone.before);
        Ok(())
    }
}
