//! The parameters of compression: the four of RFC 7692 §7.1, and the level, which is ours alone.
//!
//! People type them as `server_no_context_takeover,client_max_window_bits=12,level=1`; in the opening handshake they
//! are parameters of an extension ([`super::super::extensions`]).

use crate::excerpt::Excerpt;
use std::fmt;
use std::str::FromStr;

/// The offer of a client. As typed, only the named parameters are offered; the default is `permessage-deflate`
/// alone, to which a server can agree with whatever it prefers for its own direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// `Some(None)` lets the server limit our window; with `Some(Some(bits))` we limit it to 2^bits bytes ourselves: 9
    /// to 15.
    pub client_max_window_bits: Option<Option<u8>>,
    /// True if we forget our window after each message.
    pub client_no_context_takeover: bool,
    /// Our compression level, 1 to 9; not sent.
    pub level: u32,
    /// The server's window is at most 2^bits bytes: 8 to 15.
    pub server_max_window_bits: Option<u8>,
    /// True if the server has to forget its window after each message.
    pub server_no_context_takeover: bool,
}

/// The most that a server agrees to. An offer that leaves no room for it is declined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The client's window is at most 2^bits bytes, 8 to 15; a client that does not offer to limit it is declined.
    pub client_max_window_bits: Option<u8>,
    /// True if the client has to forget its window after each message.
    pub client_no_context_takeover: bool,
    /// Our compression level, 1 to 9; not sent.
    pub level: u32,
    /// Our window is at most 2^bits bytes: 9 to 15.
    pub server_max_window_bits: Option<u8>,
    /// True if we forget our window after each message.
    pub server_no_context_takeover: bool,
}

impl Offer {
    /// Checks the values that the types do not.
    ///
    /// # Errors
    ///
    /// A window or a level out of its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        check_level(self.level)?;
        check_bits(SERVER_MAX_WINDOW_BITS, self.server_max_window_bits)?;
        check_own_bits(CLIENT_MAX_WINDOW_BITS, self.client_max_window_bits.flatten())
    }
}

impl Accept {
    /// Checks the values that the types do not.
    ///
    /// # Errors
    ///
    /// A window or a level out of its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        check_level(self.level)?;
        check_bits(CLIENT_MAX_WINDOW_BITS, self.client_max_window_bits)?;
        check_own_bits(SERVER_MAX_WINDOW_BITS, self.server_max_window_bits)
    }
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            client_max_window_bits: None,
            client_no_context_takeover: false,
            level: LEVEL,
            server_max_window_bits: None,
            server_no_context_takeover: false,
        }
    }
}

impl Default for Accept {
    fn default() -> Self {
        Self {
            client_max_window_bits: None,
            client_no_context_takeover: false,
            level: LEVEL,
            server_max_window_bits: None,
            server_no_context_takeover: false,
        }
    }
}

impl FromStr for Offer {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let (typed, level) = typed(text)?;
        let offer = Self {
            client_max_window_bits: typed.client_max_window_bits,
            client_no_context_takeover: typed.client_no_context_takeover,
            level,
            server_max_window_bits: typed.server_max_window_bits,
            server_no_context_takeover: typed.server_no_context_takeover,
        };
        offer.check()?;
        Ok(offer)
    }
}

impl FromStr for Accept {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let (typed, level) = typed(text)?;
        if typed.client_max_window_bits == Some(None) {
            return Err(ParameterError::NoValue { name: CLIENT_MAX_WINDOW_BITS });
        }
        let accept = Self {
            client_max_window_bits: typed.client_max_window_bits.flatten(),
            client_no_context_takeover: typed.client_no_context_takeover,
            level,
            server_max_window_bits: typed.server_max_window_bits,
            server_no_context_takeover: typed.server_no_context_takeover,
        };
        accept.check()?;
        Ok(accept)
    }
}

impl fmt::Display for Offer {
    /// The form in which it is typed; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, .. } = *self;
        write_typed(f, &Parameters::from(self), level)
    }
}

impl fmt::Display for Accept {
    /// The form in which it is typed; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, .. } = *self;
        write_typed(f, &Parameters::from(self), level)
    }
}

/// The four parameters as one side wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::websocket) struct Parameters {
    pub(super) client_max_window_bits: Option<Option<u8>>,
    pub(super) client_no_context_takeover: bool,
    pub(super) server_max_window_bits: Option<u8>,
    pub(super) server_no_context_takeover: bool,
}

