//! TLS from options.

use super::{Context, Options, Resumption};
use crate::{Identity, Pem, Problem, Scheme, Tls, Trust};
use units::Bytes;

impl Options {
    /// The first TLS option that is set.
    pub(super) fn given_tls(&self) -> Option<&'static str> {
        let all = [
            ("ca", !self.ca.is_empty()),
            ("insecure", self.insecure),
            ("server-name", self.server_name.is_some()),
            ("client-cert", self.client_cert.is_some()),
            ("client-key", self.client_key.is_some()),
            ("tls-version", !self.tls_version.is_empty()),
            ("tls-suite", !self.tls_suite.is_empty()),
            ("tls-resumption", self.tls_resumption.is_some()),
            ("alpn", !self.alpn.is_empty()),
        ];
        all.into_iter().find_map(|(field, is_set)| is_set.then_some(field))
    }

    /// The TLS settings; `None` for a scheme without TLS.
    pub(super) fn tls(
        &self,
        scheme: Scheme,
        context: &Context<'_>,
    ) -> Result<Option<Tls>, Problem> {
        if !scheme.tls {
            return Ok(None);
        }
        for version in &self.tls_version {
            if !["1.2", "1.3"].contains(&version.as_str()) {
                return Err(Problem::new(
                    "tls-version",
                    format!("`{version}` is neither 1.2 nor 1.3"),
                ));
            }
        }
        for name in &self.alpn {
            if !(1..=255).contains(&name.len()) {
                let len = name.len();
                return Err(Problem::new(
                    "alpn",
                    format!("a name of {len} bytes; names of protocols have 1 to 255"),
                ));
            }
            if scheme.facts().path.is_some() && NOT_SPOKEN.contains(&name.as_str()) {
                return Err(Problem::new(
                    "alpn",
                    format!("{name}: {scheme}:// is supported only over http/1.1; offer that"),
                ));
            }
        }
        Ok(Some(Tls {
            versions: self.tls_version.clone(),
            suites: self.tls_suite.clone(),
            resumption: self.tls_resumption != Some(Resumption::None),
            alpn: if self.alpn.is_empty() { scheme.alpn() } else { self.alpn.clone() },
            trust: self.trust(context)?,
            server_name: self.server_name.clone(),
            identity: self.identity(context)?,
        }))
    }

    fn trust(&self, context: &Context<'_>) -> Result<Trust, Problem> {
        if self.insecure && !self.ca.is_empty() {
            return Err(Problem::new(
                "ca",
                "with --insecure no certificate is verified; leave one of the two out",
            ));
        }
        if self.insecure {
            return Ok(Trust::Anyone);
        }
        if self.ca.is_empty() {
            return Ok(Trust::System);
        }
        let all = self.ca.iter().map(|file| pem("ca", file, context)).collect::<Result<_, _>>()?;
        Ok(Trust::Authorities(all))
    }

    fn identity(&self, context: &Context<'_>) -> Result<Option<Identity>, Problem> {
        match (&self.client_cert, &self.client_key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key_file)) => Ok(Some(Identity {
                certificate: pem("client-cert", certificate, context)?,
                key_file: key_file.clone(),
                key: Some(pem("client-key", key_file, context)?.text),
            })),
            (Some(certificate), None) => Err(Problem::new(
                "client-cert",
                format!(
                    "{certificate} needs its key: --client-cert {certificate} --client-key FILE"
                ),
            )),
            (None, Some(key)) => Err(Problem::new(
                "client-key",
                format!("{key} needs its certificate: --client-cert FILE --client-key {key}"),
            )),
        }
    }
}

/// The text of a PEM file. Bytes that are not UTF-8 are outside of its PEM blocks, where nothing has a meaning.
fn pem(field: &'static str, file: &str, context: &Context<'_>) -> Result<Pem, Problem> {
    let bytes = (context.read)(file, PEM_MAX).map_err(|problem| Problem::new(field, problem))?;
    Ok(Pem { file: file.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The ALPN names of HTTP versions that wirebench does not speak.
const NOT_SPOKEN: [&str; 3] = ["h2", "h3", "http/1.0"];
/// The largest file of certificates; those of a whole system take a quarter of it.
pub(crate) const PEM_MAX: Bytes = Bytes(1 << 20);
