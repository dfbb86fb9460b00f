//! Measures of whole chains, which one machine may not hold: components, PageRank, motifs, and
//! the degrees and concentration of each token.
//!
//! Each is a series of SQL statements. The rows of a statement are a step of the run, and a table
//! of the statements after it. An address is a vertex; the transfers from one address to another
//! are one edge.

use crate::{Error, Result, run::Committed, sql::Statements};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};

/// Rounds after which components that still change are an error. Each round at least halves the
/// number of labels of a component that is not finished, so 2^64 addresses need no more.
const ROUNDS_MAX: usize = 64;

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
///
/// Each vertex has a label, first its own address. In a round it takes the lowest label of itself
/// and its neighbors, and then the label of that vertex, so that labels travel far (min-label
/// propagation with pointer jumping).
pub(crate) fn components(on: &mut Statements<'_>) -> Result<Committed> {
    edges(on)?;
    let mut labels = on.step(
        "labels, round 0",
        "SELECT v, v AS label FROM \
             (SELECT src AS v FROM edges UNION SELECT dst AS v FROM edges) AS vertices",
    )?;
    let zero = format!("X'{}'", "00".repeat(20));
    on.register("labels", &labels)?;
    for round in 1..=ROUNDS_MAX {
        let lowest = on.step(
            &format!("lowest neighbors, round {round}"),
            &format!(
                "SELECT v, min(label) AS label FROM (\
                     SELECT e.dst AS v, l.label FROM edges e JOIN labels l ON e.src = l.v \
                         WHERE e.src <> {zero} AND e.dst <> {zero} \
                     UNION ALL \
                     SELECT e.src AS v, l.label FROM edges e JOIN labels l ON e.dst = l.v \
                         WHERE e.src <> {zero} AND e.dst <> {zero} \
                     UNION ALL SELECT v, label FROM labels) AS seen \
                 GROUP BY v"
            ),
        )?;
        on.register("lowest", &lowest)?;
        let before = labels;
        labels = on.step(
            &format!("labels, round {round}"),
            "SELECT a.v, least(a.label, b.label) AS label, \
                 CASE WHEN least(a.label, b.label) <> o.label THEN 1 ELSE 0 END AS changed \
             FROM lowest a JOIN lowest b ON a.label = b.v JOIN labels o ON a.v = o.v",
        )?;
        for done in [before, lowest] {
            on.supersede(&done)?;
        }
        on.register("labels", &labels)?;
        let changed = on.number::<Int64Type>(
            &format!("changes of round {round}"),
            "SELECT sum(changed) FROM labels",
        )?;
        if changed == 0 {
            return on.step(
                "components",
                &format!(
                    "SELECT hex(s.label) AS lowest_address, s.vertices, \
                         coalesce(t.transfers, 0) AS transfers, t.first_block, t.last_block \
                     FROM (SELECT label, count(*) AS vertices FROM labels GROUP BY label) s \
                     LEFT JOIN (\
                         SELECT l.label, sum(e.transfers) AS transfers, \
                             min(e.first_block) AS first_block, max(e.last_block) AS last_block \
                         FROM (SELECT CASE WHEN src = {zero} THEN dst ELSE src END AS v, \
                                 transfers, first_block, last_block FROM edges) e \
                         JOIN labels l ON e.v = l.v GROUP BY l.label) t \
                     ON s.label = t.label \
                     ORDER BY vertices DESC, transfers DESC, lowest_address"
                ),
            );
        }
    }
    Err(Error::Answer(format!(
        "components still changed after {ROUNDS_MAX} rounds"
    )))
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
