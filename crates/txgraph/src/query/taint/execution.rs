//! Executes the transactions of contracts again, to see in which storage slots they account for tokens.

use crate::{
    Capability, Error, Result, Source,
    query::blocks::{Order, SIGNED},
    words::number,
};
use alloy_primitives::Address;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph_graph::{Expansion, SearchRequest, TransferGraph, same_chain};
use txgraph_replay::AmountTracers;
use txgraph_transfers::{
    AddressFilter, AmountFlows, Direction, Participation, ScanRequest, SourceError, TokenFilter,
    Transfer, TransferFilter, TransferSource,
};

/// Transactions that are executed at most. One takes about a millisecond, and those before it in its block
/// are executed, too.
const EXECUTED_MAX: usize = 20_000;

/// Executed blocks that wait for those before them, per thread.
const AHEAD: usize = 4;

/// A transaction: its block, and its index there.
type Place = (u64, u32);

/// The transactions that concern contracts, with the transfers that do.
type Wanted = BTreeMap<Place, Vec<Transfer>>;

/// The amounts that contracts received and paid.
#[derive(Debug, Default)]
pub(super) struct Executed {
    /// By transaction.
    pub(super) flows: BTreeMap<Place, AmountFlows>,
    /// The contracts; empty if it is not known which addresses are contracts.
    pub(super) contracts: BTreeSet<Address>,
    /// Remarks for people.
    pub(super) notes: Vec<String>,
}

/// Executes all transactions that moved tokens of the expanded contracts of a graph, or called them.
pub(super) fn execute(
    source: &Source,
    from: &(dyn TransferSource + Sync),
    request: &SearchRequest,
    graph: &TransferGraph,
) -> Result<Executed> {
    let mut executed = Executed::default();
    source.require(Capability::Replay)?;
    let (contracts, are_known) = contracts(source, graph)?;
    if contracts.is_empty() {
        return Ok(executed);
    }
    let mut wanted = moved(source, from, request, graph, &contracts)?;
    if !add_calls(source, graph, &contracts, &mut wanted)? {
        executed.notes.push(
            "calls of contracts from other contracts were executed only where tokens moved: an index of \
             transactions with internal transfers lists the others"
                .to_owned(),
        );
    }
    if let Some((&(block, _), _)) = wanted.iter().nth(EXECUTED_MAX) {
        let all = wanted.len();
        let dropped = wanted.split_off(&(block, 0)).len();
        executed.notes.push(format!(
            "{} of {all} transactions of contracts were executed; from block {block} on, contracts pay the \
             same share of all that they have",
            all - dropped
        ));
    }
    let count = wanted.len() as u64;
    let mut blocks = BTreeMap::<u64, BTreeMap<u32, Vec<Transfer>>>::new();
    for ((block, index), transfers) in wanted {
        blocks.entry(block).or_default().insert(index, transfers);
    }
    source.control.in_order(
        AHEAD,
        blocks,
        || (),
        |(block, wanted), ()| flows(source, block, &wanted),
        |flows| {
            executed.flows.extend(flows);
            source.check_interrupted()?;
            Ok(ControlFlow::Continue(()))
        },
    )?;
    executed.notes.push(format!(
        "executed {} of {}",
        number(count, "transaction", "transactions"),
        number(contracts.len() as u64, "contract", "contracts"),
    ));
    if are_known {
        executed.contracts = contracts;
    }
    Ok(executed)
}

/// The contracts of a graph that are followed, and whether they are known. Without a state to look them up,
/// all addresses.
fn contracts(source: &Source, graph: &TransferGraph) -> Result<(BTreeSet<Address>, bool)> {
    let vertices = graph.graph.node_weights();
    let expanded = vertices.filter(|it| it.expansion == Expansion::Expanded && it.hop > 0);
    let expanded: Vec<_> = expanded.map(|it| it.address).collect();
    let span = graph.blocks.span();
    let block = span.and_then(|span| source.state_block(span.last));
    let contracts = match block {
        Some(_) => source.contracts_among(&expanded, block)?,
        None => None,
    };
    let are_known = contracts.is_some();
    let contracts = contracts.unwrap_or(expanded).into_iter().collect();
    Ok((contracts, are_known))
}

