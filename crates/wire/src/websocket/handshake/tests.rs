//! A table for each list of RFC 6455 §4, and for what RFC 7692 adds. Every input is read again after each of its bytes,
//! as if they arrived one by one.

use super::{
    Accepted, ClientHandshake, HEAD_LEN_MAX, HandshakeError, Request, ServerHandshake,
    ServerOptions, deflate,
};
use std::sync::Arc;

#[test]
fn the_example_of_the_rfc_is_answered_as_in_the_rfc() {
    let request = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://example.com\r\n\
        Sec-WebSocket-Protocol: chat, superchat\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n";
    check_server(request, "accepted chat", answer);
}

#[test]
fn a_request_is_written_as_the_rfc_asks() {
    let headers = vec![("Origin".to_owned(), "http://o".to_owned())];
    let request = Request { subprotocols: names(&["a", "b"]), headers, ..request() };
    let mut tx = Vec::new();
    ClientHandshake::new(Arc::new(request), SEED).write(&mut tx);
    let expected = format!(
        "GET /t HTTP/1.1\r\nHost: h:80\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: a, b\r\nOrigin: http://o\r\n\r\n",
        key_text()
    );
    assert_eq!(String::from_utf8(tx).unwrap(), expected);
    assert_ne!(super::key(SEED), super::key(SEED + 1), "each connection has a key of its own");
}

#[test]
fn both_sides_agree() {
    for (offered, spoken, chosen) in [
        (&["a", "b"][..], &["b", "c"][..], Some("b")),
        (&["a", "b"], &["b", "a"], Some("a")),
        (&["a"], &[], None),
        (&[], &["a"], None),
    ] {
        let request = Arc::new(Request { subprotocols: names(offered), ..request() });
        let mut client = ClientHandshake::new(request, SEED);
        let mut server = ServerHandshake::new(Arc::new(ServerOptions {
            subprotocols: names(spoken),
            deflate: None,
        }));
        let (mut there, mut back) = (Vec::new(), Vec::new());
        client.write(&mut there);
        let accepted = server.read(&there, &mut back).unwrap().unwrap();
        assert_eq!((accepted.head_len, accepted.subprotocol.as_deref()), (there.len(), chosen));
        let head_len = back.len();
        back.extend_from_slice(b"frames");
        let accepted = client.read(&back).unwrap().unwrap();
        assert_eq!((accepted.head_len, accepted.subprotocol.as_deref()), (head_len, chosen));
    }
}

#[test]
fn answers_that_the_rfc_allows_are_accepted() {
    #[rustfmt::skip]
    let table = [
        // status line, upgrade, connection, further fields, outcome
        ("HTTP/1.1 101 x", "WebSocket", "upgrade", "", "accepted"),
        ("HTTP/1.1 101", "websocket", "keep-alive, UPGRADE", "", "accepted"),
        ("HTTP/1.1 101 x", "websocket", "Upgrade", "Sec-WebSocket-Protocol: a\r\n", "accepted a"),
        ("HTTP/1.1 101 x", "websocket", "Upgrade", "Sec-WebSocket-Extensions:\r\n", "accepted"),
        ("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 y\r\nA: b\r\n\r\nHTTP/1.1 101 x", "websocket", "Upgrade", "", "accepted"),
    ];
    for (line, upgrade, connection, further, outcome) in table {
        let accept = format!("Sec-WebSocket-Accept: \t {} \t", accept_text());
        let answer = format!(
            "{line}\r\nUpgrade: {upgrade}\r\nConnection: {connection}\r\n{accept}\r\n{further}\r\n"
        );
        check_client(&answer, outcome);
    }
}

