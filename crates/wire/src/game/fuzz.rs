//! A property that holds for any input: a bot answers the same however its input is cut.

use super::{Bot, Options, Packing, Seat};
use crate::connection::Connection;
use crate::contract::{Event, Input, Kind, Message, Protocol};
use crate::framed::{self, Framed};
use crate::styx::load_test::LoadRequest;
use crate::styx::packets::{JoinResponse, LoginResponse};
use crate::styx::{self, Limits, Packet};
use crate::transcript::check_splits_of_replies;

/// Feeds Styx frames to a bot that logs in, and to one that sits and has sent three events.
pub fn fuzz_game_binary(bytes: &[u8]) {
    let bot = || opened(styx::frames(Limits { frame_len_max: 1 << 10 }).into(), Packing::Binary);
    check_splits_of_replies(bytes, &bot);
    check_splits_of_replies(bytes, &|| seated(bot()));
}

/// Feeds JSON, each message after its length, to a bot in the same two states.
pub fn fuzz_game_json(bytes: &[u8]) {
    let limits = framed::Limits { frame_len_max: 1 << 10 };
    let bot = || opened(Framed::new(limits).into(), Packing::Json);
    check_splits_of_replies(bytes, &bot);
    check_splits_of_replies(bytes, &|| seated(bot()));
}

/// Player 7, who is to sit at table 21.
fn opened(inner: Connection, packing: Packing) -> Bot<Connection> {
    let options = Options { player: 7, packing, operator: 0, lobby: false, seat: Seat::Table(21) };
    let mut bot = Bot::new(inner, options);
    bot.open(&mut Vec::new());
    bot
}

fn seated(mut bot: Bot<Connection>) -> Bot<Connection> {
    let packets: [Packet<'_>; 2] = [
        LoginResponse { pid: 7, ..LoginResponse::default() }.into(),
        JoinResponse { tableid: 21, ..JoinResponse::default() }.into(),
    ];
    let mut is_open = false;
    for packet in packets {
        let mut frame = frame(&packet, &bot);
        let event = bot.receive(&mut Input::new(&mut frame), &mut Vec::new());
        is_open = matches!(event, Ok(Some(Event::Open)));
    }
    assert!(is_open, "the bot sits");
    let event = LoadRequest::default().pack();
    for _ in 0..3 {
        let message = Message { kind: Kind::Binary, payload: &event };
        bot.send(message, &mut Vec::new()).expect("the bot sits");
    }
    bot
}

/// The packet as it arrives at the bot: in one of the two framings the length counts itself.
fn frame(packet: &Packet<'_>, bot: &Bot<Connection>) -> Vec<u8> {
    let mut payload = Vec::new();
    let own_len = match bot.packing() {
        Packing::Binary => {
            packet.encode(&mut payload);
            4
        }
        Packing::Json => {
            packet.write_json(&mut payload);
            0
        }
    };
    let len = u32::try_from(payload.len() + own_len).expect("it is short");
    [&len.to_be_bytes()[..], &payload].concat()
}
