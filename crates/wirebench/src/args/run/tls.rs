//! How a run speaks TLS, and whom it trusts.

use crate::args::values;
use crate::config::Conflict;
use spec::{Endpoint, Protocol, Scheme};
use std::path::{Path, PathBuf};
use wire::tls::{Client, Identity, OptionsError, Trust, Version};

/// All of it; without options the authorities of the system are trusted.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS (wss://, https://, tls://, tls-framed://)")]
pub(super) struct Tls {
    /// Trust the authority in FILE (PEM), and none of the system; repeatable
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    ca: Vec<PathBuf>,
    /// Do not verify the server's certificate; the record says so
    #[arg(long, hide_short_help = true)]
    insecure: bool,
    /// The name or address that the server's certificate is to have [default: that in the URL]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    server_name: Option<String>,
    /// Show this certificate to servers that ask for one, with what leads to its authority behind it (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    client_cert: Option<PathBuf>,
    /// The key of --client-cert (PEM: PKCS #8, SEC 1 or PKCS #1)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    client_key: Option<PathBuf>,
    /// Offer this version, 1.2 or 1.3; repeatable [default: both]
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    tls_version: Vec<Version>,
    /// Offer this cipher suite; repeatable, the best first [default: all]
    #[arg(long, value_name = "SUITE", value_parser = values::tls_suite(), hide_short_help = true)]
    tls_suite: Vec<String>,
    /// Whether connections resume earlier ones: tickets or none [default: tickets]
    ///
    /// By tickets each connection goes on with what an earlier one agreed on, where the server hands tickets out.
    /// Without, every handshake is a full one. Full and resumed handshakes are counted and timed apart.
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    tls_resumption: Option<values::Resumption>,
    /// Offer this protocol (ALPN); repeatable, the best first [default: http/1.1 for wss:// and https://, else none]
    #[arg(long, value_name = "PROTOCOL", value_parser = values::alpn, hide_short_help = true)]
    alpn: Vec<String>,
}

#[rustfmt::skip]
pub(super) const CONFLICTS: &[Conflict] = &[
    Conflict { between: ["ca", "insecure"], cure: "with --insecure nobody's certificate is looked at; leave one out" },
];

