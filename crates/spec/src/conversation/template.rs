//! Texts with holes: `{"id":${id},"text":"${pad:32}"}`.
//!
//! `$${` is an escaped `${`. A `$` that is not followed by `{` is literal, so that those of GraphQL and RESP need no
//! escaping.

use super::{BytesError, HexBytes, Number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text with holes, which are filled in for each message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Template(pub Vec<Piece>);

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// These characters.
    Text(String),
    /// These bytes.
    Bytes(HexBytes),
    /// A value as a whole number in bytes.
    Number {
        /// The hole that has the value.
        of: Box<Self>,
        /// The form of the number.
        form: Number,
    },
    /// The id of the request: a number of eight digits that a connection uses once.
    Id,
    /// The instant at which the message was due, in nanoseconds from the start of the run.
    Now,
    /// The same in milliseconds.
    NowMs,
    /// The number of the connection, from 0.
    Client,
    /// The number of the connection modulo this: connections in so many groups.
    ClientModulo(u32),
    /// The number of the room that the connection is in; where there are no rooms the number of the connection.
    Room,
    /// The number of the connection, that of the message on it, and the instant at which that was due, in 32
    /// hexadecimal digits ([`Header`](crate::stamp::Header)).
    Header,
    /// Characters that are the same in each message, this many.
    Pad(u32),
    /// Characters of `0-9a-z`, drawn for each message, this many.
    Random(u32),
    /// The payload of the run, the same in each message.
    Payload {
        /// The escaping that its place needs.
        escape: Escape,
    },
    /// A value of the connection: of `vars`, or taken from a message.
    Var {
        /// Its name.
        name: String,
        /// The escaping that its place needs.
        escape: Escape,
    },
}

/// The escaping of a value that is put into a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escape {
    /// None.
    #[default]
    Raw,
    /// As in a JSON string.
    Json,
    /// As in a JSON string of a JSON text that is itself in a JSON string.
    JsonTwice,
    /// As in the path or query of a URL: everything but unreserved characters is percent-encoded (RFC 3986).
    Url,
    /// As in a header field: line ends and NUL are left out, so that no value becomes two fields.
    Header,
}

/// The kind of text that a template makes, which decides how values in it are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A message or body: values inside JSON strings are escaped for them, others are inserted unchanged.
    Message,
    /// A URL, or a form that is encoded like one.
    Url,
    /// The value of a header field.
    Header,
    /// A text that is not itself a message, such as a value that other templates refer to.
    Plain,
}

impl Template {
    /// The maximum length of one template in bytes, as [`Template::len_min`] counts them; and of one padding.
    pub const LEN_MAX: u32 = 16 << 20;

