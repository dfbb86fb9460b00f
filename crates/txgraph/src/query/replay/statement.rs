//! A statement: every change of the balances of an account, with what it had before and has after.

mod accounting;
mod ledger;
mod offline;
mod proofs;
mod proven_block;
mod sums;
mod to_file;
mod verify;

pub use ledger::{AssetBalance, Entry, StatementRow};
pub use offline::{ProvenStatement, verify_proofs};
pub use proofs::{BlockProof, TransactionProof, WithdrawalProof};
pub use verify::VerifiedStatement;

use crate::{
    BlockSpec, Capability, Error, ErrorKind, Hint, Result, Source,
    grammar::utc,
    query::{query_metadata::Description, retry::retry_on_reorg},
    select::resolve_one,
    words::number,
};
use alloy_primitives::{Address, U256};
use ledger::{Account, Ends, Facts, Reward, account_of, ledger};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph_analysis::Table;
use txgraph_nodedb::{ChainFamily, Header};
use txgraph_transfers::{
    BlockRange, BlockRanges, Kind, ScanReport, SourceError, TokenStandard, Transfer,
};

/// Transfers that a statement has at most, by default. Their rows are kept in memory.
const TRANSFERS_MAX: usize = 5_000_000;

/// Asks for the statement of an account. See [`Source::statement`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Statement<'s> {
    source: &'s Source,
    address: Address,
    blocks: Vec<BlockSpec>,
    every_block: bool,
    with_proofs: bool,
    transfers_max: usize,
}

/// A statement has no gaps, so a partial one is no remedy.
pub(super) fn hint_for_all_blocks(error: Error) -> Error {
    match error.hint {
        Some(Hint::AllowPartial { newest }) => error.with_hint(Hint::AskExisting { newest }),
        None if error.kind == ErrorKind::Unavailable => error.with_hint(Hint::ListBlocks),
        _ => error,
    }
}

/// The statement of an account. For every asset, the opening balance and the rows give the closing
/// balance.
#[derive(Debug)]
pub struct AccountStatement<'s> {
    /// The account.
    pub address: Address,
    /// The blocks.
    pub blocks: BlockRange,
    /// The changes of balances, in the order of the chain.
    pub rows: Vec<StatementRow>,
    /// The sums, the native coin first.
    pub balances: Vec<AssetBalance>,
    /// The tables [`movements`](Self::rows) and [`balances`](Self::balances).
    pub tables: Vec<Table>,
    /// Notes about everything that is not known, a line each.
    pub notes: Vec<String>,
    /// A proof for each block with rows; `None` if proofs were not asked for
    /// ([`Statement::proofs`]).
    pub proofs: Option<Vec<BlockProof>>,
    /// The report of the scan for tokens.
    pub scan: ScanReport,
    source: &'s Source,
    description: Description,
}

impl Source {
    /// Asks for the statement of an account: all transfers of tokens and of the native coin, fees,
    /// rewards and withdrawals, compared with its balances before and after.
    ///
    /// The change sets of the node show which blocks changed the account. Only these blocks are
    /// executed again to find what no log shows.
    pub fn statement(&self, address: Address) -> Statement<'_> {
        Statement {
            source: self,
            address,
            blocks: Vec::new(),
            every_block: false,
            with_proofs: false,
            transfers_max: TRANSFERS_MAX,
        }
    }
}

