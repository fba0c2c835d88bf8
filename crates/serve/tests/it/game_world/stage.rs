//! A world, and what it sent to whom.

use serve::game::world::{Options, Outbox, SessionId, World};
use std::collections::BTreeMap;
use units::{Instant, Nanos};
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::{
    Bad, GameTransport, JoinRequest, JoinResponse, JoinResponseStatus, LoginRequest, LoginResponse,
    Packet,
};

/// A world, the time in it, and what was sent and not looked at yet.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) now: Instant,
    pub(crate) mail: Mail,
}

/// The packets that were sent to each session, as bytes, and the sessions that were closed.
#[derive(Default)]
pub(crate) struct Mail {
    pub(crate) sent: BTreeMap<SessionId, Vec<Vec<u8>>>,
    pub(crate) closed: Vec<SessionId>,
}

impl Outbox for Mail {
    fn send(&mut self, to: SessionId, packet: &Packet<'_>) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        assert!(bytes.len() < 32 << 10, "{} of {} bytes", packet.name(), bytes.len());
        self.sent.entry(to).or_default().push(bytes);
    }

    fn broadcast(&mut self, to: &[SessionId], packet: &Packet<'_>) {
        for (index, &session) in to.iter().enumerate() {
            assert!(!to[..index].contains(&session) || to.len() > 200, "twice to {session:?}");
            self.send(session, packet);
        }
    }

    fn close(&mut self, session: SessionId) {
        self.closed.push(session);
    }
}

impl Stage {
    pub(crate) fn new(options: Options) -> Self {
        Self { world: World::new(options), now: Instant::START, mail: Mail::default() }
    }

    /// A new connection on which nobody is logged in.
    pub(crate) fn connect(&mut self) -> SessionId {
        self.world.connect(self.now)
    }

    /// A new connection on which this player has logged in; none of the packets is left to look at.
    pub(crate) fn player(&mut self, pid: i32) -> SessionId {
        let session = self.connect();
        self.say(session, login(pid));
        let heard = self.hear(session);
        assert_eq!(heard.first(), Some(&logged_in(pid)), "{heard:?}");
        session
    }

    /// A player who sits at a table, on any seat; nothing is left to look at.
    pub(crate) fn seated(&mut self, pid: i32, tableid: i32) -> SessionId {
        let session = self.player(pid);
        self.say(session, JoinRequest { tableid, seat: -1, params: Vec::new() });
        let heard = self.hear(session);
        let is_seated = matches!(
            heard[..],
            [Packet::JoinResponse(JoinResponse { status: JoinResponseStatus::Ok, .. })]
        );
        assert!(is_seated, "{heard:?}");
        self.mail.sent.clear();
        session
    }

    pub(crate) fn say<'a>(&mut self, from: SessionId, packet: impl Into<Packet<'a>>) {
        self.world.packet(from, &packet.into(), self.now, &mut self.mail);
    }

    pub(crate) fn gone(&mut self, session: SessionId) {
        self.world.gone(session, self.now, &mut self.mail);
    }

    /// Lets time pass as an engine does: to each deadline, and then to the end.
    pub(crate) fn pass(&mut self, time: Nanos) {
        let end = self.now + time;
        while self.world.next_deadline() <= end {
            self.now = self.now.max(self.world.next_deadline());
            self.world.tick(self.now, &mut self.mail);
            assert!(self.world.next_deadline() > self.now, "a deadline that passed is left");
        }
        self.now = end;
    }

    /// The packets that a session was sent since the last look.
    pub(crate) fn hear(&mut self, session: SessionId) -> Vec<Packet<'static>> {
        let sent = self.mail.sent.remove(&session).unwrap_or_default();
        sent.into_iter().map(|bytes| Packet::decode(bytes.leak()).unwrap()).collect()
    }

    /// Says something and compares what the same session hears with `expected`.
    pub(crate) fn ask<'a, const N: usize>(
        &mut self,
        from: SessionId,
        packet: impl Into<Packet<'a>>,
        expected: [Packet<'_>; N],
    ) {
        let packet = packet.into();
        self.world.packet(from, &packet, self.now, &mut self.mail);
        assert_eq!(self.hear(from), expected, "after {packet:?}");
    }
}

/// A login with this id.
pub(crate) fn login(pid: i32) -> LoginRequest<'static> {
    LoginRequest {
        user: format!("Bot_{pid}").into(),
        password: pid.to_string().into(),
        ..LoginRequest::default()
    }
}

pub(crate) fn logged_in(pid: i32) -> Packet<'static> {
    LoginResponse { screenname: format!("Bot_{pid}").into(), pid, ..LoginResponse::default() }
        .into()
}

/// An event of the load-test game.
pub(crate) fn event(tableid: i32, request: LoadRequest) -> GameTransport<'static> {
    GameTransport { tableid, gamedata: request.pack().to_vec().into(), ..GameTransport::default() }
}

/// The response to an event, as everybody at the table gets it.
pub(crate) fn response(tableid: i32, pid: i32, seq: i32) -> Packet<'static> {
    let gamedata = LoadResponse { pid, tableid, seq, resend: false }.pack().to_vec().into();
    GameTransport { tableid, pid, gamedata, attributes: Vec::new() }.into()
}

pub(crate) fn bad(cmd: u8, error: i8) -> Packet<'static> {
    Bad { cmd: cmd.cast_signed(), error }.into()
}
