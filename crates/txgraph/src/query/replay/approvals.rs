//! Approvals that are open: who may take which tokens of an account, and how much.

mod events;
mod to_file;

pub(super) use events::granted_by;
pub use events::{ApprovalKind, GrantedApproval};

use crate::{
    BlockSpec, Capability, Error, NodeLog, Result, Source,
    options::addresses,
    query::{query_metadata::Description, retry::retry_on_reorg},
    select::resolve_one,
    words::number,
};
use alloy_primitives::{Address, B256, U256};
use events::{Granted, Place, filters, granted, token_approvals};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph_analysis::Table;
use txgraph_evm::Outcome;
use txgraph_replay::query;
use txgraph_transfers::{BlockRange, TransferFilter};

/// Approvals whose state is read at most, by default.
const APPROVALS_MAX: usize = 1_000_000;

/// Whose approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Owner,
    Spender,
}

/// Asks for the open approvals of an account. See [`Source::approvals`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `run`"]
pub struct Approvals<'s> {
    source: &'s Source,
    address: Address,
    role: Role,
    blocks: Vec<BlockSpec>,
    /// Only these; empty: all.
    tokens: BTreeSet<Address>,
    only_unlimited: bool,
    approvals_max: usize,
}

/// An approval that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The kind.
    pub kind: ApprovalKind,
    /// The token.
    pub token: Address,
    /// The id, of a single item.
    pub token_id: Option<U256>,
    /// Whose tokens may be taken.
    pub owner: Address,
    /// Who may take them.
    pub spender: Address,
    /// How much, in the smallest unit; of an operator all items. `None`: the token does not answer.
    pub amount: Option<U256>,
    /// Until when, in seconds since 1970; of Permit2 only.
    pub expires: Option<u64>,
    /// The balance of the owner in the token. `None`: the token does not answer.
    pub balance: Option<U256>,
    /// The block of the last approval, its time, and the hash of its transaction.
    pub last: (u64, u64, B256),
}

impl Approval {
    /// See [`ApprovalKind::is_unlimited`].
    pub fn is_unlimited(&self) -> bool {
        (self.amount).is_some_and(|amount| self.kind.is_unlimited(amount))
    }

    /// How much the spender can take at the end of the block: at most what the owner has.
    pub fn at_risk(&self) -> Option<U256> {
        match self.kind {
            ApprovalKind::Item => self.amount,
            ApprovalKind::Operator => self.balance,
            _ => Some(self.amount?.min(self.balance?)),
        }
    }
}

/// The open approvals of an account.
#[derive(Debug)]
pub struct OpenApprovals<'s> {
    /// The block at whose end they are open.
    pub block: u64,
    /// By token, then by spender and owner.
    pub approvals: Vec<Approval>,
    /// The approvals that were granted once, open or not.
    pub granted: u64,
    /// The table of the [approvals](Self::approvals).
    pub table: Table,
    /// Notes about everything that is not known, a line each.
    pub notes: Vec<String>,
    /// The blocks in which they were granted.
    pub blocks: BlockRange,
    source: &'s Source,
    description: Description,
}

