//! Values of options that several subcommands share, and their limits.

use crate::{data, input};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serve::certificates::KeyType;
use std::env::var_os;
use std::fmt::Display;
use std::io::ErrorKind;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use units::{Bytes, Count, Nanos};
use wire::styx::Definition;

/// Parses a count of at least 1.
pub(crate) fn count(text: &str) -> Result<NonZeroU32, String> {
    let count = NonZeroU64::new(number(text)?).ok_or("must be at least 1")?;
    count.try_into().map_err(|_| format!("`{text}` is too large; at most {} is possible", u32::MAX))
}

/// Parses a large count of at least 1.
pub(crate) fn large_count(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(number(text)?).ok_or_else(|| "must be at least 1".to_owned())
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<NonZeroU32, String> {
    at_most(count(text)?, 1024)
}

/// Parses the size of a message.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    if size > SIZE_MAX {
        return Err(format!("{size} is too large; messages have at most {SIZE_MAX}"));
    }
    Ok(size)
}

/// Parses a time longer than zero.
pub(crate) fn some_time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    if time == Nanos::ZERO { Err("must be longer than 0s".to_owned()) } else { Ok(time) }
}

/// Parses a time limit; `none` lifts it.
pub(crate) fn time_limit(text: &str) -> Result<Nanos, String> {
    if text == "none" { Ok(Nanos::MAX) } else { some_time(text) }
}

/// The content of a file, or of stdin for `-`; at most `max` bytes.
pub(crate) fn content(path: &str, max: Bytes) -> Result<Vec<u8>, String> {
    input::read(Path::new(path), max).map_err(|error| format!("cannot read {path}: {error}"))
}

/// The value of an environment variable, if it is set and UTF-8.
pub(crate) fn environment(name: &str) -> Option<String> {
    var_os(name)?.into_string().ok()
}

/// Reads the text of an experiment's file or of a record; if there is no such file, that of an experiment of ours.
pub(crate) fn text_of(path: &str) -> Result<String, String> {
    let advice = || {
        let names: Vec<&str> = data::experiment_names().collect();
        format!(
            "name a URL, as in ws://127.0.0.1:8080, a file as in docs/EXPERIMENTS.md, or an experiment of wirebench: {}",
            names.join(", ")
        )
    };
    let bytes = match input::read(Path::new(path), FILE_MAX) {
        Ok(bytes) => bytes,
        Err(error) => {
            let is_no_file = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory);
            let carried = is_no_file.then(|| data::experiment(path)).flatten();
            let none = || format!("cannot read {path}: {error}; {}", advice());
            return carried.map(str::to_owned).ok_or_else(none);
        }
    };
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8; {}", advice()))
}

/// Packs JSON by a definition of packets (XML). Returns the packed bytes, or with `as_json` the JSON in the order of
/// the definition.
pub(crate) fn packed(definition: &str, json: &[u8], as_json: bool) -> Result<Vec<u8>, String> {
    let definition = Definition::from_xml(definition).map_err(|error| error.to_string())?;
    let packed = definition.pack_json(json).map_err(|error| format!("--payload: {error}"))?;
    if !as_json {
        return Ok(packed);
    }
    definition.unpack_json(&packed).map(String::into_bytes).map_err(|error| error.to_string())
}

/// Returns a seed from the clock: the second of the day.
pub(crate) fn seed_of_clock() -> u64 {
    engine::clock::unix_seconds().unwrap_or(0) % SECONDS_OF_A_DAY
}

/// Returns `seed`, or else one from the clock.
pub(crate) fn seed_or_clock(seed: Option<u64>) -> u64 {
    seed.unwrap_or_else(seed_of_clock)
}

/// The means, if any, by which a client resumes the TLS session of an earlier connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Resumption {
    /// Every handshake is a full one.
    None,
    /// With tickets that the server hands out.
    Tickets,
}

/// The kind of a key.
pub(crate) fn key_type() -> impl TypedValueParser<Value = KeyType> {
    let value = |key: KeyType| PossibleValue::new(key.name()).help(key.to_string());
    let all = [KeyType::Ecdsa, KeyType::Rsa];
    PossibleValuesParser::new(all.map(value)).map(move |name| {
        all.into_iter().find(|key| key.name() == name).expect("clap has looked it up")
    })
}

/// The name of a cipher suite.
pub(crate) fn tls_suite() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(wire::tls::suites().map(|(name, _)| name))
}

/// The name of a protocol (RFC 7301 §3.1).
pub(crate) fn alpn(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("is empty; name a protocol, as in http/1.1".to_owned()),
        1..=255 => Ok(text.to_owned()),
        len => Err(format!("has {len} bytes; names of protocols have at most 255")),
    }
}

/// The contents of the PEM file that `option` names.
pub(crate) fn pem(option: &str, path: &Path) -> Result<Vec<u8>, String> {
    input::read(path, PEM_MAX)
        .map_err(|error| format!("{option}: cannot read {}: {error}", path.display()))
}

/// Lists all of them, separated by commas.
pub(crate) fn listed<T: Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn number(text: &str) -> Result<u64, String> {
    let count: Count = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    Ok(count.0)
}

fn at_most(count: NonZeroU32, max: u32) -> Result<NonZeroU32, String> {
    if count.get() > max { Err(format!("at most {max} are possible")) } else { Ok(count) }
}

/// The longest message: what embedded servers accept by default.
pub(crate) const SIZE_MAX: Bytes = Bytes(16 << 20);

/// Protocols (ALPN) of HTTP that we do not speak.
pub(crate) const NOT_SPOKEN: [&str; 3] = ["h2", "h3", "http/1.0"];

/// The longest file of certificates. All those of a system take a quarter of it.
const PEM_MAX: Bytes = Bytes(1 << 20);

/// The longest file to read. Records of long sweeps have tens of megabytes.
const FILE_MAX: Bytes = Bytes(1 << 30);

const SECONDS_OF_A_DAY: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_and_too_much_are_told_apart() {
        #[rustfmt::skip]
        let table = [
            (count("0").map(NonZeroU32::get),          Err("must be at least 1".to_owned())),
            (count("10k").map(NonZeroU32::get),        Ok(10_000)),
            (count("5G").map(NonZeroU32::get),         Err("`5G` is too large; at most 4294967295 is possible".to_owned())),
            (threads("1025").map(NonZeroU32::get),     Err("at most 1024 are possible".to_owned())),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
        assert_eq!(some_time("0s"), Err("must be longer than 0s".to_owned()));
        assert_eq!(size("16MiB"), Ok(Bytes(16 << 20)));
        assert_eq!(
            size("17MiB"),
            Err("17 MiB is too large; messages have at most 16 MiB".to_owned())
        );
    }

    #[test]
    fn a_file_is_read_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("payload");
        std::fs::write(&path, [0, 255]).unwrap();
        let path = path.display().to_string();
        assert_eq!(content(&path, Bytes(2)), Ok(vec![0, 255]));
        assert_eq!(
            content(&path, Bytes(1)),
            Err(format!("cannot read {path}: it has more than 1 B"))
        );
        assert!(content("/nowhere", Bytes(1)).unwrap_err().starts_with("cannot read /nowhere: "));
    }
}
