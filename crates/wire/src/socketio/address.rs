//! The addresses of a service of Socket.IO: its path, and the query that says what a request wants there.

use crate::http1::site::path_of;

/// The session that a connection over WebSocket is opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A new one.
    Open,
    /// One that polls and is to continue over this connection: the upgrade.
    Upgrade {
        /// The name of the session.
        sid: Box<str>,
    },
    /// None, because the address breaks a rule: the connection must be closed.
    Wrong,
}

impl Entry {
    /// Reads the address of a WebSocket; `None` if it is not one of Socket.IO.
    pub(crate) fn at(target: &str) -> Option<Self> {
        let value = query_of(target)?;
        Some(match (value("transport"), value("EIO"), value("sid")) {
            (Some("websocket"), Some("4"), None) => Self::Open,
            (Some("websocket"), Some("4"), Some(sid)) => Self::Upgrade { sid: sid.into() },
            (_, _, _) => Self::Wrong,
        })
    }
}

/// Returns a function that finds the values in the query of an address by their keys; `None` if the address is not one
/// of Socket.IO.
pub(super) fn query_of<'a>(target: &'a str) -> Option<impl Fn(&str) -> Option<&'a str>> {
    let path = path_of(target);
    if !path.strip_suffix('/').unwrap_or(path).ends_with("/socket.io") {
        return None;
    }
    let (_, query) = target.split_once('?').unwrap_or_default();
    Some(move |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_websocket_names_its_session() {
        let upgrade = Some(Entry::Upgrade { sid: "a.b".into() });
        #[rustfmt::skip]
        let table = [
            ("/socket.io/?EIO=4&transport=websocket",           Some(Entry::Open)),
            ("/a/socket.io?t=1&transport=websocket&EIO=4",      Some(Entry::Open)),
            ("/socket.io/?EIO=4&transport=websocket&sid=a.b",   upgrade),
            ("/socket.io/?EIO=4",                               Some(Entry::Wrong)),
            ("/socket.io/?transport=websocket",                 Some(Entry::Wrong)),
            ("/socket.io/?transport=websocket&sid=a.b",         Some(Entry::Wrong)),
            ("/socket.io/?EIO=3&transport=websocket",           Some(Entry::Wrong)),
            ("/socket.io/?EIO=4&transport=polling",             Some(Entry::Wrong)),
            ("/socket.io/",                                     Some(Entry::Wrong)),
            ("/socket.iox/?EIO=4&transport=websocket",          None),
            ("/",                                               None),
        ];
        for (target, expected) in table {
            assert_eq!(Entry::at(target), expected, "{target}");
        }
    }
}
