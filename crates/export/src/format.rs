//! The words of the command line for formats, schemas and encodings.

use std::{fmt, path::Path, str::FromStr};

/// A word that names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{word}`; one of {known}")]
pub struct UnknownWord {
    /// What was to be named.
    pub what: &'static str,
    /// What was said instead.
    pub word: String,
    /// What could have been said.
    pub known: String,
}

macro_rules! choice {
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $($(#[$doc:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word.to_ascii_lowercase().as_str() {
                    $($word $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err(UnknownWord {
                        what: $what,
                        word: word.to_owned(),
                        known: [$($word),+].join(", "),
                    }),
                }
            }
        }
    };
}

choice! {
    /// A format for rows.
    TableFormat, "table format" {
        /// Comma-separated values, RFC 4180, with a header line.
        Csv = "csv",
        /// One JSON object per line.
        Jsonl = "jsonl" | "ndjson",
        /// Apache Parquet.
        Parquet = "parquet",
        /// Arrow IPC file, also known as Feather version 2.
        Ipc = "ipc" | "arrow" | "feather",
    }
}

choice! {
    /// A format for a whole graph. The first four write its edges as rows.
    GraphFormat, "graph format" {
        /// Edges as comma-separated values.
        Csv = "csv",
        /// Edges as one JSON object per line.
        Jsonl = "jsonl" | "ndjson",
        /// Edges as Apache Parquet.
        Parquet = "parquet",
        /// Edges as an Arrow IPC file.
        Ipc = "ipc" | "arrow" | "feather",
        /// One JSON document: metadata, vertices, edges.
        Json = "json",
        /// The language of Graphviz.
        Dot = "dot" | "gv",
        /// A picture made of lines; needs Graphviz.
        Svg = "svg",
        /// A picture made of points; needs Graphviz.
        Png = "png",
        /// GraphML, for Gephi, Cytoscape, yEd, networkx, igraph.
        GraphMl = "graphml",
        /// GEXF 1.3, for Gephi.
        Gexf = "gexf",
    }
}

choice! {
    /// Whose column names to use. See `docs/schemas.md`.
    Schema, "schema" {
        /// Ours.
        Txgraph = "txgraph",
        /// Those of cryo's datasets.
        Cryo = "cryo",
        /// Those of ethereum-etl's tables.
        Etl = "etl" | "ethereum-etl",
    }
}

choice! {
    /// How a 256-bit number is written to Parquet and Arrow IPC.
    U256Type, "u256 type" {
        /// 32 bytes, most significant first. Exact, and sorts by amount.
        Binary = "binary",
        /// Decimal. Exact.
        String = "string",
        /// The nearest double. For ranking only.
        F64 = "f64" | "float64",
    }
}

choice! {
    /// How Parquet and Arrow IPC are compressed.
    Compression, "compression" {
        /// Not at all.
        None = "none" | "uncompressed",
        /// Quick, modest. Parquet only.
        Snappy = "snappy",
        /// Quick, modest.
        Lz4 = "lz4",
        /// Small.
        Zstd = "zstd",
    }
}

impl TableFormat {
    /// Whether lines of text come out, which cannot hold metadata.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl)
    }

    /// Guesses from the end of a file name.
    pub fn from_extension(path: &Path) -> Option<Self> {
        path.extension()?.to_str()?.parse().ok()
    }
}

impl GraphFormat {
    /// Guesses from the end of a file name.
    pub fn from_extension(path: &Path) -> Option<Self> {
        path.extension()?.to_str()?.parse().ok()
    }

    /// The format for rows, where this is one.
    pub const fn table(self) -> Option<TableFormat> {
        match self {
            Self::Csv => Some(TableFormat::Csv),
            Self::Jsonl => Some(TableFormat::Jsonl),
            Self::Parquet => Some(TableFormat::Parquet),
            Self::Ipc => Some(TableFormat::Ipc),
            _ => None,
        }
    }
}

impl From<TableFormat> for GraphFormat {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Csv => Self::Csv,
            TableFormat::Jsonl => Self::Jsonl,
            TableFormat::Parquet => Self::Parquet,
            TableFormat::Ipc => Self::Ipc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for format in GraphFormat::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
            let path = format!("a.b/graph.{}", format.as_str().to_uppercase());
            assert_eq!(GraphFormat::from_extension(Path::new(&path)), Some(*format));
        }
        for format in TableFormat::ALL {
            assert_eq!(GraphFormat::from(*format).table(), Some(*format));
        }
        assert_eq!(
            TableFormat::from_extension(Path::new("t.arrow")),
            Some(TableFormat::Ipc)
        );
        assert_eq!(TableFormat::from_extension(Path::new("t.svg")), None);
        assert_eq!(TableFormat::from_extension(Path::new("csv")), None);
        assert_eq!(
            "float".parse::<U256Type>().unwrap_err().to_string(),
            "unknown u256 type `float`; one of binary, string, f64"
        );
    }
}
