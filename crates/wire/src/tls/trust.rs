//! The verifiers of rustls, wrapped so that they note the certificates that they refuse.

use super::certificate::Refused;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;

/// Trusts certificates of known authorities, and notes those that it refused.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) refused: Arc<Refused>,
    pub(super) verifier: Arc<WebPkiServerVerifier>,
}

/// Trusts any certificate. The peer must still have its key.
#[derive(Debug)]
pub(super) struct Anyone {
    pub(super) provider: Arc<CryptoProvider>,
}

/// Requires a certificate of clients, and notes those that it refused.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) refused: Arc<Refused>,
    pub(super) verifier: Arc<dyn ClientCertVerifier>,
}

/// A client without a certificate: notes that it was asked for one.
#[derive(Debug)]
pub(super) struct Nobody {
    pub(super) refused: Arc<Refused>,
}

impl ResolvesClientCert for Nobody {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.refused.note_none_to_show();
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// Notes the certificate if it was refused.
fn note<T>(
    refused: &Refused,
    own: &CertificateDer<'_>,
    others: &[CertificateDer<'_>],
    verified: Result<T, Error>,
) -> Result<T, Error> {
    if let Err(Error::InvalidCertificate(why)) = &verified {
        let chain: Vec<_> = std::iter::once(own).chain(others).collect();
        refused.note(why, &chain);
    }
    verified
}

/// The methods that both kinds of verifiers have: the check of a signature, and a note of a certificate that fails it.
macro_rules! noted_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            own: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let verified = self.verifier.verify_tls12_signature(message, own, signature);
            note(&self.refused, own, &[], verified)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            own: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let verified = self.verifier.verify_tls13_signature(message, own, signature);
            note(&self.refused, own, &[], verified)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.verifier.supported_verify_schemes()
        }
    };
}

impl ServerCertVerifier for Vouched {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(own, others, name, ocsp_response, now);
        note(&self.refused, own, others, verified)
    }

    noted_signatures!();
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _own: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, own, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, own, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Clients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        note(&self.refused, own, others, self.verifier.verify_client_cert(own, others, now))
    }

    noted_signatures!();
}
