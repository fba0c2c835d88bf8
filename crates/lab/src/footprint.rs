//! The footprint of a subject: packages with their dependencies, bytes, the size and the time of a build.
//!
//! Every number comes from the tools that installed the subject, or from its files; a missing field has a reason.
//! `registries` has a function for each kind of package, `weigh` adds up file sizes, `kept` stores footprints.
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
/// The packages are the library and its dependencies, as its registry counts them; the installed bytes are those of
/// their files (for Debian packages, the bytes that they declare). The build is the manifest's, clean but with
/// everything fetched before: by the wall clock, from the start of its first command to the end of its last.
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
        let reason = match manifest.build.is_empty() {
            true => "nothing is built: it runs as fetched or written",
            false => "its manifest lists no `built` paths",
        };
        return Err(reason.to_owned());
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
    // Go caches what it has compiled outside of the folder: without a cache of its own, the build would compile
    // nothing.
    let cache = format!("GOCACHE={}", copy.join(".go-build").display());
    let clock = Clock::start();
    let began = clock.now();
    for command in &manifest.build {
        let command = [words(&["env", &cache]), command.clone()].concat();
        tools.output(&command, copy)?;
    }
    Ok(clock.now().since(began))
}

/// The first folder or file of a path: removing it also removes everything that a build leaves beside its result.
fn outermost(path: &str) -> Option<OsString> {
    let normal = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::ParentDir | Component::Prefix(_) | Component::RootDir => {
            None
        }
    };
    Path::new(path).components().find_map(normal)
}

/// The fields that every footprint either has or gives a reason for.
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
