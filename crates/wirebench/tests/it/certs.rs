//! TLS of the servers, and `wirebench certs`, checked with the openssl command line, an independent implementation of
//! every standard involved.

use crate::harness::{Ended, Running, Sandbox, Server, say_skipped};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

#[test]
fn openssl_trusts_the_servers_authority_in_both_versions_and_with_both_kinds_of_key() {
    let Some(sandbox) = with_openssl() else { return };
    for key in ["ecdsa", "rsa"] {
        let server =
            Server::start(&sandbox, &format!("tls --ca-out ca.pem --tls-key {key} --json"));
        for version in ["-tls1_2", "-tls1_3"] {
            for name in ["-verify_hostname localhost", "-verify_ip 127.0.0.1"] {
                let options = format!("-CAfile ca.pem -x509_strict {name} {version}");
                check_echo(&sandbox, &server, &options);
            }
        }
        assert_eq!(handshakes(server), (4, 0, 0), "{key}");
    }
}

#[test]
fn the_certificate_is_for_where_the_server_listens_or_for_what_was_said_instead() {
    let Some(sandbox) = with_openssl() else { return };
    #[rustfmt::skip]
    let table = [
        ("--listen 127.0.0.9:0",              ["-verify_ip 127.0.0.9", "-verify_hostname localhost"]),
        ("--listen [::1]:0",                  ["-verify_ip ::1",       "-verify_ip 127.0.0.1"]),
        ("--name *.a.test --name 10.0.0.5",   ["-verify_ip 10.0.0.5",  "-verify_hostname b.a.test"]),
    ];
    for (line, names) in table {
        let server = Server::start(&sandbox, &format!("tls-framed {line} --ca-out ca.pem --json"));
        for name in names {
            let options = format!("-CAfile ca.pem {name}");
            let mut client = connect(&sandbox, &server, &options);
            client.tell("\0\0\0\x06hello\n");
            assert_eq!(client.line(), "\0\0\0\x06hello\n", "{line} {name}");
        }
        assert_eq!(handshakes(server), (2, 0, 0), "{line}");
    }
}

#[test]
fn a_protocol_is_agreed_to_if_it_is_offered_and_spoken() {
    let Some(sandbox) = with_openssl() else { return };
    #[rustfmt::skip]
    let table = [
        ("https",                  "-alpn h2,http/1.1", "ALPN protocol: http/1.1"),
        ("wss",                    "-alpn http/1.1",    "ALPN protocol: http/1.1"),
        ("wss",                    "",                  "No ALPN negotiated"),
        ("tls",                    "-alpn http/1.1",    "No ALPN negotiated"),
        ("tls --alpn a --alpn b",  "-alpn c,b,a",       "ALPN protocol: a"),
    ];
    for (serve, options, words) in table {
        let server = Server::start(&sandbox, &format!("{serve} --ca-out ca.pem"));
        let address = address(&server);
        let line = format!("s_client -connect {address} -CAfile ca.pem {options}");
        let ended = openssl(&sandbox, &line);
        ended.check(0, &[]);
        assert!(ended.stdout.contains(words), "no {words:?} in {ended:?}");
    }
}

#[test]
fn openssl_refuses_what_it_is_told_to_refuse_and_the_server_counts_that() {
    let Some(sandbox) = with_openssl() else { return };
    sandbox.run("certs another").check(0, &[]);
    #[rustfmt::skip]
    let table = [
        ("",                                        "-CAfile another/ca.pem",                            "certificate verify failed"),
        ("",                                        "-CAfile ca.pem -verify_hostname other.example",     "hostname mismatch"),
        ("--name other.example",                    "-CAfile ca.pem -verify_ip 127.0.0.1",               "IP address mismatch"),
        ("--tls-version 1.2",                       "-CAfile ca.pem -tls1_3",                            "protocol version"),
        ("--tls-version 1.3",                       "-CAfile ca.pem -tls1_2",                            "protocol version"),
        ("--tls-suite TLS13_AES_128_GCM_SHA256",    "-CAfile ca.pem -ciphersuites TLS_AES_256_GCM_SHA384", "handshake failure"),
        ("--alpn one",                              "-CAfile ca.pem -alpn two",                          "no application protocol"),
    ];
    for (serve, options, words) in table {
        let server = Server::start(&sandbox, &format!("tls --ca-out ca.pem --json {serve}"));
        let ended = connect(&sandbox, &server, options).wait();
        assert_eq!(ended.code, Some(1), "{options} {ended:?}");
        assert!(ended.stderr.contains(words), "no {words:?} in {ended:?}");
        assert_eq!(handshakes(server), (0, 0, 1), "{serve} {options}");
    }
}

