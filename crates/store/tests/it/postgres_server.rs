//! A PostgreSQL server for a test: its data and its Unix socket are in a folder that is removed with it, and it ends
//! when it is dropped or when the test's thread ends.

use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use tempfile::TempDir;

/// A server that is running or not.
pub(crate) struct PostgresServer {
    folder: TempDir,
    /// The folder of its programs.
    programs: PathBuf,
    port: u16,
    /// Settings in addition to those of every test.
    settings: Vec<String>,
    running: Option<(Child, BufReader<ChildStderr>)>,
}

impl PostgresServer {
    /// Starts a server; prints why and returns `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        let mut server = Self::prepared()?;
        server.start_again();
        Some(server)
    }

    /// A server that has a folder, but is not started yet.
    pub(crate) fn prepared() -> Option<Self> {
        let programs = installed()?;
        let folder = tempfile::tempdir().unwrap();
        let server = Self { folder, programs, port: 5432, settings: Vec::new(), running: None };
        server.give_away(server.folder.path());
        let initdb = ["--auth=trust", "--username=postgres", "--no-sync", "--locale=C.UTF-8"];
        let mut initdb_command = server.as_its_user("initdb");
        let made = initdb_command.args(initdb).arg("-D").arg(server.data()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Some(server)
    }

    /// Starts it with the data that it has, and waits until it accepts connections.
    pub(crate) fn start_again(&mut self) {
        let mut command = self.as_its_user("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        command.arg("-p").arg(self.port.to_string());
        let all = ["listen_addresses=", "max_connections=40", "unix_socket_permissions=0777"];
        let settings = all.into_iter().chain(self.settings.iter().map(String::as_str));
        command.args(settings.flat_map(|setting| ["-c", setting]));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("ready to accept connections") {
            assert_ne!(words.read_line(&mut said).unwrap(), 0, "it ended: {said}");
        }
        self.running = Some((child, words));
    }

    /// Ends it, which disconnects its clients in the middle of what they do; the data stay.
    pub(crate) fn end(&mut self) {
        let Some((mut child, _)) = self.running.take() else { return };
        let end = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(end.is_ok_and(|status| status.success()));
        child.wait().unwrap();
    }

    /// Creates a database and returns its URL.
    pub(crate) fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// The URL of a database.
    pub(crate) fn url(&self, name: &str) -> String {
        let mut folder = String::new();
        for byte in self.folder.path().as_os_str().as_encoded_bytes() {
            fmt::Write::write_fmt(&mut folder, format_args!("%{byte:02X}")).unwrap();
        }
        format!("postgres://postgres@{folder}:{}/{name}", self.port)
    }

    /// Executes statements and returns the values that they print.
    pub(crate) fn sql(&self, database: &str, statements: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        psql.arg("-h").arg(self.folder.path()).arg("-p").arg(self.port.to_string());
        let printed = psql.args(["-c", statements]).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        String::from_utf8(printed.stdout).unwrap().trim_end().to_owned()
    }

    /// Makes it serve TLS on a loopback TCP port too, from the next start on. Returns the port.
    pub(crate) fn serve_tls(&mut self) -> u16 {
        // It was free a moment ago.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        self.port = free.local_addr().unwrap().port();
        self.set("ssl=on");
        self.set("listen_addresses=127.0.0.1");
        self.port
    }

    /// Adds a setting, such as `ssl=on`, for the next start and all later ones.
    pub(crate) fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// Writes a configuration file that only its owner may read.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.data().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        self.give_away(&path);
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A command for one of its programs, run as a user that a server may have: never root.
    fn as_its_user(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=INT").current_dir(self.folder.path()).stdin(Stdio::null());
        if owner().is_some() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg("--").arg(self.programs.join(program));
        command
    }

    fn give_away(&self, path: &Path) {
        if let Some((user, group)) = owner() {
            chown(path, Some(user), Some(group)).unwrap();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The folder of the programs of the newest PostgreSQL; prints why and returns `None` if there is none. In the gate,
/// which installs it, that is a failure.
#[expect(clippy::explicit_write, reason = "what the macros print is hidden when a test passes")]
fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin"));
    let newest = programs.filter(|folder| folder.join("initdb").exists()).max();
    if newest.is_none() {
        let why = "PostgreSQL is not installed: there is no /usr/lib/postgresql/VERSION/bin/initdb";
        // xtask sets this variable in the gate.
        let is_gate = std::env::var_os("WIREBENCH_THIRD_PARTY").is_some();
        assert!(!is_gate, "{why}, although `cargo xtask check` looked for it");
        writeln!(std::io::stderr(), "skipped: {why}; `cargo xtask check` installs it").unwrap();
    }
    newest
}

/// The user and the group that own the files of a server; `None` if we are not root and so own them ourselves.
fn owner() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let id = |flag: &str| -> u32 {
        let printed = Command::new("id").args([flag, "postgres"]).output().unwrap();
        String::from_utf8(printed.stdout).unwrap().trim().parse().unwrap()
    };
    Some((id("-u"), id("-g")))
}