#[test]
fn answers_that_the_rfc_forbids_are_named() {
    let accept = accept_text();
    let accept = accept.as_str();
    let good = |left_out: &str| {
        [
            "Upgrade: websocket\r\n",
            "Connection: Upgrade\r\n",
            &format!("Sec-WebSocket-Accept: {accept}\r\n"),
        ]
        .into_iter()
        .filter(|field| left_out.is_empty() || !field.starts_with(left_out))
        .collect::<String>()
    };
    let wrong_case = accept.to_ascii_lowercase();
    #[rustfmt::skip]
    let table = [
        // RFC 6455 §4.1, item 2: Upgrade
        (good("Upgrade"), "the Upgrade field does not say websocket".to_owned()),
        (good("Upgrade") + "Upgrade: h2c\r\n", "the Upgrade field does not say websocket".to_owned()),
        (good("") + "Upgrade: h2c\r\n", "the Upgrade field does not say websocket".to_owned()),
        // item 3: Connection
        (good("Connection"), "the Connection field does not say Upgrade".to_owned()),
        (good("Connection") + "Connection: close\r\n", "the Connection field does not say Upgrade".to_owned()),
        (good("Connection") + "Connection: upgraded\r\n", "the Connection field does not say Upgrade".to_owned()),
        // item 4: Sec-WebSocket-Accept
        (good("Sec"), "no field sec-websocket-accept".to_owned()),
        (good("Sec") + "Sec-WebSocket-Accept:\r\n",
            "Sec-WebSocket-Accept is \"\", which does not answer our key".to_owned()),
        (good("Sec") + &format!("Sec-WebSocket-Accept: {wrong_case}\r\n"),
            format!("Sec-WebSocket-Accept is \"{wrong_case}\", which does not answer our key")),
        (good("Sec") + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
            "Sec-WebSocket-Accept is \"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\", which does not answer our key".to_owned()),
        (good("") + &format!("Sec-WebSocket-Accept: {accept}\r\n"),
            "more than one field sec-websocket-accept".to_owned()),
        // item 5: extensions, none of which is asked for here
        (good("") + "Sec-WebSocket-Extensions: permessage-deflate; x\r\n",
            "the server uses the extension \"permessage-deflate; x\", which was not asked for".to_owned()),
        (good("") + "Sec-WebSocket-Extensions: a, b;\r\n",
            "Sec-WebSocket-Extensions is \"a, b;\", not a list of extensions (RFC 6455 §9.1)".to_owned()),
        // item 6: the subprotocol, `a` or `b`
        (good("") + "Sec-WebSocket-Protocol: A\r\n",
            "the server chose the subprotocol \"A\", which was not offered".to_owned()),
        (good("") + "Sec-WebSocket-Protocol: a, b\r\n",
            "the server chose the subprotocol \"a, b\", which was not offered".to_owned()),
        (good("") + "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n",
            "more than one field sec-websocket-protocol".to_owned()),
    ];
    for (fields, error) in table {
        check_client(&format!("HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n"), &error);
    }
}