impl Parameters {
    /// Reads pairs of a name and a value.
    ///
    /// # Errors
    ///
    /// A parameter that RFC 7692 does not define, a duplicate, or a value that it does not allow there.
    pub(in crate::websocket) fn read<'p>(
        pairs: impl IntoIterator<Item = (&'p [u8], Option<&'p [u8]>)>,
    ) -> Result<Self, ParameterError> {
        let mut parameters = Self::default();
        for (name, value) in pairs {
            parameters.set(name, value)?;
        }
        Ok(parameters)
    }

    fn set(&mut self, name: &[u8], value: Option<&[u8]>) -> Result<(), ParameterError> {
        match name {
            b"client_max_window_bits" => {
                let bits = value.map(|value| bits(CLIENT_MAX_WINDOW_BITS, value)).transpose()?;
                once(CLIENT_MAX_WINDOW_BITS, &mut self.client_max_window_bits, bits)
            }
            b"server_max_window_bits" => {
                let name = SERVER_MAX_WINDOW_BITS;
                let value = value.ok_or(ParameterError::NoValue { name })?;
                once(name, &mut self.server_max_window_bits, bits(name, value)?)
            }
            b"client_no_context_takeover" => {
                flag(CLIENT_NO_CONTEXT_TAKEOVER, &mut self.client_no_context_takeover, value)
            }
            b"server_no_context_takeover" => {
                flag(SERVER_NO_CONTEXT_TAKEOVER, &mut self.server_no_context_takeover, value)
            }
            _ => Err(ParameterError::Unknown { name: Excerpt::new(name) }),
        }
    }

    /// The parameters that are present, as names and values, in the order of RFC 7692.
    pub(in crate::websocket) fn written(&self) -> impl Iterator<Item = String> {
        let flag = |is_set: bool, name: &str| is_set.then(|| name.to_owned());
        let bits = |name: &str, bits: Option<u8>| match bits {
            Some(bits) => format!("{name}={bits}"),
            None => name.to_owned(),
        };
        [
            flag(self.server_no_context_takeover, SERVER_NO_CONTEXT_TAKEOVER),
            flag(self.client_no_context_takeover, CLIENT_NO_CONTEXT_TAKEOVER),
            self.server_max_window_bits.map(|value| bits(SERVER_MAX_WINDOW_BITS, Some(value))),
            self.client_max_window_bits.map(|value| bits(CLIENT_MAX_WINDOW_BITS, value)),
        ]
        .into_iter()
        .flatten()
    }
}

impl From<&Offer> for Parameters {
    fn from(offer: &Offer) -> Self {
        Self {
            client_max_window_bits: offer.client_max_window_bits,
            client_no_context_takeover: offer.client_no_context_takeover,
            server_max_window_bits: offer.server_max_window_bits,
            server_no_context_takeover: offer.server_no_context_takeover,
        }
    }
}

impl From<&Accept> for Parameters {
    fn from(accept: &Accept) -> Self {
        Self {
            client_max_window_bits: accept.client_max_window_bits.map(Some),
            client_no_context_takeover: accept.client_no_context_takeover,
            server_max_window_bits: accept.server_max_window_bits,
            server_no_context_takeover: accept.server_no_context_takeover,
        }
    }
}

/// Reads what a person typed: parameters with commas between them, and the level.
fn typed(text: &str) -> Result<(Parameters, u32), ParameterError> {
    let mut parameters = Parameters::default();
    let mut level = None;
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
            None => (part, None),
        };
        if name == "level" {
            let value = value.unwrap_or_default();
            let error = || ParameterError::Level { value: Excerpt::new(value.as_bytes()) };
            let number = value.parse().map_err(|_| error())?;
            check_level(number)?;
            once("level", &mut level, number)?;
        } else {
            parameters.set(name.as_bytes(), value.map(str::as_bytes))?;
        }
    }
    Ok((parameters, level.unwrap_or(LEVEL)))
}

fn write_typed(f: &mut fmt::Formatter<'_>, parameters: &Parameters, level: u32) -> fmt::Result {
    let level = (level != LEVEL).then(|| format!("level={level}"));
    let parts: Vec<_> = parameters.written().chain(level).collect();
    f.write_str(&parts.join(","))
}

fn once<T>(name: &'static str, place: &mut Option<T>, value: T) -> Result<(), ParameterError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ParameterError::Duplicate { name }),
    }
}