#[test]
fn openssl_resumes_where_there_are_tickets_and_both_kinds_of_handshakes_are_counted() {
    let Some(sandbox) = with_openssl() else { return };
    for version in ["-tls1_2", "-tls1_3"] {
        for (resumption, expected) in [("tickets", (1, 2, 0)), ("none", (1, 0, 0))] {
            let line = format!("tls --ca-out ca.pem --tls-resumption {resumption} --json");
            let server = Server::start(&sandbox, &line);
            let options = format!("-CAfile ca.pem {version}");
            check_echo(&sandbox, &server, &format!("{options} -sess_out session.pem"));
            // openssl keeps nothing of a session that cannot be resumed.
            let session = sandbox.path().join("session.pem");
            assert_eq!(session.exists(), resumption == "tickets", "{version}");
            if session.exists() {
                for _ in 0..2 {
                    check_echo(&sandbox, &server, &format!("{options} -sess_in session.pem"));
                }
                std::fs::remove_file(session).unwrap();
            }
            assert_eq!(handshakes(server), expected, "{version} {resumption}");
        }
    }
}

#[test]
fn a_client_without_a_certificate_is_refused_where_one_is_asked_for() {
    let Some(sandbox) = with_openssl() else { return };
    sandbox.run("certs certs --key-type rsa").check(0, &[]);
    sandbox.run("certs another").check(0, &[]);
    let own = "-cert certs/client.pem -key certs/client-key.pem";
    let foreign = "-cert another/client.pem -key another/client-key.pem";
    for version in ["-tls1_2", "-tls1_3"] {
        let server = Server::start(
            &sandbox,
            "tls --cert certs/server.pem --key certs/server-key.pem --client-ca certs/ca.pem --json",
        );
        let options = format!("-CAfile certs/ca.pem {version}");
        check_echo(&sandbox, &server, &format!("{options} {own}"));
        for (without, alert) in [("", "certificate required"), (foreign, "unknown ca")] {
            let mut client = connect(&sandbox, &server, &format!("{options} {without}"));
            client.tell("hello\n");
            let ended = client.wait();
            assert_eq!(ended.stdout, "", "{version} {without}");
            // TLS 1.2 has no specific alert for this.
            let known =
                [alert, "handshake failure"].iter().any(|words| ended.stderr.contains(words));
            assert!(known, "no {alert:?} in {ended:?}");
        }
        assert_eq!(handshakes(server), (1, 0, 2), "{version}");
    }
}

