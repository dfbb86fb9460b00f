//! Labels by address.

use crate::{Category, Decoded, Row};
use alloy_primitives::Address;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

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

    fn push(&mut self, label: Label) {
        let labels = Arc::make_mut(self.0.get_or_insert_default());
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
}

/// Labels of addresses. What is added first has priority. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    by_address: Arc<BTreeMap<Address, LabelSet>>,
    warnings: Arc<Vec<String>>,
}

impl Labels {
    /// Adds a label after those that are known.
    pub fn add(&mut self, address: Address, label: Label) {
        let by_address = Arc::make_mut(&mut self.by_address);
        by_address.entry(address).or_default().push(label);
    }

    /// Adds the rows of a file after what is known, and keeps what was left out of it. `name` is
    /// for rows without one.
    pub fn read(&mut self, decoded: &Decoded, name: &str) {
        for Row { address, label } in &decoded.rows {
            let mut label = label.clone();
            if label.name.is_empty() {
                name.clone_into(&mut label.name);
            }
            self.add(*address, label);
        }
        let warnings = Arc::make_mut(&mut self.warnings);
        warnings.extend(decoded.warnings.iter().cloned());
    }

    /// Adds what `lower` has, after what is known.
    pub fn extend(&mut self, lower: &Self) {
        for (address, labels) in &*lower.by_address {
            for label in labels.iter() {
                self.add(*address, label.clone());
            }
        }
        Arc::make_mut(&mut self.warnings).extend(lower.warnings.iter().cloned());
    }

    /// The labels of an address; empty if it has none.
    pub fn get(&self, address: Address) -> LabelSet {
        self.by_address.get(&address).cloned().unwrap_or_default()
    }

    /// The name of an address.
    pub fn name(&self, address: Address) -> Option<&str> {
        self.by_address.get(&address)?.name()
    }

    /// The addresses with one of these categories: a word of a file, or that of a kind. Any label
    /// of an address counts. `None` stands for a category that no label has.
    pub fn with_category(&self, word: &str) -> Option<BTreeSet<Address>> {
        let word = crate::category::normal(word);
        let kind = word.parse::<Category>().ok();
        let is = |label: &Label| {
            !label.category.is_empty()
                && (label.category == word || Some(Category::of(&label.category)) == kind)
        };
        let found: BTreeSet<_> = (self.by_address.iter())
            .filter(|(_, labels)| labels.iter().any(is))
            .map(|(address, _)| *address)
            .collect();
        (!found.is_empty()).then_some(found)
    }

    /// The categories of the labels, with the number of addresses: kinds, then other words.
    pub fn categories(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for labels in self.by_address.values() {
            let words = labels.iter().filter(|label| !label.category.is_empty());
            let names: BTreeSet<String> = words
                .map(|label| match Category::of(&label.category) {
                    Category::Other => label.category.clone(),
                    kind => kind.as_str().to_owned(),
                })
                .collect();
            for name in names {
                *counts.entry(name).or_default() += 1;
            }
        }
        counts
    }

    /// What was not read, in sentences that name the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of addresses.
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether no address has a label.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, category: &str) -> Label {
        Label {
            name: name.into(),
            category: category.into(),
            source: format!("{name}.csv"),
        }
    }

    #[test]
    fn the_first_name_counts_and_all_are_kept() {
        let address = Address::repeat_byte(1);
        let mut own = Labels::default();
        own.add(address, label("mine", ""));
        let mut list = Labels::default();
        list.add(address, label("theirs", "mixing_service"));
        list.add(Address::ZERO, label("zero", "odd"));
        own.extend(&list);
        own.extend(&list);
        let labels = own.get(address);
        assert_eq!(labels.name(), Some("mine"));
        assert_eq!(labels.source(), Some("mine.csv"));
        assert_eq!(labels.category(), Some("mixing_service"));
        assert_eq!((labels.len(), labels.kind()), (2, Some(Category::Mixer)));
        assert_eq!((own.len(), list.get(address).len()), (2, 1));
        assert!(own.get(Address::repeat_byte(2)).name().is_none());
    }

    #[test]
    fn categories_are_found_by_word_and_by_kind() {
        let mut labels = Labels::default();
        labels.add(Address::repeat_byte(1), label("a", "mixing_service"));
        labels.add(Address::repeat_byte(2), label("b", "gambling"));
        let found = |word: &str| labels.with_category(word).map(|found| found.len());
        assert_eq!(found("mixer"), Some(1));
        assert_eq!(found("Mixing Service"), Some(1));
        assert_eq!(found("gambling"), Some(1));
        assert_eq!(found("other"), Some(1));
        assert_eq!(found("exchange"), None);
        let categories: Vec<_> = labels.categories().into_iter().collect();
        assert_eq!(categories, [("gambling".into(), 1), ("mixer".into(), 1)]);
    }
}
