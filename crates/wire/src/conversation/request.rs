//! HTTP requests, made ready to be written: by the machine of a conversation over HTTP, and before a connection.

use super::CompileError;
use super::cookies::Cookies;
use super::template::{self, Filling};
use crate::contract::Response;
use crate::decimal::append_decimal;
use crate::http1::InvalidRequest;
use crate::http1::redirect::{Hops, Origin, RedirectError};
use crate::http1::request::{check_fields, check_host, check_target};
use spec::conversation::{Field, HttpRequest, Template, WRITTEN_FIELDS};
use units::Random;

/// A request with holes.
#[derive(Debug)]
pub(super) struct Request {
    method: Box<str>,
    /// `None`: that of the site.
    path: Option<template::Compiled>,
    fields: Vec<Named>,
    /// True if it has a `Cookie` field of its own: cookies that the server sets are then not sent.
    has_cookie: bool,
    body: Option<template::Compiled>,
    /// The most redirects that are followed.
    pub(super) redirects: u8,
}

#[derive(Debug)]
struct Named {
    name: Box<str>,
    value: template::Compiled,
}

/// The server that requests go to, and the header fields that all of them have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(super) origin: Origin,
    /// `Host` and further fields, as they are written.
    fields: Box<[u8]>,
    /// The names of the further fields, which no request gives a second time.
    names: Vec<String>,
    /// True if `Cookie` is among them: the user's cookies are sent instead of those that the server sets.
    has_cookie: bool,
    /// The path and query of requests that name none.
    path: String,
}

impl Site {
    /// The site at `origin`, for requests that have `headers`, whatever a conversation says.
    ///
    /// # Errors
    ///
    /// The host or a field cannot be written.
    pub(crate) fn new(
        origin: Origin,
        headers: &[(String, String)],
    ) -> Result<Self, InvalidRequest> {
        let host = origin.authority();
        check_host(host)?;
        check_fields(headers, &WRITTEN_FIELDS)?;
        let mut fields = format!("Host: {host}\r\n");
        for (name, value) in headers {
            fields.extend([name, ": ", value, "\r\n"]);
        }
        let names: Vec<String> = headers.iter().map(|(name, _)| name.clone()).collect();
        let has_cookie = names.iter().any(|name| name.eq_ignore_ascii_case("cookie"));
        let (fields, path) = (fields.into_bytes().into(), "/".to_owned());
        Ok(Self { origin, fields, names, has_cookie, path })
    }

    /// The same site, for requests that go to this path if they name none.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn at(self, path: &str) -> Result<Self, InvalidRequest> {
        check_target(path)?;
        Ok(Self { path: path.to_owned(), ..self })
    }
}

impl Request {
    /// Makes `request` ready. It also has the fields `common`, except those that it has itself, and a `Content-Type` if
    /// the body is JSON and no field says its type; `names` are those of the values.
    ///
    /// # Errors
    ///
    /// It names a value that nothing gives.
    pub(super) fn new(
        request: &HttpRequest,
        common: &[Field],
        names: &[String],
    ) -> Result<Self, CompileError> {
        let is_own =
            |name: &str| request.headers.iter().any(|field| field.name.eq_ignore_ascii_case(name));
        let common = common.iter().filter(|field| !is_own(&field.name));
        let fields = common.chain(&request.headers).map(|field| {
            let value = template::compile(&field.value, names)?;
            Ok(Named { name: field.name.as_str().into(), value })
        });
        let fields: Vec<Named> = fields.collect::<Result<_, CompileError>>()?;
        let has_path = !request.path.0.is_empty();
        let path = has_path.then(|| template::compile(&request.path, names)).transpose()?;
        let made = Self {
            method: request.method.as_str().into(),
            path,
            has_cookie: fields.iter().any(|field| field.name.eq_ignore_ascii_case("cookie")),
            fields,
            body: request.body.as_ref().map(|body| template::compile(body, names)).transpose()?,
            redirects: request.redirects,
        };
        Ok(match request.body.as_ref().is_some_and(Template::is_json) {
            true => made.with_field("Content-Type", template::Compiled::text("application/json")),
            false => made,
        })
    }

