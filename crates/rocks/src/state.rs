//! A fixed state of the database.

use crate::{
    Cursor,
    shared::{Family, Shared},
};
use std::sync::Arc;

/// The rows at some moment, which do not change. Tables are opened when they are read; the
/// writer may have deleted them by then ([`crate::Error::Changed`]).
#[derive(Debug)]
pub struct State {
    pub(crate) shared: Arc<Shared>,
    pub(crate) families: Vec<Family>,
}

impl State {
    fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    /// Returns whether a column family exists. Those that were not named when the database was
    /// opened do not.
    pub fn has(&self, family: &str) -> bool {
        self.family(family).is_some()
    }

    /// Returns a cursor before the first row of a column family, if it exists.
    pub fn cursor(&self, family: &str) -> Option<Cursor<'_>> {
        Some(Cursor::new(&self.shared, self.family(family)?))
    }
}
