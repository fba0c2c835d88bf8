//! The memory that a connection holds, in peace and under attack.

use super::conversations::ends;
use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options};
use crate::websocket::allocation::memory_of;
use wire::Connection;
use wire::tls::Version;

#[test]
fn a_quiet_connection_holds_no_buffer() {
    for version in Version::ALL {
        let (mut there, mut here) = open(version);
        let ((), _, held) = memory_of(|| {
            for len in [1, 1000, 100_000] {
                exchange(&mut there, &mut here, len);
            }
        });
        assert!(held <= SLACK, "{held} bytes more than before the first message");
    }
}

#[test]
fn a_cut_record_is_all_that_is_held_of_one() {
    let (mut there, mut here) = open(Version::Tls13);
    there.send(&[7; 50_000]);
    let bytes = there.take();
    let ((), _, held) = memory_of(|| {
        here.feed_whole(&bytes[..16_406 + 16_405]);
        here.feed_whole(&[]); // Frees what the call before took.
    });
    // The protocol inside holds the message so far, and knows how long it will be.
    assert!(held <= 50_004 + 16_405 + SLACK, "{held}");
    here.feed_whole(&bytes[16_406 + 16_405..]);
    assert_eq!(here.messages, [vec![7; 50_000]]);
}

#[test]
fn a_handshake_in_tiny_records_is_bounded() {
    // A ClientHello of 60 000 bytes, one byte in each record of six.
    let mut hello = vec![1, 0, 0xea, 0x60];
    hello.resize(60_000, 0);
    let bytes: Vec<u8> = hello.iter().flat_map(|byte| [22, 3, 1, 0, 1, *byte]).collect();
    let (_, mut here) = fresh(Version::Tls13);
    let ((), peak, _) = memory_of(|| here.feed(&bytes, 1000));
    assert!(
        here.complaint().starts_with("handshake message in records of "),
        "{}",
        here.complaint()
    );
    assert!(peak <= 3 * (2 * 65_536 + 18_437), "{peak}");
}

#[test]
fn a_header_alone_makes_no_room_for_more_than_a_record() {
    let (mut there, mut here) = open(Version::Tls13);
    let ((), peak, _) = memory_of(|| here.feed_whole(&[23, 3, 3, 0x48, 0]));
    assert!(peak <= 18_437 + SLACK, "{peak}");
    there.take();
}

fn exchange(there: &mut End<Connection>, here: &mut End<Connection>, len: usize) {
    there.send(&vec![7; len]);
    settle(there, here);
    here.send(&vec![7; len]);
    settle(there, here);
    for end in [there, here] {
        // Memory of the test itself.
        (end.heard, end.messages, end.tx) = (Vec::new(), Vec::new(), Vec::new());
        // A machine frees what it handed out at the next call.
        end.feed_whole(&[]);
    }
}

fn open(version: Version) -> (End<Connection>, End<Connection>) {
    let (mut there, mut here) = fresh(version);
    settle(&mut there, &mut here);
    there.feed_whole(&[]);
    here.feed_whole(&[]);
    (there.heard, here.heard) = (Vec::new(), Vec::new());
    (there, here)
}

fn fresh(version: Version) -> (End<Connection>, End<Connection>) {
    let mut options = client_options();
    options.versions = vec![version];
    ends(&client(&options), &server(&server_options()), "framed", 0)
}

/// Bytes that the test itself may keep.
const SLACK: usize = 512;
