//! The packages that a subject needs, as the tool that installed them reports them, and their sizes.

use super::weigh;
use crate::tools::Tools;
use crate::{From, Manifest};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Packages with their dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packages {
    pub(super) count: u64,
    pub(super) installed_bytes: u64,
    /// `None` where the archives are not kept and their sizes are not declared.
    pub(super) download_bytes: Option<u64>,
    /// The part that every program of the language needs.
    pub(super) floor_bytes: Option<u64>,
}

/// The packages that the library of a subject needs. Files may be put into `scratch`.
pub(super) fn packages(
    manifest: &Manifest,
    installed: &Path,
    scratch: &Path,
    tools: &Tools,
) -> Result<Packages, String> {
    match manifest.from {
        From::Apt => debian(manifest, scratch, tools),
        From::Cargo => cargo(installed, tools),
        From::Composer => composer(installed),
        From::Go => go(installed, tools),
        From::Maven => maven(manifest, installed, scratch, tools),
        From::Npm => npm(installed, tools),
        From::Own => Ok(Packages { download_bytes: Some(0), ..Packages::default() }),
        From::Pip => pip(installed, tools),
    }
}

/// A command of these words.
pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Debian: the library's packages and their dependencies on a machine without any, by the sizes that they declare.
fn debian(manifest: &Manifest, scratch: &Path, tools: &Tools) -> Result<Packages, String> {
    let needs = &manifest.needs;
    let all_packages: Vec<String> = needs.all_packages().map(str::to_owned).collect();
    let of_library = if needs.library.is_empty() { &all_packages } else { &needs.library };
    let status = scratch.join("no-packages");
    fs::write(&status, "").map_err(|error| format!("{}: {error}", status.display()))?;
    let closure = |packages: &[String]| closure(packages, &status, tools);
    let mut all = closure(of_library)?;
    // Without their dependencies: that is why they are only unpacked.
    all.extend(needs.unpacked.iter().cloned());
    let declared = |packages: &BTreeSet<String>| declared(packages, tools);
    let of_all = declared(&all)?;
    let of_language = match all.contains("libc6-dev") {
        // The unpacked packages are the library, and it runs on the others.
        _ if needs.library.is_empty() && !needs.unpacked.is_empty() => &all_packages[..],
        true => &["libc6-dev".to_owned()],
        false => &["libc6".to_owned()],
    };
    let floor = declared(&closure(of_language)?)?;
    if of_all.count < all.len() as u64 {
        return Err(format!(
            "{} of {} packages declare their size; `apt-get update` fetches the lists",
            of_all.count,
            all.len()
        ));
    }
    Ok(Packages { floor_bytes: Some(floor.installed_bytes), ..of_all })
}

/// The packages that installing `packages` would install where nothing is installed.
fn closure(packages: &[String], status: &Path, tools: &Tools) -> Result<BTreeSet<String>, String> {
    if packages.is_empty() {
        return Ok(BTreeSet::new());
    }
    let status = format!("Dir::State::status={}", status.display());
    let mut simulate = words(&["apt-get", "-o", &status, "-o", "Debug::NoLocking=1"]);
    simulate.extend(words(&["install", "-s", "--no-install-recommends"]));
    simulate.extend(packages.iter().cloned());
    Ok(to_be_installed(&tools.output(&simulate, Path::new("/"))?))
}

