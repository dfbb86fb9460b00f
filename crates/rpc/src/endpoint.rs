//! The location of a server: its URL, and options in the fragment.

use crate::{
    error::{Error, Result},
    secrets::{Secrets, percent_decoded},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::{fmt, str::FromStr, time::Duration};
use txgraph_base::masked_url;

/// A server and how it is asked.
///
/// The fragment of the URL contains options and is not sent: `https://host/key#rate=10,batch=5`.
#[derive(Clone)]
pub struct Endpoint {
    /// Without user info and fragment.
    pub(crate) url: String,
    /// The header with user name and password.
    pub(crate) authorization: Option<String>,
    /// For messages: without user info, path and query, which may contain keys.
    pub(crate) shown: String,
    /// Text that no message may contain.
    pub(crate) secrets: Secrets,
    /// How it is asked.
    pub(crate) settings: Settings,
}

/// How a server is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The most calls in a second, counting each of a batch; `None`: no limit.
    pub rate: Option<f64>,
    /// The most calls in a batch. 1 sends no batches.
    pub batch: u64,
    /// The most requests at a time.
    pub connections: usize,
    /// The longest wait for an answer.
    pub timeout: Duration,
    /// The most blocks of one `eth_getLogs`.
    pub range: u64,
    /// The most bytes of an answer, decompressed.
    pub response_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: None,
            batch: 20,
            connections: 4,
            timeout: Duration::from_secs(30),
            range: 10_000,
            response_bytes: 128 << 20,
        }
    }
}

/// The options that [`Endpoint::parse`] knows, for messages.
const OPTIONS: &str = "rate, batch, connections, timeout, range, response-mb";

impl Endpoint {
    /// Parses a location.
    ///
    /// # Errors
    ///
    /// If it is not a URL with `http` or `https`, or has an option that is not known.
    pub fn parse(location: &str) -> Result<Self> {
        let shown = masked_url(location);
        let wrong = Error::Location;
        let (url, options) = location.split_once('#').unwrap_or((location, ""));
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") || host.is_empty() {
            return Err(wrong(
                "the location of a server must be a URL that begins with http:// or https://"
                    .to_owned(),
            ));
        }
        let (user, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, host),
        };
        let path = &rest[rest.find(['/', '?']).unwrap_or(rest.len())..];
        let mut settings = Settings::default();
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            settings
                .set(name, value)
                .map_err(|what| wrong(format!("{shown}: {what}")))?;
        }
        let url = format!("{scheme}://{host}{path}");
        if let Err(error) = url.parse::<ureq::http::Uri>() {
            return Err(wrong(format!("{shown}: the URL is not valid: {error}")));
        }
        Ok(Self {
            url,
            secrets: Secrets::new(user, path),
            authorization: user
                .map(|user| format!("Basic {}", BASE64_STANDARD.encode(percent_decoded(user)))),
            shown,
            settings,
        })
    }

    /// How it is asked.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Without keys.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Without keys.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("shown", &self.shown)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Settings {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        fn positive<T: FromStr + PartialOrd + Default>(
            name: &str,
            value: &str,
        ) -> Result<T, String> {
            let number = value.parse().ok().filter(|number| *number > T::default());
            number.ok_or_else(|| format!("option `{name}` needs a positive number"))
        }
        match name {
            "rate" => {
                let rate: f64 = positive(name, value)?;
                // Longer pauses than an hour are not a rate.
                match rate.is_finite() && rate >= 1.0 / 3600.0 {
                    true => self.rate = Some(rate),
                    false => return Err(format!("option `{name}` needs a number per second")),
                }
            }
            "batch" => self.batch = positive(name, value)?,
            "connections" => self.connections = positive(name, value)?,
            "timeout" => self.timeout = Duration::from_secs(positive::<u32>(name, value)?.into()),
            "range" => self.range = positive(name, value)?,
            "response-mb" => {
                self.response_bytes = u64::from(positive::<u32>(name, value)?) << 20;
            }
            _ => return Err(format!("option `{name}` is not known; known are {OPTIONS}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_credentials_and_options() {
        let endpoint =
            Endpoint::parse("https://us%65r:se@cret@host:8545/v3/KEY?k=v#rate=2.5,batch=1")
                .unwrap();
        assert_eq!(endpoint.url, "https://host:8545/v3/KEY?k=v");
        assert_eq!(
            endpoint.authorization.as_deref(),
            Some(format!("Basic {}", BASE64_STANDARD.encode("user:se@cret")).as_str())
        );
        assert_eq!(endpoint.settings.rate, Some(2.5));
        assert_eq!(endpoint.settings.batch, 1);
        for text in [endpoint.to_string(), format!("{endpoint:?}")] {
            assert!(text.contains("https://host:8545/…"), "{text}");
            for secret in ["KEY", "cret", "us", "k=v"] {
                assert!(
                    !text.replace("https", "").contains(secret),
                    "{text}: {secret}"
                );
            }
        }
    }

    #[test]
    fn refuses_other_locations() {
        for location in [
            "",
            "localhost:8545",
            "ws://host",
            "http://",
            "file:///x",
            "http://[::1/x",
            "http://ho st/",
        ] {
            assert!(Endpoint::parse(location).is_err(), "{location}");
        }
        assert_eq!(Endpoint::parse("HTTP://h/K").unwrap().url, "http://h/K");
        for options in [
            "rate=0", "rate=x", "batch=0", "batch=-1", "what=1", "timeout", "rate=inf",
        ] {
            let error = Endpoint::parse(&format!("http://h/KEY#{options}")).unwrap_err();
            assert!(!error.to_string().contains("KEY"), "{error}");
        }
        assert_eq!(
            Endpoint::parse("http://h#").unwrap().settings,
            Settings::default()
        );
    }
}
