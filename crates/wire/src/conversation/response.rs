//! Judges an HTTP response by the request that asked for it.

use super::rules::{Heard, Hits, Rules};
use super::{CompileError, PeerError, learnt::Learnt, show};
use crate::contract::Response;
use crate::excerpt::Excerpt;
use spec::conversation::{Condition, Matcher, Status};

/// The responses that a request awaits, and those by which it is refused.
#[derive(Debug)]
pub(super) struct Awaits {
    rules: Rules<Judged>,
    /// The statuses of awaited responses; a status must be in every one of them.
    statuses: Vec<Status>,
    /// The responses that are awaited, in words.
    pub(super) expected: String,
}

/// The kinds of responses to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// A response that is awaited.
    Expected,
    /// A response by which the server refuses.
    Refused,
    /// A response with another status.
    Status,
    /// A response with the status that is awaited, and another body.
    Body,
}

impl Awaits {
    /// Makes ready what a request awaits. Without `expect`, that is any 2xx response; `expect` without a status wants
    /// 2xx, too.
    ///
    /// # Errors
    ///
    /// There are too many conditions.
    pub(super) fn new(
        expect: Option<&Matcher>,
        refused: Option<&Matcher>,
    ) -> Result<Self, CompileError> {
        let mut expect = expect.cloned().unwrap_or_default();
        let status = |condition: &Condition| match condition {
            Condition::Status(status) => Some(*status),
            Condition::Contains(_)
            | Condition::Equals { .. }
            | Condition::Has(_)
            | Condition::Is(_)
            | Condition::Lacks(_)
            | Condition::Sha256(_)
            | Condition::Starts(_)
            | Condition::Bytes { .. } => None,
        };
        let mut statuses: Vec<Status> = expect.conditions.iter().filter_map(status).collect();
        if statuses.is_empty() {
            statuses.push(SUCCESS);
            expect.conditions.insert(0, Condition::Status(SUCCESS));
        }
        let mut rules = Rules::default();
        if let Some(refused) = refused {
            rules.add(refused, Judged::Refused)?;
        }
        rules.add(&expect, Judged::Expected)?;
        Ok(Self { rules, statuses, expected: show::matcher(&expect) })
    }

    /// Judges a response to the request with this id.
    pub(super) fn judge(&self, response: &Response<'_>, id: u32) -> Judged {
        let heard = Heard { bytes: response.body, status: Some(response.status) };
        let accept = |judged: &Judged, found: Option<u64>| {
            found.is_none_or(|found| found == u64::from(id)).then_some(*judged)
        };
        let (learnt, hits) = (&mut Learnt::never(), &mut Hits::default());
        match self.rules.decide(heard, learnt, hits, accept) {
            Some(judged) => judged,
            None if self.has_status(response.status) => Judged::Body,
            None => Judged::Status,
        }
    }

    /// True for the status of a response that is awaited.
    pub(super) fn has_status(&self, status: u16) -> bool {
        self.statuses.iter().all(|awaited| awaited.includes(status))
    }

    /// The error for a response to `step` that is not the awaited one.
    pub(super) fn error(&self, step: &str, response: &Response<'_>, judged: Judged) -> PeerError {
        let (step, expected) = (step.to_owned(), self.expected.clone());
        let said = Excerpt::new(response.body);
        match (judged, response.location()) {
            (Judged::Refused, _) => PeerError::Refused { step, said },
            (Judged::Status, Some(location)) => {
                let location = Excerpt::new(location);
                PeerError::Redirected { step, code: response.status, location }
            }
            (Judged::Status, None) => {
                PeerError::Status { step, code: response.status, expected, said }
            }
            (Judged::Expected | Judged::Body, _) => PeerError::Unexpected { step, expected, said },
        }
    }
}

/// The statuses of success.
const SUCCESS: Status = Status { first: 200, last: 299 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::sample::{matcher, response};

    /// The digest of the body `on`, as `sha256sum` prints it.
    const DIGEST_OF_ON: &str =
        "sha256 b8d31e852725afb1e26d53bab6095b2bff1749c9275be13ed1c05a56ed31ec09";

    fn status(status: &str, words: &[&str]) -> Matcher {
        let mut matcher = matcher(words);
        matcher.conditions.push(Condition::Status(status.parse().unwrap()));
        matcher
    }

    #[test]
    fn a_response_is_judged_by_status_and_body() {
        let any = || Awaits::new(None, None).unwrap();
        let ok = || Awaits::new(Some(&matcher(&["$.ok=true"])), None).unwrap();
        let missing = || Awaits::new(Some(&status("404", &[])), None).unwrap();
        let asked =
            || Awaits::new(Some(&matcher(&["id $.id"])), Some(&status("409", &[]))).unwrap();
        let error = || Awaits::new(None, Some(&matcher(&["has $.error"]))).unwrap();
        let digest = || Awaits::new(Some(&matcher(&[DIGEST_OF_ON])), None).unwrap();
        #[rustfmt::skip]
        let table: [(&dyn Fn() -> Awaits, u16, &str, Judged); _] = [
            (&any,     200, "",               Judged::Expected),
            (&any,     299, "{",              Judged::Expected),
            (&any,     300, "",               Judged::Status),
            (&any,     500, "",               Judged::Status),
            (&ok,      200, "{\"ok\":true}",  Judged::Expected),
            (&ok,      200, "{\"ok\":false}", Judged::Body),
            (&ok,      200, "",               Judged::Body),
            (&ok,      500, "{\"ok\":true}",  Judged::Status),
            (&missing, 404, "gone",           Judged::Expected),
            (&missing, 200, "",               Judged::Status),
            (&asked,   200, "{\"id\":7}",     Judged::Expected),
            (&asked,   200, "{\"id\":8}",     Judged::Body),
            (&asked,   409, "",               Judged::Refused),
            (&error,   200, "{\"error\":1}",  Judged::Refused),
            (&error,   503, "{\"error\":1}",  Judged::Refused),
            (&error,   503, "",               Judged::Status),
            (&digest,  200, "on",             Judged::Expected),
            (&digest,  200, "off",            Judged::Body),
            (&digest,  200, "",               Judged::Body),
            (&digest,  404, "on",             Judged::Status),
        ];
        for (awaits, code, body, expected) in table {
            let response = response(code, "", body.as_bytes());
            assert_eq!(awaits().judge(&response.as_response(), 7), expected, "{code} {body}");
        }
    }

    #[test]
    fn a_response_that_is_not_awaited_is_told_with_what_it_says() {
        let awaits = Awaits::new(Some(&matcher(&["$.ok=true"])), None).unwrap();
        let error = |code, head: &str, body: &str| {
            let response = response(code, head, body.as_bytes());
            let judged = awaits.judge(&response.as_response(), 0);
            awaits.error("login", &response.as_response(), judged).to_string()
        };
        #[rustfmt::skip]
        let table = [
            (error(302, "Location: /login\r\n", "x"),
             "login: HTTP status 302 redirects to \"/login\", and redirects are not followed"),
            (error(302, "", "x"),
             "login: HTTP status 302, expected the status 2xx and $.ok = true: \"x\""),
            (error(401, "Location: /\r\n", "no"),
             "login: HTTP status 401, expected the status 2xx and $.ok = true: \"no\""),
            (error(200, "", "{}"),
             "login: got \"{}\", expected the status 2xx and $.ok = true"),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }
}