fn flag(name: &'static str, place: &mut bool, value: Option<&[u8]>) -> Result<(), ParameterError> {
    match (value, std::mem::replace(place, true)) {
        (Some(value), _) => Err(ParameterError::Value { name, value: Excerpt::new(value) }),
        (None, true) => Err(ParameterError::Duplicate { name }),
        (None, false) => Ok(()),
    }
}

/// A number from 8 to 15 without leading zeros (§7.1.2).
fn bits(name: &'static str, value: &[u8]) -> Result<u8, ParameterError> {
    match value {
        [digit @ (b'8' | b'9')] => Ok(digit - b'0'),
        [b'1', digit @ b'0'..=b'5'] => Ok(10 + digit - b'0'),
        _ => Err(ParameterError::Bits { name, value: Excerpt::new(value) }),
    }
}

fn check_bits(name: &'static str, bits: Option<u8>) -> Result<(), ParameterError> {
    match bits {
        None | Some(WINDOW_BITS_MIN..=WINDOW_BITS_MAX) => Ok(()),
        Some(bits) => {
            let value = Excerpt::new(bits.to_string().as_bytes());
            Err(ParameterError::Bits { name, value })
        }
    }
}

fn check_own_bits(name: &'static str, bits: Option<u8>) -> Result<(), ParameterError> {
    check_bits(name, bits)?;
    match bits {
        Some(WINDOW_BITS_MIN) => Err(ParameterError::OwnWindow { name }),
        _ => Ok(()),
    }
}

fn check_level(level: u32) -> Result<(), ParameterError> {
    match level {
        LEVEL_MIN..=LEVEL_MAX => Ok(()),
        _ => Err(ParameterError::Level { value: Excerpt::new(level.to_string().as_bytes()) }),
    }
}

/// The faults that one parameter can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// A window is not a power of two from 2^8 to 2^15.
    #[error("{name} is {value}, expected a number from 8 to 15 (RFC 7692 §7.1.2)")]
    Bits {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: Excerpt,
    },
    /// A parameter occurs twice.
    #[error("{name} occurs twice (RFC 7692 §7.1)")]
    Duplicate {
        /// The parameter.
        name: &'static str,
    },
    /// zlib has no such level.
    #[error("level is {value}, expected a number from 1 to 9")]
    Level {
        /// The level.
        value: Excerpt,
    },
    /// The parameter has no value and needs one.
    #[error("{name} has no value, expected a number from 8 to 15 (RFC 7692 §7.1.2)")]
    NoValue {
        /// The parameter.
        name: &'static str,
    },
    /// The window that we would have to compress with is too small for zlib.
    #[error("{name} is 8, but zlib compresses with windows of 2^9 bytes and more")]
    OwnWindow {
        /// The parameter.
        name: &'static str,
    },
    /// RFC 7692 has no such parameter.
    #[error("{name} is not a parameter of permessage-deflate (RFC 7692 §7.1)")]
    Unknown {
        /// The parameter.
        name: Excerpt,
    },
    /// The parameter has a value and takes none.
    #[error("{name} is {value}, no value expected (RFC 7692 §7.1.1)")]
    Value {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: Excerpt,
    },
}

pub(super) const CLIENT_MAX_WINDOW_BITS: &str = "client_max_window_bits";
const CLIENT_NO_CONTEXT_TAKEOVER: &str = "client_no_context_takeover";
pub(super) const SERVER_MAX_WINDOW_BITS: &str = "server_max_window_bits";
pub(super) const SERVER_NO_CONTEXT_TAKEOVER: &str = "server_no_context_takeover";

/// The smallest window of RFC 7692.
pub(super) const WINDOW_BITS_MIN: u8 = 8;
/// The largest window, which is in force when nobody limits it.
pub(super) const WINDOW_BITS_MAX: u8 = 15;

