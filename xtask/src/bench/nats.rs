//! The NATS server of a fleet that is measured or killed.

use crate::process::Process;
use crate::third_party;
use anyhow::Result;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Starts the installed server on `cores`, listening on `place`. Its log and its output are in `folder`, where
/// `wirebench fleet keys` has written the folder `keys` for it.
pub(super) fn start(place: &str, cores: impl Display, folder: &Path) -> Result<Process> {
    let config = format!(
        "listen: \"{place}\"\nping_interval: \"1s\"\nping_max: 2\nmax_payload: 1MB\n\
         jetstream {{ store_dir: \"{folder}/store\", sync_interval: \"always\" }}\n\
         authorization {{ include \"keys/users.conf\" }}\n",
        folder = folder.display()
    );
    let path = folder.join("nats.conf");
    fs::write(&path, config)?;
    let mut command = Command::new(third_party::nats_server());
    command.arg("--config").arg(&path);
    let mut server = Process::start("nats", cores, &command, folder)?;
    server.wait_for_words(0, &["Server is ready"], PATIENCE)?;
    Ok(server)
}

/// The longest time until it is ready.
const PATIENCE: Duration = Duration::from_secs(180);
