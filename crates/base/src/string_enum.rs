//! Enums whose values are written as one word each: on the command line, in query files
//! and in outputs.

/// A word that names no value of an enum made by [`string_enum!`](crate::string_enum).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{word}`; {}", next(*renamed, known))]
pub struct UnknownWord {
    /// The meaning of the enum, e.g. "table format".
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The accepted words, separated by commas. Aliases are left out.
    pub known: String,
    /// The new word, if an earlier version accepted the given one.
    pub renamed: Option<&'static str>,
}

/// The word to use instead.
fn next(renamed: Option<&str>, known: &str) -> String {
    match renamed {
        Some(word) => format!("it is now `{word}`"),
        None => format!("one of {known}"),
    }
}

/// Defines an enum whose values have one word each.
///
/// Generates `ALL` (every value, in declaration order), `as_str`, `Display`, `FromStr`,
/// and serde's `Serialize` and `Deserialize` as a string. Parsing ignores case and accepts
/// the aliases that follow a word after `|`. The string after the name of the enum says
/// what it describes; it appears in the error for an unknown word.
///
/// A value that had another word in an earlier version ends with `(was "word")`: that word is
/// refused with the new one. A value that exists only with a cargo feature ends with `if
/// "feature"`.
///
/// ```
/// txgraph_base::string_enum! {
///     /// How rows are written.
///     pub enum Format: "format" {
///         /// Comma-separated values.
///         Csv = "csv",
///         /// One JSON object per line.
///         Jsonl = "jsonl" | "ndjson",
///     }
/// }
/// assert_eq!("NDJSON".parse(), Ok(Format::Jsonl));
/// assert_eq!(
///     "xml".parse::<Format>().unwrap_err().to_string(),
///     "unknown format `xml`; one of csv, jsonl"
/// );
/// ```
#[macro_export]
macro_rules! string_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $what:literal {
        $(
            $(#[$attribute:meta])*
            $variant:ident = $word:literal $(| $alias:literal)* $((was $old:literal))?
                $(if $feature:literal)?
        ),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[$attribute])* $(#[cfg(feature = $feature)])? $variant),+
        }

        impl $name {
            /// Every value, in declaration order.
            $vis const ALL: &'static [Self] = &[
                $($(#[cfg(feature = $feature)])? Self::$variant),+
            ];

            /// The word for this value, as it is written and parsed.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant => $word),+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> ::std::result::Result<Self, $crate::UnknownWord> {
                match word.to_ascii_lowercase().as_str() {
                    $($(#[cfg(feature = $feature)])? $word $(| $alias)* => Ok(Self::$variant),)+
                    lower => {
                        let renamed: Option<&'static str> = match lower {
                            $($($old => Some($word),)?)+
                            _ => None,
                        };
                        let known: Vec<&str> = Self::ALL.iter().map(|known| known.as_str()).collect();
                        Err($crate::UnknownWord {
                            what: $what,
                            word: word.to_owned(),
                            known: known.join(", "),
                            renamed,
                        })
                    }
                }
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let word = <String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    crate::string_enum! {
        /// A shape.
        #[derive(Default)]
        enum Shape: "shape" {
            /// With corners.
            #[default]
            Square = "square",
            /// Without.
            Circle = "circle" | "disc" | "disk" (was "ring"),
        }
    }

    #[test]
    fn words_parse_back() {
        assert_eq!(Shape::ALL, [Shape::Square, Shape::Circle]);
        for shape in Shape::ALL {
            assert_eq!(shape.as_str().parse(), Ok(*shape));
            let json = serde_json::to_string(shape).unwrap();
            assert_eq!(json, format!("\"{shape}\""));
            assert_eq!(serde_json::from_str::<Shape>(&json).unwrap(), *shape);
        }
        assert_eq!("Disk".parse(), Ok(Shape::Circle));
        assert_eq!(Shape::default(), Shape::Square);
        assert_eq!(format!("[{:>7}]", Shape::Circle), "[ circle]");
    }

    #[test]
    fn rejects_unknown_words() {
        let message = "unknown shape `star`; one of square, circle";
        assert_eq!("star".parse::<Shape>().unwrap_err().to_string(), message);
        let error = serde_json::from_str::<Shape>("\"star\"").unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
    }

    #[test]
    fn names_the_new_word() {
        let message = "unknown shape `Ring`; it is now `circle`";
        assert_eq!("Ring".parse::<Shape>().unwrap_err().to_string(), message);
    }
}
