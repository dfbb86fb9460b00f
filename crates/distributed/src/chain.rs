//! Measures of whole chains, which one machine may not hold: components, PageRank, motifs, and
//! the degrees and concentration of each token.
//!
//! Components come from forests ([`crate::forest`]). The others are series of SQL statements. The
//! rows of a statement are a step of the run, and a table of the statements after it. An address is
//! a vertex; the transfers from one address to another are one edge.

use crate::{Result, forest::FAN_IN, run::Committed, sql::Statements, wire::Mode};
use datafusion::arrow::datatypes::Float64Type;

/// The damping factor of PageRank, as in the paper (Brin and Page, 1998).
const DAMPING: f64 = 0.85;

/// The distinct edges, and the transfers of each.
fn edges(on: &mut Statements<'_>) -> Result<()> {
    let step = on.step(
        "edges",
        "SELECT from_address AS src, to_address AS dst, count(*) AS transfers, \
             min(block_number) AS first_block, max(block_number) AS last_block \
         FROM transfers GROUP BY from_address, to_address",
    )?;
    on.register("edges", &step)
}

/// The weakly connected components: lowest address, vertices, transfers, first and last block.
/// Largest first, then by lowest address. The zero address connects nothing.
pub(crate) fn components(on: &Statements<'_>) -> Result<Committed> {
    let mut forests = on.forests()?;
    while forests.step.chunks.len() > FAN_IN {
        let merged = on.merge("merged forests", &forests, FAN_IN, Mode::Merge)?;
        on.supersede(&forests)?;
        forests = merged;
    }
    let components = on.merge("components", &forests, FAN_IN, Mode::Components)?;
    on.supersede(&forests)?;
    Ok(components)
}

/// PageRank after some rounds: address and rank, highest first. Edges count once. The rank of
/// addresses without an outgoing edge is spread over all.
pub(crate) fn pagerank(on: &mut Statements<'_>, rounds: usize) -> Result<Committed> {
    edges(on)?;
    let degrees = on.step(
        "vertices with their outgoing edges",
        "SELECT v, sum(out) AS degree FROM (\
             SELECT src AS v, count(*) AS out FROM edges GROUP BY src \
             UNION ALL SELECT dst AS v, 0 AS out FROM edges GROUP BY dst) AS ends \
         GROUP BY v",
    )?;
    on.register("vertices", &degrees)?;
    let vertices = degrees.step.rows;
    if vertices == 0 {
        return Ok(degrees);
    }
    // A vertex has at most 2^53 others, so this is exact.
    let n = vertices as f64;
    let mut ranks = on.step(
        "ranks, round 0",
        &format!(
            "SELECT v, degree, CAST({:e} AS DOUBLE) AS rank FROM vertices",
            1.0 / n
        ),
    )?;
    on.register("ranks", &ranks)?;
    for round in 1..=rounds {
        let dangling = on.number::<Float64Type>(
            &format!("rank without an edge, round {round}"),
            "SELECT sum(rank) FROM ranks WHERE degree = 0",
        )?;
        let base = (1.0 - DAMPING) / n + DAMPING * dangling / n;
        let next = on.step(
            &format!("ranks, round {round}"),
            &format!(
                "SELECT v.v, v.degree, \
                     CAST({base:e} AS DOUBLE) + {DAMPING} * coalesce(s.rank, 0) AS rank \
                 FROM vertices v LEFT JOIN (\
                     SELECT e.dst AS v, sum(r.rank / r.degree) AS rank \
                     FROM edges e JOIN ranks r ON e.src = r.v GROUP BY e.dst) s \
                 ON v.v = s.v"
            ),
        )?;
        on.supersede(&ranks)?;
        ranks = next;
        on.register("ranks", &ranks)?;
    }
    on.step(
        "PageRank",
        "SELECT hex(v) AS address, rank FROM ranks ORDER BY rank DESC, address",
    )
}

/// Counts of motifs: pairs that sent to each other, and addresses with many senders or
/// receivers.
pub(crate) fn motifs(on: &mut Statements<'_>) -> Result<Committed> {
    edges(on)?;
    on.step(
        "motifs",
        "SELECT 'two-cycles' AS motif, count(*) AS count \
             FROM edges a JOIN edges b ON a.src = b.dst AND a.dst = b.src WHERE a.src < a.dst \
         UNION ALL SELECT 'loops', count(*) FROM edges WHERE src = dst \
         UNION ALL SELECT 'fan-in of 10', count(*) FROM (SELECT dst FROM edges \
             WHERE src <> dst GROUP BY dst HAVING count(*) >= 10) AS receivers \
         UNION ALL SELECT 'fan-out of 10', count(*) FROM (SELECT src FROM edges \
             WHERE src <> dst GROUP BY src HAVING count(*) >= 10) AS senders \
         ORDER BY motif",
    )
}

/// Degrees and concentration of each token: transfers, exact sum, addresses, edges, the highest
/// number of counterparties, and the Herfindahl index of the ends of transfers (1: all at one
/// address).
pub(crate) fn tokens(on: &mut Statements<'_>) -> Result<Committed> {
    let pairs = on.step(
        "edges of each token",
        "SELECT token_address AS token, from_address AS src, to_address AS dst, \
             count(*) AS transfers FROM transfers GROUP BY token_address, from_address, to_address",
    )?;
    on.register("token_edges", &pairs)?;
    let sums = on.step(
        "sums of each token",
        "SELECT token_address AS token, count(*) AS transfers, sum_u256(value) AS value \
         FROM transfers GROUP BY token_address",
    )?;
    on.register("token_sums", &sums)?;
    let ends = on.step(
        "addresses of each token",
        "SELECT token, v, count(DISTINCT other) AS counterparties, sum(transfers) AS transfers \
         FROM (SELECT token, src AS v, dst AS other, transfers FROM token_edges \
               UNION ALL SELECT token, dst AS v, src AS other, transfers FROM token_edges) AS ends \
         GROUP BY token, v",
    )?;
    on.register("token_ends", &ends)?;
    on.step(
        "tokens",
        "SELECT coalesce(hex(s.token), 'native') AS token, s.transfers, s.value, \
             e.addresses, p.edges, e.counterparties_max, e.concentration \
         FROM token_sums s \
         JOIN (SELECT token, count(*) AS addresses, max(counterparties) AS counterparties_max, \
                 sum(CAST(transfers AS DOUBLE) * transfers) \
                     / (CAST(sum(transfers) AS DOUBLE) * sum(transfers)) AS concentration \
               FROM token_ends GROUP BY token) e \
             ON s.token IS NOT DISTINCT FROM e.token \
         JOIN (SELECT token, count(*) AS edges FROM token_edges GROUP BY token) p \
             ON s.token IS NOT DISTINCT FROM p.token \
         ORDER BY s.transfers DESC, token",
    )
}
