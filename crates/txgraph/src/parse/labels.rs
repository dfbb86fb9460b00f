//! Files of labels, and of addresses that are not expanded.

use crate::{
    Error, Result,
    files::read_list,
    grammar::{Checksum, parse_address},
};
use alloy_primitives::Address;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use txgraph_labels::{DecodeError, Decoded, FORMATS, Labels, Reader, decode};

/// Extensions of the files that are read of a directory.
const EXTENSIONS: [&str; 5] = ["csv", "json", "yaml", "yml", "txt"];

/// Reads files of labels, in the order of their priority. A directory stands for its files
/// (`csv`, `json`, `yaml`, `yml`, `txt`), by name. Names of other chains are left out; what was
/// not read is in [`Labels::warnings`].
///
/// # Errors
///
/// If a file cannot be read or has no address.
pub fn labels(paths: &[String], checksum: Checksum, chain_id: u64) -> Result<Labels> {
    let mut labels = Labels::default();
    for path in paths {
        for path in files(Path::new(path))? {
            let decoded = read(&path, checksum, chain_id)?;
            let name = name(&path);
            labels.read(decoded, name.split('.').next().unwrap_or(&name));
        }
    }
    Ok(labels)
}

/// Reads a file of addresses that are not expanded, with their labels: every format of
/// [`labels`]. Addresses without a name get none.
///
/// # Errors
///
/// If the file cannot be read or has no address of this chain, or a row is wrong: an address that
/// is left out would be expanded.
pub fn stop_list(
    path: &Path,
    checksum: Checksum,
    chain_id: u64,
) -> Result<(BTreeSet<Address>, Labels)> {
    let mut decoded = read(path, checksum, chain_id)?;
    if let Some(row) = decoded.bad.first() {
        return Err(Error::usage(row.to_string()).at(path.display()));
    }
    if decoded.rows.is_empty() {
        return Err(Error::usage(format!(
            "all addresses are of other chains than {chain_id}, so that nothing would stop"
        ))
        .at(path.display()));
    }
    let addresses = decoded.rows.iter().map(|row| row.address).collect();
    decoded.rows.retain(|row| !row.label.name.is_empty());
    let mut labels = Labels::default();
    labels.read(decoded, "");
    Ok((addresses, labels))
}

/// A file, or the files of a directory.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error| Error::io(path, error);
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let extension = file.extension().and_then(|word| word.to_str());
        if file.is_file() && extension.is_some_and(|word| EXTENSIONS.contains(&word)) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        Err(Error::usage(format!(
            "the directory has no files of labels (*.{})",
            EXTENSIONS.join(", *.")
        ))
        .at(path.display()))
    } else {
        Ok(files)
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn read(path: &Path, checksum: Checksum, chain_id: u64) -> Result<Decoded> {
    let text = read_list(path)?;
    let reader = Reader {
        file: &name(path),
        chain_id,
        address: &|text| parse_address(text, checksum).map_err(|error| error.to_string()),
    };
    decode(&text, &reader).map_err(|error| {
        let message = Error::usage(error.to_string()).at(path.display());
        match error {
            DecodeError::NoAddress { .. } => message.hint(format!("known formats: {FORMATS}")),
            DecodeError::Syntax { .. } => message,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const A: &str = "0x00000000000000000000000000000000000000aa";
    const B: &str = "0x00000000000000000000000000000000000000bb";

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn earlier_files_win_and_directories_are_read_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("own.csv"), format!("{A},mine\nwrong,x\n")).unwrap();
        fs::create_dir(path("lists")).unwrap();
        fs::write(path("lists/b.json"), format!(r#"{{"{A}":"b","{B}":"b"}}"#)).unwrap();
        fs::write(path("lists/mixers.txt"), format!("{B}\n")).unwrap();
        fs::write(path("lists/notes.md"), "no labels").unwrap();
        let read = |paths: &[String]| labels(paths, Checksum::Verify, 1);
        let found = read(&[path("own.csv"), path("lists")]).unwrap();
        assert_eq!(found.name(address(A)), Some("mine"));
        let of_b = found.get(address(B));
        let names: Vec<_> = of_b.iter().map(|label| label.name.as_str()).collect();
        assert_eq!(names, ["b", "mixers"]);
        assert_eq!(of_b.category(), Some("mixer"));
        assert_eq!(found.warnings().len(), 1);
        assert!(found.warnings()[0].contains("own.csv: 1 row was not read; line 2: `wrong`"));

        // As spreadsheets on Windows save it.
        let wide = format!("\u{feff}address;name\r\n{A};Börse\r\n");
        let wide: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(path("wide.csv"), wide).unwrap();
        let found = read(&[path("wide.csv")]).unwrap();
        assert_eq!(found.name(address(A)), Some("Börse"));

        fs::write(path("none.txt"), "no address here").unwrap();
        let error = read(&[path("none.txt")]).unwrap_err();
        assert!(error.message.contains("none.txt: no address"), "{error:?}");
        assert!(read(&[path("nothing")]).is_err());
        fs::create_dir(path("empty")).unwrap();
        assert!(read(&[path("empty")]).is_err());
    }

    #[test]
    fn stop_lists_are_strict_and_need_no_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.csv");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            stop_list(&path, Checksum::Verify, 1)
        };
        let (stop, labels) = read(&format!(
            "Address,label\n# no\n\n{B},\"a, \"\"b\"\"\"\r\n{A}\n"
        ))
        .unwrap();
        assert_eq!(stop, BTreeSet::from([address(A), address(B)]));
        assert_eq!(labels.name(address(B)), Some("a, \"b\""));
        assert_eq!(labels.name(address(A)), None);
        let (stop, _) = read(&format!(r#" ["{A}", "{B}"]"#)).unwrap();
        assert_eq!(stop.len(), 2);
        for (text, reason) in [
            (format!("{A}\nunknown\n"), "list.csv: line 2: `unknown`"),
            (format!(r#"["{A}",7]"#), "list.csv: entry 2"),
            (
                format!("{A},\"open\n{B},b\n"),
                "a field contains a line break",
            ),
            ("[".to_owned(), "list.csv: not valid JSON"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.message.contains(reason), "{text}: {error}");
        }
        // An address of another chain may belong to others.
        let other = format!(r#"{{"address":"{A}","chainId":10}}"#);
        let (stop, labels) = read(&format!(r#"["{B}",{other}]"#)).unwrap();
        assert!(stop.len() == 1 && labels.warnings().len() == 1);
        let error = read(&format!("[{other}]")).unwrap_err();
        assert!(error.message.contains("of other chains than 1"), "{error}");
    }
}
