//! The bytes that TLS adds, counted one by one.

use super::conversations::ends;
use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options, world};
use wire::tls::{Version, suites};
use wire::{Connection, Layers};

#[test]
fn a_record_adds_what_its_suite_says() {
    for (suite, version) in suites() {
        let (mut there, mut here) = connected(suite, version);
        // Header and tag, and the type inside (TLS 1.3) or the explicit nonce of GCM (RFC 5288 §3).
        let added = match version {
            Version::Tls13 => 5 + 1 + 16,
            Version::Tls12 if suite.contains("GCM") => 5 + 8 + 16,
            Version::Tls12 => 5 + 16,
        };
        for (len, records) in [(1, 1), (16_383, 1), (16_384, 1), (16_385, 2), (100_000, 7)] {
            let before = (there.layers(), here.layers());
            there.send(&vec![7; len]);
            assert_eq!(there.tx.len(), len + records * added, "{suite}, {len} bytes");
            settle(&mut there, &mut here);
            let sent = there.layers().tls_sent - before.0.tls_sent;
            let received = here.layers().tls_received - before.1.tls_received;
            assert_eq!((sent, received), ((records * added) as u64, (records * added) as u64));
        }
    }
}

#[test]
fn all_that_is_not_plaintext_counts_as_tls_on_both_ends() {
    for (suite, version) in suites() {
        let (mut there, mut here) = connected(suite, version);
        for len in [1, 5, 20_000] {
            there.send(&vec![1; len]);
            settle(&mut there, &mut here);
            here.send(&vec![2; 2 * len]);
            settle(&mut there, &mut here);
        }
        there.close();
        settle(&mut there, &mut here);
        let (ours, theirs) = (20_006, 40_012);
        let expected = |end: &End, sent: u64, received: u64| Layers {
            tls_sent: end.sent - sent,
            tls_received: end.received - received,
            ..Layers::default()
        };
        assert_eq!(there.layers(), expected(&there, ours, theirs), "{suite}");
        assert_eq!(here.layers(), expected(&here, theirs, ours), "{suite}");
        assert_eq!(there.layers().tls_sent, here.layers().tls_received);
        assert_eq!(there.layers().tls_received, here.layers().tls_sent);
    }
}

#[test]
fn a_cut_record_counts_when_it_is_whole() {
    let (mut there, mut here) = connected("TLS13_AES_128_GCM_SHA256", Version::Tls13);
    let before = here.layers();
    there.send(&[7; 1000]);
    let record = there.take();
    here.feed_whole(&record[..record.len() - 1]);
    assert_eq!(here.layers(), before);
    here.feed_whole(&record[record.len() - 1..]);
    assert_eq!(here.layers().tls_received, before.tls_received + 22);
}

#[test]
fn what_was_in_the_buffer_before_is_left_alone() {
    let (mut there, mut here) = connected("TLS13_AES_128_GCM_SHA256", Version::Tls13);
    there.send(b"first");
    let first = there.tx.clone();
    there.send(b"second");
    assert_eq!(there.tx[..first.len()], first);
    settle(&mut there, &mut here);
    // Both records of one read are in one piece.
    assert_eq!(here.messages, [b"firstsecond"]);
}

/// A raw connection that is secured with this suite.
fn connected(suite: &str, version: Version) -> (End<Connection>, End<Connection>) {
    let (mut there, mut here) = (client_options(), server_options());
    there.suites = vec![suite.to_owned()];
    there.versions = vec![version];
    if suite.contains("RSA") {
        here.identity = world().rsa.clone();
    }
    let (mut there, mut here) = ends(&client(&there), &server(&here), "raw", 0);
    settle(&mut there, &mut here);
    (there, here)
}
