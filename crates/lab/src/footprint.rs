//! The footprint of a subject: packages with all that they need, bytes, the size and the time of a build.
//!
//! Everything is asked of the tools that brought it, or measured on its files; a field that cannot be asked says why.
//! `registries` has a function for each kind of package, `weigh` adds files up, `kept` keeps footprints.
//!
//! Start reading at [`footprint`].

mod kept;
mod registries;
mod weigh;

use crate::tools::Tools;
use crate::{Manifest, Subject};
use engine::clock::Clock;
use registries::{Packages, words};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path};
use units::Nanos;

/// Weighs a subject that is installed in `installed`. `scratch` is an empty folder that may be filled.
///
/// Packages are the library with all that it needs, itself among them, as its registry counts them; installed bytes
/// those of their files (of Debian's packages what they declare). The build is that of the manifest, from clean and
/// with everything fetched before: from its first command's start to its last one's end, by the wall clock.
pub fn footprint(
    subject: &Subject,
    installed: &Path,
    scratch: &Path,
    tools: &Tools,
) -> record::Footprint {
    let manifest = &subject.manifest;
    let mut found = of_nothing(subject);
    match registries::packages(manifest, installed, scratch, tools) {
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
    match build(manifest, installed, &scratch.join("build"), tools) {
        Ok(took) => found.build_ns = Some(took.0),
        Err(reason) => drop(found.missing.insert("build_ns".to_owned(), reason)),
    }
    found
}

/// The footprint of a subject that is not weighed, because of `reason`.
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

/// The size of the results of the build.
fn program(manifest: &Manifest, installed: &Path) -> Result<u64, String> {
    if manifest.built.is_empty() {
        return Err("it runs as it is fetched or written".to_owned());
    }
    manifest.built.iter().map(|path| weigh::bytes(&installed.join(path))).sum()
}

/// The time of a build from clean, in a copy of the folder without the results of an earlier one.
fn build(
    manifest: &Manifest,
    installed: &Path,
    copy: &Path,
    tools: &Tools,
) -> Result<Nanos, String> {
    if manifest.build.is_empty() {
        return Err("nothing is built".to_owned());
    }
    let paths = [installed, copy].map(|path| path.display().to_string());
    tools.output(&words(&["cp", "-a", &paths[0], &paths[1]]), Path::new("/"))?;
    for made in manifest.built.iter().filter_map(|path| outermost(path)) {
        let made = copy.join(made);
        let removed =
            if made.is_dir() { fs::remove_dir_all(&made) } else { fs::remove_file(&made) };
        removed.map_err(|error| format!("cannot remove {}: {error}", made.display()))?;
    }
    // Go keeps what it has compiled outside of the folder: without a place of its own nothing would be built.
    let cache = format!("GOCACHE={}", copy.join(".go-build").display());
    let clock = Clock::start();
    let began = clock.now();
    for command in &manifest.build {
        let command = [words(&["env", &cache]), command.clone()].concat();
        tools.output(&command, copy)?;
    }
    Ok(clock.now().since(began))
}

/// The first folder or file of a path: removed with it is all that a build leaves beside its result.
fn outermost(path: &str) -> Option<OsString> {
    let normal = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::ParentDir | Component::Prefix(_) | Component::RootDir => {
            None
        }
    };
    Path::new(path).components().find_map(normal)
}

/// The fields that every footprint has, or has a reason for.
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
}
