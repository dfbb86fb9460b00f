//! Compressed text files, by the last extension of their name: `transfers.csv.gz`, `x.jsonl.zst`.

use crate::atomic_file::PartialFile;
use flate2::write::GzEncoder;
use std::{
    io::{self, Write},
    path::Path,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the method that the name of a file asks for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Returns the name without the extension of a compression: `a.csv` for `a.csv.gz`.
pub(crate) fn plain_name(path: &Path) -> &Path {
    match (Compression::of(path), path.file_stem()) {
        (Some(_), Some(stem)) => Path::new(stem),
        _ => path,
    }
}

/// A file that is compressed while it is written.
pub(crate) enum CompressedFile {
    Gzip(GzEncoder<PartialFile>),
    Zstd(zstd::Encoder<'static, PartialFile>),
}

impl CompressedFile {
    pub(crate) fn new(compression: Compression, file: PartialFile) -> io::Result<Self> {
        Ok(match compression {
            // The header contains no time: equal answers are equal bytes.
            Compression::Gzip => Self::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Writes the end of the compressed data.
    pub(crate) fn finish(self) -> io::Result<PartialFile> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for CompressedFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(encoder) => encoder.write(data),
            Self::Zstd(encoder) => encoder.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_chooses() {
        for (name, compression, plain) in [
            ("a/b.csv.gz", Some(Compression::Gzip), "b.csv"),
            ("b.jsonl.zst", Some(Compression::Zstd), "b.jsonl"),
            ("a/b.csv", None, "a/b.csv"),
            ("gz", None, "gz"),
            (".gz", None, ".gz"),
        ] {
            let path = Path::new(name);
            assert_eq!(Compression::of(path), compression, "{name}");
            assert_eq!(plain_name(path), Path::new(plain), "{name}");
        }
    }
}
