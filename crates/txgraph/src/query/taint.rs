//! Follows the tokens that some addresses sent: see [`txgraph_analysis::TaintTracker`].

mod execution;
mod swaps;

use super::{
    retry::retry_on_reorg,
    search::{scan_request, swap_caveats},
};
use crate::{Error, ErrorKind, Result, Source, words::number};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
pub(super) use swaps::search_through;
use txgraph_analysis::{Taint, TaintEnd, TaintMethod, TaintRow, TaintRule, TaintTracker};
use txgraph_graph::{
    Expansion, Nettings, SearchError, SearchRequest, TransferGraph, read_nettings, same_chain,
    search,
};
use txgraph_transfers::{
    AddressFilter, AmountFlows, Direction, ScanRequest, TokenFilter, TransferFilter, TransferSource,
};

/// Tainted parts of transfers at most, unless the memory is limited. They can grow with the square of
/// the number of transfers.
const ROWS_MAX: u64 = 1 << 24;

/// The memory of a tainted part, in the result and in tables.
const ROW_BYTES: u64 = 1024;

/// Refuses requests that taint cannot follow.
pub(super) fn check(filter: &TransferFilter, direction: Direction) -> Result<()> {
    if direction != Direction::Out {
        return Err(Error::usage(
            "taint follows tokens forward, so its direction is `out`",
        ));
    }
    if !filter.min_value.is_zero() || !filter.amounts.min_values().is_empty() {
        return Err(Error::usage(
            "taint needs all transfers of a token, so it has no smallest amount",
        ));
    }
    if !filter.kinds.is_empty() {
        return Err(Error::usage(
            "taint needs all transfers of a token, so it takes no kinds",
        ));
    }
    Ok(())
}

/// Transactions of which the swaps are read if they are not followed.
const SWAPS_READ: usize = 256;

/// How amounts are followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Which tokens of an account leave first.
    pub(super) method: TaintMethod,
    /// Whether tokens are followed into those that they are swapped for.
    pub(super) through_swaps: bool,
}

/// Searches forward in time, then follows the amounts through all transfers of the addresses that
/// were expanded.
///
/// To follow swaps, it searches with all tokens, and reads all transfers of the transactions in which an
/// address of the graph sends something.
pub(super) fn run(
    source: &Source,
    request: &SearchRequest,
    rules: Rules,
) -> Result<(TransferGraph, Taint, Vec<String>)> {
    let method = rules.method;
    let (mut request, tokens) = (request.clone(), request.filter.tokens.clone());
    if rules.through_swaps {
        request.filter.tokens = TokenFilter::All;
        // The amounts decide which tokens go on, and they can come back to a root.
        request.through_swaps = false;
    }
    let request = &request;
    let from = source.transfer_source(&request.filter)?;
    let memory = source.config.memory;
    let rows_max = memory.map_or(ROWS_MAX, |bytes| bytes / ROW_BYTES);
    retry_on_reorg(source, || {
        let (graph, swaps) = match rules.through_swaps {
            true => {
                let found = source.install(|| search_through(source, &*from, request));
                let (graph, swaps) = found??;
                (graph, Some((swaps, tokens.clone())))
            }
            false => (source.install(|| search(&*from, request))??, None),
        };
        source.check_interrupted()?;
        let executed = match method {
            TaintMethod::Execution => Some(execution::execute(source, &*from, request, &graph)?),
            _ => None,
        };
        let (flows, facts) = executed.map_or_else(Default::default, |it| {
            (Some((it.flows, it.contracts)), it.notes)
        });
        let (opening, obstacle) = match method {
            // What was there before does not matter.
            TaintMethod::Poison => Default::default(),
            _ => openings(source, &graph, swaps.as_ref().map(|(swaps, _)| swaps))?,
        };
        let how = How {
            method,
            opening: &opening,
            swaps,
            flows,
            rows_max,
        };
        let follow = || follow(&*from, request, &graph, how);
        let mut taint = source.install(follow)??;
        let not_read = match rules.through_swaps {
            true => 0,
            false => source.install(|| list_swaps(&*from, request, &mut taint))??,
        };
        let uncompared = compare(source, &graph, &mut taint)?;
        let mut notes = notes(&taint, obstacle, uncompared);
        notes.extend(facts);
        if not_read > 0 {
            notes.push(format!(
                "swaps were looked for in the first {} of {} transactions",
                SWAPS_READ,
                SWAPS_READ as u64 + not_read
            ));
        }
        if rules.through_swaps {
            notes.extend(swap_caveats(
                taint.unresolved_swaps,
                Direction::Out,
                request.filter.internal,
            ));
        }
        if graph.blocks.iter().nth(1).is_some() || !graph.scan.missing.is_empty() {
            notes.push(
                "blocks between were not read: amounts, balances and what left unseen may be wrong by what \
                 moved there"
                    .to_owned(),
            );
        }
        Ok((graph, taint, notes))
    })
}

