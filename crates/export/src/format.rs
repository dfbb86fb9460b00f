//! Formats, schemas and encodings, with the words for them.

use crate::{ColumnType, compression::plain_name};
use std::{fmt, path::Path, str::FromStr};
use txgraph_base::{UnknownWord, string_enum};

string_enum! {
    /// A format for tables.
    pub enum TableFormat: "table format" {
        /// Comma-separated values, RFC 4180, with a header line.
        Csv = "csv",
        /// One JSON object per line.
        Jsonl = "jsonl" | "ndjson",
        /// Apache Parquet.
        Parquet = "parquet" | "pq",
        /// Arrow IPC file, also known as Feather version 2.
        Ipc = "ipc" | "arrow" | "feather",
    }
}

string_enum! {
    /// A format that holds a whole graph in one document.
    pub enum DocumentFormat: "graph format" {
        /// One JSON document: metadata, vertices, edges.
        Json = "json",
        /// The language of Graphviz.
        Dot = "dot" | "gv",
        /// A vector image; needs Graphviz.
        Svg = "svg",
        /// A bitmap image; needs Graphviz.
        Png = "png",
        /// One page for a browser, with pan, zoom, search and details.
        Html = "html" | "htm",
        /// GraphML, for Gephi, Cytoscape, yEd, networkx, igraph.
        GraphMl = "graphml",
        /// GEXF 1.3, for Gephi.
        Gexf = "gexf",
        /// The save file of GraphSense's dashboard, for Ethereum mainnet.
        GraphSense = "gs",
    }
}

/// A format for a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GraphFormat {
    /// The edges as rows.
    Table(TableFormat),
    /// The whole graph in one document.
    Document(DocumentFormat),
}

string_enum! {
    /// How the vertices of a picture are placed.
    #[derive(Default)]
    pub enum Layout: "layout" {
        /// By the shape of the graph.
        #[default]
        Auto = "auto",
        /// A column for each hop (the engine `dot`).
        Hops = "hops",
        /// Rings around the busiest vertex (the engine `twopi`).
        Radial = "radial",
        /// Springs between neighbors (the engine `sfdp`).
        Force = "force",
    }
}

string_enum! {
    /// A set of columns of transfers. See `docs/schemas.md`.
    pub enum Schema: "schema" {
        /// All columns, with the names of txgraph.
        Txgraph = "all" | "txgraph",
        /// With the names of cryo's datasets.
        Cryo = "cryo",
        /// With the names of ethereum-etl's tables.
        Etl = "etl" | "ethereum-etl",
    }
}

string_enum! {
    /// A word for the type of a column. CSV and JSONL have hexadecimal text for bytes.
    pub enum ColumnWord: "type" {
        /// Bytes: 32 of a 256-bit number, most significant first. Exact; sorts as the numbers do.
        Binary = "binary",
        /// A 256-bit number as decimal text. Exact.
        String = "string",
        /// The nearest double of a 256-bit number. Only for ranking.
        F64 = "f64" | "float64",
        /// Addresses and hashes as hexadecimal text in Parquet and Arrow IPC, too.
        Hex = "hex",
        /// Timestamps, binary of a fixed size, and dictionaries. Parquet only.
        Rich = "rich",
    }
}

impl ColumnWord {
    /// The type of a 256-bit number.
    pub(crate) const fn number(self) -> Option<ColumnType> {
        match self {
            // 32 bytes.
            Self::Binary => Some(ColumnType::Hash),
            Self::String => Some(ColumnType::Text),
            Self::F64 => Some(ColumnType::F64),
            Self::Hex | Self::Rich => None,
        }
    }
}

impl TableFormat {
    /// Whether the format is lines of text.
    pub const fn is_text(self) -> bool {
        match self {
            Self::Csv | Self::Jsonl => true,
            Self::Parquet | Self::Ipc => false,
        }
    }

    /// Whether the metadata goes to a file next to the table (`x.csv.meta.json`), because
    /// the format cannot hold it.
    pub const fn has_metadata_file(self) -> bool {
        self.is_text()
    }

    /// Returns the format of a file name, by its extension.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let format: Self = plain_name(path).extension()?.to_str()?.parse().ok()?;
        // Only text is compressed as a whole.
        (plain_name(path) == path || format.is_text()).then_some(format)
    }
}

