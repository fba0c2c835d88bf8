//! HTTP requests in a file, and their header fields.

use super::Reader;
use super::values::{Value, inner_start, text_of, whole};
use crate::conversation::template::is_token_letter;
use crate::conversation::{Field, HttpRequest, Medium, Part, REDIRECTS_MAX, Template};
use crate::table::{Error, Table};
use toml::Spanned;

impl Reader<'_> {
    /// The keys `http`, `headers`, `body` and `redirects`, if there is any.
    pub(super) fn http(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
    ) -> Result<Option<HttpRequest>, Error> {
        let line = self.take(table, part, "http");
        let headers: Vec<Field> =
            self.headers(table, part)?.into_iter().map(|(_, field)| field).collect();
        let is_form = headers.iter().any(|field| {
            field.name.eq_ignore_ascii_case("content-type")
                && field.value.to_string().contains("x-www-form-urlencoded")
        });
        let medium = if is_form { Medium::Url } else { Medium::Message };
        let body = self.template(table, part, "body", medium)?;
        let redirects = self.redirects(table, part)?;
        let Some(line) = line else {
            let key = match (&body, redirects) {
                (Some(_), _) => "body",
                (None, Some(_)) => "redirects",
                (None, None) => "headers",
            };
            return match body.is_some() || redirects.is_some() || !headers.is_empty() {
                true => Err(Error::new(
                    self.places[&(part, key)],
                    format!("`{key}` belongs to an HTTP request; say `http = \"POST /path\"` too"),
                )),
                false => Ok(None),
            };
        };
        let at = line.span().start;
        let inner = inner_start(&self.source.text, at);
        let written = text_of("http", line)?;
        let is_method = |method: &&str| {
            !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
        };
        let alone = (&*written, "");
        let (method, path) = written
            .split_once(' ')
            .filter(|(_, path)| path.starts_with('/'))
            .or_else(|| matches!(part, Part::Request(_)).then_some(alone))
            .filter(|(method, _)| is_method(method))
            .ok_or_else(|| {
                Error::new(
                    at,
                    "`http` is a method and a path with a space between, as in \"POST /login\"",
                )
            })?;
        let path = Template::parse(path, Medium::Url).map_err(|error| {
            Error::new(inner + method.len() + 1 + error.at, format!("`http` {error}"))
        })?;
        let redirects = redirects.unwrap_or(0);
        Ok(Some(HttpRequest { method: method.to_owned(), path, headers, body, redirects }))
    }

    fn redirects(&mut self, table: &mut Table<'_>, part: Part) -> Result<Option<u8>, Error> {
        let Some(value) = self.take(table, part, "redirects") else { return Ok(None) };
        let count = whole("redirects", &value).ok().and_then(|count| u8::try_from(count).ok());
        let count = count.filter(|count| *count <= REDIRECTS_MAX).ok_or_else(|| {
            let message = format!("`redirects` is a whole number from 0 to {REDIRECTS_MAX}");
            Error::new(value.span().start, message)
        })?;
        Ok(Some(count))
    }

    /// Header fields with their places.
    pub(super) fn headers(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
    ) -> Result<Vec<(usize, Field)>, Error> {
        let Some(headers) = table.take_table("headers")? else { return Ok(Vec::new()) };
        self.places.insert((part, "headers"), headers.at());
        let field = |(name, value): (Spanned<String>, Value<'_>)| {
            let at = name.span().start;
            let name = name.into_inner();
            if name.is_empty() || !name.chars().all(is_token_letter) {
                return Err(Error::new(at, format!("`{name}` is not the name of a header field")));
            }
            let place = value.span().start;
            let value = self.template_of(&name, value, Medium::Header)?;
            match value.to_string().contains(|letter: char| letter.is_control() && letter != '\t') {
                true => {
                    Err(Error::new(place, format!("a header field has no line ends; `{name}` has")))
                }
                false => Ok((at, Field { name, value })),
            }
        };
        headers.entries().into_iter().map(field).collect()
    }
}
