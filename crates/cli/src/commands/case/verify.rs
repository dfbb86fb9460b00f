//! `txgraph case verify`.

use super::{
    VerifyArgs, add,
    answer::{Answer, FileRecord, LABELS, STDERR, names},
    child,
    folder::Folder,
    query::Query,
    report,
};
use crate::{
    argv::command_line,
    commands::Context,
    exit,
    output::{number, print_page},
};
use clap::Command;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};
use txgraph::{Error, ErrorKind, Result, SourceSpec, version};

/// Options of a record that a rerun never uses: they can name what another person made or runs.
const NOT_USED: [&str; 3] = ["--index", "--head", "--config"];

/// Options that describe a source. Another source takes the place of all.
const OF_SOURCE: [&str; 7] = [
    "--datadir",
    "--source",
    "--datadir.static-files",
    "--datadir.rocksdb",
    "--chain-id",
    "--covers",
    "--source-columns",
];

pub(super) fn run(
    args: &VerifyArgs,
    program: Command,
    options: &[String],
    context: &Context<'_>,
) -> Result<()> {
    if args.rerun {
        // Before anything is read.
        context.global.config()?;
    }
    let folder = Folder::open(&args.folder)?;
    let mut failed = Vec::new();
    let answers = match folder.checked(&context.terminal.cancel) {
        // A rerun says in which row a file differs.
        Err(error) if args.rerun && error.kind != ErrorKind::Interrupted => {
            failed.push(error);
            folder.records()?
        }
        answers => answers?,
    };
    for name in names(&folder.answers())? {
        if !name.starts_with('.') && !folder.has(&name) {
            let message = format!(
                "{}: the case has no such answer",
                folder.at(&name).display()
            );
            return Err(Error::new(ErrorKind::Failed, message));
        }
    }
    let labels = match folder.check_labels()? {
        true => " and the labels, all as recorded",
        false => ", all as recorded; the labels were not recorded then",
    };
    if failed.is_empty() {
        let files: u64 = answers.iter().map(|answer| answer.files.len() as u64).sum();
        print_page(&format!(
            "{}: {} of {}{labels}\n",
            folder.path.display(),
            number(files, "file", "files"),
            number(answers.len() as u64, "answer", "answers"),
        ))?;
    }
    match report::check(&folder, &context.terminal.cancel) {
        Ok(names) => {
            for name in names {
                print_page(&format!("{name}: as the case gives it\n"))?;
            }
        }
        Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
        Err(error) => failed.push(error),
    }
    if args.rerun {
        let options = add::of_command(options);
        for answer in &answers {
            match rerun(answer, &folder, program.clone(), &options, context) {
                Ok(line) => print_page(&format!("{}: {line}\n", answer.name))?,
                Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
                Err(error) => failed.push(error.at(&answer.name)),
            }
        }
    }
    exit::last_of(failed)
}