impl<'s> Statement<'s> {
    /// Only these blocks, which must be consecutive. Default: all.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.blocks.push(blocks.into());
        self
    }

    /// Only the blocks of a year (UTC).
    ///
    /// # Errors
    ///
    /// If the source cannot be read.
    pub fn year(self, year: u16) -> Result<Self> {
        if !(1970..=9998).contains(&year) {
            return Err(Error::usage(format!(
                "there are no blocks of the year {year}: a year has four digits, and is not before 1970"
            )));
        }
        let [start, end] = [year, year.saturating_add(1)].map(|year| format!("{year:04}-01-01"));
        let genesis = utc(self.source.header(0)?.timestamp);
        // A year in which the chain begins has all blocks until its end.
        let is_first = genesis.starts_with(&format!("{year:04}-"));
        let start = if is_first { "" } else { start.as_str() };
        Ok(self.blocks(format!("{start}:{end}").parse::<BlockSpec>()?))
    }

    /// Executes every block again: also finds transfers of the coin in blocks after which the
    /// account has as much as before.
    pub const fn every_block(mut self) -> Self {
        self.every_block = true;
        self
    }

    /// Refuses statements of more transfers than this, with [`ErrorKind::TooMany`].
    pub const fn max_transfers(mut self, transfers: usize) -> Self {
        self.transfers_max = transfers;
        self
    }

    /// Reads the transfers and the state.
    ///
    /// # Errors
    ///
    /// If the source has no state before and after the blocks, cannot execute them, or the blocks
    /// have a gap.
    pub fn run(self) -> Result<AccountStatement<'s>> {
        retry_on_reorg(self.source, || self.read()).map_err(hint_for_all_blocks)
    }

    fn read(&self) -> Result<AccountStatement<'s>> {
        let (source, address) = (self.source, self.address);
        let (blocks, cut) = self.range()?;
        let tip = source.block_hash(blocks.last)?;
        let changes = self.changes(blocks)?;
        let (mut transfers, mut scan) = self.tokens(blocks)?;
        scan.caveats.extend(cut);
        let changed: BlockRanges = (changes.after.keys().copied())
            .map(BlockRange::one)
            .collect();
        let executed = match self.every_block {
            true => blocks.into(),
            false => changed,
        };
        self.coins(&executed, &mut transfers)?;
        transfers.sort_by_key(Transfer::position);
        scan.counts.transfers = transfers.len() as u64;
        let accounts: BTreeSet<_> = transfers.iter().map(account_of).collect();
        let (tokens, mut notes) = self.token_balances(blocks, accounts)?;
        if !self.every_block {
            notes.push(
                "transfers of the native coin that cancel out within a block are not listed, \
                 unless the block changed the account otherwise"
                    .to_owned(),
            );
        }
        let rewards = self.rewards(changes.after.keys().copied())?;
        let (mut rows, balances) = ledger(Facts {
            address,
            last: blocks.last,
            transfers,
            rewards,
            opening: changes.opening,
            after: changes.after,
            tokens,
        });
        for row in rows.iter_mut().filter(|row| row.timestamp.is_none()) {
            row.timestamp = Some(source.header(row.block)?.timestamp);
        }
        let unexplained = rows.iter().filter(|row| row.entry == Entry::Unexplained);
        let unexplained = unexplained.count() as u64;
        if unexplained > 0 {
            let changes = number(unexplained, "balance changed", "balances changed");
            notes.push(format!(
                "{changes} without a transfer, fee or reward: rows of kind `unexplained`"
            ));
        }
        let proofs = self.with_proofs.then(|| self.prove(&rows)).transpose();
        // A reorganization also explains blocks without the transactions of the rows.
        if source.block_hash(blocks.last)? != tip {
            return Err(SourceError::Reorged { block: blocks.last }.into());
        }
        let proofs = proofs?;
        notes.extend(proofs.as_deref().and_then(proofs::note));
        Ok(AccountStatement {
            tables: to_file::tables(address, blocks, &rows, &balances),
            address,
            blocks,
            rows,
            balances,
            notes,
            proofs,
            scan,
            source,
            description: self.description(blocks),
        })
    }

    /// The query for the metadata of the result.
    fn description(&self, blocks: BlockRange) -> Description {
        let flag = self.every_block.then_some("with-internal");
        let description = Description::of_account("statement", self.address, blocks, flag);
        match self.with_proofs {
            true => description.with("proofs", true.into()),
            false => description,
        }
    }

    /// The blocks, and [`crate::select::Resolved::cut`]. Without block 0 if there are others: it moves nothing, and
    /// what the genesis allocates is what accounts have before block 1. Alone, it has these balances at both ends.
    fn range(&self) -> Result<(BlockRange, Option<String>)> {
        let (blocks, cut) = resolve_one(&self.blocks, self.source, "a statement")?;
        let first = blocks.first.max(1).min(blocks.last);
        Ok((BlockRange::from_to(first, blocks.last), cut))
    }

    /// The block whose state has the opening balances.
    const fn opening(blocks: BlockRange) -> u64 {
        blocks.first.saturating_sub(1)
    }

    /// The balance of the coin before the blocks, and after each block that changed the account.
    fn changes(&self, blocks: BlockRange) -> Result<Changes> {
        let node = self.source.node(Capability::State)?;
        let states = node.state()?;
        let range = states.range(BlockRange::from_to(Self::opening(blocks), blocks.last))?;
        let closing = range.at(blocks.last)?.account(self.address)?;
        let balance = |account: Option<txgraph_evm::Account>| {
            account.map_or(U256::ZERO, |account| account.balance)
        };
        let mut changes = Changes {
            opening: balance(closing),
            after: BTreeMap::new(),
        };
        let mut last = None;
        let mut interrupted = Ok(());
        range.account_changes(self.address, &mut |block, before| {
            match last.replace(block) {
                None => changes.opening = balance(before),
                Some(last) => drop(changes.after.insert(last, balance(before))),
            }
            interrupted = self.source.check_interrupted();
            match interrupted {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        interrupted?;
        if let Some(last) = last {
            changes.after.insert(last, balance(closing));
        }
        Ok(changes)
    }

    /// The transfers of tokens.
    fn tokens(&self, blocks: BlockRange) -> Result<(Vec<Transfer>, ScanReport)> {
        let mut query = self.source.transfers().address(self.address);
        for standard in [
            TokenStandard::Erc20,
            TokenStandard::Erc721,
            TokenStandard::Erc1155,
        ] {
            query = query.standard(standard);
        }
        query = query.blocks(BlockSpec::through(blocks.first, blocks.last));
        let mut transfers = Vec::new();
        let scan = query.for_each(|mut batch| {
            transfers.append(&mut batch.transfers);
            self.check_length(&transfers)
        })?;
        Ok((transfers, scan))
    }

    /// Adds the transfers of the native coin in some blocks, with fees.
    fn coins(&self, blocks: &BlockRanges, transfers: &mut Vec<Transfer>) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let node = self.source.node(Capability::Replay)?;
        // The OP stack is not executed: fees follow from what is stored.
        let is_executed = node.db().family() != ChainFamily::OpStack;
        let mut query = (self.source.transfers().native())
            .internal()
            .address(self.address);
        for kind in Kind::ALL {
            if is_executed || !matches!(kind, Kind::Internal | Kind::Burn) {
                query = query.kind(*kind);
            }
        }
        for blocks in blocks.iter() {
            query = query.blocks(BlockSpec::through(blocks.first, blocks.last));
        }
        query.for_each(|mut batch| {
            transfers.append(&mut batch.transfers);
            self.check_length(transfers)
        })?;
        Ok(())
    }

    fn check_length(&self, transfers: &[Transfer]) -> Result<ControlFlow<()>> {
        match transfers.len() > self.transfers_max {
            false => Ok(ControlFlow::Continue(())),
            true => Err(Error::new(
                ErrorKind::TooMany,
                format!(
                    "the account has more than {} in these blocks: ask for fewer blocks",
                    number(self.transfers_max as u64, "transfer", "transfers")
                ),
            )),
        }
    }

    /// The rewards of the account for blocks and ommers among these blocks. Before the merge.
    fn rewards(&self, changed: impl Iterator<Item = u64>) -> Result<Vec<Reward>> {
        let mut found = Vec::new();
        for block in changed {
            self.source.check_interrupted()?;
            let (header, ommers) = self.source.header_with_ommers(block)?;
            if header.difficulty.is_zero() {
                break;
            }
            let is_own = |header: &Header| header.beneficiary == self.address;
            if !is_own(&header) && !ommers.iter().any(is_own) {
                continue;
            }
            let (reward, of_ommers) = self.source.rewards_of(&header, &ommers)?;
            let beneficiary = (header.beneficiary, reward);
            let ommers = ommers.iter().map(|ommer| ommer.beneficiary);
            let all = ommers.zip(of_ommers).chain([beneficiary]);
            let own = all.filter(|(to, amount)| *to == self.address && !amount.is_zero());
            found.extend(own.map(|(_, amount)| Reward { block, amount }));
        }
        Ok(found)
    }

    /// The balances of tokens before and after the blocks, and notes on those that are not known.
    fn token_balances(
        &self,
        blocks: BlockRange,
        accounts: BTreeSet<Account>,
    ) -> Result<(BTreeMap<Account, Ends>, Vec<String>)> {
        let is_erc20 = |token| {
            let token_standard = TokenStandard::Erc20;
            let asset = txgraph_graph::Asset {
                token_address: token,
                token_standard,
            };
            accounts.contains(&(asset, None))
        };
        // The zero address stands for mints and burns, and a contract of both standards has one
        // `balanceOf`.
        let (asked, not_asked): (Vec<_>, Vec<_>) = (accounts.iter().copied())
            .filter(|(asset, _)| asset.token_address.is_some())
            .partition(|(asset, _)| match asset.token_standard {
                _ if self.address.is_zero() => false,
                TokenStandard::Erc20 | TokenStandard::Erc1155 => true,
                TokenStandard::Erc721 => !is_erc20(asset.token_address),
                TokenStandard::Native => false,
            });
        let wanted: Vec<_> = (asked.iter())
            .map(|(asset, id)| (self.address, asset.token_address, *id))
            .collect();
        let path = self.source.node(Capability::State)?.db().dir();
        let path = format!("{}: ", path.root.display());
        let balances = |block: u64| match self.source.item_balances(Some(block), &wanted) {
            Ok((_, balances)) => Ok(Ok(balances)),
            Err(error) if matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Reorged) => {
                Err(error)
            }
            // The path of the node is none of the statement, which another node can confirm.
            Err(error) => Ok(Err(error.message.replace(&path, ""))),
        };
        let mut known = BTreeMap::new();
        let mut notes = Vec::new();
        if !wanted.is_empty() {
            match (balances(Self::opening(blocks))?, balances(blocks.last)?) {
                (Ok(opening), Ok(closing)) => {
                    let ends = opening.into_iter().zip(closing);
                    for (account, (opening, closing)) in asked.iter().zip(ends) {
                        known.extend(opening.zip(closing).map(|ends| (*account, ends)));
                    }
                }
                (Err(why), _) | (_, Err(why)) => {
                    notes.push(format!("balances of tokens are not known: {why}"));
                }
            }
        }
        let unknown = (asked.len() - known.len() + not_asked.len()) as u64;
        if unknown > 0 {
            let accounts = number(unknown, "token account was", "token accounts were");
            notes.push(format!(
                "{accounts} not compared with balances: mints and burns of the zero \
                 address, or contracts that do not answer `balanceOf` before and after the blocks"
            ));
        }
        Ok((known, notes))
    }
}

/// The balances of the coin.
struct Changes {
    /// Before the first block.
    opening: U256,
    /// After each block that changed the account.
    after: BTreeMap<u64, U256>,
}
