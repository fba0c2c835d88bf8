//! The HTTP exchanges before a conversation: what is asked, what is taken, and what a server can do wrong.

use crate::script::describe;
use spec::Conversation;

use wire::conversation::Compiled;

use wire::{ClientOptions, Connection, Event, Input, Protocol, Role, stack};

#[test]
fn what_a_login_gives_is_in_the_upgrade() {
    let told = play(LOGIN, &[&[&accepted()], &[]]);
    let login = "POST /login?zone=3 HTTP/1.1\r\nHost: h:9\r\nContent-Type: application/json\r\n\
                 Content-Length: 25\r\n\r\n{\"user\":\"bot3\",\"x\":\"a/b\"}";
    assert_eq!(told.sockets[0], login);
    let upgrade = &told.sockets[1];
    assert!(upgrade.starts_with("GET /ws?token=a%2Fb%22 HTTP/1.1\r\n"), "{upgrade}");
    for field in ["Cookie: sid=1; lang=de", "Authorization: Bearer a/b\"", "X-Next: 7"] {
        assert!(upgrade.contains(&format!("\r\n{field}\r\n")), "{upgrade}");
    }
    assert_eq!(told.events, ["closed None \"\"", "goes on"]);
    assert!(!told.is_before);
}

#[test]
fn cookies_of_a_login_are_sent_by_the_upgrade_unless_it_has_its_own() {
    let file = |fields: &str| {
        format!(
            "speaks = 'ws'\npath = '/ws'\n{fields}\n[[before]]\nhttp = 'GET /'\n\
             [[before]]\nhttp = 'GET /again'\n[request.x]\nsend = 'x'\nreply = 'order'"
        )
    };
    let first = response("Set-Cookie: sid=1; Path=/; HttpOnly\r\n", "");
    let second = response("set-cookie: lang=de; Path=/ws\r\n", "");
    let told = play(&file(""), &[&[&first, &second], &[]]);
    assert!(told.sockets[0].ends_with("GET /again HTTP/1.1\r\nHost: h:9\r\nCookie: sid=1\r\n\r\n"));
    assert!(told.sockets[1].contains("\r\nCookie: sid=1; lang=de\r\n"), "{}", told.sockets[1]);
    let own = play(&file("headers = { cookie = 'a=b' }"), &[&[&first, &second], &[]]);
    assert_eq!(own.sockets[1].to_lowercase().matches("cookie").count(), 1, "{}", own.sockets[1]);
}

#[test]
fn fields_of_the_user_stand_in_place_of_those_of_the_file_and_of_cookies() {
    let file = "speaks = 'ws'\nheaders = { X-Key = 'file', X-Other = 'file' }\n\
                [[before]]\nhttp = 'GET /'\n[request.x]\nsend = 'x'\nreply = 'order'";
    let cookie = response("Set-Cookie: sid=1\r\n", "");
    let told = play_with(&[("x-key", "user"), ("cookie", "a=b")], file, &[&[&cookie], &[]]);
    let fields = "\r\nx-key: user\r\ncookie: a=b\r\nX-Other: file\r\n";
    assert!(told.sockets[1].contains(fields), "{}", told.sockets[1]);
    for once in ["x-key", "cookie"] {
        assert_eq!(told.sockets[1].to_lowercase().matches(once).count(), 1, "{}", told.sockets[1]);
    }
}

#[test]
fn what_a_login_gives_is_in_the_subprotocols() {
    let file = |offered: &str| {
        format!(
            "speaks = 'ws'\nsubprotocols = ['phoenix', '{offered}']\n[[before]]\nhttp = 'POST /login'\n\
             take = {{ token = '$.token' }}\n[request.x]\nsend = 'x'\nreply = 'order'"
        )
    };
    let bearer = file("base64url.bearer.phx.${token}");
    let token = response("", "{\"token\":\"c2VzYW0_Ym90Mw\"}");
    let told = play(&bearer, &[&[&token], &[]]);
    let field = "\r\nSec-WebSocket-Protocol: phoenix, base64url.bearer.phx.c2VzYW0_Ym90Mw\r\n";
    assert!(told.sockets[1].contains(field), "{}", told.sockets[1]);
    assert!(!told.is_before);
    for (offered, given, fault) in [
        ("base64url.bearer.phx.${token}", "c2VzYW0, Ym90", "it has ','"),
        ("base64url.bearer.phx.${token}", "c2V=zYW0", "it has '='"),
        ("base64url.bearer.phx.${token}", "caf\u{e9}", "it has '\\xc3'"),
        ("${token}", "", "it is empty"),
    ] {
        let told = play(&file(offered), &[&[&response("", &format!("{{\"token\":\"{given}\"}}"))]]);
        let error = format!(
            "error: exchange 1 of 1 before the connection, POST /login: with the taken values, the subprotocol \
             `{offered}` is not a token: {fault} (RFC 6455, 4.1)"
        );
        assert_eq!(told.events, [error]);
        assert!(told.is_before);
    }
}