#[test]
fn openssl_finds_no_fault_in_what_is_written() {
    let Some(sandbox) = with_openssl() else { return };
    for key in ["ecdsa", "rsa"] {
        let line =
            format!("certs {key} --key-type {key} --name *.wire.test --name 10.1.2.3 --name ::1");
        let ended = sandbox.run(&line);
        ended.check(0, &[]);
        for name in NAMES {
            assert!(ended.stdout.contains(name), "no {name} in {}", ended.stdout);
        }
        assert!(ended.stdout.contains("ssl_certificate \"/"), "{}", ended.stdout);
        let verify = |leaf: &str, options: &str| {
            let files = format!("-CAfile {key}/ca.pem {options} {key}/{leaf}");
            openssl(&sandbox, &format!("verify -x509_strict {files}")).check(0, &[]);
        };
        verify("server.pem", "-purpose sslserver -verify_hostname a.wire.test");
        verify("server.pem", "-purpose sslserver -verify_ip 10.1.2.3");
        verify("client.pem", "-purpose sslclient");
        verify("ca.pem", "");
        let text = openssl(&sandbox, &format!("x509 -in {key}/server.pem -noout -text")).stdout;
        #[rustfmt::skip]
        let expected = [
            "DNS:*.wire.test, IP Address:10.1.2.3, IP Address:0:0:0:0:0:0:0:1",
            "CA:FALSE", "TLS Web Server Authentication", "Authority Key Identifier", "Subject Key Identifier",
            if key == "rsa" { "(2048 bit)" } else { "prime256v1" },
        ];
        for words in expected {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
        for leaf in ["server", "client", "ca"] {
            let of = |what: &str, line: String| (what.to_owned(), openssl(&sandbox, &line).stdout);
            let (_, certified) =
                of("certificate", format!("x509 -in {key}/{leaf}.pem -noout -pubkey"));
            let (_, held) = of("key", format!("pkey -in {key}/{leaf}-key.pem -pubout"));
            assert_eq!(certified, held, "{leaf}");
        }
    }
}

#[test]
fn certificates_last_as_long_as_was_said() {
    let Some(sandbox) = with_openssl() else { return };
    for (days, still, ended) in [("1", 86_000, 86_401), ("397", 34_300_000, 34_300_801)] {
        sandbox.run(&format!("certs certs --force --days {days}")).check(0, &[]);
        for (seconds, code) in [(still, 0), (ended, 1)] {
            let line = format!("x509 -in certs/server.pem -noout -checkend {seconds}");
            assert_eq!(openssl(&sandbox, &line).code, Some(code), "{days} {seconds}");
        }
    }
}

#[test]
fn only_the_owner_reads_keys_and_nothing_is_replaced_unasked() {
    let sandbox = Sandbox::new();
    let read = |name: &str| std::fs::read(sandbox.path().join("certs").join(name)).unwrap();
    let mode = |name: &str| {
        let path = sandbox.path().join("certs").join(name);
        std::fs::metadata(path).unwrap().permissions().mode() & 0o077
    };
    sandbox.run("certs certs").check(0, &[]);
    assert!(NAMES.iter().all(|name| (mode(name) == 0) == name.ends_with("-key.pem")));
    let before = NAMES.map(read);

    sandbox.run("certs certs").check(2, &["certs/ca.pem already exists", "--force"]);
    assert_eq!(NAMES.map(read), before);

    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(sandbox.path().join("certs/ca-key.pem"), open).unwrap();
    sandbox.run("certs certs --force").check(0, &[]);
    assert!(NAMES.map(read).iter().zip(&before).all(|(new, old)| new != old));
    assert_eq!(mode("ca-key.pem"), 0);
}

#[test]
fn what_cannot_be_certified_or_written_is_named_with_the_cure() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("file"), "").unwrap();
    #[rustfmt::skip]
    let table: [(&str, i32, &[&str]); _] = [
        ("certs",                             2, &["<DIR>"]),
        ("certs d --days 0",                  2, &["--days", "at least 1"]),
        ("certs d --days 398",                2, &["`398` is above the limit of 397 days", "valid for more than 398"]),
        ("certs d --days 1.5",                2, &["--days", "`1.5`"]),
        ("certs d --key-type dsa",            2, &["'dsa'", "ecdsa, rsa"]),
        ("certs d --name [::1]",              2, &["`[::1]` contains '['", "without brackets"]),
        ("certs d --name a:80",               2, &["`a:80` contains ':'"]),
        ("certs d --name 1.2.3",              2, &["ends in a number", "127.0.0.1"]),
        ("certs d --name *",                  2, &["`*`", "*.example.com"]),
        ("certs file",                        74, &["cannot write file: "]),
        ("certs file/d",                      74, &["cannot write file/d: "]),
        ("certs /proc/d",                     74, &["cannot write /proc/d: "]),
    ];
    for (line, code, words) in table {
        let ended = sandbox.run(line);
        ended.check(code, words);
        ended.check_no_result();
        assert!(!sandbox.path().join("d").exists(), "{line}");
    }
}

