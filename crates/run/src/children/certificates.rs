//! The certificate that the servers of a run present, as files, and the authority that signed it.

use lab::{PrivateFolder, TlsFiles};
use serve::certificates::{Authority, KeyType, Leaf, Usage, Validity, local_names};
use std::path::Path;
use wire::tls::Identity;

/// One certificate for all servers of a run, issued by an authority that signs nothing else.
#[derive(Debug)]
pub(crate) struct Certificates {
    pub(crate) files: TlsFiles,
    pub(crate) authority_pem: Vec<u8>,
    _folder: PrivateFolder,
}

impl Certificates {
    /// Makes the certificate, for the names and addresses of this machine.
    ///
    /// # Errors
    ///
    /// The system provides no randomness, or the files cannot be written.
    pub(crate) fn new(scratch: &Path) -> Result<Self, String> {
        let (identity, authority_pem) = server_identity()?;
        let folder = PrivateFolder::new(scratch, "certificates")?;
        let files = TlsFiles {
            certificate: folder.write("certificate.pem", &identity.chain_pem)?,
            key: folder.write("key.pem", &identity.key_pem)?,
        };
        Ok(Self { files, authority_pem: authority_pem.into_bytes(), _folder: folder })
    }
}

/// A certificate with its key, for the names and addresses of this machine, and the authority that signed it, as PEM.
///
/// # Errors
///
/// The system provides no randomness.
pub(crate) fn server_identity() -> Result<(Identity, String), String> {
    let words = |error: serve::certificates::CertificateError| error.to_string();
    let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
    let validity = Validity::days(now_unix_s, VALID_DAYS);
    let authority = Authority::new(KeyType::default(), validity).map_err(words)?;
    let names = local_names();
    let leaf = Leaf { names: &names, usage: Usage::Server, validity };
    let identity = authority.issue(&leaf).map_err(words)?;
    Ok((identity, authority.certificate_pem().to_owned()))
}

/// Longer than any run.
const VALID_DAYS: u64 = 30;
