//! Tells the program what it is built from and for: the commit, where git knows it, the target, and the list of all
//! files of subjects and experiments, which travel in it.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "how Cargo talks to a build script")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Some(output) = commit.ok().filter(|output| output.status.success()) {
        println!(
            "cargo::rustc-env=WIREBENCH_COMMIT={}",
            String::from_utf8_lossy(&output.stdout).trim()
        );
    }
    println!("cargo::rustc-env=WIREBENCH_TARGET={}", std::env::var("TARGET")?);
    let (list, hash) = carried()?;
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("carried.rs"), list)?;
    println!("cargo::rustc-env=WIREBENCH_CARRIED={hash:016x}");
    Ok(())
}

/// The files that travel in the program, as an expression of Rust, and a number that is another one if any of them is.
fn carried() -> Result<(String, u64), Box<dyn Error>> {
    let top = Path::new("../..");
    let mut files = Vec::new();
    for folder in ["experiments", "subjects"] {
        println!("cargo::rerun-if-changed=../../{folder}");
        collect(&top.join(folder), &mut files)?;
    }
    files.sort();
    let (mut list, mut hasher) = ("&[\n".to_owned(), DefaultHasher::new());
    for file in files {
        let path = file.strip_prefix(top)?.to_str().ok_or("a path that is not UTF-8")?;
        let may_run = file.metadata()?.permissions().mode() & 0o100 != 0;
        (path, may_run, fs::read(&file)?).hash(&mut hasher);
        let bytes =
            format!("include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../\", {path:?}))");
        writeln!(list, "    Carried {{ path: {path:?}, may_run: {may_run}, bytes: {bytes} }},")?;
    }
    Ok((list + "]\n", hasher.finish()))
}

/// Adds all files below `folder`, without those that tools make.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && !MADE.iter().any(|made| entry.file_name() == *made) {
            collect(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Folders that tools make; those of `subjects/.gitignore` among them.
const MADE: [&str; 8] =
    [".git", "__pycache__", "bin", "classes", "lib", "node_modules", "target", "venv"];
