//! The requests of a client, and the forms of what goes and comes.

use crate::decimal::append_decimal;
use crate::http1::append_percent_encoded;

/// The requests of one client over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(crate) form: Form,
    /// The request that asks for frames, whole.
    pub(crate) receive: Box<[u8]>,
    /// The way in which it posts; `None` for a client that only receives, and whose session is over with the response.
    pub(crate) post: Option<Post>,
}

/// The requests that post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Post {
    /// The head, but for the length of the body.
    pub(crate) head: Box<[u8]>,
    /// True if the body is a form, with what is posted as the value `d`.
    pub(crate) is_form: bool,
}

/// The form that frames have in the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One is the text that a script calls this function with.
    Call(&'static str),
    /// Each is the data of a server-sent event.
    Events,
    /// Each is a line.
    Lines {
        /// True if a response may begin with a prelude: so many letters `h` that browsers hand out what follows.
        has_prelude: bool,
    },
    /// Each is the text that a script in a page calls the function `p` with.
    Page,
}

impl Session {
    /// The server-sent events at `target`. `host` and `headers` stand in the request as they are: whoever gives them
    /// has checked them.
    pub fn of_events(host: &str, target: &str, headers: &[(String, String)]) -> Self {
        let head = head_of("GET", target, host, headers);
        let receive = [&*head, b"Accept: text/event-stream\r\n\r\n"].concat().into();
        Self { form: Form::Events, receive, post: None }
    }

    /// Appends the request that posts `body`.
    pub(super) fn write_post(&self, body: &[u8], tx: &mut Vec<u8>) {
        let Some(Post { head, is_form }) = &self.post else { return };
        let mut form = Vec::new();
        let body = if *is_form {
            form.extend_from_slice(b"d=");
            append_percent_encoded(body, &mut form);
            &form
        } else {
            body
        };
        tx.extend_from_slice(head);
        append_decimal(body.len() as u64, tx);
        tx.extend_from_slice(b"\r\n\r\n");
        tx.extend_from_slice(body);
    }
}

/// The first lines of a request.
pub(crate) fn head_of(
    method: &str,
    target: &str,
    host: &str,
    headers: &[(String, String)],
) -> Vec<u8> {
    let fields: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}").into_bytes()
}
