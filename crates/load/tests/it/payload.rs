//! Generated payloads: exact in size, what they say they are, different from each other, and about as compressible as
//! what they stand for.

use flate2::{Compress, Compression, FlushCompress};
use load::{Content, PayloadKind};
use std::collections::BTreeSet;
use units::Bytes;

#[test]
fn every_size_is_exact_and_what_it_says_it_is() {
    for kind in PayloadKind::ALL {
        for size in (0..2000).chain([4095, 65_535, 65_536, 1 << 20]) {
            let content = Content::generated(kind, Bytes(size), 7);
            let payload = content.payload();
            assert_eq!((payload.len() as u64, content.count()), (size, 1), "{kind}");
            check(kind, payload);
            assert_eq!(content, Content::generated(kind, Bytes(size), 7), "{kind} {size}");
            let other = Content::generated(kind, Bytes(size), 8);
            assert!(size < 16 || kind == PayloadKind::Zero || other != content, "{kind} {size}");
        }
    }
}

#[test]
fn no_two_payloads_of_a_ring_are_the_same_and_no_window_holds_one_twice() {
    for kind in PayloadKind::ALL {
        for size in [0, 1, 2, 3, 7, 16, 17, 20, 26, 64, 125, 1024, 16_384, 65_536, 100_000] {
            let content = Content::varied(kind, Bytes(size), 7);
            let all: BTreeSet<&[u8]> =
                (0..content.count()).map(|sequence| content.payload_of(sequence)).collect();
            assert_eq!(all.len(), content.count() as usize, "{kind} {size}");
            for payload in &all {
                check(kind, payload);
            }
            let is_scarce = kind == PayloadKind::Zero || size < 16; // There are not that many.
            let wanted = if is_scarce { 1 } else { 65_536_u64.div_ceil(size) + 1 };
            assert!(u64::from(content.count()) >= wanted.min(4096), "{kind} {size}: {content:?}");
            assert!(content.count() <= 4096);
            assert_eq!(content, Content::varied(kind, Bytes(size), 7));
        }
    }
}

#[test]
fn each_kind_compresses_as_what_it_stands_for() {
    #[rustfmt::skip]
    let table = [
        // kind,              size,   at least, at most: per cent with context takeover
        (PayloadKind::Zero,   1_024,   0.0,   5.0),
        (PayloadKind::Json,   1_024,  15.0,  50.0),
        (PayloadKind::Json,  16_384,  15.0,  50.0),
        (PayloadKind::Json,     128,  15.0,  60.0),
        (PayloadKind::Text,   1_024,  15.0,  50.0),
        (PayloadKind::Text,  16_384,  15.0,  50.0),
        (PayloadKind::Random, 1_024,  95.0, 102.0),
    ];
    for (kind, size, least, most) in table {
        let content = Content::varied(kind, Bytes(size), 7);
        let kept = percent(&content, true);
        println!(
            "{kind} of {size} bytes: {kept:.1} % with context takeover, {:.1} % without",
            percent(&content, false)
        );
        assert!((least..most).contains(&kept), "{kind} of {size} bytes: {kept:.1} %");
        if kind == PayloadKind::Random || kind == PayloadKind::Zero {
            continue;
        }
        let lone = percent(&content, false);
        assert!(lone > kept, "{kind} of {size} bytes alone: {lone:.1} %, not over {kept:.1} %");
    }
}

#[test]
fn kinds_are_read_as_they_are_shown() {
    for kind in PayloadKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let error = "xml".parse::<PayloadKind>().unwrap_err().to_string();
    assert_eq!(error, "no kind of payload: `xml`; there are zero, json, text and random");
}

#[track_caller]
fn check(kind: PayloadKind, payload: &[u8]) {
    match kind {
        PayloadKind::Zero => assert!(payload.iter().all(|byte| *byte == 0)),
        PayloadKind::Text => assert!(payload.iter().all(|byte| (b' '..=b'~').contains(byte))),
        PayloadKind::Json if payload.is_empty() => {}
        PayloadKind::Json => {
            let parsed = serde_json::from_slice::<serde_json::Value>(payload);
            assert!(parsed.is_ok(), "{parsed:?}: {}", payload.escape_ascii());
        }
        PayloadKind::Random => {}
    }
}

/// The size of two rounds of the ring after raw deflate, message by message, in per cent of the original bytes.
fn percent(content: &Content, takes_over: bool) -> f64 {
    let mut codec = Compress::new(Compression::new(6), false);
    let (mut raw, mut packed) = (0, 0);
    for sequence in 0..2 * content.count().max(64) {
        let payload = content.payload_of(sequence);
        let mut out = Vec::with_capacity(2 * payload.len() + 64);
        codec.compress_vec(payload, &mut out, FlushCompress::Sync).unwrap();
        assert!(out.ends_with(&[0, 0, 0xff, 0xff]));
        raw += payload.len();
        packed += out.len() - 4; // RFC 7692 §7.2.1
        if !takes_over {
            codec.reset();
        }
    }
    100.0 * f64::from(u32::try_from(packed).unwrap()) / f64::from(u32::try_from(raw).unwrap())
}
