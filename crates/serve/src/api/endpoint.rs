//! Endpoints: their paths, their parameters and the fields of their answers.

use serde_json::{Map, Value, json};

/// A path of the API.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) path: &'static str,
    /// The answer, in a line.
    pub(super) summary: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The fields of the answer: names and types.
    pub(super) answer: Fields,
}

/// The fields of an object: the name and the type of each. A type is a word of JSON, `decimal` for a
/// number as text, `hex` for `0x` and digits, or the name of an object; after it, `[]` for a list,
/// `{}` for an object with such values, and `?` if it can be `null`.
pub(super) type Fields = &'static [(&'static str, &'static str)];

/// A parameter of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) about: &'static str,
    pub(super) is_required: bool,
    /// Whether it can be given several times.
    pub(super) repeats: bool,
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `0x` and 40 digits.
    Address,
    /// `0x` and 64 digits.
    Hash,
    /// A number, a hash or `latest`.
    Block,
    /// Ranges in the grammar of the command line.
    Blocks,
    /// An address, or `native`.
    Token,
    /// A decimal number of the smallest unit.
    Amount,
    /// A number with the smallest and the largest one, and a default.
    Number { least: u64, default: u64, most: u64 },
    /// `true` or `false`, which is the default.
    Flag,
    /// One of these, of which the first is the default.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

impl Parameter {
    /// A parameter that may be left out.
    pub(super) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            is_required: false,
            repeats: false,
        }
    }

    /// A number with its smallest value, its default and its largest value.
    pub(super) const fn number(
        name: &'static str,
        [least, default, most]: [u64; 3],
        about: &'static str,
    ) -> Self {
        let kind = Kind::Number {
            least,
            default,
            most,
        };
        Self::new(name, kind, about)
    }

    /// A parameter that is set or not.
    pub(super) const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Flag, about)
    }

    /// One that must be given.
    pub(super) const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    /// One that can be given several times.
    pub(super) const fn repeated(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    /// Its schema in OpenAPI.
    pub(super) fn schema(&self) -> Value {
        let one = self.kind.schema();
        match self.repeats {
            true => json!({ "type": "array", "items": one }),
            false => one,
        }
    }
}

impl Kind {
    fn schema(self) -> Value {
        match self {
            Self::Address => json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$" }),
            Self::Hash => json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{64}$" }),
            Self::Token => json!({ "type": "string", "pattern": "^(native|0x[0-9a-fA-F]{40})$" }),
            Self::Amount => json!({ "type": "string", "pattern": "^[0-9]+$" }),
            Self::Number {
                least,
                default,
                most,
            } => {
                json!({ "type": "integer", "minimum": least, "maximum": most, "default": default })
            }
            Self::Flag => json!({ "type": "boolean", "default": false }),
            Self::Word(words) => json!({ "type": "string", "enum": words, "default": words[0] }),
            Self::Block | Self::Blocks | Self::Text => json!({ "type": "string" }),
        }
    }
}

/// The schema of a type of [`Fields`].
pub(super) fn type_schema(text: &str) -> Value {
    if let Some(inner) = text.strip_suffix('?') {
        return json!({ "anyOf": [type_schema(inner), { "type": "null" }] });
    }
    if let Some(inner) = text.strip_suffix("[]") {
        return json!({ "type": "array", "items": type_schema(inner) });
    }
    if let Some(inner) = text.strip_suffix("{}") {
        return json!({ "type": "object", "additionalProperties": type_schema(inner) });
    }
    match text {
        "string" | "integer" | "boolean" => json!({ "type": text }),
        "decimal" => json!({ "type": "string", "pattern": "^[0-9]+$" }),
        "hex" => json!({ "type": "string", "pattern": "^0x[0-9a-f]*$" }),
        "any" => json!({}),
        object => json!({ "$ref": format!("#/components/schemas/{object}") }),
    }
}

/// The schema of an object.
pub(super) fn object_schema(fields: &[(&str, &str)]) -> Map<String, Value> {
    let properties = fields
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), type_schema(kind)));
    let properties: Map<String, Value> = properties.collect();
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), names.into());
    schema
}