/// Returns notes on the taint for people.
fn notes(taint: &Taint, obstacle: Option<Error>, uncompared: Option<Error>) -> Vec<String> {
    let mut notes = Vec::new();
    if taint.sources.is_empty() {
        notes.push("the roots sent none of the selected tokens in these blocks".to_owned());
    }
    if taint.unknown_balances > 0 {
        notes.push(format!(
            "the balances of {} before the first block are not known, so that only what arrived since \
             counts{}",
            number(taint.unknown_balances, "account", "accounts"),
            because(obstacle)
        ));
    }
    if taint.uncompared > 0 {
        notes.push(format!(
            "{} not compared with the balance after the last block{}",
            number(taint.uncompared, "held amount was", "held amounts were"),
            because(uncompared)
        ));
    }
    let unseen = taint.ends.iter();
    let unseen = unseen
        .filter(|sink| sink.end == TaintEnd::LeftUnseen)
        .count() as u64;
    if unseen > 0 {
        notes.push(format!(
            "at {}, tokens left in a way that was not read: calls inside transactions, if they were \
             not asked for, fees, or a token that changes balances without a transfer",
            number(unseen, "place", "places")
        ));
    }
    if !taint.follows_swaps && !taint.swaps.is_empty() {
        notes.push(format!(
            "tainted tokens were given for others in {}, which the table of swaps lists; amounts are \
             followed to who took them, not into what was got",
            number(taint.swaps.len() as u64, "swap", "swaps")
        ));
    }
    let is_by_code = |row: &TaintRow| matches!(row.rule, TaintRule::Slot | TaintRule::PassedOn);
    let undecided: BTreeSet<_> = (taint.rows.iter())
        .filter(|row| row.rule == TaintRule::Undecided)
        .map(|row| row.transfer.position())
        .collect();
    if !undecided.is_empty() {
        notes.push(format!(
            "in {}, the code of a contract does not say whose tokens it pays: they are divided as by \
             `haircut` (rule `undecided` in the ledger)",
            number(undecided.len() as u64, "transfer", "transfers")
        ));
    } else if taint.method == TaintMethod::Execution && !taint.rows.iter().any(is_by_code) {
        notes.push(
            "no contract paid tainted tokens by what its code did: they are divided as by `haircut`"
                .to_owned(),
        );
    }
    if taint.beyond_slots > 0 {
        notes.push(format!(
            "contracts paid more in {} than was left of what their storage says is whose: the rest is the \
             same share of all",
            number(taint.beyond_slots, "transfer", "transfers")
        ));
    }
    if taint.unexplained > 0 {
        notes.push(format!(
            "{} moved more than the account is known to have had: fees, rebasing, or a balance \
             from before the first block",
            number(taint.unexplained, "transfer", "transfers")
        ));
    }
    notes
}

fn because(why: Option<Error>) -> String {
    why.map_or_else(String::new, |why| format!(": {}", why.message))
}

/// Balances at the end of a block, by address and token; absent if they are not known.
type Balances = BTreeMap<(Address, Option<Address>), U256>;

/// The balances of all addresses through which tokens can have gone, and why they are not known.
fn openings(
    source: &Source,
    graph: &TransferGraph,
    swaps: Option<&Nettings>,
) -> Result<(Balances, Option<Error>)> {
    let mut wanted = BTreeSet::new();
    // Followed addresses that get something in a swap, perhaps from an address that is not expanded.
    let followed: BTreeSet<_> = (graph.graph.node_weights())
        .filter(|vertex| vertex.expansion == Expansion::Expanded)
        .chain(graph.roots.iter().map(|root| &graph.graph[*root]))
        .map(|vertex| vertex.address)
        .collect();
    let swaps = swaps.into_iter().flat_map(BTreeMap::values);
    let swaps = swaps.flat_map(|netting| &netting.swaps);
    wanted.extend(
        swaps
            .filter(|swap| followed.contains(&swap.to))
            .map(|swap| (swap.to, swap.got_token)),
    );
    for edge in graph.graph.edge_indices() {
        let Some((_, to)) = graph.graph.edge_endpoints(edge) else {
            continue;
        };
        let (vertex, transfer) = (&graph.graph[to], &graph.graph[edge].transfer);
        let is_counted = transfer.token_standard.is_fungible();
        if vertex.expansion == Expansion::Expanded && is_counted {
            wanted.insert((vertex.address, transfer.token_address));
        }
    }
    let Some(first) = graph.blocks.iter().next().map(|range| range.first) else {
        return Ok(Default::default());
    };
    // No transfer is in block 0, and its state has what the genesis allocates.
    known_balances(source, first.saturating_sub(1), wanted)
}

