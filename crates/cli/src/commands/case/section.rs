//! The section of an answer in a report.

use super::{
    answer::{Answer, Blocks, FileRecord, LABELS, STDERR, STDOUT, chain_text},
    excerpt,
    folder::{Folder, Note},
    method,
};
use crate::{
    argv::command_line,
    document::{Grid, Part, Picture},
    output::number,
};
use serde_json::Value;
use std::{fs, path::Path};
use txgraph::{Error, Result, thousands};

/// The end of the names of files with metadata, which a section shows as parameters.
const METADATA: &str = ".meta.json";

pub(super) fn heading(level: u8, text: &str) -> Part {
    Part::Heading(level, text.to_owned())
}

pub(super) fn notes(notes: &[&Note]) -> Vec<Part> {
    let notes = notes.iter();
    notes
        .map(|note| Part::Note(note.time.clone(), note.text.clone()))
        .collect()
}

/// The row of an answer in the table of methods.
pub(super) fn method_row(answer: &Answer, document: Option<&Value>) -> Vec<String> {
    let metadata = document.and_then(method::metadata);
    let value = |path: &str| metadata.and_then(|metadata| metadata.pointer(path));
    let text = |path: &str| match value(path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let requested = value("/requested").cloned().unwrap_or_default();
    let requested = serde_json::from_value::<Vec<Blocks>>(requested).unwrap_or_default();
    let blocks = match &answer.blocks[..] {
        [] => &requested[..],
        known => known,
    };
    let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
    let chain = match &answer.chain {
        Some(chain) => chain_text(chain),
        None => [text("/chain/name"), text("/chain/chain_id")].join(" "),
    };
    vec![
        answer.name.clone(),
        answer.command.first().cloned().unwrap_or_default(),
        answer.program.clone(),
        chain.trim().to_owned(),
        blocks.join(", "),
        (answer.last_block_hash.clone()).unwrap_or_else(|| text("/scan/last_block_hash")),
        answer.tip.map(thousands).unwrap_or_default(),
        answer.source.clone().unwrap_or_default(),
    ]
}

pub(super) fn section(
    place: u64,
    answer: &Answer,
    folder: &Folder,
    documents: &[(String, Value)],
) -> Result<Vec<Part>> {
    let at = folder.at(&answer.name);
    let title = answer.title.clone().unwrap_or_else(|| answer.name.clone());
    let mut parts = vec![heading(3, &format!("{place}. {title}"))];
    parts.extend(notes(&folder.notes(Some(&answer.name))));
    parts.push(Part::Lines("Command".into(), command_line(&answer.command)));
    let added = command_line(&answer.added);
    parts.push(Part::Text(format!(
        "Answer {} of {}, by {}, in {:.1} s.{}{}{}",
        answer.name,
        answer.time,
        answer.program,
        answer.seconds,
        match answer.source_text() {
            text if text.is_empty() => text,
            text => format!(" Source: {text}."),
        },
        added
            .strip_prefix("txgraph ")
            .map_or_else(String::new, |words| {
                format!(" The case added these arguments: {words}")
            }),
        match &answer.options[..] {
            [] => String::new(),
            _ => format!(" Options before the command: {}", answer.options.join(" ")),
        },
    )));
    let mut others = Vec::new();
    let mut not_shown = Vec::new();
    for file in &answer.files {
        let found = shown(file, answer, &at)?;
        let is_message = [STDOUT, STDERR, LABELS].contains(&file.name.as_str());
        if found.is_empty() && !is_message && !file.name.ends_with(METADATA) {
            not_shown.push(format!("answers/{}/{}", answer.name, file.name));
        }
        let found = found.into_iter();
        let (pictures, rest): (Vec<_>, Vec<_>) =
            found.partition(|part| matches!(part, Part::Picture(_)));
        parts.extend(pictures);
        others.extend(rest);
    }
    parts.extend(others);
    if !not_shown.is_empty() {
        let names = not_shown.join(", ");
        let text =
            format!("Files whose contents are not shown here, in the folder of the case: {names}");
        parts.push(Part::Text(text));
    }
    let log = at.join(STDERR);
    let log = fs::read_to_string(&log).map_err(|error| Error::io(&log, error))?;
    // They say what the answer lacks.
    let (notes, more) = excerpt::lines(&log);
    if !notes.is_empty() {
        let title = match more {
            0 => "Notes and warnings".to_owned(),
            _ => format!(
                "Notes and warnings; {} more in {STDERR}",
                number(more as u64, "line", "lines")
            ),
        };
        parts.push(Part::Lines(title, notes));
    }
    parts.extend(method::parts(documents));
    if !answer.inputs.is_empty() {
        parts.push(Part::Table(file_table(
            "Files that the command reads beside the source",
            &answer.inputs,
        )));
    }
    Ok(parts)
}

/// How a file of an answer is shown, if it is.
fn shown(file: &FileRecord, answer: &Answer, folder: &Path) -> Result<Vec<Part>> {
    let path = folder.join(&file.name);
    let read = || fs::read(&path).map_err(|error| Error::io(&path, error));
    let name = &file.name;
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let media_type = match extension {
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => "",
    };
    if !media_type.is_empty() {
        return Ok(vec![Part::Picture(Picture {
            title: format!("{name} of answer {}", answer.name),
            path: format!("answers/{}/{name}", answer.name),
            media_type,
            data: read()?,
        })]);
    }
    if name == STDOUT && file.bytes > 0 {
        let (text, more) = excerpt::lines(&String::from_utf8_lossy(&read()?));
        let title = match more {
            0 => "Printed result".to_owned(),
            _ => format!(
                "Printed result; {} more in {name}",
                number(more as u64, "line", "lines")
            ),
        };
        return Ok(vec![Part::Lines(title, text)]);
    }
    if extension == "csv" && name != LABELS {
        let mut excerpt = excerpt::csv(&path)?;
        excerpt.grid.title = format!(
            "{name}: {} of {}, {} of {}; SHA-256 {}",
            thousands(excerpt.grid.rows.len() as u64),
            number(excerpt.rows, "row", "rows"),
            excerpt.grid.header.len(),
            number(excerpt.columns as u64, "column", "columns"),
            file.sha256
        );
        return Ok(vec![Part::Table(excerpt.grid)]);
    }
    Ok(Vec::new())
}

pub(super) fn file_table(title: &str, files: &[FileRecord]) -> Grid {
    let rows = files.iter().map(|file| {
        let rows = file.rows.map(thousands).unwrap_or_default();
        vec![
            file.name.clone(),
            thousands(file.bytes),
            rows,
            file.sha256.clone(),
        ]
    });
    Grid::new(title, &["file", "bytes", "rows", "SHA-256"], rows.collect())
}
