//! A new subject: a copy, to be changed, of one of ours that speaks bare TCP with the standard library of its language.

use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use std::fs;
use std::path::Path;

/// The language of a new subject.
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
        return Err("a name has lowercase letters, digits and `-`, as in node-ws".to_owned());
    }
    match text {
        "shared" | "embedded" | "wirebench" => {
            Err(format!("`{text}` is reserved; take another name"))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Writes the files of a subject to start from into a new folder.
pub(super) fn write(language: Language, side: Side, folder: &Path) -> Result<(), Failure> {
    let not_written = |error: std::io::Error| {
        Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot write {}: {error}", folder.display()))
    };
    if folder.exists() {
        return Err(Failure::usage(format!(
            "{} already exists; take another name",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(not_written)?;
    for (name, text) in files(language, side) {
        fs::write(folder.join(name), text).map_err(not_written)?;
    }
    Ok(())
}

/// Name and content of each file of a subject of ours.
macro_rules! subject {
    ($folder:literal, $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../../../subjects/", $folder, "/", $name)))),+]
    };
}

fn files(language: Language, side: Side) -> &'static [(&'static str, &'static str)] {
    match (language, side) {
        (Language::Go, Side::Client) => {
            subject!("go-net-client", "subject.toml", "go.mod", "main.go")
        }
        (Language::Go, Side::Server) => subject!("go-net", "subject.toml", "go.mod", "main.go"),
        (Language::JavaScript, Side::Client) => {
            subject!("node-net-client", "subject.toml", "client.js")
        }
        (Language::JavaScript, Side::Server) => subject!("node-net", "subject.toml", "server.js"),
        (Language::Python, Side::Client) => {
            subject!("python-asyncio-client", "subject.toml", "client.py")
        }
        (Language::Python, Side::Server) => {
            subject!("python-asyncio", "subject.toml", "server.py")
        }
    }
}
