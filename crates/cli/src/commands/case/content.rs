//! The contents of a report, without a format. Everything in it is text; the formats escape it.

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
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
pub(super) struct Grid {
    pub(super) title: String,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A picture in a file of the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) title: String,
    /// The path from the folder of the case.
    pub(super) path: String,
    pub(super) media_type: &'static str,
    pub(super) data: Vec<u8>,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) title: String,
    /// Lines below the title.
    pub(super) about: Vec<String>,
    pub(super) parts: Vec<Part>,
}

impl Grid {
    /// A table.
    pub(super) fn new(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        }
    }
}
