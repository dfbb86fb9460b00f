//! Categories: words of files, and the few kinds that have a color.

txgraph_base::string_enum! {
    /// The kind of an address, with a color and an icon in pictures. Files have many more words;
    /// [`Category::of`] finds the kind of each.
    pub enum Category: "category" {
        /// On a sanctions list.
        Sanctioned = "sanctioned",
        /// Stolen funds, phishing, fraud.
        Scam = "scam",
        /// Breaks the link between payer and payee.
        Mixer = "mixer",
        /// Moves tokens to another chain.
        Bridge = "bridge",
        /// A pool, or a contract that swaps tokens.
        Dex = "dex",
        /// Holds tokens of many customers.
        Exchange = "exchange",
        /// Lends, stakes, invests.
        Defi = "defi",
        /// The contract of a token.
        Token = "token",
        /// A person, or the user's own address.
        User = "user",
        /// Anything else.
        Other = "other",
    }
}

/// Words that decide, in the order of [`Category::ALL`].
const WORDS: [&str; 9] = [
    "sanction sanctions sanctioned ofac sdn blocked blacklist",
    "scam scams scammer phish phishing hack hacks hacker exploit exploiter heist fraud \
         ponzi theft stolen ransomware malicious perpetrator rugpull terrorism extortion \
         sextortion",
    "mixer mixers mixing tumbler tornado coinjoin",
    "bridge bridges",
    "dex dexes pool pools amm swap router decentralized",
    "exchange exchanges cex centralized brokerage",
    "defi lending staking yield vault liquidity farming",
    "token tokens stablecoin erc20 erc721 nft coin",
    "user users person individual own me wallet donation",
];

/// Words of file names that say nothing about the category.
const NEUTRAL: &str =
    "address addresses account accounts label labels list eth ethereum mainnet all combined";

fn contains(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

impl Category {
    /// The kind of a category's word: `Mixing service` is a [`Category::Mixer`].
    pub fn of(word: &str) -> Self {
        let words: Vec<_> = words(word).collect();
        let has = |list: &str| words.iter().any(|word| contains(list, word));
        let mut kinds = Self::ALL.iter().zip(WORDS);
        let found = kinds.find(|(_, list)| has(list));
        found.map_or(Self::Other, |(category, _)| *category)
    }

    /// The kind that the name of a file states: `exchanges.csv`, `sanctioned_addresses_ETH.txt`.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        let stem = name.split('.').next().unwrap_or_default();
        let mut kinds = words(stem)
            .filter(|word| !contains(NEUTRAL, word))
            .map(|word| Self::of(&word));
        let first = kinds.next()?;
        // `own.csv` or `user-labels.csv` says whose labels they are.
        let is_kind = !matches!(first, Self::Other | Self::User);
        (is_kind && kinds.all(|kind| kind == first)).then_some(first)
    }

    /// Its color, light enough for black text on it.
    pub const fn color(self) -> &'static str {
        match self {
            Self::Sanctioned => "#F4A6A6",
            Self::Scam => "#F7C6A3",
            Self::Mixer => "#D6B8F0",
            Self::Bridge => "#B9E3DC",
            Self::Dex => "#C9E4B4",
            Self::Exchange => "#B5D3F2",
            Self::Defi => "#DDEBA8",
            Self::Token => "#F6E7A1",
            Self::User => "#F9D2E4",
            Self::Other => "#E2E2E2",
        }
    }

    /// Its shape, in the words of Graphviz.
    pub const fn shape(self) -> &'static str {
        match self {
            Self::Sanctioned => "doubleoctagon",
            Self::Scam => "invhouse",
            Self::Mixer => "pentagon",
            Self::Bridge => "trapezium",
            Self::Dex => "parallelogram",
            Self::Exchange => "house",
            Self::Defi => "cylinder",
            Self::Token => "note",
            Self::User => "ellipse",
            Self::Other => "ellipse",
        }
    }

    /// A character in front of names.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Sanctioned => "⊘",
            Self::Scam => "⚠",
            Self::Mixer => "∞",
            Self::Bridge => "↔",
            Self::Dex => "⇄",
            Self::Exchange => "⌂",
            Self::Defi => "◇",
            Self::Token => "○",
            Self::User => "●",
            Self::Other => "□",
        }
    }
}

/// A category's word as it is compared and shown: lower case, `_` between words.
pub(crate) fn normal(word: &str) -> String {
    words(word).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_files_have_kinds() {
        for (word, kind) in [
            ("exchange", Category::Exchange),
            ("Mixing service", Category::Mixer),
            ("defi_bridge", Category::Bridge),
            ("defi_dex", Category::Dex),
            ("decentralized-exchange", Category::Dex),
            ("phish-hack", Category::Scam),
            ("OFAC Sanctions Lists", Category::Sanctioned),
            ("index", Category::Other),
            ("", Category::Other),
        ] {
            assert_eq!(Category::of(word), kind, "{word}");
        }
        for category in Category::ALL {
            assert_eq!(Category::of(category.as_str()), *category);
        }
        assert_eq!(normal(" Mixing  Service"), "mixing_service");
    }

    #[test]
    fn names_of_files_state_a_kind() {
        for (name, kind) in [
            ("sanctioned_addresses_ETH.txt", Some(Category::Sanctioned)),
            ("exchanges.csv", Some(Category::Exchange)),
            ("phish-hack.json", Some(Category::Scam)),
            ("token-holders.csv", None),
            ("labels.csv", None),
            ("own.csv", None),
            ("mixer-or-exchange.csv", None),
        ] {
            assert_eq!(Category::of_file(name), kind, "{name}");
        }
    }
}