/// The transfers of contracts, by transaction.
fn moved(
    source: &Source,
    from: &(dyn TransferSource + Sync),
    request: &SearchRequest,
    graph: &TransferGraph,
    contracts: &BTreeSet<Address>,
) -> Result<Wanted> {
    let touching = TransferFilter {
        touching: Some(AddressFilter::new(
            contracts.iter().copied(),
            Direction::Both,
        )),
        ..request.filter.clone()
    };
    // Shares of a contract that are a token: who gets them can withdraw.
    let shares = TransferFilter {
        tokens: TokenFilter::only(contracts.iter().copied()),
        internal: false,
        ..request.filter.clone()
    };
    let mut wanted = Wanted::new();
    for (filter, is_followed) in [(touching, true), (shares, false)] {
        let scan = ScanRequest {
            filter,
            with_times: false,
            ..super::scan_request(request)
        };
        let scanned = source.install(|| {
            txgraph_graph::scan(from, &scan, |batch| {
                for transfer in batch {
                    // Withdrawals and rewards are in no transaction.
                    if transfer.transaction_hash.is_some() {
                        let of = wanted.entry(transfer.transaction()).or_default();
                        of.extend(is_followed.then(|| transfer.clone()));
                    }
                }
                Ok(())
            })
        });
        same_chain(&graph.scan, &scanned??)?;
    }
    Ok(wanted)
}

/// Adds the transactions that call a contract. Returns whether they include all calls inside transactions.
fn add_calls(
    source: &Source,
    graph: &TransferGraph,
    contracts: &BTreeSet<Address>,
    wanted: &mut Wanted,
) -> Result<bool> {
    if let Some(bundles) = source.bundles(Capability::Replay)? {
        for block in bundles.source()?.blocks().within(&graph.blocks) {
            let bundle = bundles.open_block(block)?;
            let receivers = (0..).zip(bundle.block().receivers());
            let called = receivers.filter(|(_, to)| to.is_some_and(|to| contracts.contains(&to)));
            for (index, _) in called {
                wanted.entry((block, index)).or_default();
            }
        }
        return Ok(false);
    }
    let mut add = |it: Participation| {
        wanted.entry((it.block, it.transaction)).or_default();
    };
    let mut complete = true;
    for blocks in graph.blocks.iter() {
        let of = |address| source.transactions(address).blocks(blocks).inside();
        let is_indexed = match contracts.first() {
            Some(first) => of(*first).indexed(blocks)? == blocks.into(),
            None => true,
        };
        match is_indexed {
            true => {
                for contract in contracts {
                    of(*contract).for_each(|it| {
                        add(it);
                        Ok(ControlFlow::Continue(()))
                    })?;
                }
            }
            false => {
                complete = false;
                let read = |block: &mut txgraph_nodedb::Block<'_>| {
                    let mut found = Vec::new();
                    txgraph_reader::transaction_ends(block, |it| {
                        found.extend(contracts.contains(&it.address).then_some(it));
                    })?;
                    Ok((!found.is_empty()).then_some(found))
                };
                source.scan_blocks(blocks, Order::OldestFirst, SIGNED, read, |found| {
                    found.into_iter().for_each(&mut add);
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
    }
    Ok(complete)
}

/// Executes transactions of one block.
fn flows(
    source: &Source,
    block: u64,
    wanted: &BTreeMap<u32, Vec<Transfer>>,
) -> Result<Vec<(Place, AmountFlows)>> {
    let mut tracers = AmountTracers::default();
    let only = wanted.keys().copied().collect();
    let replay = source.replay().with_changes();
    let (replayed, mismatches) = replay.some(block, &only, &mut tracers)?;
    if let Some(mismatch) = mismatches.first() {
        return Err(Error::disagrees(mismatch));
    }
    let mut all = Vec::with_capacity(wanted.len());
    for ((replay, mut tracer), transfers) in replayed.iter().zip(tracers.0).zip(wanted.values()) {
        let mut hashes = transfers.iter().filter_map(|it| it.transaction_hash);
        if hashes.any(|hash| hash != replay.hash) {
            return Err(SourceError::Reorged { block }.into());
        }
        all.push(((block, replay.index), tracer.flows(replay, transfers)));
    }
    Ok(all)
}
