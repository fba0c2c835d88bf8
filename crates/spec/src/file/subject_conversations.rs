//! The conversations of subjects: which of them a row is measured with.

use crate::conversation::READY_MADE;
use crate::{Protocol, Scheme};

/// A conversation that a subject holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name in tables.
    pub name: String,
    /// The name that options use: that of a ready-made one, or the path of its file.
    pub asked: String,
    /// The protocols that can carry it.
    pub carriers: &'static [Protocol],
    /// True if it can be held in rooms.
    pub has_rooms: bool,
    /// True if its connections only receive what others publish: outside of rooms they have no requests.
    pub needs_rooms: bool,
}

impl Held {
    fn is_over(&self, scheme: Scheme) -> bool {
        self.carriers.contains(&scheme.protocol)
    }
}

/// The conversations with which a subject is measured over `scheme`, in rooms or not, out of `all` that it holds.
/// `asked` is the one that the row asks for. An entry is `None` where the options alone decide what is sent.
///
/// # Errors
///
/// The reason why it cannot be measured this way.
pub(super) fn measured<'a>(
    all: &'a [Held],
    scheme: Scheme,
    asked: Option<&str>,
    in_rooms: bool,
) -> Result<Vec<Option<&'a Held>>, String> {
    let held: Vec<&Held> = all.iter().filter(|it| it.is_over(scheme)).collect();
    if held.is_empty() {
        return Ok(vec![None]);
    }
    let Some(asked) = asked else {
        if scheme.protocol.echoes_besides() && !in_rooms {
            return Ok(vec![None]);
        }
        let fits = |it: &&Held| if in_rooms { it.has_rooms } else { !it.needs_rooms };
        let fitting: Vec<Option<&Held>> = held.iter().copied().filter(fits).map(Some).collect();
        let reason = || match in_rooms {
            true => format!("over {scheme} it holds no conversation with rooms"),
            false => format!(
                "over {scheme} it only delivers what is published: ask for rooms, as with publish = '10/s'"
            ),
        };
        return if fitting.is_empty() { Err(reason()) } else { Ok(fitting) };
    };
    let is_ready_made = READY_MADE.iter().any(|(name, _)| *name == asked);
    match held.iter().find(|it| it.name == asked) {
        Some(it) => Ok(vec![Some(*it)]),
        None if is_ready_made => {
            let known: Vec<&str> = held.iter().map(|it| it.name.as_str()).collect();
            let known = known.join(", ");
            Err(format!("over {scheme} it holds {known}, not the conversation {asked}"))
        }
        // A file of the user's.
        None => Ok(vec![None]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_socket_io_is_measured_by_echoes_unless_a_row_asks_for_something_else() {
        let held = |name: &str, has_rooms| Held {
            name: name.to_owned(),
            asked: name.to_owned(),
            carriers: &[Protocol::WebSocket, Protocol::SocketIo],
            has_rooms,
            needs_rooms: false,
        };
        let all = [held("socketio", false), held("rooms", true)];
        let names = |scheme, asked, in_rooms| {
            let measured = measured(&all, Scheme::named(scheme).unwrap(), asked, in_rooms).unwrap();
            measured.into_iter().map(|held| held.map(|it| &*it.name)).collect::<Vec<_>>()
        };
        assert_eq!(names("ws", None, false), [Some("socketio"), Some("rooms")]);
        for scheme in ["socketio", "socketio+polling", "socketio+upgrade"] {
            assert_eq!(names(scheme, None, false), [None], "{scheme}");
            assert_eq!(names(scheme, Some("socketio"), false), [Some("socketio")], "{scheme}");
            assert_eq!(names(scheme, None, true), [Some("rooms")], "{scheme}");
        }
    }
}