#[test]
fn other_answers_are_named_for_what_they_are() {
    #[rustfmt::skip]
    let table = [
        // item 1: the status
        ("HTTP/1.1 200 OK\r\n\r\n<html>", "status 200 instead of an upgrade: an ordinary page, not a WebSocket"),
        ("HTTP/1.1 301 x\r\nLocation: wss://e\r\n\r\n",
            "status 301 instead of an upgrade: it has moved, see \"wss://e\""),
        ("HTTP/1.1 302 x\r\nLocation: \x1b[2J\r\n\r\n", "malformed head: invalid header value"),
        ("HTTP/1.1 308 x\r\n\r\n", "status 308 instead of an upgrade: it has moved"),
        ("HTTP/1.1 401 x\r\n\r\n", "status 401 instead of an upgrade: a login is needed"),
        ("HTTP/1.1 403 x\r\n\r\n", "status 403 instead of an upgrade: access is denied"),
        ("HTTP/1.1 404 x\r\n\r\n", "status 404 instead of an upgrade: not found"),
        ("HTTP/1.1 405 x\r\n\r\n", "status 405 instead of an upgrade: the server does not accept the request"),
        ("HTTP/1.1 426 x\r\n\r\n", "status 426 instead of an upgrade: another version or protocol is required"),
        ("HTTP/1.1 429 x\r\n\r\n", "status 429 instead of an upgrade: too many requests"),
        ("HTTP/1.1 429 x\r\nRetry-After: 9\r\n\r\n",
            "status 429 instead of an upgrade: too many requests, Retry-After 9 s"),
        ("HTTP/1.0 503 x\r\n\r\n", "status 503 instead of an upgrade: the server failed"),
        ("HTTP/1.0 101 x\r\n\r\n", "the handshake is HTTP/1.0, and a WebSocket needs HTTP/1.1"),
        ("HTTP/1.1 999 x\r\n\r\n", "status 999 instead of an upgrade: no answer to an upgrade"),
        // what is not HTTP
        ("-ERR unknown command\r\n", "the peer does not speak HTTP, it sent \"-ERR unknown command\""),
        ("\x15\x03\x03\0\x02\x02F",
            "cut off: the peer does not speak HTTP, it sent \"\\x15\\x03\\x03\\x00\\x02\\x02F\""),
        ("HTTP/1.1 10", "cut off: the connection ended 11 bytes into a head"),
        ("HTTP/1.1 101 x\nUpgrade: websocket\r\n\r\n", "a line of the head ends with a bare line feed"),
        ("", "cut off: the connection ended 0 bytes into a head"),
    ];
    for (answer, outcome) in table {
        check_client(answer, outcome);
    }
}

#[test]
fn requests_that_the_rfc_allows_are_accepted() {
    #[rustfmt::skip]
    let table = [
        // target, what to replace, with what
        ("/", "", ""),
        ("http://e/p", "", ""),
        ("/", "Upgrade: websocket", "Upgrade: h2c, WebSocket"),
        ("/", "Connection: Upgrade", "Connection: keep-alive, upgrade"),
        ("/", "Connection: Upgrade", "Connection: keep-alive\r\nConnection: upgrade"),
        ("/", "Sec-WebSocket-Version", "sec-websocket-version"),
        ("/", "\r\n\r\n",
            "\r\nSec-WebSocket-Extensions: permessage-deflate; x=1\r\nSec-WebSocket-Extensions: foo\r\n\r\n"),
        ("/", "\r\n\r\n", "\r\nSec-WebSocket-Protocol: x, y\r\n\r\n"),
        ("/", "\r\n\r\n", "\r\nOrigin: null\r\n\r\n"),
    ];
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    for (target, from, to) in table {
        let request = REQUEST.replacen("GET /", &format!("GET {target}"), 1);
        let request = if from.is_empty() { request } else { request.replacen(from, to, 1) };
        check_server(&request, "accepted", answer);
    }
}

