//! The objects of a JSON file: one on each line, one after the other, or in one array.

use std::io::{self, BufRead};

/// The longest object. A block with all its withdrawals has a few kilobytes.
const BYTES_PER_OBJECT_MAX: usize = 1 << 26;

/// Splits bytes into the objects of the highest level, without parsing them.
#[derive(Debug)]
pub(crate) struct Objects<R> {
    reader: R,
    /// Bytes before the reader's position.
    offset: u64,
    object: Vec<u8>,
    opened: bool,
    closed: bool,
}

/// The mark that some editors put in front of UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

impl<R: BufRead> Objects<R> {
    pub(crate) const fn new(reader: R, offset: u64) -> Self {
        Self {
            reader,
            offset,
            object: Vec::new(),
            opened: false,
            closed: false,
        }
    }

    /// Returns the offset and the text of the next object. `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.object.clear();
        let Some(start) = self.skip_to_object()? else {
            return Ok(None);
        };
        let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Err(invalid("the file ends inside of an object"));
            }
            let mut end = None;
            for (at, byte) in buffer.iter().enumerate() {
                match (in_string, byte) {
                    (true, _) if escaped => escaped = false,
                    (true, b'\\') => escaped = true,
                    (_, b'"') => in_string = !in_string,
                    (false, b'{' | b'[') => depth += 1,
                    (false, b'}' | b']') => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            end = Some(at + 1);
                            break;
                        }
                    }
                    _ => {}
                }
            }
            let used = end.unwrap_or(buffer.len());
            self.object.extend_from_slice(&buffer[..used]);
            self.reader.consume(used);
            self.offset += used as u64;
            if end.is_some() {
                return Ok(Some((start, &self.object)));
            }
            if self.object.len() > BYTES_PER_OBJECT_MAX {
                return Err(invalid("an object is longer than 64 MiB"));
            }
        }
    }

    /// Skips space and the punctuation of an array. Returns the offset of the next `{`.
    fn skip_to_object(&mut self) -> io::Result<Option<u64>> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return match self.opened && !self.closed {
                    true => Err(invalid("the file ends inside of an array")),
                    false => Ok(None),
                };
            }
            let mut skipped = 0;
            let mut found = None;
            for byte in buffer {
                let at = usize::try_from(self.offset + skipped as u64).unwrap_or(usize::MAX);
                match byte {
                    b' ' | b'\t' | b'\r' | b'\n' | b',' | 0x1e => {}
                    b'[' if !self.opened => self.opened = true,
                    b']' => self.closed = true,
                    byte if BYTE_ORDER_MARK.get(at) == Some(byte) => {}
                    byte => {
                        found = Some(*byte);
                        break;
                    }
                }
                skipped += 1;
            }
            self.reader.consume(skipped);
            self.offset += skipped as u64;
            match found {
                Some(b'{') => return Ok(Some(self.offset)),
                Some(_) => return Err(invalid("neither JSON lines nor an array of objects")),
                None => {}
            }
        }
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn split(text: &str, capacity: usize) -> io::Result<Vec<(u64, String)>> {
        let reader = BufReader::with_capacity(capacity, text.as_bytes());
        let mut objects = Objects::new(reader, 0);
        let mut found = Vec::new();
        while let Some((offset, object)) = objects.next()? {
            found.push((offset, String::from_utf8(object.to_vec()).unwrap()));
        }
        Ok(found)
    }

    #[test]
    fn lines_and_arrays_give_the_same_objects() {
        let (one, two) = (r#"{"a":"}\"{","b":[1,{}]}"#, r#"{"a":2}"#);
        for text in [
            format!("{one}\n{two}\n"),
            format!("{one}{two}"),
            format!("[{one},\n {two}]"),
            format!(" [\n{one}\n,{two}\n]\n"),
            format!("\u{feff}[{one},{two}]"),
        ] {
            for capacity in [1, 7, 4096] {
                let found = split(&text, capacity).unwrap();
                assert_eq!(found.len(), 2, "{text}");
                for ((offset, object), expected) in found.iter().zip([one, two]) {
                    assert_eq!(object, expected);
                    assert_eq!(text.find(expected).unwrap() as u64, *offset);
                }
            }
        }
        assert!(split("", 10).unwrap().is_empty());
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["<html>", "{\"a\":1", "[1,2]", "\"a\"", "[{\"a\":1}", "["] {
            assert!(split(text, 8).is_err(), "{text}");
        }
    }
}
