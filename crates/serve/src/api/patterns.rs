//! `/v1/patterns`: shapes that fraud, laundering and services leave behind.

use super::{
    named::{labels, tokens},
    query::{Found, Query, Reply},
};
use txgraph::{Address, Measure, number};

/// Transfers of the blocks. About 80 bytes are kept of each.
const TRANSFERS_MAX: u64 = 1_000_000;

/// Answers.
pub(super) fn answer(query: &Query<'_>) -> Reply {
    let given = query.given;
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let analyze = query.ask.source.analyze(Measure::Patterns);
    let analyze = analyze.select(query.selection()).limit(limit);
    let analysis = analyze.max_transfers(TRANSFERS_MAX).run()?;
    let findings = analysis.result["findings"].as_array();
    let findings = findings.map_or(&[][..], Vec::as_slice);
    for _ in findings
        .iter()
        .flat_map(|it| it["evidence"].as_array())
        .flatten()
    {
        query.ask.count(400)?;
    }
    let mut found = Found::default();
    let rules = analysis.result["rules"].as_array().into_iter().flatten();
    let all: u64 = rules.filter_map(|rule| rule["found"].as_u64()).sum();
    if let Some(more @ 1..) = all.checked_sub(findings.len() as u64) {
        found.lacks_rows(number(
            more,
            "more finding is not listed",
            "more findings are not listed",
        ));
    }
    for rule in analysis.result["rules"].as_array().into_iter().flatten() {
        if let (Some(pattern), Some(why)) = (rule["pattern"].as_str(), rule["not_asked"].as_str()) {
            found.lacks(format!("{pattern} was not looked for: {why}"));
        }
    }
    let ends = findings
        .iter()
        .flat_map(|it| [&it["address"], &it["other_address"]]);
    let ends: Vec<Address> = ends.filter_map(|it| it.as_str()?.parse().ok()).collect();
    found.put("labels", labels(query, ends));
    let shown = analysis.shown_tokens().into_iter().map(Some);
    let tokens = tokens(query, shown.chain([None]), &mut found)?;
    found.put("measure", analysis.measure.as_str());
    found.put("notes", analysis.notes);
    found.put("result", analysis.result);
    found.put("tokens", tokens);
    found.scan(&analysis.graph.scan);
    found.internal(given);
    let mut command = query.command("analyze patterns");
    command.option("--limit", &limit.to_string());
    command.option("-f", "json");
    found.command(command);
    Ok(found)
}