#[test]
fn requests_that_the_rfc_forbids_are_refused() {
    #[rustfmt::skip]
    let table = [
        // RFC 6455 §4.2.1, item 1: the request line
        ("GET /", "POST /", "400", "the method is \"POST\", not GET"),
        ("HTTP/1.1", "HTTP/1.0", "400", "the handshake is HTTP/1.0, and a WebSocket needs HTTP/1.1"),
        ("HTTP/1.1", "HTTP/2.0", "400", "unsupported version of HTTP"),
        ("GET /", "GET *", "400", "the target is \"*\", not a path"),
        ("GET /", "GET ftp://e/", "400", "the target is \"ftp://e/\", not a path"),
        // item 2: Host
        ("Host: h\r\n", "", "400", "no field host"),
        ("Host: h\r\n", "Host: h\r\nHost: h\r\n", "400", "more than one field host"),
        // item 3: Upgrade
        ("Upgrade: websocket\r\n", "", "400", "the Upgrade field does not say websocket"),
        ("Upgrade: websocket\r\n", "Upgrade: websockets\r\n", "400", "the Upgrade field does not say websocket"),
        // item 4: Connection
        ("Connection: Upgrade\r\n", "", "400", "the Connection field does not say Upgrade"),
        ("Connection: Upgrade\r\n", "Connection: keep-alive\r\n", "400", "the Connection field does not say Upgrade"),
        // item 5: Sec-WebSocket-Key
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", "400", "no field sec-websocket-key"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "", "400", "Sec-WebSocket-Key is \"\", not 16 bytes in base64"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j", "400",
            "Sec-WebSocket-Key is \"dGhlIHNhbXBsZSBub25j\", not 16 bytes in base64"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZTE=", "400",
            "Sec-WebSocket-Key is \"dGhlIHNhbXBsZSBub25jZTE=\", not 16 bytes in base64"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", "400",
            "Sec-WebSocket-Key is \"dGhlIHNhbXBsZSBub25jZQ\", not 16 bytes in base64"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j!Q==", "400",
            "Sec-WebSocket-Key is \"dGhlIHNhbXBsZSBub25j!Q==\", not 16 bytes in base64"),
        ("\r\n\r\n", "\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", "400",
            "more than one field sec-websocket-key"),
        // item 6: Sec-WebSocket-Version
        ("Sec-WebSocket-Version: 13\r\n", "", "426", "Sec-WebSocket-Version is \"\", not \"13\""),
        ("Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 8\r\n", "426",
            "Sec-WebSocket-Version is \"8\", not \"13\""),
        ("Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 13, 8\r\n", "426",
            "Sec-WebSocket-Version is \"13, 8\", not \"13\""),
        ("\r\n\r\n", "\r\nSec-WebSocket-Version: 13\r\n\r\n", "400", "more than one field sec-websocket-version"),
        // item 9: Sec-WebSocket-Extensions
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate;\r\n\r\n", "400",
            "Sec-WebSocket-Extensions is \"permessage-deflate;\", not a list of extensions (RFC 6455 §9.1)"),
        // what is not HTTP
        ("GET /", "\x16\x03\x01", "400", "malformed head: invalid token"),
        ("Host: h\r\n", "Host: h\n", "400", "a line of the head ends with a bare line feed"),
        ("Host: h\r\n", "Host: h\r\n b\r\n", "400", "malformed head: invalid header name"),
    ];
    for (from, to, status, error) in table {
        assert!(REQUEST.contains(from), "{from:?}");
        check_server(&REQUEST.replacen(from, to, 1), error, refusal(status));
    }
}

#[test]
fn compression_is_offered_and_agreed_to_in_fields() {
    let (offer, accept) =
        ("server_no_context_takeover,client_max_window_bits,level=1", "client_max_window_bits=10");
    let offer = Some(offer.parse().unwrap());
    let mut client = ClientHandshake::new(Arc::new(Request { deflate: offer, ..request() }), SEED);
    let mut server = accepting(accept);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    client.write(&mut there);
    let by_server = server.read(&there, &mut back).unwrap().unwrap().deflate.unwrap();
    let by_client = client.read(&back).unwrap().unwrap().deflate.unwrap();
    assert_eq!((by_client.level, by_server.level), (1, 6), "each side has its own");
    assert_eq!((by_client.sent, by_client.received), (by_server.received, by_server.sent));
    let field = |tx: &[u8]| {
        let lines = String::from_utf8_lossy(tx).into_owned();
        lines.lines().find(|line| line.starts_with("Sec-WebSocket-Ext")).unwrap().to_owned()
    };
    assert_eq!(
        field(&there),
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_max_window_bits"
    );
    assert_eq!(
        field(&back),
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_max_window_bits=10"
    );
}

