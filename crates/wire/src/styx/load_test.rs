//! The messages between bots and the load-test game, inside [`GameTransport`](super::packets::GameTransport).
//!
//! Each is a packet of its own protocol, with the header of a frame: length and class id. A length may count the header
//! (as Java's packing does) or leave it out (as JavaScript's does): readers accept both, we write the first.
//!
//! The field order and the class ids are not published; these are the likely ones, and they give the sizes that the
//! published bandwidth implies.

/// A bot's event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadRequest {
    /// The bot's player id.
    pub pid: i32,
    /// The table at which the bot sits.
    pub tableid: i32,
    /// The number of the event: one more than that of the bot's last event, beginning with 1.
    pub seq: i32,
    /// Milliseconds for which the game holds the event before it answers.
    pub delay: i32,
    /// True if the event was sent before, over a connection that broke.
    pub resend: bool,
}

/// The game's answer to an event, which all players of the table get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadResponse {
    /// The player id of the bot that sent the event.
    pub pid: i32,
    /// The table of the event.
    pub tableid: i32,
    /// The number of the bot's event.
    pub seq: i32,
    /// The flag of the event.
    pub resend: bool,
}

impl LoadRequest {
    /// The class id.
    pub const CLASS_ID: u8 = 1;

    /// The length in bytes, header included.
    pub const LEN: usize = 22;

    /// Packs the request into bytes.
    #[inline]
    pub fn pack(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let numbers = [self.pid, self.tableid, self.seq, self.delay];
        fill(&mut bytes, Self::CLASS_ID, &numbers, self.resend);
        bytes
    }

    /// Reads a request from its bytes.
    ///
    /// # Errors
    ///
    /// The first fault in the bytes.
    #[inline]
    pub fn unpack(bytes: &[u8]) -> Result<Self, UnpackError> {
        let ([pid, tableid, seq, delay], resend) = read::<4, { Self::LEN }>(bytes, Self::CLASS_ID)?;
        Ok(Self { pid, tableid, seq, delay, resend })
    }
}

impl LoadResponse {
    /// The class id.
    pub const CLASS_ID: u8 = 2;

    /// The length in bytes, header included.
    pub const LEN: usize = 18;

    /// Packs the response into bytes.
    #[inline]
    pub fn pack(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        fill(&mut bytes, Self::CLASS_ID, &[self.pid, self.tableid, self.seq], self.resend);
        bytes
    }

    /// Reads a response from its bytes.
    ///
    /// # Errors
    ///
    /// The first fault in the bytes.
    #[inline]
    pub fn unpack(bytes: &[u8]) -> Result<Self, UnpackError> {
        let ([pid, tableid, seq], resend) = read::<3, { Self::LEN }>(bytes, Self::CLASS_ID)?;
        Ok(Self { pid, tableid, seq, resend })
    }
}

impl From<&LoadRequest> for LoadResponse {
    /// The game's answer to the event.
    fn from(request: &LoadRequest) -> Self {
        let LoadRequest { pid, tableid, seq, delay: _, resend } = *request;
        Self { pid, tableid, seq, resend }
    }
}

/// Fills `bytes`, which have the length of the whole packet, header included.
#[inline]
fn fill(bytes: &mut [u8], class_id: u8, numbers: &[i32], resend: bool) {
    let len = u32::try_from(bytes.len()).expect("it is one of two constants");
    bytes[..4].copy_from_slice(&len.to_be_bytes());
    bytes[4] = class_id;
    for (field, number) in bytes[HEADER_LEN..].chunks_exact_mut(4).zip(numbers) {
        field.copy_from_slice(&number.to_be_bytes());
    }
    bytes[HEADER_LEN + 4 * numbers.len()] = u8::from(resend);
}

