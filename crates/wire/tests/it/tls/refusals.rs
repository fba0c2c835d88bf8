//! Peers that we refuse, or that refuse us, and what is said about it on both ends.

use super::conversations::ends;
use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options, world};
use wire::tls::{Client, ClientOptions, PeerError, Refusal, ServerOptions, Trust, Version};
use wire::{Connection, PeerError as AnyPeerError};

#[test]
fn a_certificate_that_does_not_hold_is_named_with_its_fault() {
    let issued = "the certificate of CN=server.test, issued by CN=The Authority, ";
    let refused = "the peer refused the handshake: alert ";
    let world = world();
    #[rustfmt::skip]
    let table = [
        (&world.expired, "expired at 2025-03-01T00:00:00Z", "certificate_expired"),
        (&world.future, "is not valid before 2030-01-02T00:00:00Z", "certificate_expired"),
    ];
    for (identity, fault, alert) in table {
        let [there, here] = refuse(|_, server| server.identity = identity.clone());
        assert_eq!(there, format!("{issued}{fault}"));
        assert_eq!(here, format!("{refused}{alert}"));
    }
    let [there, here] = refuse(|_, server| server.identity = world.self_signed.clone());
    assert_eq!(
        there,
        "the certificate of CN=server.test, issued by CN=server.test, is self-signed, and not among the authorities \
         that we trust"
    );
    assert_eq!(
        here,
        format!("{refused}unknown_ca: it does not know the issuer of our certificate")
    );
    let [there, here] = refuse(|_, server| server.identity = world.stranger.clone());
    assert_eq!(
        there,
        "the certificate of CN=server.test, issued by CN=Another Authority, is not issued by an authority that we trust"
    );
    assert_eq!(
        here,
        format!("{refused}unknown_ca: it does not know the issuer of our certificate")
    );
    let [there, here] = refuse(|_, server| server.identity = world.for_clients_only.clone());
    assert!(
        there.starts_with(
            "the certificate of CN=client.test, issued by CN=The Authority, is not meant for this use: "
        ),
        "{there}"
    );
    assert_eq!(here, format!("{refused}unsupported_certificate"));
}

#[test]
fn a_certificate_of_another_name_says_which_names_it_has() {
    for (name, expected) in [("other.test", "other.test"), ("::1", "::1")] {
        let there = Client::new(&client_options(), name).unwrap();
        let (mut there, mut here) = ends(&there, &server(&server_options()), "framed", 0);
        settle(&mut there, &mut here);
        assert_eq!(
            there.complaint(),
            format!(
                "the certificate of CN=server.test, issued by CN=The Authority, is not for {expected}, but for \
                 server.test, 127.0.0.1"
            )
        );
        let Some(AnyPeerError::Tls(PeerError::Certificate(refused))) = &there.error else {
            panic!()
        };
        assert!(matches!(refused.reason, Refusal::WrongName { .. }));
        assert_eq!(here.complaint(), "the peer refused the handshake: alert bad_certificate");
    }
}

#[test]
fn an_address_is_a_name_too_and_anyone_can_be_trusted() {
    let by_address = Client::new(&client_options(), "127.0.0.1").unwrap();
    let (mut there, mut here) = ends(&by_address, &server(&server_options()), "framed", 0);
    settle(&mut there, &mut here);
    assert!(there.is_open && here.is_open);

    let world = world();
    for identity in [&world.expired, &world.future, &world.self_signed, &world.stranger] {
        let [there, here] = refuse(|client, server| {
            client.trust = Trust::Anyone;
            server.identity = identity.clone();
        });
        assert_eq!([there, here], ["", ""]);
    }
}

#[test]
fn authorities_of_the_system_come_in_der() {
    let der = der_of(&world().authority_pem);
    let garbage = b"no certificate".to_vec();
    let [there, here] = refuse(|client, _| {
        client.trust =
            Trust::Authorities { pem: Vec::new(), der: vec![garbage.clone(), der.clone()] };
    });
    assert_eq!([there, here], ["", ""]);
}

/// The bytes of a certificate in PEM.
fn der_of(pem: &str) -> Vec<u8> {
    use base64::Engine as _;
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    base64::engine::general_purpose::STANDARD.decode(body).expect("it is PEM")
}

