//! The ways in which a peer can break TLS, or refuse it.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums are those of libraries, and may grow"
)]

use super::certificate::{Refused, RefusedCertificate};
use crate::excerpt::Excerpt;
use rustls::{AlertDescription, InvalidMessage, PeerIncompatible};

/// A violation of TLS by a peer, its refusal, or our refusal of the peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The peer ended the connection with an alert, after the handshake.
    #[error("the peer ended the connection: alert {alert}{meaning}")]
    Alert {
        /// The alert as RFC 8446 §6 names it.
        alert: String,
        /// The meaning of the alert, as the second half of a sentence.
        meaning: &'static str,
    },
    /// The certificate of the peer was refused.
    #[error(transparent)]
    Certificate(Box<RefusedCertificate>),
    /// The connection ended inside the handshake.
    #[error("the connection ended inside the TLS handshake, before {awaited}")]
    CutHandshake {
        /// The message that the peer had yet to send, in words.
        awaited: &'static str,
    },
    /// The connection ended inside a record.
    #[error("the connection ended inside a TLS record, after {len}{} bytes of it", shown(*expected))]
    CutRecord {
        /// The bytes of the record that arrived, with its header.
        len: usize,
        /// The length of the record, if its header arrived.
        expected: Option<usize>,
    },
    /// A handshake message is cut into records of more bytes than we keep.
    #[error("handshake message in records of {len} bytes, limit is {max}")]
    HandshakeOverLimit {
        /// The bytes that were buffered.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A message or a record is malformed.
    #[error("malformed TLS: {what}")]
    Malformed {
        /// The fault.
        what: String,
    },
    /// The peer does what the protocol forbids.
    #[error("the peer broke a rule of TLS: {what}")]
    Misbehaved {
        /// The rule.
        what: String,
    },
    /// The client showed no certificate.
    #[error("the client showed no certificate, and one is required")]
    NoCertificate,
    /// The ends have no required group, signature or extension in common.
    #[error("nothing in common with the peer: {what}")]
    NoCommonGround {
        /// The kind of thing that is not in common.
        what: String,
    },
    /// We support none of the ALPN protocols that the peer offers.
    #[error("no ALPN protocol in common with the peer")]
    NoCommonProtocol,
    /// The ends have no cipher suite in common that fits the version and the key of the certificate.
    #[error("no cipher suite in common with the peer")]
    NoCommonSuite,
    /// The ends have no version of TLS in common.
    #[error("no version of TLS in common with the peer")]
    NoCommonVersion,
    /// The first bytes of the peer are not a record.
    #[error("the peer does not speak TLS: it sent {said}")]
    NotTls {
        /// The first bytes.
        said: Excerpt,
    },
    /// A record is longer than 16 KiB of plaintext plus the bytes that may be added.
    #[error("TLS record over the limit of 16384 bytes of plaintext")]
    RecordOverLimit,
    /// A record was changed in transit, or is protected by other keys.
    #[error(
        "a TLS record failed its integrity check: it was changed on its way, or is not a record"
    )]
    RecordCheck,
    /// The peer refused the handshake.
    #[error("the peer refused the handshake: alert {alert}{meaning}")]
    Refused {
        /// The alert as RFC 8446 §6 names it.
        alert: String,
        /// The meaning of the alert, as the second half of a sentence.
        meaning: &'static str,
    },
    /// The connection ended without `close_notify`, and the data inside may be incomplete.
    #[error("the connection ended without close_notify{}", within(inside.as_deref()))]
    Truncated {
        /// The error of the protocol inside, in words; `None` if that protocol cannot tell a complete message from a
        /// truncated one.
        inside: Option<Box<str>>,
    },
    /// rustls failed for another reason.
    #[error("TLS failed: {what}")]
    Unexpected {
        /// The reason.
        what: String,
    },
}

impl PeerError {
    /// Translates an error of rustls.
    pub(super) fn of(error: rustls::Error, is_complete: bool, refused: &Refused) -> Self {
        use rustls::Error as E;
        match error {
            E::AlertReceived(alert) => Self::of_alert(alert, is_complete, refused),
            E::InvalidCertificate(why) => Self::Certificate(refused.last(&why)),
            E::NoCertificatesPresented => Self::NoCertificate,
            E::NoApplicationProtocol => Self::NoCommonProtocol,
            E::PeerIncompatible(why) => Self::of_incompatible(&why),
            E::PeerMisbehaved(why) => Self::Misbehaved { what: words(&format!("{why:?}")) },
            E::PeerSentOversizedRecord | E::InvalidMessage(InvalidMessage::MessageTooLarge) => {
                Self::RecordOverLimit
            }
            E::InvalidMessage(why) => Self::Malformed { what: words(&format!("{why:?}")) },
            E::DecryptError => Self::RecordCheck,
            E::InappropriateMessage { .. } | E::InappropriateHandshakeMessage { .. } => {
                Self::Misbehaved { what: error.to_string() }
            }
            error => Self::Unexpected { what: error.to_string() },
        }
    }

