//! The messages between a front and the world's thread: one frame of [`Framed`] for each message.
//!
//! Messages are about connections that the front has accepted, named by [`ConnectionId::to_bits`]: a name is not used
//! twice, so that messages that cross each other on the way cannot reach another connection. Only posts are answered,
//! in the order of the posts of a connection.

use super::totals::Totals;
use engine::ConnectionId;
use wire::framed::{Framed, Limits};
use wire::styx::Packet;

/// A connection of a front.
pub(super) type Guest = ConnectionId;

/// The messages of a front.
#[derive(Debug)]
pub(super) enum Up<'a> {
    /// A session begins.
    Begin(Guest),
    /// A packet of a session, in binary.
    Packet(Guest, &'a [u8]),
    /// A session sent bytes that are not a packet; the number is their class id.
    Malformed(Guest, u8),
    /// A request of a Comet client.
    Post(Guest, &'a [u8]),
    /// More of an answer is unsent than allowed.
    Late(Guest),
    /// The connection is gone, and its session with it.
    Gone(Guest),
    /// The totals of the front so far.
    Totals(Box<Totals>),
}

/// The messages of the world's thread.
#[derive(Debug)]
pub(super) enum Down<'a> {
    /// A packet, in binary, to one or more sessions.
    Packet(Guests<'a>, &'a [u8]),
    /// The answer to the oldest unanswered post of a connection.
    Answer(Guest, &'a [u8]),
    /// A session ends after what was sent.
    Close(Guest),
    /// The front must cut a connection: the player was too slow.
    Drop(Guest),
}

/// Connections of a front, as encoded in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guests<'a>(&'a [[u8; 8]]);

impl<'a> Up<'a> {
    /// Reads a frame; `None` if it is not one of ours.
    pub(super) fn read(frame: &'a [u8]) -> Option<Self> {
        let (&kind, rest) = frame.split_first()?;
        if kind == TOTALS {
            return Some(Self::Totals(Box::new(read_totals(rest)?)));
        }
        let (guest, rest) = rest.split_first_chunk()?;
        let guest = guest_of(*guest);
        Some(match kind {
            BEGIN => Self::Begin(guest),
            PACKET => Self::Packet(guest, rest),
            MALFORMED => Self::Malformed(guest, *rest.first()?),
            POST => Self::Post(guest, rest),
            LATE => Self::Late(guest),
            GONE => Self::Gone(guest),
            _ => return None,
        })
    }

    /// Appends the message as a frame.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Begin(guest) => write(out, BEGIN, guest, &[]),
            Self::Packet(guest, packet) => write(out, PACKET, guest, packet),
            Self::Malformed(guest, class_id) => write(out, MALFORMED, guest, &[class_id]),
            Self::Post(guest, body) => write(out, POST, guest, body),
            Self::Late(guest) => write(out, LATE, guest, &[]),
            Self::Gone(guest) => write(out, GONE, guest, &[]),
            Self::Totals(ref totals) => {
                let start = begin(out, TOTALS);
                for count in totals.clone().counts() {
                    out.extend_from_slice(&count.to_le_bytes());
                }
                end(out, start);
            }
        }
    }
}

/// Appends the frame of [`Up::Packet`], packing the packet into it.
pub(super) fn pack_up(guest: Guest, packet: &Packet<'_>, out: &mut Vec<u8>) {
    let start = begin(out, PACKET);
    out.extend_from_slice(&guest.to_bits().to_le_bytes());
    packet.encode(out);
    end(out, start);
}

impl<'a> Down<'a> {
    /// Reads a frame; `None` if it is not one of ours.
    pub(super) fn read(frame: &'a [u8]) -> Option<Self> {
        let (&kind, rest) = frame.split_first()?;
        if kind == PACKET {
            let (count, rest) = rest.split_first_chunk()?;
            let len = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_mul(GUEST_LEN)?;
            let (guests, packet) = rest.split_at_checked(len)?;
            return Some(Self::Packet(Guests(guests.as_chunks().0), packet));
        }
        let (guest, rest) = rest.split_first_chunk()?;
        let guest = guest_of(*guest);
        Some(match kind {
            ANSWER => Self::Answer(guest, rest),
            CLOSE => Self::Close(guest),
            DROP => Self::Drop(guest),
            _ => return None,
        })
    }
}

impl Guests<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = Guest> {
        self.0.iter().map(|guest| guest_of(*guest))
    }
}

/// The frames that wait for a front; the last may be open for further receivers.
#[derive(Debug, Default)]
pub(super) struct Mailbag {
    pub(super) bytes: Vec<u8>,
    /// The start and the number of receivers of the open frame.
    open: Option<(usize, u32)>,
    /// True if too much is unsent already: a receiver of more counts as too slow.
    pub(super) is_full: bool,
}

impl Mailbag {
    /// Adds a receiver of the next packet.
    #[inline]
    pub(super) fn address(&mut self, guest: Guest) {
        let (_, count) = self.open.get_or_insert_with(|| {
            let start = begin(&mut self.bytes, PACKET);
            self.bytes.extend_from_slice(&[0; 4]);
            (start, 0)
        });
        *count += 1;
        self.bytes.extend_from_slice(&guest.to_bits().to_le_bytes());
    }

