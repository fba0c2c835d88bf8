//! The verifiers of rustls, wrapped so that they note the certificates that they refuse.

use super::certificate::Refused;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;
use x509_parser::asn1_rs::{Any, Class, FromDer};

/// Trusts certificates of known authorities, and notes those that it refuses.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) refused: Arc<Refused>,
    pub(super) verifier: Arc<WebPkiServerVerifier>,
}

/// Trusts any certificate and reads nothing but its public key: X.509 version 1 and unknown extensions are fine. The
/// peer must still have the key.
#[derive(Debug)]
pub(super) struct Anyone {
    pub(super) provider: Arc<CryptoProvider>,
}

/// Requires a certificate of clients, and notes those that it refuses.
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

/// The methods that both kinds of verifiers have: they check a signature, and note a certificate that fails the check.
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
        let key = PublicKey::of(own)?;
        let algorithms = self.provider.signature_verification_algorithms.mapping;
        let fitting = algorithms
            .iter()
            .filter(|(scheme, _)| *scheme == signature.scheme)
            .flat_map(|(_, algorithms)| *algorithms)
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == key.algorithm);
        let verified = fitting
            .map(|algorithm| algorithm.verify_signature(key.bits, message, signature.signature()))
            .any(|verified| verified.is_ok());
        if verified {
            return Ok(HandshakeSignatureValid::assertion());
        }
        Err(CertificateError::BadSignature.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = PublicKey::of(own)?;
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key.whole.into(), signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The public key of a certificate (RFC 5280 §4.1, `subjectPublicKeyInfo`), whatever else is in it.
struct PublicKey<'c> {
    whole: &'c [u8],
    /// The content of its `algorithm`.
    algorithm: &'c [u8],
    /// The content of its `subjectPublicKey`.
    bits: &'c [u8],
}

impl<'c> PublicKey<'c> {
    fn of(certificate: &'c CertificateDer<'_>) -> Result<Self, Error> {
        Self::read(certificate).ok_or_else(|| CertificateError::BadEncoding.into())
    }

    fn read(certificate: &'c [u8]) -> Option<Self> {
        let (_, certificate) = Any::from_der(certificate).ok()?;
        let (_, signed) = Any::from_der(certificate.data).ok()?;
        let mut rest = signed.data;
        let (after_version, version) = Any::from_der(rest).ok()?;
        if version.class() == Class::ContextSpecific {
            rest = after_version; // Version 1 has no version field.
        }
        // The serial number, the signature's algorithm, the issuer, the validity, and the subject.
        for _ in 0..5 {
            (rest, _) = Any::from_der(rest).ok()?;
        }
        let (after, key) = Any::from_der(rest).ok()?;
        let (bits, algorithm) = Any::from_der(key.data).ok()?;
        let (_, bits) = Any::from_der(bits).ok()?;
        // A bit string begins with the number of unused bits: none.
        let (0, bits) = bits.data.split_first().map(|(unused, bits)| (*unused, bits))? else {
            return None;
        };
        Some(Self { whole: &rest[..rest.len() - after.len()], algorithm: algorithm.data, bits })
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
