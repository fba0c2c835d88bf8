//! The front ends: checks their types, and that the committed builds are what their sources become, without writing
//! into the sources.

use crate::packages::{self, Need};
use crate::shell;
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;

/// Checks the types of the report's front end and of that of `wirebench ui`, in copies below the target folder, and
/// that both are committed as they are built.
pub(crate) fn check() -> Result<()> {
    packages::ensure(&[Need::debian("node", "nodejs"), Need::debian("npm", "npm")])?;
    let folder = shell::target().join("front-end");
    // The page shares modules and colours with the report.
    for part in ["report/web", "report/templates", "web/page"] {
        let (source, to) = (shell::root().join("crates").join(part), folder.join(part));
        fs::create_dir_all(&to)?;
        shell::output(shell::command("cp").arg("-R").arg(source.join(".")).arg(&to))?;
    }
    for (part, made) in
        [("report/web", ["report.js", "report.css"]), ("web/page", ["ui.js", "ui.css"])]
    {
        let page = folder.join(part);
        install(&page)?;
        npm(&page, "check")?;
        npm(&page, "build")?;
        for name in made {
            let committed = shell::root().join("crates").join(part).join("dist").join(name);
            ensure!(
                fs::read(&committed).ok() == Some(fs::read(page.join("dist").join(name))?),
                "crates/{part}/dist/{name} is not what its source becomes: `npm ci && npm run build` in \
                 crates/{part} makes it anew"
            );
        }
    }
    Ok(())
}

/// Installs what a front end needs, unless that was done for the same lock file.
fn install(folder: &Path) -> Result<()> {
    let lock = fs::read(folder.join("package-lock.json"))?;
    let stamp = folder.join(".installed");
    if !fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        shell::output(shell::command("npm").args(flags).current_dir(folder))?;
        fs::write(stamp, lock)?;
    }
    Ok(())
}

fn npm(folder: &Path, script: &str) -> Result<()> {
    shell::output(shell::command("npm").args(["run", "--silent", script]).current_dir(folder))
        .map(drop)
}