impl Tls {
    /// How `url` is to be spoken to; `None` where nothing is encrypted.
    pub(super) fn speak(&self, url: &Endpoint) -> Result<Option<run::Tls>, String> {
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let Some(mut tls) = run::Tls::usual(url.scheme(), now_unix_s) else {
            return self
                .given()
                .map_or(Ok(None), |option| Err(means_nothing(option, url.scheme())));
        };
        let options = &mut tls.options;
        options.versions = self.tls_version.clone();
        options.suites = self.tls_suite.clone();
        options.resumption = self.tls_resumption != Some(values::Resumption::None);
        if !self.alpn.is_empty() {
            options.alpn = self.protocols(url.scheme())?;
        }
        options.identity = self.identity()?;
        options.trust = self.trust()?;
        tls.server_name = self.server_name.clone();
        let name = tls.server_name.as_deref().unwrap_or_else(|| url.host());
        // What cannot be is known before anything runs.
        match Client::new(&tls.options, name) {
            Ok(_) => Ok(Some(tls)),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Whose certificates are good.
    fn trust(&self) -> Result<Trust, String> {
        if self.insecure {
            return Ok(Trust::Anyone);
        }
        if self.ca.is_empty() {
            return Ok(Trust::Authorities { pem: Vec::new(), der: of_system()? });
        }
        let pem = self.ca.iter().map(|path| authority(path)).collect::<Result<_, String>>()?;
        Ok(Trust::Authorities { pem, der: Vec::new() })
    }

    /// Who we are.
    fn identity(&self) -> Result<Option<Identity>, String> {
        match (&self.client_cert, &self.client_key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => Ok(Some(Identity {
                chain_pem: values::pem("--client-cert", cert)?,
                key_pem: values::pem("--client-key", key)?,
            })),
            (Some(cert), None) => Err(format!(
                "--client-cert {0} needs its key: --client-cert {0} --client-key FILE",
                cert.display()
            )),
            (None, Some(key)) => Err(format!(
                "--client-key {0} needs its certificate: --client-cert FILE --client-key {0}",
                key.display()
            )),
        }
    }

    /// What is offered by ALPN.
    fn protocols(&self, scheme: Scheme) -> Result<Vec<String>, String> {
        let is_other = |name: &&String| values::NOT_SPOKEN.contains(&name.as_str());
        match self.alpn.iter().find(is_other).filter(|_| scheme.facts().path.is_some()) {
            Some(other) => {
                Err(format!("--alpn {other}: {scheme} is spoken over http/1.1 here; offer that"))
            }
            None => Ok(self.alpn.clone()),
        }
    }

    /// Which option cannot be, with the file that it names.
    fn refused(&self, error: &OptionsError) -> String {
        let identity = || match (&self.client_cert, &self.client_key) {
            (Some(cert), Some(key)) => {
                format!("--client-cert {} --client-key {}", cert.display(), key.display())
            }
            (None, _) | (_, None) => "TLS".to_owned(),
        };
        let option = match error {
            OptionsError::Alpn { .. } => "--alpn".to_owned(),
            OptionsError::ServerName { .. } if self.server_name.is_none() => {
                return format!("{error}; say what its certificate is for with --server-name NAME");
            }
            OptionsError::ServerName { .. } => "--server-name".to_owned(),
            OptionsError::SuiteOfOtherVersion { .. }
            | OptionsError::SuiteUnknown { .. }
            | OptionsError::VersionWithoutSuite { .. } => "--tls-suite".to_owned(),
            OptionsError::KeyMismatch
            | OptionsError::NoCertificate { .. }
            | OptionsError::NoKey
            | OptionsError::Pem { .. }
            | OptionsError::Rustls { .. }
            | OptionsError::SuiteOfOtherKey { .. }
            | _ => identity(),
        };
        format!("{option}: {error}")
    }

    /// The first option that was given.
    fn given(&self) -> Option<&'static str> {
        let all = [
            ("--ca", !self.ca.is_empty()),
            ("--insecure", self.insecure),
            ("--server-name", self.server_name.is_some()),
            ("--client-cert", self.client_cert.is_some()),
            ("--client-key", self.client_key.is_some()),
            ("--tls-version", !self.tls_version.is_empty()),
            ("--tls-suite", !self.tls_suite.is_empty()),
            ("--tls-resumption", self.tls_resumption.is_some()),
            ("--alpn", !self.alpn.is_empty()),
        ];
        all.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// That nothing is encrypted over `scheme`, and where it would be.
fn means_nothing(option: &str, scheme: Scheme) -> String {
    let instead = scheme
        .protocol
        .secured()
        .map_or_else(String::new, |secure| format!(", or take {secure}://"));
    format!("{option} means nothing to {scheme}://, which is not encrypted; leave it out{instead}")
}

/// What is in a file of --ca, which has to be certificates.
fn authority(path: &Path) -> Result<Vec<u8>, String> {
    let pem = values::pem("--ca", path)?;
    let mut usual = run::Tls::usual(Scheme { protocol: Protocol::Tcp, tls: true }, 0)
        .expect("it is inside TLS");
    usual.options.trust = Trust::Authorities { pem: vec![pem.clone()], der: Vec::new() };
    let alone = Client::new(&usual.options, "localhost");
    alone.map(|_| pem).map_err(|error| format!("--ca {}: {error}", path.display()))
}

/// The authorities that this system trusts.
fn of_system() -> Result<Vec<Vec<u8>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs.into_iter().map(|certificate| certificate.to_vec()).collect());
    }
    let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
    Err(format!(
        "this system has no certificate authorities that could be trusted{why}; name one with --ca FILE, install \
         ca-certificates, or look away with --insecure"
    ))
}