#[test]
fn the_first_offer_that_can_be_agreed_to_is_accepted() {
    let deflate = "permessage-deflate";
    #[rustfmt::skip]
    let table = [
        // fields, what the server accepts, its answer
        (vec!["permessage-deflate"],                                       "", Some("")),
        (vec!["foo; x=1, permessage-deflate, bar"],                        "", Some("")),
        (vec!["foo", "permessage-deflate"],                                "", Some("")),
        (vec!["permessage-deflate; server_max_window_bits=10, permessage-deflate"], "", Some("; server_max_window_bits=10")),
        (vec!["permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=9"],
                                                                           "", Some("; server_max_window_bits=9")),
        (vec!["permessage-deflate; server_max_window_bits=8", "permessage-deflate"], "", Some("")),
        (vec!["permessage-deflate; unknown", "permessage-deflate; client_no_context_takeover"],
                                                                           "", Some("; client_no_context_takeover")),
        (vec!["permessage-deflate", "permessage-deflate; client_max_window_bits"],
                                                    "client_max_window_bits=9", Some("; client_max_window_bits=9")),
        (vec!["permessage-deflate; server_max_window_bits=\"10\""],        "", Some("; server_max_window_bits=10")),
        (vec!["permessage-deflate ; client_max_window_bits = 1\\2"],       "", None), // malformed
        // declined
        (vec!["permessage-deflate; server_max_window_bits=8"],             "", None),
        (vec!["permessage-deflate"],                "client_max_window_bits=9", None),
        (vec!["permessage-deflate; server_max_window_bits"],               "", None),
        (vec!["permessage-deflate; server_max_window_bits=07"],            "", None),
        (vec!["permessage-deflate; server_max_window_bits=010"],           "", None),
        (vec!["permessage-deflate; server_max_window_bits=16"],            "", None),
        (vec!["permessage-deflate; client_max_window_bits=7"],             "", None),
        (vec!["permessage-deflate; client_max_window_bits=9; client_max_window_bits=9"], "", None),
        (vec!["permessage-deflate; client_max_window_bits; client_max_window_bits=9"], "", None),
        (vec!["permessage-deflate; server_no_context_takeover; server_no_context_takeover"], "", None),
        (vec!["permessage-deflate; server_no_context_takeover=true"],      "", None),
        (vec!["permessage-deflate; level=1"],                              "", None),
        (vec!["Permessage-Deflate"],                                       "", None),
        (vec!["x-webkit-deflate-frame"],                                   "", None),
        (vec!["foo; x=permessage-deflate"],                                "", None),
        (vec![],                                                           "", None),
    ];
    for (fields, accept, answer) in table {
        let lines = fields.iter().map(|field| format!("\r\nSec-WebSocket-Extensions: {field}"));
        let lines = lines.collect::<String>() + "\r\n\r\n";
        let mut tx = Vec::new();
        let read =
            accepting(accept).read(REQUEST.replacen("\r\n\r\n", &lines, 1).as_bytes(), &mut tx);
        let tx = String::from_utf8(tx).unwrap();
        let found = tx.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Extensions: "));
        let expected = answer.map(|answer| format!("{deflate}{answer}"));
        assert_eq!(found, expected.as_deref(), "{fields:?}, {accept:?}: {tx}");
        match read {
            Ok(accepted) => assert_eq!(accepted.unwrap().deflate.is_some(), answer.is_some()),
            Err(error) => {
                let is_malformed = matches!(error, HandshakeError::Extensions { .. });
                assert!(is_malformed && tx.starts_with("HTTP/1.1 400 "), "{error}");
            }
        }
    }
}