const LEVEL_MIN: u32 = 1;
const LEVEL_MAX: u32 = 9;
/// zlib's own default, and so that of browsers and of servers such as node `ws` that leave it alone.
const LEVEL: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_typed_is_what_is_shown() {
        #[rustfmt::skip]
        let table = [
            // typed,                                    shown, if it differs
            ("",                                         ""),
            ("level=6",                                  ""),
            ("level=1",                                  "level=1"),
            ("client_max_window_bits=12",                "client_max_window_bits=12"),
            ("server_max_window_bits=15",                "server_max_window_bits=15"),
            (" level=9 , client_no_context_takeover ,",  "client_no_context_takeover,level=9"),
            ("client_max_window_bits = 9,server_max_window_bits=10,client_no_context_takeover,server_no_context_takeover",
             "server_no_context_takeover,client_no_context_takeover,server_max_window_bits=10,client_max_window_bits=9"),
        ];
        for (typed, shown) in table {
            assert_eq!(typed.parse::<Offer>().unwrap().to_string(), shown, "{typed:?}");
            assert_eq!(typed.parse::<Accept>().unwrap().to_string(), shown, "{typed:?}");
        }
        let hint = "client_max_window_bits".parse::<Offer>().unwrap();
        assert_eq!(hint, Offer { client_max_window_bits: Some(None), ..Offer::default() });
        assert_eq!(hint.to_string(), "client_max_window_bits");
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_by_name() {
        let bits = |name, value| {
            format!("{name} is \"{value}\", expected a number from 8 to 15 (RFC 7692 §7.1.2)")
        };
        #[rustfmt::skip]
        let table = [
            ("level=0", "level is \"0\", expected a number from 1 to 9".to_owned()),
            ("level=10", "level is \"10\", expected a number from 1 to 9".to_owned()),
            ("level", "level is \"\", expected a number from 1 to 9".to_owned()),
            ("level=x", "level is \"x\", expected a number from 1 to 9".to_owned()),
            ("level=1,level=1", "level occurs twice (RFC 7692 §7.1)".to_owned()),
            ("client_max_window_bits=7", bits("client_max_window_bits", "7")),
            ("client_max_window_bits=16", bits("client_max_window_bits", "16")),
            ("client_max_window_bits=010", bits("client_max_window_bits", "010")),
            ("client_max_window_bits=+9", bits("client_max_window_bits", "+9")),
            ("client_max_window_bits=", bits("client_max_window_bits", "")),
            ("server_max_window_bits=256", bits("server_max_window_bits", "256")),
            ("server_max_window_bits",
             "server_max_window_bits has no value, expected a number from 8 to 15 (RFC 7692 §7.1.2)".to_owned()),
            ("server_max_window_bits=9,server_max_window_bits=9",
             "server_max_window_bits occurs twice (RFC 7692 §7.1)".to_owned()),
            ("client_no_context_takeover,client_no_context_takeover",
             "client_no_context_takeover occurs twice (RFC 7692 §7.1)".to_owned()),
            ("server_no_context_takeover=1",
             "server_no_context_takeover is \"1\", no value expected (RFC 7692 §7.1.1)".to_owned()),
            ("Level=1", "\"Level\" is not a parameter of permessage-deflate (RFC 7692 §7.1)".to_owned()),
            ("permessage-deflate",
             "\"permessage-deflate\" is not a parameter of permessage-deflate (RFC 7692 §7.1)".to_owned()),
        ];
        for (typed, error) in table {
            assert_eq!(typed.parse::<Offer>().unwrap_err().to_string(), error, "{typed:?}");
            assert_eq!(typed.parse::<Accept>().unwrap_err().to_string(), error, "{typed:?}");
        }
        let own =
            |name| format!("{name} is 8, but zlib compresses with windows of 2^9 bytes and more");
        assert_eq!(
            "client_max_window_bits=8".parse::<Offer>().unwrap_err().to_string(),
            own(CLIENT_MAX_WINDOW_BITS)
        );
        assert!("server_max_window_bits=8".parse::<Offer>().is_ok(), "inflating it is no problem");
        assert_eq!(
            "server_max_window_bits=8".parse::<Accept>().unwrap_err().to_string(),
            own(SERVER_MAX_WINDOW_BITS)
        );
        assert!("client_max_window_bits=8".parse::<Accept>().is_ok(), "inflating it is no problem");
        assert_eq!(
            "client_max_window_bits".parse::<Accept>(),
            Err(ParameterError::NoValue { name: CLIENT_MAX_WINDOW_BITS })
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_the_same(
            client: Option<Option<u8>>, client_forgets: bool, level in 1_u32..=9, server: Option<u8>, server_forgets: bool,
        ) {
            let offer = Offer {
                client_max_window_bits: client.map(|bits| bits.map(|bits| 9 + bits % 7)),
                client_no_context_takeover: client_forgets,
                level,
                server_max_window_bits: server.map(|bits| 8 + bits % 8),
                server_no_context_takeover: server_forgets,
            };
            prop_assert_eq!(offer.to_string().parse(), Ok(offer));
        }
    }
}
