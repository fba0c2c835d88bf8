//! The bot as a protocol machine.

use super::error::PeerError;
use super::options::{Options, Packing};
use super::player::{Heard, Player, State};
use crate::contract::{
    self, Closed, Event, First, Input, Kind, Layers, Message, MisuseError, Opening, Protocol, Push,
    Pushed, Second, Secured, Socket, TwoSockets, growth,
};
use crate::excerpt::Excerpt;
use crate::styx::load_test::{LoadRequest, LoadResponse};
use crate::styx::packets::{GameTransport, Logout};
use crate::styx::{DecodeError, JsonError, Packet, json_packets};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

/// A player that plays the load-test game over the connection inside.
///
/// **Opening**: [`Event::Open`] follows when the bot sits.
///
/// ```text
/// connected -> LoginRequest               -> LoginResponse
///           -> LobbySubscribe, if asked for
///           -> FilteredJoinTableRequest   -> FilteredJoinTableAvailable    (not for a seat at a given table)
///           -> JoinRequest                -> JoinResponse -> Open
/// ```
///
/// **Events of the game.** A message is a [`LoadRequest`]; player, table and sequence number (1, 2 and so on) are
/// filled in here, delay and resend are left unchanged. Its answer is the next [`LoadResponse`] with our player id,
/// handed out as the payload of an [`Event::Message`]; any sequence number other than the next is an error. The answer
/// to another player's event is pushed as a [`Push::Delivery`], and every other packet as a [`Push::Notice`], including
/// those of the opening and those of a class that [`Packet`] does not know: nothing that the server sends is swallowed.
/// The server's pings are answered here.
///
/// **Encoding** ([`Layers`]) is the growth of game data into packets: the length of a message of the connection inside,
/// less that of the payload, both for messages sent and for messages and deliveries received.
///
/// **The end.** A bot that is closed logs out and leaves its table. The server's `ForcedLogout` is its end of the
/// conversation.
#[derive(Debug)]
pub struct Bot<C> {
    /// The number of our events that were answered, and the number that were sent.
    answered: i32,
    sent: i32,
    /// Bytes that game data grew by on the way into packets, sent and received.
    encoding_sent: i64,
    encoding_received: i64,
    /// The last game data that was decoded from JSON.
    game_data: Vec<u8>,
    held: Held,
    player: Player<C>,
}

/// A message of the connection inside, whose packets are handed out one by one.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    packets: VecDeque<Range<usize>>,
}

impl<C: TwoSockets> Bot<C> {
    /// A bot on a connection that carries packets as [`Options::packing`] says.
    pub fn new(inner: C, options: Options) -> Self {
        Self {
            answered: 0,
            sent: 0,
            encoding_sent: 0,
            encoding_received: 0,
            game_data: Vec::new(),
            held: Held::default(),
            player: Player::new(inner, options),
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn packing(&self) -> Packing {
        self.player.options.packing
    }
}

impl<C: TwoSockets> Protocol for Bot<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        if self.player.inner.open(tx) == Opening::Done && self.player.log_in(tx).is_err() {
            self.player.state = State::Over;
        }
        Opening::Awaited
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.player.state != State::Seated {
            return Err(MisuseError::NotOpen);
        }
        let event = LoadRequest::unpack(message.payload)
            .map_err(|_| MisuseError::Malformed { expected: "a LoadRequest" })?;
        let (pid, tableid) = (self.player.options.player, self.player.table);
        let seq = self.sent.wrapping_add(1);
        let game_data = LoadRequest { pid, tableid, seq, ..event }.pack();
        let gamedata = Cow::Borrowed(&game_data[..]);
        let transport = GameTransport { tableid, pid, gamedata, attributes: Vec::new() };
        let len = self.player.say(transport, tx)?;
        self.encoding_sent += growth(message.payload.len(), len);
        self.sent = seq;
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<First>(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        let state = self.player.state;
        if !matches!(state, State::AwaitConnection | State::AwaitClose | State::Over) {
            // If nothing can be sent any more, the bot ends without logging out.
            let _said: Result<_, _> = self.player.say(Logout { leave_tables: true }, tx);
        }
        let is_answered = self.player.inner.close(tx);
        self.player.state = if is_answered { State::AwaitClose } else { State::Over };
        is_answered
    }

    /// The peer will send no more bytes.
    ///
    /// # Errors
    ///
    /// The bot did not sit yet, or the error of the connection inside.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        let awaited = match std::mem::replace(&mut self.player.state, State::Over) {
            State::AwaitConnection | State::Seated | State::AwaitClose => {
                return self.player.inner.end();
            }
            State::Over => return Ok(Event::Closed(Closed::default())),
            State::AwaitLogin => "LoginResponse",
            State::AwaitTable => "FilteredJoinTableAvailable",
            State::AwaitSeat => "JoinResponse",
        };
        self.player.inner.end()?;
        Err(PeerError::Cut { awaited }.into())
    }

    fn layers(&self) -> Layers {
        let inside = self.player.inner.layers();
        Layers {
            encoding_sent: inside.encoding_sent + self.encoding_sent,
            encoding_received: inside.encoding_received + self.encoding_received,
            ..inside
        }
    }
}

