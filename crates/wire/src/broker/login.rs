//! Credentials that are not shown.

use std::fmt;

/// The credentials of a user at a broker. They are not shown, and no error quotes the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The name of the user; `None` is the default user of Redis, or a token of NATS.
    pub user: Option<String>,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}
