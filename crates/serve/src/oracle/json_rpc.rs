//! The answers of an oracle that speaks JSON-RPC 2.0: the method `echo` returns its parameters, any other is unknown.
//!
//! Around an answer it sends messages that make the answer hard to find: a notification that carries the id of the
//! request in its parameters, and a request of its own with the very same id.

use super::lot::Lot;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of a client's message that matter here.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The messages of the server about one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) reply: Vec<u8>,
    /// True if the reply is an error.
    pub(super) refuses: bool,
    /// A notification that follows the reply; empty if there is none.
    pub(super) push: Vec<u8>,
    /// A request of the server that precedes the reply; likewise.
    pub(super) ask: Vec<u8>,
}

/// An answer, and everything that may be sent around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    granted: Said,
    refusal: Vec<u8>,
}

impl Said {
    /// The total number of bytes.
    pub(super) fn len(&self) -> usize {
        self.reply.len() + self.push.len() + self.ask.len()
    }
}

impl Answer {
    /// Returns what a lot leaves of it.
    pub(super) fn with(self, lot: Lot) -> Said {
        let Said { reply, refuses, push, ask } = self.granted;
        let (reply, refuses) =
            if lot.refuse && !refuses { (self.refusal, true) } else { (reply, refuses) };
        let kept = |is_kept: bool, words| if is_kept { words } else { Vec::new() };
        Said { reply, refuses, push: kept(lot.push, push), ask: kept(lot.ask, ask) }
    }
}

/// Returns the answer to `message`; `None` if it requires none: a notification, or the answer to a request of ours.
pub(super) fn answer(message: &[u8]) -> Option<Answer> {
    let Ok(request) = serde_json::from_slice::<Request<'_>>(message) else {
        let reply = error("null", -32700, "parse error");
        let granted = Said { reply, refuses: true, ..Said::default() };
        return Some(Answer { granted, refusal: Vec::new() });
    };
    let (id, method) = (request.id?.get(), request.method?);
    let params = request.params.map_or("null", RawValue::get);
    let refuses = method != "echo";
    let reply = match refuses {
        false => format!(r#"{{"jsonrpc":"2.0","result":{params},"id":{id}}}"#).into_bytes(),
        true => error(id, -32601, "method not found"),
    };
    let push = format!(
        r#"{{"jsonrpc":"2.0","method":"news","params":{{"id":{id},"result":true,"of":{params}}}}}"#
    );
    let ask = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask","params":[{id}]}}"#);
    let granted = Said { reply, refuses, push: push.into_bytes(), ask: ask.into_bytes() };
    Some(Answer { granted, refusal: error(id, -32000, "refused on purpose") })
}

fn error(id: &str, code: i32, message: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}},"id":{id}}}"#)
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_by_its_method() {
        let reply = |message: &str, refuse| -> Option<String> {
            let answer = answer(message.as_bytes())?;
            let lot = Lot { refuse, ..Lot::default() };
            Some(String::from_utf8(answer.with(lot).reply).unwrap())
        };
        #[rustfmt::skip]
        let table = [
            (r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":["a",{"id":1}]}"#, false,
             Some(r#"{"jsonrpc":"2.0","result":["a",{"id":1}],"id":7}"#)),
            (r#"{"id":"x","method":"echo"}"#, false, Some(r#"{"jsonrpc":"2.0","result":null,"id":"x"}"#)),
            (r#"{"id":7,"method":"echo"}"#, true,
             Some(r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"refused on purpose"},"id":7}"#)),
            (r#"{"id":7,"method":"sum"}"#, false,
             Some(r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"method not found"},"id":7}"#)),
            ("hello", false,
             Some(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"},"id":null}"#)),
            (r#"{"method":"echo","params":[]}"#, false, None),
            (r#"{"id":7,"result":[]}"#, false, None),
        ];
        for (message, refuse, expected) in table {
            assert_eq!(reply(message, refuse).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn what_comes_around_an_answer_has_the_same_id() {
        let answer = answer(br#"{"id":7,"method":"echo","params":5}"#).unwrap();
        let said = answer.with(Lot { push: true, ask: true, ..Lot::default() });
        assert_eq!(
            said.push,
            br#"{"jsonrpc":"2.0","method":"news","params":{"id":7,"result":true,"of":5}}"#
        );
        assert_eq!(said.ask, br#"{"jsonrpc":"2.0","id":7,"method":"ask","params":[7]}"#);
    }
}
