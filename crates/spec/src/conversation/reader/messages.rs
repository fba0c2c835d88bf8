//! Messages in a file: templates for those that are sent, matchers for those that are awaited, and the values that are
//! taken from them.

use super::Reader;
use super::values::{
    Value, constant, digest, inner_start, scalar, several, some_constant, status, text_of, texts,
};
use crate::conversation::{
    BytesError, Condition, Extent, HexBytes, Matcher, Medium, Offset, Part, Path, Place, Scalar,
    Take, TakeFrom, Template, TemplateError,
};
use crate::table::{Error, Table};
use toml::Spanned;
use toml::de::DeValue;

impl Reader<'_> {
    /// The key `take`: values by name, each with its place in a message.
    pub(super) fn takes(&mut self, table: &mut Table<'_>, part: Part) -> Result<Vec<Take>, Error> {
        let Some(takes) = table.take_table("take")? else { return Ok(Vec::new()) };
        self.places.insert((part, "take"), takes.at());
        let take = |(name, value): (Spanned<String>, Value<'_>)| {
            let var = name.into_inner();
            let from = match value.get_ref() {
                DeValue::Table(_) => {
                    let mut table = Table::of_value("take", value)?;
                    let header = table.need("header")?;
                    table.finish(&["header"])?;
                    TakeFrom::Header(header)
                }
                _ => TakeFrom::Message(self.place("take", &var, value)?),
            };
            Ok(Take { var, from })
        };
        takes.entries().into_iter().map(take).collect()
    }

    pub(super) fn needed_matcher(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
        key: &'static str,
    ) -> Result<Matcher, Error> {
        let at = table.at();
        let missing = || {
            Error::new(
                at,
                format!("`{key}` is missing: a matcher, as in {{ \"$.type\" = \"ping\" }}"),
            )
        };
        self.matcher(table, part, key)?.ok_or_else(missing)
    }

    pub(super) fn matcher(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
        key: &'static str,
    ) -> Result<Option<Matcher>, Error> {
        self.take(table, part, key).map(|value| self.matcher_of(key, value)).transpose()
    }

    /// The matcher in the value of `key`.
    pub(super) fn matcher_of(&self, key: &str, value: Value<'_>) -> Result<Matcher, Error> {
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            let message =
                format!("`{key}` is a matcher, as in {{ id = \"$.id\", has = \"$.result\" }}");
            return Err(Error::new(value.span().start, message));
        }
        let mut matcher = Matcher::default();
        for (name, value) in Table::of_value(key, value)?.entries() {
            let at = name.span().start;
            let conditions = &mut matcher.conditions;
            match name.get_ref().as_str() {
                "id" => matcher.id = Some(self.place("id", "id", value)?),
                "has" => {
                    conditions.extend(self.paths("has", value)?.into_iter().map(Condition::Has))
                }
                "lacks" => {
                    conditions.extend(self.paths("lacks", value)?.into_iter().map(Condition::Lacks))
                }
                "is" => conditions.push(Condition::Is(constant("is", value)?)),
                "sha256" => conditions.push(Condition::Sha256(digest(value)?)),
                "starts" => conditions.push(Condition::Starts(some_constant("starts", value)?)),
                "contains" => {
                    conditions
                        .extend(texts("contains", value)?.into_iter().map(Condition::Contains));
                }
                "status" => conditions.push(Condition::Status(status(value)?)),
                written if written.starts_with('$') => {
                    let path = written
                        .parse()
                        .map_err(|error| Error::new(at, format!("`{written}`: {error}")))?;
                    conditions.push(Condition::Equals { path, value: scalar(written, value)? });
                }
                written if written.starts_with('@') => {
                    let place = written.parse().map_err(|error| bytes_error("", at, &error))?;
                    conditions.push(bytes_at(place, written, value)?);
                }
                unknown => {
                    let known =
                        ["id", "has", "lacks", "is", "starts", "contains", "sha256", "status"];
                    let expected = crate::suggestions::expected(unknown, known.into_iter());
                    let message = format!("unknown condition `{unknown}`{expected}");
                    let place = "; or a place, as in \"$.type\" = \"next\" or \"@0:u8\" = 1";
                    return Err(Error::new(at, message + place));
                }
            }
        }
        Ok(matcher)
    }

    fn paths(&self, key: &str, value: Value<'_>) -> Result<Vec<Path>, Error> {
        let one = |value: Value<'_>| {
            let at = value.span().start;
            let text = text_of(key, value)?;
            text.parse().map_err(|error| Error::new(at, format!("`{key}` `{text}`: {error}")))
        };
        several(value).into_iter().map(one).collect()
    }

    /// A place in a message: a path, a place in bytes, or a text with a hole called `hole`.
    pub(super) fn place(&self, key: &str, hole: &str, value: Value<'_>) -> Result<Place, Error> {
        let at = value.span().start;
        let text = text_of(key, value)?;
        if text.starts_with('$') && !text.starts_with("${") {
            let path = text.parse();
            return path
                .map(Place::Json)
                .map_err(|error| Error::new(at, format!("`{key}` `{text}`: {error}")));
        }
        let marker = format!("${{{hole}}}");
        if text.starts_with('@') && !text.contains(&marker) {
            return text.parse().map(Place::Bytes).map_err(|error| bytes_error(key, at, &error));
        }
        match text.split_once(&marker) {
            Some((before, after)) if !after.contains(&marker) => {
                Ok(Place::Text { before: before.to_owned(), after: after.to_owned() })
            }
            _ => Err(Error::new(
                at,
                format!(
                    "`{key}` is a place in JSON, as in \"$.id\", in bytes, as in \"@4:u32le\", or a text with one `{marker}`; \
                     `{text}` is none of them"
                ),
            )),
        }
    }

    pub(super) fn needed_template(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
    ) -> Result<Template, Error> {
        let at = table.at();
        let send = self.template(table, part, "send", Medium::Message)?;
        send.ok_or_else(|| Error::new(at, "`send` is missing: the message"))
    }

    pub(super) fn template(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
        key: &'static str,
        medium: Medium,
    ) -> Result<Option<Template>, Error> {
        self.take(table, part, key).map(|value| self.template_of(key, value, medium)).transpose()
    }

    /// The template in the value of `key`; an empty key is left out of errors. A message may be bytes.
    pub(super) fn template_of(
        &self,
        key: &str,
        value: Value<'_>,
        medium: Medium,
    ) -> Result<Template, Error> {
        let mut value = value;
        let is_bytes = key == "send" && matches!(value.get_ref(), DeValue::Table(_));
        if is_bytes {
            let mut table = Table::of_value(key, value)?;
            let at = table.at();
            let bytes = table.take_value("bytes");
            table.finish(&["bytes"])?;
            value = bytes.ok_or_else(|| {
                Error::new(at, "`send` is a text, or { bytes = \"01 ${id:u32le}\" }")
            })?;
        }
        let at = inner_start(&self.source.text, value.span().start);
        let text = text_of(key, value)?;
        let parsed =
            if is_bytes { Template::parse_bytes(&text) } else { Template::parse(&text, medium) };
        let key = if key.is_empty() { String::new() } else { format!("`{key}` ") };
        parsed.map_err(|error: TemplateError| {
            // Where the file has the text verbatim, the error has the place of the hole itself.
            let exact = self.source.text.get(at..).is_some_and(|rest| rest.starts_with(&text));
            Error::new(if exact { at + error.at } else { at }, format!("{key}{error}"))
        })
    }
}

