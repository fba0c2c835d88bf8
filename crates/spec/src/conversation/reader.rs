//! Conversations in files: TOML that a person writes (docs/CONVERSATIONS.md), read with the place of every problem.
//!
//! Start reading at [`Conversation::read`]; `messages` has what is sent and awaited.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "values are of the library, and all but one kind are refused"
)]

mod http;
mod keys;
mod messages;
mod values;

use super::{
    AnswerRule, AtEnd, Beat, Before, ByteOrder, Condition, Conversation, Every, Fill, Frame,
    LengthWidth, Matcher, Medium, Part, PushRule, Reply, Request, Resume, SecretSource, Send,
    Separator, Speaks, Step, Var,
};
use crate::rooms::Part as RoomPart;
use crate::table::{Error, Source, Table};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use units::{Bytes, Nanos};
use values::{Value, constant, one_of, several, text_of, texts, whole};

impl Conversation {
    /// The longest file of a conversation.
    pub const FILE_MAX: Bytes = Bytes(1 << 20);

    /// The conversation in `text`, a TOML file; `name` is the path of that file, or the name of a ready-made one.
    /// Secrets and rows of other files are not read yet ([`Conversation::filled`]); the paths of those files are
    /// relative to the folder of this one.
    ///
    /// # Errors
    ///
    /// The first problem, with line, column and what is expected there.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        if text.len() as u64 > Self::FILE_MAX.0 {
            let (len, max) = (Bytes(text.len() as u64), Self::FILE_MAX);
            return Err(format!("{name}: is {len} long; a conversation has at most {max}"));
        }
        let mut reader = Reader { source: &source, places: BTreeMap::new() };
        let table = DeTable::parse(text).map_err(|error| source.error(&error.into()))?;
        let conversation =
            reader.conversation(Table::new(table)).map_err(|error| source.error(&error))?;
        match conversation.check() {
            Ok(()) => Ok(conversation),
            Err(fault) => Err(reader.placed(&fault)),
        }
    }
}

/// A reader of one file, which remembers the place of every key for faults that are found later.
struct Reader<'s> {
    source: &'s Source,
    places: BTreeMap<(Part, &'static str), usize>,
}