/// Compares what is held with the balances after the last block. Returns why it is not.
fn compare(source: &Source, graph: &TransferGraph, taint: &mut Taint) -> Result<Option<Error>> {
    let held = taint.ends.iter().filter(|sink| sink.is_compared());
    let wanted: BTreeSet<_> = held
        .map(|sink| (sink.address, sink.token_address))
        .collect();
    let (Some(blocks), false) = (graph.blocks.span(), wanted.is_empty()) else {
        return Ok(None);
    };
    let (known, obstacle) = known_balances(source, blocks.last, wanted)?;
    taint.compare(|address, token| known.get(&(address, token)).copied());
    Ok(obstacle)
}

/// The balances at the end of a block, as far as they are known, and why they are not.
fn known_balances(
    source: &Source,
    block: u64,
    wanted: BTreeSet<(Address, Option<Address>)>,
) -> Result<(Balances, Option<Error>)> {
    let wanted: Vec<_> = wanted.into_iter().collect();
    let known = match balances(source, block, &wanted) {
        Ok(known) => known,
        // The result says that they are not known.
        Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Usage) => {
            return Ok((Balances::new(), Some(error)));
        }
        Err(error) => return Err(error),
    };
    let known = wanted.into_iter().zip(known);
    let known = known.filter_map(|(of, balance)| Some((of, balance?)));
    Ok((known.collect(), None))
}

fn balances(
    source: &Source,
    block: u64,
    wanted: &[(Address, Option<Address>)],
) -> Result<Vec<Option<U256>>> {
    use crate::Capability;
    if !source.capabilities().contains(Capability::State) {
        let Some(bundles) = source.bundles(Capability::Transfers)? else {
            return Ok(vec![None; wanted.len()]);
        };
        // A bundle has the accounts before its block.
        let bundle = bundles.open_block(block.saturating_add(1))?;
        let coin = |(address, token): &(Address, Option<Address>)| match token {
            None => bundle.coin_before(*address),
            Some(_) => None,
        };
        return Ok(wanted.iter().map(coin).collect());
    }
    Ok(source.balances(Some(block), wanted)?.1)
}

/// Lists the swaps of the first transactions that moved tainted tokens. Returns the number of the others.
fn list_swaps(
    from: &dyn TransferSource,
    request: &SearchRequest,
    taint: &mut Taint,
) -> Result<u64> {
    let places = taint.rows.iter().map(|row| row.transfer.transaction());
    let places: BTreeSet<_> = places.collect();
    let next = places.iter().nth(SWAPS_READ);
    let rows = taint.rows.iter().map(|row| &row.transfer);
    let rows = rows.filter(|it| next.is_none_or(|next| it.transaction() < *next));
    let mut nettings = Nettings::new();
    read_nettings(from, request, rows, &mut nettings)?;
    taint.list_swaps(&nettings);
    Ok(places.len().saturating_sub(SWAPS_READ) as u64)
}

/// The flows of transactions, by block and index.
type Flows = BTreeMap<(u64, u32), AmountFlows>;

/// How amounts are followed, and what is known for it.
struct How<'a> {
    method: TaintMethod,
    /// The balances before the first block.
    opening: &'a Balances,
    /// The swaps to follow, with the tokens of sources.
    swaps: Option<(Nettings, TokenFilter)>,
    /// The flows of executed transactions, and the contracts that they concern.
    flows: Option<(Flows, BTreeSet<Address>)>,
    /// Tainted parts at most.
    rows_max: u64,
}

