//! The cookies of one connection (RFC 6265): those that its server set are sent back to it.
//!
//! A connection speaks to one server, so only the name, the value and the path of a cookie matter, and its expiry as
//! far as that needs no clock. Left out: domains, `Secure`, and dates other than those by which a server deletes a
//! cookie.

use crate::contract::Response;
use std::ops::Range;

/// The cookies that a server has set.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    /// `NAME=VALUE`.
    pair: Box<[u8]>,
    name_len: usize,
    /// The path below which it is sent.
    path: Box<[u8]>,
}

impl Cookies {
    /// Applies what a response sets and deletes.
    pub(super) fn learn(&mut self, response: &Response<'_>) {
        for field in response.fields("set-cookie") {
            self.set(field);
        }
    }

    /// Appends the field `Cookie` with the cookies for the path at `target` in `out`, if there are any.
    pub(super) fn write(&self, target: Range<usize>, out: &mut Vec<u8>) {
        let mut separator = &b"Cookie: "[..];
        for cookie in &self.0 {
            if cookie.is_for(&out[target.clone()]) {
                out.extend_from_slice(separator);
                out.extend_from_slice(&cookie.pair);
                separator = b"; ";
            }
        }
        if separator == b"; " {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The value of the field `Cookie` for the path `target`, if there are any.
    pub(crate) fn for_path(&self, target: &str) -> Option<String> {
        let pairs = self.0.iter().filter(|cookie| cookie.is_for(target.as_bytes()));
        let pairs: Vec<&[u8]> = pairs.map(|cookie| &*cookie.pair).collect();
        let value = String::from_utf8_lossy(&pairs.join(&b"; "[..])).into_owned();
        (!value.is_empty()).then_some(value)
    }

    fn set(&mut self, field: &[u8]) {
        let mut parts = field.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let Some(name_len) = pair.iter().position(|byte| *byte == b'=').filter(|len| *len > 0)
        else {
            return;
        };
        let (mut path, mut is_deleted) = (&b"/"[..], false);
        for part in parts {
            let (name, value) = split(part);
            if name.eq_ignore_ascii_case(b"path") && value.starts_with(b"/") {
                path = value;
            }
            let is_over =
                name.eq_ignore_ascii_case(b"max-age") && (value == b"0" || value.starts_with(b"-"));
            let is_past = name.eq_ignore_ascii_case(b"expires")
                && value.windows(EPOCH.len()).any(|part| part == EPOCH);
            is_deleted |= is_over || is_past;
        }
        self.0.retain(|known| !(known.name() == &pair[..name_len] && *known.path == *path));
        if is_deleted || pair.len() + path.len() > LEN_MAX {
            return;
        }
        if self.0.len() == COUNT_MAX {
            self.0.remove(0);
        }
        self.0.push(Cookie { pair: pair.into(), name_len, path: path.into() });
    }
}

impl Cookie {
    fn name(&self) -> &[u8] {
        &self.pair[..self.name_len]
    }

    /// True if `target`, a path with its query, is the path of the cookie or below it (RFC 6265 §5.1.4).
    fn is_for(&self, target: &[u8]) -> bool {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        let rest = path.strip_prefix(&*self.path);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(b"/") || self.path.ends_with(b"/")
        })
    }
}

/// The name and the value of an attribute.
fn split(part: &[u8]) -> (&[u8], &[u8]) {
    let at = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
    (part[..at].trim_ascii(), part.get(at + 1..).unwrap_or_default().trim_ascii())
}

/// The year of the date by which servers delete cookies.
const EPOCH: &[u8] = b"1970";

/// The most cookies of a connection (RFC 6265 §6.1 asks for at least 50).
const COUNT_MAX: usize = 50;

/// The longest cookie with its path, in bytes (RFC 6265 §6.1); a longer one is not kept.
const LEN_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::sample::response;

    fn jar(fields: &[&str]) -> Cookies {
        let mut cookies = Cookies::default();
        for field in fields {
            let response = response(200, &format!("Set-Cookie: {field}\r\n"), b"");
            cookies.learn(&response.as_response());
        }
        cookies
    }

    fn sent(cookies: &Cookies, target: &str) -> String {
        let mut out = target.as_bytes().to_vec();
        cookies.write(0..target.len(), &mut out);
        let sent = String::from_utf8(out.split_off(target.len())).unwrap();
        let value = sent.strip_prefix("Cookie: ").and_then(|line| line.strip_suffix("\r\n"));
        assert_eq!(cookies.for_path(target).as_deref(), value);
        sent
    }

    #[test]
    fn what_a_server_set_is_sent_back_where_it_belongs() {
        #[rustfmt::skip]
        let table: [(&[&str], &str, &str); _] = [
            (&[],                                       "/",        ""),
            (&["a=1"],                                  "/x?y=1",   "Cookie: a=1\r\n"),
            (&["a=1; HttpOnly", "b=\"2\";Path=/"],      "/",        "Cookie: a=1; b=\"2\"\r\n"),
            (&["a=1", "a=2"],                           "/",        "Cookie: a=2\r\n"),
            (&["a=1; Path=/x"],                         "/x",       "Cookie: a=1\r\n"),
            (&["a=1; Path=/x"],                         "/x/y",     "Cookie: a=1\r\n"),
            (&["a=1; Path=/x"],                         "/x?y",     "Cookie: a=1\r\n"),
            (&["a=1; Path=/x"],                         "/xy",      ""),
            (&["a=1; Path=/x/"],                        "/x/y",     "Cookie: a=1\r\n"),
            (&["a=1", "a=2; path=/x"],                  "/x",       "Cookie: a=1; a=2\r\n"),
            (&["a=1", "a=; Max-Age=0"],                 "/",        ""),
            (&["a=1", "a=; Max-Age=-1"],                "/",        ""),
            (&["a=1; Max-Age=60"],                      "/",        "Cookie: a=1\r\n"),
            (&["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", ""),
            (&["a=1; Expires=Fri, 31 Dec 2100 00:00:00 GMT"],       "/", "Cookie: a=1\r\n"),
            (&["a", "=1", ""],                          "/",        ""),
        ];
        for (fields, target, expected) in table {
            assert_eq!(sent(&jar(fields), target), expected, "{fields:?} {target}");
        }
    }

    #[test]
    fn cookies_have_limits() {
        let many: Vec<String> = (0..=COUNT_MAX).map(|number| format!("c{number}=1")).collect();
        let jar_of_many = jar(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let sent_back = sent(&jar_of_many, "/");
        assert_eq!(sent_back.matches("=1").count(), COUNT_MAX);
        assert!(!sent_back.contains(" c0=1"), "the oldest is forgotten");
        let value = "x".repeat(LEN_MAX);
        assert_eq!(sent(&jar(&["a=1", &format!("a={value}")]), "/"), "");
    }
}