/// The condition that `value` is at a place in bytes: a number in its form, or hexadecimal digits.
fn bytes_at(place: Offset, written: &str, value: Value<'_>) -> Result<Condition, Error> {
    let start = value.span().start;
    let Offset { at, extent } = place;
    let bytes = match extent {
        Extent::Number(form) => match scalar(written, value)? {
            Scalar::Integer(number) if form.holds(number.into()) => {
                let mut bytes = Vec::new();
                form.write(number.into(), &mut bytes);
                bytes
            }
            Scalar::Integer(_) | Scalar::Bool(_) | Scalar::Text(_) => {
                let (min, max) = (form.min(), form.max());
                return Err(Error::new(
                    start,
                    format!("`{written}` is a whole number from {min} to {max}"),
                ));
            }
        },
        Extent::Bytes(_) | Extent::Rest => {
            let digits = some_constant(written, value)?;
            let HexBytes(bytes) =
                digits.parse().map_err(|error| bytes_error(written, start, &error))?;
            if let Extent::Bytes(len) = extent
                && bytes.len() != len as usize
            {
                let given = bytes.len();
                return Err(Error::new(
                    start,
                    format!(
                        "`{written}` is {len} B long, but the value is {given} B; `@{at}` takes any number of bytes"
                    ),
                ));
            }
            bytes
        }
    };
    Ok(Condition::Bytes { at, bytes: HexBytes(bytes) })
}

/// The error in a place in bytes, or in bytes, at byte `at` of the file; an empty key is left out.
fn bytes_error(key: &str, at: usize, error: &BytesError) -> Error {
    let key = if key.is_empty() { String::new() } else { format!("`{key}` ") };
    Error::new(at, format!("{key}{error}"))
}
