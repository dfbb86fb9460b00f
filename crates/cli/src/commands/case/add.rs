//! `txgraph case add`.

use super::{
    AddArgs,
    answer::{
        Answer, Blocks, FileRecord, LABELS, RECORD, STDERR, STDOUT, chain_text, is_name, names,
    },
    child,
    folder::{Folder, now, write_json},
    labels::LabelFile,
    query::Query,
};
use crate::{
    commands::Context,
    output::{number, print_data},
};
use clap::Command;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use txgraph::{ChainInfo, Error, ErrorKind, Result, Source, version};

/// Options of the case itself. The command gets the others before `--`.
const OWN: [&str; 4] = ["--quiet", "--verbose", "--explain", "--stats"];

/// The folder of an answer that is not complete. Deleted when dropped.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After a success it has another name.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The options before `--` that the command gets.
pub(super) fn of_command(options: &[String]) -> Vec<String> {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let options = options
        .iter()
        .filter(|word| !OWN.contains(&name(word).as_str()));
    options.cloned().collect()
}

pub(super) fn run(
    args: &AddArgs,
    program: Command,
    options: &[String],
    context: &Context<'_>,
) -> Result<()> {
    let terminal = context.terminal;
    let options = of_command(options);
    let query = Query::parse(program, &options, &args.command)?;
    query.check_keys()?;
    let folder = Folder::open(&args.folder)?;
    if let Some(name) = &args.name {
        check_name(&folder, name)?;
    }
    let (name, partial) = reserve(&folder, args.name.as_deref(), &query.command)?;
    let place = partial.0.canonicalize();
    let place = place.map_err(|error| Error::io(&partial.0, error))?;
    let has_labels = !LabelFile::read(&folder.path)?.is_empty();
    let mut added = query.additions(has_labels)?;
    let (chain, fixed, at_tip) = match of_source(&query, context) {
        Ok(found) => found,
        Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
        // The command states why the source cannot be opened.
        Err(_) => Default::default(),
    };
    if let Some(chain) = &chain {
        check_chain(&folder, chain)?;
    }
    added.extend(fixed);
    let uses_labels = added.iter().any(|word| word == LABELS);
    if uses_labels {
        let copied = fs::copy(folder.path.join(LABELS), place.join(LABELS));
        copied.map_err(|error| Error::io(&place, error))?;
    }
    let mut answer = Answer {
        name: name.clone(),
        title: args.title.clone(),
        command: args.command.clone(),
        options,
        program: format!("txgraph {}", version()),
        source: query.config()?.source.map(|source| source.to_string()),
        time: now(),
        seconds: 0.0,
        status: 0,
        chain,
        tip: None,
        blocks: Vec::new(),
        last_block_hash: None,
        inputs: query.inputs()?,
        files: Vec::new(),
        added,
    };
    let words = match at_tip.is_empty() {
        true => [
            answer.options.clone(),
            answer.command.clone(),
            placed(&answer.added, &place),
        ]
        .concat(),
        false => {
            let asked = query.again(&answer.added, &at_tip);
            [query.shared(), placed(&asked, &place)].concat()
        }
    };
    let done = child::run(&words, &place, !terminal.is_quiet(), context)?;
    (answer.seconds, answer.tip, answer.blocks) = (done.seconds, done.tip, done.blocks);
    answer.last_block_hash = done.last_block_hash;
    for file in names(&place)? {
        let record = FileRecord::of(&place.join(&file), &file)?;
        let rows = done.rows.get(&file).copied();
        answer.files.push(FileRecord { rows, ..record });
    }
    write_json(&place.join(RECORD), &answer, false)?;
    keep(&folder, &name, &partial)?;
    let stdout = folder.at(&name).join(STDOUT);
    let stdout = fs::read(&stdout).map_err(|error| Error::io(&stdout, error))?;
    let own = [STDOUT, STDERR, LABELS];
    let files = answer
        .files
        .iter()
        .filter(|it| !own.contains(&it.name.as_str()));
    if query.follows_tip(answer.ends_at_tip()) {
        terminal.note(format_args!(
            "the blocks of the command follow the tip; it asked for {}",
            answer.blocks_text()
        ));
    }
    terminal.note(format_args!(
        "kept {} ({})",
        folder.at(&name).display(),
        number(
            files.count() as u64,
            "file beside its messages",
            "files beside its messages"
        )
    ));
    print_data(&stdout)
}

