//! `txgraph case report`.

use super::{
    ReportArgs,
    answer::{Answer, FileRecord, LABELS, RECORD, check_regular},
    folder::Folder,
    labels::LabelFile,
    markdown, method,
    section::{file_table, heading, method_row, notes, section},
};
use crate::{
    args::CASE_FILE,
    commands::Context,
    document::{DocumentFile, Grid, Part, Report, html},
    output::number,
};
use std::{fs, path::Path};
use txgraph::{CancelFlag, Error, ErrorKind, Result};

/// The reports that a folder can have, and that `verify` compares.
const REPORTS: [&str; 2] = ["report.html", "report.md"];

pub(super) fn run(args: &ReportArgs, context: &Context<'_>) -> Result<()> {
    let folder = Folder::open(&args.folder)?;
    let default = folder.path.join(REPORTS[0]);
    let path = args.output.as_deref().unwrap_or(&default);
    let is_markdown = match path.extension().and_then(|it| it.to_str()) {
        Some("html" | "htm") => false,
        Some("md") => true,
        _ => {
            let message = format!("{}: a report is .html or .md", path.display());
            return Err(Error::usage(message));
        }
    };
    if is_markdown && !is_inside(path, &folder.path) {
        let message = format!(
            "{}: the file is not in the folder of the case",
            path.display()
        );
        return Err(Error::usage(message)
            .hint("the pictures of a Markdown report are files of the case; HTML contains them"));
    }
    let protected = context.global.config()?.protected_paths();
    let file = DocumentFile::create(path, args.overwrite, &protected)?;
    let report = report(&folder, &context.terminal.cancel)?;
    file.write(text(&report, is_markdown).as_bytes(), context.terminal)
}

fn text(report: &Report, is_markdown: bool) -> String {
    match is_markdown {
        true => markdown::text(report),
        false => html::text(report),
    }
}

/// Compares the reports in the folder of a case with the ones that it gives now. Returns their names.
pub(super) fn check(folder: &Folder, cancel: &CancelFlag) -> Result<Vec<&'static str>> {
    let is_there = |name: &&str| fs::symlink_metadata(folder.path.join(name)).is_ok();
    let names: Vec<_> = REPORTS.into_iter().filter(is_there).collect();
    if names.is_empty() {
        return Ok(names);
    }
    let report = report(folder, cancel)?;
    for name in &names {
        let path = folder.path.join(name);
        check_regular(&path)?;
        let found = fs::read(&path).map_err(|error| Error::io(&path, error))?;
        if found != text(&report, name.ends_with(".md")).as_bytes() {
            let message = format!(
                "{}: the report differs from the one that this txgraph makes of the case",
                path.display()
            );
            return Err(Error::new(ErrorKind::Failed, message).hint(
                "the case or txgraph has changed since, or the report was edited; `txgraph case \
                 report DIR --overwrite` writes it again",
            ));
        }
    }
    Ok(names)
}

/// Whether a file is directly in a folder.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok();
    parent.is_some() && parent == folder.canonicalize().ok()
}

/// Puts the report of a case together. It has no time of its own: the same case gives the same
/// report.
fn report(folder: &Folder, cancel: &CancelFlag) -> Result<Report> {
    let answers = folder.checked(cancel)?;
    let case = &folder.case;
    let mut about = vec![format!("Case of {}", case.created)];
    about.extend(case.author.iter().map(|author| format!("Author: {author}")));
    about.push(number(answers.len() as u64, "answer", "answers"));
    let mut parts = vec![heading(2, "Summary")];
    parts.extend(notes(&folder.notes(None)));
    if folder.notes(None).is_empty() {
        parts.push(Part::Text("The case has no notes of its own.".into()));
    }
    let mut sections = Vec::new();
    let mut rows = Vec::new();
    for (number, answer) in (1_u64..).zip(&answers) {
        let documents = method::documents(answer, &folder.at(&answer.name))?;
        rows.push(method_row(answer, documents.first().map(|(_, it)| it)));
        sections.extend(section(number, answer, folder, &documents)?);
    }
    parts.push(heading(2, "Method"));
    parts.push(Part::Text(
        "Each answer is what one command of txgraph printed and wrote. The table lists the commands \
         in the order in which they ran. Parameters, blocks and hashes are copied from the metadata \
         that the program wrote into the answers. Some commands only print a page and write no \
         metadata: their rows have the command, the program, and the tip of the source."
            .into(),
    ));
    let header = [
        "answer",
        "command",
        "program",
        "chain",
        "blocks",
        "last block hash",
        "tip",
        "source",
    ];
    parts.push(Part::Table(Grid::new("Commands", &header, rows)));
    parts.push(heading(2, "Answers"));
    parts.extend(sections);
    parts.extend(labels(folder)?);
    parts.extend(files(folder, &answers)?);
    Ok(Report {
        title: case.title.clone(),
        about,
        parts,
    })
}

fn labels(folder: &Folder) -> Result<Vec<Part>> {
    let labels = LabelFile::read(&folder.path)?;
    if labels.is_empty() {
        return Ok(Vec::new());
    }
    let LabelFile { header, rows } = labels;
    let title = "Labels of the case, as they are now; each answer has a copy of its own".into();
    let table = Grid {
        title,
        header,
        rows,
    };
    Ok(vec![heading(2, "Labels"), Part::Table(table)])
}

/// The list of all files, and how to verify them.
fn files(folder: &Folder, answers: &[Answer]) -> Result<Vec<Part>> {
    let mut all = Vec::new();
    for name in [CASE_FILE, LABELS] {
        all.push(FileRecord::of(&folder.path.join(name), name)?);
    }
    for answer in answers {
        let at = |name: &str| format!("answers/{}/{name}", answer.name);
        let record = folder.at(&answer.name).join(RECORD);
        all.push(FileRecord::of(&record, at(RECORD))?);
        all.extend(answer.files.iter().map(|file| FileRecord {
            name: at(&file.name),
            ..file.clone()
        }));
    }
    let text = format!(
        "{CASE_FILE} has the hash of each {RECORD}, and {RECORD} the hashes of the files of the answer. \
         These commands compare all files, and run the commands again:"
    );
    Ok(vec![
        heading(2, "Files"),
        Part::Table(file_table("Files of the case", &all)),
        heading(2, "Verification"),
        Part::Text(text),
        Part::Lines(
            "Commands".into(),
            "txgraph case verify DIR\ntxgraph case verify DIR --rerun --datadir NODE".into(),
        ),
        Part::Text(
            "A rerun asks for the blocks of the answer, also if the chain has grown since. It needs \
             a source that has these blocks. Lines of standard error are compared without times."
                .into(),
        ),
    ])
}