    /// The template in `text`.
    ///
    /// # Errors
    ///
    /// The first hole that cannot be read.
    pub fn parse(text: &str, medium: Medium) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut quotes = Quotes::of(text);
        let mut literal = String::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let len = rest.find("${").unwrap_or(rest.len());
            // `$${` is an escaped `${`.
            if len < rest.len() && rest[..len].ends_with('$') {
                literal += &rest[..len];
                literal += "{";
                at += len + "${".len();
                continue;
            }
            literal += &rest[..len];
            at += len;
            if at == text.len() {
                break;
            }
            let error = |message: String| TemplateError { at, message };
            let inner = &text[at + "${".len()..];
            let end = inner.find('}').ok_or_else(|| {
                error("`${` opens a hole that no `}` closes; write `$${` for the text".to_owned())
            })?;
            quotes.pass(&literal);
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(hole(&inner[..end], quotes.escape(medium)).map_err(error)?);
            at += "${".len() + end + "}".len();
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self(pieces))
    }

    /// The binary template in `text`: two hexadecimal digits for each byte, and holes.
    ///
    /// # Errors
    ///
    /// The first hole or byte that cannot be read.
    pub fn parse_bytes(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let len = text[at..].find("${").unwrap_or(text.len() - at);
            let literal = &text[at..at + len];
            let bytes: HexBytes = literal.parse().map_err(|error: BytesError| {
                let is_odd = |word: &&str| word.parse::<HexBytes>().is_err();
                let odd = literal.split_ascii_whitespace().find(is_odd);
                let inside = odd.and_then(|word| literal.find(word)).unwrap_or(0);
                TemplateError { at: at + inside, message: error.to_string() }
            })?;
            if !bytes.0.is_empty() {
                pieces.push(Piece::Bytes(bytes));
            }
            at += len;
            let Some(inner) = text[at..].strip_prefix("${") else { break };
            let error = |message: String| TemplateError { at, message };
            let end = inner.find('}');
            let end =
                end.ok_or_else(|| error("`${` opens a hole that no `}` closes".to_owned()))?;
            pieces.push(hole_in_bytes(&inner[..end]).map_err(error)?);
            at += "${".len() + end + "}".len();
        }
        if !pieces.iter().any(Piece::is_of_bytes) {
            // An empty piece of bytes marks the template as binary.
            pieces.insert(0, Piece::Bytes(HexBytes::default()));
        }
        Ok(Self(pieces))
    }

    /// True if it is a template of bytes.
    pub fn is_bytes(&self) -> bool {
        self.0.iter().any(Piece::is_of_bytes)
    }

    /// The names of the values that it refers to.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(Piece::var)
    }

    /// Its texts, without holes and bytes.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter_map(|it| if let Piece::Text(text) = it { Some(&text[..]) } else { None })
    }

    /// True if it has a hole for the id.
    pub fn has_id(&self) -> bool {
        self.0.iter().any(|piece| *piece.value() == Piece::Id)
    }

    /// True if it has a hole for the header.
    pub fn has_header(&self) -> bool {
        self.0.contains(&Piece::Header)
    }

    /// True if it has a hole for the payload.
    pub fn has_payload(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Payload { .. }))
    }

    /// True if it has a hole of any kind.
    pub fn has_holes(&self) -> bool {
        self.0.iter().any(|piece| !matches!(piece, Piece::Text(_) | Piece::Bytes(_)))
    }

    /// True if it begins a JSON object or array.
    pub fn is_json(&self) -> bool {
        matches!(self.0.first(), Some(Piece::Text(text)) if text.trim_start().starts_with(['{', '[']))
    }

    /// True if it has a hole for the instant at which the message is due.
    pub fn has_now(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece.value(), Piece::Now | Piece::NowMs))
    }

    /// The number of bytes of its texts and paddings, without the values of other holes.
    pub fn len_min(&self) -> u64 {
        let len = |piece: &Piece| match piece {
            Piece::Text(text) => text.len() as u64,
            Piece::Bytes(bytes) => bytes.0.len() as u64,
            Piece::Number { form, .. } => form.size() as u64,
            Piece::Pad(len) | Piece::Random(len) => u64::from(*len),
            Piece::Id
            | Piece::Now
            | Piece::NowMs
            | Piece::Client
            | Piece::ClientModulo(_)
            | Piece::Room
            | Piece::Payload { .. }
            | Piece::Var { .. } => 0,
            Piece::Header => HEADER_LEN,
        };
        self.0.iter().map(len).sum()
    }
}

impl Piece {
    /// The hole that a number in bytes takes its value from; of any other piece, the piece itself.
    pub fn value(&self) -> &Self {
        if let Self::Number { of, .. } = self { of } else { self }
    }

    /// The name of the value that it refers to.
    pub(super) fn var(&self) -> Option<&str> {
        if let Self::Var { name, .. } = self.value() { Some(name) } else { None }
    }

    const fn is_of_bytes(&self) -> bool {
        matches!(self, Self::Bytes(_) | Self::Number { .. })
    }
}

/// The text with its holes, as written in a file. Pieces of a binary template are separated by spaces.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = if self.is_bytes() { " " } else { "" };
        for (index, piece) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(blank)?;
            }
            piece.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&text.replace("${", "$${")),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Number { of, form } => {
                let hole = of.to_string();
                write!(f, "{}:{form}}}", hole.strip_suffix('}').unwrap_or(&hole))
            }
            Self::Id => f.write_str("${id}"),
            Self::Now => f.write_str("${now}"),
            Self::NowMs => f.write_str("${now_ms}"),
            Self::Client => f.write_str("${client}"),
            Self::ClientModulo(groups) => write!(f, "${{client % {groups}}}"),
            Self::Room => f.write_str("${room_number}"),
            Self::Header => f.write_str("${header}"),
            Self::Pad(len) => write!(f, "${{pad:{len}}}"),
            Self::Random(len) => write!(f, "${{random:{len}}}"),
            Self::Payload { .. } => f.write_str("${payload}"),
            Self::Var { name, .. } => write!(f, "${{{name}}}"),
        }
    }
}

