//! Certificates for tests: our own authority, which signs certificates for servers and clients (RFC 5280).
//!
//! The arguments determine a certificate, except for its key and what derives from the key: serial number, key
//! identifier, and the number in the name of an authority. So a test can request an expired certificate, and if each of
//! several servers has its own authority, it is clear which one signed.
//!
//! The profile satisfies strict programs (`openssl verify -x509_strict`, browsers): names in the extension for names,
//! the key usage stated, key identifiers in both kinds of certificate, and leaves valid for at most [`DAYS_MAX`] days.
//!
//! Left out: reading certificates (`wire::tls`), storing them (the binary), revocation.
//!
//! Start reading at [`Authority::new`] and [`Authority::issue`].

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, RsaKeySize, SanType,
};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use wire::tls::Identity;

/// An authority that signs certificates; whoever trusts the authority trusts its certificates.
#[derive(Debug)]
pub struct Authority {
    key_type: KeyType,
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

/// The content of a certificate: the names of its holder, its usage and validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// The names of the holder. A server is reached under one of them; a client needs none.
    pub names: &'a [Name],
    /// The end of a connection that it is for.
    pub usage: Usage,
    /// The time in which it is valid.
    pub validity: Validity,
}

/// The type of a key, and of the signatures made with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyType {
    /// ECDSA on the curve P-256, with SHA-256.
    #[default]
    Ecdsa,
    /// RSA with 2048 bits, with SHA-256.
    Rsa,
}

/// The end of a connection that a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The end that connects.
    Client,
    /// The end that accepts.
    Server,
}

/// The time in which a certificate is valid: both ends included, in seconds since 1970-01-01 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first instant.
    pub from_unix_s: u64,
    /// The last instant.
    pub until_unix_s: u64,
}

/// A name of the holder: the DNS name of a host (also `*.example.com`), or its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
    /// A DNS name, in lower case.
    Dns(String),
}

/// The names of a server on this machine: `localhost`, `127.0.0.1` and `::1`.
pub fn local_names() -> Vec<Name> {
    let addresses: [IpAddr; 2] = [[127, 0, 0, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let dns = Name::Dns("localhost".to_owned());
    std::iter::once(dns).chain(addresses.map(Name::Address)).collect()
}

impl Validity {
    /// The time from an hour before `now_unix_s`, for clocks that are behind, until `days` after it.
    pub const fn days(now_unix_s: u64, days: u64) -> Self {
        Self {
            from_unix_s: now_unix_s.saturating_sub(HOUR_S),
            until_unix_s: now_unix_s.saturating_add(days.saturating_mul(DAY_S)),
        }
    }
}

impl Authority {
    /// Makes an authority with a new key, and signs its certificate with that key.
    ///
    /// # Errors
    ///
    /// The system provides no randomness.
    pub fn new(key_type: KeyType, validity: Validity) -> Result<Self, CertificateError> {
        let key = key_type.generate()?;
        let identifier = CertificateParams::default().key_identifier(&key);
        let number: String = identifier.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let mut params = params(&format!("wirebench test authority {number}"), validity);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0)); // It signs leaves, but no other authority.
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate_pem = params.self_signed(&key)?.pem();
        Ok(Self { key_type, issuer: Issuer::new(params, key), certificate_pem })
    }

    /// Makes a key of the authority's key type, and signs a certificate for it. The chain is that certificate alone:
    /// the other end already has the authority's.
    ///
    /// # Errors
    ///
    /// The system provides no randomness.
    pub fn issue(&self, leaf: &Leaf<'_>) -> Result<Identity, CertificateError> {
        let key = self.key_type.generate()?;
        let mut params = params(&common_name(leaf), leaf.validity);
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.subject_alt_names =
            leaf.names.iter().map(Name::to_extension).collect::<Result<_, _>>()?;
        params.key_usages = self.key_type.usages().to_vec();
        params.extended_key_usages = vec![match leaf.usage {
            Usage::Client => ExtendedKeyUsagePurpose::ClientAuth,
            Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
        }];
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity {
            chain_pem: certificate.pem().into_bytes(),
            key_pem: key.serialize_pem().into_bytes(),
        })
    }

    /// Its certificate, which clients have to trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Its key (PKCS #8), with which anyone can sign in its name.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }
}