/// Follows the amounts.
fn follow(
    from: &dyn TransferSource,
    request: &SearchRequest,
    graph: &TransferGraph,
    how: How<'_>,
) -> Result<Taint> {
    let mut ends = BTreeMap::new();
    let mut touching = AddressFilter {
        addresses: request.roots.iter().copied().collect(),
        direction: Direction::Both,
    };
    for vertex in graph.graph.node_weights() {
        let end = match vertex.expansion {
            Expansion::Expanded => {
                touching.addresses.insert(vertex.address);
                None
            }
            // Only searches that follow swaps have such vertices.
            Expansion::Swap => None,
            Expansion::LastHop => Some(TaintEnd::LastHop),
            Expansion::Hub => Some(TaintEnd::Hub),
            Expansion::StopList => Some(TaintEnd::StopList),
            Expansion::ZeroAddress => Some(TaintEnd::Burnt),
            Expansion::Limit => Some(TaintEnd::Limit),
        };
        ends.insert(vertex.address, end);
    }
    // Pools that deliver what was got need not be expanded.
    for swap in how.swaps.iter().flat_map(|(swaps, _)| swaps.values()) {
        let got = swap.swaps.iter();
        let got = got.filter(|it| ends.get(&it.address) == Some(&None));
        touching.addresses.extend(got.map(|it| it.to));
    }
    if !request.expand_zero {
        ends.insert(Address::ZERO, Some(TaintEnd::Burnt));
    }
    // Also the zero address, if it is one.
    for root in &request.roots {
        ends.insert(*root, Some(TaintEnd::Returned));
    }
    // An address that is not in the graph was cut off by a limit: both scans are of one chain.
    let end = |address: &Address| match ends.get(address) {
        Some(end) => *end,
        None => Some(TaintEnd::Limit),
    };
    let balance = |address, token| how.opening.get(&(address, token)).copied();
    let mut tracker = TaintTracker::new(how.method, end, balance);
    if let Some((swaps, tokens)) = how.swaps {
        tracker = tracker.with_swaps(swaps, tokens);
    }
    if let Some((flows, contracts)) = how.flows {
        tracker = tracker.with_flows(flows, contracts);
    }
    let scan = ScanRequest {
        filter: TransferFilter {
            touching: Some(touching),
            ..request.filter.clone()
        },
        with_times: false,
        with_hashes: false,
        ..scan_request(request)
    };
    let report = txgraph_graph::scan(from, &scan, |batch| {
        for transfer in batch {
            tracker.add(transfer);
            if tracker.rows() as u64 > how.rows_max {
                let what = "tainted parts of transfers for the memory that is allowed";
                return Err(SearchError::TooLarge { what });
            }
        }
        Ok(())
    })?;
    // A search without hops reads nothing.
    if request.hops != Some(0) {
        same_chain(&graph.scan, &report)?;
    }
    let mut taint = tracker.finish();
    let mut transfers: Vec<_> = taint.rows.iter().map(|row| row.transfer.clone()).collect();
    from.fill_hashes(&mut transfers, &report.anchors)?;
    for (row, transfer) in taint.rows.iter_mut().zip(transfers) {
        if transfer.position() == taint.sources[row.source].position() {
            taint.sources[row.source] = transfer.clone();
        }
        row.transfer = transfer;
    }
    Ok(taint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use txgraph_graph::testing::{MemorySource, address, transfers};

    fn tainted(source: &MemorySource, hops: u32) -> Result<Taint> {
        let request = SearchRequest {
            hops: Some(hops),
            ..SearchRequest::new(vec![address("a")], source.available.clone())
        };
        let graph = search(source, &request)?;
        let opening = Balances::new();
        follow(source, &request, &graph, fifo(&opening, ROWS_MAX))
    }

    fn fifo(opening: &Balances, rows_max: u64) -> How<'_> {
        How {
            method: TaintMethod::Fifo,
            opening,
            swaps: None,
            flows: None,
            rows_max,
        }
    }

    #[test]
    fn both_scans_are_of_one_chain() {
        let mut source = MemorySource::new(transfers("a>b:5 b>c:3 a>d:1"));
        let ends = tainted(&source, 2).unwrap().ends.len();
        assert_eq!(ends, 3);
        // Each scan ends with another block hash.
        source.unstable = true;
        let error = tainted(&source, 2).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Reorged);
    }

    #[test]
    fn the_zero_address_can_be_a_root() {
        let source = MemorySource::new(transfers("0>a:5 a>b:3"));
        let request = SearchRequest::new(vec![Address::ZERO], source.available.clone());
        let graph = search(&source, &request).unwrap();
        let follow = |rows_max| {
            let none = Balances::new();
            follow(&source, &request, &graph, fifo(&none, rows_max))
        };
        assert_eq!(follow(ROWS_MAX).unwrap().sources.len(), 1);
        let error = follow(0).unwrap_err();
        assert!(error.message.contains("too many tainted parts"), "{error}");
    }

    #[test]
    fn a_search_without_hops_has_nothing_to_compare() {
        let source = MemorySource::new(transfers("a>b:5 b>c:3"));
        let taint = tainted(&source, 0).unwrap();
        assert_eq!(taint.ends[0].end, TaintEnd::Limit);
    }
}
