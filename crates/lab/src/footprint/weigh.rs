//! The bytes of files.

use std::fs;
use std::path::Path;

/// The size of a file, or of all files below a folder: of their content, not the disk space that they take. Does not
/// follow symbolic links.
pub(super) fn bytes(path: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("cannot look at {}: {error}", path.display());
    let facts = fs::symlink_metadata(path).map_err(failed)?;
    if !facts.is_dir() {
        return Ok(if facts.is_symlink() { 0 } else { facts.len() });
    }
    let mut sum = 0;
    for entry in fs::read_dir(path).map_err(failed)? {
        sum += bytes(&entry.map_err(failed)?.path())?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_weighs_what_its_files_weigh_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir(path.join("inner")).unwrap();
        fs::write(path.join("one"), [0; 10]).unwrap();
        fs::write(path.join("inner/two"), [0; 100]).unwrap();
        std::os::unix::fs::symlink("one", path.join("link")).unwrap();
        assert_eq!(bytes(path), Ok(110));
        assert_eq!(bytes(&path.join("link")), Ok(0));
        assert!(bytes(&path.join("none")).unwrap_err().contains("none"));
    }
}