#[test]
fn a_client_certificate_is_required_or_not_asked_for() {
    let authority = || Some(world().authority_pem.clone().into_bytes());
    for version in Version::ALL {
        let [there, here] = refuse(|client, server| {
            client.versions = vec![version];
            client.identity = Some(world().client.clone());
            server.client_authorities_pem = authority();
        });
        assert_eq!([there, here], ["", ""], "accepted");

        let [there, here] = refuse(|client, server| {
            client.versions = vec![version];
            server.client_authorities_pem = authority();
        });
        assert_eq!(here, "the client showed no certificate, and one is required");
        let expected = match version {
            // The handshake is complete for a client of TLS 1.3 before the server sees its certificate.
            Version::Tls13 => {
                "the peer ended the connection: alert certificate_required: it requires a client certificate"
            }
            Version::Tls12 => {
                "the peer refused the handshake: alert certificate_required: it requires a client certificate"
            }
        };
        assert_eq!(there, expected);

        let [_, here] = refuse(|client, server| {
            client.versions = vec![version];
            client.identity = Some(world().client_stranger.clone());
            server.client_authorities_pem = authority();
        });
        assert_eq!(
            here,
            "the certificate of CN=client.test, issued by CN=Another Authority, is not issued by an authority that we \
             trust"
        );

        let [there, here] = refuse(|client, _| client.identity = Some(world().client.clone()));
        assert_eq!([there, here], ["", ""], "not asked for");
    }
}

#[test]
fn without_a_common_version_or_suite_both_ends_say_so() {
    let [there, here] = refuse(|client, server| {
        client.versions = vec![Version::Tls12];
        server.versions = vec![Version::Tls13];
    });
    assert_eq!(here, "no version of TLS in common with the peer");
    assert_eq!(
        there,
        "the peer refused the handshake: alert protocol_version: no version of TLS in common"
    );
    let [there, here] = refuse(|client, server| {
        client.versions = vec![Version::Tls13];
        server.versions = vec![Version::Tls12];
    });
    assert_eq!(here, "no version of TLS in common with the peer");
    assert_eq!(
        there,
        "the peer refused the handshake: alert protocol_version: no version of TLS in common"
    );
    for (ours, theirs) in [
        ("TLS13_AES_128_GCM_SHA256", "TLS13_AES_256_GCM_SHA384"),
        (
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        ),
    ] {
        let [there, here] = refuse(|client, server| {
            client.suites = vec![ours.to_owned()];
            server.suites = vec![theirs.to_owned()];
        });
        assert_eq!(here, "no cipher suite in common with the peer");
        assert_eq!(
            there,
            "the peer refused the handshake: alert handshake_failure: no suite, group or certificate in common"
        );
    }
}

#[test]
fn alpn_agrees_on_the_servers_first_choice_or_refuses() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (mut there, mut here) = both(|client, server| {
        client.alpn = names(&["a", "http/1.1", "b"]);
        server.alpn = names(&["c", "b", "http/1.1"]);
    });
    settle(&mut there, &mut here);
    for end in [&there, &here] {
        assert_eq!(end.secured.as_ref().unwrap().facts.alpn.as_deref(), Some("b"));
    }
    let [there, here] = refuse(|client, server| {
        client.alpn = names(&["a"]);
        server.alpn = names(&["b"]);
    });
    assert_eq!(here, "no ALPN protocol in common with the peer");
    assert_eq!(
        there,
        "the peer refused the handshake: alert no_application_protocol: no ALPN protocol in common"
    );
    let (mut there, mut here) = both(|client, _| client.alpn = names(&["a"]));
    settle(&mut there, &mut here);
    assert_eq!(there.secured.as_ref().unwrap().facts.alpn, None, "the server knows no ALPN");
}

/// The errors of both ends, after everything was sent.
fn refuse(change: impl FnOnce(&mut ClientOptions, &mut ServerOptions)) -> [String; 2] {
    let (mut there, mut here) = both(change);
    settle(&mut there, &mut here);
    [there.complaint(), here.complaint()]
}

fn both(
    change: impl FnOnce(&mut ClientOptions, &mut ServerOptions),
) -> (End<Connection>, End<Connection>) {
    let (mut there, mut here) = (client_options(), server_options());
    change(&mut there, &mut here);
    ends(&client(&there), &server(&here), "framed", 0)
}
