//! Installing subjects: once, completely, and with a reason where it fails.

use crate::manifest::{MANIFEST, write};
use crate::scripts::launch;
use lab::{Catalogue, Home, InstallError, State, Subject, Tools};
use std::ffi::OsString;
use std::path::Path;
use tempfile::TempDir;

crate::tests![
    it_is_installed_once_and_again_when_it_has_changed,
    shared_folders_lie_beside_its_own_files,
    a_shared_folder_that_is_not_there_is_named,
    a_command_that_fails_says_its_last_words_and_leaves_nothing_installed,
    a_command_that_is_not_there_is_named,
    what_is_missing_is_named_with_the_packages_that_bring_it,
    a_registry_that_is_not_reached_is_told_from_a_fault,
    a_build_reaches_nobody_so_its_failure_is_a_fault,
    what_was_broken_off_is_not_installed,
    two_at_the_same_time_install_it_once,
    cargo_is_not_told_what_holds_for_this_workspace,
    only_packages_of_programs_that_are_missing_are_installed,
    package_lists_are_fetched_once_before_the_first_package,
    what_a_command_leaves_behind_is_ended,
    temporary_files_of_a_command_end_with_it,
    a_build_that_fails_is_weighed_by_its_last_words,
];

/// A folder with `subjects/echo`, and `home` to install into.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(more: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        place.write("subject.toml", &format!("{MANIFEST}{more}"));
        place
    }

    fn write(&self, file: &str, text: &str) {
        write(&self.folder.path().join("subjects/echo"), &[(file, text)]);
    }

    fn subject(&self) -> Subject {
        let catalogue = Catalogue::read(&self.folder.path().join("subjects"));
        let catalogue = catalogue.expect("its folder is there");
        assert_eq!(catalogue.broken, []);
        catalogue.find("echo").expect("it was written").clone()
    }

    fn home(&self) -> Home {
        Home::new(self.folder.path().join("home"))
    }

    fn state(&self) -> State {
        self.home().state(&self.subject())
    }

    fn install(&self) -> Result<Vec<String>, InstallError> {
        let mut told = Vec::new();
        let mut tell = |words: &str| told.push(words.to_owned());
        let tools = Tools::new(launch(), false);
        let folder = self.home().install(&self.subject(), &tools, &mut tell)?;
        assert_eq!(folder, self.home().folder_of(&self.subject()));
        Ok(told)
    }

    fn refused(&self) -> InstallError {
        let error = self.install().expect_err("it cannot be installed");
        assert_eq!(self.state(), State::NotInstalled);
        error
    }

    fn installed(&self, file: &str) -> String {
        let path = self.folder.path().join("home/echo").join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

fn it_is_installed_once_and_again_when_it_has_changed() {
    let place = Place::new(
        "install = [[\"sh\", \"-c\", \"echo fetched > fetched\"]]\nbuild = [[\"./build\", \"a b\"]]\n",
    );
    place.write("build", "#!/bin/sh\ncat fetched > built; echo \"$1\" >> built\n");
    let build = place.folder.path().join("subjects/echo/build");
    std::fs::set_permissions(&build, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.write("node_modules/left/over.js", "");
    assert_eq!(place.state(), State::NotInstalled);
    assert_eq!(place.install().unwrap(), ["sh -c echo fetched > fetched", "./build a b"]);
    assert_eq!(place.installed("built"), "fetched\na b\n");
    assert!(!place.folder.path().join("home/echo/node_modules").exists());
    assert!(matches!(place.state(), State::Installed(_)));
    assert_eq!(place.install().unwrap(), [] as [&str; 0], "it is already installed");

    place.write("server.sh", "echo changed");
    assert_eq!(place.state(), State::Outdated);
    write(&place.folder.path().join("home/echo"), &[("old", "")]);
    assert_eq!(place.install().unwrap().len(), 2);
    assert!(!place.folder.path().join("home/echo/old").exists(), "it is installed from scratch");
    std::fs::set_permissions(&build, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(place.state(), State::Outdated, "the execute permission counts");
}

fn shared_folders_lie_beside_its_own_files() {
    let place = Place::new("shared = [\"lib\"]\n");
    write(place.folder.path(), &[("subjects/shared/lib/deep/a.txt", "a")]);
    place.install().unwrap();
    assert_eq!(place.installed("lib/deep/a.txt"), "a");
    write(place.folder.path(), &[("subjects/shared/lib/deep/a.txt", "b")]);
    assert_eq!(place.state(), State::Outdated);
    place.write("lib/own.txt", "");
    let error = place.install().unwrap_err().to_string();
    assert!(error.ends_with("the shared folder \"lib\" is also one of its own"), "{error}");
}

fn a_shared_folder_that_is_not_there_is_named() {
    let error = Place::new("shared = [\"nothing\"]\n").refused().to_string();
    assert!(error.contains("subjects/shared/nothing: No such file"), "{error}");
}

fn a_command_that_fails_says_its_last_words_and_leaves_nothing_installed() {
    let failing = "build = [[\"sh\", \"-c\", \"seq 100; printf 'fatal \\\\033[31merror\\\\n' >&2; exit 3\"]]\n";
    let place = Place::new(failing);
    let InstallError::Command { status, said, .. } = place.refused() else { panic!() };
    assert_eq!(status, "exit code 3");
    assert!(said.starts_with("82\n") && said.ends_with("\nfatal \\u{1b}[31merror"), "{said}");
    place.write("subject.toml", MANIFEST);
    place.install().unwrap();
    assert!(matches!(place.state(), State::Installed(_)));
}

fn a_command_that_is_not_there_is_named() {
    let error = Place::new("build = [[\"no-such-compiler\", \"-O2\"]]\n").refused().to_string();
    let expected = "`no-such-compiler -O2` failed: cannot start no-such-compiler: No such file";
    assert!(error.starts_with(expected), "{error}");
}

fn what_is_missing_is_named_with_the_packages_that_bring_it() {
    let place = Place::new(
        "[needs]\nprograms = { sh = [\"dash\"], no-such-program = [] }\n\
         files = { \"/no/such/header.h\" = [\"no-such-package\"] }\n",
    );
    let expected =
        "no-such-program, /no/such/header.h are missing: apt-get install no-such-package";
    let error = place.refused();
    assert!(matches!(error, InstallError::Missing { .. }), "{error}");
    // Without dpkg, packages cannot be queried.
    let has_dpkg = Path::new("/usr/bin/dpkg-query").exists();
    let expected = if has_dpkg { expected } else { expected.split(':').next().unwrap() };
    assert_eq!(error.to_string(), expected);
}

fn a_registry_that_is_not_reached_is_told_from_a_fault() {
    let place = Place::new(
        "install = [[\"sh\", \"-c\", \"echo curl error 6: Could not resolve host; exit 1\"]]\n",
    );
    place.write(
        "subject.toml",
        &std::fs::read_to_string(place.folder.path().join("subjects/echo/subject.toml"))
            .unwrap()
            .replace("\"own\"", "\"composer\""),
    );
    let error = place.refused();
    assert!(matches!(error, InstallError::Unreachable { registry: "Packagist", .. }), "{error}");
    assert!(error.to_string().starts_with("Packagist not reached: `sh -c"), "{error}");
}

fn a_build_reaches_nobody_so_its_failure_is_a_fault() {
    let place = Place::new("build = [[\"sh\", \"-c\", \"echo Could not resolve host; exit 1\"]]\n");
    let error = place.refused();
    assert!(matches!(error, InstallError::Command { .. }), "{error}");
}

fn what_was_broken_off_is_not_installed() {
    let place = Place::new("");
    write(&place.folder.path().join("home/echo"), &[("subject.toml", MANIFEST)]);
    assert_eq!(place.state(), State::NotInstalled);
    place.install().unwrap();
    assert!(matches!(place.state(), State::Installed(_)));
}

fn two_at_the_same_time_install_it_once() {
    let place = Place::new("install = [[\"sh\", \"-c\", \"echo once >> ../count; sleep 0.1\"]]\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| place.install().unwrap());
        }
    });
    let count = std::fs::read_to_string(place.folder.path().join("home/count")).unwrap();
    assert_eq!(count, "once\n");
}

fn cargo_is_not_told_what_holds_for_this_workspace() {
    let place = Place::new("install = [[\"sh\", \"-c\", \"env > seen\"]]\n");
    place.install().unwrap();
    let seen = place.installed("seen");
    for name in ["CARGO_TARGET_DIR=", "CARGO_MANIFEST_DIR=", "RUSTFLAGS="] {
        assert!(!seen.lines().any(|line| line.starts_with(name)), "{name}");
    }
    assert!(seen.lines().any(|line| line.starts_with("PATH=")));
}

/// A Debian machine made of scripts, where only `installed` packages are installed. The arguments of `apt-get` are
/// logged to a file.
struct Debian {
    folder: TempDir,
}

impl Debian {
    fn with(installed: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        std::fs::write(folder.path().join("installed"), installed.join("\n") + "\n").unwrap();
        let scripts = [
            (
                "dpkg-query",
                format!("#!/bin/sh\ngrep -qx \"$3\" {path}/installed && printf installed\n"),
            ),
            (
                "apt-get",
                format!(
                    "#!/bin/sh\necho \"$@\" >> {path}/asked\n[ $1 = install ] || exit 0\ntouch {path}/browser\nshift 3\n\
                         for package; do echo $package >> {path}/installed; done\n"
                ),
            ),
        ];
        for (name, script) in scripts {
            let file = folder.path().join(name);
            std::fs::write(&file, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&file, mode).unwrap();
        }
        Self { folder }
    }

    fn tools(&self) -> Tools {
        let mut launch = launch();
        let mut path = OsString::from(self.folder.path());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        launch.environment = vec![("PATH".into(), path)];
        Tools::new(launch, true)
    }

    fn asked(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default()
    }

    /// `[needs]` of a browser subject, driven by a program that was installed without Debian's packages.
    fn needs(&self) -> String {
        let browser = self.folder.path().join("browser");
        format!(
            "[needs]\nprograms = {{ sh = [\"shell-package\"] }}\n\
             files = {{ \"{}\" = [\"browser-package\"] }}\n",
            browser.display()
        )
    }
}

fn only_packages_of_programs_that_are_missing_are_installed() {
    let debian = Debian::with(&[]);
    let place = Place::new(&debian.needs());
    let tools = debian.tools();
    place.home().install(&place.subject(), &tools, &mut |_| {}).unwrap();
    let asked = debian.asked();
    assert!(asked.contains("install --yes --no-install-recommends browser-package\n"), "{asked}");
    assert!(!asked.contains("shell-package"), "{asked}");
}

fn package_lists_are_fetched_once_before_the_first_package() {
    let debian = Debian::with(&[]);
    let tools = debian.tools();
    let mut told = Vec::new();
    let mut tell = |words: &str| told.push(words.to_owned());
    for _ in 0..2 {
        let place = Place::new(&debian.needs());
        place.home().install(&place.subject(), &tools, &mut tell).unwrap();
        std::fs::remove_file(debian.folder.path().join("browser")).unwrap();
        std::fs::write(debian.folder.path().join("installed"), "").unwrap();
    }
    let asked = debian.asked();
    let lines: Vec<&str> = asked.lines().collect();
    let install = "install --yes --no-install-recommends browser-package";
    assert_eq!(lines, ["update", install, install]);
    assert_eq!(told[0], "apt-get update");
}

fn what_a_command_leaves_behind_is_ended() {
    let place = Place::new(
        "build = [[\"sh\", \"-c\", \"(sleep 60; echo late) & echo $! > ../pid; exit 1\"]]\n",
    );
    let error = place.refused();
    assert!(matches!(error, InstallError::Command { .. }), "{error}");
    let pid = std::fs::read_to_string(place.folder.path().join("home/pid")).unwrap();
    assert!(!crate::scripts::runs(pid.trim().parse().unwrap()), "{pid}");
}

fn temporary_files_of_a_command_end_with_it() {
    let place = Place::new(
        "build = [[\"sh\", \"-c\", \"touch $TMPDIR/cc.o && ls -d $TMPDIR/cc.o > temporary\"]]\n",
    );
    place.install().unwrap();
    let file = place.installed("temporary");
    assert!(!Path::new(file.trim()).exists(), "{file}");
}

fn a_build_that_fails_is_weighed_by_its_last_words() {
    let place = Place::new(
        "build = [[\"sh\", \"-c\", \"[ -e ../echo ] && exit 0; echo first >&2; echo why >&2; exit 3\"]]\n",
    );
    place.install().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (subject, tools) = (place.subject(), Tools::new(launch(), false));
    let installed = place.home().folder_of(&subject);
    let footprint = lab::footprint(&subject, &installed, scratch.path(), &tools);
    assert_eq!(footprint.missing["build_ns"], "env failed (exit code 3): why");
}
