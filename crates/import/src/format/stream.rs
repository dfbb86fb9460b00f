//! The bytes of a file, decompressed.

use crate::Error;
use std::{fs::File, io::Read, path::Path};

/// How the bytes of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Plain,
    Gzip,
    Zstd,
}

impl Stream {
    /// The extension of a file name in lower case, without the one of a compression: `csv` for
    /// `logs.csv.gz`.
    pub(super) fn of(path: &Path) -> (String, Self) {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let last = |name: &str| {
            name.rsplit_once('.')
                .map(|(stem, it)| (stem.to_owned(), it.to_owned()))
        };
        match last(&name) {
            Some((stem, extension)) => {
                let stream = match extension.as_str() {
                    "gz" | "gzip" => Self::Gzip,
                    "zst" | "zstd" => Self::Zstd,
                    _ => return (extension, Self::Plain),
                };
                let inner = last(&stem).map_or_else(String::new, |(_, extension)| extension);
                (inner, stream)
            }
            None => (String::new(), Self::Plain),
        }
    }

    /// Opens a file from its begin.
    pub(super) fn open(self, path: &Path) -> Result<Box<dyn Read>, Error> {
        let io = |error| Error::io(path, error);
        let file = File::open(path).map_err(io)?;
        Ok(match self {
            Self::Plain => Box::new(file),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::Decoder::new(file).map_err(io)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use std::path::Path;

    #[test]
    fn names_state_format_and_compression() {
        for (name, extension, stream) in [
            ("logs.csv", "csv", Stream::Plain),
            ("logs.CSV.GZ", "csv", Stream::Gzip),
            ("a.b.jsonl.zst", "jsonl", Stream::Zstd),
            ("logs.gz", "", Stream::Gzip),
            ("logs", "", Stream::Plain),
        ] {
            let found = Stream::of(Path::new(name));
            assert_eq!(found, (extension.to_owned(), stream), "{name}");
        }
    }
}
