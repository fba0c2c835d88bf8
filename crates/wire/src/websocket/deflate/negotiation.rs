//! The outcome of an offer and the answer to it (RFC 7692 §5 and §7.1).

use super::parameters::{
    CLIENT_MAX_WINDOW_BITS, ParameterError, SERVER_MAX_WINDOW_BITS, SERVER_NO_CONTEXT_TAKEOVER,
    WINDOW_BITS_MAX, WINDOW_BITS_MIN,
};
use super::{Accept, Offer};
use std::cmp;

pub(in crate::websocket) use super::parameters::Parameters;

/// The parameters that both sides agreed on, as seen by one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Our compression level, 1 to 9.
    pub level: u32,
    /// The direction from the peer to us.
    pub received: Direction,
    /// The direction from us to the peer.
    pub sent: Direction,
}

/// The compression of messages in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// True if a message may refer to the content of those before it.
    pub takes_over: bool,
    /// The base-2 logarithm of the largest window, in bytes.
    pub window_bits: u8,
}

impl Offer {
    /// The outcome if the server answers this offer with `answer`.
    ///
    /// # Errors
    ///
    /// The answer does not fit this offer.
    pub(in crate::websocket) fn agree(&self, answer: &Parameters) -> Result<Agreed, AnswerError> {
        if self.server_no_context_takeover && !answer.server_no_context_takeover {
            return Err(AnswerError::Missing { name: SERVER_NO_CONTEXT_TAKEOVER });
        }
        let name = SERVER_MAX_WINDOW_BITS;
        match (self.server_max_window_bits, answer.server_max_window_bits) {
            (Some(_), None) => return Err(AnswerError::Missing { name }),
            (Some(offered), Some(answered)) if answered > offered => {
                return Err(AnswerError::Larger { name, offered, answered });
            }
            (None | Some(_), _) => {}
        }
        let name = CLIENT_MAX_WINDOW_BITS;
        let client_bits = match (self.client_max_window_bits, answer.client_max_window_bits) {
            (None, Some(_)) => return Err(AnswerError::NotOffered { name }),
            (_, Some(None)) => return Err(ParameterError::NoValue { name }.into()),
            (_, Some(Some(WINDOW_BITS_MIN))) => {
                return Err(ParameterError::OwnWindow { name }.into());
            }
            // Our own value binds us in any case (§7.1.2.2).
            (offered, answered) => min(offered.flatten(), answered.flatten()),
        };
        let forgets = self.client_no_context_takeover || answer.client_no_context_takeover;
        Ok(Agreed {
            level: self.level,
            received: Direction {
                takes_over: !answer.server_no_context_takeover,
                window_bits: answer.server_max_window_bits.unwrap_or(WINDOW_BITS_MAX),
            },
            sent: Direction {
                takes_over: !forgets,
                window_bits: client_bits.unwrap_or(WINDOW_BITS_MAX),
            },
        })
    }
}

impl Accept {
    /// Our answer to `offer`, and the parameters that follow from it; `None` if we decline.
    pub(in crate::websocket) fn answer(&self, offer: &Parameters) -> Option<(Parameters, Agreed)> {
        let server_bits = min(offer.server_max_window_bits, self.server_max_window_bits);
        if server_bits == Some(WINDOW_BITS_MIN) {
            return None; // zlib cannot compress with it
        }
        let client_bits = match (offer.client_max_window_bits, self.client_max_window_bits) {
            // A client that does not offer it cannot be asked for it (§7.1.2.2).
            (None, None | Some(WINDOW_BITS_MAX)) => None,
            (None, Some(_)) => return None,
            (Some(offered), ours) => min(offered, ours),
        };
        let answer = Parameters {
            client_max_window_bits: client_bits.map(Some),
            client_no_context_takeover: offer.client_no_context_takeover
                || self.client_no_context_takeover,
            server_max_window_bits: server_bits,
            server_no_context_takeover: offer.server_no_context_takeover
                || self.server_no_context_takeover,
        };
        let agreed = Agreed {
            level: self.level,
            received: Direction {
                takes_over: !answer.client_no_context_takeover,
                window_bits: client_bits.unwrap_or(WINDOW_BITS_MAX),
            },
            sent: Direction {
                takes_over: !answer.server_no_context_takeover,
                window_bits: server_bits.unwrap_or(WINDOW_BITS_MAX),
            },
        };
        Some((answer, agreed))
    }
}

/// The smaller of the values that are present.
fn min(left: Option<u8>, right: Option<u8>) -> Option<u8> {
    left.into_iter().chain(right).reduce(cmp::min)
}

/// The reasons why a server's answer does not fit our offer: the connection fails (RFC 7692 §7.1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The window is larger than offered.
    #[error("{name} is {answered}, at most {offered} was offered (RFC 7692 §7.1.2.1)")]
    Larger {
        /// The parameter.
        name: &'static str,
        /// The offered value.
        offered: u8,
        /// The value in the answer.
        answered: u8,
    },
    /// A parameter that the offer insists on is not in the answer.
    #[error("{name} was offered, but is missing from the answer (RFC 7692 §7.1)")]
    Missing {
        /// The parameter.
        name: &'static str,
    },
    /// A parameter that is allowed only if offered is in the answer.
    #[error("{name} was not offered (RFC 7692 §7.1.2.2)")]
    NotOffered {
        /// The parameter.
        name: &'static str,
    },
    /// One of the parameters is wrong on its own.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The extension occurs more than once.
    #[error("it occurs twice (RFC 7692 §5)")]
    Twice,
}

/// The name of the extension.
pub(in crate::websocket) const EXTENSION: &str = "permessage-deflate";

#[cfg(test)]
mod tests {
    use super::*;

