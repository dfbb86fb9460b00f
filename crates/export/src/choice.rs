//! The list that chooses the columns of a table, and their types: `all:rich,-chain_id,symbol`.

use crate::{
    ColumnType, ColumnWord, Error, Schema,
    schema::{Field, HOP, VertexField},
    text::printable_short,
};
use serde::{Serialize, Serializer};
use std::{fmt, str::FromStr};

/// An entry of the list that chooses columns: `NAME`, `NAME:TYPE`, `NAME:TYPE+TYPE` or `-NAME`.
///
/// `NAME` is a column, or `all`, `cryo` or `etl` for all columns in the names of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnChoice {
    name: String,
    pub(crate) chosen: Chosen,
    /// The type that the name ends with, of a 256-bit number: `value_f64`.
    suffix: Option<ColumnWord>,
    types: Vec<ColumnWord>,
}

/// The columns that an entry chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    All(Schema),
    One(Field),
    Vertex(VertexField),
    /// All but this one.
    Without(Field),
}

impl ColumnChoice {
    /// The name, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it stands for all columns.
    pub const fn is_set(&self) -> bool {
        matches!(self.chosen, Chosen::All(_))
    }

    /// Whether it is a column of vertices.
    pub const fn is_of_vertices(&self) -> bool {
        matches!(self.chosen, Chosen::Vertex(_))
    }

    /// Whether a list adds one of some columns by name.
    pub fn adds_any(columns: &[Self], names: &[&str]) -> bool {
        Self::named(columns, names).is_some()
    }

    /// The first of some names that a list adds.
    pub fn named<'a>(columns: &'a [Self], names: &[&str]) -> Option<&'a str> {
        let added = columns.iter();
        let added = added.filter(|it| !matches!(it.chosen, Chosen::Without(_)));
        added.map(Self::name).find(|name| names.contains(name))
    }

    /// Writes 256-bit numbers as exact text unless another type is named, for programs that have
    /// one column for each.
    pub fn with_exact_numbers(columns: &mut Vec<Self>) {
        if !columns.iter().any(Self::adds) {
            columns.insert(0, Schema::Txgraph.into());
        }
        for choice in columns {
            let is_number = match choice.chosen {
                Chosen::One(field) => field.column_type() == ColumnType::Amount,
                _ => choice.is_set(),
            };
            if is_number && choice.types().all(|word| word.number().is_none()) {
                choice.types.push(ColumnWord::String);
            }
        }
    }

    /// Its types, with the one that its name ends with.
    pub(crate) fn types(&self) -> impl Iterator<Item = ColumnWord> {
        self.suffix.into_iter().chain(self.types.iter().copied())
    }

    /// Whether it adds columns to a table of transfers.
    pub(crate) const fn adds(&self) -> bool {
        matches!(self.chosen, Chosen::All(_) | Chosen::One(_))
    }

    /// The types that can be named.
    fn known_types(&self) -> &'static [ColumnWord] {
        use ColumnWord::{Binary, F64, Hex, Rich, String};
        match self.chosen {
            Chosen::All(_) => ColumnWord::ALL,
            Chosen::One(field) => match field.column_type() {
                ColumnType::Amount if self.suffix.is_none() => &[Binary, String, F64, Rich],
                ColumnType::Address | ColumnType::Hash => &[Binary, Hex, Rich],
                _ => &[Rich],
            },
            Chosen::Vertex(_) | Chosen::Without(_) => &[],
        }
    }
}

/// The error for a table that does not have a column.
pub(crate) fn unknown(name: &str, with_hop: bool) -> Error {
    let known = Field::names().filter(|known| with_hop || *known != HOP);
    Error::UnknownColumn {
        name: printable_short(name, 40),
        known: known.collect::<Vec<_>>().join(", "),
    }
}

/// The column of transfers with a name, and the type that the name of a number ends with.
fn field(name: &str) -> Option<(Field, Option<ColumnWord>)> {
    if let Some(field) = Field::named(name) {
        return Some((field, None));
    }
    let (base, word) = name.rsplit_once('_')?;
    let field = Field::named(base).filter(|it| it.column_type() == ColumnType::Amount)?;
    let word: ColumnWord = word.parse().ok()?;
    word.number().map(|_| (field, Some(word)))
}

impl From<Schema> for ColumnChoice {
    fn from(schema: Schema) -> Self {
        Self {
            name: schema.as_str().to_owned(),
            chosen: Chosen::All(schema),
            suffix: None,
            types: Vec::new(),
        }
    }
}

impl FromStr for ColumnChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (entry, types) = match text.split_once(':') {
            Some((entry, types)) => (entry, Some(types)),
            None => (text, None),
        };
        let name = entry.strip_prefix('-').unwrap_or(entry);
        let mut vertex_fields = VertexField::ALL.iter();
        let vertex_field = vertex_fields.find(|field| field.as_str() == name);
        let (chosen, suffix) = match (entry == name, name.parse(), vertex_field) {
            (true, Ok(schema), _) => (Chosen::All(schema), None),
            (true, _, Some(field)) => (Chosen::Vertex(*field), None),
            (is_added, ..) => {
                let (field, suffix) = field(name).ok_or_else(|| unknown(name, true))?;
                match is_added {
                    true => (Chosen::One(field), suffix),
                    false => (Chosen::Without(field), suffix),
                }
            }
        };
        let mut choice = Self {
            name: name.to_owned(),
            chosen,
            suffix,
            types: Vec::new(),
        };
        let known = choice.known_types();
        for text in types.into_iter().flat_map(|types| types.split('+')) {
            match text.parse() {
                Ok(word) if known.contains(&word) && !choice.types.contains(&word) => {
                    choice.types.push(word);
                }
                _ => {
                    let known: Vec<_> = known.iter().map(|word| word.as_str()).collect();
                    return Err(Error::WrongType {
                        entry: printable_short(&format!("{name}:{text}"), 40),
                        known: match known.is_empty() {
                            true => "none".to_owned(),
                            false => known.join(", "),
                        },
                    });
                }
            }
        }
        Ok(choice)
    }
}

impl fmt::Display for ColumnChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Chosen::Without(_) = self.chosen {
            f.write_str("-")?;
        }
        f.write_str(&self.name)?;
        let between = std::iter::once(':').chain(std::iter::repeat('+'));
        (between.zip(&self.types)).try_for_each(|(between, word)| write!(f, "{between}{word}"))
    }
}

impl Serialize for ColumnChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
