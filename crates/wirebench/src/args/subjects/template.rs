//! A new subject: a manifest and a program that works, to be changed.

use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use std::fs;
use std::path::Path;

/// The language of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Language {
    Go,
    #[value(name = "javascript")]
    JavaScript,
    Python,
}

/// The side on which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Side {
    Client,
    Server,
}

/// The name of a subject, which is that of a folder.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_fine =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if text.is_empty() || text.starts_with('-') || !text.chars().all(is_fine) {
        return Err("a name has small letters, digits and `-`, as in node-ws".to_owned());
    }
    match text {
        "shared" | "embedded" | "wirebench" => Err(format!("`{text}` has a meaning of its own")),
        _ => Ok(text.to_owned()),
    }
}

/// Writes the files of a template into a new folder.
pub(super) fn write(language: Language, side: Side, folder: &Path) -> Result<(), Failure> {
    let not_written = |error: std::io::Error| {
        Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot write {}: {error}", folder.display()))
    };
    if folder.exists() {
        return Err(Failure::usage(format!(
            "{} is there already; take another name",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(not_written)?;
    for (name, text) in files(language, side) {
        fs::write(folder.join(name), text).map_err(not_written)?;
    }
    Ok(())
}

/// Name and content of each file of a template in the folder `templates`.
macro_rules! template {
    ($folder:literal, $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../templates/", $folder, "/", $name)))),+]
    };
}

fn files(language: Language, side: Side) -> &'static [(&'static str, &'static str)] {
    match (language, side) {
        (Language::Go, Side::Client) => template!("go/client", "subject.toml", "go.mod", "main.go"),
        (Language::Go, Side::Server) => template!("go/server", "subject.toml", "go.mod", "main.go"),
        (Language::JavaScript, Side::Client) => {
            template!("javascript/client", "subject.toml", "client.js")
        }
        (Language::JavaScript, Side::Server) => {
            template!("javascript/server", "subject.toml", "server.js")
        }
        (Language::Python, Side::Client) => template!("python/client", "subject.toml", "client.py"),
        (Language::Python, Side::Server) => template!("python/server", "subject.toml", "server.py"),
    }
}
