//! Values of a file, converted to what they represent.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "values are of the library, and all but one kind are refused"
)]

use crate::conversation::{Scalar, Status, StatusError};
use crate::table::Error;
use crate::{Sha256, Sha256Error};
use toml::Spanned;
use toml::de::DeValue;

/// A value of a file, and its place.
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// The values of a list; a single value is a list of one.
pub(super) fn several(value: Value<'_>) -> Vec<Value<'_>> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Array(all) => all.into_iter().collect(),
        one => vec![Spanned::new(span, one)],
    }
}

pub(super) fn text_of(key: &str, value: Value<'_>) -> Result<String, Error> {
    let at = value.span().start;
    match value.into_inner() {
        DeValue::String(text) => Ok(text.into_owned()),
        other => {
            let key = if key.is_empty() { "a value".to_owned() } else { format!("`{key}`") };
            Err(Error::new(
                at,
                format!("expected {key} to be a string, found {}", other.type_str()),
            ))
        }
    }
}

pub(super) fn some_constant(key: &str, value: Value<'_>) -> Result<String, Error> {
    let at = value.span().start;
    let text = constant(key, value)?;
    match text.is_empty() {
        true => {
            Err(Error::new(at, format!("`{key}` is empty, and matches everything; leave it out")))
        }
        false => Ok(text),
    }
}

/// A text that is the same on all connections: nothing would fill a hole in it.
pub(super) fn constant(key: &str, value: Value<'_>) -> Result<String, Error> {
    let at = value.span().start;
    let text = text_of(key, value)?;
    let holes = text.replace("$${", "");
    let Some((_, hole)) = holes.split_once("${") else { return Ok(text.replace("$${", "${")) };
    let hole = hole.split_once('}').map_or(hole, |(name, _)| name);
    let has = if key.starts_with('$') { format!("; say has = \"{key}\"") } else { String::new() };
    Err(Error::new(
        at,
        format!(
            "`{key}` has the hole `${{{hole}}}`, and nothing fills it: this text is the same on all connections{has}, or \
             name what all of these messages have in common (`$${{` stands for `${{`)"
        ),
    ))
}

/// Constant texts, none of which is empty.
pub(super) fn texts(key: &str, value: Value<'_>) -> Result<Vec<String>, Error> {
    several(value).into_iter().map(|value| some_constant(key, value)).collect()
}

/// The value that `known` has for a word. A number is looked up by its digits.
pub(super) fn one_of<T: Clone>(
    key: &str,
    value: Value<'_>,
    known: &[(&str, T)],
) -> Result<T, Error> {
    let at = value.span().start;
    let word = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().to_owned(),
        _ => text_of(key, value)?,
    };
    if let Some((_, meant)) = known.iter().find(|(name, _)| *name == word) {
        return Ok(meant.clone());
    }
    let names = || known.iter().map(|(name, _)| *name);
    let expected = crate::suggestions::expected(&word, names());
    Err(Error::new(at, format!("`{key}` cannot be {word:?}{expected}")))
}

/// A whole number; its bounds are checked later.
pub(super) fn whole(key: &str, value: &Value<'_>) -> Result<u32, Error> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => {
            u32::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
        }
        _ => None,
    };
    number.ok_or_else(|| {
        Error::new(value.span().start, format!("`{key}` is a whole number from 1 to {}", u32::MAX))
    })
}

pub(super) fn status(value: Value<'_>) -> Result<Status, Error> {
    let at = value.span().start;
    let text = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().to_owned(),
        _ => text_of("status", value)?,
    };
    text.parse().map_err(|error: StatusError| Error::new(at, error.to_string()))
}

/// The digest that the whole message has.
pub(super) fn digest(value: Value<'_>) -> Result<Sha256, Error> {
    let at = value.span().start;
    let text = text_of("sha256", value)?;
    text.parse().map_err(|error: Sha256Error| Error::new(at, error.to_string()))
}

/// The value that the place `key` must have.
pub(super) fn scalar(key: &str, value: Value<'_>) -> Result<Scalar, Error> {
    let at = value.span().start;
    let error = |found: &str| {
        Error::new(at, format!("expected a string, a whole number, true or false, found {found}"))
    };
    match value.get_ref() {
        DeValue::String(_) => constant(key, value).map(Scalar::Text),
        DeValue::Boolean(value) => Ok(Scalar::Bool(*value)),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            let parsed = i64::from_str_radix(&digits, number.radix());
            parsed.map(Scalar::Integer).map_err(|_| error("a number beyond 64 bits"))
        }
        other => Err(error(other.type_str())),
    }
}

/// The byte where the text of a string begins, after the opening quotes at `at`.
pub(super) fn inner_start(source: &str, at: usize) -> usize {
    let rest = source.get(at..).unwrap_or_default();
    let many = ["'''\r\n", "\"\"\"\r\n", "'''\n", "\"\"\"\n", "'''", "\"\"\"", "'", "\""];
    at + many.into_iter().find(|quotes| rest.starts_with(quotes)).map_or(0, str::len)
}
