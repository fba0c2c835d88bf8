//! Subjects made of a script.

use lab::{Manifest, Role, Subject};
use spec::{ClientSubject, Protocol, Server, ServerSubject};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// A subject that is installed: a folder with its script.
pub(crate) struct Script {
    subject: Subject,
    folder: TempDir,
}

impl Script {
    /// A server that echoes, with lines of the script replaced.
    pub(crate) fn server(changes: &[(&str, &str)]) -> Self {
        Self::new(Role::Server, include_str!("server.py"), changes)
    }

    /// A client that tells the truth, with lines of the script replaced.
    pub(crate) fn client(changes: &[(&str, &str)]) -> Self {
        Self::new(Role::Client, include_str!("client.py"), changes)
    }

    fn new(role: Role, script: &str, changes: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut script = script.to_owned();
        for (line, other) in changes {
            assert!(script.contains(line), "{line}");
            script = script.replace(line, other);
        }
        std::fs::write(folder.path().join("script.py"), script).unwrap();
        let start = vec!["python3".to_owned(), "script.py".to_owned()];
        let manifest = Manifest {
            library: "script".to_owned(),
            version: "1.0".to_owned(),
            ..Manifest::of_program(role, &["tcp"], start)
        };
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        let path = folder.path().to_owned();
        Self {
            subject: Subject { name, folder: path, manifest, conversations: Vec::new() },
            folder,
        }
    }

    /// The same, declared to compile while it runs.
    pub(crate) fn compiling(mut self) -> Self {
        self.subject.manifest.jit = true;
        self
    }

    /// The same, which does not answer when it is asked for its version.
    pub(crate) fn asked_in_vain(mut self) -> Self {
        self.subject.manifest.ask_version = vec!["sleep".to_owned(), "60".to_owned()];
        self
    }

    /// The script as a server.
    pub(crate) fn as_server(&self) -> Server {
        self.register();
        Server::Subject(ServerSubject::new(&self.subject.name, Protocol::Tcp.plain()))
    }

    /// The script as a client.
    pub(crate) fn as_client(&self) -> ClientSubject {
        self.register();
        ClientSubject { name: self.subject.name.clone(), host: None }
    }

    fn register(&self) {
        let installed = (self.subject.clone(), self.path().to_owned());
        SUBJECTS.lock().unwrap().insert(self.subject.name.clone(), installed);
    }

    /// The processes that were started, in order.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let pids = std::fs::read_to_string(self.path().join("pids")).unwrap_or_default();
        pids.lines().map(|pid| pid.parse().unwrap()).collect()
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The subject of this name, made by a test.
pub(crate) fn installed(name: &str) -> Result<(Subject, PathBuf), String> {
    let found = SUBJECTS.lock().unwrap().get(name).cloned();
    found.ok_or_else(|| format!("there is no {name}"))
}

static SUBJECTS: Mutex<BTreeMap<String, (Subject, PathBuf)>> = Mutex::new(BTreeMap::new());

/// The state of a process as the kernel reports it, e.g. `T` for stopped; `None` if it does not exist or has ended.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    (!matches!(state, 'Z' | 'X')).then_some(state)
}
