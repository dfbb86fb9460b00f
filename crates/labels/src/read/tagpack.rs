//! TagPacks of GraphSense: YAML with a header, whose fields are defaults of the tags.

use super::{Cells, DecodeError, Format, Rows};
use crate::Category;
use serde::Deserialize;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// Nodes of a document: 64 MiB of text has fewer.
const NODES_MAX: usize = 1 << 26;

/// The header, whose fields tags inherit, and the tags.
#[derive(Deserialize)]
struct Pack {
    title: Option<String>,
    label: Option<String>,
    source: Option<String>,
    currency: Option<String>,
    network: Option<String>,
    category: Option<String>,
    abuse: Option<String>,
    tags: Option<Vec<Spanned<Tag>>>,
}

#[derive(Deserialize)]
struct Tag {
    address: Option<String>,
    label: Option<String>,
    source: Option<String>,
    currency: Option<String>,
    network: Option<String>,
    category: Option<String>,
    abuse: Option<String>,
}

/// The value of a tag, else the value in the header.
fn inherited<'a>(own: &'a Option<String>, header: &'a Option<String>) -> &'a str {
    let own = own.as_deref().filter(|text| !text.trim().is_empty());
    own.or(header.as_deref()).unwrap_or_default()
}

/// The words of a tag that are its categories. Two different kinds are two labels, the one with
/// the higher priority first: an exchange may be sanctioned.
fn words<'a>(category: &'a str, abuse: &'a str) -> impl Iterator<Item = &'a str> {
    let (kind, other) = (Category::of(category), Category::of(abuse));
    let both = match abuse.is_empty() || other == Category::Other || other == kind {
        true => [Some(category), None],
        // A kind of abuse says more than a word without a kind.
        false if kind == Category::Other => [Some(abuse), None],
        false if other < kind => [Some(abuse), Some(category)],
        false => [Some(category), Some(abuse)],
    };
    both.into_iter().flatten()
}

pub(super) fn read(text: &str, rows: &mut Rows<'_>) -> Result<Format, DecodeError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        budget: serde_saphyr::budget! {
            max_events: NODES_MAX,
            max_nodes: NODES_MAX,
        },
    };
    let pack: Pack = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| DecodeError::syntax("YAML", &error))?;
    let header = &pack;
    for tag in pack.tags.iter().flatten() {
        let place = || format!("line {}", tag.referenced.line());
        let tag = &tag.value;
        let Some(address) = &tag.address else {
            rows.refuse("the tag has no `address`", place);
            continue;
        };
        // The network; in older packs, the currency.
        let network = inherited(&tag.network, &header.network);
        let abuse = inherited(&tag.abuse, &header.abuse);
        let title = pack.title.as_deref().unwrap_or_default();
        let category = inherited(&tag.category, &header.category);
        let cells = Cells {
            address,
            name: inherited(&tag.label, &header.label),
            category,
            chain: match network {
                "" => inherited(&tag.currency, &header.currency),
                network => network,
            },
            source: match inherited(&tag.source, &header.source) {
                "" => title,
                source => source,
            },
        };
        for category in words(category, abuse) {
            rows.add(
                &Cells {
                    category,
                    ..cells.clone()
                },
                place,
            );
        }
    }
    Ok(Format::TagPack)
}
