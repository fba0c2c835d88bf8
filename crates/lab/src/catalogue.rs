//! The folder of all subjects.

use crate::conversations::Held;
use crate::{Manifest, ManifestError};
use spec::Scheme;
use spec::suggestions::did_you_mean;
use std::io;
use std::path::{Path, PathBuf};

/// The subjects of a folder.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Their folder.
    pub folder: PathBuf,
    /// The subjects whose manifest can be read, by name.
    pub subjects: Vec<Subject>,
    /// The faults of the others, by name.
    pub broken: Vec<ManifestError>,
}

/// A server or a client library, with the small program that makes it measurable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name: that of its folder.
    pub name: String,
    /// Its folder, where it is written; it runs in another one, where it is installed.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The conversations that its manifest names, read together with it.
    pub conversations: Vec<Held>,
}

impl Catalogue {
    /// Reads the manifests of all folders in `folder`, except `shared` and those whose names begin with a dot.
    ///
    /// # Errors
    ///
    /// [`CatalogueError`] if the folder cannot be read. A broken manifest does not hide the others.
    pub fn read(folder: &Path) -> Result<Self, CatalogueError> {
        let unreadable = |source| CatalogueError { folder: folder.to_owned(), source };
        let mut folders = Vec::new();
        for entry in folder.read_dir().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() && name != SHARED && !name.starts_with('.') {
                folders.push((name, entry.path()));
            }
        }
        folders.sort();
        let mut catalogue = Self { folder: folder.to_owned(), ..Self::default() };
        for (name, folder) in folders {
            match Subject::read(name, folder) {
                Ok(subject) => catalogue.subjects.push(subject),
                Err(errors) => catalogue.broken.extend(errors),
            }
        }
        Ok(catalogue)
    }

    /// The subject of that name.
    ///
    /// # Errors
    ///
    /// [`NoSuchSubject`], with the name that was probably meant or the fault of its manifest.
    pub fn find(&self, name: &str) -> Result<&Subject, NoSuchSubject> {
        let found = self.subjects.iter().find(|subject| subject.name == name);
        found.ok_or_else(|| match self.broken.iter().find(|error| error.name == name) {
            Some(error) => NoSuchSubject::Broken(error.clone()),
            None => {
                let known = self.subjects.iter().map(|subject| subject.name.as_str());
                let near = did_you_mean(name, known);
                NoSuchSubject::Unknown { name: name.to_owned(), folder: self.folder.clone(), near }
            }
        })
    }
}

impl Subject {
    /// Reads the manifest in `folder`.
    fn read(name: String, folder: PathBuf) -> Result<Self, Vec<ManifestError>> {
        let file = folder.join(MANIFEST);
        let unreadable = |what: String| {
            let (name, file) = (name.clone(), file.clone());
            vec![ManifestError { name, file, line: 1, column: 1, what }]
        };
        let found = file.metadata();
        let size = found.as_ref().map(|found| found.len()).unwrap_or(0);
        if size > MANIFEST_SIZE_MAX {
            let what = format!("it has {size} bytes, at most {MANIFEST_SIZE_MAX} are read");
            return Err(unreadable(what));
        }
        // A pipe or a device may never end.
        if found.is_ok_and(|found| !found.is_file()) {
            return Err(unreadable("is not a regular file; write it as one".to_owned()));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let missing = || "is missing; each subject has one".to_owned();
            unreadable(if is_missing { missing() } else { format!("cannot be read: {error}") })
        })?;
        let manifest = Manifest::parse(&name, &file, &text)?;
        let conversations = manifest.held_in(&folder).map_err(unreadable)?;
        Ok(Self { name: name.clone(), folder, manifest, conversations })
    }

    /// True if it speaks `scheme`.
    pub fn speaks(&self, scheme: &str) -> bool {
        self.manifest.speaks.iter().any(|speaks| speaks == scheme)
    }

    /// The schemes that it serves: those that it speaks, and the first carrier of publishers that use none of these.
    pub fn schemes(&self) -> Vec<&str> {
        let mut schemes: Vec<&str> = self.manifest.speaks.iter().map(String::as_str).collect();
        for publishers in
            self.conversations.iter().filter_map(|it| it.conversation.publishers.as_ref())
        {
            let mut carriers = publishers.carriers().iter().map(|carrier| carrier.plain().name());
            let first = carriers.clone().next();
            if !carriers.any(|carrier| schemes.contains(&carrier)) {
                schemes.extend(first);
            }
        }
        schemes
    }

    /// Its conversations that are held over `scheme`; none if it echoes there.
    pub fn conversations_over(&self, scheme: Scheme) -> impl Iterator<Item = &Held> {
        let is_over = move |held: &&Held| held.conversation.carriers().contains(&scheme.protocol);
        self.conversations.iter().filter(is_over)
    }

    /// The subject as a record has it, before it was asked for its version and warmed up.
    pub fn record(&self) -> record::Subject {
        let manifest = &self.manifest;
        record::Subject {
            name: self.name.clone(),
            language: manifest.language.clone(),
            library: manifest.library.clone(),
            version: manifest.version.clone(),
            version_found: None,
            licence: manifest.licence.clone(),
            class: manifest.class,
            options: manifest.options.clone(),
            warm_up: None,
        }
    }

    /// The shared folders that it uses, by name; they are in [`SHARED`], beside its own folder.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let beside = self.folder.parent().unwrap_or(&self.folder).join(SHARED);
        self.manifest.shared.iter().map(move |name| (name.as_str(), beside.join(name)))
    }
}

/// The reason why a folder of subjects cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the subjects in {}: {source}", folder.display())]
pub struct CatalogueError {
    /// The folder.
    pub folder: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// The reasons why a name has no subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchSubject {
    /// The subject exists, but its manifest is wrong.
    #[error("{0}")]
    Broken(ManifestError),
    /// No subject has this name.
    #[error("there is no subject {name:?} in {}{near}", folder.display())]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The folder that was searched.
        folder: PathBuf,
        /// `; did you mean …?`, or empty if no name is similar.
        near: String,
    },
}

/// The manifest in a subject's folder.
pub const MANIFEST: &str = "subject.toml";

/// The folder, among those of the subjects, with the files that several of them share.
pub const SHARED: &str = "shared";

/// The longest manifest that is read; a longer one was not written by hand.
const MANIFEST_SIZE_MAX: u64 = 1 << 20;