impl KeyType {
    /// The name as users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecdsa => "ecdsa",
            Self::Rsa => "rsa",
        }
    }

    fn generate(self) -> Result<KeyPair, rcgen::Error> {
        match self {
            Self::Ecdsa => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::Rsa => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
        }
    }

    /// The uses of a key of this type in a handshake: TLS 1.2 also has suites in which RSA encrypts.
    fn usages(self) -> &'static [KeyUsagePurpose] {
        match self {
            Self::Ecdsa => &[KeyUsagePurpose::DigitalSignature],
            Self::Rsa => &[KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment],
        }
    }
}

/// The usual name.
impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ecdsa => "ECDSA P-256",
            Self::Rsa => "RSA-2048",
        })
    }
}

impl Name {
    fn to_extension(&self) -> Result<SanType, rcgen::Error> {
        Ok(match self {
            Self::Address(address) => SanType::IpAddress(*address),
            Self::Dns(name) => SanType::DnsName(name.as_str().try_into()?),
        })
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        check_name(text).map(|()| Self::Dns(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Dns(name) => f.write_str(name),
        }
    }
}

/// The reasons why a certificate cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A key or a signature could not be made.
    #[error("cannot make a key or a certificate: {what}")]
    Unmade {
        /// The message of the library.
        what: String,
    },
}

impl From<rcgen::Error> for CertificateError {
    fn from(error: rcgen::Error) -> Self {
        Self::Unmade { what: error.to_string() }
    }
}

/// The reasons why a text cannot be a name or an address in a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, or has nothing between two dots.
    #[error("`{name}` has an empty part; use a name like `localhost` or `a.example.com`")]
    Empty {
        /// The name that was given.
        name: String,
    },
    /// The name has characters other than letters, digits, `-`, `_` and dots; other alphabets have an ASCII form
    /// (`xn--…`).
    #[error(
        "`{name}` contains {found:?}; a name may contain only ASCII letters, digits, `-`, `_` and dots; \
         write an address without brackets or a port"
    )]
    Character {
        /// The name that was given.
        name: String,
        /// The first character that is not allowed.
        found: char,
    },
    /// The name looks like an address but is not a valid one.
    #[error("`{name}` ends in a number but is not an address like `127.0.0.1`")]
    Number {
        /// The name that was given.
        name: String,
    },
    /// The name, or one of its parts, is too long (RFC 1035 §2.3.4).
    #[error(
        "`{name}` is too long: a name has at most {NAME_LEN_MAX} characters, {PART_LEN_MAX} between dots"
    )]
    TooLong {
        /// The name that was given, or its beginning.
        name: String,
    },
    /// A star is not the whole first part (RFC 6125 §6.4.3).
    #[error(
        "`{name}` has a misplaced star; only the entire first part may be one, as in `*.example.com`"
    )]
    Wildcard {
        /// The name that was given.
        name: String,
    },
}

/// Checks that `text` can be a name in the DNS.
fn check_name(text: &str) -> Result<(), NameError> {
    let name = || text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    let plain = match text.strip_prefix("*.") {
        Some(rest) if !rest.is_empty() => rest,
        _ => text,
    };
    if plain.contains('*') {
        return Err(NameError::Wildcard { name: name() });
    }
    let is_fine = |found: char| found.is_ascii_alphanumeric() || "-_.".contains(found);
    if let Some(found) = plain.chars().find(|found| !is_fine(*found)) {
        return Err(NameError::Character { name: name(), found });
    }
    if plain.split('.').any(str::is_empty) {
        return Err(NameError::Empty { name: name() });
    }
    if text.len() > NAME_LEN_MAX || plain.split('.').any(|part| part.len() > PART_LEN_MAX) {
        return Err(NameError::TooLong { name: name() });
    }
    let mut parts = plain.rsplit('.');
    if parts.next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(NameError::Number { name: name() });
    }
    Ok(())
}

/// The parameters that authorities and leaves have in common.
fn params(common_name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "wirebench");
    params.distinguished_name.push(DnType::CommonName, common_name);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let at = |unix_s: u64| epoch + Duration::from_secs(unix_s.min(LAST_UNIX_S));
    params.not_before = at(validity.from_unix_s);
    params.not_after = at(validity.until_unix_s);
    params
}

