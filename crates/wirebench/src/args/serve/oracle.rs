//! The options of `wirebench serve oracle`: delays, stalls and faults of known size.

use crate::args::values;
use serve::{Behaviour, Delay, EventStream, Speech, Stall};
use std::num::{NonZeroU32, NonZeroU64};
use units::{Bytes, Nanos, Rate, Share};

/// The behaviour of the oracle; an option that is not given changes nothing.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The oracle server")]
pub(super) struct Oracle {
    /// Delay each reply [default: none]
    ///
    /// `fixed:1ms`; `exponential:1ms`, with that mean; or `bimodal:1ms,50ms@10%`: one reply in ten is delayed by
    /// 50 ms, the others by 1 ms. The delay runs from the decoded message to its reply. Replies on a connection keep
    /// their order.
    #[arg(long, value_name = "DELAY", hide_short_help = true)]
    delay: Option<Delay>,
    /// Stop for a while, as a stopped process does; repeatable
    ///
    /// `2s@5s` stops for 2 s, 5 s after the first message of all (the one with which a run verifies the server). While
    /// stopped, it reads and answers nothing.
    #[arg(long, value_name = "LENGTH@TIME", hide_short_help = true)]
    stall: Vec<Stall>,
    /// Limit the rate of replies, on all connections together
    ///
    /// While replies wait, reply k after the first of them is sent no earlier than k / RATE after it.
    #[arg(long, value_name = "RATE", value_parser = cap, hide_short_help = true)]
    cap: Option<Rate>,
    /// Leak this much memory with each reply
    #[arg(long, value_name = "SIZE", value_parser = values::size, hide_short_help = true)]
    leak: Option<Bytes>,
    /// Leave this share of messages without a reply
    ///
    /// Over http, a connection with a dropped reply answers nothing more.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    drop: Option<Share>,
    /// Answer this share of messages twice; not over http
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    duplicate: Option<Share>,
    /// Send this share of replies after the next one; not over http
    ///
    /// A reply that no other overtakes within 2 s is sent then, and not counted as reordered.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    reorder: Option<Share>,
    /// Speak this language instead of echoing: json-rpc
    ///
    /// JSON-RPC 2.0 over any transport: the method `echo` returns its parameters, any other is an error.
    #[arg(long, value_name = "LANGUAGE", value_parser = speech, hide_short_help = true)]
    speak: Option<Speech>,
    /// Answer this share of requests with an error
    #[arg(long, value_name = "PERCENT", requires = "speak", hide_short_help = true)]
    refuse: Option<Share>,
    /// Send a notification with the id of the request after this share of replies; not over http
    #[arg(long, value_name = "PERCENT", requires = "speak", hide_short_help = true)]
    push: Option<Share>,
    /// Send a request with the id of the client's before this share of replies; not over http
    #[arg(long, value_name = "PERCENT", requires = "speak", hide_short_help = true)]
    ask: Option<Share>,
    /// Answer each request with a stream of this many events; over http and https
    ///
    /// Server-sent events, as servers of language models send them: the head at once, the first event after --first,
    /// each next one --gap later, and a --gap after the last one `data: [DONE]` and the end of the response. Each event
    /// says in `kept_ns` how long after its request it was really sent. Event k has the id k, and a request with
    /// `Last-Event-ID: k` is answered with those from k + 1 on.
    #[arg(long, value_name = "COUNT", hide_short_help = true)]
    events: Option<NonZeroU32>,
    /// The time from a request to the first event of its stream [default: 0s]
    #[arg(long, value_name = "DURATION", requires = "events", hide_short_help = true)]
    first: Option<Nanos>,
    /// The time from each event to the next [default: 0s]
    #[arg(long, value_name = "DURATION", requires = "events", hide_short_help = true)]
    gap: Option<Nanos>,
    /// End the connection within a response, after this many events of it
    ///
    /// A client that asks again with `Last-Event-ID` gets the rest.
    #[arg(long, value_name = "COUNT", requires = "events", hide_short_help = true)]
    break_after: Option<NonZeroU32>,
    /// Ask for this time before a reconnect, by `retry` at the beginning of each stream
    #[arg(long, value_name = "DURATION", requires = "events", hide_short_help = true)]
    retry: Option<Nanos>,
    /// Flip a bit near the end of this share of replies
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, hide_short_help = true)]
    corrupt: Option<Share>,
    /// End each connection after this many replies
    #[arg(long, value_name = "COUNT", value_parser = values::large_count, hide_short_help = true)]
    close_after: Option<NonZeroU64>,
    /// The size of a message over tcp and unix, which have no framing [default: 64B]
    ///
    /// Must equal the message size of the run, because delays and faults apply to whole messages.
    #[arg(long, value_name = "SIZE", value_parser = values::size, hide_short_help = true)]
    pub(super) size: Option<Bytes>,
    /// The seed of random delays and faults [default: 31]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
}

impl Oracle {
    /// The behaviour that the options describe.
    pub(super) fn behaviour(&self) -> Behaviour {
        Behaviour {
            delay: self.delay.unwrap_or_default(),
            stalls: self.stall.clone(),
            cap: self.cap,
            leak: self.leak.unwrap_or_default(),
            drop: self.drop.unwrap_or_default(),
            duplicate: self.duplicate.unwrap_or_default(),
            reorder: self.reorder.unwrap_or_default(),
            speaks: self.speak.unwrap_or_default(),
            stream: self.events.map(|events| EventStream {
                events,
                first: self.first.unwrap_or_default(),
                gap: self.gap.unwrap_or_default(),
                break_after: self.break_after,
                retry: self.retry,
            }),
            refuse: self.refuse.unwrap_or_default(),
            push: self.push.unwrap_or_default(),
            ask: self.ask.unwrap_or_default(),
            corrupt: self.corrupt.unwrap_or_default(),
            close_after: self.close_after,
            seed: self.seed.unwrap_or(Behaviour::SEED),
            ..Behaviour::default()
        }
    }

    /// True if it answers with streams of events.
    pub(super) fn has_streams(&self) -> bool {
        self.events.is_some()
    }

    /// The name of the first option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.given_besides(&[])
    }

    /// Returns the name of the first option that was given and is not in `others`.
    pub(super) fn given_besides(&self, others: &[&str]) -> Option<&'static str> {
        let all = [
            ("--delay", self.delay.is_some()),
            ("--stall", !self.stall.is_empty()),
            ("--cap", self.cap.is_some()),
            ("--leak", self.leak.is_some()),
            ("--drop", self.drop.is_some()),
            ("--duplicate", self.duplicate.is_some()),
            ("--reorder", self.reorder.is_some()),
            ("--speak", self.speak.is_some()),
            ("--events", self.events.is_some()),
            ("--corrupt", self.corrupt.is_some()),
            ("--close-after", self.close_after.is_some()),
            ("--size", self.size.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        let is_found = |(name, is_given): &(&str, bool)| *is_given && !others.contains(name);
        all.into_iter().find(is_found).map(|(name, _)| name)
    }
}

fn speech(text: &str) -> Result<Speech, String> {
    match text {
        "json-rpc" => Ok(Speech::JsonRpc),
        _ => Err("an oracle speaks json-rpc; without --speak it echoes".to_owned()),
    }
}

fn cap(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error: units::ParseError| {
        let is_zero = text.split('/').next().is_some_and(|count| count.trim().parse() == Ok(0.0));
        let cure =
            if is_zero { "; to leave all messages without a reply, use --drop 100%" } else { "" };
        format!("{error}{cure}")
    })
}
