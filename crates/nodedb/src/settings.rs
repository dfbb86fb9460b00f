//! The settings of a directory, which state its layout.

use crate::{
    Error, Layout, Result, Snapshot,
    tables::{self, Table},
};

/// Settings of reth 1.10, one for each part. If any is set, an `edge` build wrote the
/// directory in a format that was never released.
const EDGE_SETTINGS: [&str; 6] = [
    "receipts_in_static_files",
    "transaction_senders_in_static_files",
    "storages_history_in_rocksdb",
    "transaction_hash_numbers_in_rocksdb",
    "account_history_in_rocksdb",
    "account_changesets_in_static_files",
];

impl Snapshot<'_> {
    /// Reads the row `storage_settings`, JSON text.
    pub(crate) fn storage_settings(&self) -> Result<Option<String>> {
        let Some(value) = self.txn.get(Table::Metadata, b"storage_settings")? else {
            return Ok(None);
        };
        let json = tables::scale_bytes(value)
            .map_err(|what| self.bad_row(Table::Metadata, "storage_settings", what))?;
        Ok(Some(String::from_utf8_lossy(json).into_owned()))
    }

    /// Returns the layout. As in reth, no row and JSON without `storage_v2` mean v1.
    pub fn layout(&self) -> Result<Layout> {
        if let Some(layout) = self.layout.get() {
            return Ok(*layout);
        }
        let layout = self.stored_layout()?;
        Ok(*self.layout.get_or_init(|| layout))
    }

    fn stored_layout(&self) -> Result<Layout> {
        let Some(json) = self.storage_settings()? else {
            return Ok(Layout::V1);
        };
        let Ok(settings) = serde_json::from_str::<serde_json::Value>(&json) else {
            return Ok(Layout::V1);
        };
        let is_on = |name: &str| settings.get(name) == Some(&serde_json::Value::Bool(true));
        if is_on("storage_v2") {
            return Ok(Layout::V2);
        }
        match EDGE_SETTINGS.into_iter().find(|name| is_on(name)) {
            None => Ok(Layout::V1),
            Some(name) => Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!(
                    "storage setting {name} of a reth 1.10 `edge` build; supported are the layouts v1 and v2"
                ),
            }),
        }
    }
}
