//! A folder of subjects: read, searched, and its faults told.

use crate::manifest::{MANIFEST, write};
use lab::Catalogue;
use std::path::Path;

#[test]
fn a_manifest_that_is_wrong_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = MANIFEST.replace("licence", "license").replace("1\n", "1");
    write(
        folder.path(),
        &[
            ("zeta/subject.toml", MANIFEST),
            ("alpha/subject.toml", MANIFEST),
            ("beta/subject.toml", &wrong),
            ("gamma/server.sh", ""),
            ("shared/cpp/a.hpp", ""),
            (".git/config", ""),
            ("README.md", ""),
        ],
    );
    let catalogue = Catalogue::read(folder.path()).unwrap();
    let names: Vec<&str> = catalogue.subjects.iter().map(|subject| &*subject.name).collect();
    assert_eq!(names, ["alpha", "zeta"]);
    let said: Vec<String> = catalogue.broken.iter().map(ToString::to_string).collect();
    let [beta, gamma] = &said[..] else { panic!("{said:?}") };
    let expected = "beta/subject.toml:6:1: unknown field `license`, expected one of";
    assert!(beta.contains(expected) && beta.ends_with("did you mean `licence`?"), "{beta}");
    let expected = "gamma/subject.toml:1:1: is missing; each subject has one";
    assert!(gamma.ends_with(expected), "{gamma}");

    let refused = |name| catalogue.find(name).unwrap_err().to_string();
    assert_eq!(catalogue.find("zeta").unwrap().name, "zeta");
    assert_eq!(refused("zata"), "there is no subject \"zata\"; did you mean `zeta`?");
    assert_eq!(refused("quite-another"), "there is no subject \"quite-another\"");
    assert!(refused("beta").contains("unknown field `license`"));
}

#[test]
fn a_manifest_without_end_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, device) in [("a", "/dev/zero"), ("b", "/dev/null")] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::os::unix::fs::symlink(device, folder.path().join(name).join("subject.toml")).unwrap();
    }
    let broken = Catalogue::read(folder.path()).unwrap().broken;
    assert_eq!(broken.len(), 2);
    for error in broken {
        let said = error.to_string();
        assert!(said.ends_with("subject.toml:1:1: is no regular file; write it as one"), "{said}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Catalogue::read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the subjects in /"), "{error}");
    assert!(error.contains("none: No such file"), "{error}");
}

#[test]
fn the_subjects_of_this_repository_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects");
    let mut catalogue = Catalogue::read(&folder).unwrap();
    // A folder without one is somebody's work that has just begun.
    catalogue.broken.retain(|error| error.file.exists());
    assert_eq!(catalogue.broken, []);
}
