//! `/v1/statement`: what an account had, got, gave and has.

use super::{
    named::{labels, listed_tokens, tokens},
    query::{Command, Found, Query, Reply, hex},
    written::{ROW_BYTES, fields, written},
};
use crate::fault::{Answer, Fault};
use txgraph::{AccountStatement, AnalysisFormat};

/// Answers.
pub(super) fn answer(query: &Query<'_>) -> Reply {
    let (statement, mut command) = read(query)?;
    command.option("-f", "json");
    let mut found = Found::of(fields(|outputs| statement.write(outputs))?);
    let parties = statement.rows.iter().filter_map(|row| row.counterparty);
    found.put("labels", labels(query, parties));
    let shown = statement.balances.iter().map(|it| it.asset.token_address);
    let tokens = tokens(query, shown, &mut found)?;
    found.put("tokens", tokens);
    for note in &statement.notes {
        found.lacks(note.clone());
    }
    found.scan(&statement.scan);
    found.command(command);
    Ok(found)
}

/// Answers with a file.
pub(super) fn file(query: &Query<'_>, format: AnalysisFormat) -> Answer<Vec<u8>> {
    let (mut statement, _) = read(query)?;
    let table = query.given.word("table");
    if table == "koinly" || table == "rotki" {
        let shown = statement.balances.iter().map(|it| it.asset.token_address);
        let shown: Vec<_> = shown.collect();
        let (list, _) = listed_tokens(query, shown, &mut Found::default())?;
        statement.add_accounting(&list)?;
    }
    written(format, Some(table), |outputs| statement.write(outputs))
}

fn read<'s>(query: &Query<'s>) -> Answer<(AccountStatement<'s>, Command)> {
    let given = query.given;
    let of = given.required_address("address")?;
    let mut asked = query.ask.source.statement(of);
    let mut command = query.command(&format!("statement {}", hex(of)));
    match (given.number("year"), given.blocks()) {
        (0, _) => {
            for blocks in query.blocks() {
                asked = asked.blocks(blocks);
            }
        }
        (year, None) => {
            let year = u16::try_from(year).unwrap_or(u16::MAX);
            asked = asked.year(year)?;
            command.option("--year", &year.to_string());
        }
        (_, Some(_)) => {
            return Err(Fault::Params(
                "`year` excludes `blocks`: name one of them".to_owned(),
            ));
        }
    }
    if given.flag("internal") {
        asked = asked.every_block();
    }
    let statement = asked.max_transfers(query.ask.limits.rows).run()?;
    for _ in 0..statement.rows.len() + statement.balances.len() {
        query.ask.count(ROW_BYTES)?;
    }
    Ok((statement, command))
}
