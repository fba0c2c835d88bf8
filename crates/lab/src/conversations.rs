//! The conversations that a server subject holds instead of echoing.

use crate::Manifest;
use spec::conversation::READY_MADE;
use spec::{Conversation, Scheme};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// A conversation that a subject holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The name that options use: ready-made, or the path of its file.
    pub asked: String,
    /// The conversation.
    pub conversation: Conversation,
}

impl Manifest {
    /// Reads the conversations that it names; files are looked up in `folder`.
    ///
    /// # Errors
    ///
    /// A file cannot be read or is wrong, or no scheme that the subject speaks carries the conversation.
    pub(crate) fn held_in(&self, folder: &Path) -> Result<Vec<Held>, String> {
        self.conversation.iter().map(|name| self.held(name, folder)).collect()
    }

    fn held(&self, name: &str, folder: &Path) -> Result<Held, String> {
        let ready_made = READY_MADE.iter().find(|(known, _)| *known == name);
        let (asked, text) = match ready_made {
            Some((name, text)) => ((*name).to_owned(), (*text).to_owned()),
            None => {
                let file = folder.join(name);
                let asked = file.display().to_string();
                let text =
                    text_of(&file).map_err(|error| format!("cannot read {asked}: {error}"))?;
                (asked, text)
            }
        };
        let conversation = Conversation::read(&asked, &text)?;
        let carriers = conversation.carriers();
        let schemes = self.speaks.iter().filter_map(|name| Scheme::named(name));
        if !schemes.into_iter().any(|scheme| carriers.contains(&scheme.protocol)) {
            let speaks = self.speaks.join(", ");
            let carriers: Vec<&str> =
                carriers.iter().map(|carrier| carrier.plain().name()).collect();
            return Err(format!(
                "the conversation `{}` runs over {}, but `speaks` has only {speaks}",
                conversation.name,
                carriers.join(" or ")
            ));
        }
        Ok(Held { asked, conversation })
    }
}

/// Reads the text of a file, stopping one byte past the limit of a conversation.
fn text_of(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(Conversation::FILE_MAX.0 + 1).read_to_string(&mut text)?;
    Ok(text)
}