/// Runs the command of an answer again, and compares its files.
fn rerun(
    answer: &Answer,
    folder: &Folder,
    program: Command,
    options: &[String],
    context: &Context<'_>,
) -> Result<String> {
    let query = Query::parse(program.clone(), &answer.options, &answer.command)?;
    // A command whose blocks follow the tip asks for the blocks of the answer.
    let ranges = match query.follows_tip(answer.ends_at_tip()) {
        true => &answer.blocks[..],
        false => &[],
    };
    let temporary = tempfile::tempdir();
    let temporary = temporary.map_err(|error| Error::io(&std::env::temp_dir(), error))?;
    let place = temporary.path().canonicalize();
    let place = place.map_err(|error| Error::io(temporary.path(), error))?;
    let old = folder.at(&answer.name);
    if answer.file(LABELS).is_some() {
        let copied = fs::copy(old.join(LABELS), place.join(LABELS));
        copied.map_err(|error| Error::io(&place, error))?;
    }
    let asked = query.again(&answer.added, ranges);
    if !Query::parse(program.clone(), &[], &asked)?
        .shared()
        .is_empty()
    {
        let message = "the record has options of every command among the arguments of the case";
        return Err(Error::new(ErrorKind::Failed, message));
    }
    let shared = combined(&query.shared(), options, &folder.path);
    let words: Vec<String> = (shared.iter().cloned())
        .chain(add::placed(&asked, &place))
        .collect();
    let again = Query::parse(program, &shared, &asked)?;
    let source = again.config()?.source.map(|source| source.to_string());
    let line: Vec<String> = shared.iter().map(|word| shown(word)).chain(asked).collect();
    let line = command_line(&line);
    context
        .terminal
        .note(format_args!("{}: {line}", answer.name));
    let changed = Changed {
        words: !ranges.is_empty(),
        source: source != answer.source,
    };
    // If it cannot be opened, the command says why.
    let opened = add::source(&again, context).ok().flatten();
    let chain = opened.as_ref().and_then(|source| source.chain().ok());
    if let Some(message) = chain.and_then(|chain| add::other_chain(answer, chain)) {
        return Err(Error::new(ErrorKind::Failed, message));
    }
    let done = child::run(&words, &place, false, context)?;
    let mut found: BTreeMap<Same, Vec<String>> = BTreeMap::new();
    let made = |file: &&FileRecord| ![STDERR, LABELS].contains(&file.name.as_str());
    for file in answer.files.iter().filter(made) {
        let same = compare(file, &old, &place, answer, changed)?;
        if same == Same::Bytes && file.check(&old).is_err() {
            let mut message = format!("the command gives {} as it was recorded", file.name);
            let row = has_rows(&file.name)
                .then(|| other_row(&place.join(&file.name), &old.join(&file.name)));
            if let Some(row) = row.flatten() {
                message += &format!("; the file in the case, {row}");
            }
            return Err(Error::new(ErrorKind::Failed, message));
        }
        found.entry(same).or_default().push(file.name.clone());
    }
    let other_line = other_line(&old.join(STDERR), &place.join(STDERR), changed.words)?;
    let same = match (&other_line, changed.source) {
        (None, _) => Same::ButTimes,
        (Some(_), true) => Same::OfSource,
        (Some(_), false) => Same::No,
    };
    found.entry(same).or_default().push(STDERR.to_owned());
    let others = names(&place)?.into_iter();
    let others: Vec<_> = others.filter(|name| answer.file(name).is_none()).collect();
    if !others.is_empty() {
        found.entry(Same::No).or_default().extend(others);
    }
    let sources = || {
        let [now, then] = [&source, &answer.source].map(|it| it.as_deref().unwrap_or("none"));
        format!("was {then}, and is {now}")
    };
    if let Some(differ) = found.get(&Same::No) {
        let mut reasons = reasons(answer, &done)?;
        reasons.extend(other_line.map(|line| format!("only one {STDERR} has the line `{line}`")));
        if changed.source {
            reasons.insert(0, format!("the source {}", sources()));
        }
        let mut message = format!("the command gives another answer: {}", differ.join(", "));
        for file in differ.iter().filter(|name| has_rows(name)) {
            if let Some(rows) = other_row(&old.join(file), &place.join(file)) {
                message += &format!("; {file}, {rows}");
            }
        }
        return Err(Error::new(ErrorKind::Failed, message).hint(reasons.join("; ")));
    }
    if let (true, Some(message)) = (changed.source, last_block(answer, &done)) {
        let message = format!("the rows are the same, but {message}");
        return Err(Error::new(ErrorKind::Failed, message));
    }
    let words = found.iter().map(|(same, files)| {
        let files = files.join(", ");
        match same {
            Same::Bytes => format!("the same bytes again: {files}"),
            Same::ButMetadata => format!("the same but for metadata: {files}"),
            Same::ButTimes => format!("the same but for times: {files}"),
            Same::OfSource => format!(
                "the same but for statements about the source, which {}: {files}",
                sources()
            ),
            _ => format!("not compared: {files}"),
        }
    });
    let mut words = words.collect::<Vec<_>>().join("; ");
    if changed.source && (answer.last_block_hash.is_none() || done.last_block_hash.is_none()) {
        words += "; the hash of the last block was not compared: a source does not have it";
    }
    if !found.contains_key(&Same::Unknown) {
        return Ok(words);
    }
    let hint = "the file contains metadata, in which the version or the words for the blocks differ; make \
                the answer again, with numbers of blocks, or compare with its own version of txgraph";
    Err(Error::new(ErrorKind::Failed, words).hint(hint))
}

