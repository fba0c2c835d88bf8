//! The costs that layers add, and the split of bytes by layer.

use crate::pages::details;
use crate::records::{self, RUNGS};
use expect_test::{Expect, expect};
use record::{Estimate, Kind, Level, Phases, Reason, RunRecord, Verdict};

#[test]
fn the_whole_ladder_says_what_each_layer_adds_and_whose_the_bytes_are() {
    expect![[r#"
        The ladder

        Compared with bare TCP, a round trip on this machine takes 18 % more [16, 20]
        over WebSocket, 30 % more [28, 32] over HTTP, 48 % more [46, 50] over WebSocket
        inside TLS and 36 % more [34, 38] over HTTP with a connection for each request.

                                                         CPU    CPU bytes
                     p50 p90 p99 messages CPU/message client server  each
        rung          us  us  us      k/s          us     us     us     B
        tcp          254 301 412      191        10.1   5.10   5.00   128
        tcp-framed   270 319 437      180        10.1   5.41   5.30   136
        unix         285 337 461      171        10.1   5.71   5.60   144
        ws           300 355 486      162        10.1   6.02   5.90   152
        ws-text      315 373 511      154        10.1   6.32   6.20   160
        http         331 391 536      147        10.1   6.63   6.50   168
        http-new     346 409 560      141        10.1   6.94   6.80   176
        tls          361 427 585      135        10.1   7.24   7.10   184
        wss          376 445 610      129        10.1   7.55   7.40   192
        ws-json      392 464 634      124        10.1   7.85   7.70   200
        ws-deflate   407 482 659      120        10.1   8.16   8.00   208
        https        422 500 684      115        10.1   8.47   8.30   216
        https-new    437 518 709      111        10.1   8.77   8.60   224
        https-resume 453 536 733      107        10.1   9.08   8.90   232
        rung         p50 to tcp [interval]
        tcp          ▇▇▇▇     1.00x
        tcp-framed   ▇▇▇▇▎    1.06x [1.04, 1.08]
        unix         ▇▇▇▇▌    1.12x [1.10, 1.14]
        ws           ▇▇▇▇▊    1.18x [1.16, 1.20]
        ws-text      ▇▇▇▇▇    1.24x [1.22, 1.26]
        http         ▇▇▇▇▇▎   1.30x [1.28, 1.32]
        http-new     ▇▇▇▇▇▌   1.36x [1.34, 1.38]
        tls          ▇▇▇▇▇▋   1.42x [1.40, 1.44]
        wss          ▇▇▇▇▇▉   1.48x [1.46, 1.50]
        ws-json      ▇▇▇▇▇▇▏  1.54x [1.52, 1.56]
        ws-deflate   ▇▇▇▇▇▇▍  1.60x [1.58, 1.62]
        https        ▇▇▇▇▇▇▋  1.66x [1.64, 1.68]
        https-new    ▇▇▇▇▇▇▉  1.72x [1.70, 1.74]
        https-resume ▇▇▇▇▇▇▇▏ 1.78x [1.76, 1.80]
        64 B, 50 connections, one message in flight; 2 blocks of 500 ms each
        blocks in random order (seed 7); round trips, all blocks together

        What a layer adds [95 % interval]
                                                                             bytes bytes
                                       CPU of both        round trip p50       out    in
        rung = base + layer            us                 us                     B     B
        tcp-framed = tcp + length      +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]    +4    +4
        ws = tcp + framing             +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]    +6    +2
        http = tcp + HTTP/1.1          +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]  +112   +82
        http-new = http + connect      +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]     0     0
        tls = tcp + TLS                +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]   +22   +22
        wss = ws + TLS                 +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]   +22   +22
        ws-deflate = ws-json + deflate +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]   -20   -20
        https = http + TLS             +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]   +22   +22
        https-new = http-new + full handshake
                                       +2.00 [1.80, 2.20] +12.0 [10.8, 13.2] +1650 +2212
        https-resume = http-new + resumed handshake
                                       +2.00 [1.80, 2.20] +12.0 [10.8, 13.2] +1650 +2212
        CPU of generator and server together is what a layer costs. The round trip is
        that of the closed loop: with many in flight, most of its growth is queueing.

        Bytes of a message by layer
                     payload    encoding     framing     TLS      TCP/IP
                         out in      out  in     out in  out   in    out in
        rung               B  B        B   B       B  B    B    B      B  B
        tcp               64 64                                       52 52
        tcp-framed        64 64                    4  4               52 52
        unix              64 64                                        -  -
        ws                64 64                    6  2               52 52
        ws-text           64 64                    6  2               52 52
        http              64 64                  112 82               52 52
        http-new          64 64                  112 82               52 52
        tls               64 64                           22   22     52 52
        wss               64 64                    6  2   22   22     52 52
        ws-json           64 64                    6  2               52 52
        ws-deflate        64 64      -20 -20       6  2               52 52
        https             64 64                  112 82   22   22     52 52
        https-new         64 64                  112 82 1650 2212     52 52
        https-resume      64 64                  112 82 1650 2212     52 52
        - TCP/IP: a Unix socket has neither (unix)

        Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
        of the whole process, for each message. Bytes: both directions of the stream,
        without TCP and IP; what these add is estimated from the number of segments.
        http-new       its round trip includes the connect
        ws-json        its payload is JSON
        ws-deflate     its payload is JSON; deflate 1.45 : 1
        https-new      its round trip includes the connect and a TLS handshake (5000
                       full, 0 resumed)
        https-resume   its round trip includes the connect and a TLS handshake (100
                       full, 4900 resumed)
        TLS            1.3, TLS13_AES_256_GCM_SHA384, X25519MLKEM768, verified (tls,
                       wss, https, https-new, https-resume)
        checks: Little's law held on 28 of 28 blocks; counts add up

        verdict        trusted
    "#]]
    .assert_eq(&details(&records::layered(&RUNGS)));
}

