//! Subjects made of a few lines of shell or Python.

use lab::{ClientSettings, Launch, Manifest, Method, Role, Subject};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use units::Nanos;

/// A subject that is installed: a folder with its script.
pub(crate) struct Script {
    pub(crate) subject: Subject,
    pub(crate) folder: TempDir,
}

impl Script {
    pub(crate) fn shell(role: Role, text: &str) -> Self {
        Self::new(role, "sh", text)
    }

    pub(crate) fn python(role: Role, text: &str) -> Self {
        Self::new(role, "python3", text)
    }

    fn new(role: Role, program: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script"), text).unwrap();
        let start = vec![program.to_owned(), "script".to_owned()];
        let manifest = Manifest::of_program(role, &["ws", "wss"], start);
        let path = folder.path().to_owned();
        let name = "script".to_owned();
        let subject = Subject { name, folder: path, manifest, conversations: Vec::new() };
        Self { subject, folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until the script has written a file, and reads it.
    pub(crate) fn written(&self, name: &str) -> String {
        let path = self.path().join(name);
        wait_until(name, || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}

/// The settings to start subjects, with this binary as the keeper.
pub(crate) fn launch() -> Launch {
    let inherited = ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name).unwrap()));
    Launch::new(std::env::current_exe().unwrap(), inherited.to_vec(), std::env::temp_dir())
}

pub(crate) fn settings() -> ClientSettings {
    ClientSettings {
        url: "ws://127.0.0.1:1/".to_owned(),
        authority: None,
        connections: 1,
        payload: PathBuf::from("payload"),
        expect: PathBuf::from("payload"),
        is_text: true,
        method: Method::Post,
        life: None,
    }
}

/// True if the process exists and has not ended.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

/// Waits until `is_so` returns true, at most 30 s.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        engine::clock::sleep(Nanos::from_millis(5));
    }
    panic!("not within 30 s: {what}");
}
