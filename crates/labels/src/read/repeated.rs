//! Keys that an object of JSON has more than once: only the last value of such a key is read.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use std::{collections::BTreeSet, fmt};

/// The repeated keys of all objects in a valid text.
pub(super) fn keys(text: &str) -> Vec<String> {
    let found = serde_json::from_str::<Repeated>(text);
    found.map(|found| found.0).unwrap_or_default()
}

#[derive(Default)]
struct Repeated(Vec<String>);

impl<'de> Deserialize<'de> for Repeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Search)
    }
}

/// Visits all values.
struct Search;

impl<'de> Visitor<'de> for Search {
    type Value = Repeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Repeated, E> {
        Ok(Repeated::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Repeated, A::Error> {
        let mut found = Repeated::default();
        while let Some(Repeated(inside)) = values.next_element()? {
            found.0.extend(inside);
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Repeated, A::Error> {
        let mut found = Repeated::default();
        let mut known = BTreeSet::new();
        while let Some((key, Repeated(inside))) = fields.next_entry::<String, _>()? {
            found.0.extend(inside);
            if let Some(key) = known.replace(key) {
                found.0.push(key);
            }
        }
        Ok(found)
    }
}
