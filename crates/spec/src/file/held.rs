//! The conversations of subjects: which of them a row is measured with.

use crate::Scheme;
use crate::conversation::{READY_MADE, Speaks};

/// A conversation that a subject holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name in tables.
    pub name: String,
    /// As options name it: ready-made, or the path of its file.
    pub asked: String,
    /// The protocol below it.
    pub speaks: Speaks,
}

impl Held {
    fn is_over(&self, scheme: Scheme) -> bool {
        self.speaks.carriers().contains(&scheme.protocol)
    }
}

/// The conversations, of all that a subject holds, with which it is measured over `scheme` by a row that asks for
/// `asked`; `None` in place of one where options say all that there is to say.
///
/// # Errors
///
/// The reason why it cannot be measured so.
pub(super) fn measured<'a>(
    all: &'a [Held],
    scheme: Scheme,
    asked: Option<&str>,
) -> Result<Vec<Option<&'a Held>>, String> {
    let held: Vec<&Held> = all.iter().filter(|it| it.is_over(scheme)).collect();
    let Some(asked) = asked.filter(|_| !held.is_empty()) else {
        let is_echo = held.is_empty();
        return Ok(if is_echo { vec![None] } else { held.into_iter().map(Some).collect() });
    };
    let is_ready_made = READY_MADE.iter().any(|(name, _)| *name == asked);
    match held.iter().find(|it| it.name == asked) {
        Some(it) => Ok(vec![Some(*it)]),
        None if is_ready_made => {
            let known: Vec<&str> = held.iter().map(|it| it.name.as_str()).collect();
            let known = known.join(", ");
            Err(format!("over {scheme} it holds {known}, not the conversation {asked}"))
        }
        // A file of whoever asks.
        None => Ok(vec![None]),
    }
}