#[test]
fn a_response_may_come_in_any_pieces_and_end_with_its_connection() {
    let response = accepted();
    let whole = play(LOGIN, &[&[&response], &[]]);
    for cut in 1..response.len() {
        let told = play(LOGIN, &[&[&response[..cut], &response[cut..]], &[]]);
        assert_eq!(told.sockets, whole.sockets, "cut at {cut}");
    }
    let endless = response.replace("Content-Length: 22\r\n", "");
    let told = play(LOGIN, &[&[&endless, END], &[]]);
    assert_eq!(told.sockets, whole.sockets);
}

#[test]
fn exchanges_share_a_connection_until_the_server_ends_it() {
    let two = "speaks = 'ws'\npath = '/${b}'\n[[before]]\nhttp = 'GET /a'\ntake = { a = '$.a' }\n\
               [[before]]\nhttp = 'PUT /b'\nheaders = { X-A = '${a}' }\ntake = { b = 'b=${b};' }\n\
               [request.x]\nsend = 'x'\nreply = 'order'";
    let first = "GET /a HTTP/1.1\r\nHost: h:9\r\n\r\n";
    let second = "PUT /b HTTP/1.1\r\nHost: h:9\r\nX-A: 5\r\nContent-Length: 0\r\n\r\n";
    let (a, b) = (response("", "{\"a\":5}"), response("", "b=6;"));
    let ending = response("Connection: close\r\n", "{\"a\":5}");
    let together = play(two, &[&[&a, &b], &[]]);
    assert_eq!(together.sockets[..1], [format!("{first}{second}")]);
    for apart in
        [play(two, &[&[&ending], &[&b], &[]]), play(two, &[&[&ending, END], &[&b, END], &[]])]
    {
        assert_eq!(apart.sockets[..2], [first, second]);
        assert!(apart.sockets[2].starts_with("GET /6 HTTP/1.1\r\n"), "{:?}", apart.sockets);
        assert_eq!(apart.events.iter().filter(|event| *event == "goes on").count(), 2);
    }
}

#[test]
fn redirects_of_a_login_are_followed_where_the_file_says_so() {
    let file = "speaks = 'ws'\npath = '/${t}'\n[[before]]\nhttp = 'POST /login'\nbody = 'me'\nredirects = 1\n\
                take = { t = '$.t' }\n[request.x]\nsend = 'x'\nreply = 'order'";
    let login = "POST /login HTTP/1.1\r\nHost: h:9\r\nContent-Length: 2\r\n\r\nme";
    let home = "GET /home HTTP/1.1\r\nHost: h:9\r\nCookie: sid=1\r\n\r\n";
    let moved = |fields: &str| {
        format!("HTTP/1.1 303 See\r\nLocation: /home\r\nSet-Cookie: sid=1; Path=/\r\n{fields}\r\n")
    };
    let (same, other) = (moved("Content-Length: 0\r\n"), moved("Connection: close\r\n"));
    let taken = response("", "{\"t\":5}");
    let together = play(file, &[&[&same, &taken], &[]]);
    assert_eq!(together.sockets[0], format!("{login}{home}"));
    let apart = play(file, &[&[&other, END], &[&taken], &[]]);
    assert_eq!(apart.sockets[..2], [login, home]);
    for told in [together, apart] {
        assert!(
            told.sockets.last().unwrap().starts_with("GET /5 HTTP/1.1\r\n"),
            "{:?}",
            told.sockets
        );
    }
    let looped = play(file, &[&[&same, &same]]);
    let words = "error: exchange 1 of 1 before the connection, POST /login: HTTP status 303 redirects to \"/home\" \
                 after 1 redirects, the limit that `redirects` sets";
    assert_eq!(looped.events, [words]);
}

#[test]
fn what_is_not_expected_is_an_error_that_names_the_exchange() {
    let step = "exchange 1 of 1 before the connection, POST /login?zone=${zone}: ";
    let full = accepted();
    let cut = &full[..full.len() - 3];
    #[rustfmt::skip]
    let table: [(&[&str], &str); _] = [
        (&["HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nno\x1b!"], "HTTP status 401, expected the status 2xx: \"no\\x1b!\""),
        (&["HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"], "HTTP status 403, expected the status 2xx: \"\""),
        (&["HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow"], "HTTP status 429, expected the status 2xx: \"slow\""),
        (&["HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"], "HTTP status 302 redirects to \"/\", and redirects are not followed"),
        (&["HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nX-Next: 1\r\nContent-Length: 8\r\n\r\n{\"tok\":1}"], "no value for `token` at $.token in \"{\\\"tok\\\":1\""),
        (&["HTTP/1.1 200 OK\r\nX-Next: 1\r\nContent-Length: 13\r\n\r\n{\"token\":\"1\"}"], "no value for `cookies` in the header field Set-Cookie in \"{\\\"token\\\":\\\"1\\\"}\""),
        (&["hello, who is there?\r\n\r\n"], "the peer does not speak HTTP, it sent \"hello, who"),
        (&[cut, END], "connection ended"),
        (&[END], "connection ended"),
    ];
    for (said, expected) in table {
        let told = play(LOGIN, &[said]);
        let last = told.events.last().unwrap();
        let error = last.strip_prefix("error: ").unwrap_or_else(|| panic!("{:?}", told.events));
        let error = error.strip_prefix(step).unwrap_or_else(|| panic!("{error}"));
        assert!(error.contains(expected), "{error}");
        assert!(told.is_before);
    }
    let long = format!("{{\"token\":\"{}\"}}", "x".repeat(17 << 10));
    let told = play(LOGIN, &[&[&response("Set-Cookie: a=b\r\nX-Next: 1\r\n", &long)]]);
    let error = format!("error: {step}the value of `token` has 17408 bytes, limit is 16384");
    assert_eq!(told.events, [error]);
}

