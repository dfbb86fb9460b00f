//! JSON files: lines, or an array of objects.

use super::{
    Objects, Row, Stream, Visit,
    piece::{Piece, Pieces, block_column, wrong_cell},
};
use crate::{Error, Role, cell::Cell, column_role::ROLES, dialect::Slot, error::Problem};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, io::BufReader, path::Path};

#[derive(Debug)]
pub(crate) struct Json {
    stream: Stream,
    pub(super) header: Vec<String>,
}

/// The objects that are looked at for names of columns. Exporters may leave out nulls.
const OBJECTS_FOR_HEADER: usize = 1000;

impl Json {
    pub(super) fn open(path: &Path, stream: Stream) -> Result<Self, Error> {
        let mut objects = Objects::new(BufReader::new(stream.open(path)?), 0);
        let mut header: Vec<String> = Vec::new();
        for row in 0..OBJECTS_FOR_HEADER as u64 {
            let object = objects.next().map_err(|error| wrong(path, row, &error))?;
            let Some((_, object)) = object else { break };
            let mut names = Vec::new();
            let visitor = Fields(|name: &str, _: Option<&RawValue>| {
                if !header.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            });
            parse(object, visitor).map_err(|error| wrong(path, row, &error))?;
            header.append(&mut names);
        }
        Ok(Self { stream, header })
    }

    /// The pieces of the file. Adds names to the header that no object before had.
    pub(super) fn pieces(&mut self, path: &Path, slots: &[Slot]) -> Result<Vec<Piece>, Error> {
        let column = block_column(slots);
        let slots = [(Role::Block, column)];
        let reader = BufReader::with_capacity(1 << 16, self.stream.open(path)?);
        let mut objects = Objects::new(reader, 0);
        let mut pieces = Pieces::new();
        loop {
            let row = pieces.row;
            let object = objects.next().map_err(|error| wrong(path, row, &error))?;
            let Some((offset, object)) = object else {
                break;
            };
            let end = offset + object.len() as u64;
            let (mut at, header) = (0, &mut self.header);
            let names = Fields(|name: &str, _: Option<&RawValue>| {
                // Objects mostly have their fields in one order.
                let expected = header.get(at).is_some_and(|known| known == name);
                if !expected && !header.iter().any(|known| known == name) {
                    header.push(name.to_owned());
                }
                at += 1;
            });
            parse(object, names).map_err(|error| wrong(path, row, &error))?;
            let mut texts = Texts::default();
            let cells = self.cells(path, row, object, &slots, &mut texts)?;
            let block = cells[Role::Block as usize].u64();
            let block =
                block.map_err(|problem| wrong_cell(path, row, &self.header[column], problem))?;
            pieces.push(block, offset, end);
        }
        Ok(pieces.finish(self.stream))
    }

    pub(super) fn read(
        &self,
        path: &Path,
        piece: &Piece,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let reader = BufReader::with_capacity(1 << 16, piece.open(path, self.stream)?);
        let mut objects = Objects::new(reader, 0);
        let mut number = piece.first_row;
        while let Some((_, object)) = objects
            .next()
            .map_err(|error| wrong(path, number, &error))?
        {
            let mut texts = Texts::default();
            let cells = self.cells(path, number, object, slots, &mut texts)?;
            visit(&Row::new(number, &cells))?;
            number += 1;
        }
        Ok(())
    }

    fn cells<'a: 't, 't>(
        &self,
        path: &Path,
        row: u64,
        object: &'a [u8],
        slots: &[Slot],
        texts: &'t mut Texts<'a>,
    ) -> Result<[Cell<'t>; ROLES], Error> {
        let visitor = Fields(|name: &str, value: Option<&'a RawValue>| {
            let slot = slots
                .iter()
                .find(|(_, column)| self.header[*column] == name);
            if let (Some((role, _)), Some(value)) = (slot, value) {
                let text = &mut texts.0[*role as usize];
                *text = Some(match text {
                    None => unquote(value.get()),
                    Some(_) => Err("the object has this field twice".into()),
                });
            }
        });
        parse(object, visitor).map_err(|error| wrong(path, row, &error))?;
        let mut cells = [Cell::Null; ROLES];
        for (role, column) in slots {
            let Some(text) = &texts.0[*role as usize] else {
                continue;
            };
            cells[*role as usize] = match text {
                Ok(Value::Text(text)) => Cell::Text(text),
                Ok(Value::Other(text)) => literal(text),
                Err(problem) => {
                    let problem = problem.clone();
                    return Err(wrong_cell(path, row, &self.header[*column], problem));
                }
            };
        }
        Ok(cells)
    }
}

/// The values of a row by role.
struct Texts<'a>([Option<Result<Value<'a>, Problem>>; ROLES]);

impl Default for Texts<'_> {
    fn default() -> Self {
        Self([const { None }; ROLES])
    }
}

enum Value<'a> {
    /// A string, without quotes and escapes.
    Text(Cow<'a, str>),
    /// Everything else, as it is written: numbers keep all their digits.
    Other(&'a str),
}

/// The text of a string; the items of an array of strings and numbers, separated by commas.
fn unquote(raw: &str) -> Result<Value<'_>, Problem> {
    if raw.starts_with('[') {
        return Ok(items(raw).map_or(Value::Other(raw), |text| Value::Text(Cow::Owned(text))));
    }
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Ok(Value::Text(Cow::Borrowed(inner))),
        Some(_) => match serde_json::from_str::<String>(raw) {
            Ok(text) => Ok(Value::Text(Cow::Owned(text))),
            Err(_) => Err("not a JSON string".into()),
        },
        None => Ok(Value::Other(raw)),
    }
}

fn items(raw: &str) -> Option<String> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    let mut all = String::with_capacity(raw.len());
    for item in items {
        if !all.is_empty() {
            all.push(',');
        }
        match item.get().as_bytes().first()? {
            b'"' => all.push_str(&serde_json::from_str::<Cow<'_, str>>(item.get()).ok()?),
            b'0'..=b'9' => all.push_str(item.get()),
            _ => return None,
        }
    }
    Some(all)
}

fn literal(raw: &str) -> Cell<'_> {
    match raw {
        "null" => Cell::Null,
        "true" => Cell::Bool(true),
        "false" => Cell::Bool(false),
        // A number is converted from its text, so that none is rounded.
        other => Cell::Text(other),
    }
}

fn parse<'a, F>(object: &'a [u8], visitor: Fields<F>) -> Result<(), serde_json::Error>
where
    F: FnMut(&str, Option<&'a RawValue>),
{
    let mut deserializer = serde_json::Deserializer::from_slice(object);
    deserializer.deserialize_map(visitor)?;
    deserializer.end()
}

/// Calls a function for each field of an object.
struct Fields<F>(F);

impl<'de, F: FnMut(&str, Option<&'de RawValue>)> Visitor<'de> for Fields<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Name<'de>>()? {
            let value: &'de RawValue = map.next_value()?;
            (self.0)(&name.0, Some(value));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

fn wrong(path: &Path, row: u64, error: &dyn fmt::Display) -> Error {
    Error::damaged(path, format_args!("row {}: {error}", row + 1))
}
