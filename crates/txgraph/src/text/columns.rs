//! The columns of transfers, as they are written.

use super::scalar::list;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names and encodings of columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Columns {
    /// `txgraph`, `cryo` or `etl`; absent: `txgraph`.
    pub schema: Option<String>,
    /// `binary`, `string`, `f64`: the columns of amounts in Parquet and IPC.
    #[serde(deserialize_with = "list")]
    pub u256_types: Vec<String>,
}

impl Columns {
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
        };
        // Checks the columns before anything is read.
        columns.apply(&mut txgraph_export::TransferTableOptions::new(0))?;
        Ok(columns)
    }
}
