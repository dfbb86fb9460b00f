//! Options of pictures as they are written.

use crate::{Error, Result, files::read_list, grammar::text};
use serde::{Deserialize, Serialize};
use std::{fmt::Display, path::Path, str::FromStr};
use txgraph_export::{Drawing, Prices};

/// How pictures (SVG, PNG, HTML) are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Picture {
    /// `auto`, `hops`, `radial` or `force`; absent: `auto`.
    pub layout: Option<String>,
    /// The number of similar leaves that stay, or `auto` or `off`; absent: `auto`.
    #[serde(deserialize_with = "text")]
    pub fold: Option<String>,
    /// A link with `{address}` or `{tx}`.
    pub link: Option<String>,
    /// A file with prices of tokens: CSV `token,price`.
    pub prices: Option<String>,
}

impl Picture {
    /// Reads the text.
    pub(super) fn read(&self) -> Result<Drawing> {
        fn given<T: FromStr<Err: Display>>(text: Option<&String>) -> Result<Option<T>> {
            let wrong = |error: T::Err| Error::usage(error.to_string());
            text.map(|text| text.parse().map_err(wrong)).transpose()
        }
        Ok(Drawing {
            layout: given(self.layout.as_ref())?.unwrap_or_default(),
            fold: given(self.fold.as_ref())?.unwrap_or_default(),
            link: given(self.link.as_ref())?,
            prices: match &self.prices {
                Some(path) => {
                    let prices = Prices::parse(&read_list(Path::new(path))?);
                    Some(prices.map_err(|reason| Error::usage(reason).at(path))?)
                }
                None => None,
            },
            ..Drawing::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_export::{Fold, Layout};

    #[test]
    fn words_are_read_and_mistakes_are_named() {
        let picture: Picture =
            toml::from_str("layout = 'Force'\nfold = 3\nlink = 'https://x.org/{tx}'").unwrap();
        let drawing = picture.read().unwrap();
        assert_eq!(
            (drawing.layout, drawing.fold),
            (Layout::Force, Fold::Beyond(3))
        );
        for (options, message) in [
            (
                "layout = 'round'",
                "unknown layout `round`; one of auto, hops, radial, force",
            ),
            (
                "fold = 'few'",
                "invalid fold `few`: expected a number, `auto` or `off`",
            ),
            ("link = 'x.org'", "`x.org` is not a link: it needs"),
        ] {
            let picture: Picture = toml::from_str(options).unwrap();
            let error = picture.read().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
