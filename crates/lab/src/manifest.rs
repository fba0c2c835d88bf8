//! The manifest of a subject: `subjects/NAME/subject.toml`. `docs/SUBJECTS.md` describes it.

use record::Class;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// Its side: server or client.
    pub role: Role,
    /// The language that it is written in.
    pub language: String,
    /// The library that it is about.
    pub library: String,
    /// The pinned version.
    pub version: String,
    /// The registry of the library: `apt`, `npm`, `pip`, `Maven`, `Go`, `Cargo`, `composer`, or `own`.
    pub from: From,
    /// The licence of the library, in SPDX notation.
    pub licence: String,
    /// `Default` if it runs as it comes.
    #[serde(default)]
    pub class: Class,
    /// Every option that is not the default, in words.
    #[serde(default)]
    pub options: Vec<String>,
    /// The schemes that it speaks, as in wirebench's URLs.
    pub speaks: Vec<String>,
    /// Conversations: ready-made ones, or files in its folder. Server: those that it holds instead of echoing. Client:
    /// those of a relay in whose rooms it receives; it then sends nothing.
    #[serde(default, deserialize_with = "spec::lists::one_or_more")]
    pub conversation: Vec<String>,
    /// True if it compiles while it runs, so that it must be warmed up by rule.
    #[serde(default)]
    pub jit: bool,
    /// Server: true if it can answer with a fixed reply instead of an echo (`WIREBENCH_REPLY`).
    #[serde(default)]
    pub replies: bool,
    /// Server: true if it can keep its processor busy for each message (`WIREBENCH_WORK_NS`).
    #[serde(default)]
    pub works: bool,
    /// Client: true if it can send at a rate.
    #[serde(default)]
    pub rates: bool,
    /// Things that are verified and that it cannot do, e.g. a longest message, with the reason.
    #[serde(default)]
    pub limits: Limits,
    /// Programs, files and packages that must be present before it is installed.
    #[serde(default)]
    pub needs: Needs,
    /// Folders of `subjects/shared` that are copied beside its own files, under their own names, e.g. `cpp`.
    #[serde(default)]
    pub shared: Vec<String>,
    /// Commands that fetch its parts, in its folder; each a program and its arguments.
    #[serde(default)]
    pub install: Vec<Vec<String>>,
    /// Commands that build it, without any network.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// The results of the build, to be weighed: files or folders in its folder.
    #[serde(default)]
    pub built: Vec<String>,
    /// The command that starts it.
    pub start: Vec<String>,
    /// The command that prints the version of the installed library.
    pub ask_version: Vec<String>,
}

impl Manifest {
    /// True for a client that sends nothing, and receives what is published in rooms.
    pub fn receives(&self) -> bool {
        self.role == Role::Client && !self.conversation.is_empty()
    }

    /// The manifest of a program that already exists and needs no installation; the program is its own library.
    pub fn of_program(role: Role, speaks: &[&str], start: Vec<String>) -> Self {
        let (name, version) = ("program".to_owned(), "1".to_owned());
        Self {
            role,
            language: name.clone(),
            library: name,
            version: version.clone(),
            from: From::Own,
            licence: "MIT".to_owned(),
            class: Class::Default,
            options: Vec::new(),
            speaks: speaks.iter().map(|scheme| (*scheme).to_owned()).collect(),
            conversation: Vec::new(),
            jit: false,
            replies: true,
            works: true,
            rates: false,
            limits: Limits::default(),
            needs: Needs::default(),
            shared: Vec::new(),
            install: Vec::new(),
            build: Vec::new(),
            built: Vec::new(),
            start,
            ask_version: vec!["echo".to_owned(), version],
        }
    }
}

/// The side of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It sends.
    Client,
    /// It answers.
    Server,
}

/// The registries of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum From {
    /// Debian.
    #[serde(rename = "apt")]
    Apt,
    /// The Rust registry.
    Cargo,
    /// PHP's.
    #[serde(rename = "composer")]
    Composer,
    /// Go modules.
    Go,
    /// Maven Central.
    Maven,
    /// Node's.
    #[serde(rename = "npm")]
    Npm,
    /// It comes with the language.
    #[serde(rename = "own")]
    Own,
    /// Python's.
    #[serde(rename = "pip")]
    Pip,
}

impl From {
    /// Its name in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apt => "apt",
            Self::Cargo => "Cargo",
            Self::Composer => "composer",
            Self::Go => "Go",
            Self::Maven => "Maven",
            Self::Npm => "npm",
            Self::Own => "own",
            Self::Pip => "pip",
        }
    }
}

/// Things that are verified and that a subject cannot do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// The longest message, in bytes.
    pub message_max: Option<u64>,
    /// True if it takes only text.
    #[serde(default)]
    pub text_only: bool,
    /// HTTP: true if it answers only requests for files by their size (`GET /65536`).
    #[serde(default)]
    pub files_only: bool,
    /// The most connections at a time.
    pub connections_max: Option<u64>,
    /// The reason in words: whose limit it is.
    #[serde(default)]
    pub why: String,
}

impl Limits {
    /// The reason why an HTTP request is not answered; `None` if it is.
    pub fn refusal_of_request(&self, method: &str, path: &str) -> Option<String> {
        let size = path.strip_prefix('/').unwrap_or_default();
        let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = matches!(method, "GET" | "HEAD") && is_size;
        let reason = || {
            let why = &self.why;
            format!(
                "it answers `GET /N` with N bytes, not `{method} {path}`: {why}; add `--method GET` and a path like `/64`"
            )
        };
        (self.files_only && !is_file).then(reason)
    }
}

/// Programs, files and packages that must be present before a subject is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Needs {
    /// Programs on the path, e.g. `node`, each with the Debian packages that provide it.
    #[serde(default)]
    pub programs: BTreeMap<String, Vec<String>>,
    /// Files, e.g. headers of a C++ library, each with the Debian packages that provide it.
    #[serde(default)]
    pub files: BTreeMap<String, Vec<String>>,
    /// Debian packages besides those.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The packages, among all these, that are the library itself: its footprint counts only them and their
    /// dependencies. Empty: all.
    #[serde(default)]
    pub library: Vec<String>,
    /// Debian packages that are only unpacked, into `package` in the subject's folder, because installing them would
    /// start a service or pull in a hundred others.
    #[serde(default)]
    pub unpacked: Vec<String>,
}

impl Needs {
    /// All Debian packages that are named, some perhaps more than once.
    pub fn all_packages(&self) -> impl Iterator<Item = &str> {
        let of_parts = self.programs.values().chain(self.files.values()).flatten();
        of_parts.chain(&self.packages).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_files_answers_requests_for_files_by_their_size() {
        let files = Limits { files_only: true, why: "no module".to_owned(), ..Limits::default() };
        #[rustfmt::skip]
        let table = [
            ("POST", "/",       false),
            ("POST", "/64",     false),
            ("GET",  "/",       false),
            ("GET",  "/status", false),
            ("GET",  "/64",     true),
            ("HEAD", "/65536",  true),
        ];
        for (method, path, is_answered) in table {
            let refusal = files.refusal_of_request(method, path);
            assert_eq!(refusal.is_none(), is_answered, "{method} {path}: {refusal:?}");
            assert_eq!(Limits::default().refusal_of_request(method, path), None);
        }
        let refusal = files.refusal_of_request("POST", "/").unwrap();
        assert!(refusal.contains("not `POST /`: no module; add `--method GET`"), "{refusal}");
    }
}
