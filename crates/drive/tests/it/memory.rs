//! A peer that does not read does not decide how much memory we use.

use crate::allocation::kept_of;
use crate::conversations::{json_rpc, talk};
use crate::peers::Watched;
use crate::world::{Play, Speech, TIME_MAX, World, address, ms};
use engine::sim::{Outcome as Ended, Sim};
use engine::{Accepting, Completion, Engine, Node, Step};
use record::ErrorClass;
use spec::conversation::{Cue, Fill, Piece, Template, Var};
use units::{Instant, Nanos};
use wire::{Connection, Event, Input, Kind, Message, Protocol};

#[test]
fn messages_that_nobody_reads_are_unsent_beyond_the_memory_that_there_is_for_them() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(10).rate("200/s").payload(1 << 20);
        let play = play.duration(ms(2000)).reply_timeout(ms(10_000));
        let mut world = World::new(&play);
        world.worker = world.worker.with_unsent_max(UNSENT_MAX);
        world.server.freeze(Instant(500_000_000), TIME_MAX);
        let mut server = Watched::new(speech);
        let mut kept_max = 0;
        for millis in (0..4000).step_by(10) {
            if world.run(&mut server, Instant(millis * 1_000_000)) == Ended::Done {
                break;
            }
            kept_max = kept_max.max(world.client.kept());
        }
        assert!(kept_max > UNSENT_MAX / 2, "{speech:?}: {kept_max}");
        // Framing is not counted before a message is framed.
        assert!(kept_max <= UNSENT_MAX + 1024, "{speech:?}: {kept_max}");
        let played = world.finish();
        let counts = played.outcome.measured;
        assert_eq!((played.outcome.planned, counts.sent + counts.unsent), (400, 400));
        assert!(counts.unsent > 250 && counts.ok > 50, "{speech:?}: {counts:?}");
    }
}

#[test]
fn when_the_server_reads_again_messages_are_sent_again() {
    let play = Play::new(Speech::Raw).connections(10).rate("200/s").payload(1 << 20);
    let play = play.duration(ms(4000)).reply_timeout(ms(10_000)).drain(ms(2000));
    let mut world = World::new(&play);
    world.worker = world.worker.with_unsent_max(UNSENT_MAX);
    world.server.freeze(Instant(1_000_000_000), Instant(2_000_000_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Raw), TIME_MAX), Ended::Done);
    let counts = world.finish().outcome.measured;
    assert_eq!((counts.sent + counts.unsent, counts.ok), (800, counts.sent));
    assert!(counts.unsent < 220, "those of the second in which nobody read, and a few: {counts:?}");
}

#[test]
fn a_server_that_pings_and_reads_no_pongs_is_ended() {
    let play = Play::new(Speech::WebSocket).connections(3).duration(ms(2000));
    let mut world = World::new(&play.reply_timeout(ms(10_000)));
    let mut server = Pinger::default();
    let mut kept_max = 0;
    for millis in 0..8000 {
        if world.run(&mut server, Instant(millis * 1_000_000)) == Ended::Done {
            break;
        }
        kept_max = kept_max.max(world.client.kept());
    }
    assert!(kept_max < 3 * (1 << 20) + (1 << 18), "1 MiB on each connection: {kept_max}");
    let played = world.finish();
    let text =
        "the server sends pings or requests but does not read the answers: 1 MiB of them is unsent";
    assert_eq!(played.errors(), [(ErrorClass::Protocol, 3, text)]);
}

#[test]
fn an_idle_conversation_takes_1_kib_more_than_an_echo_and_what_it_saved() {
    let plain = kept(&Play::new(Speech::WebSocketText));
    let bare = kept(&talk(Speech::WebSocketText, json_rpc()));
    let mut saving = json_rpc();
    let value = "x".repeat(SAVED_LEN);
    let fill = Fill::Template(Template(vec![Piece::Text(value)]));
    saving.vars = vec![Var { name: "token".to_owned(), fill }];
    let saving = kept(&talk(Speech::WebSocketText, saving));
    let more = bare - plain;
    println!(
        "an idle echo has {plain} bytes on the heap, a conversation {bare}, one that saved {SAVED_LEN} bytes {saving}"
    );
    assert!((1..=1024).contains(&more), "{more} bytes more than an echo");
    // A saved value has its place in a list besides its bytes.
    assert_eq!(saving - bare, (SAVED_LEN + size_of::<Box<[u8]>>()).cast_signed());
}

