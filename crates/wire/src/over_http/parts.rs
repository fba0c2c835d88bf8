//! The parts of a response (RFC 2046 §5.1.1): each has a head and a body, between two boundaries.
//!
//! ```text
//! --boundary CRLF  head  CRLF CRLF  body  CRLF --boundary CRLF  head  CRLF CRLF  body  CRLF --boundary--
//! ```
//!
//! A part is complete once the boundary after it has arrived, whatever follows that. Heads are skipped, and so is
//! everything before the first boundary and after the last.

use super::error::PeerError;
use std::ops::Range;

/// Finds parts in a body.
#[derive(Debug)]
pub(super) struct Parts {
    /// A line end, two hyphens and the boundary.
    delimiter: Vec<u8>,
    place: Place,
    /// No delimiter, or end of a head, begins before this byte.
    looked: usize,
    /// The body of the part that was found last.
    found: Range<usize>,
}

/// The place in a body that the search has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeFirst,
    /// After a boundary, which may be the last.
    Head,
    Body,
    BehindLast,
}

impl Parts {
    /// A reader at the beginning of a body, before which a line end was inserted: the first boundary need not have one.
    pub(super) fn new(boundary: &[u8]) -> Self {
        let delimiter = [b"\r\n--", boundary].concat();
        Self { delimiter, place: Place::BeforeFirst, looked: 0, found: 0..0 }
    }

    /// Takes note that the bytes up to `taken` were removed from the front.
    pub(super) fn removed(&mut self, taken: usize) {
        self.looked -= taken.min(self.looked);
        self.found = 0..0;
    }

    /// Searches on in `bytes` from `taken`, which is advanced past what need not be kept; `false` if no part is
    /// complete.
    ///
    /// # Errors
    ///
    /// The body of a part, or its head, is longer than `len_max`.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        taken: &mut usize,
        len_max: usize,
    ) -> Result<bool, PeerError> {
        loop {
            if self.place == Place::Head && bytes[*taken..].starts_with(b"--") {
                self.place = Place::BehindLast;
            }
            let wanted = match self.place {
                Place::BeforeFirst | Place::Body => &*self.delimiter,
                Place::Head => b"\r\n\r\n",
                Place::BehindLast => {
                    *taken = bytes.len();
                    return Ok(false);
                }
            };
            let from = self.looked.max(*taken);
            let found = bytes[from..].windows(wanted.len()).position(|found| found == wanted);
            // A part of what is wanted may have arrived.
            let looked = (bytes.len() + 1).saturating_sub(wanted.len()).max(from);
            self.looked = found.map_or(looked, |at| from + at);
            if self.looked - *taken > len_max {
                return Err(PeerError::OverLimit { max: len_max });
            }
            if found.is_none() {
                return Ok(false);
            }
            let before = *taken..self.looked;
            *taken = self.looked + wanted.len();
            match self.place {
                Place::Head => self.place = Place::Body,
                Place::BeforeFirst | Place::BehindLast => self.place = Place::Head,
                Place::Body => {
                    (self.place, self.found) = (Place::Head, before);
                    return Ok(true);
                }
            }
        }
    }

    /// The body of the part that was found last.
    pub(super) fn found(&self) -> Range<usize> {
        self.found.clone()
    }

    /// True if a part has begun and has not ended.
    pub(super) fn is_amid(&self) -> bool {
        self.place == Place::Body
    }
}

/// The boundary that a `Content-Type` of parts names (RFC 2046 §5.1.1), a token or a quoted string; `None` for another
/// type, or without a boundary of 1 to 70 bytes.
pub(super) fn boundary(content_type: &[u8]) -> Option<Vec<u8>> {
    let is_multipart =
        content_type.get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"multipart/"));
    let mut parameters = content_type.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_at_checked(9)?;
        name.eq_ignore_ascii_case(b"boundary=").then_some(value)
    })?;
    let quoted = || value.strip_prefix(b"\"")?.strip_suffix(b"\"");
    let boundary = quoted().unwrap_or(value);
    (is_multipart && (1..=70).contains(&boundary.len())).then(|| boundary.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_named_by_a_type_of_parts_alone() {
        #[rustfmt::skip]
        let table = [
            ("multipart/mixed; boundary=yD6F",                   Some("yD6F")),
            ("Multipart/X-Mixed-Replace;charset=x; Boundary=\"a b\"", Some("a b")),
            ("multipart/mixed",                                  None),
            ("multipart/mixed; boundary=",                       None),
            ("text/plain; boundary=a",                           None),
            ("",                                                 None),
        ];
        for (content_type, expected) in table {
            let found = boundary(content_type.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{content_type}");
        }
        assert_eq!(
            boundary(format!("multipart/mixed; boundary={}", "a".repeat(71)).as_bytes()),
            None
        );
    }
}
