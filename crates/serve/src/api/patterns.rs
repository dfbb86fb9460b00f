//! `/v1/patterns`: shapes that fraud, laundering and services leave behind.

use super::{
    named::{labels, tokens},
    query::{Found, Query, Reply},
};
use crate::fault::Fault;
use txgraph::{Measure, MeasureAnswer, number};

/// Transfers of the blocks. About 80 bytes are kept of each.
const TRANSFERS_MAX: u64 = 1_000_000;

/// Answers.
pub(super) fn answer(query: &Query<'_>) -> Reply {
    let given = query.given;
    let limit = usize::try_from(given.number("limit")).unwrap_or(usize::MAX);
    let analyze = query.ask.source.analyze(Measure::Patterns);
    let analyze = analyze.select(query.selection()).limit(limit);
    let analysis = analyze.max_transfers(TRANSFERS_MAX).run()?;
    let MeasureAnswer::Patterns(patterns) = &analysis.result else {
        return Err(Fault::Failed("patterns have another result".to_owned()));
    };
    let findings = &patterns.findings;
    for _ in findings.iter().flat_map(|it| &it.evidence) {
        query.ask.count(400)?;
    }
    let mut found = Found::default();
    let all: u64 = patterns.rules.iter().filter_map(|rule| rule.found).sum();
    if let Some(more @ 1..) = all.checked_sub(findings.len() as u64) {
        found.lacks_rows(number(
            more,
            "more finding is not listed",
            "more findings are not listed",
        ));
    }
    for rule in &patterns.rules {
        if let Some(why) = &rule.not_asked {
            found.lacks(format!("{} was not looked for: {why}", rule.pattern));
        }
    }
    let ends = findings
        .iter()
        .flat_map(|it| [Some(it.address), it.other_address])
        .flatten();
    found.put("labels", labels(query, ends));
    let shown = analysis.shown_tokens().into_iter().map(Some);
    let tokens = tokens(query, shown.chain([None]), &mut found)?;
    found.put("measure", analysis.measure.as_str());
    found.put("notes", analysis.notes.clone());
    found.result(&analysis.result)?;
    found.put("tokens", tokens);
    found.scan(&analysis.graph.scan);
    found.internal(given);
    let mut command = query.command("analyze patterns");
    command.option("--limit", &limit.to_string());
    command.option("-f", "json");
    found.command(command);
    Ok(found)
}
