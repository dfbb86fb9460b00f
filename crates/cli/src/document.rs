//! The contents of a report, without a format. Everything in it is text; the formats escape it.

mod evidence;
mod file;
pub(crate) mod html;

pub(crate) use evidence::evidence;
pub(crate) use file::{DocumentFile, write_whole};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A heading of level 2 or 3.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A remark with the time at which it was written.
    Note(String, String),
    /// A text whose line ends matter: a title, and the lines.
    Lines(String, String),
    Table(Grid),
    Picture(Picture),
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A picture in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) title: String,
    /// The path from the folder of the report.
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    pub(crate) data: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) title: String,
    /// Lines below the title.
    pub(crate) about: Vec<String>,
    pub(crate) parts: Vec<Part>,
}

impl Grid {
    /// A table.
    pub(crate) fn new(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        }
    }
}
