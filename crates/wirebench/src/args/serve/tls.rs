//! The TLS options of `wirebench serve`: its certificate, and the parameters that it accepts.

use crate::args::values;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use engine::Address;
use serve::certificates::{Authority, DAYS_MAX, KeyType, Leaf, Name, Usage, Validity, local_names};
use spec::{Protocol, Scheme};
use std::path::{Path, PathBuf};
use wire::tls::{Identity, OptionsError, ServerOptions, Version};

/// The TLS settings of a server; without options it makes a certificate at start.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS (tls, tls-framed, wss, https)")]
pub(super) struct Tls {
    /// Write the certificate that clients must trust to FILE, before `ready`
    ///
    /// It belongs to an authority that is made at start and signs for this server alone.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    ca_out: Option<PathBuf>,
    /// A name or address in the certificate; repeatable [default: localhost 127.0.0.1 ::1 and --listen]
    #[arg(long, value_name = "NAME|ADDRESS", hide_short_help = true)]
    name: Vec<Name>,
    /// The type of key of the certificate that is made at start [default: ecdsa]
    #[arg(long, value_name = "KIND", value_parser = values::key_type(), hide_short_help = true)]
    tls_key: Option<KeyType>,
    /// Use this certificate (PEM, followed by its chain) instead of making one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    cert: Option<PathBuf>,
    /// The key of --cert (PEM: PKCS #8, SEC 1 or PKCS #1)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    key: Option<PathBuf>,
    /// Refuse clients without a certificate signed by an authority in FILE (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    client_ca: Option<PathBuf>,
    /// Accept this TLS version, 1.2 or 1.3; repeatable [default: both]
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    tls_version: Vec<Version>,
    /// Accept this cipher suite; repeatable [default: all]
    #[arg(long, value_name = "SUITE", value_parser = values::tls_suite(), hide_short_help = true)]
    tls_suite: Vec<String>,
    /// The way in which clients resume earlier sessions [default: tickets]
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    tls_resumption: Option<values::Resumption>,
    /// Accept this protocol (ALPN); repeatable [default: http/1.1 for wss and https, else none]
    #[arg(long, value_name = "PROTOCOL", value_parser = values::alpn, hide_short_help = true)]
    alpn: Vec<String>,
}

/// The TLS settings in use, and what is printed about them.
pub(super) struct Secure {
    pub(super) server: wire::tls::Server,
    /// The certificate of the authority that was made at start, if one was.
    authority_pem: Option<String>,
    /// A description of the server's certificate.
    shows: String,
}

impl Tls {
    /// Makes or reads the certificate and checks all options; `None` if `scheme` has no TLS.
    pub(super) fn secure(
        &self,
        scheme: Scheme,
        listen: &Address,
    ) -> Result<Option<Secure>, Failure> {
        if let Some(option) = self.given().filter(|_| !scheme.tls) {
            let cure = if scheme.protocol == Protocol::Game {
                "add --tls".to_owned()
            } else {
                format!("use one of {}", Scheme::list(Scheme::echoes().filter(|scheme| scheme.tls)))
            };
            return Err(Failure::usage(format!(
                "{option} does not apply to {scheme}, which does not use TLS; leave it out, or {cure}"
            )));
        }
        if !scheme.tls {
            return Ok(None);
        }
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let (identity, authority_pem, shows) = match self.files().map_err(Failure::usage)? {
            Some((cert, key)) => {
                let identity = read_identity(cert, key).map_err(Failure::usage)?;
                (identity, None, format!("the certificate of {}", cert.display()))
            }
            None => self.make(listen, now_unix_s)?,
        };
        let options = ServerOptions {
            versions: self.tls_version.clone(),
            suites: self.tls_suite.clone(),
            identity,
            client_authorities_pem: self
                .client_ca
                .as_deref()
                .map(|path| values::pem("--client-ca", path))
                .transpose()
                .map_err(Failure::usage)?,
            alpn: self.protocols(scheme).map_err(Failure::usage)?,
            resumption: self.tls_resumption != Some(values::Resumption::None),
            now_unix_s,
        };
        let server = wire::tls::Server::new(&options).map_err(|error| self.refused(&error))?;
        Ok(Some(Secure { server, authority_pem, shows }))
    }

    /// Writes the certificate of the authority if asked to, and prints how clients can trust this server.
    pub(super) fn publish(&self, secure: &Secure, terminal: &Terminal) -> Result<(), Failure> {
        if let (Some(path), Some(pem)) = (&self.ca_out, &secure.authority_pem) {
            std::fs::write(path, pem).map_err(|error| {
                let what = anyhow::anyhow!("cannot write {}: {error}", path.display());
                Failure::new(Exit::NOT_WRITTEN, what)
            })?;
        }
        let trust = match (&self.ca_out, &secure.authority_pem) {
            (Some(path), Some(_)) => format!("--ca {}", path.display()),
            (None, Some(_)) => "--ca FILE, after --ca-out FILE here".to_owned(),
            (_, None) => "--ca FILE, the authority that signed it".to_owned(),
        };
        let client = if self.client_ca.is_some() {
            "; clients need a certificate of their own (--client-cert, --client-key)"
        } else {
            ""
        };
        let versions = match &self.tls_version[..] {
            [] => "1.2 or 1.3".to_owned(),
            some => some.iter().map(Version::to_string).collect::<Vec<_>>().join(" or "),
        };
        let shows = &secure.shows;
        terminal.say(&format!(
            "TLS {versions} with {shows}; clients trust it with {trust}, or skip verification with --insecure{client}"
        ));
        Ok(())
    }