/// Reads `N` numbers and a boolean after a header, `LEN` bytes in all.
#[inline]
fn read<const N: usize, const LEN: usize>(
    bytes: &[u8],
    class_id: u8,
) -> Result<([i32; N], bool), UnpackError> {
    let bytes: &[u8; LEN] =
        bytes.try_into().map_err(|_| UnpackError::Len { len: bytes.len(), expected: LEN })?;
    let announced = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if ![LEN, LEN - HEADER_LEN].contains(&(announced as usize)) {
        return Err(UnpackError::Announced { len: announced, expected: LEN });
    }
    if bytes[4] != class_id {
        return Err(UnpackError::ClassId { class_id: bytes[4], expected: class_id });
    }
    let mut numbers = [0; N];
    let (fields, _) = bytes[HEADER_LEN..].as_chunks();
    for (number, field) in numbers.iter_mut().zip(fields) {
        *number = i32::from_be_bytes(*field);
    }
    match bytes[LEN - 1] {
        0 => Ok((numbers, false)),
        1 => Ok((numbers, true)),
        value => Err(UnpackError::NotBool { value }),
    }
}

/// The reasons why some bytes are not a packet of the load-test game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The header announces another length, in either way of counting.
    #[error("header announces {len} bytes, expected {expected}")]
    Announced {
        /// The announced length.
        len: u32,
        /// The length, header included.
        expected: usize,
    },
    /// It is another packet.
    #[error("class id {class_id}, expected {expected}")]
    ClassId {
        /// The class id that was found.
        class_id: u8,
        /// The expected class id.
        expected: u8,
    },
    /// The number of bytes is not that of the packet.
    #[error("{len} bytes, expected {expected}")]
    Len {
        /// The number of bytes that were found.
        len: usize,
        /// The number of bytes that are expected.
        expected: usize,
    },
    /// The boolean is neither 0 nor 1.
    #[error("boolean is {value}, expected 0 or 1")]
    NotBool {
        /// The value.
        value: u8,
    },
}

/// Length of the length field and the class id.
const HEADER_LEN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: LoadRequest =
        LoadRequest { pid: 1, tableid: 2, seq: 3, delay: 400, resend: true };

    const REQUEST_BYTES: &[u8; 22] =
        b"\0\0\0\x16\x01\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\x01\x90\x01";

    const RESPONSE_BYTES: &[u8; 18] = b"\0\0\0\x12\x02\0\0\0\x01\0\0\0\x02\0\0\0\x03\x01";

    #[test]
    fn events_and_answers_have_the_published_sizes() {
        let response = LoadResponse::from(&REQUEST);
        assert_eq!(&REQUEST.pack(), REQUEST_BYTES);
        assert_eq!(&response.pack(), RESPONSE_BYTES);
        assert_eq!(LoadRequest::unpack(REQUEST_BYTES), Ok(REQUEST));
        assert_eq!(LoadResponse::unpack(RESPONSE_BYTES), Ok(response));
    }

    #[test]
    fn a_length_may_leave_the_header_out() {
        let mut request = *REQUEST_BYTES;
        request[3] = 17;
        assert_eq!(LoadRequest::unpack(&request), Ok(REQUEST));
        let mut response = *RESPONSE_BYTES;
        response[3] = 13;
        assert_eq!(LoadResponse::unpack(&response), Ok(LoadResponse::from(&REQUEST)));
    }

    #[test]
    fn what_is_no_event_is_named() {
        #[rustfmt::skip]
        let table: [(usize, u8, UnpackError); _] = [
            (3, 21, UnpackError::Announced { len: 21, expected: 22 }),
            (0, 1, UnpackError::Announced { len: 0x0100_0016, expected: 22 }),
            (4, 2, UnpackError::ClassId { class_id: 2, expected: 1 }),
            (21, 2, UnpackError::NotBool { value: 2 }),
        ];
        for (at, byte, error) in table {
            let mut bytes = *REQUEST_BYTES;
            bytes[at] = byte;
            assert_eq!(LoadRequest::unpack(&bytes), Err(error), "byte {at} is {byte}");
        }
        for len in 0..REQUEST_BYTES.len() {
            let cut = LoadRequest::unpack(&REQUEST_BYTES[..len]);
            assert_eq!(cut, Err(UnpackError::Len { len, expected: 22 }));
        }
    }
}
