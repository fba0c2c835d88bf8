//! The certificate that was refused, and the reason in plain words.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums are those of libraries, and may grow"
)]

use rustls::CertificateError;
use rustls::pki_types::{CertificateDer, ServerName};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::time::ASN1Time;

/// A certificate of the peer that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the certificate of {subject}, issued by {issuer}, {reason}")]
pub struct RefusedCertificate {
    /// The name of its holder.
    pub subject: String,
    /// The name of its issuer.
    pub issuer: String,
    /// The reason.
    pub reason: Refusal,
}

/// The reasons why a certificate is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is the certificate of an authority, made to sign others.
    #[error(
        "is a CA certificate (CA:TRUE), which a server must not present; a server certificate has CA:FALSE"
    )]
    AuthoritysOwn,
    /// Its signature, or one made with its key, is wrong.
    #[error("has an invalid signature, or its key made one")]
    BadSignature,
    /// Its validity has ended.
    #[error("expired at {not_after}")]
    Expired {
        /// The end of its validity.
        not_after: String,
    },
    /// Its bytes cannot be read.
    #[error("cannot be read")]
    Malformed,
    /// Its validity has not begun.
    #[error("is not valid before {not_before}")]
    NotYetValid {
        /// The beginning of its validity.
        not_before: String,
    },
    /// Another reason.
    #[error("is not valid: {what}")]
    Other {
        /// The description by rustls.
        what: String,
    },
    /// It is self-signed, and not among those that we trust.
    #[error("is self-signed, and not among the authorities that we trust")]
    SelfSigned,
    /// No authority that we trust issued it.
    #[error("is not issued by an authority that we trust")]
    UnknownAuthority,
    /// It is not for this use.
    #[error("is not meant for this use: {what}")]
    WrongUse {
        /// The description by rustls.
        what: String,
    },
    /// It is valid for other names.
    #[error("is not for {expected}, but for {}", list(presented))]
    WrongName {
        /// The name that was asked for.
        expected: String,
        /// The names that it is valid for.
        presented: Vec<String>,
    },
}

/// The last certificate that one configuration refused, and a flag for a client certificate that was asked for but
/// missing. rustls returns no certificate from a failed handshake, so the verifier leaves it here for the connection,
/// which asks at once. Two connections that fail at the same time may name each other's: both are of the same server.
#[derive(Debug, Default)]
pub(super) struct Refused {
    certificate: Mutex<Option<RefusedCertificate>>,
    /// True if the peer asked for our certificate, and there was none to show.
    shown_none: AtomicBool,
}

impl Refused {
    /// Notes that the peer asked for our certificate, and that there was none.
    pub(super) fn note_none_to_show(&self) {
        self.shown_none.store(true, Ordering::Relaxed);
    }

    /// True if the peer asked for a certificate, and was shown none.
    pub(super) fn was_shown_none(&self) -> bool {
        self.shown_none.load(Ordering::Relaxed)
    }

