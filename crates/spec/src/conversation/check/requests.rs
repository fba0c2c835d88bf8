//! Requests with their replies and streams.

use super::{Checker, Holes};
use crate::conversation::{Fault, Matcher, Reply, Request, Send, Speaks, Template, overlap};

impl<'c> Checker<'c> {
    /// Refuses a request that cannot be sent, or whose replies cannot be recognized.
    pub(super) fn check_request(&self, request: &'c Request) -> Result<(), Fault> {
        let speaks = self.conversation.speaks;
        let is_http = speaks.is_http();
        let has_id = match &request.send {
            Send::Message(_) if is_http => {
                return Err(self.fault(
                    "send",
                    "over HTTP a request has a method and a path: say `http = \"POST /path\"`, and a `body`",
                ));
            }
            Send::Message(template) => {
                if template.0.is_empty() {
                    return Err(self.fault("send", "is empty; a request needs a message"));
                }
                self.check_template("send", template, Holes::All)?;
                template.has_id()
            }
            Send::Http(_) if !is_http => {
                return Err(self.fault(
                    "http",
                    "belongs to `speaks = \"http\"` and \"sse\"; use `send`, or `[[before]]` for an HTTP request \
                     before the connection",
                ));
            }
            Send::Http(http) => {
                self.check_http(http, Holes::All)?;
                if http.redirects > 0 && self.conversation.speaks == Speaks::Sse {
                    return Err(self.fault(
                        "redirects",
                        "are not followed to a stream; name the place of the stream as its path, and leave it out",
                    ));
                }
                http.body.as_ref().is_some_and(Template::has_id) || http.path.has_id()
            }
        };
        let key = |matcher: &Matcher| match &request.reply {
            _ if request.refused.as_ref().is_some_and(|refused| std::ptr::eq(refused, matcher)) => {
                "refused"
            }
            Reply::Stream { first, .. } if std::ptr::eq(first, matcher) => "first",
            Reply::Stream { each, .. } if std::ptr::eq(each, matcher) => "each",
            Reply::Stream { .. } => "last",
            Reply::Match(_) | Reply::Order | Reply::Nothing => "reply",
        };
        for matcher in request.matchers() {
            self.check_matcher(key(matcher), matcher, is_http, Some(has_id))?;
        }
        match &request.reply {
            Reply::Match(reply) => self.check_reply(reply, request.refused.as_ref())?,
            Reply::Nothing if request.refused.is_some() => {
                return Err(self.fault(
                    "refused",
                    "is a reply, and the request has none; leave one of the two out",
                ));
            }
            Reply::Nothing if is_http => {
                return Err(self.fault("reply", "is \"none\", and HTTP answers every request"));
            }
            Reply::Order | Reply::Nothing => {}
            Reply::Stream { each, last, may_end, resume, .. } => {
                if *may_end && (last.is_none() || !is_http) {
                    return Err(self.fault(
                        "may-end",
                        "says that the end of an HTTP response ends the stream as well as `last`; leave it out",
                    ));
                }
                if resume.is_some() && !is_http {
                    return Err(self.fault(
                        "resume",
                        "asks for the rest of an HTTP response by `Last-Event-ID`; leave it out",
                    ));
                }
                if resume.is_some_and(|resume| resume.times == 0) {
                    return Err(
                        self.fault("resume", "is 0; leave it out for streams that are not resumed")
                    );
                }
                if last.is_none() && !is_http {
                    return Err(self.fault(
                        "last",
                        "is missing: a stream that is not an HTTP response needs the message that ends it",
                    ));
                }
                if last.as_ref().is_some_and(|last| overlap::is_same(last, each)) {
                    return Err(self.fault(
                        "last",
                        "matches every message that `each` does, so that the first ends the stream",
                    ));
                }
            }
        }
        if let Send::Message(_) = request.send {
            return Ok(());
        }
        match (speaks, &request.reply) {
            (Speaks::Sse, Reply::Stream { .. }) | (Speaks::Http, Reply::Match(_)) => Ok(()),
            (Speaks::Sse, _) => Err(self.fault(
                "reply",
                "of `speaks = \"sse\"` is a stream; say `each` event, the `first`, and the `last`",
            )),
            (_, Reply::Stream { .. }) => {
                Err(self.fault("each", "belongs to an event stream; say `speaks = \"sse\"`"))
            }
            (_, _) => Err(self.fault("reply", "of HTTP is a matcher, as in { status = \"2xx\" }")),
        }
    }

    fn check_reply(&self, reply: &Matcher, refused: Option<&Matcher>) -> Result<(), Fault> {
        if reply.conditions.is_empty() && reply.id.is_none() {
            return Err(self.fault(
                "reply",
                "matches every message; say \"order\" if replies come in the order of requests",
            ));
        }
        self.check_apart(Some(reply), "reply", refused)
    }
}
