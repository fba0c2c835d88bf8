//! Redirects that a client follows (RFC 9110 §15.4): the next request is made from the last one and the response to it.
//!
//! Left out: caches of permanent redirects, and locations on other servers, to which no connection here leads.

use super::request::check_target;
use crate::contract::{InPlace, Kind, Response};
use crate::excerpt::Excerpt;

/// The scheme, host and port that requests go to, as locations name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    is_tls: bool,
    authority: String,
}

/// The request that is in flight on a connection, and the redirects that it met.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    /// Head and body; empty where redirects are not followed.
    request: Vec<u8>,
    max: u8,
    followed: u8,
    /// True if the request has yet to be sent again, to its new location.
    is_due: bool,
}

/// The reasons why a redirect cannot be followed. Locations are the server's own text and are shown escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// It points to another server.
    #[error(
        "HTTP status {code} redirects to {location}, but only redirects to {origin} are followed; to measure \
         the new location, use it as the URL"
    )]
    Elsewhere {
        /// The status.
        code: u16,
        /// The beginning of the place.
        location: Excerpt,
        /// The server that was asked.
        origin: String,
    },
    /// Too many redirects followed one another.
    #[error(
        "HTTP status {code} redirects to {location} after {max} redirects, the limit that `redirects` sets"
    )]
    TooMany {
        /// The status.
        code: u16,
        /// The beginning of the place.
        location: Excerpt,
        /// The limit.
        max: u8,
    },
    /// The location cannot be requested.
    #[error("HTTP status {code} redirects to {location}, which is not a valid HTTP location")]
    NoPlace {
        /// The status.
        code: u16,
        /// The beginning of the place.
        location: Excerpt,
    },
}

/// The value of the field `Cookie` for a target, if there are cookies for it.
type Jar<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Origin {
    pub(crate) fn new(is_tls: bool, authority: &str) -> Self {
        Self { is_tls, authority: authority.to_owned() }
    }

    /// The host, and the port if it is not the default.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    const fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// True if this scheme and authority name the same server.
    fn is(&self, scheme: &str, authority: &str) -> bool {
        let port = if self.is_tls { ":443" } else { ":80" };
        let bare = |authority: &str| {
            let authority = authority.to_ascii_lowercase();
            authority.strip_suffix(port).map(str::to_owned).unwrap_or(authority)
        };
        scheme.eq_ignore_ascii_case(self.scheme()) && bare(authority) == bare(&self.authority)
    }
}

impl Hops {
    /// Begins a new request, of which at most `max` redirects are followed.
    pub(crate) fn begin(&mut self, max: u8, request: &[u8]) {
        self.request.clear();
        (self.max, self.followed, self.is_due) = (max, 0, false);
        if max > 0 {
            self.request.extend_from_slice(request);
        }
    }

    /// The request as it was sent last, or is to be sent next.
    pub(crate) fn request(&self) -> &[u8] {
        &self.request
    }

    /// True if a request has to be sent before anything else.
    pub(crate) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Makes the next request if `response` is a redirect that is followed; [`Self::ask`] then sends it. `cookies`
    /// returns those that the server has set, for a target; it is `None` if the request has a field `Cookie` of its
    /// own.
    ///
    /// # Errors
    ///
    /// Redirects are followed, and this one cannot be.
    pub(crate) fn follow(
        &mut self,
        response: &Response<'_>,
        origin: &Origin,
        cookies: Option<&Jar<'_>>,
    ) -> Result<bool, RedirectError> {
        let code = response.status;
        let Some(place) = response.location().filter(|_| self.max > 0 && is_followed(code)) else {
            return Ok(false);
        };
        let location = Excerpt::new(place);
        if self.followed == self.max {
            return Err(RedirectError::TooMany { code, location, max: self.max });
        }
        let head_len = head_len(&self.request);
        let head = str::from_utf8(&self.request[..head_len]).unwrap_or_default();
        let mut lines = head.split_terminator("\r\n");
        let mut start = lines.next().unwrap_or_default().split(' ');
        let (method, from) = (start.next().unwrap_or_default(), start.next().unwrap_or("/"));
        let target = match str::from_utf8(place).ok().map(|place| target(from, place, origin)) {
            Some(Ok(target)) if check_target(&target).is_ok() => target,
            Some(Err(Other)) => {
                let origin = format!("{}://{}", origin.scheme(), origin.authority);
                return Err(RedirectError::Elsewhere { code, location, origin });
            }
            Some(Ok(_)) | None => return Err(RedirectError::NoPlace { code, location }),
        };
        let becomes_get = becomes_get(code, method);
        let method = if becomes_get { "GET" } else { method };
        let mut next = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        for line in lines.filter(|line| !line.is_empty()) {
            let name = line.split(':').next().unwrap_or_default();
            let is_left_out = (becomes_get && is_of_content(name))
                || (cookies.is_some() && name.eq_ignore_ascii_case("cookie"));
            if !is_left_out {
                next.extend_from_slice(line.as_bytes());
                next.extend_from_slice(b"\r\n");
            }
        }
        if let Some(value) = cookies.and_then(|cookies| cookies(&target)) {
            next.extend_from_slice(format!("Cookie: {value}\r\n").as_bytes());
        }
        next.extend_from_slice(b"\r\n");
        if !becomes_get {
            next.extend_from_slice(&self.request[head_len..]);
        }
        self.request = next;
        self.followed += 1;
        self.is_due = true;
        Ok(true)
    }