impl Source {
    /// Asks which approvals of an account are open: allowances of ERC-20 and of Permit2, approved
    /// items and operators of ERC-721 and ERC-1155.
    ///
    /// They are found by their events. The contracts then say what is left of each.
    pub fn approvals(&self, owner: Address) -> Approvals<'_> {
        Approvals {
            source: self,
            address: owner,
            role: Role::Owner,
            blocks: Vec::new(),
            tokens: BTreeSet::new(),
            only_unlimited: false,
            approvals_max: APPROVALS_MAX,
        }
    }

    /// Reads the approvals of amounts of ERC-20 tokens that a filter of transfers wants, and their
    /// revocations, in order.
    ///
    /// # Errors
    ///
    /// As [`Self::logs`].
    pub(in crate::query) fn for_each_allowance(
        &self,
        blocks: BlockRange,
        filter: &TransferFilter,
        mut each: impl FnMut(&NodeLog, &GrantedApproval) -> Result<()>,
    ) -> Result<()> {
        let Some(logs) = token_approvals(filter) else {
            return Ok(());
        };
        self.logs(blocks, &logs, |log| {
            let granted = granted_by([&log.log]).into_iter();
            let is_amount = |it: &GrantedApproval| {
                matches!(it.kind, ApprovalKind::Allowance | ApprovalKind::Permit2)
            };
            for granted in granted.filter(is_amount) {
                each(&log, &granted)?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl<'s> Approvals<'s> {
    /// The approvals that others gave to the account.
    pub const fn as_spender(mut self) -> Self {
        self.role = Role::Spender;
        self
    }

    /// Only approvals that were granted in these consecutive blocks, and are open after the last.
    /// Default: all blocks.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.blocks.push(blocks.into());
        self
    }

    /// Only approvals of this token. Call again for more; default: all tokens.
    pub fn token(mut self, token: Address) -> Self {
        self.tokens.insert(token);
        self
    }

    /// Only approvals without a limit in practice ([`ApprovalKind::is_unlimited`]), and approvals of
    /// contracts that do not answer.
    pub const fn only_unlimited(mut self) -> Self {
        self.only_unlimited = true;
        self
    }

    /// Refuses to ask about more approvals than this, with [`ErrorKind::TooMany`](crate::ErrorKind::TooMany).
    pub const fn max_approvals(mut self, approvals: usize) -> Self {
        self.approvals_max = approvals;
        self
    }

    /// Reads the events, and asks the contracts.
    ///
    /// # Errors
    ///
    /// If the source has no receipts of the blocks, or no state after them.
    pub fn run(self) -> Result<OpenApprovals<'s>> {
        retry_on_reorg(self.source, || self.read())
    }

    fn read(&self) -> Result<OpenApprovals<'s>> {
        let source = self.source;
        let (blocks, cut) = resolve_one(&self.blocks, source, "approvals")?;
        let granted = self.granted(blocks)?;
        let mut approvals = self.ask(&granted, blocks.last)?;
        let now = source.header(blocks.last)?.timestamp;
        approvals.retain(|it| {
            it.amount != Some(U256::ZERO) && it.expires.is_none_or(|expires| expires >= now)
        });
        if self.only_unlimited {
            approvals.retain(|it| it.amount.is_none() || it.is_unlimited());
        }
        let mut notes = Vec::from_iter(cut);
        if blocks.first > 0 {
            notes.push(format!(
                "approvals of blocks before {} are not listed",
                blocks.first
            ));
        }
        let silent = approvals.iter().filter(|it| it.amount.is_none()).count() as u64;
        if silent > 0 {
            let contracts = number(silent, "approval is", "approvals are");
            notes.push(format!(
                "{contracts} listed although the contract does not say what is left"
            ));
        }
        Ok(OpenApprovals {
            block: blocks.last,
            table: to_file::table(self, blocks.last, &approvals),
            approvals,
            granted: granted.len() as u64,
            notes,
            source,
            description: self.description(blocks),
            blocks,
        })
    }

    /// The query for the metadata of the result.
    fn description(&self, blocks: BlockRange) -> Description {
        let flag = (self.role == Role::Spender).then_some("as-spender");
        let mut about = Description::of_account("approvals", self.address, blocks, flag);
        if !self.tokens.is_empty() {
            about = about.with("token", addresses(&self.tokens));
        }
        match self.only_unlimited {
            true => about.with("unlimited", true.into()),
            false => about,
        }
    }

    /// All approvals of some blocks, each with the place of the last event.
    fn granted(&self, blocks: BlockRange) -> Result<BTreeMap<Granted, Place>> {
        let mut all = BTreeMap::new();
        let filters = filters(self.address, self.role == Role::Spender, &self.tokens);
        self.source.logs_of_any(blocks, &filters, |log| {
            if let Some(granted) = granted(&log.log) {
                let place = (log.block, log.timestamp, log.transaction_hash);
                let last = all.entry(granted).or_insert(place);
                *last = place.max(*last);
            }
            match all.len() > self.approvals_max {
                false => Ok(ControlFlow::Continue(())),
                true => Err(Error::too_many(number(
                    self.approvals_max as u64,
                    "approval",
                    "approvals",
                ))),
            }
        })?;
        Ok(all)
    }

    /// Asks the contracts what is left of each approval, and what the owners have.
    fn ask(&self, granted: &BTreeMap<Granted, Place>, block: u64) -> Result<Vec<Approval>> {
        if granted.is_empty() {
            return Ok(Vec::new());
        }
        let node = self.source.node(Capability::State)?;
        let rules = node.rules_for_calls()?;
        let queries = granted.keys().map(Granted::queries).collect::<Vec<_>>();
        let calls = queries.iter().flatten();
        let calls: Vec<_> = calls.map(|(to, input)| query(*to, input.clone())).collect();
        let (_, outcomes) = node.at_end_with(rules, Some(block), |replayer, block| {
            replayer.static_calls(calls, block)
        })?;
        let owners: Vec<_> = (granted.keys())
            .map(|it| (it.owner, Some(it.token)))
            .collect();
        let (_, balances) = self.source.balances(Some(block), &owners)?;
        let mut answers = outcomes.iter().map(output);
        let all = granted.iter().zip(queries).zip(balances);
        let approvals = all.map(|(((it, last), queries), balance)| {
            let answers: Vec<_> = answers.by_ref().take(queries.len()).collect();
            let (amount, expires) = it.left(&answers);
            Approval {
                kind: it.kind,
                token: it.token,
                token_id: it.token_id,
                owner: it.owner,
                spender: it.spender,
                amount,
                expires,
                balance,
                last: *last,
            }
        });
        Ok(approvals.collect())
    }
}

/// The words that a contract returned; `None` if it failed. A contract without code returns nothing.
fn output(outcome: &Outcome) -> Option<Vec<U256>> {
    let (words, _) = outcome.output.as_chunks::<32>();
    let words = words.iter().map(|word| U256::from_be_bytes(*word));
    outcome.is_success().then(|| words.collect())
}
