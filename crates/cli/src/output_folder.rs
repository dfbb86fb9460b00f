//! The folder of outputs, if one is set: file names of a query then name files in it.

use crate::name_args::check_text;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf},
};

/// The environment variable with the folder.
pub(crate) const OUTPUT_DIR_ENV: &str = "TXGRAPH_OUTPUT_DIR";

/// Parses the file name of an output.
pub(crate) fn parser() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name: OsString| {
        let folder = env::var_os(OUTPUT_DIR_ENV);
        check_text(place(folder.as_deref(), &name)?)
    })
}

/// The path of an output. `-` is standard output.
fn place(folder: Option<&OsStr>, name: &OsStr) -> Result<PathBuf, String> {
    let Some(folder) = folder.filter(|folder| !folder.is_empty()) else {
        return Ok(name.into());
    };
    let mut parts = Path::new(name).components();
    match (name == "-", parts.next(), parts.next()) {
        (true, ..) => Ok(name.into()),
        (false, Some(Component::Normal(_)), None) => Ok(Path::new(folder).join(name)),
        _ => Err(format!(
            "{}: with {OUTPUT_DIR_ENV}, an output is the name of a file in that folder",
            name.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_placed_in_the_folder() {
        let place = |folder: Option<&str>, name: &str| {
            super::place(folder.map(OsStr::new), OsStr::new(name))
        };
        assert_eq!(place(None, "a/b.csv"), Ok("a/b.csv".into()));
        assert_eq!(place(Some(""), "/a.csv"), Ok("/a.csv".into()));
        assert_eq!(place(Some("/f"), "a.csv"), Ok("/f/a.csv".into()));
        assert_eq!(place(Some("/f"), "-"), Ok("-".into()));
        for name in ["/a.csv", "../a.csv", "a/b.csv", "..", ""] {
            assert!(place(Some("/f"), name).is_err(), "{name}");
        }
    }
}
