//! Cipher suites by name.

use super::facts::Version;
use super::options_error::OptionsError;
use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;

/// All available cipher suites, best first. Names are IANA's, except that those of TLS 1.3 begin with `TLS13_` to show
/// their version: `TLS13_AES_128_GCM_SHA256`, `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`.
pub fn suites() -> impl Iterator<Item = (&'static str, Version)> {
    ALL_CIPHER_SUITES.iter().map(|suite| (name(*suite), version(*suite)))
}

/// The name of a suite.
pub(super) fn name(suite: SupportedCipherSuite) -> &'static str {
    suite.suite().as_str().unwrap_or("unknown")
}

/// The version that a suite belongs to.
pub(super) fn version(suite: SupportedCipherSuite) -> Version {
    if suite.tls13().is_some() { Version::Tls13 } else { Version::Tls12 }
}

/// The suites with these names, in this order; all suites if `names` is empty. Those of TLS 1.3 are also found by
/// IANA's name.
pub(super) fn find(names: &[String]) -> Result<Vec<SupportedCipherSuite>, OptionsError> {
    if names.is_empty() {
        return Ok(rustls::crypto::aws_lc_rs::DEFAULT_CIPHER_SUITES.to_vec());
    }
    names.iter().map(|wanted| find_one(wanted)).collect()
}

fn find_one(wanted: &str) -> Result<SupportedCipherSuite, OptionsError> {
    let plain = |name: &str| name.to_ascii_uppercase().replace("TLS13_", "TLS_");
    let found = ALL_CIPHER_SUITES.iter().find(|suite| plain(name(**suite)) == plain(wanted));
    found.copied().ok_or_else(|| OptionsError::SuiteUnknown {
        name: wanted.to_owned(),
        near: suites()
            .map(|(name, _)| name)
            .min_by_key(|name| distance(name, wanted))
            .unwrap_or(""),
        all: suites().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
    })
}

/// Number of letters to change, insert or remove to turn one name into the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other = other.to_ascii_uppercase();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], index + 1);
        for (place, its) in other.bytes().enumerate() {
            let changed = before + usize::from(letter != its);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
