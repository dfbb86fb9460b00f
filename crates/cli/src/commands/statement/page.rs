//! A statement as a page for people.

use super::Names;
use crate::document::{Part, Report, evidence};
use serde_json::Value;
use txgraph::{AccountStatement, Error, ErrorKind, Result, Source, Table, parse::utc};

/// The page, with these tables.
pub(super) fn report(
    statement: &AccountStatement<'_>,
    tables: &[&Table],
    names: &Names,
    source: &Source,
) -> Result<Report> {
    let failed = |error| Error::new(ErrorKind::Failed, "the metadata as JSON").because(error);
    let mut metadata = statement.metadata()?;
    metadata.add_names(Some(&names.tokens), Some(&names.labels));
    let metadata = &serde_json::to_value(metadata).map_err(failed)?;
    let (blocks, chain) = (statement.blocks, &metadata["chain"]);
    let time = |block| Ok::<_, Error>(utc(source.header(block)?.timestamp));
    let named = chain["name"].as_str();
    let named = named.map_or_else(String::new, |name| format!(" ({name})"));
    let about = vec![
        format!(
            "Blocks {} to {} of chain {}{named}",
            blocks.first, blocks.last, chain["chain_id"]
        ),
        format!("{} to {}", time(blocks.first)?, time(blocks.last)?),
        format!("Made by txgraph {}", txgraph::version()),
    ];
    let mut parts = Vec::new();
    let notes = statement.notes.iter().chain(&statement.scan.caveats);
    parts.extend(notes.map(|note| Part::Text(format!("Note: {note}."))));
    parts.extend(tables.iter().map(|table| match table.rows.is_empty() {
        true => Part::Text(format!("{}: none.", table.title)),
        false => Part::Table(names.grid(table)),
    }));
    parts.push(Part::Heading(2, "Proof".into()));
    parts.push(Part::Text(
        "Opening balance, rows and closing balance add up for every asset. The native coin is compared \
         with the state of the node after each block that changed the account, tokens before the first \
         block and after the last. A difference is a row of kind unexplained. These commands make the statement again, and compare all rows:"
            .into(),
    ));
    let flags = ["with-internal", "proofs"].into_iter();
    let options: String = flags
        .filter(|flag| metadata["question"][flag] == Value::Bool(true))
        .map(|flag| format!(" --{flag}"))
        .collect();
    parts.push(Part::Lines(
        "Commands".into(),
        format!(
            "txgraph statement {} --blocks {}:+{}{options} -o statement.json\n\
             txgraph statement verify statement.json",
            statement.address,
            blocks.first,
            blocks.last - blocks.first + 1,
        ),
    ));
    let title = "Parameters and evidence";
    parts.push(Part::Table(evidence(title, [(String::new(), metadata)])));
    Ok(Report {
        title: format!("Statement of {}", names.address(statement.address)),
        about,
        parts,
    })
}
