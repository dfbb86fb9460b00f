//! Who may ask: names of the host, pages of browsers, the token.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use std::net::IpAddr;

/// Why a request is refused.
pub(crate) type Refused = (StatusCode, &'static str);

/// Who may ask.
#[derive(Debug)]
pub(crate) struct Access {
    token: Option<String>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Access {
    pub(crate) fn new(token: Option<String>, hosts: &[String], origins: &[String]) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase());
        let origins = origins.iter().map(|it| it.trim_end_matches('/'));
        Self {
            token,
            hosts: hosts.collect(),
            origins: origins.map(str::to_ascii_lowercase).collect(),
        }
    }

    /// The site whose page asks, if its pages may read the answers (CORS).
    pub(crate) fn shared_with(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.origins.contains(&text).then(|| origin.clone())
    }

    /// Checks the name of the host and the page that asks. A page of another site can make a browser
    /// ask this host under a name that the site controls (DNS rebinding), but not under an address.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let wrong_host = (
            StatusCode::FORBIDDEN,
            "this name of the host is not allowed",
        );
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let host = host.ok_or((StatusCode::BAD_REQUEST, "a request names its host"))?;
        if hosts.next().is_some() {
            return Err((StatusCode::BAD_REQUEST, "a request names one host"));
        }
        if !self.is_known(host) {
            return Err(wrong_host);
        }
        if let Some(authority) = uri.authority()
            && !self.is_known(authority.as_str())
        {
            return Err(wrong_host);
        }
        if self.shared_with(headers).is_some() {
            return Ok(());
        }
        let foreign = (StatusCode::FORBIDDEN, "pages of other sites may not ask");
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"));
            if !origin.is_some_and(|(_, host)| self.is_known(host)) {
                return Err(foreign);
            }
        }
        let site = headers.get(HeaderName::from_static("sec-fetch-site"));
        match site.map(|site| site.as_bytes()) {
            Some(b"cross-site") => Err(foreign),
            _ => Ok(()),
        }
    }

    /// Whether a host with an optional port is an address, this machine, or a configured name.
    fn is_known(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((name, port)) if port.is_empty() || is_port(port) => name,
                _ => return false,
            },
            None => match host.split_once(':') {
                Some((name, _)) if is_port(&host[name.len()..]) => name,
                Some(_) => return false,
                None => &host,
            },
        };
        name.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.iter().any(|known| known == name)
    }

    /// Looks for the token in the headers, in the URL, and in a form that was sent.
    pub(crate) fn token(&self, uri: &Uri, headers: &HeaderMap, form: &[u8]) -> Token {
        let Some(token) = &self.token else {
            return Token::Right;
        };
        let mut found = Token::Missing;
        let mut look_at = |given: &str| {
            if given.is_empty() {
                return;
            }
            found = match (found, is_same(given, token)) {
                (Token::Right, _) | (_, true) => Token::Right,
                _ => Token::Wrong,
            };
        };
        let bearer = headers.get(header::AUTHORIZATION);
        let bearer = bearer.and_then(|value| value.to_str().ok()?.split_once(' '));
        if let Some((scheme, given)) = bearer
            && scheme.eq_ignore_ascii_case("bearer")
        {
            look_at(given.trim());
        }
        let query = uri.query().unwrap_or_default();
        for (name, value) in
            form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(form))
        {
            if name.eq_ignore_ascii_case("apikey") || name.eq_ignore_ascii_case("token") {
                look_at(&value);
            }
        }
        found
    }

    /// Checks the token, if there is one.
    pub(crate) fn check_token(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        match self.token(uri, headers, b"") {
            Token::Right => Ok(()),
            Token::Wrong | Token::Missing => Err((
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong (Authorization: Bearer …, or apikey=… in the URL)",
            )),
        }
    }
}

/// Whether a request has the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// It has the token, or none is needed.
    Right,
    /// It has another one.
    Wrong,
    /// It has none.
    Missing,
}

/// Whether a text is a colon and a port.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Compares in a time that does not depend on where texts differ.
fn is_same(given: &str, token: &str) -> bool {
    let differs = given
        .bytes()
        .zip(token.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let all = all.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        all.collect()
    }

    #[test]
    fn only_addresses_and_known_names_are_hosts() {
        let access = Access::new(None, &["Node.Example".to_owned()], &[]);
        let uri = Uri::from_static("/");
        for host in [
            "127.0.0.1:8600",
            "localhost",
            "LOCALHOST:1",
            "[::1]:8600",
            "[::1]",
            "10.0.0.7",
            "node.example:8600",
            "a.localhost",
        ] {
            assert!(
                access.check_host(&uri, &headers(&[("host", host)])).is_ok(),
                "{host}"
            );
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "[::1",
            "[::1]x",
            "127.0.0.1:x",
            "localhost:8600:1",
            "node.example@evil.example",
            "0x7f.1",
        ] {
            assert!(
                access
                    .check_host(&uri, &headers(&[("host", host)]))
                    .is_err(),
                "{host}"
            );
        }
        assert!(access.check_host(&uri, &HeaderMap::new()).is_err());
        let elsewhere = Uri::from_static("http://evil.example/");
        assert!(
            access
                .check_host(&elsewhere, &headers(&[("host", "localhost")]))
                .is_err()
        );
    }

    #[test]
    fn pages_of_other_sites_may_not_ask() {
        let access = Access::new(None, &[], &[]);
        let uri = Uri::from_static("/");
        let check = |name, value| {
            access.check_host(&uri, &headers(&[("host", "localhost"), (name, value)]))
        };
        assert!(check("origin", "http://localhost:8600").is_ok());
        assert!(check("origin", "https://evil.example").is_err());
        assert!(check("origin", "null").is_err());
        assert!(check("sec-fetch-site", "cross-site").is_err());
        assert!(check("sec-fetch-site", "same-origin").is_ok());
    }

    #[test]
    fn a_token_is_in_a_header_or_in_the_url() {
        let access = Access::new(Some("secret".to_owned()), &[], &[]);
        let none = HeaderMap::new();
        let check = |uri: &'static str, headers: &HeaderMap| {
            access.check_token(&Uri::from_static(uri), headers).is_ok()
        };
        assert!(check("/api?apiKey=secret", &none) && check("/?token=secret", &none));
        assert!(check("/", &headers(&[("authorization", "Bearer secret")])));
        assert!(!check("/", &none) && !check("/?apikey=secre", &none));
        assert!(!check("/?apikey=secret1", &none) && !check("/?other=secret", &none));
        assert!(!check("/", &headers(&[("authorization", "Basic secret")])));
        assert!(check("/", &headers(&[("authorization", "bearer secret")])));
        let form = |form: &[u8]| access.token(&Uri::from_static("/api"), &none, form);
        assert_eq!(form(b"module=x&apikey=secret"), Token::Right);
        assert_eq!(form(b"apikey=secre"), Token::Wrong);
        assert_eq!(form(b"apikey="), Token::Missing);
        assert_eq!(form(b"module=x"), Token::Missing);
    }
}