#[test]
fn certificates_that_others_have_made_are_shown() {
    let Some(sandbox) = with_openssl() else { return };
    for (key, how) in
        [("rsa", "-newkey rsa:2048"), ("ec", "-newkey ec -pkeyopt ec_paramgen_curve:P-256")]
    {
        // As mkcert names and makes them: a root, and a leaf with its key as PKCS #8.
        let root = format!(
            "req -x509 {how} -nodes -days 10 -subj /O=mkcert -keyout rootCA-key.pem -out rootCA.pem"
        );
        openssl(&sandbox, &root).check(0, &[]);
        let leaf = format!(
            "req -x509 {how} -nodes -days 10 -subj /O=mkcert-leaf -keyout pkcs8.pem -out name.pem \
             -CA rootCA.pem -CAkey rootCA-key.pem -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
             -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=serverAuth"
        );
        openssl(&sandbox, &leaf).check(0, &[]);
        // SEC 1 and PKCS #1, as older programs write keys.
        openssl(
            &sandbox,
            &format!(
                "{key} -in pkcs8.pem -out traditional.pem {}",
                if key == "rsa" { "-traditional" } else { "" }
            ),
        )
        .check(0, &[]);
        let heads = ["pkcs8.pem", "traditional.pem"].map(|file| {
            std::fs::read_to_string(sandbox.path().join(file))
                .unwrap()
                .lines()
                .next()
                .unwrap()
                .to_owned()
        });
        let kind = key.to_uppercase();
        assert_eq!(
            heads,
            [
                "-----BEGIN PRIVATE KEY-----".to_owned(),
                format!("-----BEGIN {kind} PRIVATE KEY-----")
            ]
        );
        for file in ["pkcs8.pem", "traditional.pem"] {
            let server =
                Server::start(&sandbox, &format!("tls --cert name.pem --key {file} --json"));
            for version in ["-tls1_2", "-tls1_3"] {
                check_echo(
                    &sandbox,
                    &server,
                    &format!("-CAfile rootCA.pem -verify_hostname localhost {version}"),
                );
            }
            assert_eq!(handshakes(server), (2, 0, 0), "{key} {file}");
        }
    }
}

/// Everything that `wirebench certs` writes.
const NAMES: [&str; 6] =
    ["ca.pem", "ca-key.pem", "server.pem", "server-key.pem", "client.pem", "client-key.pem"];

/// A folder to work in, or `None`, and a message, if there is no openssl.
fn with_openssl() -> Option<Sandbox> {
    let found =
        ["/usr/bin/openssl", "/bin/openssl"].into_iter().any(|path| Path::new(path).exists());
    if !found {
        say_skipped("there is no openssl; `cargo xtask check` installs it");
    }
    found.then(Sandbox::new)
}

fn openssl(sandbox: &Sandbox, line: &str) -> Ended {
    Running::start(sandbox.other("openssl", line)).wait()
}

/// A client that sends its input, and ends when its input or the server ends.
fn connect(sandbox: &Sandbox, server: &Server, options: &str) -> Running {
    let address = address(server);
    let line =
        format!("s_client -connect {address} -quiet -no_ign_eof -verify_return_error {options}");
    let mut command = sandbox.other("openssl", &line);
    command.stdin(Stdio::piped());
    Running::start(command)
}

/// The address that the server listens on.
fn address(server: &Server) -> &str {
    server.url.split_once("://").unwrap().1.trim_end_matches('/')
}

/// Checks that openssl gets back what it sends.
#[track_caller]
fn check_echo(sandbox: &Sandbox, server: &Server, options: &str) {
    let mut client = connect(sandbox, server, options);
    client.tell("hello\n");
    assert_eq!(client.line(), "hello\n", "{options} {:?}", client.wait());
    client.end_input();
    client.wait().check(0, &[]);
}

/// Ends the server and returns its numbers of full, resumed and failed handshakes.
fn handshakes(server: Server) -> (u64, u64, u64) {
    server.process.send(Signal::TERM);
    let ended = server.process.wait();
    ended.check(0, &[]);
    let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let number = |name: &str| totals["tls_handshakes"][name].as_u64().unwrap();
    (number("full"), number("resumed"), number("failed"))
}
