//! The names of columns and fields in the files of many people.

use super::Cells;

const ADDRESS: &str = "address wallet account contract wallet_address contract_address token_address \
    account_address banned_address";
const NAME: &str = "name name_tag nametag entity title wallet_tag etherscan_tag label tag";
const CATEGORY: &str =
    "category type abuse kind labels etherscan_labels wallet_type concepts label";
const CHAIN: &str = "chain_id chainid chain network blockchain currency asset";
const SOURCE: &str = "source data_source label_source url reference";

/// A name as it is compared: lower case, `_` between words.
fn normal(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

/// Where the cells of an address are: positions in a row of named values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    pub(super) address: Option<usize>,
    name: Option<usize>,
    pub(super) category: Option<usize>,
    chain: Option<usize>,
    source: Option<usize>,
}

impl Places {
    /// Finds the cells by the names of columns.
    pub(super) fn of<'a>(columns: impl Iterator<Item = &'a str>) -> Self {
        let columns: Vec<_> = columns.map(normal).collect();
        let find = |names: &str, taken: Option<usize>| {
            names.split(' ').find_map(|name| {
                let at = columns.iter().position(|column| column == name)?;
                (Some(at) != taken).then_some(at)
            })
        };
        let name = find(NAME, None);
        Self {
            address: find(ADDRESS, None),
            name,
            // A `label` next to a name is the word of a category.
            category: find(CATEGORY, name),
            chain: find(CHAIN, None),
            source: find(SOURCE, None),
        }
    }

    /// Rows without a header: address, name, category.
    pub(super) const fn without_header() -> Self {
        Self {
            address: Some(0),
            name: Some(1),
            category: Some(2),
            chain: None,
            source: None,
        }
    }

    pub(super) fn cells<'a>(&self, value: impl Fn(usize) -> &'a str) -> Cells<'a> {
        let at = |place: Option<usize>| place.map_or("", &value);
        Cells {
            address: at(self.address),
            name: at(self.name),
            category: at(self.category),
            chain: at(self.chain),
            source: at(self.source),
        }
    }
}
