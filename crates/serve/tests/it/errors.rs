//! Clients that break their protocol: the server tells them so before the end, and counts them.

use crate::world::{HANDSHAKE, SWITCHED, World, calm, frame, framed, http, websocket};
use engine::sim::{Conditions, Split};
use spec::Protocol;

#[test]
fn what_breaks_rfc_6455_is_told_its_code_before_the_end() {
    let mut speaks = websocket();
    speaks.options.message_max = 1 << 20;
    let large = vec![b'x'; (1 << 20) + 1];
    #[rustfmt::skip]
    let table: [(Vec<u8>, u16, &str); _] = [
        (b"\x82\x02hi".to_vec(),                            1002, "not masked"),
        (frame(0xc2, b"hi"),                                1002, "a reserved bit"),
        (frame(0x83, b"hi"),                                1002, "a reserved opcode"),
        (frame(0x80, b"hi"),                                1002, "nothing to continue"),
        (frame(0x09, b""),                                  1002, "a ping in fragments"),
        (frame(0x89, &[0; 126]),                            1002, "a long ping"),
        (frame(0x88, b"\x03"),                              1002, "half a close code"),
        (frame(0x88, b"\x03\xed"),                          1002, "close code 1005"),
        (b"\x82\xff\x80\0\0\0\0\0\0\0keys".to_vec(),        1002, "the top bit of a length"),
        (frame(0x81, b"\xc3\x28"),                          1007, "text that is not UTF-8"),
        (frame(0x88, b"\x03\xe8\xff"),                      1007, "a reason that is not UTF-8"),
        (frame(0x82, &large),                               1009, "a byte more than a MiB"),
    ];
    for (said, code, what) in table {
        for split in [Split::Never, Split::Random { chunk_len_max: 5000 }] {
            let mut world = World::new(speaks.clone(), Conditions { split, ..calm() });
            let first = frame(0x82, b"fine");
            let heard = world.talk(&[HANDSHAKE, &[&first[..], &said].concat()]).properly_ended();
            let close = [&[0x88, 2], &code.to_be_bytes()[..]].concat();
            assert_eq!(heard, [SWITCHED, b"\x82\x04fine", &close].concat(), "{what} {split:?}");
            let totals = world.totals();
            assert_eq!((totals.messages, totals.broken), (1, 1), "{what}");
        }
    }
}

/// Frames: the first byte of each, and the length of its payload.
type Fragments<'a> = &'a [(u8, usize)];

#[test]
fn fragments_have_limits_too() {
    let mut speaks = websocket();
    speaks.options.message_max = 15;
    // A message of one empty fragment more than `websocket::Limits` allows.
    let many = [&[(0x02, 0)], &[(0x00, 0); 1 << 17][..]].concat();
    let parts = |parts: Fragments<'_>| -> Vec<u8> {
        parts.iter().flat_map(|(first, len)| frame(*first, &vec![b'x'; *len])).collect()
    };
    #[rustfmt::skip]
    let table: [(Fragments<'_>, &[u8]); _] = [
        (&[(0x02, 5), (0x00, 5), (0x80, 5), (0x88, 0)],            b"\x82\x0fxxxxxxxxxxxxxxx\x88\0"),
        (&[(0x02, 5), (0x00, 5), (0x80, 6)],                       b"\x88\x02\x03\xf1"),
        (&[(0x82, 16)],                                            b"\x88\x02\x03\xf1"),
        (&many,                                                    b"\x88\x02\x03\xf1"),
    ];
    for (said, answer) in table {
        let mut world = World::new(speaks.clone(), calm());
        let heard = world.talk(&[HANDSHAKE, &parts(said)]).properly_ended();
        assert_eq!(heard, [SWITCHED, answer].concat(), "{:?}", &said[..said.len().min(4)]);
    }
}

#[test]
fn a_handshake_that_is_not_one_is_refused_with_a_status() {
    let handshake = String::from_utf8(HANDSHAKE.to_vec()).unwrap();
    #[rustfmt::skip]
    let table = [
        (handshake.replace("GET", "POST"),                                  "HTTP/1.1 400 "),
        (handshake.replace("Upgrade: websocket\r\n", ""),                   "HTTP/1.1 400 "),
        (handshake.replace("Version: 13", "Version: 8"),                    "HTTP/1.1 426 "),
        (handshake.replace("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="),         "HTTP/1.1 400 "),
        (handshake.replace("/chat", &format!("/{}", "x".repeat(20_000))),   "HTTP/1.1 431 "),
        ("\x16\x03\x01 this is TLS\r\n\r\n".to_owned(),                     "HTTP/1.1 400 "),
    ];
    for (said, status) in table {
        let mut world = World::new(websocket(), calm());
        let heard = world.talk(&[said.as_bytes()]).text();
        assert!(heard.starts_with(status), "{heard} to {said}");
        assert_eq!(world.totals().broken, 1);
    }
}

#[test]
fn http_that_is_not_http_is_refused_with_a_status_before_the_end() {
    #[rustfmt::skip]
    let table = [
        ("hello there\r\n\r\n",                                                         "400 Bad Request"),
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",                                "400 Bad Request"), // no Host
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request"),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",       "400 Bad Request"),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16777217\r\n\r\n",              "413 Content Too Large"),
        ("POST / HTTP/2.0\r\nHost: a\r\n\r\n",                                 "505 HTTP Version Not Supported"),
    ];
    for (said, status) in table {
        for split in [Split::Never, Split::ByteByByte] {
            let mut world = World::new(http(), Conditions { split, ..calm() });
            let heard = world.talk(&[said.as_bytes()]).text();
            let expected =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            assert_eq!(heard, expected, "{said}");
            assert_eq!((world.totals().broken, world.totals().messages), (1, 0));
        }
    }
    let mut world = World::new(http(), calm());
    let endless = format!("POST / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(20_000));
    let heard = world.talk(&[endless.as_bytes()]).text();
    assert!(heard.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{heard}");
}

#[test]
fn a_frame_above_the_limit_ends_the_connection_after_the_answers_before_it() {
    let mut world = World::new(framed(), calm());
    let heard = world.talk(&[b"\0\0\0\x02hi\x01\0\0\x01"]).properly_ended();
    assert_eq!(heard, b"\0\0\0\x02hi");
    assert_eq!((world.totals().broken, world.totals().messages), (1, 1));
}

#[test]
fn what_still_comes_from_a_client_that_was_told_is_dropped_and_not_answered() {
    // The megabyte after the error is on its way at the same time as the answer: the end is proper all the same.
    for speaks in [websocket(), http()] {
        let is_http = speaks.protocol() == Protocol::Http;
        let mut world = World::new(speaks, calm());
        let start: Vec<u8> = if is_http { Vec::new() } else { HANDSHAKE.to_vec() };
        let said = [&start[..], b"\x83\x80....\r\n\r\n", &vec![b'x'; 1 << 20]].concat();
        let heard = world.talk(&[&said]).properly_ended();
        let answer: &[u8] = if is_http { b"HTTP/1.1 400 " } else { SWITCHED };
        assert!(heard.starts_with(answer), "{:?}", heard.escape_ascii().to_string());
        assert_eq!(world.totals().broken, 1);
    }
}
