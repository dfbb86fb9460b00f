//! Parameters of a query: names in any case, values as text.

use crate::{
    ask::{Ask, parse_address, parse_hash},
    fault::{Answer, Fault},
    json::quantity,
    paging::Page,
};
use alloy_primitives::{Address, B256};
use serde_json::Value;
use std::collections::BTreeMap;
use txgraph::Order;

/// The most rows that all pages of a query have.
const WINDOW: u64 = 10_000;

/// Clients write this or a larger number for a range without an end.
const NO_END: u64 = 99_999_999;

/// The parameters of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    /// By name in lower case.
    values: BTreeMap<String, String>,
    module: String,
    action: String,
}

impl Query {
    /// Reads the query of a URL, and the form of a body, which is read first.
    pub(crate) fn parse(url: &str, form: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(form).chain(form_urlencoded::parse(url.as_bytes()));
        let values: BTreeMap<_, _> = pairs
            .map(|(name, value)| (name.to_ascii_lowercase(), value.into_owned()))
            .collect();
        let word = |name: &str| {
            let value = values.get(name).map(String::as_str).unwrap_or_default();
            value.trim().to_ascii_lowercase()
        };
        Self {
            module: word("module"),
            action: word("action"),
            values,
        }
    }

    /// The module, in lower case.
    pub(crate) fn module(&self) -> &str {
        &self.module
    }

    /// The action, in lower case.
    pub(crate) fn action(&self) -> &str {
        &self.action
    }

    /// A parameter by its name in lower case; `None` if it is absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// A parameter as text; empty if it is absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// An address, if the parameter is given.
    pub(super) fn optional_address(&self, name: &str) -> Answer<Option<Address>> {
        let read = |text| parse_address(text).ok_or_else(invalid_address);
        self.get(name).map(read).transpose()
    }

    /// An address.
    pub(super) fn address(&self, name: &str) -> Answer<Address> {
        self.optional_address(name)?.ok_or_else(invalid_address)
    }

    /// Addresses with commas.
    pub(super) fn addresses(&self, name: &str, most: usize) -> Answer<Vec<Address>> {
        let text = self.get(name).ok_or_else(invalid_address)?;
        let all: Option<Vec<_>> = text.split(',').map(|it| parse_address(it.trim())).collect();
        match all {
            Some(all) if all.len() <= most => Ok(all),
            Some(_) => Err(Fault::Params(format!("Error! Max {most} addresses"))),
            None => Err(invalid_address()),
        }
    }

    /// A hash, if the parameter is given, also if it is empty.
    pub(super) fn hash(&self, name: &str) -> Answer<Option<B256>> {
        let wrong = || Fault::Params("Error! Invalid transaction hash format".to_owned());
        let read = |text: &String| parse_hash(text.trim()).ok_or_else(wrong);
        self.values.get(name).map(read).transpose()
    }

    /// A decimal number.
    pub(super) fn number(&self, name: &str) -> Answer<Option<u64>> {
        let wrong = |_| Fault::Params(format!("Error! Invalid parameter {name}"));
        let read = |text: &str| text.parse().map_err(wrong);
        self.get(name).map(read).transpose()
    }

    /// A decimal number that is needed.
    pub(super) fn required_number(&self, name: &str) -> Answer<u64> {
        let wrong = || Fault::Params(format!("Error! Invalid parameter {name}"));
        self.number(name)?.ok_or_else(wrong)
    }

    /// The block of `blockno`, which is needed.
    pub(super) fn block_number(&self, ask: &Ask<'_>) -> Answer<u64> {
        ask.block(Some(&self.required_number("blockno")?.into()))
    }

    /// The block of a `tag`; absent: the newest.
    pub(super) fn tag(&self, ask: &Ask<'_>) -> Answer<u64> {
        ask.block(Some(&self.tag_of_nodes()))
    }

