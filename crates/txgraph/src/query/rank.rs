//! Ranks the addresses around some roots: see [`txgraph_analysis::rank`].

use super::{
    retry::retry_on_reorg,
    search::{check_swaps, swap_caveats},
    taint,
};
use crate::{Error, Result, Source};
use std::collections::BTreeSet;
use txgraph_analysis::{RankSettings, Ranking, rank};
use txgraph_graph::{Nettings, SearchRequest, TransferGraph, search};
use txgraph_transfers::{Direction, TokenFilter};

/// Refuses requests that find only a part of the transfers that mass goes along.
pub(super) fn check(request: &SearchRequest, how: How) -> Result<()> {
    how.settings.check().map_err(Error::usage)?;
    let needed = match how.settings.beta {
        1.0 => Direction::Out,
        0.0 => Direction::In,
        _ => Direction::Both,
    };
    if ![needed, Direction::Both].contains(&request.direction) {
        return Err(Error::usage(format!(
            "a ranking with beta {} needs the direction `both`{}",
            how.settings.beta,
            match needed {
                Direction::Both => "; with beta 1 it only goes forward, with beta 0 only backward",
                _ => "",
            }
        )));
    }
    if request.time_respecting {
        return Err(Error::usage(
            "a ranking follows time by itself, so its search takes all transfers of an address",
        ));
    }
    match how.through_swaps {
        true => check_swaps(&request.filter),
        false => Ok(()),
    }
}

/// How to rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) settings: RankSettings,
    /// Whether tokens are followed into those that they are swapped for.
    pub(super) through_swaps: bool,
    /// The number of addresses that are listed; all if there is none.
    pub(super) limit: Option<usize>,
}

/// Searches, reads the swaps if they are followed, and ranks. Returns notes for people, too.
pub(super) fn run(
    source: &Source,
    request: &SearchRequest,
    how: How,
) -> Result<(TransferGraph, Ranking, Vec<String>)> {
    let (mut request, tokens) = (request.clone(), request.filter.tokens.clone());
    if how.through_swaps {
        request.filter.tokens = TokenFilter::All;
    }
    let request = &request;
    let from = source.transfer_source(&request.filter)?;
    retry_on_reorg(source, || {
        let (graph, swaps) = match how.through_swaps {
            true => source.install(|| taint::search_through(source, &*from, request))??,
            false => (
                source.install(|| search(&*from, request))??,
                Nettings::new(),
            ),
        };
        source.check_interrupted()?;
        let proceed = || source.check_interrupted();
        let ranking = source
            .install(|| rank(&graph, &tokens, &swaps, how.settings, how.limit, proceed))??;
        let mut notes = Vec::new();
        if ranking.total == 0 && graph.graph.edge_count() > 0 {
            notes.push("the roots moved none of the selected tokens".to_owned());
        }
        if ranking.residual >= 5e-5 {
            notes.push(format!(
                "{:.4} of 1 was not divided: the score of an address can be too small by this",
                ranking.residual
            ));
        }
        if how.through_swaps {
            let unresolved = unresolved(&graph, &swaps);
            notes.extend(swap_caveats(
                unresolved,
                Direction::Out,
                request.filter.internal,
            ));
        }
        Ok((graph, ranking, notes))
    })
}

/// Addresses that were expanded and gave tokens and got others, but it is not known what for what.
fn unresolved(graph: &TransferGraph, swaps: &Nettings) -> u64 {
    let expanded = graph.graph.node_weights();
    let expanded = expanded.filter(|it| it.expansion == txgraph_graph::Expansion::Expanded);
    let expanded: BTreeSet<_> = expanded.map(|it| it.address).collect();
    let unresolved = swaps.values().flat_map(|netting| &netting.unresolved);
    unresolved.filter(|it| expanded.contains(*it)).count() as u64
}