    /// Sends the request that is due, if there is one and `connection` takes it; otherwise it waits for another
    /// connection. True if it was sent.
    pub(crate) fn ask(&mut self, connection: &mut impl InPlace, tx: &mut Vec<u8>) -> bool {
        if !self.is_due {
            return false;
        }
        let Self { request, .. } = self;
        let sent = connection.send_in_place(Kind::Binary, request.len(), tx, &mut |out| {
            out.extend_from_slice(request);
        });
        self.is_due = sent.is_err();
        sent.is_ok()
    }
}

/// True for a status that sends the client to another location.
const fn is_followed(code: u16) -> bool {
    matches!(code, 301 | 302 | 303 | 307 | 308)
}

/// True if the next request is a `GET` without a body: after 303 (RFC 9110 §15.4.4), and, as browsers do, after 301 and
/// 302 that answer a `POST` (§15.4.2, §15.4.3).
fn becomes_get(code: u16, method: &str) -> bool {
    (code == 303 && method != "HEAD") || (matches!(code, 301 | 302) && method == "POST")
}

/// True for fields about a body, which a request without one does not have (RFC 9110 §15.4).
fn is_of_content(name: &str) -> bool {
    let names = [
        "content-encoding",
        "content-language",
        "content-length",
        "content-location",
        "content-type",
    ];
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The length of the head of a request, with the empty line that ends it.
fn head_len(request: &[u8]) -> usize {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    end.map_or(request.len(), |end| end + 4)
}

/// The location is on another server.
struct Other;

/// The target that `place` names relative to the target `from` (RFC 3986 §5.2).
fn target(from: &str, place: &str, origin: &Origin) -> Result<String, Other> {
    let place = place.split('#').next().unwrap_or_default();
    let (from_path, _) = split_query(from);
    let is_scheme = |text: &str| {
        text.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let (scheme, rest) = match place.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
        Some((scheme, rest)) => (scheme, rest),
        None => (origin.scheme(), place),
    };
    let target = if let Some(rest) = rest.strip_prefix("//") {
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if !origin.is(scheme, authority) {
            return Err(Other);
        }
        if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
    } else if rest.len() != place.len() {
        return Err(Other); // Such as `mailto:`.
    } else if place.starts_with('/') {
        place.to_owned()
    } else if place.is_empty() {
        from.to_owned()
    } else if place.starts_with('?') {
        format!("{from_path}{place}")
    } else {
        let folder = &from_path[..from_path.rfind('/').map_or(0, |end| end + 1)];
        format!("{folder}{place}")
    };
    let (path, query) = split_query(&target);
    Ok(without_dots(path) + query)
}

/// The path of a target, and its query with the question mark before it.
fn split_query(target: &str) -> (&str, &str) {
    target.split_at(target.find('?').unwrap_or(target.len()))
}

/// The path without its segments `.` and `..` (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_open = false;
    for segment in path.split('/').skip(1) {
        ends_open = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    let end = if ends_open && !kept.is_empty() { "/" } else { "" };
    format!("/{}{end}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin::new(false, "Host.example:8080")
    }

    #[test]
    fn a_place_is_seen_from_the_request_that_it_answers() {
        #[rustfmt::skip]
        let table = [
            // from,     place,                              target
            ("/a/b?q=1", "/c",                               Some("/c")),
            ("/a/b?q=1", "/c?d=/../e#f",                     Some("/c?d=/../e")),
            ("/a/b?q=1", "c",                                Some("/a/c")),
            ("/a/b?q=1", "./c/",                             Some("/a/c/")),
            ("/a/b/c",   "../d",                             Some("/a/d")),
            ("/a/b/c",   "..",                               Some("/a/")),
            ("/a",       "../../..",                         Some("/")),
            ("/a",       "/b/./../c",                        Some("/c")),
            ("/a/b?q=1", "?r=2",                             Some("/a/b?r=2")),
            ("/a/b?q=1", "",                                 Some("/a/b?q=1")),
            ("/a/b?q=1", "#part",                            Some("/a/b?q=1")),
            ("/",        "http://host.EXAMPLE:8080",         Some("/")),
            ("/",        "HTTP://host.example:8080/x?y",     Some("/x?y")),
            ("/",        "http://host.example:8080?y",       Some("/?y")),
            ("/",        "//host.example:8080/x",            Some("/x")),
            ("/",        "//other.example:8080/x",           None),
            ("/",        "http://host.example/x",            None),
            ("/",        "https://host.example:8080/x",      None),
            ("/",        "http://me@host.example:8080/x",    None),
            ("/",        "http://host.example:8080@evil/x",  None),
            ("/",        "mailto:me@host.example",           None),
            ("/",        "http:x",                           None),
        ];
        for (from, place, expected) in table {
            let found = target(from, place, &origin()).ok();
            assert_eq!(found.as_deref(), expected, "{from} {place}");
        }
        for (is_tls, port) in [(false, ":80"), (true, ":443")] {
            let origin = Origin::new(is_tls, "h");
            let place = format!("{}://h{port}/x", origin.scheme());
            assert_eq!(target("/", &place, &origin).ok().as_deref(), Some("/x"));
        }
    }

    const POST: &str = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nX-Y: 1\r\nCookie: a=1\r\n\
                        Content-Length: 2\r\n\r\nhi";

    /// The request that follows when a response with `status` and a location answers `request`.
    fn next(
        request: &str,
        max: u8,
        status: u16,
        place: &[u8],
    ) -> Result<Option<String>, RedirectError> {
        let mut hops = Hops::default();
        hops.begin(max, request.as_bytes());
        let head = [b"HTTP/1.1 300 X\r\nLocation: ", place, b"\r\n\r\n"].concat();
        let response = Response {
            status,
            head: &head,
            body: b"there",
            is_first: true,
            ends_chunk: false,
            is_last: true,
        };
        let cookies = |target: &str| Some(format!("for={target}"));
        let followed = hops.follow(&response, &origin(), Some(&cookies))?;
        assert_eq!(hops.is_due(), followed);
        Ok(followed.then(|| String::from_utf8(hops.request().to_vec()).unwrap()))
    }

    #[test]
    fn each_status_keeps_or_changes_the_method_as_it_says() {
        let kept = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nX-Y: 1\r\nContent-Length: 2\r\n\
                    Cookie: for=/b\r\n\r\nhi";
        let get = "GET /b HTTP/1.1\r\nHost: h\r\nX-Y: 1\r\nCookie: for=/b\r\n\r\n";
        let with = |text: &str, method: &str| text.replacen("POST", method, 1);
        #[rustfmt::skip]
        let table = [
            ("POST", 301, Some(get.to_owned())),
            ("POST", 302, Some(get.to_owned())),
            ("POST", 303, Some(get.to_owned())),
            ("POST", 307, Some(kept.to_owned())),
            ("POST", 308, Some(kept.to_owned())),
            ("PUT",  301, Some(with(kept, "PUT"))),
            ("PUT",  302, Some(with(kept, "PUT"))),
            ("PUT",  303, Some(get.to_owned())),
            ("GET",  302, Some(with(kept, "GET"))),
            ("HEAD", 303, Some(with(kept, "HEAD"))),
            ("POST", 300, None),
            ("POST", 304, None),
            ("POST", 200, None),
        ];
        for (method, status, expected) in table {
            let found = next(&with(POST, method), 1, status, b"/b").unwrap();
            assert_eq!(found, expected, "{method} {status}");
        }
        assert_eq!(next(POST, 0, 302, b"/b").unwrap(), None, "nobody asked for it");
    }

    #[test]
    fn a_redirect_that_cannot_be_followed_is_told_with_its_place() {
        #[rustfmt::skip]
        let table: [(&[u8], &str); _] = [
            (b"http://other/x",  "HTTP status 307 redirects to \"http://other/x\", but only redirects to \
                                  http://Host.example:8080 are followed"),
            (b"/a b",            "HTTP status 307 redirects to \"/a b\", which is not a valid HTTP location"),
            (b"/\xff",           "HTTP status 307 redirects to \"/\\xff\", which is not a valid HTTP location"),
        ];
        for (place, expected) in table {
            let error = next(POST, 1, 307, place).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let mut hops = Hops::default();
        hops.begin(10, POST.as_bytes());
        let head = b"HTTP/1.1 307 X\r\nLocation: /a\r\n\r\n";
        let response = Response {
            status: 307,
            head,
            body: b"",
            is_first: true,
            ends_chunk: false,
            is_last: true,
        };
        for _ in 0..10 {
            assert_eq!(hops.follow(&response, &origin(), None), Ok(true));
        }
        let error = hops.follow(&response, &origin(), None).unwrap_err().to_string();
        let words = "HTTP status 307 redirects to \"/a\" after 10 redirects, the limit that `redirects` sets";
        assert_eq!(error, words);
    }
}
