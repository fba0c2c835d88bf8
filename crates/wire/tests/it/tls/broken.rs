//! Peers that do not speak TLS, stop in the middle, or send what TLS does not allow.

use super::conversations::ends;
use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options};
use std::fmt::Write as _;
use wire::Connection;
use wire::tls::Version;

#[test]
fn a_peer_that_does_not_speak_tls_is_recognised_by_either_end() {
    #[rustfmt::skip]
    let table: [(&[u8], &str); _] = [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", r#""GET / HTTP/1.1\r\nHost: h\r\n\r\n""#),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n",  r#""HTTP/1.1 400 Bad Request\r\n\r\n""#),
        (b"\x00",                              r#""\x00""#),
        (b"x",                                 r#""x""#),
        (b"\x16GET",                           r#""\x16GET""#),
    ];
    for (bytes, said) in table {
        let (mut there, mut here) = fresh(None);
        for end in [&mut there, &mut here] {
            end.take();
            end.feed_whole(bytes);
            assert_eq!(end.complaint(), format!("the peer does not speak TLS: it sent {said}"));
            assert_eq!(end.take(), alert(UNEXPECTED_MESSAGE), "{said}");
        }
        let (_, mut here) = fresh(None);
        here.feed(bytes, 1);
        assert!(here.complaint().starts_with("the peer does not speak TLS: it sent "));
    }
}

#[test]
fn a_peer_that_stops_inside_the_handshake_is_told_apart_by_what_it_owed() {
    #[rustfmt::skip]
    let table = [
        (Version::Tls13, 0, "", "the client's hello"),
        (Version::Tls13, 1, "the server's hello", "the client's Finished"),
        (Version::Tls12, 0, "", "the client's hello"),
        (Version::Tls12, 1, "the server's hello", "the client's key exchange and Finished"),
        (Version::Tls12, 2, "the rest of the server's handshake", ""),
    ];
    let cut = |awaited: &str| {
        format!("error: the connection ended inside the TLS handshake, before {awaited}")
    };
    for (version, flights, client_awaits, server_awaits) in table {
        let (mut there, mut here) = fresh(Some(version));
        for flight in 0..flights {
            if flight % 2 == 0 {
                here.feed_whole(&there.take());
            } else {
                there.feed_whole(&here.take());
            }
        }
        if !client_awaits.is_empty() {
            assert_eq!(there.end(), cut(client_awaits), "{version}, {flights} flights");
        }
        if !server_awaits.is_empty() {
            assert_eq!(here.end(), cut(server_awaits), "{version}, {flights} flights");
        }
    }
}

#[test]
fn a_server_that_stops_inside_its_flight_owes_the_rest() {
    for version in Version::ALL {
        let (mut there, mut here) = fresh(Some(version));
        here.feed_whole(&there.take());
        let flight = here.take();
        for len in 0..flight.len() {
            let (mut there, _) = fresh(Some(version));
            there.feed_whole(&flight[..len]);
            assert_eq!(there.complaint(), "", "{len} of {} bytes", flight.len());
            let said = there.end();
            assert!(said.contains("inside the TLS handshake, before the "), "{said}");
        }
    }
}

#[test]
fn a_record_that_is_cut_off_is_no_proper_end() {
    for version in Version::ALL {
        let (mut there, mut here) = fresh(Some(version));
        settle(&mut there, &mut here);
        there.send(&[7; 100]);
        let record = there.take();
        for len in [1, 4, 5, 6, record.len() - 1] {
            let (mut there, mut here) = fresh(Some(version));
            settle(&mut there, &mut here);
            there.send(&[7; 100]);
            here.feed_whole(&there.take()[..len]);
            let mut expected =
                format!("error: the connection ended inside a TLS record, after {len}");
            if len >= 5 {
                write!(expected, " of {}", record.len()).unwrap();
            }
            assert_eq!(here.end(), format!("{expected} bytes of it"));
        }
    }
}

#[test]
fn what_was_changed_on_its_way_is_told_with_bad_record_mac() {
    for version in Version::ALL {
        for at in [5, 20, 40] {
            let (mut there, mut here) = fresh(Some(version));
            settle(&mut there, &mut here);
            there.send(&[7; 100]);
            let mut bytes = there.take();
            bytes[at] ^= 1;
            here.feed_whole(&bytes);
            assert_eq!(
                here.complaint(),
                "a TLS record failed its integrity check: it was changed on its way, or is not a record"
            );
            settle(&mut there, &mut here);
            assert_eq!(
                there.complaint(),
                "the peer ended the connection: alert bad_record_mac: a record did not pass its check"
            );
        }
    }
}

#[test]
fn garbage_after_the_handshake_is_told_with_an_alert() {
    #[rustfmt::skip]
    let table: [(&[u8], &str, &str); _] = [
        (&[0x17, 3, 3, 0, 30], "a TLS record failed its", "bad_record_mac: a record did not pass its check"),
        (b"GET / HTTP/1.1\r\n\r\n", "malformed TLS: invalid content type", "decode_error"),
        (&[0x17, 3, 3, 0xff, 0xff], "TLS record over the limit of 16384 bytes of plaintext", "decode_error"),
        (&[0x17, 9, 3, 0, 30], "malformed TLS: unknown protocol version", "decode_error"),
        (&[0x63, 3, 3, 0, 30], "malformed TLS: invalid content type", "decode_error"),
    ];
    for (start, complaint, told) in table {
        let (mut there, mut here) = fresh(None);
        settle(&mut there, &mut here);
        let mut bytes = start.to_vec();
        bytes.resize(35.max(bytes.len()), 0);
        here.feed_whole(&bytes);
        assert!(here.complaint().starts_with(complaint), "{}", here.complaint());
        settle(&mut there, &mut here);
        assert_eq!(there.complaint(), format!("the peer ended the connection: alert {told}"));
    }
}

#[test]
fn what_came_before_a_broken_record_is_still_heard() {
    let (mut there, mut here) = fresh(None);
    settle(&mut there, &mut here);
    there.send(b"whole");
    there.send(b"broken");
    let mut bytes = there.take();
    *bytes.last_mut().unwrap() ^= 1;
    here.feed_whole(&bytes);
    assert_eq!(here.messages, [b"whole"]);
    assert!(here.complaint().starts_with("a TLS record failed its"));
}

#[test]
fn a_record_over_the_limit_is_refused_at_its_header() {
    for (len, is_over) in [(16_384 + 2047, false), (16_384 + 2048, true), (65_535, true)] {
        let (_, mut here) = fresh(None);
        let mut header = vec![22, 3, 1];
        header.extend(u16::try_from(len).unwrap().to_be_bytes());
        here.feed_whole(&header);
        assert_eq!(here.error.is_some(), is_over, "{len}");
        if is_over {
            assert_eq!(here.complaint(), "TLS record over the limit of 16384 bytes of plaintext");
            assert_eq!(here.take(), alert(DECODE_ERROR));
        }
    }
}

#[test]
fn handshakes_that_cannot_be_are_refused_with_an_alert() {
    // The header of a ClientHello of 16 MB; a handshake message of another kind; application data; an empty record.
    #[rustfmt::skip]
    let table: [(&[u8], u8, &str); _] = [
        (&[22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff], DECODE_ERROR, "malformed TLS: handshake payload too large"),
        (&[22, 3, 1, 0, 4, 20, 0, 0, 0],         UNEXPECTED_MESSAGE, "the peer broke a rule of TLS: "),
        (&[23, 3, 3, 0, 1, 0],                   UNEXPECTED_MESSAGE, "the peer broke a rule of TLS: "),
        (&[22, 3, 1, 0, 0],                      DECODE_ERROR, "malformed TLS: "),
    ];
    for (bytes, told, complaint) in table {
        let (_, mut here) = fresh(None);
        here.feed_whole(bytes);
        assert!(here.complaint().starts_with(complaint), "{}", here.complaint());
        let sent = here.take();
        assert!(sent.is_empty() || sent == alert(told), "{bytes:?}: {sent:?}");
    }
}

#[test]
fn nothing_is_heard_or_said_after_the_peer_broke_tls() {
    let (mut there, mut here) = fresh(None);
    settle(&mut there, &mut here);
    there.send(b"message");
    let mut bytes = there.take();
    bytes[6] ^= 1;
    here.feed_whole(&bytes);
    here.take();
    assert!(!here.close());
    assert_eq!(here.take(), b"");
}

/// Both ends of a framed connection before the handshake, of one version or of both.
fn fresh(version: Option<Version>) -> (End<Connection>, End<Connection>) {
    let (mut there, mut here) = (client_options(), server_options());
    there.versions.extend(version);
    (there.resumption, here.resumption) = (false, false);
    ends(&client(&there), &server(&here), "framed", 0)
}

/// An unencrypted fatal alert.
fn alert(description: u8) -> [u8; 7] {
    [21, 3, 3, 0, 2, 2, description]
}

const DECODE_ERROR: u8 = 50;
const UNEXPECTED_MESSAGE: u8 = 10;
