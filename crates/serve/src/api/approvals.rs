//! `/v1/approvals`: who may take the tokens of an account.

use super::{
    named::{labels, tokens},
    question::{Command, Found, Question, Reply, hex},
    written::{ROW_BYTES, fields, written},
};
use crate::fault::Answer;
use txgraph::{AnalysisFormat, OpenApprovals};

/// Answers.
pub(super) fn answer(question: &Question<'_>) -> Reply {
    let (open, command) = read(question)?;
    let mut found = Found::of(fields(|outputs| open.write(outputs))?);
    found.put("block", open.block);
    found.put("granted", open.granted);
    let parties = open.approvals.iter().flat_map(|it| [it.owner, it.spender]);
    found.put("labels", labels(question, parties));
    let shown = open.approvals.iter().map(|it| Some(it.token));
    let tokens = tokens(question, shown, &mut found)?;
    found.put("tokens", tokens);
    for note in &open.notes {
        found.lacks(note.clone());
    }
    found.command(command);
    Ok(found)
}

/// Answers with a file.
pub(super) fn file(question: &Question<'_>, format: AnalysisFormat) -> Answer<Vec<u8>> {
    let (open, _) = read(question)?;
    written(format, None, |outputs| open.write(outputs))
}

fn read<'s>(question: &Question<'s>) -> Answer<(OpenApprovals<'s>, Command)> {
    let of = question.given.required_address("address")?;
    let mut asked = question.ask.source.approvals(of);
    let mut command = question.command(&format!("approvals {}", hex(of)));
    if question.given.flag("as_spender") {
        asked = asked.as_spender();
        command.word("--as-spender");
    }
    for blocks in question.blocks() {
        asked = asked.blocks(blocks);
    }
    command.option("-f", "json");
    let open = asked.max_approvals(question.ask.limits.rows).run()?;
    for _ in &open.approvals {
        question.ask.count(ROW_BYTES)?;
    }
    Ok((open, command))
}