impl<C: TwoSockets> TwoSockets for Bot<C> {
    fn inside(&mut self) -> Option<&mut dyn TwoSockets> {
        Some(&mut self.player.inner)
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<Second>(input, tx)
    }
}

/// The way from bytes to packets to events.
impl<C: TwoSockets> Bot<C> {
    #[inline]
    fn receive_on<'a, 'b: 'a, S: Socket>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        loop {
            if self.player.state == State::Over {
                input.take_all();
                return Ok(None);
            }
            if let Some(packet) = self.held.packets.pop_front() {
                return Ok(Some(self.packet(packet, tx)?));
            }
            self.held.release();
            match S::receive(&mut self.player.inner, input, tx)? {
                None => return Ok(None),
                Some(Event::Message(_)) if self.player.state == State::AwaitClose => {}
                Some(Event::Message(Message { payload, .. })) => {
                    let packing = self.player.options.packing;
                    self.held.take(payload, packing).map_err(PeerError::from)?;
                }
                Some(Event::Secured(secured)) => {
                    if secured.opening == Opening::Done {
                        self.player.log_in(tx)?;
                    }
                    let opening = Opening::Awaited;
                    return Ok(Some(Event::Secured(Secured { opening, ..secured })));
                }
                Some(Event::Open) => self.player.log_in(tx)?,
                Some(Event::Closed(Closed { code, reason })) => {
                    self.player.state = State::Over;
                    let reason = reason.into_owned().into();
                    return Ok(Some(Event::Closed(Closed { code, reason })));
                }
                Some(Event::Refused { code, body, .. }) => {
                    return Err(PeerError::Status { code, said: Excerpt::new(body) }.into());
                }
                Some(
                    Event::Answer(_)
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Response(_),
                ) => {}
            }
        }
    }

    /// Turns a packet into exactly one event.
    #[inline]
    fn packet(&mut self, packet: Range<usize>, tx: &mut Vec<u8>) -> Result<Event<'_>, PeerError> {
        let bytes = &self.held.bytes[packet];
        let notice = Event::Pushed(Pushed::plain(Push::Notice, bytes));
        let packet = match self.player.options.packing {
            Packing::Binary => match Packet::decode(bytes) {
                Err(DecodeError::UnknownClass { .. }) => return Ok(notice),
                packet => packet?,
            },
            Packing::Json => match Packet::read_json(bytes) {
                Err(JsonError::UnknownClass { .. }) => return Ok(notice),
                packet => packet?,
            },
        };
        let Packet::GameTransport(transport) = packet else {
            return Ok(match self.player.hear(&packet, tx)? {
                Heard::Closed(closed) => Event::Closed(closed),
                Heard::Notice => notice,
                Heard::Ping => Event::Ping(bytes),
                Heard::Seated => Event::Open,
            });
        };
        let Ok(response) = LoadResponse::unpack(&transport.gamedata) else { return Ok(notice) };
        let payload = match transport.gamedata {
            Cow::Borrowed(game_data) => game_data,
            Cow::Owned(game_data) => {
                self.game_data = game_data;
                &self.game_data
            }
        };
        self.encoding_received += growth(payload.len(), bytes.len());
        if response.pid != self.player.options.player {
            return Ok(Event::Pushed(Pushed::plain(Push::Delivery, payload)));
        }
        let (awaited, came, sent) = (self.answered.wrapping_add(1), response.seq, self.sent);
        if came != awaited || self.answered == sent {
            return Err(PeerError::OutOfSequence { awaited, came, sent });
        }
        self.answered = awaited;
        Ok(Event::Message(Message { kind: Kind::Binary, payload }))
    }
}

impl Held {
    /// Copies a message, so that its packets can be answered on the connection on which it arrived.
    #[inline]
    fn take(&mut self, message: &[u8], packing: Packing) -> Result<(), JsonError> {
        self.bytes.extend_from_slice(message);
        match packing {
            Packing::Binary => self.packets.push_back(0..message.len()),
            Packing::Json => {
                for packet in json_packets(message)? {
                    let start = packet.as_ptr().addr() - message.as_ptr().addr();
                    self.packets.push_back(start..start + packet.len());
                }
            }
        }
        Ok(())
    }

    /// Drops the message. Keeps memory for a few packets of the game, and frees more.
    #[inline]
    fn release(&mut self) {
        if self.bytes.capacity() > KEPT_LEN_MAX || self.packets.capacity() > KEPT_COUNT_MAX {
            *self = Self::default();
        }
        self.bytes.clear();
    }
}

/// Most memory that a quiet bot keeps for a message, in bytes and in packets.
const KEPT_LEN_MAX: usize = 256;
const KEPT_COUNT_MAX: usize = 8;
