//! Secrets and rows of files, read into the values of a conversation.

use super::{Conversation, Fill, SecretSource, Var, csv};
use crate::{Environment, Problem, Read};
use std::collections::BTreeMap;
use units::Bytes;

impl Conversation {
    /// The conversation with its secrets and the rows of its files, read where they are not there yet.
    ///
    /// # Errors
    ///
    /// The value that cannot be read, with the reason. Neither a secret nor a value of a file is in it.
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
        Ok(self)
    }

    /// The fewest rows of its files that may not begin again, with the name of that file: more connections than that
    /// it does not serve. `None` if there is no such file, or it was not read.
    pub fn connections_max(&self) -> Option<(usize, &str)> {
        self.vars.iter().filter_map(Var::rows_max).min()
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

/// A file of CSV has at most so many bytes.
const CSV_MAX: Bytes = Bytes(64 << 20);
/// A secret is much shorter.
const SECRET_MAX: Bytes = Bytes(1 << 20);