#[test]
fn answers_to_an_offer_of_compression_are_held_against_it() {
    let offered = "client_max_window_bits";
    let answer = |error: &str| format!("the server's answer to permessage-deflate: {error}");
    let declined =
        "the server does not agree to permessage-deflate, which was offered (RFC 7692 §5)";
    #[rustfmt::skip]
    let table = [
        (offered, "permessage-deflate", "accepted".to_owned()),
        (offered, "permessage-deflate; client_max_window_bits=\"9\"", "accepted".to_owned()),
        (offered, "permessage-deflate; server_no_context_takeover; server_max_window_bits=8", "accepted".to_owned()),
        (offered, "", declined.to_owned()),
        (offered, "foo", "the server uses the extension \"foo\", which was not asked for".to_owned()),
        (offered, "permessage-deflate, foo; a=1",
            "the server uses the extension \"foo; a=1\", which was not asked for".to_owned()),
        (offered, "permessage-deflate, permessage-deflate", answer("it occurs twice (RFC 7692 §5)")),
        (offered, "permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate",
            answer("it occurs twice (RFC 7692 §5)")),
        (offered, "permessage-deflate; x",
            answer("\"x\" is not a parameter of permessage-deflate (RFC 7692 §7.1)")),
        (offered, "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
            answer("server_max_window_bits occurs twice (RFC 7692 §7.1)")),
        (offered, "permessage-deflate; server_max_window_bits=16",
            answer("server_max_window_bits is \"16\", expected a number from 8 to 15 (RFC 7692 §7.1.2)")),
        (offered, "permessage-deflate; server_max_window_bits=009",
            answer("server_max_window_bits is \"009\", expected a number from 8 to 15 (RFC 7692 §7.1.2)")),
        (offered, "permessage-deflate; server_no_context_takeover=1",
            answer("server_no_context_takeover is \"1\", no value expected (RFC 7692 §7.1.1)")),
        (offered, "permessage-deflate; client_max_window_bits=8",
            answer("client_max_window_bits is 8, but zlib compresses with windows of 2^9 bytes and more")),
        (offered, "permessage-deflate; client_max_window_bits",
            answer("client_max_window_bits has no value, expected a number from 8 to 15 (RFC 7692 §7.1.2)")),
        ("", "permessage-deflate; client_max_window_bits=9",
            answer("client_max_window_bits was not offered (RFC 7692 §7.1.2.2)")),
        ("server_no_context_takeover", "permessage-deflate",
            answer("server_no_context_takeover was offered, but is missing from the answer (RFC 7692 §7.1)")),
        (offered, "permessage-deflate; client_max_window_bits=\"9",
            "Sec-WebSocket-Extensions is \"permessage-deflate; client_max_window_bits=\\\"9\", not a list of extensions (RFC 6455 §9.1)"
                .to_owned()),
    ];
    for (offered, answered, outcome) in table {
        let offer = Some(offered.parse().unwrap());
        let mut client =
            ClientHandshake::new(Arc::new(Request { deflate: offer, ..request() }), SEED);
        let field = if answered.is_empty() {
            String::new()
        } else {
            format!("Sec-WebSocket-Extensions: {answered}\r\n")
        };
        let head = format!(
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n{field}\r\n",
            accept_text()
        );
        let read = client.read(head.as_bytes());
        assert_eq!(describe(read), outcome, "{answered:?} to {offered:?}");
    }
}

#[test]
fn a_head_has_a_limit() {
    let request = |len: usize| {
        let padding = format!("\r\nA: {}\r\n\r\n", "a".repeat(len - REQUEST.len() - 5));
        REQUEST.replacen("\r\n\r\n", &padding, 1)
    };
    let mut server = server();
    let mut tx = Vec::new();
    assert!(server.read(request(HEAD_LEN_MAX).as_bytes(), &mut tx).unwrap().is_some());
    tx.clear();
    let error = server.read(request(HEAD_LEN_MAX + 1).as_bytes(), &mut tx).unwrap_err();
    assert_eq!(error.to_string(), "head of more than 16384 bytes");
    assert_eq!(String::from_utf8(tx).unwrap(), refusal("431"));

    let endless = format!("HTTP/1.1 101 {}", "x".repeat(HEAD_LEN_MAX));
    let error = client().read(endless.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "head of more than 16384 bytes");
}

