//! Join files: everything that a process needs to join a fleet, in one file that only its owner may read.

use crate::protocol::Name;
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A way into a fleet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The address of the NATS server: `nats://host:4222`, or `tls://host:4222`.
    pub url: String,
    /// The name of the member.
    pub name: Name,
    /// The task that its permissions are for.
    pub role: Role,
    /// Its secret key, as NATS writes it (`SU…`); `None` if the server asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The file with the authority's certificate in PEM; a relative path starts at the folder of the join file. `None`:
    /// no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

/// The tasks that a join file can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Measures its part.
    Agent,
    /// Leads runs, and makes the log if there is none.
    Controller,
    /// Watches the server on its machine.
    Watch,
}

/// Leaves the key out.
impl std::fmt::Debug for Join {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url, name, role, seed: _, ca } = self;
        f.debug_struct("Join")
            .field("url", url)
            .field("name", name)
            .field("role", role)
            .field("ca", ca)
            .finish_non_exhaustive()
    }
}

/// The reason why a join file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// It cannot be read or written.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// The reason.
        error: std::io::Error,
    },
    /// Users other than its owner may read or write it.
    #[error("{file} has the mode {mode:04o}, so others can take its key; `chmod 600 {file}`")]
    Open {
        /// The file.
        file: String,
        /// Its permissions.
        mode: u32,
    },
    /// It is not a join file.
    #[error("{file} is not a join file: {reason}; `wirebench fleet keys` writes them")]
    Garbage {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// It is for another task.
    #[error("{file} is for {found}, but this needs one for {wanted}")]
    Role {
        /// The file.
        file: String,
        /// Its task.
        found: &'static str,
        /// The task that it needs.
        wanted: &'static str,
    },
}

impl Role {
    /// The task in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Agent => "an agent",
            Self::Controller => "a controller",
            Self::Watch => "a watch",
        }
    }
}

impl Join {
    /// Reads the join file of a member with the task `wanted`.
    ///
    /// # Errors
    ///
    /// [`JoinError`], which never contains the key.
    pub fn read(path: &Path, wanted: Role) -> Result<Self, JoinError> {
        let file = || path.display().to_string();
        let failed = |error| JoinError::File { file: file(), error };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        let mode = metadata.mode() & 0o7777;
        // A file lent by a service manager belongs to another user, and a group of this process may read it.
        let is_lent = metadata.uid() != rustix::process::getuid().as_raw();
        let allowed = if is_lent { 0o740 } else { 0o700 };
        if mode & !allowed & 0o777 != 0 {
            return Err(JoinError::Open { file: file(), mode });
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        // The parser's full error shows the line, which may contain the key.
        let garbage = |error: toml::de::Error| JoinError::Garbage {
            file: file(),
            reason: error.message().to_owned(),
        };
        let join: Self = toml::from_str(&text).map_err(garbage)?;
        if join.role != wanted {
            let (found, wanted) = (join.role.in_words(), wanted.in_words());
            return Err(JoinError::Role { file: file(), found, wanted });
        }
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        Ok(Self { ca: join.ca.as_ref().map(|ca| folder.join(ca)), ..join })
    }

    /// Writes it to a new file, which only its owner may read. An existing file is left alone.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or exists already.
    pub fn write(&self, path: &Path) -> Result<(), JoinError> {
        let text = toml::to_string(self).expect("its keys are texts");
        let about = format!(
            "# How {} joins a fleet as {}. It holds a key.\n",
            self.name,
            self.role.in_words()
        );
        write_secret(path, (about + &text).as_bytes())
    }
}

/// Writes a new file that only its owner may read.
pub(crate) fn write_secret(path: &Path, content: &[u8]) -> Result<(), JoinError> {
    let mode = (Mode::RUSR | Mode::WUSR).bits();
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| file.write_all(content));
    written.map_err(|error| JoinError::File { file: path.display().to_string(), error })
}
