//! `txgraph case list`.

use super::{ListArgs, answer::Answer, folder::Folder};
use crate::{
    argv::command_line,
    commands::Context,
    output::{print_json, print_page},
    table::{self, View},
};
use serde_json::json;
use txgraph::{ColumnType, Result, Table};

pub(super) fn run(args: &ListArgs, context: &Context<'_>) -> Result<()> {
    let folder = Folder::open(&args.folder)?;
    let answers = folder.case.answers.iter().map(|entry| folder.answer(entry));
    let answers = answers.collect::<Result<Vec<_>>>()?;
    if args.json {
        return print_json(&json!({ "case": folder.case, "answers": answers }));
    }
    let text = ColumnType::Text;
    let mut table = Table::new(
        "answers",
        format!("Answers of {}", folder.case.title),
        &[
            ("name", text),
            ("title", text),
            ("when", text),
            ("blocks", text),
            ("source", text),
            ("status", ColumnType::U64),
            ("notes", ColumnType::U64),
            ("command", text),
        ],
    );
    for answer in &answers {
        table.push(row(&folder, answer));
    }
    let (tokens, labels) = Default::default();
    let view = View::measures(&tokens, &labels, 0, context.terminal.width());
    print_page(&table::draw(&table, &view).text)
}

fn row(folder: &Folder, answer: &Answer) -> Vec<txgraph::Value<'static>> {
    let notes = folder.notes(Some(&answer.name)).len() as u64;
    vec![
        answer.name.clone().into(),
        answer.title.clone().unwrap_or_default().into(),
        answer.time.clone().into(),
        answer.blocks_text().into(),
        answer.source_text().into(),
        u64::try_from(answer.status).unwrap_or_default().into(),
        notes.into(),
        command_line(&answer.command).into(),
    ]
}
