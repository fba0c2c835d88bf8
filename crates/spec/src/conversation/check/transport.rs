//! The fit of a conversation to the protocol below it: WebSocket, HTTP, TCP, and MQTT as a framing.

use super::{Checker, Holes};
use crate::conversation::template::is_token_letter;
use crate::conversation::{Fault, Field, Frame, HttpRequest, Part, Piece, Speaks, Template};

impl Checker<'_> {
    /// Refuses parts that the protocol below has no place for.
    pub(super) fn check_transport(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        self.part = Part::Top;
        let (is_ws, is_tcp) = (all.speaks == Speaks::Ws, all.speaks == Speaks::Tcp);
        let is_http = !is_ws && !is_tcp;
        let nowhere = |is_there: bool, key: &'static str, place: &str| match is_there {
            true => Err(Fault {
                part: Part::Top,
                key,
                text: String::new(),
                message: format!("belongs to {place}; leave it out"),
            }),
            false => Ok(()),
        };
        let with_http = "WebSocket and HTTP, not to `speaks = \"tcp\"`";
        nowhere(!is_ws && !all.subprotocols.is_empty(), "subprotocols", "`speaks = \"ws\"`")?;
        nowhere(is_tcp && all.path.is_some(), "path", with_http)?;
        nowhere(is_tcp && !all.headers.is_empty(), "headers", with_http)?;
        nowhere(is_tcp && !all.before.is_empty(), "before", with_http)?;
        let requests =
            "connections with messages of their own; HTTP has requests and responses only";
        let is_stream = all.is_one_stream();
        if all.speaks.only_receives() && !(is_stream && all.requests.is_empty()) {
            let speaks = all.speaks.name();
            return Err(self.fault(
                "publishers",
                format!(
                    "send all requests: over `speaks = \"{speaks}\"` connections only receive; say in `[publishers]` \
                     who publishes"
                ),
            ));
        }
        if is_http && !is_stream && all.publishers.is_some() {
            return Err(self.fault(
                "publishers",
                "publish what others receive, and over `speaks = \"http\"` nothing comes unasked; receivers speak \"ws\", \
                 \"sse\", \"longpoll\", \"multipart\", \"chunked\" or \"tcp\"",
            ));
        }
        nowhere(
            is_http && !is_stream && all.path.is_some(),
            "path",
            "WebSocket; over HTTP each request has its own",
        )?;
        if is_http {
            all.headers.iter().try_for_each(|field| self.check_field("headers", field))?;
        }
        nowhere(is_http && all.frame != Frame::Message, "frame", requests)?;
        nowhere(is_http && !all.open.is_empty(), "open", requests)?;
        nowhere(is_http && !is_stream && !all.pushes.is_empty(), "push", requests)?;
        nowhere(is_http && !all.answers.is_empty(), "answer", requests)?;
        nowhere(is_http && all.beat.is_some(), "beat", requests)?;
        nowhere(is_http && all.close.is_some(), "close", requests)?;
        if is_ws && all.frame == Frame::Mqtt && all.subprotocols.is_empty() {
            return Err(self.fault(
                "subprotocols",
                "are missing: MQTT over WebSocket needs [\"mqtt\"] (MQTT 3.1.1, §6)",
            ));
        }
        if all.frame == Frame::Mqtt && all.open.first().is_none_or(|step| step.send.is_none()) {
            return Err(self.fault(
                "open",
                "is missing or sends nothing first: MQTT begins with a step whose `send` is \"CONNECT\\nclient-id=…\" \
                 (MQTT 3.1.1, §3.1)",
            ));
        }
        let publishers = all.publishers.as_ref();
        if publishers.is_some_and(|it| it.speaks == Speaks::Tcp && it.frame == Frame::Message) {
            return Err(self.fault(
                "publishers",
                "have no `frame`, and TCP has no messages of its own; say where one ends: \"lines\", \"nul\", \"rs\", \
                 \"resp\", \"mqtt\", a separator, or a length",
            ));
        }
        Ok(())
    }

    /// Refuses a subprotocol that is not a token (RFC 6455, 4.1), judging by the text outside of its holes.
    pub(super) fn check_subprotocol(&self, template: &Template) -> Result<(), Fault> {
        let fault = |message: String| {
            let text = if template.0.is_empty() { String::new() } else { template.to_string() };
            Err(Fault { text, ..self.fault("subprotocols", message) })
        };
        if template.0.is_empty() {
            return fault("has an empty one; leave it out".to_owned());
        }
        for piece in &template.0 {
            if let Piece::Text(text) = piece
                && let Some(odd) = text.chars().find(|letter| !is_token_letter(*letter))
            {
                return fault(format!(
                    "`{template}` has {odd:?}, and a subprotocol is a token: letters, digits and !#$%&'*+-.^_`|~ \
                     (RFC 6455, 4.1)"
                ));
            }
        }
        self.check_template("subprotocols", template, Holes::Plain)
    }

    pub(super) fn check_http(&self, request: &HttpRequest, holes: Holes) -> Result<(), Fault> {
        self.check_template("http", &request.path, holes)?;
        let is_odd = |letter: char| !letter.is_ascii_graphic() || letter == '#';
        for piece in &request.path.0 {
            if let Piece::Text(text) = piece
                && let Some(odd) = text.chars().find(|letter| is_odd(*letter))
            {
                return Err(
                    self.fault("http", format!("has {odd:?} in its path; percent-encode it"))
                );
            }
        }
        for field in &request.headers {
            self.check_field("headers", field)?;
            self.check_template("headers", &field.value, holes)?;
        }
        match &request.body {
            Some(_) if matches!(request.method.as_str(), "GET" | "HEAD") => {
                Err(self.fault("body", format!("{} has no body; use POST", request.method)))
            }
            Some(body) => self.check_template("body", body, holes),
            None => Ok(()),
        }
    }

    /// Refuses a field that the protocol writes itself.
    fn check_field(&self, key: &'static str, field: &Field) -> Result<(), Fault> {
        let is_own = WRITTEN_FIELDS.iter().any(|own| field.name.eq_ignore_ascii_case(own));
        match is_own {
            true => {
                let name = &field.name;
                Err(self.fault(
                    key,
                    format!("has `{name}`, which wirebench writes itself; leave it out"),
                ))
            }
            false => Ok(()),
        }
    }
}

/// The fields of an HTTP request, in lower case, that the protocol writes itself: for each message, or because they
/// determine the end of the request.
pub const WRITTEN_FIELDS: [&str; 5] =
    ["content-length", "expect", "host", "transfer-encoding", "upgrade"];