/// A hole that cannot be read, and the byte of the text where it opens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// The byte.
    pub at: usize,
    message: String,
}

/// The names of holes that no value may have.
pub(super) const RESERVED: [&str; 9] =
    ["id", "now", "now_ms", "client", "room_number", "header", "pad", "random", "payload"];

/// The number of digits of a header.
const HEADER_LEN: u64 = crate::stamp::Header::len(true) as u64;

/// True for a name that a value may have: a letter or `_`, then letters, digits and `_`.
pub(super) fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// True for a character of an HTTP token (RFC 9110, 5.6.2), such as the name of a field, or a subprotocol.
pub(super) const fn is_token_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(
            letter,
            '!' | '#'
                | '$'
                | '%'
                | '&'
                | '\''
                | '*'
                | '+'
                | '-'
                | '.'
                | '^'
                | '_'
                | '`'
                | '|'
                | '~'
        )
}

/// The piece of a hole with `inner` between its braces.
fn hole(inner: &str, escape: Escape) -> Result<Piece, String> {
    let inner = inner.trim();
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    if let Some((name, groups)) = inner.split_once('%') {
        let groups = number(groups).filter(|_| name.trim() == "client");
        return groups.map(Piece::ClientModulo).ok_or_else(|| {
            format!(
                "`${{{inner}}}` is not a hole; only the connection has groups, as in `${{client % 4}}`"
            )
        });
    }
    if let Some((name, len)) = inner.split_once(':') {
        let len = number(len).filter(|len| *len <= Template::LEN_MAX);
        return match (name, len) {
            ("pad", Some(len)) => Ok(Piece::Pad(len)),
            ("random", Some(len)) => Ok(Piece::Random(len)),
            _ => Err(format!(
                "`${{{inner}}}` is not a hole; those with a length are `${{pad:16}}` and `${{random:8}}`, of 1 to {} \
                 characters",
                Template::LEN_MAX
            )),
        };
    }
    match inner {
        "id" => Ok(Piece::Id),
        "now" => Ok(Piece::Now),
        "now_ms" => Ok(Piece::NowMs),
        "client" => Ok(Piece::Client),
        "room_number" => Ok(Piece::Room),
        "header" => Ok(Piece::Header),
        "payload" => Ok(Piece::Payload { escape }),
        "pad" | "random" => Err(format!("`${{{inner}}}` needs a length, as in `${{{inner}:16}}`")),
        name if is_name(name) => Ok(Piece::Var { name: name.to_owned(), escape }),
        _ => Err(format!(
            "`${{{inner}}}` is not a hole; a name has letters, digits and `_`, and `$${{` stands for the text"
        )),
    }
}

/// The piece of a hole in bytes: a number if it has a form, as in `id:u32le`, else the text of a value.
fn hole_in_bytes(inner: &str) -> Result<Piece, String> {
    let form =
        inner.rsplit_once(':').filter(|(value, _)| !matches!(value.trim(), "pad" | "random"));
    let Some((value, form)) = form else { return hole(inner, Escape::Raw) };
    let form = form.trim().parse().map_err(|error| format!("`${{{inner}}}`: {error}"))?;
    let of = hole(value, Escape::Raw)?;
    if matches!(of, Piece::Pad(_) | Piece::Random(_) | Piece::Header | Piece::Payload { .. }) {
        let message = format!("`${{{inner}}}` is characters, and no number; leave `:{form}` out");
        return Err(message);
    }
    Ok(Piece::Number { of: Box::new(of), form })
}

/// The JSON strings that are open at the end of a text. A text that does not begin an array, object or string has none.
struct Quotes {
    is_json: bool,
    /// Inside a string.
    string: bool,
    /// Inside a string of a JSON text that is itself in a string: between `\"` and `\"`.
    inner: bool,
}

