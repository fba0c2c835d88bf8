//! Messages: matchers, templates with their holes, and the values that are taken.

use super::{Checker, Holes};
use crate::conversation::template::{RESERVED, is_name};
use crate::conversation::{
    Condition, Extent, Fault, Fill, Frame, Matcher, Number, Offset, Part, Piece, Place, Take,
    TakeFrom, Template, mqtt, overlap,
};
use crate::suggestions::expected;

impl<'c> Checker<'c> {
    /// Refuses matchers of the awaited message and of its refusal if one matches everything that the other does.
    pub(super) fn check_apart(
        &self,
        awaited: Option<&Matcher>,
        key: &str,
        refused: Option<&Matcher>,
    ) -> Result<(), Fault> {
        let (Some(awaited), Some(refused)) = (awaited, refused) else { return Ok(()) };
        if overlap::implies(refused, awaited) || overlap::implies(awaited, refused) {
            return Err(self.fault(
                "refused",
                format!(
                    "and `{key}` match the same message; say in one of them what tells them apart, as in \
                     lacks = \"$.error\""
                ),
            ));
        }
        Ok(())
    }

    /// Refuses a matcher that can never match. `asked` is true if the message that it answers has an id; `None`: it
    /// answers none.
    pub(super) fn check_matcher(
        &self,
        key: &'static str,
        matcher: &Matcher,
        is_http: bool,
        asked: Option<bool>,
    ) -> Result<(), Fault> {
        let has_status = |condition: &Condition| matches!(condition, Condition::Status(_));
        if !is_http && matcher.conditions.iter().any(has_status) {
            return Err(self.fault(key, "has a `status`, which only HTTP responses have"));
        }
        match (&matcher.id, asked) {
            (Some(_), None) => {
                return Err(self.fault(key, "has an `id`, and nothing was asked; leave it out"));
            }
            (Some(_), Some(false)) => {
                return Err(
                    self.fault(key, "has an `id`, and what is sent has none; put `${id}` into it")
                );
            }
            (Some(Place::Text { before, after }), _) if before.is_empty() && after.is_empty() => {
                return Err(self.fault(key, "has an `id` without a text beside it"));
            }
            (Some(Place::Bytes(place)), _) => {
                let form = self.form(key, *place)?;
                self.check_form(key, &Piece::Id, form, &place.to_string())?;
            }
            _ => {}
        }
        match overlap::contradiction(matcher) {
            Some(message) => Err(self.fault(key, format!("can never match: {message}"))),
            None => Ok(()),
        }
    }

    /// The form of the number at a place.
    pub(super) fn form(&self, key: &'static str, place: Offset) -> Result<Number, Fault> {
        match place.extent {
            Extent::Number(form) => Ok(form),
            Extent::Bytes(_) | Extent::Rest => {
                let at = place.at;
                let message =
                    format!("`{place}` is not a number; say its format, as in `@{at}:u32le`");
                Err(Fault { text: place.to_string(), ..self.fault(key, message) })
            }
        }
    }

    /// Refuses a form into which a value of a hole does not fit, as far as the values are known. `text` is the number
    /// as written.
    fn check_form(
        &self,
        key: &'static str,
        hole: &Piece,
        form: Number,
        text: &str,
    ) -> Result<(), Fault> {
        let (min, max) = (form.min(), form.max());
        let reason = if matches!(hole, Piece::Id) && max < i32::MAX.into() {
            Some("an id is a number of eight digits or more; use 4 bytes or 8".to_owned())
        } else if matches!(hole, Piece::Now) && max < i64::MAX.into() {
            Some("a run has more nanoseconds after 5 s; use 8 bytes, or `now_ms`".to_owned())
        } else if matches!(hole, Piece::NowMs) && max < i32::MAX.into() {
            Some("a run has more milliseconds after a minute; use 4 bytes or 8".to_owned())
        } else if let Piece::ClientModulo(groups) = hole {
            (i128::from(*groups) - 1 > max)
                .then(|| format!("there are groups up to {}", groups - 1))
        } else if let Some(name) = hole.var() {
            let fits = |value: &String| value.parse().is_ok_and(|value: i128| form.holds(value));
            let odd = self.constants(name).find(|value| !fits(value));
            odd.map(|value| format!("`{name}` is {value:?}"))
        } else {
            None
        };
        match reason {
            Some(reason) => {
                let message = format!("`{text}` holds only {min} to {max}, but {reason}");
                Err(Fault { text: text.to_owned(), ..self.fault(key, message) })
            }
            None => Ok(()),
        }
    }

