//! The columns of transfers: the columns of a schema, of the table of another tool, or chosen ones
//! in any order.

use crate::{
    Column, ColumnChoice, ColumnType, ColumnWord, Error, GraphFormat, GraphOptions, Result, Schema,
    TableFormat, TransferTableOptions,
    choice::{Chosen, unknown},
    schema::{BLOCK_NUMBER, Field, HOP, VALUE},
};
use std::collections::BTreeSet;

/// The types of a 256-bit number in Parquet and Arrow IPC, as in cryo.
pub(crate) const NUMBERS: [ColumnWord; 3] =
    [ColumnWord::Binary, ColumnWord::String, ColumnWord::F64];

/// A column of a table.
pub(crate) struct Choice {
    pub(crate) column: Column,
    pub(crate) field: Field,
    pub(crate) is_rich: bool,
    /// Whether it comes from a set of columns, so that an entry for it replaces it.
    is_of_set: bool,
}

impl Choice {
    /// Whether it is a column of this field.
    fn is(&self, field: Field) -> bool {
        match self.field {
            Field::ValueOrId => field == Field::Schema(VALUE),
            own => own == field,
        }
    }
}

/// The columns of one field: a 256-bit number can have several.
fn columns_of(
    (name, field): (&str, Field),
    schema: Schema,
    types: &[ColumnWord],
    usual: &[ColumnWord],
) -> Vec<Choice> {
    let column = Column::new(name, field.column_type());
    let columns = schema.columns(column, types, usual);
    let choice = |column| Choice {
        column,
        field,
        is_rich: types.contains(&ColumnWord::Rich),
        is_of_set: false,
    };
    columns.into_iter().map(choice).collect()
}

/// The columns of a schema, or of the table of its tool.
fn set(
    schema: Schema,
    mut types: Vec<ColumnWord>,
    options: &TransferTableOptions,
    mut usual: &[ColumnWord],
    with_hop: bool,
) -> Vec<Choice> {
    let names = schema.base();
    let mut fields: Vec<_> = (0..names.len())
        .map(|at| (names[at], Field::Schema(at)))
        .collect();
    if with_hop {
        fields.push((HOP, Field::Hop));
    }
    let table = schema.exact_table(&options.standards);
    if let Some(table) = table {
        usual = &NUMBERS;
        fields = table.iter().map(|at| fields[*at]).collect();
    }
    let is_etl_table = table.is_some() && schema == Schema::Etl;
    if is_etl_table {
        // ethereum-etl writes text everywhere.
        types.push(ColumnWord::Hex);
    }
    let columns = fields.into_iter().flat_map(|(name, field)| match field {
        Field::Schema(VALUE) if is_etl_table => {
            columns_of((name, Field::ValueOrId), schema, &types, usual)
        }
        _ => columns_of((name, field), schema, &types, usual),
    });
    let mut columns: Vec<_> = columns.collect();
    for it in &mut columns {
        it.is_of_set = true;
        if table.is_some() && schema == Schema::Cryo && it.is(Field::Schema(BLOCK_NUMBER)) {
            it.column.column_type = ColumnType::U32;
        }
    }
    columns
}

/// The schema whose columns text has, all of them, if no others are chosen. Text formats have
/// encoders of their own for these.
pub(crate) fn text_schema(options: &TransferTableOptions) -> Option<Schema> {
    let (schema, types) = options.set();
    let is_text = |word: &ColumnWord| matches!(word, ColumnWord::String | ColumnWord::Hex);
    let is_set = |it: &ColumnChoice| it.is_set() || it.is_of_vertices();
    let is_all = options.columns.iter().all(is_set) && types.iter().all(is_text);
    (is_all && schema.exact_table(&options.standards).is_none()).then_some(schema)
}

/// The columns that the options choose for a table.
pub(crate) fn choose(
    options: &TransferTableOptions,
    format: TableFormat,
    with_hop: bool,
) -> Result<Vec<Choice>> {
    let usual = match format.is_text() {
        true => &[ColumnWord::String][..],
        false => &NUMBERS,
    };
    let mut chosen = Vec::new();
    if !options.columns.iter().any(ColumnChoice::adds) {
        chosen = set(Schema::Txgraph, Vec::new(), options, usual, with_hop);
    }
    for choice in &options.columns {
        let (name, types) = (choice.name(), choice.types().collect());
        match choice.chosen {
            Chosen::One(Field::Hop) | Chosen::Vertex(_) if !with_hop => {
                return Err(unknown(name, false));
            }
            Chosen::Vertex(_) => {}
            Chosen::All(schema) => chosen.extend(set(schema, types, options, usual, with_hop)),
            Chosen::One(field) => {
                let is_replaced = |it: &Choice| it.is_of_set && it.is(field);
                let place = chosen.iter().position(is_replaced).unwrap_or(chosen.len());
                chosen.retain(|it| !is_replaced(it));
                let new = columns_of((name, field), Schema::Txgraph, &types, usual);
                chosen.splice(place..place, new);
            }
            Chosen::Without(field) => {
                // A name like `value_f64` has a type.
                let number = types.first().and_then(|word| word.number());
                let is = |it: &Choice| number.is_none_or(|number| it.column.column_type == number);
                chosen.retain(|it| !(it.is(field) && is(it)));
            }
        }
    }
    let entries = options.columns.iter().filter(|it| it.adds());
    let entries = entries.map(ColumnChoice::name);
    let names = chosen.iter().map(|it| &*it.column.name);
    if let Some(name) = twice(entries).or_else(|| twice(names)) {
        return Err(Error::ColumnTwice(name.to_owned()));
    }
    if format != TableFormat::Parquet && chosen.iter().any(|it| it.is_rich) {
        return Err(Error::TypesOnlyInParquet(format));
    }
    match chosen.is_empty() {
        true => Err(Error::NoColumns),
        false => Ok(chosen),
    }
}

impl TransferTableOptions {
    /// Checks the options for a format, with the hop of a graph or without. Every writer does so
    /// before it writes; a caller that has long work ahead of writing should do so first.
    pub fn validate(&self, format: TableFormat, with_hop: bool) -> Result<()> {
        choose(self, format, with_hop).map(drop)
    }

    /// Returns the names of the columns of transfers in a format.
    pub fn names(&self, format: TableFormat) -> Result<Vec<String>> {
        let chosen = choose(self, format, false)?;
        Ok(chosen.into_iter().map(|it| it.column.name).collect())
    }
}

impl GraphOptions {
    /// Checks the columns of transfers for a format.
    pub fn validate(&self, format: GraphFormat) -> Result<()> {
        // Merged edges and documents have columns of their own.
        let format = format.table().filter(|_| !self.merge);
        (self.table).validate(format.unwrap_or(TableFormat::Parquet), true)
    }
}

/// The first name that occurs again.
fn twice<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}
