//! Digests of bodies.

use std::fmt;
use std::str::FromStr;

/// A SHA-256 digest (FIPS 180-4), written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Self, Sha256Error> {
        let error = Sha256Error { len: text.len() };
        let mut digest = [0; 32];
        if text.len() != 2 * digest.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(error);
        }
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| error.clone())?;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

crate::text::as_text!(
    Sha256,
    "a SHA-256 digest in hexadecimal digits",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
);

/// A text that is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a SHA-256 digest is 64 hexadecimal digits, and these are {len} characters; `sha256sum FILE` prints one"
)]
pub struct Sha256Error {
    len: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_and_is_written_alike() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let digest: Sha256 = text.parse().unwrap();
        assert_eq!((digest.0[0], digest.0[31]), (0xe3, 0x55));
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.to_uppercase().parse(), Ok(digest));
        for wrong in
            ["", "e3", &text[1..], &format!("{}g", &text[1..]), &text.replacen("e3", "+3", 1)]
        {
            let error = wrong.parse::<Sha256>().unwrap_err().to_string();
            assert!(error.contains(&format!("these are {} characters", wrong.len())), "{error}");
        }
    }
}