    /// Packs the packet after its receivers, if there are any.
    #[inline]
    pub(super) fn enclose(&mut self, pack: impl FnOnce(&mut Vec<u8>)) {
        if let Some((start, count)) = self.open.take() {
            let counted = start + HEADER_LEN + 1;
            self.bytes[counted..counted + 4].copy_from_slice(&count.to_le_bytes());
            pack(&mut self.bytes);
            end(&mut self.bytes, start);
        }
    }

    pub(super) fn answer(&mut self, guest: Guest, body: &[u8]) {
        write(&mut self.bytes, ANSWER, guest, body);
    }

    pub(super) fn close(&mut self, guest: Guest) {
        write(&mut self.bytes, CLOSE, guest, &[]);
    }

    pub(super) fn drop(&mut self, guest: Guest) {
        write(&mut self.bytes, DROP, guest, &[]);
    }
}

/// The machine that splits the stream into frames, at either end.
pub(super) fn machine() -> Framed {
    Framed::new(Limits { frame_len_max: u32::MAX })
}

fn write(out: &mut Vec<u8>, kind: u8, guest: Guest, rest: &[u8]) {
    let start = begin(out, kind);
    out.extend_from_slice(&guest.to_bits().to_le_bytes());
    out.extend_from_slice(rest);
    end(out, start);
}

/// Begins a frame and returns its start.
fn begin(out: &mut Vec<u8>, kind: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind]);
    start
}

/// Ends the frame that starts at `start`.
fn end(out: &mut Vec<u8>, start: usize) {
    match u32::try_from(out.len() - start - HEADER_LEN) {
        Ok(len) => out[start..start + HEADER_LEN].copy_from_slice(&len.to_be_bytes()),
        Err(_) => out.truncate(start), // 4 GiB in one answer are impossible: queues have limits.
    }
}

fn guest_of(bytes: [u8; GUEST_LEN]) -> Guest {
    ConnectionId::from_bits(u64::from_le_bytes(bytes))
}

fn read_totals(bytes: &[u8]) -> Option<Totals> {
    let bytes: &[[u8; 8]; Totals::COUNTS] = bytes.as_chunks().0.try_into().ok()?;
    let mut totals = Totals::default();
    for (count, bytes) in totals.counts().into_iter().zip(bytes) {
        *count = u64::from_le_bytes(*bytes);
    }
    Some(totals)
}

/// Length of the length field.
const HEADER_LEN: usize = 4;

/// Length of a connection's name.
const GUEST_LEN: usize = 8;

/// The first bytes of frames to the world.
const BEGIN: u8 = 0;
const MALFORMED: u8 = 2;
const POST: u8 = 3;
const LATE: u8 = 4;
const GONE: u8 = 5;
const TOTALS: u8 = 6;

/// The first bytes of frames in both directions, and of those to a front.
const PACKET: u8 = 1;
const ANSWER: u8 = 7;
const CLOSE: u8 = 8;
const DROP: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Event, Input, Message, Protocol};

    #[test]
    fn what_a_front_says_is_what_is_read() {
        let (guest, other) = (Guest::from_bits(7 << 32 | 1), Guest::from_bits(3));
        let totals = Box::new(Totals { connections: 9, bytes_sent: 1 << 40, ..Totals::default() });
        let mut bytes = Vec::new();
        for said in [
            Up::Begin(guest),
            Up::Packet(guest, b"packet"),
            Up::Malformed(other, 5),
            Up::Post(guest, b"[]"),
            Up::Late(guest),
            Up::Gone(other),
            Up::Totals(totals),
        ] {
            bytes.clear();
            said.write(&mut bytes);
            assert_eq!(
                format!("{:?}", Up::read(&bytes[HEADER_LEN..])),
                format!("{:?}", Some(said))
            );
        }
        for len in HEADER_LEN..bytes.len() {
            assert!(Up::read(&bytes[HEADER_LEN..len]).is_none(), "totals cut at {len}");
        }
    }

    #[test]
    fn a_bag_holds_a_packet_once_for_all_who_get_it() {
        let guests = [4, 5 << 32 | 2].map(Guest::from_bits);
        let mut bag = Mailbag::default();
        bag.enclose(|_| panic!("nobody gets it"));
        for guest in guests {
            bag.address(guest);
        }
        bag.enclose(|bytes| bytes.extend_from_slice(b"packet"));
        bag.answer(guests[0], b"[]");
        bag.close(guests[1]);
        bag.drop(guests[0]);
        let mut said = Vec::new();
        let mut machine = machine();
        let mut input = Input::new(&mut bag.bytes);
        while let Ok(Some(Event::Message(Message { payload, .. }))) =
            machine.receive(&mut input, &mut Vec::new())
        {
            said.push(match Down::read(payload).unwrap() {
                Down::Packet(to, packet) => (to.iter().collect(), packet.to_vec()),
                Down::Answer(to, body) => (vec![to], body.to_vec()),
                Down::Close(to) => (vec![to], b"close".to_vec()),
                Down::Drop(to) => (vec![to], b"drop".to_vec()),
            });
        }
        let [first, second] = guests;
        let expected = [
            (guests.to_vec(), &b"packet"[..]),
            (vec![first], b"[]"),
            (vec![second], b"close"),
            (vec![first], b"drop"),
        ];
        assert_eq!(said, expected.map(|(to, what)| (to, what.to_vec())));
        assert!(Down::read(&[PACKET, 2, 0, 0, 0, 1]).is_none(), "receivers that are missing");
    }
}
