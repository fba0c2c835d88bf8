//! The guard: a request passes if it has the token and comes from our own page.
//!
//! The page of another site in the same browser can send requests here. It does not know the token. The browser names
//! its origin in each request that changes something. If the site points a host name of its own to this machine (DNS
//! rebinding), that name is in `Host`.

use axum::http::{HeaderMap, Method, header};
use std::net::IpAddr;

/// The reason to refuse a request; `None`: it may pass. `first` is the first part of its path, `port` the server's.
pub(crate) fn refusal(
    method: &Method,
    headers: &HeaderMap,
    first: &str,
    token: &str,
    port: u16,
) -> Option<&'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let Some(host) = text(header::HOST).filter(|host| is_ours(host, port)) else {
        return Some(
            "the Host header is not this server's address: use the URL that wirebench printed",
        );
    };
    if !is_same(first, token) {
        return Some("the token is missing or wrong: use the URL that wirebench printed");
    }
    let own = format!("http://{host}");
    match text(header::ORIGIN) {
        Some(origin) if origin != own => {
            return Some("the request comes from a page of another origin");
        }
        None if *method != Method::GET => {
            return Some(
                "the Origin header is missing, which every request that changes something needs",
            );
        }
        Some(_) | None => {}
    }
    match headers.get("sec-fetch-site").map(|value| value.as_bytes()) {
        Some(b"same-origin" | b"none") | None => None,
        Some(_) => Some("the request comes from a page of another site"),
    }
}

/// True if `host` is an IP address or `localhost`, with the server's port. Any other name may point anywhere.
fn is_ours(host: &str, port: u16) -> bool {
    let (name, of) = match host.rsplit_once(':') {
        Some((name, of)) if !of.ends_with(']') => (name, of),
        // Browsers leave out the port of the scheme.
        Some(_) | None => (host, "80"),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    of.parse() == Ok(port) && (name == "localhost" || name.parse::<IpAddr>().is_ok())
}

/// Compares two texts, in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differing =
        one.bytes().zip(other.bytes()).fold(0, |bits, (one, other)| bits | (one ^ other));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    /// A method, the first part of the path, the headers, and a word of the reason; empty: it may pass.
    type Case<'a> = (&'a Method, &'a str, &'a [(&'static str, &'a str)], &'a str);

    fn refused(
        method: &Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Option<&'static str> {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        refusal(method, &headers.iter().map(pair).collect(), path, "secret", 9400)
    }

    #[test]
    fn our_own_page_may_ask_and_nobody_else() {
        let host = ("host", "127.0.0.1:9400");
        let origin = ("origin", "http://127.0.0.1:9400");
        #[rustfmt::skip]
        let table: &[Case<'_>] = &[
            (&Method::GET,  "secret",  &[host],                                              ""),
            (&Method::GET,  "secret",  &[("host", "localhost:9400")],                        ""),
            (&Method::GET,  "secret",  &[("host", "[::1]:9400")],                            ""),
            (&Method::GET,  "secret",  &[host, ("sec-fetch-site", "none")],                  ""),
            (&Method::POST, "secret",  &[host, origin, ("sec-fetch-site", "same-origin")],   ""),
            (&Method::GET,  "",        &[host],                                              "token"),
            (&Method::GET,  "secre",   &[host],                                              "token"),
            (&Method::GET,  "secrets", &[host],                                              "token"),
            (&Method::GET,  "secreT",  &[host],                                              "token"),
            (&Method::GET,  "secret",  &[],                                                  "address"),
            (&Method::GET,  "secret",  &[("host", "evil.example:9400")],                     "address"),
            (&Method::GET,  "secret",  &[("host", "127.0.0.1.evil.example:9400")],           "address"),
            (&Method::GET,  "secret",  &[("host", "127.0.0.1:80")],                          "address"),
            (&Method::GET,  "secret",  &[("host", "127.0.0.1")],                             "address"),
            (&Method::POST, "secret",  &[host],                                              "Origin"),
            (&Method::POST, "secret",  &[host, ("origin", "null")],                          "origin"),
            (&Method::POST, "secret",  &[host, ("origin", "http://evil.example")],           "origin"),
            (&Method::GET,  "secret",  &[host, ("origin", "http://evil.example")],           "origin"),
            (&Method::POST, "secret",  &[host, ("origin", "http://127.0.0.1:80")],           "origin"),
            (&Method::GET,  "secret",  &[host, ("sec-fetch-site", "cross-site")],            "site"),
            (&Method::GET,  "secret",  &[host, ("sec-fetch-site", "same-site")],             "site"),
        ];
        for (method, path, headers, expected) in table {
            let found = refused(method, path, headers);
            let is_expected = match found {
                Some(words) => !expected.is_empty() && words.contains(expected),
                None => expected.is_empty(),
            };
            assert!(is_expected, "{method} {path} {headers:?}: {found:?}");
        }
    }

    #[test]
    fn the_port_of_the_scheme_may_be_left_out() {
        for (host, port, expected) in [
            ("127.0.0.1", 80, true),
            ("[::1]", 80, true),
            ("localhost", 80, true),
            ("127.0.0.1:80", 80, true),
            ("127.0.0.1", 9400, false),
            ("[::1]", 9400, false),
            ("evil.example", 80, false),
        ] {
            assert_eq!(is_ours(host, port), expected, "{host} {port}");
        }
    }
}