    /// The files of --cert and --key, if they were given.
    fn files(&self) -> Result<Option<(&Path, &Path)>, String> {
        let (cert, key) = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => (cert, key),
            (None, None) => return Ok(None),
            (Some(cert), None) => {
                return Err(format!(
                    "--cert {0} needs its key: --cert {0} --key FILE",
                    cert.display()
                ));
            }
            (None, Some(key)) => {
                return Err(format!(
                    "--key {0} needs its certificate: --cert FILE --key {0}",
                    key.display()
                ));
            }
        };
        let of_own = [
            ("--tls-key", self.tls_key.is_some()),
            ("--name", !self.name.is_empty()),
            ("--ca-out", self.ca_out.is_some()),
        ];
        match of_own.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(format!(
                "{option} is for a certificate made at start, but --cert {} names one; leave one of them out",
                cert.display()
            )),
            None => Ok(Some((cert, key))),
        }
    }

    /// Makes an authority and a certificate for the address on which the server listens.
    fn make(
        &self,
        listen: &Address,
        now_unix_s: u64,
    ) -> Result<(Identity, Option<String>, String), Failure> {
        let names = if self.name.is_empty() { names_at(listen) } else { self.name.clone() };
        let validity = Validity::days(now_unix_s, DAYS_MAX);
        let key_type = self.tls_key.unwrap_or_default();
        let authority = Authority::new(key_type, validity).map_err(anyhow::Error::from)?;
        let leaf = Leaf { names: &names, usage: Usage::Server, validity };
        let identity = authority.issue(&leaf).map_err(anyhow::Error::from)?;
        let shows = format!("an {key_type} certificate for {}", values::listed(&names));
        Ok((identity, Some(authority.certificate_pem().to_owned()), shows))
    }

    /// The protocols that the server accepts by ALPN.
    fn protocols(&self, scheme: Scheme) -> Result<Vec<String>, String> {
        // Two of the ways into a game are over HTTP.
        let is_http = scheme.protocol == Protocol::Game || scheme.facts().path.is_some();
        if let Some(other) =
            self.alpn.iter().find(|name| is_http && values::NOT_SPOKEN.contains(&name.as_str()))
        {
            return Err(format!(
                "--alpn {other}: this server speaks {scheme} over http/1.1 only; use --alpn http/1.1"
            ));
        }
        if is_http && self.alpn.is_empty() {
            return Ok(vec!["http/1.1".to_owned()]);
        }
        Ok(self.alpn.clone())
    }

    /// Returns the error for TLS settings that do not fit together: the option at fault and what to do.
    fn refused(&self, error: &OptionsError) -> Failure {
        let of = |option: &str, path: &Option<PathBuf>| {
            let path = path.as_deref().unwrap_or_else(|| Path::new("FILE"));
            format!("{option} {}", path.display())
        };
        let (cert, key) = (of("--cert", &self.cert), of("--key", &self.key));
        Failure::usage(match error {
            OptionsError::KeyMismatch => {
                format!("{key}: it does not belong to the first certificate of {cert}")
            }
            OptionsError::NoKey => format!("{key}: {error}"),
            OptionsError::NoCertificate { part } | OptionsError::Pem { part, .. } => {
                let file = match *part {
                    "the authorities" => of("--client-ca", &self.client_ca),
                    "the private key" => key,
                    _ => cert,
                };
                format!("{file}: {error}")
            }
            OptionsError::SuiteOfOtherKey { .. } => {
                format!("--tls-suite: {error}; choose one that does, or another --tls-key")
            }
            OptionsError::SuiteOfOtherVersion { version, .. } => {
                format!("--tls-suite: {error}; leave it out, or add --tls-version {version}")
            }
            OptionsError::VersionWithoutSuite { version } => {
                format!(
                    "--tls-version {version}: {error}; leave it out, or add a --tls-suite of it"
                )
            }
            OptionsError::Alpn { .. }
            | OptionsError::Rustls { .. }
            | OptionsError::ServerName { .. }
            | OptionsError::SuiteUnknown { .. }
            | _ => error.to_string(),
        })
    }

    /// The name of the first option that was given.
    fn given(&self) -> Option<&'static str> {
        let all = [
            ("--ca-out", self.ca_out.is_some()),
            ("--name", !self.name.is_empty()),
            ("--tls-key", self.tls_key.is_some()),
            ("--cert", self.cert.is_some()),
            ("--key", self.key.is_some()),
            ("--client-ca", self.client_ca.is_some()),
            ("--tls-version", !self.tls_version.is_empty()),
            ("--tls-suite", !self.tls_suite.is_empty()),
            ("--tls-resumption", self.tls_resumption.is_some()),
            ("--alpn", !self.alpn.is_empty()),
        ];
        all.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

fn read_identity(cert: &Path, key: &Path) -> Result<Identity, String> {
    let (chain_pem, key_pem) = (values::pem("--cert", cert)?, values::pem("--key", key)?);
    Ok(Identity { chain_pem, key_pem })
}

/// The names in the certificate of a server that listens on `listen`.
fn names_at(listen: &Address) -> Vec<Name> {
    let mut names = local_names();
    if let Address::Tcp(address) = listen {
        let own = Name::Address(address.ip());
        if !address.ip().is_unspecified() && !names.contains(&own) {
            names.push(own);
        }
    }
    names
}