    /// The same request with this field, unless it has one of that name.
    #[must_use]
    pub(super) fn with_field(mut self, name: &str, value: template::Compiled) -> Self {
        if !self.fields.iter().any(|field| field.name.eq_ignore_ascii_case(name)) {
            self.fields.push(Named { name: name.into(), value });
        }
        self
    }

    /// Makes the next request if `response` is a redirect that is followed.
    ///
    /// # Errors
    ///
    /// As [`Hops::follow`].
    pub(super) fn follow(
        &self,
        response: &Response<'_>,
        site: &Site,
        cookies: &Cookies,
        hops: &mut Hops,
    ) -> Result<bool, RedirectError> {
        let of = |target: &str| cookies.for_path(target);
        let are_sent = !self.has_cookie && !site.has_cookie;
        hops.follow(response, &site.origin, if are_sent { Some(&of) } else { None })
    }

    /// Appends the request to `out`, with the exact length of its body, and returns that length. A `GET` or `HEAD`
    /// without a body has no `Content-Length`.
    pub(super) fn write(
        &self,
        site: &Site,
        cookies: &Cookies,
        filling: Filling<'_>,
        random: &mut Random,
        out: &mut Vec<u8>,
    ) -> usize {
        // The head has the length of the body, so the body is written first, and the head is then moved to the front.
        let start = out.len();
        if let Some(body) = &self.body {
            body.write(filling, random, out);
        }
        let body_len = out.len() - start;
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        let target = out.len();
        match &self.path {
            Some(path) => path.write(filling, random, out),
            None => out.extend_from_slice(site.path.as_bytes()),
        }
        let target = target..out.len();
        out.extend_from_slice(b" HTTP/1.1\r\n");
        out.extend_from_slice(&site.fields);
        for Named { name, value } in &self.fields {
            if site.names.iter().any(|given| given.eq_ignore_ascii_case(name)) {
                continue;
            }
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.write(filling, random, out);
            out.extend_from_slice(b"\r\n");
        }
        if !self.has_cookie && !site.has_cookie {
            cookies.write(target, out);
        }
        if self.body.is_some() || !matches!(&*self.method, "GET" | "HEAD") {
            out.extend_from_slice(b"Content-Length: ");
            append_decimal(body_len as u64, out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out[start..].rotate_left(body_len);
        body_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::sample::{http, response};
    use crate::conversation::template::Member;
    use spec::conversation::{Medium, Template};
    use units::Nanos;

    fn origin(host: &str) -> Origin {
        Origin::new(false, host)
    }

    fn field(name: &str, value: &str) -> Field {
        let value = Template::parse(value, Medium::Header).unwrap();
        Field { name: name.to_owned(), value }
    }

    /// Message 10000007 of connection 5, where `v` is `value`, as it is written after other bytes.
    fn written(request: &HttpRequest, common: &[Field], cookies: &Cookies, value: &str) -> String {
        let request = Request::new(request, common, &["v".to_owned()]).unwrap();
        let site = Site::new(origin("h:9"), &[("User-Agent".to_owned(), "us".to_owned())]).unwrap();
        let values = [value.as_bytes().into()];
        let now = Nanos(1_500_000_000);
        let filling =
            Filling { id: 10_000_007, now, member: Member::new(5, None), values: &values };
        let mut out = b"before".to_vec();
        request.write(&site, cookies, filling, &mut Random::new(1), &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()
    }

    #[test]
    fn a_request_has_its_fields_its_values_where_they_belong_and_the_length_of_its_body() {
        let none = Cookies::default();
        let get = http("GET /a?q=${v}&id=${id}", None);
        assert_eq!(
            written(&get, &[], &none, "a b&c"),
            "GET /a?q=a%20b%26c&id=10000007 HTTP/1.1\r\nHost: h:9\r\nUser-Agent: us\r\n\r\n"
        );
        let mut post = http("POST /", Some(r#"{"user":"${v}","n":${client}}"#));
        post.headers = vec![field("X", "own"), field("user-agent", "other")];
        let common = [field("x", "common"), field("Y", "y${v}")];
        assert_eq!(
            written(&post, &common, &none, "\"é\r\n"),
            "POST / HTTP/1.1\r\nHost: h:9\r\nUser-Agent: us\r\nY: y\"é\r\nX: own\r\n\
             Content-Type: application/json\r\nContent-Length: 25\r\n\r\n{\"user\":\"\\\"é\\r\\n\",\"n\":5}"
        );
        let delete = written(&http("DELETE /", None), &[], &none, "");
        assert!(delete.ends_with("\r\nContent-Length: 0\r\n\r\n"), "{delete}");
    }

    #[test]
    fn the_type_of_a_body_is_that_of_the_file_or_of_json_that_is_seen() {
        let written = |body: &str, common: &[Field]| {
            let text = written(&http("POST /", Some(body)), common, &Cookies::default(), "x");
            let kinds = text.lines().filter_map(|line| line.strip_prefix("Content-Type: "));
            kinds.map(str::to_owned).collect::<Vec<_>>()
        };
        for body in ["{}", " [1]", "{\"a\":\"${v}\"}"] {
            assert_eq!(written(body, &[]), ["application/json"], "{body}");
            assert_eq!(written(body, &[field("Content-Type", "a/b")]), ["a/b"], "{body}");
        }
        for body in ["", "a=1", "${v}", "<a/>"] {
            assert_eq!(written(body, &[]), [""; 0], "{body}");
        }
    }

    #[test]
    fn cookies_are_sent_unless_the_request_has_its_own() {
        let mut cookies = Cookies::default();
        cookies.learn(&response(200, "Set-Cookie: a=1; Path=/x\r\n", b"").as_response());
        let sent = |path: &str| written(&http(&format!("GET {path}"), None), &[], &cookies, "");
        assert!(sent("/x/y").ends_with("\r\nCookie: a=1\r\n\r\n"));
        assert!(!sent("/y").contains("Cookie"));
        let own = [field("cookie", "b=2")];
        let own = written(&http("GET /x", None), &own, &cookies, "");
        assert!(own.ends_with("\r\ncookie: b=2\r\n\r\n"), "{own}");
    }

    #[test]
    fn cookies_that_the_user_gives_are_sent_in_place_of_those_of_the_server() {
        let mut cookies = Cookies::default();
        cookies.learn(&response(200, "Set-Cookie: a=1\r\n", b"").as_response());
        let site = Site::new(origin("h"), &[("cookie".to_owned(), "mine=2".to_owned())]).unwrap();
        let request = Request::new(&http("GET /", None), &[], &[]).unwrap();
        let filling = Filling { id: 0, now: Nanos(0), member: Member::new(0, None), values: &[] };
        let mut out = Vec::new();
        request.write(&site, &cookies, filling, &mut Random::new(1), &mut out);
        let written = String::from_utf8(out).unwrap();
        assert_eq!(written, "GET / HTTP/1.1\r\nHost: h\r\ncookie: mine=2\r\n\r\n");
    }

    #[test]
    fn a_field_is_added_where_it_is_not_given() {
        let accept = |request: HttpRequest| {
            let request = Request::new(&request, &[], &[]).unwrap();
            let value = template::Compiled::text("a/b");
            let mut out = Vec::new();
            let filling =
                Filling { id: 0, now: Nanos(0), member: Member::new(0, None), values: &[] };
            let site = Site::new(origin("h"), &[]).unwrap();
            let request = request.with_field("Accept", value);
            request.write(&site, &Cookies::default(), filling, &mut Random::new(1), &mut out);
            String::from_utf8(out).unwrap()
        };
        let get = http("GET /", None);
        assert_eq!(accept(get.clone()), "GET / HTTP/1.1\r\nHost: h\r\nAccept: a/b\r\n\r\n");
        let own = HttpRequest { headers: vec![field("accept", "c/d")], ..get };
        assert_eq!(accept(own), "GET / HTTP/1.1\r\nHost: h\r\naccept: c/d\r\n\r\n");
    }

    #[test]
    fn a_site_is_one_that_can_be_written() {
        assert!(Site::new(origin("a,b"), &[]).is_err());
        assert!(Site::new(origin("h"), &[("Host".to_owned(), "x".to_owned())]).is_err());
        assert!(Site::new(origin("h"), &[("X".to_owned(), "a\r\nb".to_owned())]).is_err());
    }
}
