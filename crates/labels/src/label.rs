//! The label of an address.

use crate::Category;
use std::{ops::Deref, sync::Arc};

/// A name that a file gives to an address. Text from outside: escape it before printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub name: String,
    /// The category in the words of the file, lower case with `_`; empty if it has none.
    pub category: String,
    /// The file, and where that has the name from.
    pub source: String,
}

impl Label {
    /// A name without a category or a source.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            category: String::new(),
            source: String::new(),
        }
    }
}

/// The labels of one address, the most important first. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet(Option<Arc<Vec<Label>>>);

impl Deref for LabelSet {
    type Target = [Label];

    fn deref(&self) -> &[Label] {
        self.0.as_ref().map_or(&[], |labels| labels.as_slice())
    }
}

impl FromIterator<Label> for LabelSet {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let labels: Vec<_> = labels.into_iter().collect();
        Self((!labels.is_empty()).then(|| Arc::new(labels)))
    }
}

impl LabelSet {
    /// The name that counts.
    pub fn name(&self) -> Option<&str> {
        self.first().map(|label| label.name.as_str())
    }

    /// The first category that a file states.
    pub fn category(&self) -> Option<&str> {
        let mut words = self.iter().map(|label| label.category.as_str());
        words.find(|word| !word.is_empty())
    }

    /// The kind of [`Self::category`].
    pub fn kind(&self) -> Option<Category> {
        self.category().map(Category::of)
    }

    /// Where the name comes from.
    pub fn source(&self) -> Option<&str> {
        self.first().map(|label| label.source.as_str())
    }

    pub(crate) fn push(&mut self, label: Label) {
        // Most addresses have one label. An empty vector would grow to four at once.
        let one = || Arc::new(Vec::with_capacity(1));
        let labels = Arc::make_mut(self.0.get_or_insert_with(one));
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
}
