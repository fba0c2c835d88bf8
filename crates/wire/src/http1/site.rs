//! Requests that a server answers on its own, because they come from browsers and clients of all kinds: only what is
//! posted to one place is a message.

use super::head::RequestHead;
use std::cell::RefCell;
use std::sync::Arc;

/// The place that messages are posted to, and the form of the answers to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The path that messages are posted to; paths below it count too.
    pub posts: String,
    /// The path of WebSocket: the answer to a request for it without an upgrade says that one is required.
    pub socket: String,
    /// The `Content-Type` of answers.
    pub content_type: String,
}

/// The treatment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Its body is a message.
    Message,
    /// The request of a browser that asks first whether pages from elsewhere may post (CORS).
    Preflight,
    /// It is at the wrong address.
    NotFound,
    /// It has another method than `POST`.
    NotAllowed,
    /// It is at the address of WebSocket but does not ask for an upgrade.
    UpgradeRequired,
}

/// A server at a site, and the origin of the page that its browser shows.
#[derive(Debug)]
pub(super) struct AtSite {
    site: Arc<Site>,
    /// The origin of the page that posts: the `Origin` field of the last head that was read, if it had one. A repeated
    /// head is not parsed again, and has the same origin.
    origin: RefCell<Option<Box<str>>>,
}

impl Site {
    /// True if WebSocket is spoken at `target`.
    pub(crate) fn is_socket(&self, target: &str) -> bool {
        path_of(target) == self.socket
    }

    fn route(&self, head: &RequestHead<'_, '_>) -> Route {
        let path = path_of(head.target);
        if path == self.socket {
            return Route::UpgradeRequired;
        }
        let below = path.strip_prefix(self.posts.as_str());
        if !below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Route::NotFound;
        }
        match head.method {
            "POST" => Route::Message,
            "OPTIONS" => Route::Preflight,
            _ => Route::NotAllowed,
        }
    }
}

impl AtSite {
    pub(super) fn new(site: Arc<Site>) -> Self {
        Self { site, origin: RefCell::default() }
    }

    /// Decides on the treatment of a request, and remembers its origin.
    pub(super) fn look(&self, head: &RequestHead<'_, '_>) -> Route {
        self.origin.replace(origin_of(head).map(Box::from));
        self.site.route(head)
    }

    pub(super) fn content_type(&self) -> &str {
        &self.site.content_type
    }

    /// Lets the page that posts read the answer, whatever its origin.
    pub(super) fn append_permission(&self, tx: &mut Vec<u8>) {
        if let Some(origin) = &*self.origin.borrow() {
            append_permission(origin, tx);
        }
    }
}

/// Appends the fields that make a browser let the page at `origin` read the answer to a request with cookies (CORS).
pub(crate) fn append_permission(origin: &str, tx: &mut Vec<u8>) {
    tx.extend_from_slice(b"Access-Control-Allow-Origin: ");
    tx.extend_from_slice(origin.as_bytes());
    tx.extend_from_slice(b"\r\nAccess-Control-Allow-Credentials: true\r\nVary: Origin\r\n");
}

impl Route {
    /// The status and the fields of the answer to a request that is not a message.
    pub(crate) fn answer(self) -> &'static str {
        match self {
            Self::Message => "200 OK\r\n",
            Self::Preflight => {
                "204 No Content\r\nAccess-Control-Allow-Methods: POST, OPTIONS\r\n\
                 Access-Control-Allow-Headers: Content-Type\r\nAccess-Control-Max-Age: 3600\r\n"
            }
            Self::NotFound => "404 Not Found\r\nContent-Length: 0\r\n",
            Self::NotAllowed => {
                "405 Method Not Allowed\r\nAllow: POST, OPTIONS\r\nContent-Length: 0\r\n"
            }
            Self::UpgradeRequired => {
                "426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n"
            }
        }
    }
}

/// The path of a request's target, without the query.
pub(crate) fn path_of(target: &str) -> &str {
    let path = target
        .split_once("://")
        .map_or(target, |(_, rest)| rest.find('/').map_or("/", |start| &rest[start..]));
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// The value of the `Origin` field, unless it is one that could not be written back.
pub(crate) fn origin_of<'b>(head: &RequestHead<'_, 'b>) -> Option<&'b str> {
    let origin = field_of(head, "origin")?;
    let is_plain =
        origin.len() <= ORIGIN_LEN_MAX && origin.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then_some(origin)
}

/// The value of the first field of this name, if it is UTF-8.
pub(crate) fn field_of<'b>(head: &RequestHead<'_, 'b>, name: &str) -> Option<&'b str> {
    let field = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    str::from_utf8(field.value).ok()
}

/// Longest origin of a page: the longest name of a host is 253 bytes.
const ORIGIN_LEN_MAX: usize = 300;
