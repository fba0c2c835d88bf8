//! Conversations from options.

use super::{Context, Options};
use crate::conversation::{Conversation, READY_MADE, Request, Send, Speaks};
use crate::secrets::path_without_secrets;
use crate::{Endpoint, Problem, Protocol, Scheme, Server};

impl Options {
    /// The conversation that connections hold, with the content of all files that it names.
    pub(super) fn conversation_of(
        &self,
        server: &Server,
        context: &Context<'_>,
    ) -> Result<Option<Conversation>, Problem> {
        let Some(asked) = &self.conversation else { return Ok(None) };
        let problem = |message: String| Problem::new("conversation", message);
        let conversation = match READY_MADE.iter().find(|(name, _)| name == asked) {
            Some((name, text)) => Conversation::read(name, text).map_err(problem)?,
            None if is_path(asked) => {
                let text = (context.read)(asked, Conversation::FILE_MAX).map_err(problem)?;
                let text = String::from_utf8(text);
                let text = text.map_err(|_| problem(format!("{asked} is not UTF-8")))?;
                Conversation::read(asked, &text).map_err(problem)?
            }
            None => {
                let names = READY_MADE.iter().map(|(name, _)| *name);
                let expected = crate::suggestions::expected(asked, names);
                return Err(problem(format!(
                    "no conversation that comes with wirebench is called `{asked}`{expected} (a file is named \
                     with a path, as in ./{asked}.toml)"
                )));
            }
        };
        let conversation = self.published_with(conversation)?;
        self.check_beside(&conversation, server.scheme())?;
        check_path(&conversation, server)?;
        let conversation = conversation.over(server.scheme().protocol);
        conversation.filled(context.read, context.environment).map(Some)
    }

    /// The same conversation, with the program of `--publish-with` as the publisher, if one is named.
    fn published_with(&self, conversation: Conversation) -> Result<Conversation, Problem> {
        let problem = |message: String| Err(Problem::new("publish-with", message));
        let Some(command) = &self.publish_with else { return Ok(conversation) };
        if command.trim().is_empty() {
            return problem(
                "names no program; say how it is started, as in 'php publish.php'".to_owned(),
            );
        }
        if self.publish_to.is_some() {
            return problem(
                "the program chooses where to publish; leave out --publish-with or --publish-to"
                    .to_owned(),
            );
        }
        let name = conversation.name.clone();
        let conversation = conversation.published_by_a_program();
        match conversation.check() {
            Ok(()) => Ok(conversation),
            Err(fault) => problem(format!(
                "receivers of `{name}` get nothing that a program publishes: {fault}"
            )),
        }
    }

    /// The place that publishers connect to; `None`: that of receivers, or the one that a subject names.
    pub(super) fn publish_to(
        &self,
        conversation: Option<&Conversation>,
        server: &Server,
    ) -> Result<Option<Endpoint>, Problem> {
        let problem = |message: String| Problem::new("publish-to", message);
        let Some(conversation) = conversation else { return Ok(None) };
        if self.publish_with.is_some() {
            return Ok(None);
        }
        let (name, publishers) = (&conversation.name, conversation.of_publishers());
        let Some(url) = &self.publish_to else {
            let is_there = publishers.carriers().contains(&server.scheme().protocol);
            let is_known = conversation.publishers.is_none()
                || matches!(server, Server::Subject(_))
                || is_there && !server.scheme().tls;
            let scheme = publishers.carriers()[0].plain();
            let missing = || {
                problem(format!(
                    "is missing: publishers of `{name}` connect elsewhere than receivers; say where, e.g. \
                     {scheme}://127.0.0.1:{}",
                    scheme.port().unwrap_or(6379)
                ))
            };
            return is_known.then_some(None).ok_or_else(missing);
        };
        let endpoint: Endpoint = url.parse().map_err(|error| {
            problem(format!("`{}` {error}", crate::secrets::url_without_secrets(url)))
        })?;
        let carriers = publishers.carriers();
        if !carriers.contains(&endpoint.protocol) || endpoint.tls {
            let carriers: Vec<String> =
                carriers.iter().map(|carrier| format!("{}://", carrier.plain())).collect();
            return Err(problem(format!(
                "publishers of `{name}` connect over {}, without TLS, and not over {}://",
                carriers.join(" or "),
                endpoint.scheme()
            )));
        }
        Ok(Some(endpoint))
    }

