//! Branch ends of a search, and queried names that never occurred.

use crate::{Result, Source};
use alloy_primitives::Address;
use txgraph_graph::{BranchEnd, Contracts, TransferGraph, Unchecked};
use txgraph_transfers::{BlockRanges, Direction, QueriedNames, StateUsed, TransferFilter, Unseen};

/// Vertices at which branches end that are looked up in the state. More would cost more than a
/// small search.
const ENDS_MAX: usize = 1_000;

/// Vertices that are looked up for a picture or a document.
const VERTICES_MAX: usize = 100_000;

/// Roots that are asked whether they are tokens.
const ROOTS_MAX: usize = 20;

/// Facts that need node state: why each branch ended, and the queried tokens and addresses that
/// never occurred.
#[derive(Clone, Debug, Default)]
pub struct BranchEnds {
    /// The direction of the search.
    pub direction: Direction,
    /// The ends by reason.
    pub ends: Vec<BranchEnd>,
    /// The state that says which of them are contracts, if it was asked for.
    pub state: Option<StateUsed>,
    /// Which of the roots and ends are contracts.
    pub contracts: Contracts,
    /// Roots and ends that were not looked up in the state. What is said of contracts and tokens, and of
    /// absent roots, holds for the others.
    pub unchecked: Unchecked,
    /// Roots that are contracts of tokens, with their symbols.
    pub token_roots: Vec<(Address, Option<String>)>,
    /// Roots without transfers that the state does not contain: no coin, no nonce, no code. `None`
    /// without a state.
    pub absent_roots: Option<Vec<Address>>,
    /// Tokens that the query names and the graph does not contain.
    pub unseen: Unseen,
}

impl BranchEnds {
    pub(super) fn new(source: &Source, graph: &TransferGraph, unseen: &Unseen) -> Result<Self> {
        let unknown = Contracts::default();
        let ends: Vec<_> = (graph.ends(&unknown))
            .map(|(vertex, _)| vertex.address)
            .collect();
        let left_out = |count: usize, limit: usize| count.saturating_sub(limit) as u64;
        let unchecked = Unchecked {
            roots: left_out(graph.roots.len(), ROOTS_MAX),
            ends: left_out(ends.len(), ENDS_MAX),
        };
        let roots = graph.roots.iter().take(ROOTS_MAX);
        let roots = roots.map(|root| graph.graph[*root].address);
        let state = source.state_of(&graph.blocks);
        let ends = ends.into_iter().take(ENDS_MAX);
        let accounts = source.accounts(ends.chain(roots), state)?;
        let silent = |account: &&Account| {
            !account.exists
                && (graph.roots.iter()).any(|root| {
                    let root = &graph.graph[*root];
                    root.address == account.address && root.blocks.is_none()
                })
        };
        let contracts = contracts(accounts.as_deref());
        Ok(Self {
            direction: graph.direction,
            ends: graph.branch_ends(&contracts),
            contracts,
            unchecked: accounts.as_ref().map(|_| unchecked).unwrap_or_default(),
            token_roots: token_roots(source, graph, state, accounts.as_deref()),
            state: Some(state),
            absent_roots: accounts.as_ref().map(|accounts| {
                let mut absent: Vec<_> = accounts
                    .iter()
                    .filter(silent)
                    .map(|account| account.address)
                    .collect();
                absent.sort_unstable();
                absent.dedup();
                absent
            }),
            unseen: unseen.clone(),
        })
    }
}

/// An account, as far as the ends of branches need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) address: Address,
    pub(super) exists: bool,
    pub(super) is_contract: bool,
}

fn contracts(accounts: Option<&[Account]>) -> Contracts {
    let accounts = accounts.unwrap_or_default().iter();
    accounts
        .map(|account| (account.address, account.is_contract))
        .collect()
}

/// Which vertices are contracts: all of a graph, up to a limit unless `unlimited`.
pub(super) fn contracts_of(
    source: &Source,
    graph: &TransferGraph,
    unlimited: bool,
) -> Result<Contracts> {
    let limit = if unlimited { usize::MAX } else { VERTICES_MAX };
    let addresses = graph.graph.node_weights().map(|vertex| vertex.address);
    let accounts = source.accounts(addresses.take(limit), source.state_of(&graph.blocks))?;
    Ok(contracts(accounts.as_deref()))
}

/// The tokens of a filter that a graph does not contain. Without hops, none was searched.
pub(super) fn unseen(filter: &TransferFilter, graph: &TransferGraph) -> Unseen {
    if graph.hops == Some(0) {
        return Unseen::default();
    }
    let mut queried = QueriedNames::of(filter);
    queried.see(graph.graph.edge_weights().map(|edge| &edge.transfer));
    queried.unseen()
}

/// The roots that are contracts of tokens: they say so themselves, or the graph has transfers of
/// them.
fn token_roots(
    source: &Source,
    graph: &TransferGraph,
    state: StateUsed,
    accounts: Option<&[Account]>,
) -> Vec<(Address, Option<String>)> {
    let roots = graph.roots.iter().take(ROOTS_MAX);
    let roots = roots.map(|root| graph.graph[*root].address);
    let assets = graph.assets();
    let is_asset = |root: &Address| assets.iter().any(|it| it.token_address == Some(*root));
    let (mut known, mut contracts) = (Vec::new(), Vec::new());
    for root in roots {
        let mut accounts = accounts.unwrap_or_default().iter();
        if accounts.any(|account| account.address == root && account.is_contract) {
            contracts.push(root);
        } else if is_asset(&root) {
            known.push((root, None));
        }
    }
    // Without a result the note is missing, and nothing else.
    let names = source.symbols(&contracts, state);
    known.extend(
        contracts
            .into_iter()
            .filter_map(|root| match names.get(&root) {
                Some(symbol) => Some((root, symbol.clone())),
                None if is_asset(&root) => Some((root, None)),
                None => None,
            }),
    );
    known.sort_unstable();
    known
}

impl Source {
    /// The state that answers what a query about some blocks asks beside transfers: the one after
    /// their last block.
    pub(super) fn state_of(&self, blocks: &BlockRanges) -> StateUsed {
        let block = blocks.span().and_then(|span| self.state_block(span.last));
        StateUsed { block }
    }

    /// The accounts with these addresses in a state; `None` without one. The result of a query is
    /// complete without them, so only an interruption is an error.
    fn accounts(
        &self,
        addresses: impl IntoIterator<Item = Address>,
        state: StateUsed,
    ) -> Result<Option<Vec<Account>>> {
        let Some(block) = state.block else {
            return Ok(None);
        };
        let addresses: Vec<_> = addresses.into_iter().collect();
        match self.accounts_among(&addresses, Some(block)) {
            Ok(accounts) => Ok(accounts),
            Err(error) if error.kind == crate::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                tracing::debug!("contracts are not known: {error}");
                Ok(None)
            }
        }
    }

    /// The symbols that contracts claim, by token.
    fn symbols(
        &self,
        contracts: &[Address],
        state: StateUsed,
    ) -> std::collections::BTreeMap<Address, Option<String>> {
        let names = match (contracts, state.block) {
            ([], _) | (_, None) => return Default::default(),
            (_, Some(block)) => self.tokens(contracts.iter().copied()).block(block).run(),
        };
        let names = names.unwrap_or_default().into_iter();
        names
            .filter(|(_, names)| names.symbol.is_some() || names.decimals.is_some())
            .map(|(token, names)| (token, names.symbol))
            .collect()
    }
}
