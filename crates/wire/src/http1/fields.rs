//! The fields of a head that concern the connection and the body that follows (RFC 9112 §6 and §9.3).

use super::error::PeerError;
use super::head::{has_member, members};
use crate::excerpt::Excerpt;
use httparse::Header;

/// The fields that decide how a message and its connection end; all others are skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    /// `Transfer-Encoding: chunked`, and no other coding.
    pub(super) chunked: bool,
    /// `Connection: close`.
    close: bool,
    pub(super) content_length: Option<u64>,
    /// `Expect: 100-continue`.
    pub(super) expects_continue: bool,
    /// The number of `Host` fields.
    pub(super) hosts: usize,
    /// `Connection: keep-alive`.
    keep_alive: bool,
}

impl Fields {
    /// Reads the fields of a message of HTTP/1.`minor_version`.
    ///
    /// # Errors
    ///
    /// They leave the end of the body open to doubt (RFC 9112 §6.3): [`PeerError::BothLengths`],
    /// [`PeerError::ContentLength`], [`PeerError::TransferEncoding`].
    #[inline]
    pub(super) fn read(headers: &[Header<'_>], minor_version: u8) -> Result<Self, PeerError> {
        let mut fields = Self::default();
        for header in headers {
            let (name, value) = (header.name, header.value);
            // The length tells almost all names apart without looking at them.
            match name.len() {
                4 if name.eq_ignore_ascii_case("host") => fields.hosts += 1,
                6 if name.eq_ignore_ascii_case("expect") => {
                    fields.expects_continue |= has_member(value, "100-continue");
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    fields.close |= has_member(value, "close");
                    fields.keep_alive |= has_member(value, "keep-alive");
                }
                14 if name.eq_ignore_ascii_case("content-length") => {
                    fields.add_content_length(value)?
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    fields.add_transfer_encoding(value, minor_version)?;
                }
                _ => {}
            }
        }
        if fields.chunked && fields.content_length.is_some() {
            return Err(PeerError::BothLengths);
        }
        Ok(fields)
    }

    /// True if the connection stays open after this message (RFC 9112 §9.3).
    pub(super) fn persists(&self, minor_version: u8) -> bool {
        !self.close && (minor_version >= 1 || self.keep_alive)
    }

    /// Takes one number, or the same number repeated, which RFC 9112 §6.3 lets a reader treat as one.
    fn add_content_length(&mut self, value: &[u8]) -> Result<(), PeerError> {
        let error = || PeerError::ContentLength { value: Excerpt::new(value) };
        for member in value.split(|byte| *byte == b',') {
            let length = decimal(super::head::trim(member)).ok_or_else(error)?;
            if self.content_length.is_some_and(|known| known != length) {
                return Err(error());
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    /// Accepts only `chunked`, once; nothing in HTTP/1.0, whose readers may not know it (RFC 9112 §6.1).
    fn add_transfer_encoding(&mut self, value: &[u8], minor_version: u8) -> Result<(), PeerError> {
        let mut codings = members(value);
        let alone = codings.next().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"))
            && codings.next().is_none()
            && !self.chunked;
        if !alone || minor_version == 0 {
            return Err(PeerError::TransferEncoding { value: Excerpt::new(value) });
        }
        self.chunked = true;
        Ok(())
    }
}

/// Reads a decimal number; `None` if `digits` has other characters or is beyond `u64`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