    /// The values of a var that are written in the file.
    fn constants(&self, name: &str) -> impl Iterator<Item = String> {
        let var = self.conversation.vars.iter().find(|var| var.name == name);
        let values = match var.map(|var| &var.fill) {
            Some(Fill::Template(template)) if !template.has_holes() => vec![template.to_string()],
            Some(Fill::Pick(values)) => values.clone(),
            Some(Fill::Template(_) | Fill::Column { .. } | Fill::Secret { .. }) | None => {
                Vec::new()
            }
        };
        values.into_iter()
    }

    /// Refuses a template that is too long, or that has a hole without a value here.
    pub(super) fn check_template(
        &self,
        key: &'static str,
        template: &Template,
        holes: Holes,
    ) -> Result<(), Fault> {
        for piece in &template.0 {
            if let Piece::Number { of, form } = piece {
                self.check_form(key, of, *form, &piece.to_string())?;
            }
            if let Some(name) = piece.var() {
                self.check_known(key, name)?;
            }
            let value = piece.value();
            let places = if matches!(value, Piece::Id) && holes == Holes::Plain {
                "requests and opening steps"
            } else if holes == Holes::All {
                continue;
            } else if matches!(
                value,
                Piece::Now | Piece::NowMs | Piece::Header | Piece::Payload { .. }
            ) {
                "requests"
            } else {
                continue;
            };
            let text = piece.to_string();
            let fault = self.fault(key, format!("`{text}` is only available in {places}"));
            return Err(Fault { text, ..fault });
        }
        let (len, max) = (template.len_min(), Template::LEN_MAX);
        if len > u64::from(max) {
            return Err(self.fault(key, format!("is {len} bytes long; at most {max} are possible")));
        }
        let is_any = matches!(self.conversation.frame, Frame::Message | Frame::Length { .. });
        if template.is_bytes() && !is_any {
            return Err(self.fault(
                key,
                "is bytes, and `frame` says that messages are texts; bytes are messages of WebSocket, or have a length \
                 before them, as in frame = { length = 4 }",
            ));
        }
        if self.conversation.frame == Frame::Mqtt && key == "send" {
            let packet = mqtt::check(template, self.part == Part::Open(0));
            return packet.map_err(|error| self.fault(key, error.to_string()));
        }
        Ok(())
    }

    /// Refuses a value that is not known at this part.
    pub(super) fn check_known(&self, key: &'static str, name: &str) -> Result<(), Fault> {
        if self.known.contains(&name) {
            return Ok(());
        }
        let message = if self.taken_anywhere().any(|taken| taken == name) {
            format!("`{name}` is not known yet: it is taken from a message that comes later")
        } else if let Some((_, hole)) = OTHERWISE.iter().find(|(other, _)| *other == name) {
            format!("no value is called `{name}`; use `${{{hole}}}`")
        } else {
            let all = RESERVED.into_iter().chain(self.known.iter().copied());
            format!("no value is called `{name}`{}", expected(name, all))
        };
        Err(Fault { text: format!("${{{name}}}"), ..self.fault(key, message) })
    }

    /// The names of all values, wherever they are taken.
    fn taken_anywhere(&self) -> impl Iterator<Item = &'c str> {
        let all = self.conversation;
        let vars = all.vars.iter().map(|var| var.name.as_str());
        let before = all.before.iter().flat_map(|before| &before.take);
        let steps = all.open.iter().chain(&all.close).flat_map(|step| &step.take);
        vars.chain(before.chain(steps).map(|take| take.var.as_str()))
    }

    /// Checks the values taken from a message, and makes them known from here on.
    pub(super) fn take(&mut self, takes: &'c [Take], is_http: bool) -> Result<(), Fault> {
        for Take { var, from } in takes {
            self.check_name(var, "take")?;
            match from {
                TakeFrom::Header(_) if !is_http => {
                    return Err(
                        self.fault("take", "messages have no headers; only `[[before]]` has")
                    );
                }
                TakeFrom::Message(Place::Text { before, after })
                    if before.is_empty() && after.is_empty() =>
                {
                    return Err(self.fault("take", format!("`{var}` has no text beside its hole")));
                }
                TakeFrom::Header(_) | TakeFrom::Message(_) => {}
            }
            self.known.push(var);
        }
        Ok(())
    }

    /// Refuses a name that no value can have.
    pub(super) fn check_name(&self, name: &str, key: &'static str) -> Result<(), Fault> {
        if !is_name(name) {
            return Err(self.fault(
                key,
                format!("`{name}` is not a name for a value; it has letters, digits and `_`, and no digit first"),
            ));
        }
        if RESERVED.contains(&name) {
            return Err(
                self.fault(key, format!("`${{{name}}}` is known already; choose another name"))
            );
        }
        Ok(())
    }
}

/// Names that other tools or people use for holes, each with the name used here.
const OTHERWISE: [(&str, &str); 6] = [
    ("seq", "id"),
    ("sequence", "id"),
    ("bot", "client"),
    ("user", "client"),
    ("connection", "client"),
    ("timestamp", "now_ms"),
];
