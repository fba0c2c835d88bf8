//! Bots of the load-test game, against scripted servers.

mod allocation;
mod garbage;
mod play;
mod refusals;
mod transports;

use crate::script::Step;
use wire::Connection;
use wire::framed::{self, Framed};
use wire::game::{Bot, Options, Packing, Seat};
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::{
    FilteredJoinResponseStatus, FilteredJoinTableAvailable, FilteredJoinTableResponse,
    GameTransport, JoinResponse, JoinResponseStatus, LoginResponse,
};
use wire::styx::{Limits, Packet, frames};

/// Player 7, on any seat.
fn options(packing: Packing) -> Options {
    Options { player: 7, packing, operator: 3, lobby: false, seat: Seat::Any }
}

/// A bot that speaks binary.
fn binary() -> Connection {
    Bot::new(frames(Limits::default()).into(), options(Packing::Binary)).into()
}

/// A bot that speaks JSON, each message prefixed with its length.
fn json() -> Connection {
    let framed = Framed::new(framed::Limits::default());
    Bot::new(framed.into(), options(Packing::Json)).into()
}

/// A packet as a Styx frame.
fn frame<'p>(packet: impl Into<Packet<'p>>) -> Vec<u8> {
    let payload = packed(packet);
    let len = u32::try_from(payload.len()).expect("the script is proper") + 4;
    [&len.to_be_bytes()[..], &payload].concat()
}

fn arrives<'p>(packet: impl Into<Packet<'p>>) -> Step {
    Step::First(frame(packet))
}

/// A packet as the payload of a frame.
fn packed<'p>(packet: impl Into<Packet<'p>>) -> Vec<u8> {
    let mut payload = Vec::new();
    packet.into().encode(&mut payload);
    payload
}

/// A packet as JSON.
fn text<'p>(packet: impl Into<Packet<'p>>) -> String {
    let mut text = Vec::new();
    packet.into().write_json(&mut text);
    String::from_utf8(text).expect("the script is proper")
}

/// Text arrives, prefixed with its length.
fn says(text: &str) -> Step {
    let len = u32::try_from(text.len()).expect("the script is proper");
    Step::First([&len.to_be_bytes()[..], text.as_bytes()].concat())
}

/// The Styx frames that were sent, as packets in JSON.
fn sent(mut bytes: &[u8]) -> Vec<String> {
    let mut packets = Vec::new();
    while let Some((len, _)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = bytes.split_at(u32::from_be_bytes(*len) as usize);
        packets.push(text(Packet::decode(&frame[4..]).expect("the script is proper")));
        bytes = rest;
    }
    packets
}

fn logged_in() -> Packet<'static> {
    LoginResponse { screenname: "Bot_7".into(), pid: 7, ..LoginResponse::default() }.into()
}

fn searching() -> Packet<'static> {
    let status = FilteredJoinResponseStatus::Seating;
    FilteredJoinTableResponse { seq: 1, gameid: 1, address: "/".into(), status }.into()
}

fn available() -> Packet<'static> {
    FilteredJoinTableAvailable { seq: 1, tableid: 21, seat: 2 }.into()
}

fn joined() -> Packet<'static> {
    JoinResponse { tableid: 21, seat: 2, status: JoinResponseStatus::Ok, code: 0 }.into()
}

/// The packets that the server sends until the bot sits.
fn opening() -> [Packet<'static>; 4] {
    [logged_in(), searching(), available(), joined()]
}

/// The opening as steps, followed by others.
fn seated(then: impl IntoIterator<Item = Step>) -> Vec<Step> {
    opening().into_iter().map(arrives).chain(then).collect()
}

/// The owner sends an event.
fn event(delay: i32, resend: bool) -> Step {
    Step::Send(LoadRequest { delay, resend, ..LoadRequest::default() }.pack().to_vec())
}

/// An answer to the event `seq` of player `pid`.
fn response(pid: i32, seq: i32) -> LoadResponse {
    LoadResponse { pid, tableid: 21, seq, resend: false }
}

fn transport(response: LoadResponse) -> Packet<'static> {
    let gamedata = response.pack().to_vec().into();
    GameTransport { tableid: 21, pid: response.pid, gamedata, attributes: Vec::new() }.into()
}

/// A line for a message with this payload.
fn line(of: &str, payload: &[u8]) -> String {
    format!("{of} {}", payload.escape_ascii())
}
