//! Files of conversations: what is read from them, and the errors for mistakes.

use super::*;
use crate::conversation::{Escape, Key, Path, Piece, Place, Scalar, TakeFrom};

fn read(text: &str) -> Conversation {
    Conversation::read("talk.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    Conversation::read("talk.toml", text).expect_err(text)
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

#[test]
fn a_file_becomes_what_it_says() {
    let read = read(
        r#"
        about = "A room with a login"
        speaks = "ws"
        path = "/ws?token=${token}"
        subprotocols = ["room.v1", "bearer.${token}"]
        headers = { Authorization = "Bearer ${token}" }

        [vars]
        zone = "z${client % 3}"
        colour = ["red", "green"]

        [[before]]
        http = "POST /login?zone=${zone}"
        body = '{"user":"bot${client}"}'
        expect = { status = 200 }
        take = { token = "$.token", cookie = { header = "Set-Cookie" } }

        [[open]]
        expect = { starts = "0{" }
        take = { ping = '"pingInterval":${ping},' }

        [[open]]
        send = '42${id}["join","${zone}"]'
        expect = { id = '43${id}[' }

        [request.zeta]
        weight = 3
        send = '42${id}["echo","${pad:16}"]'
        reply = { id = '43${id}[', contains = ["]", "["] }

        [request.alpha]
        send = '42["say","${colour}",${now}]'
        reply = "none"

        [push.said]
        when = { starts = '42["said",' }
        sent = '"at":${now}}'

        [answer.ping]
        when = { is = "2" }
        send = "3"

        [beat]
        every = "${ping}"
        send = "2"

        [close]
        send = "41"
    "#,
    );
    assert_eq!((read.name.as_str(), read.about.as_str()), ("talk", "A room with a login"));
    assert_eq!((read.speaks, read.frame), (Speaks::Ws, Frame::Message));
    let offered: Vec<String> = read.subprotocols.iter().map(ToString::to_string).collect();
    assert_eq!(offered, ["room.v1", "bearer.${token}"]);
    let token = Piece::Var { name: "token".to_owned(), escape: Escape::Raw };
    assert_eq!(read.subprotocols[1].0[1], token);
    assert_eq!(read.path.unwrap().to_string(), "/ws?token=${token}");
    let token = Piece::Var { name: "token".to_owned(), escape: Escape::Header };
    assert_eq!(read.headers[0].value.0, [Piece::Text("Bearer ".to_owned()), token]);
    assert_eq!(read.vars[1].fill, Fill::Pick(vec!["red".to_owned(), "green".to_owned()]));
    let before = &read.before[0];
    assert_eq!((before.request.method.as_str(), before.take.len()), ("POST", 2));
    assert_eq!(before.request.path.to_string(), "/login?zone=${zone}");
    assert_eq!(before.take[1].from, TakeFrom::Header("Set-Cookie".to_owned()));
    assert_eq!(
        read.open[0].take[0].from,
        TakeFrom::Message(Place::Text {
            before: "\"pingInterval\":".to_owned(),
            after: ",".to_owned()
        })
    );
    let names: Vec<&str> = read.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["zeta", "alpha"], "requests are in the order of the file");
    assert_eq!((read.requests[0].weight, read.requests[1].weight), (3, 1));
    assert_eq!(read.requests[1].reply, Reply::Nothing);
    let Reply::Match(reply) = &read.requests[0].reply else { panic!() };
    assert_eq!(reply.conditions.len(), 2);
    assert_eq!(read.beat.unwrap().every, Every::Millis("ping".to_owned()));
    assert_eq!(read.close.unwrap().send.unwrap().to_string(), "41");
}

#[test]
fn matchers_are_read() {
    let read = read(
        r#"
        speaks = "ws"
        [request.x]
        send = '{"id":${id}}'
        reply = { id = "$.id", "$.type" = "reply", "$[\"a b\"]" = 7, "$.ok" = true, has = ["$.a", "$.b"], lacks = "$.c" }
    "#,
    );
    let Reply::Match(reply) = &read.requests[0].reply else { panic!() };
    let equals = |text: &str, value| Condition::Equals { path: path(text), value };
    let expected = [
        equals("$.type", Scalar::Text("reply".to_owned())),
        equals("$[\"a b\"]", Scalar::Integer(7)),
        equals("$.ok", Scalar::Bool(true)),
        Condition::Has(path("$.a")),
        Condition::Has(path("$.b")),
        Condition::Lacks(path("$.c")),
    ];
    assert_eq!(reply.conditions, expected);
    assert_eq!(reply.id, Some(Place::Json(Path(vec![Key::Member("id".to_owned())]))));
    let read = self::read(
        "speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = { '$.text' = '$${a}', contains = 'b$${' }",
    );
    let Reply::Match(reply) = &read.requests[0].reply else { panic!() };
    let expected =
        [equals("$.text", Scalar::Text("${a}".to_owned())), Condition::Contains("b${".to_owned())];
    assert_eq!(reply.conditions, expected);
}

#[test]
fn streams_and_requests_of_http_are_read() {
    let read = read(
        r#"
        speaks = "sse"
        [request.chat]
        http = "POST /v1/chat"
        headers = { Content-Type = "application/json" }
        body = '{"stream":true,"n":${id}}'
        each = { has = "$.choices[0]" }
        last = { is = "[DONE]" }
        [request.watch]
        http = "GET /events"
        each = {}
    "#,
    );
    let Reply::Stream { first, each, last, .. } = &read.requests[0].reply else { panic!() };
    assert_eq!(first, each, "the first event is any, unless the file says more");
    assert_eq!(last.as_ref().unwrap().conditions, [Condition::Is("[DONE]".to_owned())]);
    let Reply::Stream { each, last, may_end, .. } = &read.requests[1].reply else { panic!() };
    assert_eq!((each, last, *may_end), (&Matcher::default(), &None, false));
    let text =
        "speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nlast = { is = '.' }\nmay-end = true";
    let read = self::read(text);
    assert!(matches!(read.requests[0].reply, Reply::Stream { may_end: true, last: Some(_), .. }));
    for (written, expected) in [
        ("", None),
        ("resume = 3", Some((3, "0s"))),
        ("resume = { times = 1_0 }", Some((10, "0s"))),
        ("resume = { times = 2, wait = '1.5s' }", Some((2, "1500ms"))),
    ] {
        let file = format!("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {{}}\n{written}");
        let read = Conversation::read("x", &file).unwrap();
        let Reply::Stream { resume, .. } = read.requests[0].reply else { panic!() };
        let expected = expected.map(|(times, wait)| Resume { times, wait: wait.parse().unwrap() });
        assert_eq!(resume, expected, "{written}");
    }
}

#[test]
fn a_request_of_http_is_answered_by_a_status_of_the_2xx_kind_unless_told_otherwise() {
    let read = read("speaks = 'http'\n[request.get]\nhttp = 'GET /'");
    assert_eq!(read.requests[0].reply, Reply::Match(success()));
}

#[test]
fn a_body_that_is_a_form_is_escaped_like_one() {
    let read = read(
        r#"
        speaks = "ws"
        vars = { user = "a&b" }
        [[before]]
        http = "POST /login"
        headers = { content-type = "application/x-www-form-urlencoded" }
        body = "user=${user}"
        [request.x]
        send = "x"
        reply = "order"
    "#,
    );
    let body = read.before[0].request.body.as_ref().unwrap();
    assert_eq!(body.0[1], Piece::Var { name: "user".to_owned(), escape: Escape::Url });
}

#[test]
fn frames_are_read() {
    let of = |frame: &str| {
        let request = "[request.x]\nsend = 'x'\nreply = 'order'";
        read(&format!("speaks = 'tcp'\nframe = {frame}\n{request}")).frame
    };
    assert_eq!(of("'lines'"), Frame::Lines);
    assert_eq!(of("'resp'"), Frame::Resp);
    let length = of("{ length = 4, order = 'little', includes-itself = true, max = '1KiB' }");
    let expected = Frame::Length {
        width: LengthWidth::Four,
        order: ByteOrder::Little,
        includes_itself: true,
        max: Bytes(1024),
    };
    assert_eq!(length, expected);
    assert!(matches!(
        of("{ length = 'varint' }"),
        Frame::Length { width: LengthWidth::Varint, .. }
    ));
    let separated = |text, max| Frame::Separator { separator: Separator::new(text).unwrap(), max };
    let head = of(r#"{ separator = "\r\n\r\n", max = "1MiB" }"#);
    assert_eq!(head, separated("\r\n\r\n", Bytes(1 << 20)));
    assert_eq!(of(r#"{ separator = "\u0000;" }"#), separated("\0;", Frame::MAX));
    assert_eq!(of("{ separator = '1234567890abcdef' }"), separated("1234567890abcdef", Frame::MAX));
    let json = serde_json::to_string(&head).unwrap();
    assert_eq!(json, r#"{"separator":{"separator":"\r\n\r\n","max":"1MiB"}}"#);
    assert_eq!(serde_json::from_str::<Frame>(&json).unwrap(), head);
    assert!(serde_json::from_str::<Frame>(r#"{"separator":{"separator":"","max":"1B"}}"#).is_err());
}

#[test]
fn files_stand_beside_the_one_that_names_them() {
    let text = r#"
        speaks = "ws"
        [vars]
        user = { csv = "users.csv", column = "name", end = "stop" }
        token = { file = "secrets/token" }
        key = { env = "KEY" }
        [request.x]
        send = "${user} ${token} ${key}"
        reply = "order"
    "#;
    let read = Conversation::read("talks/room.toml", text).unwrap();
    let Fill::Column { file, column, end, values } = &read.vars[0].fill else { panic!() };
    assert_eq!((file.as_str(), column.as_str(), *end), ("talks/users.csv", "name", AtEnd::Stop));
    assert_eq!(values, &None);
    let from = SecretSource::File("talks/secrets/token".to_owned());
    assert_eq!(read.vars[1].fill, Fill::Secret { from, value: None });
    assert_eq!(
        read.vars[2].fill,
        Fill::Secret { from: SecretSource::Env("KEY".to_owned()), value: None }
    );
}

#[test]
fn secrets_and_rows_are_filled_in_and_never_written_down() {
    let text = r#"
        speaks = "ws"
        [vars]
        user = { csv = "users.csv", column = "name" }
        password = { csv = "users.csv", column = "password", end = "stop" }
        token = { file = "token" }
        key = { env = "KEY" }
        [request.x]
        send = "${user} ${password} ${token} ${key}"
        reply = "order"
    "#;
    let reads = std::cell::Cell::new(0);
    let files = |path: &str, _max| match path {
        "users.csv" => {
            reads.set(reads.get() + 1);
            Ok(b"name,password\na,hush-1\nb,hush-2\n".to_vec())
        }
        "token" => Ok(b"hush-3\r\n".to_vec()),
        path => Err(format!("cannot read {path}")),
    };
    let environment = |name: &str| (name == "KEY").then(|| "hush-4".to_owned());
    let filled = read(text).filled(&files, &environment).unwrap();
    assert_eq!(reads.get(), 1, "a file is read once");
    let load = |connections| crate::Load::Closed {
        connections: std::num::NonZeroU32::new(connections).unwrap(),
        in_flight: std::num::NonZeroU32::MIN,
        in_flight_max: None,
    };
    assert_eq!(filled.check_load(&load(2)), Ok(()));
    let more = filled.check_load(&load(3)).unwrap_err();
    assert!(more.message.contains("3 connections are more than the 2 rows of users.csv"), "{more}");
    let value = |index: usize| match &filled.vars[index].fill {
        Fill::Column { values, .. } => values.as_ref().unwrap().join(" "),
        Fill::Secret { value, .. } => value.clone().unwrap(),
        Fill::Template(_) | Fill::Pick(_) => unreachable!(),
    };
    assert_eq!([0, 1, 2, 3].map(value), ["a b", "hush-1 hush-2", "hush-3", "hush-4"]);

    let json = serde_json::to_string(&filled).unwrap();
    assert!(!json.contains("hush"), "{json}");
    let kept: Conversation = serde_json::from_str(&json).unwrap();
    assert_eq!(kept, filled.bare());
    assert_eq!(kept, read(text));
    assert_eq!(kept.filled(&files, &environment).unwrap(), filled, "it can be run again");

    for (files, environment, message) in [
        (true, false, "`key`: the variable `KEY` of the environment is not set"),
        (false, true, "`user`: cannot read"),
    ] {
        let file = |_: &str, _| match files {
            true => Ok(b"name,password\na,hush\n".to_vec()),
            false => Err("cannot read it".to_owned()),
        };
        let variable = |_: &str| environment.then(|| "hush".to_owned());
        let problem = read(text).filled(&file, &variable).unwrap_err();
        assert!(problem.message.contains(message), "{problem}");
        assert!(!problem.message.contains("hush"), "{problem}");
    }
}

#[test]
fn every_conversation_reads_back_from_json() {
    let text = r#"
        speaks = "ws"
        frame = "rs"
        [[open]]
        send = '{"protocol":"json","version":1}'
        expect = { is = "{}" }
        [request.echo]
        send = '{"type":1,"invocationId":"${id}","target":"Echo","arguments":["${random:8}"]}'
        reply = { id = "$.invocationId", "$.type" = 3, lacks = "$.error" }
        refused = { id = "$.invocationId", "$.type" = 3, has = "$.error" }
        [answer.ping]
        when = { "$.type" = 6 }
        send = '{"type":6}'
        [beat]
        every = "15s"
        send = '{"type":6}'
    "#;
    let read = read(text);
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Conversation>(&json).unwrap(), read);
    let before = json.replace("\"frame\"", "\"subprotocols\":[\"v1\",\"v0\"],\"frame\"");
    let before: Conversation = serde_json::from_str(&before).expect("they were texts before");
    assert_eq!(before.subprotocols[1].to_string(), "v0");
}

#[test]
fn mistakes_are_told_with_line_column_and_what_is_expected() {
    let ok = "speaks = 'ws'\n[request.x]\nsend = 'a${id}'\nreply = { id = 'b${id}' }\n";
    read(ok);
    #[rustfmt::skip]
    let table = [
        // The file, the place, and a part of the message.
        ("",                                          "1:1", "`speaks` is missing"),
        ("speaks = 'ws'",                             "1:1", "`request` nothing is sent; a conversation needs a `[request.NAME]`"),
        ("speaks = 'wss'\n",                          "1:10", "`speaks` cannot be \"wss\"; did you mean `ws`?"),
        ("speaks = 1",                                "1:10", "`speaks` cannot be \"1\""),
        ("speaks = true",                             "1:10", "expected `speaks` to be a string, found boolean"),
        ("speak = 'ws'",                              "1:1", "`speaks` is missing"),
        ("speaks = 'ws'\nrequests = 1",               "2:1", "unknown key `requests`; did you mean `request`?"),
        ("speaks = 'ws'\nrequest = 1",                "2:11", "expected `request` to be a table"),
        ("speaks = ws",                               "1:10", ""),
        ("speaks = 'ws'\n[request.\"a b\"]",          "2:10", "`a b` is not a name"),
        ("speaks = 'ws'\n[request.x]\nreply = 'none'", "2:1", "request `x` needs `send`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'",    "2:1", "request `x` needs a `reply`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nrply = 'order'", "4:1", "unknown key `rply`; did you mean `reply`?"),
        ("speaks = 'ws'\n[request.x]\nsend = ''\nreply = 'order'", "3:8", "`send` is empty"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'ordre'", "4:9", "`reply` cannot be \"ordre\"; did you mean `order`?"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = {}", "4:9", "`reply` matches every message; say \"order\""),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'order'\nwieght = 2", "5:1", "unknown key `wieght`; did you mean `weight`?"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'order'\nweight = 0", "5:10", "`weight` a weight of 0 sends nothing"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'order'\nweight = -1", "5:10", "`weight` is a whole number"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'order'\nweight = 1.5", "5:10", "`weight` is a whole number"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = { id = '$.id' }", "4:9", "`reply` has an `id`, and what is sent has none"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = '$.id.' }", "4:16", "character 5 begins no step"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = 'x' }", "4:16", "or a text with one `${id}`"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = '${id}${id}' }", "4:16", "or a text with one `${id}`"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { ids = 'x' }", "4:11", "unknown condition `ids`"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { haz = '$.x' }", "4:11", "unknown condition `haz`; did you mean `has`?"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { has = '$x' }", "4:17", "character 2 begins no step"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { '$.a' = 1.5 }", "4:19", "expected a string, a whole number, true or false, found float"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { starts = '' }", "4:20", "`starts` is empty"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { sha256 = 'e3b0' }", "4:20", "a SHA-256 digest is 64 hexadecimal digits, and these are 4 characters"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { status = 200 }", "4:9", "`reply` has a `status`, which only HTTP responses have"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { is = 'x', has = '$.a' }", "4:9", "`reply` can never match"),
        ("speaks = 'ws'\n[request.x]\nsend = 'a ${idd} b'\nreply = 'order'", "3:11", "`send` no value is called `idd`; did you mean `id`?"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = '$.id', '$.user' = 'bot ${client}' }", "4:35", "`$.user` has the hole `${client}`, and nothing fills it: this text is the same on all connections; say has = \"$.user\""),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = '$.id', contains = ['a', 'b${id}'] }", "4:41", "`contains` has the hole `${id}`"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { starts = '${id' }", "4:20", "`starts` has the hole `${id}`"),
        ("speaks = 'ws'\nvars = { a = ['${client}'] }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:15", "`vars` has the hole `${client}`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'a ${i d} b'\nreply = 'order'", "3:11", "`send` `${i d}` is not a hole"),
        ("speaks = 'ws'\n[request.x]\nsend = '''\n{\"a\":\n${pad}}'''\nreply = 'order'", "5:1", "`send` `${pad}` needs a length"),
        ("speaks = 'ws'\n[request.x]\nsend = \"\\t${pad}\"\nreply = 'order'", "3:9", "`${pad}` needs a length"),
        ("speaks = 'ws'\nvars = { a = '${b}', b = 'x' }\n[request.x]\nsend = '${a}'\nreply = 'order'", "2:15", "`b` is not known yet"),
        ("speaks = 'ws'\nvars = { id = 'x' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:10", "`${id}` is known already"),
        ("speaks = 'ws'\nvars = { 'a-b' = 'x' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:10", "`a-b` is not a name for a value"),
        ("speaks = 'ws'\nvars = { a = [] }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:10", "a list of no values"),
        ("speaks = 'ws'\nvars = { a = 1 }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:14", "expected a value: a text, a list of texts"),
        ("speaks = 'ws'\nvars = { a = { csv = 'u' } }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:14", "`column` is missing"),
        ("speaks = 'ws'\nvars = { a = { env = 'A', file = 'u' } }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:14", "expected a value"),
        ("speaks = 'ws'\nvars = { a = { csv = 'u', column = 'c', end = 'stopp' } }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:47", "did you mean `stop`?"),
        ("speaks = 'ws'\nvars = { a = '${id}' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:15", "`${id}` is only available in requests and opening steps"),
        ("speaks = 'ws'\npath = '/${token}'\n[[open]]\nexpect = {}\ntake = { token = '$.t' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:10", "`token` is not known yet"),
        ("speaks = 'ws'\nheaders = { 'A B' = 'x' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:13", "`A B` is not the name of a header field"),
        ("speaks = 'ws'\nheaders = { A = \"x\\r\\nB: y\" }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:17", "a header field has no line ends"),
        ("speaks = 'ws'\n[[open]]\ntake = {}\n[request.x]\nsend = 'x'\nreply = 'order'", "2:1", "a step needs `send`, `expect`, or both"),
        ("speaks = 'ws'\n[[open]]\nsend = 'x'\nrefused = { is = 'no' }\n[request.x]\nsend = 'x'\nreply = 'order'", "4:11", "`refused` nothing is awaited here"),
        ("speaks = 'ws'\n[[open]]\nsend = '${now}'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:9", "`${now}` is only available in requests"),
        ("speaks = 'ws'\n[[open]]\nexpect = { id = '$.id' }\n[request.x]\nsend = 'x'\nreply = 'order'", "3:10", "has an `id`, and what is sent has none"),
        ("speaks = 'ws'\n[[open]]\nexpect = {}\ntake = { a = { header = 'X' } }\n[request.x]\nsend = 'x'\nreply = 'order'", "4:8", "messages have no headers"),
        ("speaks = 'ws'\n[[open]]\nexpect = {}\ntake = { a = 'x${b}' }\n[request.x]\nsend = 'x'\nreply = 'order'", "4:14", "or a text with one `${a}`"),
        ("speaks = 'ws'\n[[before]]\nhttp = 'login'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:8", "`http` is a method and a path"),
        ("speaks = 'ws'\n[[before]]\nhttp = 'GET /'\nbody = 'x'\n[request.x]\nsend = 'x'\nreply = 'order'", "4:8", "`body` GET has no body"),
        ("speaks = 'ws'\n[[before]]\nbody = 'x'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:8", "`body` belongs to an HTTP request"),
        ("speaks = 'ws'\n[[before]]\nhttp = 'GET /a${pad}'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:15", "`${pad}` needs a length"),
        ("speaks = 'ws'\n[[before]]\nhttp = 'GET /'\nexpect = { status = 20 }\n[request.x]\nsend = 'x'\nreply = 'order'", "4:21", "`20` is not a status"),
        ("speaks = 'ws'\n[push.x]\nwhen = {}\nheader = 'x${header}'\n[publishers]\nspeaks = 'tcp'\n[publishers.request.x]\nsend = '${header}'\nreply = 'order'", "5:1", "TCP has no messages of its own; say where one ends"),
        ("speaks = 'tcp'\nframe = 'line'\n[request.x]\nsend = 'x'\nreply = 'order'", "2:9", "did you mean `lines`?"),
        ("speaks = 'tcp'\nframe = '\\r\\n'", "2:9", "or a text, as in { separator = \"\\r\\n\\r\\n\" }"),
        ("speaks = 'tcp'\nframe = {}", "2:9", "`length` is missing: 1, 2 or 4 bytes, or \"varint\"; or a `separator`"),
        ("speaks = 'tcp'\nframe = { seperator = ';' }", "2:11", "unknown key `seperator`; did you mean `separator`?"),
        ("speaks = 'tcp'\nframe = { separator = ';', maxx = '1KiB' }", "2:28", "unknown key `maxx`; did you mean `max`?"),
        ("speaks = 'tcp'\nframe = { separator = ';', order = 'big' }", "2:28", "unknown key `order`"),
        ("speaks = 'tcp'\nframe = { separator = ';', length = 4 }", "2:9", "by its `length` or by a `separator`; leave one out"),
        ("speaks = 'tcp'\nframe = { separator = '' }", "2:23", "a separator has 1 to 16 bytes, this one 0"),
        ("speaks = 'tcp'\nframe = { separator = '1234567890abcdefg' }", "2:23", "a separator has 1 to 16 bytes, this one 17"),
        ("speaks = 'tcp'\nframe = { separator = '${id}' }", "2:23", "`separator` has the hole `${id}`"),
        ("speaks = 'tcp'\nframe = { length = 3 }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:20", "`length` cannot be \"3\""),
        ("speaks = 'tcp'\nframe = 'lines'\nsubprotocols = 'a'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:16", "`subprotocols` belongs to `speaks = \"ws\"`"),
        ("speaks = 'ws'\nsubprotocols = ['a', 'b${tokn}']\n[vars]\ntoken = 'x'\n[request.x]\nsend = 'x'\nreply = 'order'", "2:24", "`subprotocols` no value is called `tokn`; did you mean `token`?"),
        ("speaks = 'ws'\nsubprotocols = ['a', 'b ${client}']\n[request.x]\nsend = 'x'\nreply = 'order'", "2:23", "`subprotocols` `b ${client}` has ' ', and a subprotocol is a token"),
        ("speaks = 'ws'\nsubprotocols = ['a', '']\n[request.x]\nsend = 'x'\nreply = 'order'", "2:16", "`subprotocols` has an empty one"),
        ("speaks = 'ws'\nsubprotocols = 'a${id}'\n[request.x]\nsend = 'x'\nreply = 'order'", "2:18", "`${id}` is only available in requests and opening steps"),
        ("speaks = 'ws'\n[request.x]\nsend = 'a ${seq}'\nreply = 'order'", "3:11", "`send` no value is called `seq`; use `${id}`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'a ${bot}'\nreply = 'order'", "3:11", "`send` no value is called `bot`; use `${client}`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'a ${paylod}'\nreply = 'order'", "3:11", "did you mean `payload`?"),
        ("speaks = 'ws'\nvars = { payload = 'x' }\n[request.x]\nsend = 'x'\nreply = 'order'", "2:10", "`${payload}` is known already"),
        ("speaks = 'ws'\n[[open]]\nsend = 'a${payload}'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:10", "`${payload}` is only available in requests"),
        ("speaks = 'http'\n[[open]]\nexpect = {}\n[request.x]\nhttp = 'GET /'", "2:1", "`open` belongs to connections with messages of their own"),
        ("speaks = 'http'\n[request.x]\nsend = 'x'\nreply = 'order'", "3:8", "`send` over HTTP a request has a method and a path"),
        ("speaks = 'ws'\n[request.x]\nhttp = 'GET /'\nreply = 'order'", "3:8", "`http` belongs to `speaks = \"http\"`"),
        ("speaks = 'ws'\n[request.x]\nhttp = 'GET /'\nsend = 'x'\nreply = 'order'", "2:1", "has `send` and `http`"),
        ("speaks = 'http'\n[request.x]\nhttp = 'GET /a b'", "3:8", "`http` has ' ' in its path; percent-encode it"),
        ("speaks = 'http'\n[request.x]\nhttp = 'GET /'\nheaders = { Host = 'h' }", "4:11", "`headers` has `Host`, which wirebench writes itself"),
        ("speaks = 'sse'\npath = '/'\n[request.x]\nhttp = 'GET'\neach = {}", "2:8", "`path` belongs to WebSocket; over HTTP each request has its own"),
        ("speaks = 'http'\n[request.x]\nhttp = 'GET /'\neach = {}", "4:8", "`each` belongs to an event stream; say `speaks = \"sse\"`"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET /'", "2:10", "`reply` of `speaks = \"sse\"` is a stream"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\neach = {}", "2:10", "`last` is missing"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nmay-end = true", "5:11", "`may-end` says that the end of an HTTP response"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\neach = { is = 'a' }\nlast = { is = 'b' }\nmay-end = true", "6:11", "`may-end` says that the end of an HTTP response"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nresume = 0", "5:10", "`resume` is 0; leave it out for streams that are not resumed"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nresume = 'often'", "5:10", "`resume` is a whole number from 1 to 4294967295"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nresume = { wait = '1s' }", "5:10", "`times` is missing: how often one stream is resumed at most"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nresume = { times = 1, wiat = '1s' }", "5:23", "did you mean `wait`?"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\neach = { is = 'a' }\nlast = { is = 'b' }\nresume = 2", "6:10", "`resume` asks for the rest of an HTTP response"),
        ("speaks = 'http'\n[request.x]\nhttp = 'GET'\nredirects = 11", "4:13", "`redirects` is a whole number from 0 to 10"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nredirects = 1\nreply = 'order'", "4:13", "`redirects` belongs to an HTTP request"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nredirects = 1", "5:13", "`redirects` are not followed to a stream"),
        ("speaks = 'sse'\n[request.x]\nhttp = 'GET'\neach = {}\nmay-end = 1", "5:11", "`may-end` is true or false"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nfirst = {}", "2:1", "needs `each`"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\neach = { has = '$.a' }\nlast = { has = '$.a' }", "5:8", "`last` matches every message that `each` does"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\neach = {}\nlast = { is = 'y' }\nreply = 'order'", "2:1", "leave one out"),
        ("speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = 'none'\nrefused = { is = 'y' }", "5:11", "`refused` is a reply, and the request has none"),
        ("speaks = 'ws'\n[request.x]\nsend = '${id}'\nreply = { id = '$.id' }\nrefused = { id = '$.id', has = '$.error' }", "5:11", "`refused` and `reply` match the same message"),
    ];
    let mut wrong = Vec::new();
    let mut check = |text: &str, place: &str, message: &str| {
        let error = error(text);
        if !error.starts_with(&format!("talk.toml:{place}: ")) || !error.contains(message) {
            wrong.push(format!("{text}\n=> {error}\nexpected {place}: {message}\n"));
        }
    };
    table.iter().for_each(|(text, place, message)| check(text, place, message));
    let table = [
        ("[push.p]\nwhen = { id = '$.id' }", "6:8", "`when` has an `id`, and nothing was asked"),
        ("[push.p]\nwhen = {}", "6:8", "`when` matches the replies to `x` too"),
        (
            "[push.p]\nwhen = { is = 'q' }\n[push.q]\nwhen = { is = 'q' }",
            "8:8",
            "never applies: `[push.p]`, which comes first, matches all of its messages",
        ),
        (
            "[push.p]\nwhen = { is = 'q' }\nsent = '$.at'",
            "7:8",
            "`sent` is the place of a `${now}`, and no request sends one",
        ),
        ("[push.p]\nsent = '$.at'", "5:1", "`when` is missing"),
        (
            "[answer.p]\nwhen = { is = 'q' }\nsend = 'a'\n[push.q]\nwhen = { is = 'q' }",
            "9:8",
            "`[answer.p]`, which comes first",
        ),
        ("[answer.p]\nwhen = { is = 'q' }", "5:1", "`send` is missing"),
        (
            "[answer.p]\nwhen = { is = 'q' }\nsend = '${id}'",
            "7:9",
            "`${id}` is only available in requests and opening steps",
        ),
        ("[answer.p]\nwhen = {}\nsend = 'x'", "6:8", "`when` matches every message"),
        ("[beat]\nsend = 'x'", "5:1", "`every` is missing"),
        ("[beat]\nevery = 'soon'\nsend = 'x'", "6:9", "`every`"),
        ("[beat]\nevery = '0s'\nsend = 'x'", "6:9", "0s is too short"),
        ("[beat]\nevery = '${pinh}'\nsend = 'x'", "6:10", "no value is called `pinh`"),
        ("[close]\ntake = {}", "5:1", "a step needs `send`"),
    ];
    for (more, place, message) in table {
        check(&format!("{ok}{more}"), place, message);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_value_of_an_answer_is_known_in_it_alone() {
    let start = "speaks = 'ws'\n[request.x]\nsend = 'x'\nreply = { starts = 'x' }\n";
    let answer = "[answer.a]\nwhen = { starts = 'p' }\ntake = { n = 'p${n};' }\nsend = 'q${n}'\n";
    read(&format!("{start}{answer}"));
    let beat = "[beat]\nevery = '1s'\nsend = '${n}'\n";
    assert!(error(&format!("{start}{answer}{beat}")).contains("no value is called `n`"));
}

#[test]
fn sizes_are_bounded() {
    let start = "speaks = 'ws'\n[request.x]\nreply = 'order'\nsend = '";
    let long = format!("{start}{}'", "x".repeat(1 << 20));
    assert!(error(&long).contains("a conversation has at most 1 MiB"), "{}", error(&long));

    let padded = format!("{start}{}'", "${pad:16777216}".repeat(2));
    assert!(error(&padded).contains("33554432 bytes long; at most 16777216 are possible"));

    let requests = |count: usize| -> String {
        let one = |index| format!("[request.r{index}]\nsend = 'x'\nreply = 'order'\n");
        "speaks = 'ws'\n".to_owned() + &(0..count).map(one).collect::<String>()
    };
    assert_eq!(read(&requests(256)).requests.len(), 256);
    assert!(error(&requests(257)).contains("there are 257; at most 256 are possible"));

    let deep = format!("{start}x'\n[vars]\na = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(error(&deep).starts_with("talk.toml:6:"), "{}", error(&deep));

    let weights = "speaks = 'ws'\n[request.a]\nsend = 'x'\nreply = 'order'\nweight = 65537\n[request.b]\nsend = \
                   'x'\nreply = 'order'";
    assert!(error(weights).contains("repeat after 65538 messages only; at most 65536"));
}

#[test]
fn the_examples_of_the_page_are_read() {
    let page = include_str!("../../../../../docs/CONVERSATIONS.md");
    let example_of = |heading: &str| {
        let (_, section) = page.split_once(heading).expect("the page has this section");
        let (_, example) = section.split_once("```toml\n").expect("it has an example");
        let (example, _) = example.split_once("```").expect("the example ends");
        read(example)
    };
    for (heading, requests) in
        [("## A whole chat\n", &["say"][..]), ("## A file\n", &["say", "list"])]
    {
        let read = example_of(heading);
        let names: Vec<&str> = read.requests.iter().map(|request| request.name.as_str()).collect();
        assert_eq!(names, requests, "{heading}");
    }
    let read = example_of("### Bytes\n");
    assert!(matches!(read.frame, Frame::Length { width: LengthWidth::Two, .. }));
    assert!(matches!(&read.requests[0].send, Send::Message(send) if send.is_bytes()));
    for (name, _) in crate::conversation::READY_MADE {
        assert!(page.contains(&format!("`{name}`")), "the page names {name}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_does_not_panic() {
    let text = include_str!("../../../../../conversations/socketio.toml");
    for (at, _) in text.char_indices() {
        let _result = Conversation::read("cut.toml", &text[..at]);
    }
}

#[test]
fn publishers_have_a_conversation_of_their_own() {
    let receivers = "speaks = 'ws'\n[push.message]\nwhen = { has = '$.data' }\nheader = '$.data'\n";
    let publishers =
        "[publishers]\nspeaks = 'http'\n[publishers.request.publish]\nhttp = 'POST /pub'\n";
    let with = |more: &str| format!("{receivers}{publishers}{more}");
    let whole = read(&with("body = '${header}'\n"));
    assert!(whole.requests.is_empty() && whole.is_for_rooms());
    assert_eq!(whole.of_publishers().requests[0].name, "publish");
    let stamping = "sent = '$.at'\n[publishers]\nspeaks = 'ws'\n[publishers.request.publish]\n\
                    send = '{\"data\":\"${header}\",\"at\":${now}}'\nreply = 'order'\n";
    let stamped = read(&format!("{receivers}{stamping}"));
    assert!(stamped.pushes[0].sent.is_some(), "it is publishers that send the `${{now}}`");
    #[rustfmt::skip]
    let table = [
        (with(""),                                             "`header` is the place of a `${header}`, and no request sends one"),
        (with("body = '${header}'\n[request.say]\nsend = 'x'\nreply = 'order'\n"), "send all requests, so a `[request.NAME]` beside them is never sent"),
        (with("body = '${header}'\n[publishers.publishers]\nspeaks = 'tcp'\n"), "have publishers of their own"),
        (with("body = '${header}'\n[publishers.push.x]\nwhen = { status = 200 }\n"), "have a `push`, and it is receivers that are timed"),
        (with("body = '${header} ${name}'\n"),                "cannot publish: request 1, `body`: no value is called `name`"),
        (with("boddy = 'x'\n"),                               "`boddy`"),
    ];
    for (text, expected) in table {
        let found = error(&text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn receivers_of_one_response_and_those_that_poll_ask_by_a_path() {
    let receivers =
        "speaks = 'sse'\npath = '/events?room=${room_number}'\nheaders = { X-A = 'b' }\n";
    let push = "[push.message]\nwhen = {}\nheader = '${header} '\n";
    let publishers = "[publishers]\nspeaks = 'http'\n[publishers.request.publish]\nhttp = 'POST /pub'\nbody = '${header} '\n";
    let whole = read(&[receivers, push, publishers].concat());
    assert!(whole.is_one_stream() && whole.is_for_rooms() && whole.path.is_some());
    for speaks in [Speaks::LongPoll, Speaks::Multipart, Speaks::Chunked] {
        let text = [receivers, push, publishers].concat().replacen("sse", speaks.name(), 1);
        let others = read(&text);
        assert!(others.is_one_stream() && others.speaks == speaks, "{text}");
    }
    let asked = "[request.x]\nhttp = 'GET /'\neach = {}\n";
    assert!(!read(&format!("speaks = 'sse'\n{asked}")).is_one_stream());
    #[rustfmt::skip]
    let table = [
        ([receivers, asked].concat(),                                    "`path` belongs to WebSocket"),
        (["speaks = 'sse'\n", push, asked].concat(),                     "`push` belongs to connections with messages of their own"),
        ([receivers, asked, publishers].concat(),                        "a `[request.NAME]` beside them is never sent"),
        ([receivers, push, "[[open]]\nsend = 'x'\n", publishers].concat(), "`open` belongs to connections with messages of their own"),
        ([receivers, "subprotocols = ['a']\n", push, publishers].concat(), "`subprotocols` belongs to `speaks = \"ws\"`"),
        ([receivers, push, publishers].concat().replacen("sse", "http", 1), "over `speaks = \"http\"` nothing comes unasked"),
        ([receivers, push].concat().replacen("sse", "longpoll", 1),         "`publishers` send all requests"),
        ([receivers, asked, publishers].concat().replacen("sse", "longpoll", 1), "`publishers` send all requests"),
        ([receivers, push].concat().replacen("sse", "multipart", 1),        "over `speaks = \"multipart\"` connections only receive"),
        ([receivers, push].concat().replacen("sse", "chunked", 1),          "over `speaks = \"chunked\"` connections only receive"),
    ];
    for (text, expected) in table {
        let found = error(&text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}
