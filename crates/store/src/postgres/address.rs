//! The address of a database: a URL, as in libpq.

use super::errors::sources;
use crate::StoreError;
use std::path::{Path, PathBuf};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The address of a database.
pub(super) struct Address {
    config: Config,
    /// Its name without user and password.
    name: String,
    authorities: Option<PathBuf>,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`].
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let wrong = |what: String| StoreError::Address { address: without_secrets(url), what };
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut authorities = None;
        let mut rest = Vec::new();
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=') {
                // A certificate is always verified in full.
                Some(("sslmode", "verify-full")) => rest.push("sslmode=require"),
                Some(("sslmode", mode)) if !["disable", "prefer", "require"].contains(&mode) => {
                    return Err(wrong(format!(
                        "sslmode is {mode}, and can be disable, prefer, require or verify-full"
                    )));
                }
                Some(("sslrootcert", path)) => authorities = Some(PathBuf::from(decoded(path))),
                _ => rest.push(setting),
            }
        }
        let url = format!("{base}?{}", rest.join("&"));
        let mut config: Config = url.parse().map_err(|error| wrong(sources(&error)))?;
        let Some(host) = config.get_hosts().first() else {
            return Err(wrong("it names no host".to_owned()));
        };
        let (host, is_socket) = match host {
            Host::Tcp(name) => (name.clone(), false),
            Host::Unix(path) => (path.display().to_string(), true),
        };
        let port = config.get_ports().first().filter(|port| **port != PORT);
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let Some(database) = config.get_dbname() else {
            return Err(wrong("it names no database".to_owned()));
        };
        let name = format!("postgres://{host}{port}/{database}");
        config.application_name("wirebench");
        if is_socket {
            config.ssl_mode(SslMode::Disable);
        }
        Ok(Self { config, name, authorities })
    }

    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The file with the authorities that are trusted; `None`: those of the system.
    pub(super) fn authorities(&self) -> Option<&Path> {
        self.authorities.as_deref()
    }
}

/// A URL without user, password and settings, any of which may be a secret.
fn without_secrets(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        (Some(_), None) => url.to_owned(),
        (None, _) => "postgres:…".to_owned(),
    }
}

/// The text with its `%XX` decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The default port.
const PORT: u16 = 5432;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_database_and_no_secret() {
        #[rustfmt::skip]
        let table = [
            ("postgres://ada:secret@db.example/bench",                     "postgres://db.example/bench",       None),
            ("postgresql://ada@db.example:6000/bench?sslmode=verify-full", "postgres://db.example:6000/bench",  None),
            ("postgres://%2Ftmp%2Fa/bench?user=ada&password=secret",       "postgres:///tmp/a/bench",           None),
            ("postgres://h/b?sslrootcert=%2Fa%20b.pem&sslmode=require",    "postgres://h/b",                    Some("/a b.pem")),
        ];
        for (url, name, authorities) in table {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.name(), address.authorities()), (name, authorities.map(Path::new)));
        }
    }

    #[test]
    fn a_mistake_is_told_without_the_password() {
        for (url, words) in [
            ("postgres://ada:secret@/bench", "names no host"),
            ("postgres://ada:secret@h", "names no database"),
            ("postgres://ada:secret@h/b?sslmode=verify-ca", "sslmode is verify-ca"),
            ("postgres://ada:secret@h:port/b", "port"),
            ("postgres://ada:secret@h/b?colour=red", "colour"),
        ] {
            let error = Address::parse(url).map(|_| ()).unwrap_err();
            assert!(matches!(error, StoreError::Address { .. }), "{url}: {error}");
            let error = error.to_string();
            assert!(error.contains(words) && !error.contains("secret"), "{url}: {error}");
            assert!(error.contains("postgres://USER@HOST/DATABASE"), "{error}");
        }
    }
}
