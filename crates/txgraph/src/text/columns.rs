//! The columns of transfers, as they are written.

use crate::{Error, Result, grammar::list};
use serde::{Deserialize, Serialize};
use std::fmt;
use txgraph_export::VertexColumn;

/// Names and encodings of columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Columns {
    /// `txgraph`, `cryo` or `etl`; absent: `txgraph`.
    pub schema: Option<String>,
    /// `binary`, `string`, `f64`: the columns of amounts in Parquet and IPC.
    #[serde(deserialize_with = "list")]
    pub u256_types: Vec<String>,
    /// The columns of transfers, in order; empty: those of the schema.
    #[serde(deserialize_with = "list")]
    pub columns: Vec<String>,
    /// Columns that are left out.
    #[serde(deserialize_with = "list")]
    pub exclude: Vec<String>,
    /// Addresses and hashes are hexadecimal text in Parquet and IPC, too.
    pub hex: bool,
    /// `plain` or `rich`: the types of columns in Parquet; absent: `plain`.
    pub types: Option<String>,
}

impl Columns {
    /// The columns of transfers without those of vertices, and those.
    pub(super) fn of_vertices(&self) -> (Self, Vec<VertexColumn>) {
        let known = |name: &String| {
            VertexColumn::ALL
                .iter()
                .copied()
                .find(|it| it.as_str() == name)
        };
        let all = names(&self.columns);
        let vertices = all.iter().filter_map(known).collect();
        let columns = all.into_iter().filter(|name| known(name).is_none());
        let columns = Self {
            columns: columns.collect(),
            ..self.clone()
        };
        (columns, vertices)
    }

    pub(super) fn read(&self) -> Result<crate::Columns> {
        let wrong = |error: &dyn fmt::Display| Error::usage(error.to_string());
        let words = self.u256_types.iter().flat_map(|text| text.split(','));
        let columns = crate::Columns {
            schema: match &self.schema {
                Some(word) => Some(word.parse().map_err(|error| wrong(&error))?),
                None => None,
            },
            u256: words
                .map(|word| word.trim().parse().map_err(|error| wrong(&error)))
                .collect::<Result<_>>()?,
            columns: names(&self.columns),
            exclude: names(&self.exclude),
            hex: self.hex,
            types: match &self.types {
                Some(word) => word.parse().map_err(|error| wrong(&error))?,
                None => Default::default(),
            },
        };
        // Checks the columns before anything is read.
        columns.apply(&mut txgraph_export::TransferTableOptions::new(0))?;
        Ok(columns)
    }
}

/// The names in a list with commas.
fn names(texts: &[String]) -> Vec<String> {
    let names = texts.iter().flat_map(|text| text.split(','));
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