    /// Notes the reason `why` for the certificates in `chain`, the peer's own first.
    pub(super) fn note(&self, why: &CertificateError, chain: &[&CertificateDer<'_>]) {
        *self.lock() = Some(describe(why, chain));
    }

    /// The last certificate that was refused.
    pub(super) fn last(&self, why: &CertificateError) -> Box<RefusedCertificate> {
        Box::new(self.lock().clone().unwrap_or_else(|| describe(why, &[])))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RefusedCertificate>> {
        self.certificate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn describe(why: &CertificateError, chain: &[&CertificateDer<'_>]) -> RefusedCertificate {
    let chain: Vec<X509Certificate<'_>> = chain
        .iter()
        .map_while(|der| X509Certificate::from_der(der).ok().map(|(_, certificate)| certificate))
        .collect();
    let Some(own) = chain.first() else {
        return RefusedCertificate {
            subject: "an unreadable subject".to_owned(),
            issuer: "an unreadable issuer".to_owned(),
            reason: reason(why, None),
        };
    };
    let guilty = match why {
        CertificateError::ExpiredContext { not_after, .. } => {
            chain.iter().find(|it| seconds(it.validity().not_after) == Some(not_after.as_secs()))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            chain.iter().find(|it| seconds(it.validity().not_before) == Some(not_before.as_secs()))
        }
        // The one whose issuer is missing.
        CertificateError::UnknownIssuer => chain.last(),
        _ => None,
    };
    let guilty = guilty.unwrap_or(own);
    RefusedCertificate {
        subject: who(guilty),
        issuer: shown(&guilty.issuer().to_string()),
        reason: reason(why, Some(guilty)),
    }
}

fn reason(why: &CertificateError, guilty: Option<&X509Certificate<'_>>) -> Refusal {
    use CertificateError as E;
    let date = |of: fn(&X509Certificate<'_>) -> ASN1Time| guilty.map(|it| rfc3339(of(it)));
    let unknown = || "a time that cannot be read".to_owned();
    match why {
        E::Expired | E::ExpiredContext { .. } => {
            let not_after = date(|it| it.validity().not_after).unwrap_or_else(unknown);
            Refusal::Expired { not_after }
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            let not_before = date(|it| it.validity().not_before).unwrap_or_else(unknown);
            Refusal::NotYetValid { not_before }
        }
        E::UnknownIssuer if guilty.is_some_and(|it| it.subject() == it.issuer()) => {
            Refusal::SelfSigned
        }
        E::UnknownIssuer => Refusal::UnknownAuthority,
        E::NotValidForNameContext { expected, .. } => {
            let presented = guilty.map(names).unwrap_or_default();
            Refusal::WrongName { expected: server_name(expected), presented }
        }
        E::BadSignature
        | E::UnsupportedSignatureAlgorithmContext { .. }
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => Refusal::BadSignature,
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            Refusal::WrongUse { what: shown(&why.to_string()) }
        }
        E::BadEncoding => Refusal::Malformed,
        // This error has no variant of its own in rustls.
        E::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            Refusal::AuthoritysOwn
        }
        why => Refusal::Other { what: shown(&why.to_string()) },
    }
}

/// The holder of a certificate: its subject or, if that is empty (as browsers prefer), its names.
fn who(certificate: &X509Certificate<'_>) -> String {
    let subject = certificate.subject().to_string();
    if subject.is_empty() { list(&names(certificate)) } else { shown(&subject) }
}

/// The names that a certificate is valid for (RFC 5280 §4.2.1.6).
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    let names = extension.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(shown(name)),
        GeneralName::IPAddress(bytes) => Some(address(bytes)),
        _ => None,
    });
    names.take(NAMES_MAX).collect()
}

fn address(bytes: &[u8]) -> String {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        core::net::Ipv4Addr::from(four).to_string()
    } else if let Ok(sixteen) = <[u8; 16]>::try_from(bytes) {
        core::net::Ipv6Addr::from(sixteen).to_string()
    } else {
        "an address that cannot be read".to_owned()
    }
}

fn server_name(name: &ServerName<'_>) -> String {
    match name {
        ServerName::IpAddress(address) => core::net::IpAddr::from(*address).to_string(),
        name => name.to_str().into_owned(),
    }
}

fn seconds(time: ASN1Time) -> Option<u64> {
    u64::try_from(time.timestamp()).ok()
}

fn rfc3339(time: ASN1Time) -> String {
    let time = time.to_datetime();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

/// Text from a peer, made safe for a terminal and for one line.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(TEXT_LEN_MAX).collect();
    let mut shown = String::with_capacity(short.len());
    for letter in short.chars() {
        if letter.is_control() || letter == '\\' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    if short.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "no name at all".to_owned() } else { names.join(", ") }
}

/// Most letters of a certificate's text that are shown.
const TEXT_LEN_MAX: usize = 128;

/// Most names of a certificate that are shown.
const NAMES_MAX: usize = 16;
