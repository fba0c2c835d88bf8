//! Builds the front end of the HTML page with npm, below Cargo's own folder: nothing is written into the sources.
//!
//! Without npm, or without a network to install from, the crate builds all the same: its pages have static charts, and
//! this says so once.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "how Cargo talks to a build script")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=web");
    println!("cargo::rerun-if-env-changed=WIREBENCH_STATIC_REPORT");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let folder = out.join("web");
    let is_wanted = std::env::var_os("WIREBENCH_STATIC_REPORT").is_none();
    let built = if is_wanted {
        build(Path::new("web"), &folder)
    } else {
        Err("WIREBENCH_STATIC_REPORT is set".into())
    };
    if let Err(error) = &built {
        let first = error.to_string().lines().next().unwrap_or_default().to_owned();
        println!(
            "cargo::warning=reports will have static charts: the front end could not be built ({first})"
        );
    }
    for (made, name) in [("report.js", "front_end.js"), ("report.css", "front_end.css")] {
        let text = match &built {
            Ok(()) => fs::read_to_string(folder.join("dist").join(made))?,
            Err(_) => String::new(),
        };
        fs::write(out.join(name), text)?;
    }
    Ok(())
}

/// Copies `from` to `to`, installs what it needs, and builds it.
fn build(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let lock = fs::read(from.join("package-lock.json"))?;
    let stamp = to.join("installed");
    copy(from, to)?;
    if !fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
        // A machine without a network is told so at once.
        npm(to, &[&flags[..], &["--fetch-retries=0", "--fetch-timeout=30000"]].concat())?;
        fs::write(stamp, lock)?;
    }
    npm(to, &["run", "build", "--silent"])
}

fn npm(folder: &Path, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new("npm")
        .args(words)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().find(|line| line.starts_with("npm error") || line.contains("rror:"));
    Err(format!("npm {}: {}", words[0], reason.unwrap_or("failed")).into())
}

/// The files that are ours; not what npm may have left beside them.
fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_file() {
            fs::copy(source, target)?;
        } else if !["node_modules", "dist"].iter().any(|made| entry.file_name() == *made) {
            copy(&source, &target)?;
        }
    }
    Ok(())
}
