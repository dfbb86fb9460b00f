//! Files that people write, read with a limit: `/dev/zero` must not fill the memory. They are UTF-8, or
//! UTF-16 with a byte order mark, as spreadsheets save it.

use crate::{Error, Result};
use std::{fs::File, io::Read, path::Path, string::FromUtf8Error};

/// Bytes that are read of a configuration or a saved query at most.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Bytes that are read of a list at most: some hundred thousand labels, or 1.5 million addresses.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// Reads a list: of addresses, blocks, labels, tokens or prices.
pub(crate) fn read_list(path: &Path) -> Result<String> {
    read_text_of(path, LIST_BYTES_MAX)
}

/// Reads a configuration or a saved query.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    read_text_of(path, TEXT_BYTES_MAX)
}

/// Reads a file of text. A file that is larger or is no text is a usage error, like every other content
/// that cannot be read.
fn read_text_of(path: &Path, bytes_max: u64) -> Result<String> {
    let failed = |error| Error::io(path, error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let mut file = file.take(bytes_max.saturating_add(1));
    let read = file.read_to_end(&mut bytes).map_err(failed)?;
    if read as u64 > bytes_max {
        let reason = format!("larger than {bytes_max} bytes");
        return Err(Error::usage(reason).at(path.display()));
    }
    decoded(bytes).map_err(|reason| {
        Error::usage(reason)
            .at(path.display())
            .hint("save the file as UTF-8")
    })
}

/// The text in these bytes, without a byte order mark. Its lines end with `\n`: after `\r\n`, the CSV
/// reader counts a line too few.
fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16, name: &str| {
        let (units, rest) = bytes.as_chunks::<2>();
        let units = units.iter().map(|pair| unit(*pair));
        match (
            char::decode_utf16(units).collect::<Result<String, _>>(),
            rest,
        ) {
            (Ok(text), []) => Ok(text),
            _ => Err(format!("the text begins as {name}, and is not valid")),
        }
    };
    let text = match &bytes[..] {
        [0xff, 0xfe, text @ ..] => wide(text, u16::from_le_bytes, "UTF-16 (little-endian)")?,
        [0xfe, 0xff, text @ ..] => wide(text, u16::from_be_bytes, "UTF-16 (big-endian)")?,
        all if all.contains(&0) => {
            return Err("this is UTF-16 without a byte order mark, or not text".to_owned());
        }
        _ => match String::from_utf8(bytes) {
            Ok(text) => match text.strip_prefix('\u{feff}') {
                Some(text) => text.to_owned(),
                None => text,
            },
            Err(error) => return Err(not_utf8(&error)),
        },
    };
    Ok(match text.contains("\r\n") {
        true => text.replace("\r\n", "\n"),
        false => text,
    })
}

/// Why bytes are no text, with the first place.
fn not_utf8(error: &FromUtf8Error) -> String {
    let (before, wrong) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let byte = wrong.first().copied().unwrap_or_default();
    format!(
        "line {line}: the byte 0x{byte:02x} is not UTF-8; the file can be in Windows-1252 or another encoding \
         of one byte"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn refuses_large_and_binary_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path).unwrap_err().kind, ErrorKind::Usage);
        for size in [TEXT_BYTES_MAX, TEXT_BYTES_MAX + 1] {
            std::fs::write(&path, vec![b' '; usize::try_from(size).unwrap()]).unwrap();
            assert_eq!(read_text(&path).is_ok(), size == TEXT_BYTES_MAX);
        }
        for path in [Path::new("/dev/zero"), &folder.path().join("none")] {
            assert!(read_text(path).is_err());
        }
    }

    #[test]
    fn other_encodings_are_read_or_named() {
        let text = "a,Börse 火\nb,\u{1f4b0}\n";
        let wide = |bytes: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(bytes).collect::<Vec<u8>>()
        };
        let [little, big] = [wide(u16::to_le_bytes), wide(u16::to_be_bytes)];
        for bytes in [
            text.into(),
            format!("\u{feff}{text}").into_bytes(),
            text.replace('\n', "\r\n").into_bytes(),
            little.clone(),
            big.clone(),
        ] {
            assert_eq!(decoded(bytes).unwrap(), text);
        }
        let cut = little[..little.len() - 1].to_vec();
        let lone = [0xfe, 0xff, 0xd8, 0x00].to_vec();
        for (bytes, reason) in [
            (cut, "begins as UTF-16 (little-endian), and is not valid"),
            (lone, "begins as UTF-16 (big-endian), and is not valid"),
            (
                b"a\nB\xf6rse".to_vec(),
                "line 2: the byte 0xf6 is not UTF-8; the file can be in Windows-1252",
            ),
            (b"a\0,\0".to_vec(), "UTF-16 without a byte order mark"),
        ] {
            let found = decoded(bytes).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
    }
}