    fn of_alert(alert: AlertDescription, is_complete: bool, refused: &Refused) -> Self {
        let meaning = match alert {
            // TLS 1.2 has no alert for it, so servers send one of these.
            AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::HandshakeFailure
            | AlertDescription::NoCertificate
                if refused.was_shown_none() =>
            {
                meaning(AlertDescription::CertificateRequired)
            }
            alert => meaning(alert),
        };
        let alert = name(alert);
        if is_complete { Self::Alert { alert, meaning } } else { Self::Refused { alert, meaning } }
    }

    fn of_incompatible(why: &PeerIncompatible) -> Self {
        use PeerIncompatible as P;
        match why {
            P::NoCipherSuitesInCommon => Self::NoCommonSuite,
            P::ServerDoesNotSupportTls12Or13
            | P::ServerTlsVersionIsDisabledByOurConfig
            | P::SupportedVersionsExtensionRequired
            | P::Tls12NotOffered
            | P::Tls12NotOfferedOrEnabled => Self::NoCommonVersion,
            why => Self::NoCommonGround { what: words(&format!("{why:?}")) },
        }
    }
}

/// The meaning of some alerts, for those who do not know the RFC by heart.
fn meaning(alert: AlertDescription) -> &'static str {
    use AlertDescription as A;
    match alert {
        A::HandshakeFailure => ": no suite, group or certificate in common",
        A::ProtocolVersion => ": no version of TLS in common",
        A::NoApplicationProtocol => ": no ALPN protocol in common",
        A::CertificateRequired => ": it requires a client certificate",
        A::UnknownCA => ": it does not know the issuer of our certificate",
        A::UnrecognisedName => ": it does not serve this name",
        A::BadRecordMac => ": a record did not pass its check",
        _ => "",
    }
}

/// An alert as the RFC writes it: `UnknownCA` is `unknown_ca`.
fn name(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::Unknown(number) => format!("{number}"),
        AlertDescription::UnrecognisedName => "unrecognized_name".to_owned(),
        alert => split(&format!("{alert:?}"), '_'),
    }
}

/// A name in words: `TooManyEmptyFragments` is `too many empty fragments`.
fn words(name: &str) -> String {
    split(name, ' ')
}

fn split(name: &str, between: char) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (index, letter) in letters.iter().enumerate() {
        let after_small = index > 0 && letters[index - 1].is_ascii_lowercase();
        let before_small = index > 0
            && letters[index - 1].is_ascii_uppercase()
            && letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_small || before_small) {
            words.push(between);
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn shown(expected: Option<usize>) -> String {
    expected.map_or_else(String::new, |expected| format!(" of {expected}"))
}

fn within(inside: Option<&str>) -> String {
    inside.map_or_else(
        || ", so the last message may be cut off".to_owned(),
        |inside| format!(": {inside}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_after_no_certificate_was_shown_is_for_want_of_one() {
        let asked = Refused::default();
        asked.note_none_to_show();
        let words = |alert, refused: &Refused| {
            PeerError::of(rustls::Error::AlertReceived(alert), false, refused).to_string()
        };
        let failure = AlertDescription::HandshakeFailure;
        assert!(
            words(failure, &asked).ends_with("handshake_failure: it requires a client certificate")
        );
        let certificate = words(AlertDescription::BadCertificate, &asked);
        assert!(certificate.ends_with("it requires a client certificate"), "{certificate}");
        assert!(words(failure, &Refused::default()).ends_with("certificate in common"));
        assert!(words(AlertDescription::UnknownCA, &asked).ends_with("issuer of our certificate"));
    }

    #[test]
    fn alerts_have_the_names_of_the_rfc() {
        #[rustfmt::skip]
        let table = [
            (AlertDescription::CloseNotify,            "close_notify"),
            (AlertDescription::UnexpectedMessage,      "unexpected_message"),
            (AlertDescription::BadRecordMac,           "bad_record_mac"),
            (AlertDescription::UnknownCA,              "unknown_ca"),
            (AlertDescription::UnknownPSKIdentity,     "unknown_psk_identity"),
            (AlertDescription::UnrecognisedName,       "unrecognized_name"),
            (AlertDescription::CertificateRequired,    "certificate_required"),
            (AlertDescription::NoApplicationProtocol,  "no_application_protocol"),
            (AlertDescription::Unknown(200),           "200"),
        ];
        for (alert, expected) in table {
            assert_eq!(name(alert), expected);
        }
    }
}