    /// The client's offer and what the server accepts, as typed; the server's answer; and the outcome: the window bits
    /// of client and server, with `!` after a window without context takeover.
    #[test]
    fn every_offer_is_answered_by_the_rules() {
        #[rustfmt::skip]
        let table = [
            // offered, accepted, answered, windows
            ("",                                            "",                            "",                                    "15 15"),
            ("client_max_window_bits",                      "",                            "",                                    "15 15"),
            ("client_max_window_bits=10",                   "",                            "client_max_window_bits=10",           "10 15"),
            ("client_max_window_bits",                      "client_max_window_bits=11",   "client_max_window_bits=11",           "11 15"),
            ("client_max_window_bits=12",                   "client_max_window_bits=11",   "client_max_window_bits=11",           "11 15"),
            ("client_max_window_bits=10",                   "client_max_window_bits=11",   "client_max_window_bits=10",           "10 15"),
            ("",                                            "client_max_window_bits=11",   "declined",                            ""),
            ("",                                            "client_max_window_bits=15",   "",                                    "15 15"),
            ("server_max_window_bits=10",                   "",                            "server_max_window_bits=10",           "15 10"),
            ("",                                            "server_max_window_bits=9",    "server_max_window_bits=9",            "15 9"),
            ("server_max_window_bits=10",                   "server_max_window_bits=12",   "server_max_window_bits=10",           "15 10"),
            ("server_max_window_bits=12",                   "server_max_window_bits=10",   "server_max_window_bits=10",           "15 10"),
            ("server_max_window_bits=8",                    "",                            "declined",                            ""),
            ("server_no_context_takeover",                  "",                            "server_no_context_takeover",          "15 15!"),
            ("",                                            "server_no_context_takeover",  "server_no_context_takeover",          "15 15!"),
            ("client_no_context_takeover",                  "",                            "client_no_context_takeover",          "15! 15"),
            ("",                                            "client_no_context_takeover",  "client_no_context_takeover",          "15! 15"),
            ("client_max_window_bits=9,server_max_window_bits=9,client_no_context_takeover,server_no_context_takeover", "",
             "server_no_context_takeover,client_no_context_takeover,server_max_window_bits=9,client_max_window_bits=9", "9! 9!"),
        ];
        for (offered, accepted, answered, windows) in table {
            let row = format!("{offered:?} to {accepted:?}");
            let offer: Offer = offered.parse().unwrap();
            let accept: Accept = accepted.parse().unwrap();
            let Some((answer, by_server)) = accept.answer(&Parameters::from(&offer)) else {
                assert_eq!(answered, "declined", "{row}");
                continue;
            };
            assert_eq!(answer.written().collect::<Vec<_>>().join(","), answered, "{row}");
            let by_client = offer.agree(&answer).unwrap();
            assert_eq!(describe(by_client.sent, by_client.received), windows, "{row}");
            assert_eq!(describe(by_server.received, by_server.sent), windows, "{row}");
        }
    }

    #[test]
    fn answers_that_were_not_offered_are_named() {
        #[rustfmt::skip]
        let table = [
            // offered, answered, error
            ("server_no_context_takeover", "", "server_no_context_takeover was offered, but is missing from the answer (RFC 7692 §7.1)"),
            ("server_max_window_bits=10", "", "server_max_window_bits was offered, but is missing from the answer (RFC 7692 §7.1)"),
            ("server_max_window_bits=10", "server_max_window_bits=11",
             "server_max_window_bits is 11, at most 10 was offered (RFC 7692 §7.1.2.1)"),
            ("", "client_max_window_bits=10", "client_max_window_bits was not offered (RFC 7692 §7.1.2.2)"),
            ("client_max_window_bits", "client_max_window_bits",
             "client_max_window_bits has no value, expected a number from 8 to 15 (RFC 7692 §7.1.2)"),
            ("client_max_window_bits", "client_max_window_bits=8",
             "client_max_window_bits is 8, but zlib compresses with windows of 2^9 bytes and more"),
        ];
        for (offered, answered, error) in table {
            let offer: Offer = offered.parse().unwrap();
            let found = offer.agree(&parameters(answered)).unwrap_err();
            assert_eq!(found.to_string(), error, "{answered:?} to {offered:?}");
        }
    }

    #[test]
    fn answers_beyond_the_offer_that_the_rfc_allows_are_taken() {
        #[rustfmt::skip]
        let table = [
            ("", "server_max_window_bits=8,server_no_context_takeover,client_no_context_takeover", "15! 8!"),
            ("client_max_window_bits=10", "", "10 15"), // our own hint binds us
            ("client_max_window_bits=10", "client_max_window_bits=12", "10 15"),
            ("client_max_window_bits=10", "client_max_window_bits=9", "9 15"),
            ("client_no_context_takeover", "", "15! 15"),
        ];
        for (offered, answered, windows) in table {
            let agreed = offered.parse::<Offer>().unwrap().agree(&parameters(answered)).unwrap();
            assert_eq!(
                describe(agreed.sent, agreed.received),
                windows,
                "{answered:?} to {offered:?}"
            );
        }
    }

    fn parameters(typed: &str) -> Parameters {
        let pairs = typed.split(',').filter(|pair| !pair.is_empty()).map(|pair| {
            match pair.split_once('=') {
                Some((name, value)) => (name.as_bytes(), Some(value.as_bytes())),
                None => (pair.as_bytes(), None),
            }
        });
        Parameters::read(pairs).unwrap()
    }

    fn describe(client: Direction, server: Direction) -> String {
        let one = |direction: Direction| {
            format!("{}{}", direction.window_bits, if direction.takes_over { "" } else { "!" })
        };
        format!("{} {}", one(client), one(server))
    }
}
