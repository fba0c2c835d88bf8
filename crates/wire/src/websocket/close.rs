//! The payload of a Close frame: a code and a reason (RFC 6455 §5.5.1 and §7.4).

use super::{PeerError, utf8};
use crate::contract::Closed;
use std::borrow::Cow;

/// Reads the payload of a Close frame.
///
/// # Errors
///
/// `BadCloseCode`, `BadCloseReason` or `ShortClose`.
pub(super) fn read(payload: &[u8]) -> Result<Closed<'_>, PeerError> {
    match payload {
        [] => Ok(Closed::default()),
        [_] => Err(PeerError::ShortClose),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_sent(code) {
                return Err(PeerError::BadCloseCode { code });
            }
            match std::str::from_utf8(reason) {
                Ok(reason) => Ok(Closed { code: Some(code), reason: Cow::Borrowed(reason) }),
                Err(_) => Err(PeerError::BadCloseReason { at: utf8::valid_len(reason) }),
            }
        }
    }
}

/// True if `code` may be in a Close frame (§7.4).
///
/// The codes of the RFC, those that IANA registered later (1012 to 1014), and those of libraries (3000 to 3999) and
/// applications (4000 to 4999). Not 1004 (reserved), nor 1005, 1006 and 1015, which stand for "no Close frame".
const fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_assigned_close_codes_may_be_sent() {
        let allowed: Vec<u16> = (0..=u16::MAX).filter(|code| may_be_sent(*code)).collect();
        let expected: Vec<u16> =
            [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
                .into_iter()
                .chain(3000..5000)
                .collect();
        assert_eq!(allowed, expected);
    }

    #[test]
    fn a_close_payload_is_nothing_or_a_code_and_a_reason() {
        let said =
            |code, reason: &'static str| Ok(Closed { code: Some(code), reason: reason.into() });
        #[rustfmt::skip]
        let table: &[(&[u8], Result<Closed<'_>, PeerError>)] = &[
            (b"",                   Ok(Closed::default())),
            (b"\x03",               Err(PeerError::ShortClose)),
            (b"\x03\xe8",           said(1000, "")),
            (b"\x03\xe9away",       said(1001, "away")),
            ("\x0f\x3cgrüß".as_bytes(), said(3900, "grüß")),
            (b"\x03\xee",           Err(PeerError::BadCloseCode { code: 1006 })),
            (b"\x03\xe8ab\xce",     Err(PeerError::BadCloseReason { at: 2 })),
            (b"\x00\x00\xff",       Err(PeerError::BadCloseCode { code: 0 })), // the code is looked at first
        ];
        for row @ (payload, expected) in table {
            assert_eq!(read(payload), *expected, "{row:?}");
        }
    }
}