/// Options of every command. New ones take the place of old ones. Old ones that name a server, a bucket
/// or a part of the case are not used.
fn combined(old: &[String], new: &[String], case: &Path) -> Vec<String> {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let of_source = |word: &String| OF_SOURCE.contains(&name(word).as_str());
    let is_other = new
        .iter()
        .any(|word| ["--datadir", "--source"].contains(&name(word).as_str()));
    // Only data directories and bundles use a genesis file.
    let is_node = new.iter().any(|word| name(word) == "--datadir");
    let is_kept = |word: &&String| {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        let source = match option {
            "--source" => SourceSpec::from(value),
            _ => SourceSpec::reth(value),
        };
        let place = source.location();
        let is_remote = source.kind() == "rpc" || place.to_string_lossy().contains("://");
        let is_foreign = is_remote || is_part(Path::new(place), case);
        let is_used = !NOT_USED.contains(&name(word).as_str()) && !is_foreign;
        let is_replaced = new.iter().any(|other| name(other) == name(word));
        let is_of_other = is_other && (of_source(word) || (option == "--chain" && !is_node));
        is_used && !is_replaced && !is_of_other
    };
    old.iter().filter(is_kept).chain(new).cloned().collect()
}

fn is_part(path: &Path, folder: &Path) -> bool {
    let paths = [path, folder].map(Path::canonicalize);
    matches!(paths, [Ok(path), Ok(folder)] if path.starts_with(&folder))
}

/// An option of every command, without keys in a URL.
fn shown(word: &str) -> String {
    match word.split_once('=') {
        Some(("--source", source)) => format!("--source={}", SourceSpec::from(source)),
        Some(("--head", url)) => {
            let head = SourceSpec::server(url).to_string();
            format!("--head={}", head.trim_start_matches("rpc:"))
        }
        _ => word.to_owned(),
    }
}

/// Known differences of a rerun.
#[derive(Clone, Copy, Debug)]
struct Changed {
    /// It names the same blocks in other words.
    words: bool,
    /// It asks another source, which knows other things than rows.
    source: bool,
}

/// The first line of one of two texts of standard error that the other one lacks. With
/// `in_other_words`, the rerun named the same blocks in other words, so that it notes no end before
/// the one that was asked for.
fn other_line(old: &Path, new: &Path, in_other_words: bool) -> Result<Option<String>> {
    let is_end =
        |line: &&str| line.starts_with("warning: the answer may be partial: the blocks end");
    let read = |path: &Path| fs::read(path).map_err(|error| Error::io(path, error));
    let texts = [read(old)?, read(new)?];
    let [old, new] = texts.each_ref().map(|text| String::from_utf8_lossy(text));
    let [old, new] = [&old, &new].map(|text| {
        let lines = text.lines().map(without_cost);
        let mut lines: Vec<_> = lines
            .filter(|line| !(in_other_words && is_end(line)))
            .collect();
        // Threads can write them in another order.
        lines.sort_unstable();
        lines
    });
    let differ = (old.iter().zip(&new)).find(|(old, new)| old != new);
    let differ = differ.map(|(old, new)| old.min(new));
    let more = || old.get(new.len()).or_else(|| new.get(old.len()));
    Ok(differ.or_else(more).map(|line| (*line).to_owned()))
}

/// Whether a file has a row in each line.
fn has_rows(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    ["csv", "jsonl", "txt"].contains(&extension) && name != STDERR
}

/// The first line in which two files differ: its number and what it is in both. `None` if one of them is
/// not text.
fn other_row(old: &Path, new: &Path) -> Option<String> {
    let [old, new] = [old, new].map(|path| fs::read_to_string(path).ok());
    let (old, new) = (old?, new?);
    let (mut old, mut new) = (old.lines(), new.lines());
    (1_u64..).find_map(|line| {
        let rows = [old.next(), new.next()];
        let is_end = rows == [None, None];
        (rows[0] != rows[1] || is_end).then(|| {
            let [was, is] =
                rows.map(|row| row.map_or("missing".to_owned(), |row| format!("`{row}`")));
            (!is_end).then(|| format!("line {line}: it was {was}, and is {is}"))
        })
    })?
}

/// A line of standard error without times, sizes of files, and how much was read, which an index and
/// other sources change.
fn without_cost(line: &str) -> &str {
    if line.starts_with("wrote ") {
        return line.rsplit_once(" (").map_or(line, |(name, _)| name);
    }
    match (line.strip_prefix("read "), line.split_once(": ")) {
        (Some(_), Some((_, found))) => {
            let found = found.split("; ").next().unwrap_or(found);
            found.split(", ").next().unwrap_or(found)
        }
        _ => line,
    }
}

/// How two files compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    Bytes,
    /// The metadata states another version of the program, or the blocks in other words.
    ButMetadata,
    /// Lines of standard error.
    ButTimes,
    /// Warnings and metadata, of another source.
    OfSource,
    /// The file contains metadata that cannot be taken out.
    Unknown,
    No,
}

