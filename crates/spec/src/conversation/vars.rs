//! Values that each connection is given when it begins.

use super::Template;
use crate::secrets::is_secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value that templates refer to by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Var {
    /// The name.
    pub name: String,
    /// The way in which a connection is given its value.
    pub fill: Fill,
}

/// The ways in which a connection is given a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// A text with holes, which may name values before it.
    Template(Template),
    /// One of these, drawn with the seed.
    Pick(Vec<String>),
    /// A column of a CSV file: connection number `n` has row `n`. Columns of one file stay together.
    Column {
        /// The path of the file.
        file: String,
        /// The name of the column.
        column: String,
        /// The rule for connections that are more than rows.
        end: AtEnd,
        /// The values of its rows. They may be secrets; absent in what is written down.
        #[serde(default, skip_serializing)]
        values: Option<Vec<String>>,
    },
    /// A secret, the same for all connections.
    Secret {
        /// The place where it is kept.
        from: SecretSource,
        /// The secret; absent in what is written down.
        #[serde(default, skip_serializing)]
        value: Option<String>,
    },
}

/// The connections that are more than the rows of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// Begin again with the first row.
    #[default]
    Wrap,
    /// There are none: a load with more connections than rows is refused before it runs.
    Stop,
}

/// The place where a secret is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A variable of the environment.
    Env(String),
    /// A file; line ends behind the secret do not belong to it.
    File(String),
}

impl Var {
    /// The number of rows of a file that does not start over, and its name.
    pub(super) fn rows_max(&self) -> Option<(usize, &str)> {
        match &self.fill {
            Fill::Column { end: AtEnd::Stop, values: Some(values), file, .. } => {
                Some((values.len(), file))
            }
            Fill::Column { .. } | Fill::Template(_) | Fill::Pick(_) | Fill::Secret { .. } => None,
        }
    }

    /// The value of a secret; or all values of a column that its file or this value names like a secret.
    pub(super) fn secrets(&self) -> &[String] {
        match &self.fill {
            Fill::Secret { value, .. } => value.as_slice(),
            Fill::Column { column, values, .. } if is_secret(column) || is_secret(&self.name) => {
                values.as_deref().unwrap_or_default()
            }
            Fill::Column { .. } | Fill::Template(_) | Fill::Pick(_) => &[],
        }
    }

    /// Removes the value of a secret, and the rows of a file.
    pub(super) fn forget(&mut self) {
        match &mut self.fill {
            Fill::Template(_) | Fill::Pick(_) => {}
            Fill::Column { values, .. } => *values = None,
            Fill::Secret { value, .. } => *value = None,
        }
    }
}
