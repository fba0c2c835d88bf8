//! The front end of the report: its types are checked where nothing is written into the sources.

use crate::packages::{self, Need};
use crate::shell;
use anyhow::Result;
use std::fs;

/// Checks the types of `crates/report/web` in a copy below the target folder.
pub(crate) fn check() -> Result<()> {
    packages::ensure(&[Need::debian("node", "nodejs"), Need::debian("npm", "npm")])?;
    let source = shell::root().join("crates/report/web");
    let folder = shell::target().join("report-web");
    fs::create_dir_all(&folder)?;
    shell::output(shell::command("cp").arg("-R").arg(source.join(".")).arg(&folder))?;
    let lock = fs::read(folder.join("package-lock.json"))?;
    let stamp = folder.join(".installed");
    if !fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        shell::output(shell::command("npm").args(flags).current_dir(&folder))?;
        fs::write(stamp, lock)?;
    }
    let check = ["run", "--silent", "check"];
    shell::output(shell::command("npm").args(check).current_dir(folder)).map(drop)
}