impl DocumentFormat {
    /// Whether the metadata goes to a file next to the document (`x.svg.meta.json`),
    /// because the format cannot hold it.
    pub const fn has_metadata_file(self) -> bool {
        match self {
            Self::Svg | Self::Png | Self::GraphSense => true,
            Self::Json | Self::Dot | Self::Html | Self::GraphMl | Self::Gexf => false,
        }
    }
}

impl GraphFormat {
    /// Every value: formats of tables first, each group in declaration order.
    pub const ALL: &'static [Self] = &Self::all();

    const fn all() -> [Self; TableFormat::ALL.len() + DocumentFormat::ALL.len()] {
        let tables = TableFormat::ALL.len();
        let mut all = [Self::Document(DocumentFormat::Json); _];
        let mut i = 0;
        while i < all.len() {
            all[i] = if i < tables {
                Self::Table(TableFormat::ALL[i])
            } else {
                Self::Document(DocumentFormat::ALL[i - tables])
            };
            i += 1;
        }
        all
    }

    /// The word used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Table(format) => format.as_str(),
            Self::Document(format) => format.as_str(),
        }
    }

    /// Returns the format of a file name, by its extension.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let document = || path.extension()?.to_str()?.parse().ok();
        let table = TableFormat::from_extension(path).map(Self::Table);
        table.or_else(|| document().map(Self::Document))
    }

    /// The format of the table, if the edges are written as one.
    pub const fn table(self) -> Option<TableFormat> {
        match self {
            Self::Table(format) => Some(format),
            Self::Document(_) => None,
        }
    }

    /// Whether Graphviz must be installed to write the format.
    pub const fn needs_graphviz(self) -> bool {
        matches!(
            self,
            Self::Document(DocumentFormat::Svg | DocumentFormat::Png)
        )
    }

    /// Whether the metadata goes to a file next to the output.
    pub const fn has_metadata_file(self) -> bool {
        match self {
            Self::Table(format) => format.has_metadata_file(),
            Self::Document(format) => format.has_metadata_file(),
        }
    }
}

impl fmt::Display for GraphFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for GraphFormat {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        if let Ok(format) = word.parse() {
            return Ok(Self::Table(format));
        }
        let unknown = |error| UnknownWord {
            known: Self::ALL
                .iter()
                .map(|format| format.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            ..error
        };
        word.parse().map(Self::Document).map_err(unknown)
    }
}

impl From<TableFormat> for GraphFormat {
    fn from(format: TableFormat) -> Self {
        Self::Table(format)
    }
}

impl From<DocumentFormat> for GraphFormat {
    fn from(format: DocumentFormat) -> Self {
        Self::Document(format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_extensions_parse() {
        for format in GraphFormat::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
            let path = format!("a.b/graph.{}", format.as_str().to_uppercase());
            assert_eq!(GraphFormat::from_extension(Path::new(&path)), Some(*format));
        }
        for format in TableFormat::ALL {
            assert_eq!(GraphFormat::from(*format).table(), Some(*format));
        }
        assert_eq!(
            "tsv".parse::<GraphFormat>().unwrap_err().to_string(),
            "unknown graph format `tsv`; one of csv, jsonl, parquet, ipc, json, dot, svg, png, \
             html, graphml, gexf, gs"
        );
        assert_eq!(
            TableFormat::from_extension(Path::new("t.arrow")),
            Some(TableFormat::Ipc)
        );
        for (name, format) in [
            ("t.csv.gz", Some(TableFormat::Csv)),
            ("a.b/t.jsonl.zst", Some(TableFormat::Jsonl)),
            ("t.pq", Some(TableFormat::Parquet)),
            ("t.parquet.gz", None),
            ("t.gz", None),
        ] {
            assert_eq!(
                TableFormat::from_extension(Path::new(name)),
                format,
                "{name}"
            );
            let graph = GraphFormat::from_extension(Path::new(name));
            assert_eq!(graph, format.map(GraphFormat::Table), "{name}");
        }
        assert_eq!(TableFormat::from_extension(Path::new("t.svg")), None);
        assert_eq!(TableFormat::from_extension(Path::new("csv")), None);
    }
}
