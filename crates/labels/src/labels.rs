//! Labels by address.

use crate::{Category, Decoded, Label, LabelSet, Row};
use alloy_primitives::{Address, B256, Keccak256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

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
    pub fn read(&mut self, decoded: Decoded, name: &str) {
        for Row { address, mut label } in decoded.rows {
            if label.name.is_empty() {
                name.clone_into(&mut label.name);
            }
            self.add(address, label);
        }
        Arc::make_mut(&mut self.warnings).extend(decoded.warnings);
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

    /// The addresses with a label whose name contains a text in any case, ascending.
    pub fn named_like(&self, text: &str) -> impl Iterator<Item = (Address, &LabelSet)> {
        let text = text.to_lowercase();
        let all = self.by_address.iter();
        all.filter(move |(_, labels)| {
            let mut names = labels.iter().map(|label| label.name.to_lowercase());
            names.any(|name| name.contains(&text))
        })
        .map(|(address, labels)| (*address, labels))
    }

    /// The addresses with one of these categories: a word of a file, or the name of a kind. Any
    /// label of an address counts. `None` stands for a category that no label has.
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

    /// Adds a warning.
    pub fn warn(&mut self, warning: String) {
        Arc::make_mut(&mut self.warnings).push(warning);
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

    /// Rows that were not read, in sentences that name the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The Keccak-256 of all names and categories with their addresses; `None` without labels. Where
    /// the files are does not matter.
    pub fn content_hash(&self) -> Option<B256> {
        let mut hash = Keccak256::new();
        for (address, labels) in &*self.by_address {
            for label in labels.iter() {
                hash.update(address);
                for text in [&label.name, &label.category] {
                    hash.update((text.len() as u64).to_be_bytes());
                    hash.update(text);
                }
            }
        }
        (!self.is_empty()).then(|| hash.finalize())
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
        let like = |text: &str| own.named_like(text).map(|(it, _)| it).collect::<Vec<_>>();
        assert_eq!(like("THEIR"), [address]);
        assert_eq!(like("e"), [Address::ZERO, address]);
        assert!(like("theirs2").is_empty());
    }

    #[test]
    fn equal_names_have_one_hash() {
        let hash = |name: &str, category: &str, source: &str| {
            let mut labels = Labels::default();
            let label = Label {
                source: source.into(),
                ..label(name, category)
            };
            labels.add(Address::ZERO, label);
            labels.content_hash().unwrap()
        };
        assert_eq!(hash("a", "b", "x"), hash("a", "b", "y"));
        let all = [hash("a", "b", ""), hash("ab", "", ""), hash("", "ab", "")];
        assert_eq!(BTreeSet::from(all).len(), 3);
        assert_eq!(Labels::default().content_hash(), None);
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
