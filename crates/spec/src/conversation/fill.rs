//! Secrets and rows of files, read into the values of a conversation.

use super::{Conversation, Fill, SecretSource, Var, csv};
use crate::{Environment, Lifetime, Load, Problem, Read};
use std::collections::BTreeMap;
use units::Bytes;

impl Conversation {
    /// The conversation with its secrets and the rows of its files. Reads those that it does not have yet.
    ///
    /// # Errors
    ///
    /// The value that cannot be read, with the reason. The message has neither secrets nor values of files.
    pub fn filled(
        mut self,
        read: &Read<'_>,
        environment: &Environment<'_>,
    ) -> Result<Self, Problem> {
        let mut files = BTreeMap::new();
        for Var { name, fill } in &mut self.vars {
            let problem =
                |message: String| Problem::new("conversation", format!("`{name}`: {message}"));
            match fill {
                Fill::Template(_) | Fill::Pick(_) => {}
                Fill::Column { file, column, values, .. } => {
                    if values.is_none() {
                        let text =
                            files.entry(file.clone()).or_insert_with(|| text(file, CSV_MAX, read));
                        let text = text.as_ref().map_err(|error| problem(error.clone()))?;
                        let column = csv::column(text, column);
                        *values = Some(column.map_err(|error| problem(format!("{file} {error}")))?);
                    }
                }
                Fill::Secret { from, value } => {
                    if value.is_none() {
                        *value = Some(from.read(read, environment).map_err(problem)?);
                    }
                }
            }
        }
        if let Some(publishers) = self.publishers {
            self.publishers = Some(Box::new(publishers.filled(read, environment)?));
        }
        Ok(self)
    }

    /// Refuses a load in rooms for a conversation that does not fit rooms, or the reverse; and one with more
    /// connections than there are rows in the shortest file that does not start over (`end = "stop"`).
    ///
    /// # Errors
    ///
    /// The misfit with rooms; or the file, with its rows and the connections.
    pub fn check_load(&self, load: &Load) -> Result<(), Problem> {
        if load.rooms().is_some() {
            self.check_rooms()?;
        } else if self.publishers.is_some() {
            let name = &self.name;
            let message = format!(
                "connections of `{name}` receive, and others publish: ask for rooms, with --publish (docs/PUSH.md)"
            );
            return Err(Problem::new("conversation", message));
        }
        let Some((rows, file)) = self.vars.iter().filter_map(Var::rows_max).min() else {
            return Ok(());
        };
        let problem = |message: String| Err(Problem::new("conversation", message));
        let connections = load.connections().get();
        if load.lifetime() != Lifetime::Long {
            return problem(format!(
                "{file} has {rows} rows and is to end (end = \"stop\"), but connections follow each other without end; \
                 use --bots, --rate or --connections, or say end = \"wrap\""
            ));
        }
        if u32::try_from(rows).is_ok_and(|rows| connections > rows) {
            return problem(format!(
                "{connections} connections are more than the {rows} rows of {file}, which is to end (end = \"stop\"); \
                 use at most {rows}, or say end = \"wrap\""
            ));
        }
        Ok(())
    }

    /// Refuses a conversation that does not say what is published, or what is received.
    fn check_rooms(&self) -> Result<(), Problem> {
        let name = &self.name;
        let problem = |message: String| Err(Problem::new("conversation", message));
        let requests = &self.of_publishers().requests;
        match requests.iter().filter(|request| request.has_header()).count() {
            0 => problem(format!(
                "`{name}` does not say what is published: no request has a `${{header}}` (docs/PUSH.md)"
            )),
            1 if self.is_for_rooms() => Ok(()),
            1 => problem(format!(
                "`{name}` does not say what receivers get: no `[push.NAME]` has a `header` (docs/PUSH.md)"
            )),
            count => problem(format!(
                "`{name}` has {count} requests with a `${{header}}`, and one is published; leave out the others"
            )),
        }
    }
}

impl SecretSource {
    fn read(&self, read: &Read<'_>, environment: &Environment<'_>) -> Result<String, String> {
        match self {
            Self::Env(variable) => environment(variable).ok_or_else(|| {
                format!(
                    "the variable `{variable}` of the environment is not set, or not UTF-8; set it"
                )
            }),
            Self::File(file) => {
                let secret = text(file, SECRET_MAX, read)?;
                Ok(secret.trim_end_matches(['\r', '\n']).to_owned())
            }
        }
    }
}

fn text(file: &str, max: Bytes, read: &Read<'_>) -> Result<String, String> {
    String::from_utf8(read(file, max)?).map_err(|_| format!("{file} is not UTF-8"))
}

/// The largest CSV file.
const CSV_MAX: Bytes = Bytes(64 << 20);
/// The largest file of a secret; secrets are much shorter.
const SECRET_MAX: Bytes = Bytes(1 << 20);
