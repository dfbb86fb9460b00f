//! `/v1/approvals`: who may take the tokens of an account.

use super::{
    named::{labels, tokens},
    query::{Command, Found, Query, Reply, hex},
    written::{ROW_BYTES, fields, written},
};
use crate::fault::Answer;
use txgraph::{AnalysisFormat, OpenApprovals};

/// Answers.
pub(super) fn answer(query: &Query<'_>) -> Reply {
    let (open, command) = read(query)?;
    let mut found = Found::of(fields(|outputs| open.write(outputs))?);
    found.put("block", open.block);
    found.put("granted", open.granted);
    let parties = open.approvals.iter().flat_map(|it| [it.owner, it.spender]);
    found.put("labels", labels(query, parties));
    let shown = open.approvals.iter().map(|it| Some(it.token));
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    for note in &open.notes {
        found.lacks(note.clone());
    }
    found.command(command);
    Ok(found)
}

/// Answers with a file.
pub(super) fn file(query: &Query<'_>, format: AnalysisFormat) -> Answer<Vec<u8>> {
    let (open, _) = read(query)?;
    written(format, None, |outputs| open.write(outputs))
}

fn read<'s>(query: &Query<'s>) -> Answer<(OpenApprovals<'s>, Command)> {
    let of = query.given.required_address("address")?;
    let mut asked = query.ask.source.approvals(of);
    let mut command = query.command(&format!("approvals {}", hex(of)));
    if query.given.flag("as_spender") {
        asked = asked.as_spender();
        command.word("--as-spender");
    }
    for blocks in query.blocks() {
        asked = asked.blocks(blocks);
    }
    command.option("-f", "json");
    let open = asked.max_approvals(query.ask.limits.rows).run()?;
    for _ in &open.approvals {
        query.ask.count(ROW_BYTES)?;
    }
    Ok((open, command))
}