#[test]
fn the_body_is_expected_too_and_any_status_may_be() {
    let file = |expect: &str| {
        format!(
            "speaks = 'ws'\n[[before]]\nhttp = 'GET /'\nexpect = {expect}\n[request.x]\nsend = 'x'\nreply = 'order'"
        )
    };
    let moved = "HTTP/1.1 302 Found\r\nContent-Length: 8\r\n\r\n{\"ok\":1}";
    #[rustfmt::skip]
    let table = [
        ("{ status = 302 }",                        true),
        ("{ status = \"3xx\", \"$.ok\" = 1 }",      true),
        ("{ \"$.ok\" = 1 }",                        false),
        ("{ status = 302, \"$.ok\" = 2 }",          false),
        ("{ status = 303 }",                        false),
    ];
    for (expect, is_met) in table {
        let told = play(&file(expect), &[&[moved], &[]]);
        assert_eq!(told.sockets.len() == 2, is_met, "{expect} {:?}", told.events);
    }
}

const LOGIN: &str = r#"
    speaks = "ws"
    path = "/ws?token=${token}"
    headers = { Cookie = "${cookies}", Authorization = "Bearer ${token}", X-Next = "${next}" }
    [vars]
    zone = "${client}"
    [[before]]
    http = "POST /login?zone=${zone}"
    headers = { Content-Type = "application/json" }
    body = '{"user":"bot${client}","x":"a/b"}'
    take = { token = "$.token", cookies = { header = "Set-Cookie" }, next = { header = "X-Next" } }
    [request.x]
    send = 'x'
    reply = "order"
"#;

/// The actions of a client.
struct Told {
    /// The bytes that it sent on each of its sockets.
    sockets: Vec<String>,
    events: Vec<String>,
    is_before: bool,
}

/// The end of a socket, instead of bytes.
const END: &str = "\0end";

/// A response with all values that are taken.
fn accepted() -> String {
    response(
        "Set-Cookie: sid=1; Path=/; HttpOnly\r\nx-next: 7\r\nset-cookie: lang=de\r\n",
        r#"{"id":1,"token":"a/b\""}"#,
    )
}

fn response(fields: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Plays connection number 3 of a conversation against the bytes that arrive on each of its sockets.
fn play(file: &str, sockets: &[&[&str]]) -> Told {
    play_with(&[], file, sockets)
}

/// The same, with header fields that the user gives.
fn play_with(fields: &[(&str, &str)], file: &str, sockets: &[&[&str]]) -> Told {
    let conversation = Conversation::read("sample", file).expect("the file is a conversation");
    let options = ClientOptions {
        conversation: Some(Compiled::new(&conversation).expect("it is within the limits")),
        headers: fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        ..ClientOptions::default()
    };
    let endpoint = "ws://h:9".parse().expect("it is a URL");
    let mut machine =
        stack(&endpoint, Role::Client(&options)).expect("the scheme is supported").connection(7, 3);
    let mut told = Told { sockets: Vec::new(), events: Vec::new(), is_before: true };
    for said in sockets {
        let mut tx = Vec::new();
        machine.open(&mut tx);
        let goes_on = said.iter().any(|said| told.hear(&mut machine, said, &mut tx));
        told.sockets.push(String::from_utf8(tx).expect("requests are text"));
        if !goes_on {
            break;
        }
        told.events.push("goes on".to_owned());
    }
    told.is_before = machine.is_before();
    told
}

impl Told {
    /// Feeds the bytes of a server; true if the client goes on over another connection.
    fn hear(&mut self, machine: &mut Connection, said: &str, tx: &mut Vec<u8>) -> bool {
        if said == END {
            self.events.push(match machine.end() {
                Ok(event) => describe(&event),
                Err(error) => format!("error: {error}"),
            });
            return machine.go_on(tx).is_some();
        }
        let mut bytes = said.as_bytes().to_vec();
        let mut input = Input::new(&mut bytes);
        loop {
            match machine.receive(&mut input, tx) {
                Ok(None) => return false,
                Ok(Some(Event::Ping(_))) => {}
                Ok(Some(event)) => {
                    self.events.push(describe(&event));
                    if machine.go_on(tx).is_some() {
                        return true;
                    }
                }
                Err(error) => {
                    self.events.push(format!("error: {error}"));
                    return false;
                }
            }
        }
    }
}
