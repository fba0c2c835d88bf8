//! Servers that get ready, and others that do not.

use crate::scripts::{Script, launch, wait_until};
use lab::{Role, Server, ServerSettings, StartError, TlsFiles};
use std::net::TcpListener;
use units::Nanos;

crate::tests![
    a_server_is_ready_in_all_that_it_speaks,
    without_a_certificate_tls_is_not_waited_for,
    one_that_is_never_ready_is_ended,
    garbage_in_place_of_ready_is_shown_escaped,
    one_that_ends_early_says_its_last_words,
    a_taken_port_is_named,
    what_is_not_supported_is_no_failure,
];

fn tls() -> ServerSettings {
    let tls = TlsFiles { certificate: "/cert.pem".into(), key: "/key.pem".into() };
    ServerSettings { tls: Some(tls), reply: Some("Pong".to_owned()), ..ServerSettings::default() }
}

fn failure(script: &Script, settings: &ServerSettings) -> StartError {
    let mut launch = launch();
    launch.ready_timeout = Nanos::from_secs(20);
    Server::start(&script.subject, script.path(), settings, &launch).unwrap_err()
}

fn a_server_is_ready_in_all_that_it_speaks() {
    let script = Script::shell(
        Role::Server,
        "echo ready ws://127.0.0.1:1/\necho ready wss://127.0.0.1:2/$WIREBENCH_REPLY\necho later\n\
         env | grep WIREBENCH_TLS | sort > tls\nsleep 60\n",
    );
    let server = Server::start(&script.subject, script.path(), &tls(), &launch()).unwrap();
    assert_eq!(server.urls(), ["ws://127.0.0.1:1/", "wss://127.0.0.1:2/Pong"]);
    assert_eq!(server.url("wss"), Some("wss://127.0.0.1:2/Pong"));
    assert_eq!(server.url("http"), None);
    let expected = "WIREBENCH_TLS_CERT=/cert.pem\nWIREBENCH_TLS_KEY=/key.pem";
    assert_eq!(script.written("tls"), expected);
}

fn without_a_certificate_tls_is_not_waited_for() {
    let script = Script::shell(Role::Server, "echo ready ws://127.0.0.1:1/\nsleep 60\n");
    let settings = ServerSettings::default();
    let server = Server::start(&script.subject, script.path(), &settings, &launch()).unwrap();
    assert_eq!(server.urls().len(), 1);
}

fn one_that_is_never_ready_is_ended() {
    let script = Script::shell(
        Role::Server,
        "echo $$ > pid\necho still thinking >&2\necho ready ws://127.0.0.1:1/\nsleep 60\n",
    );
    let mut launch = launch();
    launch.ready_timeout = Nanos::from_millis(700);
    let error = Server::start(&script.subject, script.path(), &tls(), &launch).unwrap_err();
    let expected = "it did not say `ready wss://…` within 700 ms";
    assert!(error.to_string().starts_with(expected), "{error}");
    if let Ok(pid) = std::fs::read_to_string(script.path().join("pid")) {
        let pid = pid.trim().parse().unwrap();
        wait_until("it has ended", || !crate::scripts::runs(pid));
    }
}

fn garbage_in_place_of_ready_is_shown_escaped() {
    let script = Script::shell(Role::Server, "printf 'Server \\033[31mon port 80\\n'\nsleep 60\n");
    let expected = r#"it said "Server \x1b[31mon port 80" where `ready …` was expected: logs belong on stderr"#;
    assert_eq!(failure(&script, &ServerSettings::default()).to_string(), expected);
}

fn one_that_ends_early_says_its_last_words() {
    let script = Script::shell(Role::Server, "echo no such module >&2\nexit 3\n");
    let expected = "it ended before it was ready: exit code 3; it said:\nno such module";
    assert_eq!(failure(&script, &ServerSettings::default()).to_string(), expected);
}

fn a_taken_port_is_named() {
    let script = Script::python(
        Role::Server,
        "import os, socket\nlistener = socket.socket()\nlistener.bind(('127.0.0.1', int(os.environ['WIREBENCH_PORT'])))\n",
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let settings = ServerSettings { port, ..ServerSettings::default() };
    let error = failure(&script, &settings);
    assert!(matches!(error, StartError::PortTaken { port: said, .. } if said == port), "{error}");
}

fn what_is_not_supported_is_no_failure() {
    let script = Script::shell(Role::Server, "echo no replies >&2\nexit 127\n");
    let error = failure(&script, &tls());
    assert_eq!(error, StartError::Unsupported { said: "no replies".to_owned() });
}