#[test]
fn requests_that_cannot_be_written_are_refused() {
    let header = |name: &str| vec![(name.to_owned(), "x".to_owned())];
    #[rustfmt::skip]
    let table = [
        (Request { host: "a b".to_owned(), ..request() }, "\"a b\" is not a host"),
        (Request { target: "t".to_owned(), ..request() }, "\"t\" is not a path"),
        (Request { subprotocols: names(&["a", "b c"]), ..request() }, "\"b c\" is not the name of a subprotocol"),
        (Request { deflate: Some(deflate::Offer { client_max_window_bits: Some(Some(8)), ..Default::default() }), ..request() },
            "client_max_window_bits is 8, but zlib compresses with windows of 2^9 bytes and more"),
        (Request { deflate: Some(deflate::Offer { level: 0, ..Default::default() }), ..request() },
            "level is \"0\", expected a number from 1 to 9"),
        (Request { headers: header("A:"), ..request() }, "\"A:\" is not the name of a header field"),
        (Request { headers: header("Sec-Websocket-Key"), ..request() },
            "the header field Sec-Websocket-Key is written by the protocol itself"),
    ];
    for (request, error) in table {
        assert_eq!(request.check().unwrap_err().to_string(), error);
    }
    assert_eq!(Request { headers: header("Origin"), ..request() }.check(), Ok(()));
}

/// Reads `answer` as it arrives, with the subprotocols `a` and `b` offered.
#[track_caller]
fn check_client(answer: &str, outcome: &str) {
    let mut client = client();
    let read = (0..=answer.len())
        .map(|len| client.read(&answer.as_bytes()[..len]))
        .find(|read| *read != Ok(None));
    let described = match read {
        Some(read) => describe(read),
        None => format!("cut off: {}", client.cut_off(answer.as_bytes())),
    };
    assert_eq!(described, outcome, "{answer:?}");
    assert_eq!(
        client.read(answer.as_bytes()).is_err(),
        !outcome.starts_with("accepted") && !outcome.starts_with("cut off"),
        "{answer:?}"
    );
}

/// Reads `request` as it arrives, at a server that speaks the subprotocols `superchat` and `chat`.
#[track_caller]
fn check_server(request: &str, outcome: &str, answer: &str) {
    let mut tx = Vec::new();
    let mut server = server();
    let read = (0..=request.len())
        .map(|len| server.read(&request.as_bytes()[..len], &mut tx))
        .find(|read| *read != Ok(None))
        .unwrap();
    assert_eq!(describe(read), outcome, "{request:?}");
    assert_eq!(String::from_utf8(tx).unwrap(), answer, "{request:?}");
}

fn describe(read: Result<Option<Accepted>, HandshakeError>) -> String {
    match read {
        Ok(None) => "needs more".to_owned(),
        Ok(Some(Accepted { subprotocol: None, .. })) => "accepted".to_owned(),
        Ok(Some(Accepted { subprotocol: Some(name), .. })) => format!("accepted {name}"),
        Err(error) => error.to_string(),
    }
}

fn refusal(status: &str) -> &'static str {
    match status {
        "400" => "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "426" => {
            "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        }
        _ => {
            "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        }
    }
}

fn client() -> ClientHandshake {
    ClientHandshake::new(Arc::new(Request { subprotocols: names(&["a", "b"]), ..request() }), SEED)
}

fn server() -> ServerHandshake {
    let subprotocols = names(&["superchat", "chat"]);
    ServerHandshake::new(Arc::new(ServerOptions { subprotocols, deflate: None }))
}

/// A server that agrees to the compression `accept`, as typed.
fn accepting(accept: &str) -> ServerHandshake {
    let deflate = Some(accept.parse().unwrap());
    ServerHandshake::new(Arc::new(ServerOptions { deflate, ..ServerOptions::default() }))
}

fn request() -> Request {
    Request {
        host: "h:80".to_owned(),
        target: "/t".to_owned(),
        subprotocols: Vec::new(),
        headers: Vec::new(),
        deflate: None,
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn key_text() -> String {
    String::from_utf8(super::key(SEED).to_vec()).unwrap()
}

fn accept_text() -> String {
    String::from_utf8(super::accept_of(&super::key(SEED)).to_vec()).unwrap()
}

/// A valid request, with the key of RFC 6455 §1.3.
const REQUEST: &str = "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

const SEED: u64 = 1;