    /// A `tag` as nodes read it, from a number or a word in any case; absent: the newest block.
    pub(super) fn tag_of_nodes(&self) -> Value {
        match self.get("tag").map(str::to_ascii_lowercase) {
            None => "latest".into(),
            // Some clients write decimal digits.
            Some(text) => match text.parse::<u64>() {
                Ok(number) => quantity(number),
                Err(_) => text.into(),
            },
        }
    }

    /// The first and the last block; `None` if there is none between them. Blocks above the newest one
    /// are missing.
    pub(super) fn blocks(
        &self,
        ask: &Ask<'_>,
        [first, last]: [&str; 2],
    ) -> Answer<Option<(u64, u64)>> {
        let number = |name: &str, latest: u64| -> Answer<Option<u64>> {
            match self.get(name) {
                Some(text) if text.eq_ignore_ascii_case("latest") => Ok(Some(latest)),
                Some(text) if text.starts_with("0x") => {
                    let digits = text.strip_prefix("0x").filter(|it| !it.starts_with('+'));
                    let number = digits.and_then(|it| u64::from_str_radix(it, 16).ok());
                    let wrong = || Fault::Params(format!("Error! Invalid parameter {name}"));
                    number.map(Some).ok_or_else(wrong)
                }
                _ => self.number(name),
            }
        };
        let tip = ask.tip.number;
        let first = number(first, tip)?.unwrap_or(0);
        let last = number(last, NO_END)?.unwrap_or(NO_END);
        let is_open = last >= NO_END;
        // A client that has read all blocks asks for those from the next one on.
        let is_next = first == tip + 1 && is_open;
        let is_stored = first <= tip && (last <= tip || is_open);
        match is_stored || is_next {
            true => Ok((first <= last.min(tip)).then_some((first, last.min(tip)))),
            false => Err(Fault::missing(format!(
                "blocks above {tip} are missing: it is the newest block that the node has stored"
            ))),
        }
    }

    /// Which rows are wanted: by default the first `rows`.
    pub(super) fn page(&self, rows: u64) -> Answer<Page> {
        // Pages count from 1; some clients ask for page 0.
        let page = self.number("page")?.unwrap_or(1).max(1);
        let rows = match self.number("offset")? {
            None | Some(0) => rows,
            Some(offset) => offset,
        };
        let window = page.checked_mul(rows).filter(|window| *window <= WINDOW);
        let window = window.ok_or(Fault::Window)?;
        let order = match self.get("sort").map(str::to_ascii_lowercase).as_deref() {
            Some("desc") => Order::NewestFirst,
            _ => Order::OldestFirst,
        };
        Ok(Page {
            skip: usize::try_from(window - rows).unwrap_or(usize::MAX),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            order,
        })
    }
}

fn invalid_address() -> Fault {
    Fault::Params("Error! Invalid address format".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_any_case() {
        let query = Query::parse(
            "Module=Account&ACTION=txList&startBlock=5&apiKey=x&sort=DESC",
            b"",
        );
        assert_eq!((query.module(), query.action()), ("account", "txlist"));
        assert_eq!(query.number("startblock").unwrap(), Some(5));
        assert_eq!(query.page(10).unwrap().order, Order::NewestFirst);
    }

    #[test]
    fn page_zero_is_the_first() {
        let page = |text: &str| Query::parse(text, b"").page(10_000).ok();
        let first = page("page=0&offset=10000").unwrap();
        assert_eq!((first.skip, first.rows), (0, 10_000));
        let third = page("page=3&offset=7").unwrap();
        assert_eq!((third.skip, third.rows, third.end()), (14, 7, 21));
        assert_eq!(page("page=2&offset=10000"), None);
        assert_eq!(page("page=18446744073709551615&offset=9999"), None);
    }

    #[test]
    fn values_that_are_no_numbers_are_refused() {
        for text in ["offset=-1", "page=1.5", "page=0x1"] {
            assert!(Query::parse(text, b"").page(10).is_err(), "{text}");
        }
        assert!(
            Query::parse("address=0x12", b"")
                .address("address")
                .is_err()
        );
        assert!(Query::parse("address=", b"").address("address").is_err());
    }
}
