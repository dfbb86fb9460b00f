//! Options of drawings.

use crate::{Layout, Link, Prices};
use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

/// Options of drawings.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Draw an arrow per transfer instead of one per (from, to, asset).
    pub every_transfer: bool,
    /// How vertices are placed in a picture.
    pub layout: Layout,
    /// Which leaves are drawn as one vertex.
    pub fold: Fold,
    /// Where a click on a vertex or an arrow leads.
    pub link: Option<Link>,
    /// Prices of tokens, so that the width of an arrow is its value.
    pub prices: Option<Prices>,
    /// The most vertices of a picture (SVG, PNG, HTML), after folding, and of a save file of
    /// GraphSense.
    pub vertices_max: usize,
    /// The most arrows of a picture (SVG, PNG, HTML), after folding.
    pub edges_max: usize,
    /// The program of Graphviz.
    pub program: PathBuf,
    /// The time that Graphviz may take. After it the picture is an error: a layout that replaced it
    /// would depend on the speed of the machine.
    pub time_max: Duration,
    /// The largest picture, in bytes.
    pub bytes_max: usize,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            every_transfer: false,
            layout: Layout::Auto,
            fold: Fold::Auto,
            link: None,
            prices: None,
            vertices_max: 5_000,
            edges_max: 5_000,
            program: "dot".into(),
            time_max: Duration::from_secs(60),
            bytes_max: 64 << 20,
        }
    }
}

/// Which leaves of a picture become one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// By the size of the picture: none up to 40 arrows, then all beyond the first 10 of a
    /// group, and beyond the first 5 from 1,000 arrows on.
    #[default]
    Auto,
    /// None.
    Off,
    /// All beyond this number in each group.
    Beyond(usize),
}

/// A text that is not a [`Fold`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fold `{0}`: expected a number, `auto` or `off`")]
pub struct WrongFold(String);

impl FromStr for Fold {
    type Err = WrongFold;

    fn from_str(text: &str) -> Result<Self, WrongFold> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => (text.parse().map(Self::Beyond)).map_err(|_| WrongFold(text.to_owned())),
        }
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Beyond(count) => count.fmt(f),
        }
    }
}
