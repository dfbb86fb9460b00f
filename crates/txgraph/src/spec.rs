//! Names of sources: `KIND:LOCATION`.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use txgraph_base::masked_url;

/// The kind of a source that is named by a plain path.
const DEFAULT_KIND: &str = "reth";

/// The kind of a source whose location is a URL, which may contain keys.
const SERVER_KIND: &str = "rpc";

/// The name of a source: `KIND:LOCATION`, or a path, which is short for `reth:PATH`.
///
/// A kind is a word of lower-case letters, digits and `-`. A path whose first part would be
/// read as a kind is written as `./a:b` or `reth:a:b`.
///
/// ```
/// use txgraph::SourceSpec;
///
/// let spec = SourceSpec::from("reth:/data/reth");
/// assert_eq!((spec.kind(), spec.location().to_str()), ("reth", Some("/data/reth")));
/// assert_eq!(SourceSpec::from("/data/reth"), spec);
/// assert_eq!(spec.to_string(), "reth:/data/reth");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SourceSpec {
    kind: String,
    location: OsString,
}

impl SourceSpec {
    /// The data directory of a reth node.
    pub fn reth(directory: impl Into<PathBuf>) -> Self {
        Self {
            kind: DEFAULT_KIND.to_owned(),
            location: directory.into().into(),
        }
    }

    /// A file with a bundle, or a directory of such files.
    pub fn bundle(path: impl Into<PathBuf>) -> Self {
        Self {
            kind: "bundle".to_owned(),
            location: path.into().into(),
        }
    }

    /// A JSON-RPC server.
    pub fn server(url: impl Into<OsString>) -> Self {
        Self {
            kind: SERVER_KIND.to_owned(),
            location: url.into(),
        }
    }

    /// Several sources, for messages.
    pub(crate) fn joined(names: &str) -> Self {
        Self {
            kind: "joined".to_owned(),
            location: names.into(),
        }
    }

    /// The kind of the source.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Where the source is; for most kinds a path.
    pub fn location(&self) -> &OsStr {
        &self.location
    }

    /// The source with its location, a path, counted from `folder` if it is relative. The
    /// location of a bucket is not a path.
    #[must_use]
    pub(crate) fn relative_to(self, folder: &Path) -> Self {
        if self.location.as_bytes().starts_with(b"s3://") {
            return self;
        }
        Self {
            location: folder.join(self.location).into(),
            ..self
        }
    }
}

impl From<&OsStr> for SourceSpec {
    fn from(text: &OsStr) -> Self {
        let bytes = text.as_bytes();
        let is_kind = |word: &[u8]| {
            word.first().is_some_and(u8::is_ascii_lowercase)
                && (word.iter()).all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
        };
        if let Some(at) = bytes.iter().position(|byte| *byte == b':')
            && is_kind(&bytes[..at])
        {
            return Self {
                kind: String::from_utf8_lossy(&bytes[..at]).into_owned(),
                location: OsStr::from_bytes(&bytes[at + 1..]).to_owned(),
            };
        }
        Self::reth(text)
    }
}

impl From<&str> for SourceSpec {
    fn from(text: &str) -> Self {
        OsStr::new(text).into()
    }
}

impl From<&String> for SourceSpec {
    fn from(text: &String) -> Self {
        OsStr::new(text).into()
    }
}

impl From<String> for SourceSpec {
    fn from(text: String) -> Self {
        OsStr::new(&text).into()
    }
}

impl From<OsString> for SourceSpec {
    fn from(text: OsString) -> Self {
        text.as_os_str().into()
    }
}

/// The data directory of a reth node.
impl From<&Path> for SourceSpec {
    fn from(path: &Path) -> Self {
        Self::reth(path)
    }
}

/// The data directory of a reth node.
impl From<PathBuf> for SourceSpec {
    fn from(path: PathBuf) -> Self {
        Self::reth(path)
    }
}

/// Without keys in the URL of a server.
impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = self.location.to_string_lossy();
        if self.kind == SERVER_KIND && !location.is_empty() {
            write!(f, "{}:{}", self.kind, masked_url(&location))
        } else {
            write!(f, "{}:{}", self.kind, self.location.display())
        }
    }
}

/// As [`Display`](fmt::Display).
impl fmt::Debug for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceSpec({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_a_folder_and_buckets_are_not() {
        for (text, expected) in [
            ("lake:x", "lake:/etc/x"),
            ("lake:/x", "lake:/x"),
            ("lake:s3://bucket/x", "lake:s3://bucket/x"),
        ] {
            let spec = SourceSpec::from(text).relative_to(Path::new("/etc"));
            assert_eq!(spec.to_string(), expected);
        }
    }

    #[test]
    fn paths_are_data_directories_and_words_are_kinds() {
        for (text, kind, location) in [
            ("/data/reth", "reth", "/data/reth"),
            ("reth:/data", "reth", "/data"),
            ("reth:", "reth", ""),
            ("reth:a:b", "reth", "a:b"),
            ("lake:s3://bucket/x", "lake", "s3://bucket/x"),
            ("era-1:x", "era-1", "x"),
            ("./a:b", "reth", "./a:b"),
            ("A:b", "reth", "A:b"),
            (":b", "reth", ":b"),
            ("data", "reth", "data"),
        ] {
            let spec = SourceSpec::from(text);
            assert_eq!(
                (spec.kind(), spec.location()),
                (kind, OsStr::new(location)),
                "{text}"
            );
            assert_eq!(SourceSpec::from(spec.to_string()), spec);
        }
        let server = SourceSpec::from("rpc:https://user:word@host/KEY#rate=1");
        assert_eq!(server.location(), "https://user:word@host/KEY#rate=1");
        assert_eq!(server.to_string(), "rpc:https://host/…");
        assert_eq!(format!("{server:?}"), "SourceSpec(rpc:https://host/…)");
        // A path of the type for paths is never a kind.
        assert_eq!(SourceSpec::from(Path::new("lake:x")).kind(), "reth");
    }
}
