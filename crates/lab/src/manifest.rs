//! The manifest of a subject: `subjects/NAME/subject.toml`. `docs/SUBJECTS.md` is its description.

use record::Class;
use serde::Deserialize;

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// On which side it stands.
    pub role: Role,
    /// The language that it is written in.
    pub language: String,
    /// The library that it is about.
    pub library: String,
    /// The version that is pinned.
    pub version: String,
    /// What brings the library: `apt`, `npm`, `pip`, `Maven`, `Go`, `Cargo`, `composer`, or `own`.
    pub from: From,
    /// The licence of the library, as SPDX has it.
    pub licence: String,
    /// Whether it runs as it comes.
    #[serde(default)]
    pub class: Class,
    /// Every option that is not the default, in words.
    #[serde(default)]
    pub options: Vec<String>,
    /// What it speaks: schemes of wirebench's URLs.
    pub speaks: Vec<String>,
    /// Whether it compiles while it runs, so that it has to be warmed up by rule.
    #[serde(default)]
    pub jit: bool,
    /// A server: whether it can answer with a fixed reply in place of an echo (`WIREBENCH_REPLY`).
    #[serde(default)]
    pub replies: bool,
    /// A client: whether it can send at a rate.
    #[serde(default)]
    pub rates: bool,
    /// What it can not do of what is verified, with the reason, e.g. a longest message.
    #[serde(default)]
    pub limits: Limits,
    /// What has to be there before it is installed.
    #[serde(default)]
    pub needs: Needs,
    /// Folders of `subjects/shared` that are copied beside its own files, under their own names, e.g. `cpp`.
    #[serde(default)]
    pub shared: Vec<String>,
    /// Commands that fetch what it needs, in its folder; each a program and its arguments.
    #[serde(default)]
    pub install: Vec<Vec<String>>,
    /// Commands that build it, without any network.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// What the build makes, to be weighed: files or folders in its folder.
    #[serde(default)]
    pub built: Vec<String>,
    /// The command that starts it.
    pub start: Vec<String>,
    /// The command that prints the version of the library that is installed.
    pub ask_version: Vec<String>,
}

/// On which side a subject stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It sends.
    Client,
    /// It answers.
    Server,
}

/// What brings a library.
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
    /// Modules of Go.
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
    /// As it stands in a manifest.
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

/// What a subject can not do of what is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// The longest message, in bytes.
    pub message_max: Option<u64>,
    /// Whether it takes text alone.
    #[serde(default)]
    pub text_only: bool,
    /// HTTP: whether it serves files by their size (`GET /65536`) and takes no `POST`.
    #[serde(default)]
    pub files_only: bool,
    /// The most connections at a time.
    pub connections_max: Option<u64>,
    /// Why, in words: whose limit it is.
    #[serde(default)]
    pub why: String,
}

/// What has to be there before a subject is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Needs {
    /// Programs on the path, e.g. `node`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Files, e.g. headers of a C++ library.
    #[serde(default)]
    pub files: Vec<String>,
    /// Debian's packages that bring these.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Of those, the ones that are the library itself: what its footprint is of. None: all.
    #[serde(default)]
    pub library: Vec<String>,
    /// Debian's packages that are only unpacked, into `package` of the subject's folder, because installing them would
    /// start a service or draw in a hundred others.
    #[serde(default)]
    pub unpacked: Vec<String>,
}
