//! Conversations through the binary: what a known server does is found, and a mistake is named before anything is
//! timed.

use crate::harness::{Sandbox, Server, record_of};
use record::{Counts, Exchange, Identity};

#[test]
fn all_that_a_known_server_does_on_sockets_is_found() {
    let faults = "--drop 2% --duplicate 3% --reorder 4% --refuse 5% --push 10% --seed 31";
    for kind in ["ws", "ws --threads 2"] {
        let sandbox = Sandbox::new();
        // A push with the time of its cause counts by that time, however late it arrives.
        let stamped = include_str!("../../../../conversations/json-rpc.toml")
            .replace("[\"${pad:32}\"]", "[${now}]")
            .replace("when = {", "sent = \"$.params.of[0]\"\nwhen = {");
        std::fs::write(sandbox.path().join("known.toml"), stamped).unwrap();
        let line = format!("oracle ws --speak json-rpc {faults} --json");
        let server = Server::start(&sandbox, &line);
        // A held-back reply that nothing overtakes is sent after 2 s.
        let threads = kind.strip_prefix("ws").unwrap();
        let ended = sandbox.run(&format!(
            "run {} --conversation ./known.toml --rate 1000/s -c 4 -d 1s --warm-up 0s --timeout 3s --drain 6s{threads}",
            server.url
        ));
        server.process.send(rustix::process::Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        let of = |fault: &str| totals["faults"][fault].as_u64().unwrap();
        let records = sandbox.records();
        assert_eq!(records.len(), 1, "{ended:?}");
        let block = &records[0].blocks[0];
        let (dropped, refused) = (of("dropped"), of("refused"));
        assert!(dropped > 0 && refused > 0 && of("pushed") > 0, "{totals}");
        let counts = Counts {
            planned: 1000,
            sent: 1000,
            ok: 1000 - dropped - refused,
            refused,
            timed_out: dropped,
            ..Counts::default()
        };
        assert_eq!(block.counts, counts, "{totals} {ended:?}");
        let Identity { duplicate, reordered, .. } = block.identity.unwrap();
        assert_eq!((duplicate, reordered), (of("duplicated"), of("reordered")), "{totals}");
        let pushes = &block.pushes[0];
        assert_eq!(pushes.count, of("pushed"), "{totals}");
        assert_eq!(pushes.delivery.as_ref().map(|times| times.count), Some(pushes.count));
        assert_eq!(block.refused.as_ref().map(|times| times.count), Some(refused));
        let [Exchange { name, counts: of_kind, .. }] = &block.exchanges[..] else {
            panic!("{:?}", block.exchanges)
        };
        assert_eq!((name.as_str(), *of_kind), ("echo", counts));
        let told = format!("{refused} x refused");
        let shown = ["conversation known,", "refused p50", "notification", &told];
        assert!(shown.iter().all(|words| ended.stdout.contains(words)), "{ended:?}");
    }
}

#[test]
fn inside_tls_every_message_of_a_conversation_is_answered() {
    let page = include_str!("../../../../conversations/json-rpc.toml");
    for (kind, scheme, speaks) in [
        ("wss", "wss", "speaks = \"ws\""),
        ("lines-tls", "tls", "speaks = \"tcp\"\nframe = \"lines\""),
        // The transport itself marks the end of a message.
        ("lines-tls", "lines-tls", "speaks = \"tcp\""),
        ("tls-framed", "tls-framed", "speaks = \"tcp\""),
    ] {
        let sandbox = Sandbox::new();
        let server =
            Server::start(&sandbox, &format!("oracle {kind} --speak json-rpc --ca-out ca.pem"));
        let text = page.replace("speaks = \"ws\"", speaks);
        std::fs::write(sandbox.path().join("talk.toml"), text).unwrap();
        let url = server.url.replacen(kind, scheme, 1);
        let talk = format!("run {url} --ca ca.pem --conversation ./talk.toml --warm-up 0s");
        for (load, planned, opened) in [
            ("-n 400 -c 4", 400, 4),
            ("--sessions 20/s --messages-each 3 --think 10ms -d 1s --drain 10s", 60, 20),
        ] {
            let ended = sandbox.run(&format!("{talk} {load} --json"));
            let record = record_of(&ended.stdout);
            let block = &record.blocks[0];
            let all = Counts { planned, sent: planned, ok: planned, ..Counts::default() };
            assert_eq!(block.counts, all, "{url} {load}: {ended:?}");
            assert_eq!(block.exchanges[0].counts, all);
            assert_eq!((block.connections.opened, block.connections.lost), (opened, 0));
            assert!(block.errors.is_empty(), "{:?}", block.errors);
        }
    }
}

#[test]
fn errors_of_the_warm_up_are_told_from_those_of_the_table() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --speak json-rpc --refuse 5% --seed 31");
    let load = "--rate 1000/s -c 4 -d 500ms --warm-up 500ms --timeout 3s --drain 6s";
    let ended = sandbox.run(&format!("run {} --conversation json-rpc {load}", server.url));
    let record = sandbox.records().remove(0);
    let block = &record.blocks[0];
    let (early, measured) = (block.warm_up.unwrap().failed(), block.counts.failed());
    assert!(early > 0 && measured > 0, "{:?} {:?}", block.warm_up, block.counts);
    let all = early + measured;
    for words in [
        format!(
            "partial: {all} messages failed, were refused, timed out or were not sent ({early} of them in the"
        ),
        format!("{all} x refused"),
        format!("{early} of them in the warm-up, which is in no table"),
    ] {
        let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&words), "{words}: {ended:?}");
    }
}

#[test]
fn a_mistake_is_named_with_what_was_sent_and_what_came_before_anything_is_timed() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --speak json-rpc --push 100%");
    let run = |name: &str, text: &str| {
        std::fs::write(sandbox.path().join(name), text).unwrap();
        sandbox.run(&format!("run {} --conversation ./{name} -d 1s --timeout 500ms", server.url))
    };
    let file = |method: &str, reply: &str, rest: &str| {
        format!(
            "speaks = \"ws\"\n[request.ask]\nsend = '{{\"id\":${{id}},\"method\":\"{method}\"}}'\n\
             reply = {{ id = \"$.id\", has = \"{reply}\" }}\n\
             refused = {{ id = \"$.id\", has = \"$.error\" }}\n{rest}"
        )
    };
    let push = "[push.news]\nwhen = { lacks = \"$.id\" }\n";
    let sent = r#"request `ask`, sent as `{"id":${id},"method":"#;
    #[rustfmt::skip]
    let table: [(&str, String, [&str; 3]); 3] = [
        ("refused.toml",    file("sum", "$.result", push),  [sent, "refused: ", "-32601"]),
        ("unexpected.toml", file("echo", "$.result", ""),   [sent, "no rule matches it", "[push.NAME]"]),
        ("silent.toml",     file("echo", "$.answer", push), [sent, "no rule matches it", "[push.NAME]"]),
    ];
    for (name, text, words) in table {
        let ended = run(name, &text);
        ended.check(15, &["does not answer as expected", words[0], words[1], words[2]]);
    }
    assert!(sandbox.records().is_empty(), "nothing was timed");
}
