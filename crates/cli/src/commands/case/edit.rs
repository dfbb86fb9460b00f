//! `txgraph case new` and `txgraph case note`.

use super::{
    NewArgs, NoteArgs,
    folder::{Folder, Note, now},
    labels,
};
use crate::{args::CASE_FILE, commands::Context, output::number};
use std::{
    fs,
    io::{self, Read},
    path::Path,
};
use txgraph::{Error, Result};

pub(super) fn make(args: &NewArgs, context: &Context<'_>) -> Result<()> {
    let path = &args.folder;
    let failed = |error| Error::io(path, error);
    context.global.config()?.protected_paths().check(path)?;
    if std::path::absolute(path)
        .map_err(failed)?
        .to_str()
        .is_none()
    {
        let message = format!("{}: the path is not UTF-8", path.display());
        return Err(Error::usage(message).hint("commands of a case get its path as text"));
    }
    match fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
        Ok(false) => {}
        Ok(true) => {
            let message = format!("{}: the folder is not empty", path.display());
            return Err(Error::usage(message).hint("name a folder that does not exist"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    let name = path.canonicalize().map_err(failed)?;
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let title = args.title.clone().unwrap_or_else(|| name.into_owned());
    let mut folder = Folder::new(path, title, args.author.clone());
    fs::create_dir_all(folder.answers()).map_err(failed)?;
    labels::make(path)?;
    folder.save()?;
    context.terminal.note(format_args!(
        "made {}; `txgraph case add` adds answers",
        path.join(CASE_FILE).display()
    ));
    Ok(())
}

pub(super) fn note(args: &NoteArgs, context: &Context<'_>) -> Result<()> {
    let mut folder = Folder::open_locked(&args.folder)?;
    if let Some(name) = &args.on
        && !folder.has(name)
    {
        let message = format!("the case has no answer `{name}`");
        return Err(Error::usage(message).hint("`txgraph case list DIR` lists the answers"));
    }
    let mut text = args.text.clone();
    if text == "-" {
        text.clear();
        let read = io::stdin().read_to_string(&mut text);
        read.map_err(|error| Error::io(Path::new("standard input"), error))?;
    }
    let text = text.trim_end().to_owned();
    if text.is_empty() {
        return Err(Error::usage("the note is empty"));
    }
    let on = args.on.clone();
    let time = now();
    folder.case.notes.push(Note { time, on, text });
    folder.save()?;
    let count = number(folder.case.notes.len() as u64, "note", "notes");
    (context.terminal).note(format_args!("the case has {count}"));
    Ok(())
}
