//! UTF-8 checks of text messages (RFC 6455 §8.1), whole or as their bytes arrive.

use super::PeerError;

/// Checks a whole text message.
///
/// # Errors
///
/// `NotUtf8`.
#[inline]
pub(super) fn check(message: &[u8]) -> Result<(), PeerError> {
    match simdutf8::basic::from_utf8(message) {
        Ok(_) => Ok(()),
        Err(_) => Err(PeerError::NotUtf8 { at: valid_len(message) }),
    }
}

/// The length of the complete characters at the front of `bytes`.
#[cold]
pub(super) fn valid_len(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    }
}

/// Progress of checking a text message that arrives in pieces.
///
/// Every byte is checked once, except for the up to three bytes of a character whose end has not arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The bytes from the front of the message that are known to be complete characters.
    checked_len: usize,
}

impl Progress {
    /// Checks the new bytes of `message`, which holds all that have arrived so far. The first byte that no later one
    /// can make valid is an error, even in the middle of a character.
    ///
    /// # Errors
    ///
    /// `NotUtf8`.
    pub(super) fn advance(&mut self, message: &[u8]) -> Result<(), PeerError> {
        match simdutf8::compat::from_utf8(&message[self.checked_len..]) {
            Ok(_) => self.checked_len = message.len(),
            Err(error) => {
                self.checked_len += error.valid_up_to();
                if error.error_len().is_some() {
                    return Err(PeerError::NotUtf8 { at: self.checked_len });
                }
            }
        }
        Ok(())
    }

    /// Checks that `message`, which is complete, does not end in the middle of a character.
    ///
    /// # Errors
    ///
    /// `NotUtf8`.
    pub(super) const fn finish(self, message: &[u8]) -> Result<(), PeerError> {
        if self.checked_len == message.len() {
            Ok(())
        } else {
            Err(PeerError::NotUtf8 { at: self.checked_len })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_refused_at_its_first_hopeless_byte() {
        #[rustfmt::skip]
        let table: &[(&[u8], Refusal)] = &[
            //  bytes                             refused after, valid up to
            (b"",                                 None),
            (b"plain",                            None),
            ("κόσμε".as_bytes(),                  None),
            ("\u{10FFFF}\u{FFFE}\0".as_bytes(),   None),
            (b"a\x80",                            Some((2, 1))), // a continuation without a start
            (b"ab\xc0",                           Some((3, 2))), // overlong whatever follows
            (b"\xc1\xbf",                         Some((1, 0))),
            (b"\xce",                             Some((2, 0))), // cut off
            (b"\xce\xba\xe1\xbd",                 Some((5, 2))),
            (b"\xe0\x80\x80",                     Some((2, 0))), // overlong
            (b"\xed\xa0\x80",                     Some((2, 0))), // a surrogate
            (b"\xf0\x80\x80\x80",                 Some((2, 0))), // overlong
            (b"\xf4\x8f\xbf\xbf",                 None),
            (b"\xf4\x90\x80\x80",                 Some((2, 0))), // above U+10FFFF
            (b"\xf5\x80\x80\x80",                 Some((1, 0))),
            (b"\xff",                             Some((1, 0))),
        ];
        for row @ (message, expected) in table {
            assert_eq!(refusal(message), *expected, "{row:?}");
            let whole = check(message).map_err(|error| format!("{error:?}"));
            let expected =
                expected.map_or(Ok(()), |(_, at)| Err(format!("{:?}", PeerError::NotUtf8 { at })));
            assert_eq!(whole, expected, "{row:?}");
        }
    }

    #[test]
    fn every_short_text_is_judged_as_by_the_standard_library() {
        // Every boundary of the ranges in the table of Unicode, §3.9.
        let bytes = [
            0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
            0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ];
        let pairs = || bytes.iter().flat_map(|left| bytes.iter().map(|right| [*left, *right]));
        for message in pairs().flat_map(|left| pairs().map(move |right| [left, right].concat())) {
            let is_utf8 = std::str::from_utf8(&message).is_ok();
            assert_eq!(refusal(&message).is_none(), is_utf8, "{message:x?}");
        }
    }

    /// The number of bytes after which a message is refused (one more than its length: only at its end), and the number
    /// of bytes that are UTF-8.
    type Refusal = Option<(usize, usize)>;

    /// Feeds `message` byte by byte.
    fn refusal(message: &[u8]) -> Refusal {
        let mut progress = Progress::default();
        for len in 1..=message.len() {
            if let Err(PeerError::NotUtf8 { at }) = progress.advance(&message[..len]) {
                return Some((len, at));
            }
        }
        match progress.finish(message) {
            Err(PeerError::NotUtf8 { at }) => Some((message.len() + 1, at)),
            _ => None,
        }
    }
}