/// The bytes on the heap of the client's end of a connection that was opened, had 20 replies, and is idle.
fn kept(play: &Play) -> isize {
    let (mut server, mut own) = (Speech::WebSocketText.server(None).connection(0, 0), 0);
    let (mut up, mut down) = (Vec::with_capacity(1 << 14), Vec::with_capacity(1 << 14));
    let stack = play.stack();
    let mut weighed = |(done, kept): ((), isize)| {
        own += kept;
        done
    };
    let (mut client, made) = kept_of(|| stack.connection(1, 0));
    weighed(((), made));
    weighed(kept_of(|| {
        client.open(&mut up);
    }));
    for sequence in 0..=20_u32 {
        // The first time around is the handshake.
        let mut heard = Vec::new();
        let mut input = Input::new(&mut up);
        while let Some(event) = server.receive(&mut input, &mut down).unwrap() {
            if let Event::Message(message) = event {
                heard = message.payload.to_vec();
            }
        }
        up.clear();
        if sequence > 0 {
            let text = String::from_utf8(heard).unwrap();
            let id = text.split_once("\"id\":").map(|(_, rest)| rest[..8].to_owned());
            let reply = id.map_or(text, |id| format!("{{\"result\":[\"abc\"],\"id\":{id}}}"));
            let message = Message { kind: Kind::Text, payload: reply.as_bytes() };
            server.send(message, &mut down).unwrap();
        }
        weighed(kept_of(|| {
            let mut input = Input::new(&mut down);
            while client.receive(&mut input, &mut up).unwrap().is_some() {}
        }));
        down.clear();
        if sequence < 20 {
            let mut cue = [0; Cue::LEN];
            Cue { sequence, exchange: 0, due: Nanos(0) }.write(&mut cue);
            let echoed = play.workload.content.payload();
            let payload = if play.workload.requests.is_some() { &cue[..] } else { echoed };
            weighed(kept_of(|| {
                client.send(Message { kind: Kind::Text, payload }, &mut up).unwrap();
            }));
        }
    }
    own
}

const SAVED_LEN: usize = 200;

/// A WebSocket server that reads nothing after the handshake, and pings.
#[derive(Default)]
struct Pinger {
    peers: Vec<(engine::ConnectionId, Connection)>,
    rx: Vec<u8>,
}

impl Node<Sim> for Pinger {
    fn step(&mut self, engine: &mut Sim) -> Step {
        self.rx.resize(1 << 16, 0);
        let stack = Speech::WebSocket.server(None);
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Accepted(id) => self.peers.push((id, stack.connection(0, 0))),
                Completion::Received { connection, len } => {
                    let mut all = self.peers.iter_mut();
                    let (_, machine) = all.find(|(id, _)| *id == connection).unwrap();
                    let (mut input, mut tx) = (Input::new(&mut self.rx[..len]), Vec::new());
                    while let Ok(Some(_)) = machine.receive(&mut input, &mut tx) {}
                    engine.send(connection, &tx);
                }
                Completion::Failed(gone, _) | Completion::Ended(gone) => {
                    self.peers.retain(|(id, _)| *id != gone);
                }
                Completion::Connected(_) => unreachable!("it listens at {:?}", address()),
            }
        }
        // All have shaken hands.
        if engine.now() > Instant(50_000_000) {
            engine.hold_back(true);
            for (id, _) in &self.peers {
                if engine.unsent(*id) < 1 << 16 {
                    let pings = [[0x89, 0x7d].as_slice(), &[7; 0x7d]].concat().repeat(500);
                    engine.send(*id, &pings);
                }
            }
        }
        Step::Wait(engine.now() + ms(1))
    }
}

const UNSENT_MAX: usize = 8 << 20;
