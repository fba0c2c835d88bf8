//! The field `Sec-WebSocket-Extensions`: a list of extensions with parameters (RFC 6455 §9.1).

use crate::http1::grammar::is_token_byte;
use std::borrow::Cow;

/// One extension of the list. A name that occurs again is a further offer of the same extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extension<'b> {
    pub(super) name: &'b [u8],
    parameters: Vec<Parameter<'b>>,
    /// The complete text as written.
    pub(super) text: &'b [u8],
}

/// A name and a value, which may have been in quotes.
type Parameter<'b> = (&'b [u8], Option<Cow<'b, [u8]>>);

impl Extension<'_> {
    /// The parameters: names and values, unquoted.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_deref()))
    }
}

/// Reads the value of one field, and skips empty members; `None` if it breaks the grammar.
pub(super) fn read(value: &[u8]) -> Option<Vec<Extension<'_>>> {
    let mut scanner = Scanner { rest: value };
    let mut extensions = Vec::new();
    loop {
        scanner.skip_space();
        if !scanner.rest.is_empty() && scanner.rest[0] != b',' {
            extensions.push(scanner.extension()?);
        }
        if scanner.rest.is_empty() {
            return Some(extensions);
        }
        if !scanner.take(b',') {
            return None;
        }
    }
}

/// The part of a field's value that has not been read yet.
struct Scanner<'b> {
    rest: &'b [u8],
}

impl<'b> Scanner<'b> {
    fn extension(&mut self) -> Option<Extension<'b>> {
        let start = self.rest;
        let name = self.token()?;
        let mut parameters = Vec::new();
        loop {
            let text = &start[..start.len() - self.rest.len()];
            self.skip_space();
            if !self.take(b';') {
                return Some(Extension { name, parameters, text });
            }
            self.skip_space();
            let name = self.token()?;
            self.skip_space();
            let value = if self.take(b'=') {
                self.skip_space();
                Some(self.value()?)
            } else {
                None
            };
            parameters.push((name, value));
        }
    }

    /// Takes a token, which may be in quotes; a quoted text has to be a token too once unquoted.
    fn value(&mut self) -> Option<Cow<'b, [u8]>> {
        if !self.take(b'"') {
            return self.token().map(Cow::Borrowed);
        }
        let mut text = Vec::new();
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let byte = match byte {
                b'"' if text.is_empty() => return None,
                b'"' => return Some(Cow::Owned(text)),
                b'\\' => {
                    let (escaped, rest) = rest.split_first()?;
                    self.rest = rest;
                    *escaped
                }
                byte => *byte,
            };
            if !is_token_byte(byte) {
                return None;
            }
            text.push(byte);
        }
    }

    fn token(&mut self) -> Option<&'b [u8]> {
        let len = self.rest.iter().take_while(|byte| is_token_byte(**byte)).count();
        let (token, rest) = self.rest.split_at(len);
        self.rest = rest;
        (len > 0).then_some(token)
    }

    /// Takes `byte`, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let rest = self.rest.strip_prefix(&[byte]);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_extensions_are_read_as_in_the_rfc() {
        #[rustfmt::skip]
        let table = [
            ("",                                  Some("")),
            (" , ,",                              Some("")),
            ("foo",                               Some("foo")),
            ("deflate-stream",                    Some("deflate-stream")),
            ("mux; max-channels=4; flow-control, deflate-stream", Some("mux max-channels=4 flow-control|deflate-stream")),
            ("private-extension",                 Some("private-extension")),
            ("a;b;c=1,a;b=\"2\"",                 Some("a b c=1|a b=2")),
            (" a\t; b = \"\\1\\2\" , b ",         Some("a b=12|b")),
            ("a;",                                None),
            ("a;;b",                              None),
            ("a b",                               None),
            ("a=1",                               None), // a value belongs to a parameter
            ("a;b=",                              None),
            ("a;b=\"\"",                          None),
            ("a;b=\"1",                           None),
            ("a;b=\"1\\",                         None),
            ("a;b=\"1,2\"",                       None), // a quoted comma is not a token
            ("a;b=\"1 \"",                        None),
            ("a;b=\"1\"2",                        None),
            ("\"a\"",                             None),
            ("a;=1",                              None),
        ];
        for (value, expected) in table {
            let found = read(value.as_bytes())
                .map(|list| list.iter().map(describe).collect::<Vec<_>>().join("|"));
            assert_eq!(found.as_deref(), expected, "{value:?}");
        }
        let list = read(b" a ; b=\"1\" ,c").expect("it is well-formed");
        assert_eq!(list[0].text, b"a ; b=\"1\"");
    }

    fn describe(extension: &Extension<'_>) -> String {
        let mut parts = vec![String::from_utf8_lossy(extension.name).into_owned()];
        for (name, value) in extension.pairs() {
            let name = String::from_utf8_lossy(name);
            parts.push(match value {
                Some(value) => format!("{name}={}", String::from_utf8_lossy(value)),
                None => name.into_owned(),
            });
        }
        parts.join(" ")
    }
}
