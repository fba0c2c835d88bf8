//! The words of the relay's protocol: each message begins with one, in plain text.
//!
//! | client | relay |
//! |---|---|
//! | `join ROOM` | `joined ROOM` |
//! | `publish ROOM`, a line end, and what is published | to all in the room `message ROOM`, a line end, and the same |
//! | the same with `publish ROOM id=N` | in addition `published id=N receivers=K` |
//! | anything else | `error` and the reason |
//!
//! The name of a room has any characters except spaces and control characters.

/// A message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    Join {
        room: &'a [u8],
    },
    Publish {
        room: &'a [u8],
        /// The number with which the publication is acknowledged; `None`: it is not.
        id: Option<&'a [u8]>,
        /// The index of the first published byte.
        data: usize,
    },
}

impl<'a> Said<'a> {
    /// Reads a message; the error says why it is invalid.
    pub(super) fn read(message: &'a [u8]) -> Result<Self, &'static str> {
        if let Some(room) = message.strip_prefix(b"join ") {
            return Ok(Self::Join { room: name(room)? });
        }
        let Some(rest) = message.strip_prefix(b"publish ") else {
            return Err("a message must begin with `join ROOM` or `publish ROOM`");
        };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let end =
            end.ok_or("`publish ROOM` must be followed by a line end and the data to publish")?;
        let data = message.len() - rest.len() + end + 1;
        let line = &rest[..end];
        let Some(space) = line.iter().position(|byte| *byte == b' ') else {
            return Ok(Self::Publish { room: name(line)?, id: None, data });
        };
        let id = line[space + 1..].strip_prefix(b"id=");
        let id =
            id.filter(|id| (1..=ID_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_digit));
        let id =
            id.ok_or("after the room, only `id=` and a number of at most 20 digits may follow")?;
        Ok(Self::Publish { room: name(&line[..space])?, id: Some(id), data })
    }
}

/// Checks the name of a room. The error says why it is not one.
pub(super) fn name(bytes: &[u8]) -> Result<&[u8], &'static str> {
    match bytes.len() {
        0 => Err("a room must have a name"),
        1..=NAME_MAX if bytes.iter().all(|byte| *byte > b' ' && *byte != 0x7f) => Ok(bytes),
        1..=NAME_MAX => Err("the name of a room must not contain spaces or control characters"),
        _ => Err("the name of a room may have at most 256 bytes"),
    }
}

/// The longest name of a room, in bytes.
const NAME_MAX: usize = 256;
/// The longest number of a publication, in digits.
const ID_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_by_their_first_line() {
        let long = format!("join {}", "x".repeat(257));
        #[rustfmt::skip]
        let table: [(&str, Result<Said<'_>, &str>); _] = [
            ("join a",              Ok(Said::Join { room: b"a" })),
            ("publish a\nb\nc",     Ok(Said::Publish { room: b"a", id: None, data: 10 })),
            ("publish a id=17\n",   Ok(Said::Publish { room: b"a", id: Some(b"17"), data: 16 })),
            ("",                    Err("must begin with")),
            ("joina",               Err("must begin with")),
            ("join ",               Err("must have a name")),
            ("join a b",            Err("must not contain spaces")),
            ("join a\n",            Err("or control characters")),
            (&long,                 Err("256 bytes")),
            ("publish a",           Err("must be followed by a line end")),
            ("publish \nb",         Err("must have a name")),
            ("publish a 17\nb",     Err("`id=`")),
            ("publish a id=\nb",    Err("`id=`")),
            ("publish a id=1x\nb",  Err("`id=`")),
            ("publish a id=123456789012345678901\nb", Err("20 digits")),
        ];
        for (message, expected) in table {
            match (Said::read(message.as_bytes()), expected) {
                (Err(found), Err(expected)) => {
                    assert!(found.contains(expected), "{message:?}: {found}")
                }
                (found, expected) => assert_eq!(found, expected, "{message:?}"),
            }
        }
    }
}
