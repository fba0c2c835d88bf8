//! The store of self-test certificates: one file for each boot of the machine, in the user's cache folder.

use record::Certificate;
use std::env::var_os;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The certificate of the last self-test since this machine was started; `None` if there is none.
pub(crate) fn of_this_boot() -> Option<Certificate> {
    read(&folder()?, &boot_id()?)
}

/// Writes `certificate` for later runs and returns its path.
///
/// # Errors
///
/// The folder cannot be created, or the file cannot be written.
pub(crate) fn keep(certificate: &Certificate) -> io::Result<PathBuf> {
    let none = "neither XDG_CACHE_HOME nor HOME names an absolute path";
    let folder = folder().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, none))?;
    write(&folder, certificate)
}

/// The kernel's identifier of this boot; `None` if it has none.
pub(crate) fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    // It becomes a part of a file name.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    (!id.is_empty() && id.chars().all(plain)).then(|| id.to_owned())
}

/// `$XDG_CACHE_HOME/wirebench`, or `~/.cache/wirebench`.
pub(crate) fn folder() -> Option<PathBuf> {
    let absolute = |name| var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(cache?.join("wirebench"))
}

fn read(folder: &Path, boot_id: &str) -> Option<Certificate> {
    let text = fs::read_to_string(path(folder, boot_id)).ok()?;
    let certificate: Certificate = serde_json::from_str(&text).ok()?;
    (certificate.boot_id == boot_id).then_some(certificate)
}

fn write(folder: &Path, certificate: &Certificate) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = path(folder, &certificate.boot_id);
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&beside, serde_json::to_vec_pretty(certificate)?)?;
    fs::rename(&beside, &path)?;
    Ok(path)
}

fn path(folder: &Path, boot_id: &str) -> PathBuf {
    folder.join(format!("selftest-{boot_id}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(boot_id: &str) -> Certificate {
        Certificate { boot_id: boot_id.to_owned(), passed: true, ..Certificate::default() }
    }

    #[test]
    fn a_certificate_is_for_its_boot_alone() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        assert_eq!(read(&below, "one"), None);
        let path = write(&below, &certificate("one")).unwrap();
        assert_eq!(read(&below, "one"), Some(certificate("one")));
        assert_eq!(read(&below, "two"), None);

        // A file of another boot under this name is not taken for ours; nor is one that is broken.
        fs::rename(&path, below.join("selftest-two.json")).unwrap();
        assert_eq!(read(&below, "two"), None);
        fs::write(&path, "{").unwrap();
        assert_eq!(read(&below, "one"), None);
    }

    #[test]
    fn the_last_certificate_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &certificate("one")).unwrap();
        let failed = Certificate { passed: false, ..certificate("one") };
        write(folder.path(), &failed).unwrap();
        assert_eq!(read(folder.path(), "one"), Some(failed));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn this_machine_says_which_boot_it_is() {
        assert!(boot_id().is_some_and(|id| id.len() >= 32));
    }
}