impl Quotes {
    /// The state at the start of `text`.
    fn of(text: &str) -> Self {
        Self { is_json: text.trim_start().starts_with('"'), string: false, inner: false }
    }

    /// Advances over `text`, which has no holes.
    fn pass(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '[' => self.is_json = true,
                '"' if self.is_json => {
                    self.string = !self.string;
                    self.inner = false;
                }
                '\\' if self.string => match letters.next() {
                    Some('"') => self.inner = !self.inner,
                    // A double escape belongs to the inner string, with the character that it escapes.
                    Some('\\') => {
                        if letters.as_str().starts_with('\\') {
                            letters.nth(1);
                        }
                    }
                    Some(_) | None => {}
                },
                _ => {}
            }
        }
    }

    const fn escape(&self, medium: Medium) -> Escape {
        match medium {
            Medium::Url => Escape::Url,
            Medium::Header => Escape::Header,
            Medium::Plain => Escape::Raw,
            Medium::Message => match (self.string, self.inner) {
                (false, _) => Escape::Raw,
                (true, false) => Escape::Json,
                (true, true) => Escape::JsonTwice,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str, escape: Escape) -> Piece {
        Piece::Var { name: name.to_owned(), escape }
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn templates_read_and_are_written_alike() {
        #[rustfmt::skip]
        let table = [
            ("",                     vec![]),
            ("ping",                 vec![text("ping")]),
            ("${id}",                vec![Piece::Id]),
            ("a${now}b${now_ms}",    vec![text("a"), Piece::Now, text("b"), Piece::NowMs]),
            ("${client}${client % 4}", vec![Piece::Client, Piece::ClientModulo(4)]),
            ("${pad:32}${random:8}", vec![Piece::Pad(32), Piece::Random(8)]),
            ("a${payload}",          vec![text("a"), Piece::Payload { escape: Escape::Raw }]),
            ("$4 {$x} $",            vec![text("$4 {$x} $")]),
            ("$${id}",               vec![text("${id}")]),
            ("a$${b}${id}",          vec![text("a${b}"), Piece::Id]),
            ("größe ${x_1}",         vec![text("größe "), var("x_1", Escape::Raw)]),
        ];
        for (written, pieces) in table {
            let read = Template::parse(written, Medium::Plain).unwrap();
            assert_eq!(read.0, pieces, "{written}");
            assert_eq!(read.to_string(), written);
        }
    }

    #[test]
    fn templates_of_bytes_read_and_are_written_alike() {
        let bytes = |bytes: &[u8]| Piece::Bytes(HexBytes(bytes.to_vec()));
        let number =
            |of, form: &str| Piece::Number { of: Box::new(of), form: form.parse().unwrap() };
        #[rustfmt::skip]
        let table = [
            ("01 0aff",                vec![bytes(b"\x01\n\xff")],                       "01 0a ff"),
            ("01${id:u32le}00",        vec![bytes(b"\x01"), number(Piece::Id, "u32le"), bytes(b"\0")], "01 ${id:u32le} 00"),
            ("${client % 4:u8}",       vec![number(Piece::ClientModulo(4), "u8")],       "${client % 4:u8}"),
            ("${ x : i16be }${pad:3}", vec![number(var("x", Escape::Raw), "i16be"), Piece::Pad(3)], "${x:i16be} ${pad:3}"),
            ("${id} ${random:8}",      vec![bytes(b""), Piece::Id, Piece::Random(8)],    " ${id} ${random:8}"),
            ("",                       vec![bytes(b"")],                                 ""),
        ];
        for (written, pieces, again) in table {
            let read = Template::parse_bytes(written).unwrap();
            assert_eq!(read.0, pieces, "{written}");
            assert!(read.is_bytes() && read.to_string() == again, "{written}: {read}");
            assert_eq!(Template::parse_bytes(again), Ok(read));
        }
        let read = Template::parse_bytes("07${id:u32le}${now:u64be}${x:u8}${y}").unwrap();
        assert!(read.has_id() && read.has_now() && read.has_holes() && !read.has_header());
        assert_eq!(read.vars().collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(read.len_min(), 14);
        #[rustfmt::skip]
        let mistakes = [
            ("01 0x 02",          3, "`0x` is not bytes: they have two hexadecimal digits each"),
            ("01 ${id:u32",       3, "`${` opens a hole that no `}` closes"),
            ("01 ${id:u32}",      3, "`u32` is not a number format; say the order of its bytes"),
            ("01 ${id:u33le}",    3, "did you mean `u32le`?"),
            ("01 ${header:u64le}", 3, "is characters, and no number; leave `:u64le` out"),
            ("01 ${pad:8:u64le}", 3, "is characters, and no number; leave `:u64le` out"),
            ("01 ${a b:u8}",      3, "`${a b}` is not a hole"),
            ("${id:u8} 0",        9, "`0` is not bytes"),
        ];
        for (written, at, message) in mistakes {
            let error = Template::parse_bytes(written).unwrap_err();
            assert_eq!(error.at, at, "{written}: {error}");
            assert!(error.to_string().contains(message), "{written}: {error}");
        }
    }

    #[test]
    fn the_place_of_a_value_decides_its_escaping() {
        use Escape::{Header, Json, JsonTwice, Raw, Url};
        use Medium::Message;
        #[rustfmt::skip]
        let table = [
            (Message,        r#"{"a":${v}}"#,                            Raw),
            (Message,        r#"{"a":"${v}"}"#,                          Json),
            (Message,        r#"{"a":"x\\","b":${v}}"#,                  Raw),
            (Message,        r#"{"a":"x\\${v}"}"#,                       Json),
            (Message,        r#"{"a":"\"","b":${v}}"#,                   Raw),
            (Message,        r#"42["say","${v}"]"#,                      Json),
            (Message,        r#"{"data":"{\"a\":\"${v}\"}"}"#,           JsonTwice),
            (Message,        r#"{"data":"{\"a\":${v}}"}"#,               Json),
            (Message,        r#"{"data":"{\"a\":\"q\\\"${v}\"}"}"#,      JsonTwice),
            (Message,        r#"{"data":"{\"a\":\"\"}","b":"${v}"}"#,    Json),
            (Message,        r#" "${v}""#,                               Json),
            (Message,        r#"say "hello ${v}""#,                      Raw),
            (Message,        "SEND\ndestination:/topic/${v}\n\n",        Raw),
            (Medium::Url,    r#"/x?a="${v}""#,                           Url),
            (Medium::Header, "Bearer ${v}",                              Header),
            (Medium::Plain,  r#"{"a":"${v}"}"#,                          Raw),
        ];
        for (medium, written, escape) in table {
            let read = Template::parse(written, medium).unwrap();
            assert!(read.0.contains(&var("v", escape)), "{written}: {read:?}");
        }
        let payload = Template::parse(r#"{"a":"${payload}"}"#, Message).unwrap();
        assert!(payload.0.contains(&Piece::Payload { escape: Json }), "{payload:?}");
        let two = Template::parse(r#"{"a":"${id}","b":"${v}"}"#, Message).unwrap();
        assert!(two.0.contains(&var("v", Json)), "a hole does not end a string: {two:?}");
    }

    #[test]
    fn a_hole_that_is_none_is_refused_with_its_place() {
        #[rustfmt::skip]
        let table = [
            ("ab${id",        2, "`${` opens a hole that no `}` closes"),
            ("${}",           0, "`${}` is not a hole"),
            ("x${a b}",       1, "`${a b}` is not a hole"),
            ("${pad}",        0, "`${pad}` needs a length"),
            ("${pad:}",       0, "of 1 to 16777216 characters"),
            ("${pad:0}",      0, "of 1 to 16777216 characters"),
            ("${random:16777217}", 0, "of 1 to 16777216 characters"),
            ("${paid:3}",     0, "`${paid:3}` is not a hole"),
            ("${id % 4}",     0, "only the connection has groups"),
            ("${client % 0}", 0, "only the connection has groups"),
            ("${1}",          0, "a name has letters, digits and `_`"),
        ];
        for (written, at, message) in table {
            let error = Template::parse(written, Medium::Message).unwrap_err();
            assert_eq!(error.at, at, "{written}");
            assert!(error.to_string().contains(message), "{written}: {error}");
        }
    }
}