#[test]
fn a_ladder_without_tls_has_no_columns_for_it() {
    check(
        &records::layered(&["tcp", "unix", "ws"]),
        &expect![[r#"
            What a layer adds [95 % interval]
                                CPU of both        round trip p50     bytes out bytes in
            rung = base + layer us                 us                         B        B
            ws = tcp + framing  +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]        +6       +2
            CPU of generator and server together is what a layer costs. The round trip is
            that of the closed loop: with many in flight, most of its growth is queueing.

            Bytes of a message by layer
                 payload out in framing out in TCP/IP out in
            rung           B  B           B  B          B  B
            tcp           64 64                        52 52
            unix          64 64                         -  -
            ws            64 64           6  2         52 52
            - TCP/IP: a Unix socket has neither (unix)

        "#]],
    );
}

#[test]
fn a_difference_that_is_not_shown_is_not_claimed() {
    let mut record = records::layered(&["tcp", "ws", "wss"]);
    let added = &mut record.added[1];
    added.cpu_us_per_message = Some(Estimate { value: 0.1, low: Some(-0.2), high: Some(0.4) });
    added.round_trip_p50_ns = Some(Estimate { value: -3100.0, low: None, high: None });
    record.added[0].cpu_us_per_message = None;
    record.added[0].received_bytes_per_message = None;
    check(
        &record,
        &expect![[r#"
            What a layer adds [95 % interval]
                                        CPU of both round trip p50     bytes out bytes in
            rung = base + layer                  us us                         B        B
            ws = tcp + framing                    - +12.0 [10.8, 13.2]        +6        -
            wss = ws + TLS      no difference shown -3.10                    +22      +22
            CPU of generator and server together is what a layer costs. The round trip is
            that of the closed loop: with many in flight, most of its growth is queueing.

            Bytes of a message by layer
                 payload out in framing out in TLS out in TCP/IP out in
            rung           B  B           B  B       B  B          B  B
            tcp           64 64                                   52 52
            ws            64 64           6  2                    52 52
            wss           64 64           6  2      22 22         52 52

        "#]],
    );
}

#[test]
fn what_an_invalid_rung_adds_is_not_said() {
    let mut record = records::layered(&["tcp", "ws", "wss"]);
    record.verdict = Some(Verdict {
        level: Level::Trusted,
        reasons: vec![Reason {
            code: "littles_law".to_owned(),
            level: Level::Invalid,
            workload: Some(2),
            message: "Little's law does not hold".to_owned(),
            evidence: String::new(),
            advice: String::new(),
            ..Reason::default()
        }],
        ..Verdict::default()
    });
    check(
        &record,
        &expect![[r#"
            What a layer adds [95 % interval]
                                 CPU of both        round trip p50     bytes out bytes in
            rung = base + layer  us                 us                         B        B
              ws = tcp + framing +2.00 [1.80, 2.20] +12.0 [10.8, 13.2]        +6       +2
            x wss = ws + TLS     invalid
            CPU of generator and server together is what a layer costs. The round trip is
            that of the closed loop: with many in flight, most of its growth is queueing.

            Bytes of a message by layer
                 payload out in framing out in TLS out in TCP/IP out in
            rung           B  B           B  B       B  B          B  B
            tcp           64 64                                   52 52
            ws            64 64           6  2                    52 52
            wss           64 64           6  2      22 22         52 52

        "#]],
    );
}

#[test]
fn a_record_from_before_bytes_were_told_apart_has_no_tables() {
    let page = details(&records::ladder(&["tcp", "ws"]));
    assert!(!page.contains("bytes/message") && !page.contains("what a layer adds"), "{page}");
}

#[test]
fn a_single_run_shows_its_encryption_and_its_bytes_by_layer() {
    let mut record = records::layered(&["wss"]);
    record.kind = Kind::Run;
    record.blocks.truncate(1);
    let block = &mut record.blocks[0];
    block.phases = Phases {
        connect: Some(records::summary(60_000, 50)),
        tls_full: Some(records::summary(900_000, 40)),
        tls_resumed: Some(records::summary(400_000, 10)),
        ..Phases::default()
    };
    let tls = block.tls.as_mut().unwrap();
    (tls.full, tls.resumed, tls.alpn) = (40, 10, Some("http/1.1".to_owned()));
    expect![[r#"
        connections    asked 50, opened 50, failed 0, lost 0, opened again 0
        TLS            1.3, TLS13_AES_256_GCM_SHA384, X25519MLKEM768, ALPN http/1.1,
                       verified; 40 full, 10 resumed handshakes
        bytes/message  sent 92 B = payload 64 + framing 6 + TLS 22; TCP/IP about 52
                       received 88 B = payload 64 + framing 2 + TLS 22; TCP/IP about 52
        Little's law   holds: 50.0 in flight expected, 49.9 measured (-0.2 %)

                     min mean  max
        phase         us   us   us count
        connect     20.0 63.0  480    50
        TLS full     300  945 7200    40
        TLS resumed  133  420 3200    10

    "#]]
    .assert_eq(&between(&details(&record), "connections ", "verdict "));
    record.plan.workloads[0].spec.tls.as_mut().unwrap().trust = spec::Trust::Anyone;
    let page = details(&record);
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["NOT", "verified;"]), "{page}");
    record.blocks[0].tls = None;
    let page = details(&record);
    assert!(page.contains("TLS            no handshake was completed\n"), "{page}");
}

#[test]
fn a_single_run_shows_what_compression_made_of_its_payload() {
    let mut record = records::layered(&["ws-deflate"]);
    record.kind = Kind::Run;
    record.blocks.truncate(1);
    record.plan.workloads[0].size_bytes = 1024;
    let page = details(&record);
    assert!(page.contains("1 KiB binary (JSON), 50 connections"), "{page}");
    expect![[r#"
        bytes/message  sent 50 B = payload 64 - encoding 20 + framing 6; TCP/IP about 52
                       received 46 B = payload 64 - encoding 20 + framing 2; TCP/IP
                       about 52
        deflate        1.45 : 1 (client_max_window_bits, level=6)
    "#]]
    .assert_eq(&between(&page, "bytes/message", "Little's law   "));
    // On a Unix socket.
    record.blocks[0].wire = records::wire("unix");
    let page = details(&record);
    expect![[r#"
        bytes/message  sent 64 B = payload 64
                       received 64 B = payload 64
                       TCP/IP - (a Unix socket has neither)
    "#]]
    .assert_eq(&between(&page, "bytes/message", "deflate  "));
    // Nothing was sent.
    record.blocks[0].wire = record::Wire::default();
    record.results.clear();
    let page = details(&record);
    expect![[r#"
        bytes/message  - (no reply was measured)
        deflate        - (client_max_window_bits, level=6)
    "#]]
    .assert_eq(&between(&page, "bytes/message", "Little's law   "));
}

/// Checks the tables below that of the ladder.
fn check(record: &RunRecord, expected: &Expect) {
    let page = details(record);
    expected.assert_eq(&between(&page, "What a layer adds", "Numbers of all blocks"));
}

fn between(page: &str, from: &str, until: &str) -> String {
    let at = |text| page.find(text).expect("the page has both");
    page[at(from)..at(until)].to_owned()
}
