//! Options of pictures.

use crate::name_args::text_path;
use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use std::path::PathBuf;
use txgraph::Layout;

/// How pictures are drawn.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PictureArgs {
    /// Layout of svg, png, html and dot [default: auto]
    ///
    /// hops has a column for each hop; radial has rings around the busiest address; force moves
    /// neighbors together. auto chooses by the shape and size of the graph.
    #[arg(
        long, value_name = "LAYOUT",
        value_parser = PossibleValuesParser::new(Layout::ALL.iter().map(|word| word.as_str())),
        help_heading = "Pictures"
    )]
    layout: Option<String>,

    /// Draw similar leaves beyond the first N as one [default: auto]
    ///
    /// Leaves have a single counterparty. Leaves of one address with the same direction and token
    /// are similar; the N with the largest amounts stay. auto folds nothing in a picture of up to
    /// 40 arrows. Tables, JSON, GraphML and GEXF always contain every address. DOT is drawn as svg
    /// is.
    #[arg(long, value_name = "N|auto|off", help_heading = "Pictures")]
    fold: Option<String>,

    /// Link of each address, e.g. 'https://etherscan.io/address/{address}'
    ///
    /// {tx} is the hash of an arrow that is a single transfer. For svg, html and dot.
    #[arg(long, value_name = "URL", help_heading = "Pictures")]
    link: Option<String>,

    /// Prices of tokens, which make arrow widths values: CSV token,price
    ///
    /// A token is an address, a symbol of --token-list or of a well-known token, or `eth`. A price
    /// applies to one whole unit, in the same unit for all. Arrows without a price have one
    /// constant width. For svg, png, html and dot.
    #[arg(long, value_name = "FILE", help_heading = "Pictures", value_parser = text_path())]
    prices: Option<PathBuf>,
}