    /// Refuses a protocol that does not carry the conversation, and options about what the conversation itself decides.
    fn check_beside(&self, conversation: &Conversation, scheme: Scheme) -> Result<(), Problem> {
        if !conversation.carriers().contains(&scheme.protocol) {
            let reason = match (conversation.speaks, scheme.protocol) {
                (Speaks::Ws, _) => {
                    "it speaks WebSocket: use ws:// or wss://, or sockjs:// or socketio://"
                }
                (
                    Speaks::Http
                    | Speaks::Sse
                    | Speaks::LongPoll
                    | Speaks::Multipart
                    | Speaks::Chunked,
                    _,
                ) => "it speaks HTTP: use http:// or https://",
                (Speaks::Tcp, Protocol::Tcp | Protocol::Unix) => {
                    "it does not say where a message ends: say it in `frame`, as in frame = \"lines\", or use lines:// \
                     or tcp-framed://"
                }
                (Speaks::Tcp, Protocol::Lines) => {
                    "a message there is a line, and its `frame` says something else: use tcp://, or leave `frame` out"
                }
                (Speaks::Tcp, Protocol::TcpFramed) => {
                    "a message there has a length of 4 bytes before it, the highest first, and its `frame` says \
                     something else: use tcp://, or leave `frame` out"
                }
                (Speaks::Tcp, _) => {
                    "it speaks TCP: use tcp://, tls:// or unix:, or lines:// or tcp-framed:// where these say what a \
                     message is"
                }
            };
            let name = &conversation.name;
            let message = format!("`{name}` cannot be held over {scheme}://; {reason}");
            return Err(Problem::new("conversation", message));
        }
        let has_payload = conversation.has_payload();
        let is_said = |field: &&str| {
            SAID_BY_IT.contains(field) && !(has_payload && OF_PAYLOAD.contains(field))
        };
        let beside = self.set().into_iter().find(is_said);
        beside.map_or(Ok(()), |field| {
            let name = &conversation.name;
            let hole = match OF_PAYLOAD.contains(&field) {
                true => ", or put `${payload}` into a message of its file",
                false => "",
            };
            let message =
                format!("is set by the conversation `{name}`; leave one of the two out{hole}");
            Err(Problem::new(field, message))
        })
    }
}

/// Refuses a path in the URL that no request goes to, or that would replace a path with values. It replaces any other
/// path of the conversation.
fn check_path(conversation: &Conversation, server: &Server) -> Result<(), Problem> {
    let Some(url) = server.url() else { return Ok(()) };
    let is_http = conversation.speaks.is_http();
    let goes_there = |request: &Request| match &request.send {
        Send::Http(http) => http.path.0.is_empty(),
        Send::Message(_) => true,
    };
    let (name, path) = (&conversation.name, path_without_secrets(&url.path));
    let problem = |message: String| Err(Problem::new("conversation", message));
    if Some(&*url.path) == url.facts().path {
        return Ok(());
    }
    if is_http && !conversation.is_one_stream() && !conversation.requests.iter().any(goes_there) {
        return problem(format!(
            "the requests of `{name}` have paths of their own, and none goes to {path}; leave it out of the URL, or name \
             a method alone in a request, as in http = \"GET\", which goes to the path of the URL"
        ));
    }
    match &conversation.path {
        Some(own) if own.has_holes() => problem(format!(
            "the path of `{name}`, {own}, has values that {path} of the URL leaves out; leave the path out of the URL"
        )),
        Some(_) | None => Ok(()),
    }
}

/// True for the path of a file; no ready-made conversation has a name like one.
fn is_path(asked: &str) -> bool {
    asked.contains('/') || asked.ends_with(".toml") || asked == "-"
}

/// The options that fill the `${payload}` of a conversation.
const OF_PAYLOAD: [&str; 3] = ["size", "payload", "payload-kind"];

/// Options about messages and replies, which a conversation decides itself.
pub(super) const SAID_BY_IT: &[&str] = &[
    "size",
    "payload",
    "payload-kind",
    "varied",
    "text",
    "binary",
    "echo",
    "expect",
    "expect-body",
    "expect-status",
    "redirects",
    "oracle",
    "method",
    "codec",
];