/// The chain of the source, the arguments that fix the blocks of the command, and the blocks to ask for
/// instead of its own.
fn of_source(
    query: &Query,
    context: &Context<'_>,
) -> Result<(Option<ChainInfo>, Vec<String>, Vec<Blocks>)> {
    let Some(source) = source(query, context)? else {
        return Ok(Default::default());
    };
    let chain = source.chain().ok().cloned();
    Ok((chain, query.fixed(&source)?, query.at_tip(&source)?))
}

/// Opens the source of a command, unless executors do.
pub(super) fn source(query: &Query, context: &Context<'_>) -> Result<Option<Source>> {
    if query.is_given("cluster") {
        return Ok(None);
    }
    Source::with_config(&query.config()?, &context.control()).map(Some)
}

/// Refuses an answer of another chain: labels, notes and addresses of a case belong to one.
fn check_chain(folder: &Folder, chain: &ChainInfo) -> Result<()> {
    for entry in &folder.case.answers {
        if let Some(message) = other_chain(&folder.answer(entry)?, chain) {
            return Err(Error::usage(message).hint(
                "keep answers of another chain in a case of their own: `txgraph case new DIR`",
            ));
        }
    }
    Ok(())
}

/// Says that an answer is of another chain, if it is.
pub(super) fn other_chain(answer: &Answer, chain: &ChainInfo) -> Option<String> {
    let known = answer.chain.as_ref();
    let known = known.filter(|known| known.contradicts(chain))?;
    // Chains with one number differ in their first block.
    let is_one_number = chain.chain_id == known.chain_id;
    let [ours, known] = [chain, known].map(|it| match is_one_number {
        true => format!("{} with genesis {}", chain_text(it), it.genesis_hash),
        false => chain_text(it),
    });
    Some(format!(
        "the source is of chain {ours}, and answer {} of this case of chain {known}",
        answer.name
    ))
}

/// The added arguments, with the path of the labels.
pub(super) fn placed(added: &[String], place: &Path) -> Vec<String> {
    let labels = place.join(LABELS).display().to_string();
    let words = added.iter().map(|word| match word == LABELS {
        true => labels.clone(),
        false => word.clone(),
    });
    words.collect()
}

fn check_name(folder: &Folder, name: &str) -> Result<()> {
    if !is_name(name) {
        let message = format!("`{name}` is no name of an answer");
        return Err(Error::usage(message).hint("use letters, digits, `-`, `_` and `.`"));
    }
    if folder.has(name) || folder.at(name).exists() {
        let message = format!("the case has an answer `{name}` already");
        return Err(Error::usage(message).hint("choose another name; answers are never replaced"));
    }
    Ok(())
}

/// Makes the folder of an answer that is not complete, and chooses the name.
fn reserve(folder: &Folder, name: Option<&str>, command: &str) -> Result<(String, Partial)> {
    let answers = folder.answers();
    fs::create_dir_all(&answers).map_err(|error| Error::io(&answers, error))?;
    let mut number = folder.case.answers.len();
    loop {
        number += 1;
        let chosen = name.map_or_else(|| format!("{number:02}-{command}"), str::to_owned);
        let path = answers.join(format!(".{chosen}.partial"));
        let taken = folder.at(&chosen).exists() || path.exists();
        match (taken, name) {
            (true, None) => continue,
            (true, Some(_)) => {
                let message = format!("{}: this answer is being added", path.display());
                return Err(Error::new(ErrorKind::Failed, message)
                    .hint("delete the folder if no `txgraph case add` runs"));
            }
            (false, _) => {}
        }
        match fs::create_dir(&path) {
            Ok(()) => return Ok((chosen, Partial(path))),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(&path, error)),
        }
    }
}

/// Gives an answer its name, and adds it to the case.
fn keep(folder: &Folder, name: &str, partial: &Partial) -> Result<()> {
    let mut folder = Folder::open_locked(&folder.path)?;
    let at = folder.at(name);
    if at.exists() {
        let message = format!("{}: another answer has this name now", at.display());
        return Err(Error::new(ErrorKind::Failed, message));
    }
    fs::rename(&partial.0, &at).map_err(|error| Error::io(&at, error))?;
    folder.push(name)
}