fn to_be_installed(said: &str) -> BTreeSet<String> {
    let names = said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The sizes that packages declare.
fn declared(packages: &BTreeSet<String>, tools: &Tools) -> Result<Packages, String> {
    let mut show = words(&["apt-cache", "show", "--no-all-versions"]);
    show.extend(packages.iter().cloned());
    Ok(sum_of_declared(&tools.output(&show, Path::new("/"))?))
}

fn sum_of_declared(said: &str) -> Packages {
    let sum = |name: &str| -> u64 {
        let values =
            said.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        values.sum()
    };
    let count = said.lines().filter(|line| line.starts_with("Installed-Size:")).count() as u64;
    Packages {
        count,
        installed_bytes: sum("Installed-Size:") * 1024,
        download_bytes: Some(sum("Size:")),
        floor_bytes: None,
    }
}

/// Cargo: the crates that are linked into the program, by the size of their sources.
fn cargo(installed: &Path, tools: &Tools) -> Result<Packages, String> {
    let ask = |question: &[&str]| {
        let command = [&["cargo"], question, &["--offline", "--locked"]].concat();
        tools.output(&words(&command), installed)
    };
    let tree = ask(&["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"])?;
    let metadata = ask(&["metadata", "--format-version", "1"])?;
    let mut sum = Packages { download_bytes: Some(0), ..Packages::default() };
    for folder in crates_in(&tree, &metadata)? {
        sum.count += 1;
        sum.installed_bytes += weigh::bytes(&folder)?;
        let fetched = fetched_crate(&folder).and_then(|file| fs::metadata(file).ok());
        sum.download_bytes = sum.download_bytes.zip(fetched).map(|(sum, file)| sum + file.len());
    }
    Ok(sum)
}

/// The folders of the crates that `tree` names, without the program's own.
fn crates_in(tree: &str, metadata: &str) -> Result<BTreeSet<PathBuf>, String> {
    let named: BTreeSet<(&str, &str)> = tree
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let all = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let folder = |package: &Value| {
        let key = (package["name"].as_str()?, package["version"].as_str()?);
        let manifest = Path::new(package["manifest_path"].as_str()?);
        named.contains(&key).then(|| manifest.parent().map(Path::to_owned)).flatten()
    };
    Ok(all.iter().filter_map(folder).collect())
}

/// The archive that a crate's folder was unpacked from.
fn fetched_crate(folder: &Path) -> Option<PathBuf> {
    let (name, registry) = (folder.file_name()?.to_str()?, folder.parent()?);
    let root = registry.parent()?.parent()?;
    Some(root.join("cache").join(registry.file_name()?).join(format!("{name}.crate")))
}

/// PHP: everything that composer has installed.
fn composer(installed: &Path) -> Result<Packages, String> {
    let list = installed.join("vendor/composer/installed.json");
    let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let count = list["packages"].as_array().map_or(0, Vec::len) as u64;
    let installed_bytes = weigh::bytes(&installed.join("vendor"))?;
    Ok(Packages { count, installed_bytes, ..Packages::default() })
}

/// Go: the modules that are linked into the program, by the size of their sources.
fn go(installed: &Path, tools: &Tools) -> Result<Packages, String> {
    let format = "{{if not .Standard}}{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}{{end}}";
    let list = tools.output(&words(&["go", "list", "-deps", "-f", format, "."]), installed)?;
    let modules: BTreeSet<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    let mut sum = Packages { download_bytes: Some(0), ..Packages::default() };
    for module in modules {
        // Without a proxy, this downloads nothing, and only describes modules that were downloaded before.
        let name = words(&["env", "GOPROXY=off", "go", "mod", "download", "-json", module]);
        let said = tools.output(&name, installed)?;
        let facts: Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
        let weight = |field: &str| {
            let path = facts[field].as_str().ok_or_else(|| format!("{module} has no {field}"))?;
            weigh::bytes(Path::new(path))
        };
        sum.count += 1;
        sum.installed_bytes += weight("Dir")?;
        let fetched = weight("Zip").ok();
        sum.download_bytes = sum.download_bytes.zip(fetched).map(|(sum, bytes)| sum + bytes);
    }
    Ok(sum)
}

/// Maven: the archives that the program runs with.
fn maven(
    manifest: &Manifest,
    installed: &Path,
    scratch: &Path,
    tools: &Tools,
) -> Result<Packages, String> {
    let archives = match archives_built(manifest, installed)? {
        archives if archives.is_empty() => archives_on_class_path(installed, scratch, tools)?,
        archives => archives,
    };
    let bytes = archives.iter().map(|path| weigh::bytes(path)).sum::<Result<u64, _>>()?;
    Ok(Packages {
        count: archives.len() as u64,
        installed_bytes: bytes,
        // They run as they were fetched.
        download_bytes: Some(bytes),
        floor_bytes: None,
    })
}

/// The archives that the build has put beside the program, in a folder that the manifest names.
fn archives_built(manifest: &Manifest, installed: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut archives = BTreeSet::new();
    for folder in
        manifest.built.iter().map(|path| installed.join(path)).filter(|path| path.is_dir())
    {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let paths = entries.flatten().map(|entry| entry.path());
        archives.extend(paths.filter(|path| path.extension().is_some_and(|it| it == "jar")));
    }
    Ok(archives)
}

fn archives_on_class_path(
    installed: &Path,
    scratch: &Path,
    tools: &Tools,
) -> Result<BTreeSet<PathBuf>, String> {
    let file = scratch.join("class-path");
    let to_file = format!("-Dmdep.outputFile={}", file.display());
    let ask = words(&["mvn", "-o", "-q", "-B", "dependency:build-classpath", &to_file]);
    tools.output(&ask, installed)?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.trim().split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
}

/// Node: every package below `node_modules`.
fn npm(installed: &Path, tools: &Tools) -> Result<Packages, String> {
    let list = tools.output(&words(&["npm", "ls", "--all", "--parseable"]), installed)?;
    // The first line is the program itself.
    let count = list.lines().skip(1).filter(|line| !line.is_empty()).count() as u64;
    let installed_bytes = weigh::bytes(&installed.join("node_modules"))?;
    Ok(Packages { count, installed_bytes, ..Packages::default() })
}

/// Python: every distribution in the environment, except those that install others.
fn pip(installed: &Path, tools: &Tools) -> Result<Packages, String> {
    let said = tools.output(&words(&["venv/bin/python", "-c", DISTRIBUTIONS]), installed)?;
    let sizes: Vec<u64> = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
    Ok(Packages {
        count: sizes.len() as u64,
        installed_bytes: sizes.iter().sum(),
        ..Packages::default()
    })
}

/// Prints the size of each distribution, one per line.
const DISTRIBUTIONS: &str = "\
import importlib.metadata, os
for one in importlib.metadata.distributions():
    if one.metadata['Name'].lower() not in ('pip', 'setuptools', 'wheel'):
        files = [one.locate_file(file) for file in one.files or []]
        print(sum(os.path.getsize(file) for file in files if os.path.isfile(file)))
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_says_what_would_be_installed_and_how_large_it_is() {
        let said = "Reading package lists...\nInst libc6 (2.36-9 Debian:12 [amd64])\n\
            Inst libz1 (1.2 Debian:12 [amd64])\nConf libc6 (2.36-9 Debian:12 [amd64])\n";
        let names = to_be_installed(said);
        assert_eq!(names, BTreeSet::from(["libc6".to_owned(), "libz1".to_owned()]));
        let said = "Package: libc6\nInstalled-Size: 12986\nSize: 2757168\nDescription: it\n\n\
            Package: libz1\nInstalled-Size: 14\nSize: 9\n";
        let expected = Packages {
            count: 2,
            installed_bytes: 13_000 * 1024,
            download_bytes: Some(2_757_177),
            floor_bytes: None,
        };
        assert_eq!(sum_of_declared(said), expected);
    }

    #[test]
    fn crates_are_those_of_the_tree_each_once_and_not_the_program() {
        let tree = "echo v0.1.0 (/there/echo)\nbytes v1.2.0\nws v0.3.0\nbytes v1.2.0 (*)\n";
        let metadata = serde_json::json!({"packages": [
            {"name": "echo", "version": "0.1.0", "manifest_path": "/there/echo/Cargo.toml"},
            {"name": "bytes", "version": "1.2.0", "manifest_path": "/r/src/x/bytes-1.2.0/Cargo.toml"},
            {"name": "bytes", "version": "0.9.0", "manifest_path": "/r/src/x/bytes-0.9.0/Cargo.toml"},
            {"name": "ws", "version": "0.3.0", "manifest_path": "/r/src/x/ws-0.3.0/Cargo.toml"},
        ]});
        let folders = crates_in(tree, &metadata.to_string()).unwrap();
        let expected = ["/r/src/x/bytes-1.2.0", "/r/src/x/ws-0.3.0"].map(PathBuf::from);
        assert_eq!(folders, BTreeSet::from(expected));
        let archive = fetched_crate(Path::new("/r/src/x/ws-0.3.0"));
        assert_eq!(archive, Some(PathBuf::from("/r/cache/x/ws-0.3.0.crate")));
    }
}
