//! A folder of subjects: read, searched, and its faults reported.

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
    let place = folder.path().display();
    let unknown = |name| format!("there is no subject \"{name}\" in {place}");
    assert_eq!(refused("zata"), unknown("zata") + "; did you mean `zeta`?");
    assert_eq!(refused("quite-another"), unknown("quite-another"));
    assert!(refused("beta").contains("unknown field `license`"));
}

#[test]
fn conversations_of_a_subject_are_read_with_it_and_what_is_wrong_with_them_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let with = |conversation: &str| {
        MANIFEST.replacen("start", &format!("conversation = {conversation}\nstart"), 1)
    };
    let asking = "speaks = \"ws\"\n[request.ask]\nsend = 'a'\nreply = \"order\"\n";
    write(
        folder.path(),
        &[
            (
                "both/subject.toml",
                &with("[\"ndjson\", \"own.toml\"]").replace("\"ws\"", "\"ws\", \"tcp\""),
            ),
            ("both/own.toml", asking),
            ("elsewhere/subject.toml", &with("\"ndjson\"")),
            ("missing/subject.toml", &with("\"own.toml\"")),
            ("wrong/subject.toml", &with("\"own.toml\"")),
            ("wrong/own.toml", &asking.replace("reply", "replay")),
        ],
    );
    let catalogue = Catalogue::read(folder.path()).unwrap();
    let both = catalogue.find("both").unwrap();
    let over = |scheme: &str| {
        let held = both.conversations_over(spec::Scheme::named(scheme).unwrap());
        held.map(|held| held.conversation.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((over("tcp"), over("ws")), (vec!["ndjson".to_owned()], vec!["own".to_owned()]));
    let said: Vec<String> = catalogue.broken.iter().map(ToString::to_string).collect();
    let [elsewhere, missing, wrong] = &said[..] else { panic!("{said:?}") };
    let alone =
        "the conversation `ndjson` runs over tcp or unix or lines, but `speaks` has only ws";
    assert!(elsewhere.ends_with(alone), "{elsewhere}");
    assert!(
        missing.contains("cannot read") && missing.contains("missing/own.toml: No such"),
        "{missing}"
    );
    assert!(wrong.contains("own.toml:4:1: ") && wrong.contains("`reply`"), "{wrong}");
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
        assert!(
            said.ends_with("subject.toml:1:1: is not a regular file; write it as one"),
            "{said}"
        );
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
    // A folder without a manifest is work that has just begun.
    catalogue.broken.retain(|error| error.file.exists());
    assert_eq!(catalogue.broken, []);
}
