//! The `[needs]` of a subject before it is installed, and Debian's packages.

use crate::error::at;
use crate::tools::Tools;
use crate::{From, InstallError, Needs};
use std::collections::BTreeSet;
use std::path::Path;

/// The part of `[needs]` that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Programs, files and packages.
    pub(crate) what: Vec<String>,
    /// The Debian packages that provide them and are not installed.
    pub(crate) packages: Vec<String>,
}

/// The part of `needs` that is missing; `None` if everything is present. A program or a file that is present may have
/// another source than Debian: then its packages are not missing.
pub(crate) fn missing(needs: &Needs, tools: &Tools) -> Option<Missing> {
    let programs = needs.programs.iter().filter(|(program, _)| !is_on_path(program, tools));
    let files = needs.files.iter().filter(|(file, _)| !Path::new(file).exists());
    let (mut what, mut wanted) = (Vec::new(), Vec::new());
    for (name, packages) in programs.chain(files) {
        what.push(name.clone());
        wanted.extend(packages.iter().map(String::as_str));
    }
    let others = not_installed(needs.packages.iter().map(String::as_str), tools);
    let mut packages = not_installed(wanted.into_iter(), tools);
    packages.extend(
        others.iter().filter(|other| !packages.contains(other)).cloned().collect::<Vec<_>>(),
    );
    what.extend(others);
    (!what.is_empty()).then_some(Missing { what, packages })
}

/// The Debian `packages` that are not installed, each once; empty where there is no `dpkg-query`.
pub(crate) fn not_installed<'a>(
    packages: impl Iterator<Item = &'a str>,
    tools: &Tools,
) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let each_once = packages.filter(|package| seen.insert(*package)).map(str::to_owned);
    let is_missing = |package: &String| {
        let ask = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package];
        is_on_path("dpkg-query", tools) && tools.ask(&ask).said != "installed"
    };
    each_once.filter(is_missing).collect()
}

/// Fetches the Debian `packages` and unpacks them, without installing them, into [`UNPACKED`] in `folder`.
pub(crate) fn fetch_unpacked(
    packages: &[String],
    folder: &Path,
    tools: &Tools,
) -> Result<(), InstallError> {
    let fetched = folder.join(FETCHED);
    std::fs::create_dir_all(&fetched).map_err(at(folder))?;
    let mut download = vec!["apt-get".to_owned(), "download".to_owned()];
    download.extend(packages.iter().cloned());
    tools.succeed(&download, &fetched, Some(From::Apt))?;
    for entry in fetched.read_dir().map_err(at(folder))? {
        let package = entry.map_err(at(folder))?.path();
        let unpack = ["dpkg", "-x", &package.display().to_string(), UNPACKED].map(str::to_owned);
        tools.succeed(&unpack, folder, None)?;
    }
    std::fs::remove_dir_all(&fetched).map_err(at(folder))
}

fn is_on_path(program: &str, tools: &Tools) -> bool {
    tools.ask(&["sh", "-c", "command -v \"$0\"", program]).is_good
}

/// The folder, inside a subject's, that packages are unpacked into.
const UNPACKED: &str = "package";

/// The folder of their archives until then.
const FETCHED: &str = ".fetched";
