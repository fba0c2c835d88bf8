//! What a subject needs to be shipped: packages with all that they need, bytes, the size and the time of a build.
//!
//! Everything is asked of the tools that brought it, or measured on the files that lie there; what cannot be asked says
//! why. `registries` has a module's worth of functions for each kind of package, `weigh` adds files up, `kept` has what
//! was measured before.
//!
//! Start reading at [`footprint`].

mod kept;
mod registries;
mod weigh;

use crate::{Manifest, Subject};
use engine::clock::Clock;
use registries::Packages;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use units::Nanos;

/// Weighs a subject that is installed in `installed`. `scratch` is an empty folder that may be filled.
///
/// Packages are the library with all that it needs, itself among them, as its registry counts them; installed bytes
/// those of their files (of Debian's packages what they declare). The build is that of the manifest, from clean and
/// with everything fetched before: from its first command's start to its last one's end, by the wall clock.
pub fn footprint(subject: &Subject, installed: &Path, scratch: &Path) -> record::Footprint {
    let manifest = &subject.manifest;
    let mut found = of_nothing(subject);
    match registries::packages(manifest, installed, scratch) {
        Ok(Packages { count, installed_bytes, download_bytes, floor_bytes }) => {
            found.packages = Some(count);
            found.installed_bytes = Some(installed_bytes);
            found.download_bytes = download_bytes;
            found.floor_bytes = floor_bytes;
            if download_bytes.is_none() {
                let reason = format!("{} does not keep what it fetched", manifest.from.name());
                found.missing.insert("download_bytes".to_owned(), reason);
            }
        }
        Err(reason) => {
            for field in &FIELDS[..3] {
                found.missing.insert((*field).to_owned(), reason.clone());
            }
        }
    }
    match program(manifest, installed) {
        Ok(bytes) => found.program_bytes = Some(bytes),
        Err(reason) => drop(found.missing.insert("program_bytes".to_owned(), reason)),
    }
    match build(manifest, installed, &scratch.join("build")) {
        Ok(took) => found.build_ns = Some(took.0),
        Err(reason) => drop(found.missing.insert("build_ns".to_owned(), reason)),
    }
    found
}

/// Of a subject that is not weighed: nothing of it is known, because of `reason`.
pub fn not_weighed(subject: &Subject, reason: &str) -> record::Footprint {
    let missing = FIELDS.iter().map(|field| ((*field).to_owned(), reason.to_owned()));
    record::Footprint { missing: missing.collect(), ..of_nothing(subject) }
}

fn of_nothing(subject: &Subject) -> record::Footprint {
    let manifest = &subject.manifest;
    record::Footprint {
        subject: subject.name.clone(),
        library: format!("{} {}", manifest.library, manifest.version),
        from: manifest.from.name().to_owned(),
        ..record::Footprint::default()
    }
}

/// The size of what the build makes.
fn program(manifest: &Manifest, installed: &Path) -> Result<u64, String> {
    if manifest.built.is_empty() {
        return Err("it runs as it is fetched or written".to_owned());
    }
    manifest.built.iter().map(|path| weigh::bytes(&installed.join(path))).sum()
}

/// How long a build from clean takes, in a copy of the folder without what an earlier one made.
fn build(manifest: &Manifest, installed: &Path, copy: &Path) -> Result<Nanos, String> {
    if manifest.build.is_empty() {
        return Err("nothing is built".to_owned());
    }
    output(Command::new("cp").arg("-a").arg(installed).arg(copy))?;
    for made in manifest.built.iter().filter_map(|path| outermost(path)) {
        let made = copy.join(made);
        let removed =
            if made.is_dir() { fs::remove_dir_all(&made) } else { fs::remove_file(&made) };
        removed.map_err(|error| format!("cannot remove {}: {error}", made.display()))?;
    }
    let clock = Clock::start();
    let began = clock.now();
    for words in &manifest.build {
        let Some((program, arguments)) = words.split_first() else { continue };
        let program = match copy.join(program) {
            of_its_own if program.contains('/') => of_its_own,
            _ => PathBuf::from(program),
        };
        let mut command = Command::new(program);
        // Go keeps what it has compiled outside of the folder: without a place of its own nothing would be built.
        command.args(arguments).current_dir(copy).env("GOCACHE", copy.join(".go-build"));
        output(&mut command)?;
    }
    Ok(clock.now().since(began))
}

/// What of a path lies directly in its folder: with it, all that a build leaves beside its result is gone.
fn outermost(path: &str) -> Option<OsString> {
    let normal = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::ParentDir | Component::Prefix(_) | Component::RootDir => {
            None
        }
    };
    Path::new(path).components().find_map(normal)
}

/// What a command says, or what it said of its failure.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let ended =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("without a word");
    Err(format!("{name} failed ({}): {last}", ended.status))
}

/// What is measured of every subject.
const FIELDS: [&str; 5] =
    ["packages", "installed_bytes", "download_bytes", "program_bytes", "build_ns"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_build_forgets_the_whole_folder_that_the_last_one_made() {
        for (path, expected) in
            [("target/release/echo", Some("target")), ("./client", Some("client")), ("/", None)]
        {
            assert_eq!(outermost(path), expected.map(OsString::from), "{path}");
        }
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_last_words() {
        let failed =
            output(Command::new("sh").args(["-c", "echo first >&2; echo why >&2; exit 3"]));
        assert_eq!(failed, Err("sh failed (exit status: 3): why".to_owned()));
    }
}
