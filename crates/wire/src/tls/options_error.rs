//! The reasons why the settings of an end cannot be used.

use super::facts::Version;

/// The reasons why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A protocol of ALPN has no name, or a long one (RFC 7301 §3.1).
    #[error("ALPN protocol of {len} bytes, expected 1 to {max}")]
    Alpn {
        /// Its length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The private key belongs to another certificate.
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
    /// A part that should have a certificate has none.
    #[error("no certificate in {part}; PEM has `-----BEGIN CERTIFICATE-----`")]
    NoCertificate {
        /// The part.
        part: &'static str,
    },
    /// The key file has no private key.
    #[error("no private key in the key file; PEM has `-----BEGIN PRIVATE KEY-----`")]
    NoKey,
    /// A part in PEM cannot be read.
    #[error("{part} cannot be read: {what}")]
    Pem {
        /// The part.
        part: &'static str,
        /// The fault.
        what: String,
    },
    /// rustls refuses the settings.
    #[error("cannot set up TLS: {what}")]
    Rustls {
        /// The reason.
        what: String,
    },
    /// It is neither the name of a host nor an address.
    #[error("`{name}` is not the name of a server; use one like `example.org` or `127.0.0.1`")]
    ServerName {
        /// The name that was given.
        name: String,
    },
    /// No suite fits the kind of the certificate's key.
    #[error("no TLS 1.2 suite works with the {key} key of the certificate; {suite} does not")]
    SuiteOfOtherKey {
        /// The first suite that was requested.
        suite: &'static str,
        /// The type of the certificate's key.
        key: &'static str,
    },
    /// A suite belongs to a version other than those requested.
    #[error("{suite} belongs to TLS {version}, which was not asked for")]
    SuiteOfOtherVersion {
        /// The suite.
        suite: &'static str,
        /// The version that it goes with.
        version: Version,
    },
    /// There is no such suite.
    #[error("unknown cipher suite `{name}`; did you mean `{near}`? The suites are {all}")]
    SuiteUnknown {
        /// The name that was given.
        name: String,
        /// The closest name that exists.
        near: &'static str,
        /// The names of all suites.
        all: String,
    },
    /// A version was requested, but none of its suites.
    #[error("TLS {version} was requested, but none of the suites belongs to it")]
    VersionWithoutSuite {
        /// The version.
        version: Version,
    },
}
