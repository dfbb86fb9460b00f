//! Locations of servers in messages.

/// Returns a URL as messages may contain it: scheme, host and port. User info, path, query and
/// fragment may contain keys, so `…` replaces them.
pub fn masked_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match tail.trim_matches('/').is_empty() {
        true => format!("{scheme}://{host}"),
        false => format!("{scheme}://{host}/…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_shown() {
        for (url, shown) in [
            ("https://host:8545", "https://host:8545"),
            ("https://host/", "https://host"),
            ("https://host/v3/key", "https://host/…"),
            ("https://host?key=1", "https://host/…"),
            ("https://user:pass@word@host/#rate=1", "https://host/…"),
            ("user:password@host", "…"),
            ("", "…"),
        ] {
            assert_eq!(masked_url(url), shown, "{url}");
        }
    }
}