impl Reader<'_> {
    fn conversation(&mut self, mut table: Table<'_>) -> Result<Conversation, Error> {
        let about = self.text(&mut table, Part::Top, "about")?.unwrap_or_default();
        let speaks = self.speaks(&mut table)?;
        let frame = self.frame(&mut table)?;
        let subprotocols = self.take(&mut table, Part::Top, "subprotocols");
        let subprotocols = subprotocols.map(several).into_iter().flatten();
        let subprotocol = |value| self.template_of("subprotocols", value, Medium::Plain);
        let subprotocols = subprotocols.map(subprotocol).collect::<Result<_, _>>()?;
        let path = self.template(&mut table, Part::Top, "path", Medium::Url)?;
        let headers = self.headers(&mut table, Part::Top)?;
        for (index, (at, _)) in headers.iter().enumerate() {
            self.places.insert((Part::Field(index), ""), *at);
        }
        let conversation = Conversation {
            name: name_of(&self.source.name),
            about,
            speaks,
            path,
            subprotocols,
            headers: headers.into_iter().map(|(_, field)| field).collect(),
            frame,
            vars: self.vars(&mut table)?,
            before: self.listed(&mut table, "before", Part::Before, Self::before)?,
            open: self.listed(&mut table, "open", Part::Open, Self::step)?,
            requests: self.named(&mut table, "request", Part::Request, Self::request)?,
            pushes: self.named(&mut table, "push", Part::Push, Self::push)?,
            answers: self.named(&mut table, "answer", Part::Answer, Self::answer)?,
            beat: self.one(&mut table, "beat", Part::Beat, Self::beat)?,
            close: self.one(&mut table, "close", Part::Close, Self::step)?,
            publishers: self.one(&mut table, "publishers", Part::Publishers, Self::publishers)?,
        };
        table.finish(&[
            "about",
            "speaks",
            "path",
            "subprotocols",
            "headers",
            "frame",
            "vars",
            "before",
            "open",
            "request",
            "push",
            "answer",
            "beat",
            "close",
            "publishers",
        ])?;
        Ok(conversation)
    }

    /// The conversation of publishers. Its places are not kept: a fault that is found later is reported at its
    /// beginning.
    fn publishers(&mut self, table: Table<'_>, _: Part) -> Result<Box<Conversation>, Error> {
        let mut reader = Reader { source: self.source, places: BTreeMap::new() };
        reader.conversation(table).map(Box::new)
    }

    fn speaks(&mut self, table: &mut Table<'_>) -> Result<Speaks, Error> {
        let at = table.at();
        let value = self.take(table, Part::Top, "speaks");
        let value = value.ok_or_else(|| {
            let names = Speaks::ALL.map(|speaks| format!("\"{}\"", speaks.name())).join(", ");
            Error::new(at, format!("`speaks` is missing: one of {names}"))
        })?;
        one_of("speaks", value, &Speaks::ALL.map(|speaks| (speaks.name(), speaks)))
    }

    fn frame(&mut self, table: &mut Table<'_>) -> Result<Frame, Error> {
        let Some(value) = self.take(table, Part::Top, "frame") else { return Ok(Frame::Message) };
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            let known = [
                ("message", Frame::Message),
                ("lines", Frame::Lines),
                ("nul", Frame::Nul),
                ("rs", Frame::Rs),
                ("resp", Frame::Resp),
                ("mqtt", Frame::Mqtt),
            ];
            return one_of("frame", value, &known).map_err(|Error { at, message }| {
                let others = "or a text, as in { separator = \"\\r\\n\\r\\n\" }, or a length, as in { length = 4 }";
                Error { at, message: format!("{message}, {others}") }
            });
        }
        let mut table = Table::of_value("frame", value)?;
        let at = table.at();
        let max = table.take("max")?.unwrap_or(Frame::MAX);
        let (width, separator) = (table.take_value("length"), table.take_value("separator"));
        let width = match (width, separator) {
            (Some(width), None) => width,
            (None, Some(separator)) => {
                let at = separator.span().start;
                let separator = constant("separator", separator)?;
                let separator =
                    Separator::try_from(separator).map_err(|error| Error::new(at, error))?;
                table.finish(&["separator", "max"])?;
                return Ok(Frame::Separator { separator, max });
            }
            (Some(_), Some(_)) => {
                let message = "a message ends by its `length` or by a `separator`; leave one out";
                return Err(Error::new(at, message));
            }
            (None, None) => {
                // Reports a misspelt key first, which explains more.
                table.finish(FRAME_KEYS)?;
                let message =
                    "`length` is missing: 1, 2 or 4 bytes, or \"varint\"; or a `separator`, a text";
                return Err(Error::new(at, message));
            }
        };
        let widths = [
            ("1", LengthWidth::One),
            ("2", LengthWidth::Two),
            ("4", LengthWidth::Four),
            ("varint", LengthWidth::Varint),
        ];
        let width = one_of("length", width, &widths)?;
        let order = table.take_value("order");
        let orders = [("big", ByteOrder::Big), ("little", ByteOrder::Little)];
        let order = order.map_or(Ok(ByteOrder::Big), |value| one_of("order", value, &orders))?;
        let includes_itself = table.take("includes-itself")?.unwrap_or(false);
        table.finish(FRAME_KEYS)?;
        Ok(Frame::Length { width, order, includes_itself, max })
    }

    fn vars(&mut self, table: &mut Table<'_>) -> Result<Vec<Var>, Error> {
        let Some(vars) = table.take_table("vars")? else { return Ok(Vec::new()) };
        self.places.insert((Part::Top, "vars"), vars.at());
        let mut all = Vec::new();
        for (index, (name, value)) in vars.entries().into_iter().enumerate() {
            self.places.insert((Part::Var(index), ""), name.span().start);
            let fill = self.fill(value)?;
            all.push(Var { name: name.into_inner(), fill });
        }
        Ok(all)
    }

    fn fill(&self, value: Value<'_>) -> Result<Fill, Error> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(_) => self.template_of("", value, Medium::Plain).map(Fill::Template),
            DeValue::Array(_) => texts("vars", value).map(Fill::Pick),
            DeValue::Table(_) => {
                let mut table = Table::of_value("vars", value)?;
                let (csv, env, file) =
                    (table.take("csv")?, table.take("env")?, table.take("file")?);
                let fill = match (csv, env, file) {
                    (Some(csv), None, None) => {
                        let csv: String = csv;
                        let column = table.need("column")?;
                        let ends = [("wrap", AtEnd::Wrap), ("stop", AtEnd::Stop)];
                        let end = table.take_value("end");
                        let end =
                            end.map_or(Ok(AtEnd::Wrap), |value| one_of("end", value, &ends))?;
                        Fill::Column { file: self.beside(&csv), column, end, values: None }
                    }
                    (None, Some(env), None) => {
                        Fill::Secret { from: SecretSource::Env(env), value: None }
                    }
                    (None, None, Some(file)) => {
                        let file: String = file;
                        Fill::Secret { from: SecretSource::File(self.beside(&file)), value: None }
                    }
                    (None, None, None) | (Some(_), ..) | (_, Some(_), _) => {
                        return Err(Error::new(at, VALUE_EXPECTED));
                    }
                };
                table.finish(&["csv", "column", "end", "env", "file"])?;
                Ok(fill)
            }
            _ => Err(Error::new(at, VALUE_EXPECTED)),
        }
    }

    fn before(&mut self, mut table: Table<'_>, part: Part) -> Result<Before, Error> {
        let at = table.at();
        let request = self.http(&mut table, part)?.ok_or_else(|| {
            Error::new(at, "`http` is missing: a method and a path, as in \"POST /login\"")
        })?;
        let before = Before {
            request,
            expect: self.matcher(&mut table, part, "expect")?,
            take: self.takes(&mut table, part)?,
        };
        table.finish(&["http", "headers", "body", "redirects", "expect", "take"])?;
        Ok(before)
    }

    fn step(&mut self, mut table: Table<'_>, part: Part) -> Result<Step, Error> {
        let parts = [("publishers", RoomPart::Publisher), ("receivers", RoomPart::Receiver)];
        let by = self.take(&mut table, part, "by");
        let step = Step {
            by: by.map(|value| one_of("by", value, &parts)).transpose()?,
            send: self.template(&mut table, part, "send", Medium::Message)?,
            expect: self.matcher(&mut table, part, "expect")?,
            refused: self.matcher(&mut table, part, "refused")?,
            take: self.takes(&mut table, part)?,
        };
        table.finish(&["by", "send", "expect", "refused", "take"])?;
        Ok(step)
    }

    fn request(
        &mut self,
        name: String,
        mut table: Table<'_>,
        part: Part,
    ) -> Result<Request, Error> {
        let at = table.at();
        let message = self.template(&mut table, part, "send", Medium::Message)?;
        let send = match (message, self.http(&mut table, part)?) {
            (Some(message), None) => Send::Message(message),
            (None, Some(http)) => Send::Http(http),
            (Some(_), Some(_)) => {
                return Err(Error::new(
                    at,
                    format!("request `{name}` has `send` and `http`; leave one out"),
                ));
            }
            (None, None) => {
                return Err(Error::new(
                    at,
                    format!("request `{name}` needs `send`, or for HTTP `http`"),
                ));
            }
        };
        let weight =
            self.take(&mut table, part, "weight").map_or(Ok(1), |value| whole("weight", &value))?;
        let refused = self.matcher(&mut table, part, "refused")?;
        let stream = ["first", "each", "last"].map(|key| self.matcher(&mut table, part, key));
        let [first, each, last] = stream;
        let (first, each, last) = (first?, each?, last?);
        let may_end = self.flag(&mut table, part, "may-end")?;
        let resume = self.resume(&mut table, part)?;
        let is_stream = [&first, &each, &last].into_iter().any(Option::is_some)
            || may_end.is_some()
            || resume.is_some();
        let reply = match (self.take(&mut table, part, "reply"), is_stream) {
            (Some(_), true) => {
                return Err(Error::new(
                    at,
                    format!(
                        "request `{name}` has a `reply`, and `first`, `each` or `last` of a stream; leave one out"
                    ),
                ));
            }
            (Some(value), false) => self.reply(value)?,
            (None, true) => {
                let each = each.ok_or_else(|| {
                    Error::new(
                        at,
                        format!("request `{name}` needs `each`, the events of its stream"),
                    )
                })?;
                let first = first.unwrap_or_else(|| each.clone());
                Reply::Stream { first, each, last, may_end: may_end.unwrap_or(false), resume }
            }
            (None, false) if matches!(send, Send::Http(_)) => Reply::Match(success()),
            (None, false) => {
                // Reports a misspelt key first, which explains more.
                table.finish(REQUEST_KEYS)?;
                return Err(Error::new(
                    at,
                    format!(
                        "request `{name}` needs a `reply`: a matcher, as in {{ id = \"$.id\" }}, \"order\" if replies \
                         come in the order of requests, or \"none\" if there is none"
                    ),
                ));
            }
        };
        table.finish(REQUEST_KEYS)?;
        Ok(Request { name, weight, send, reply, refused })
    }

    /// The key `resume`: a count alone, or one with a wait.
    fn resume(&mut self, table: &mut Table<'_>, part: Part) -> Result<Option<Resume>, Error> {
        let Some(value) = self.take(table, part, "resume") else { return Ok(None) };
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            let times = whole("resume", &value)?;
            return Ok(Some(Resume { times, wait: Nanos::ZERO }));
        }
        let mut table = Table::of_value("resume", value)?;
        let at = table.at();
        let times = table.take_value("times").ok_or_else(|| {
            Error::new(at, "`times` is missing: how often one stream is resumed at most")
        })?;
        let times = whole("times", &times)?;
        let wait = table.take("wait")?.unwrap_or(Nanos::ZERO);
        table.finish(&["times", "wait"])?;
        Ok(Some(Resume { times, wait }))
    }

    fn reply(&self, value: Value<'_>) -> Result<Reply, Error> {
        match value.get_ref() {
            DeValue::Table(_) => self.matcher_of("reply", value).map(Reply::Match),
            _ => one_of("reply", value, &[("order", Reply::Order), ("none", Reply::Nothing)])
                .map_err(|Error { at, message }| Error {
                    at,
                    message: format!("{message}, or a matcher, as in {{ id = \"$.id\" }}"),
                }),
        }
    }

    fn push(&mut self, name: String, mut table: Table<'_>, part: Part) -> Result<PushRule, Error> {
        let when = self.needed_matcher(&mut table, part, "when")?;
        let sent =
            self.take(&mut table, part, "sent").map(|value| self.place("sent", "now", value));
        let header = self.take(&mut table, part, "header");
        let header = header.map(|value| self.place("header", "header", value));
        table.finish(&["when", "sent", "header"])?;
        Ok(PushRule { name, when, sent: sent.transpose()?, header: header.transpose()? })
    }

    fn answer(
        &mut self,
        name: String,
        mut table: Table<'_>,
        part: Part,
    ) -> Result<AnswerRule, Error> {
        let when = self.needed_matcher(&mut table, part, "when")?;
        let take = self.takes(&mut table, part)?;
        let send = self.needed_template(&mut table, part)?;
        table.finish(&["when", "take", "send"])?;
        Ok(AnswerRule { name, when, take, send })
    }

    fn beat(&mut self, mut table: Table<'_>, part: Part) -> Result<Beat, Error> {
        let at = table.at();
        let every = self.take(&mut table, part, "every").ok_or_else(|| {
            Error::new(at, "`every` is missing: a time, as in \"25s\", or a value in milliseconds, as in \"${ping}\"")
        })?;
        let every_at = every.span().start;
        let written = text_of("every", every)?;
        let name = written.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let every = match name {
            Some(name) => Every::Millis(name.to_owned()),
            None => Every::Time(written.parse::<Nanos>().map_err(|error| {
                Error::new(
                    every_at,
                    format!("`every` {error}; a value in milliseconds is \"${{name}}\""),
                )
            })?),
        };
        let send = self.needed_template(&mut table, part)?;
        table.finish(&["every", "send"])?;
        Ok(Beat { every, send })
    }

    /// The path of `file`, which is relative to the folder of this one.
    fn beside(&self, file: &str) -> String {
        let folder = std::path::Path::new(&self.source.name).parent();
        folder.map_or_else(|| file.to_owned(), |folder| folder.join(file).display().to_string())
    }
}

/// The name of a conversation in the file `path`.
fn name_of(path: &str) -> String {
    let stem = std::path::Path::new(path).file_stem();
    stem.map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// A matcher for any 2xx status.
fn success() -> Matcher {
    let status = super::Status { first: 200, last: 299 };
    Matcher { conditions: vec![Condition::Status(status)], id: None }
}

const FRAME_KEYS: &[&str] = &["length", "separator", "order", "includes-itself", "max"];
const REQUEST_KEYS: &[&str] = &[
    "weight",
    "send",
    "http",
    "headers",
    "body",
    "redirects",
    "reply",
    "refused",
    "first",
    "each",
    "last",
    "may-end",
    "resume",
];
const VALUE_EXPECTED: &str = "expected a value: a text, a list of texts to pick from, { csv = \"users.csv\", column = \
                              \"name\" }, or a secret: { env = \"TOKEN\" } or { file = \"token.txt\" }";

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_bytes;