/// Compares a file with the one of a rerun.
fn compare(
    file: &FileRecord,
    old: &Path,
    new: &Path,
    answer: &Answer,
    changed: Changed,
) -> Result<Same> {
    let path = new.join(&file.name);
    if !path.is_file() {
        return Ok(Same::No);
    }
    if FileRecord::of(&path, "")?.sha256 == file.sha256 {
        return Ok(Same::Bytes);
    }
    let program = format!("txgraph {}", version());
    let texts = [old.join(&file.name), path].map(fs::read_to_string);
    if let [Ok(before), Ok(now)] = texts {
        let before = before.replace(&answer.program, &program);
        let is_same = |removed: &[_]| {
            let metadata = match file.name.ends_with(".meta.json") {
                true => "",
                false => "/metadata",
            };
            let documents = [&before, &now].map(|text| without(text, metadata, removed));
            documents[0].is_some() && documents[0] == documents[1]
        };
        let words = if changed.words { WORDS } else { &[] };
        if before == now || is_same(&[READING, words].concat()) {
            return Ok(Same::ButMetadata);
        }
        if changed.source && is_same(&[READING, WORDS, OF_OTHER].concat()) {
            return Ok(Same::OfSource);
        }
    }
    let extension = file.name.rsplit('.').next().unwrap_or_default();
    let is_text = ["csv", "jsonl", "json", "txt"].contains(&extension);
    let is_known = is_text || (!changed.words && !changed.source && answer.program == program);
    Ok(if is_known { Same::No } else { Same::Unknown })
}

/// How many transfers were read, which an index changes.
const READING: &[[&str; 2]] = &[["/scan/counts", "transfers"]];

/// How the blocks were written, and which of them do not exist. Standard error, which is compared, too, has
/// all warnings.
const WORDS: &[[&str; 2]] = &[["/question", "blocks"], ["/scan", "caveats"]];

/// Facts beside rows that one source has and another one does not.
const OF_OTHER: &[[&str; 2]] = &[
    ["/scan", "counts"],
    ["", "notes"],
    ["", "caveats"],
    ["", "state"],
    ["", "unchecked"],
    ["/ends", "contracts"],
];

/// A JSON document without some fields of its metadata, which is at `metadata`. Each field is given by its
/// place, an object or a list of objects, and its key.
fn without(text: &str, metadata: &str, removed: &[[&str; 2]]) -> Option<Value> {
    let mut document: Value = serde_json::from_str(text).ok()?;
    for [place, key] in removed {
        let place = match document.pointer_mut(&format!("{metadata}{place}")) {
            Some(Value::Array(items)) => &mut items[..],
            Some(value) => std::slice::from_mut(value),
            None => continue,
        };
        for fields in place.iter_mut().filter_map(Value::as_object_mut) {
            fields.remove(*key);
        }
    }
    Some(document)
}

/// Says that the last block that was read is another one now, if it is.
fn last_block(answer: &Answer, done: &child::Finished) -> Option<String> {
    let (then, now) = (
        answer.last_block_hash.as_ref()?,
        done.last_block_hash.as_ref()?,
    );
    (then != now).then(|| {
        format!(
            "the last block had the hash {then}, and has {now}: it was replaced, or the source is of another \
             chain"
        )
    })
}

/// The known changes since an answer was made.
fn reasons(answer: &Answer, done: &child::Finished) -> Result<Vec<String>> {
    let mut reasons = Vec::new();
    for input in &answer.inputs {
        let path = Path::new(&input.name);
        if !path.is_file() {
            reasons.push(format!("{} is missing", input.name));
        } else if input.difference(path)?.is_some() {
            reasons.push(format!("{} has changed", input.name));
        }
    }
    let now = format!("txgraph {}", version());
    if now != answer.program {
        reasons.push(format!("{} made the answer; this is {now}", answer.program));
    }
    if done.blocks != answer.blocks {
        reasons.push("the command now asks for other blocks".to_owned());
    } else {
        reasons.extend(last_block(answer, done));
    }
    let is_picture = |name: &str| name.ends_with(".svg") || name.ends_with(".png");
    if answer.files.iter().any(|file| is_picture(&file.name)) {
        reasons.push("pictures also depend on the version of Graphviz".to_owned());
    }
    if reasons.is_empty() {
        reasons.push("the source has other blocks or another state than then".to_owned());
    }
    Ok(reasons)
}