/// Returns the first name, unless it is longer than this attribute may be (RFC 5280, appendix A.1).
fn common_name(leaf: &Leaf<'_>) -> String {
    let first = leaf.names.first().map(Name::to_string);
    first.filter(|name| name.len() <= COMMON_NAME_LEN_MAX).unwrap_or_else(|| {
        match leaf.usage {
            Usage::Client => "wirebench test client",
            Usage::Server => "wirebench test server",
        }
        .to_owned()
    })
}

/// The most days that a leaf may be valid: browsers refuse more than 398 days in total.
pub const DAYS_MAX: u64 = 397;

const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;

/// 9999-12-31T23:59:59Z, the last instant that a certificate can name.
const LAST_UNIX_S: u64 = 253_402_300_799;

/// The longest name, and the longest part of one between dots.
const NAME_LEN_MAX: usize = 253;
const PART_LEN_MAX: usize = 63;

const COMMON_NAME_LEN_MAX: usize = 64;

/// The most characters of a text that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_read_and_told_apart() {
        let long_part = "a".repeat(64);
        let long = "a.".repeat(126) + "bb";
        #[rustfmt::skip]
        let table = [
            ("localhost",        Ok(Name::Dns("localhost".to_owned()))),
            ("A.Example.com",    Ok(Name::Dns("a.example.com".to_owned()))),
            ("*.example.com",    Ok(Name::Dns("*.example.com".to_owned()))),
            ("127.0.0.1",        Ok(Name::Address([127, 0, 0, 1].into()))),
            ("::1",              Ok(Name::Address(std::net::Ipv6Addr::LOCALHOST.into()))),
            ("[::1]",            Err("`[::1]` contains '['; a name may contain only")),
            ("a:80",             Err("`a:80` contains ':'; a name may contain only")),
            ("bücher.de",        Err("`bücher.de` contains 'ü'; a name may contain only")),
            ("",                 Err("`` has an empty part")),
            ("a..b",             Err("`a..b` has an empty part")),
            ("a.",               Err("`a.` has an empty part")),
            ("127.0.0",          Err("`127.0.0` ends in a number but is not an address")),
            ("*",                Err("`*` has a misplaced star")),
            ("*.",               Err("`*.` has a misplaced star")),
            ("a.*.b",            Err("`a.*.b` has a misplaced star")),
            (&long_part,         Err("is too long: a name has at most 253 characters, 63 between dots")),
            (&long,              Err("is too long: a name has at most 253 characters, 63 between dots")),
        ];
        for (text, expected) in table {
            match (text.parse::<Name>(), expected) {
                (Ok(name), Ok(expected)) => assert_eq!(name, expected),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (read, expected) => panic!("{text}: {read:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn a_validity_in_days_begins_an_hour_early_and_saturates() {
        let validity = Validity::days(1_000_000, 2);
        assert_eq!((validity.from_unix_s, validity.until_unix_s), (996_400, 1_172_800));
        let longest = Validity::days(0, DAYS_MAX);
        assert!(longest.until_unix_s + HOUR_S <= 398 * DAY_S);
        let all = Validity::days(u64::MAX, u64::MAX);
        assert_eq!(all.until_unix_s, u64::MAX);
        Authority::new(KeyType::Ecdsa, all).expect("it ends in the year 9999");
    }

    #[test]
    fn every_authority_has_a_name_and_every_leaf_a_key_of_its_own() {
        let validity = Validity::days(1_800_000_000, 1);
        for key_type in [KeyType::Ecdsa, KeyType::Rsa] {
            let names = [(); 2].map(|()| {
                let authority = Authority::new(key_type, validity).expect("there is randomness");
                format!("{:?}", authority.issuer)
            });
            assert_ne!(names[0], names[1]);
        }
        let authorities = [(); 2]
            .map(|()| Authority::new(KeyType::Ecdsa, validity).expect("there is randomness"));
        let leaf = Leaf { names: &local_names(), usage: Usage::Server, validity };
        let leaves = [(); 2].map(|()| authorities[0].issue(&leaf).expect("there is randomness"));
        assert_ne!(leaves[0].key_pem, leaves[1].key_pem);
        assert!(!format!("{:?}", authorities[0]).contains("PRIVATE"));
    }
}
