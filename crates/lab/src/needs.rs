//! What has to be there before a subject is installed, and Debian's packages.

use crate::home::{InstallError, succeed};
use crate::{From, Needs, command};
use std::path::Path;
use units::Nanos;

/// What is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Programs and files; packages where the manifest names neither.
    pub(crate) what: Vec<String>,
    /// Debian's packages of the manifest that are not installed.
    pub(crate) packages: Vec<String>,
}

/// What of `needs` is not there; `None` if all is. Where a manifest names programs or files, they decide, because they
/// may come from elsewhere than from the packages that it names.
pub(crate) fn missing(needs: &Needs) -> Option<Missing> {
    let programs = needs.programs.iter().filter(|program| !is_on_path(program));
    let files = needs.files.iter().filter(|file| !Path::new(file).exists());
    let mut what: Vec<String> = programs.chain(files).cloned().collect();
    if needs.programs.is_empty() && needs.files.is_empty() {
        what = not_installed(&needs.packages);
    }
    (!what.is_empty()).then(|| Missing { what, packages: not_installed(&needs.packages) })
}

/// Those of Debian's `packages` that are not installed; none where there is no `dpkg-query`.
pub(crate) fn not_installed(packages: &[String]) -> Vec<String> {
    let is_missing = |package: &&String| {
        ask(&["dpkg-query", "--show", "--showformat=${db:Status-Status}", package])
            .is_some_and(|outcome| outcome.said != "installed")
    };
    packages.iter().filter(is_missing).cloned().collect()
}

/// Fetches Debian's `packages` and unpacks them, without installing them, into [`UNPACKED`] of `folder`.
pub(crate) fn fetch_unpacked(packages: &[String], folder: &Path) -> Result<(), InstallError> {
    let at = |error: std::io::Error| InstallError::File {
        path: folder.to_owned(),
        reason: error.to_string(),
    };
    let fetched = folder.join(FETCHED);
    std::fs::create_dir_all(&fetched).map_err(at)?;
    let mut download = vec!["apt-get".to_owned(), "download".to_owned()];
    download.extend(packages.iter().cloned());
    succeed(&download, &fetched, From::Apt, true, &[])?;
    for entry in fetched.read_dir().map_err(at)? {
        let package = entry.map_err(at)?.path();
        let unpack = [
            "dpkg".to_owned(),
            "-x".to_owned(),
            package.display().to_string(),
            UNPACKED.to_owned(),
        ];
        succeed(&unpack, folder, From::Apt, false, &[])?;
    }
    std::fs::remove_dir_all(&fetched).map_err(at)
}

fn is_on_path(program: &str) -> bool {
    ask(&["sh", "-c", "command -v \"$0\"", program]).is_some_and(|outcome| outcome.is_good)
}

fn ask(words: &[&str]) -> Option<command::Outcome> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    command::run(&words, Path::new("/"), ASK_MAX).ok()
}

/// Where packages are unpacked, in the folder of a subject.
const UNPACKED: &str = "package";

/// Where they lie until then.
const FETCHED: &str = ".fetched";

/// How long such a question may take.
const ASK_MAX: Nanos = Nanos::from_secs(60);
