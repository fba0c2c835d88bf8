//! The certificate that the servers of a run show, as files, and the authority that signed it.

use super::private_folder::PrivateFolder;
use lab::TlsFiles;
use serve::certificates::{Authority, KeyType, Leaf, Usage, Validity, local_names};
use std::path::Path;

/// One certificate for all servers of a run, of an authority that signs nothing else.
#[derive(Debug)]
pub(crate) struct Certificates {
    pub(crate) files: TlsFiles,
    pub(crate) authority_pem: Vec<u8>,
    _folder: PrivateFolder,
}

impl Certificates {
    /// Makes them, for the names and addresses of this machine.
    ///
    /// # Errors
    ///
    /// The system gives no randomness, or the files cannot be written.
    pub(crate) fn new(scratch: &Path) -> Result<Self, String> {
        let words = |error: serve::certificates::CertificateError| error.to_string();
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let validity = Validity::days(now_unix_s, VALID_DAYS);
        let authority = Authority::new(KeyType::default(), validity).map_err(words)?;
        let names = local_names();
        let leaf = Leaf { names: &names, usage: Usage::Server, validity };
        let identity = authority.issue(&leaf).map_err(words)?;
        let folder = PrivateFolder::new(scratch, "certificates")?;
        let files = TlsFiles {
            certificate: folder.write("certificate.pem", &identity.chain_pem)?,
            key: folder.write("key.pem", &identity.key_pem)?,
        };
        let authority_pem = authority.certificate_pem().as_bytes().to_vec();
        Ok(Self { files, authority_pem, _folder: folder })
    }
}

/// Longer than any run.
const VALID_DAYS: u64 = 30;
