//! One set of options over another: flags over a file, a row over its load, a load over the defaults.

use super::Options;
use super::conversation::SAID_BY_IT;
use super::load::Way;

impl Options {
    /// These options, with those of `lower` that they neither replace nor contradict. A load of another kind replaces
    /// everything that belongs to the lower load, a payload the payload, and an end of the measurement the end.
    #[must_use]
    pub fn over(self, lower: Self) -> Self {
        let mut lower = lower;
        if self.way() != Way::Closed {
            for (field, way) in lower.ways() {
                if way != self.way() {
                    lower.clear(field);
                }
            }
        }
        for (named, replaced) in REPLACES {
            if self.is_any_set(named) {
                replaced.iter().for_each(|field| lower.clear(field));
            }
        }
        loop {
            let both = self.clone().or(lower.clone());
            match both.foreign(both.way()) {
                None => return both,
                // A contradiction within the lower layer, which this one does not resolve.
                Some(_) if self.way() == Way::Closed && lower.foreign(lower.way()).is_some() => {
                    return both;
                }
                Some((field, _)) if !self.is_any_set(&[field]) => lower.clear(field),
                // Both are in one layer: a contradiction that is reported when the options are resolved.
                Some(_) if self.way() != Way::Closed || lower.way() == Way::Closed => return both,
                Some(_) => OF_LOADS.iter().for_each(|field| lower.clear(field)),
            }
        }
    }

    /// True if no option is set.
    pub fn is_empty(&self) -> bool {
        self.set().is_empty()
    }
}

/// Options that name a load or belong to one.
const OF_LOADS: &[&str] = &[
    "rate",
    "bots",
    "sessions",
    "clients",
    "concurrency",
    "round-trips",
    "closed",
    "every",
    "messages-each",
    "think",
    "spacing",
    "in-flight",
];

/// Options of a higher layer, and those of a lower one that they replace.
const REPLACES: [(&[&str], &[&str]); 7] = [
    (&["conversation"], SAID_BY_IT),
    (&["duration", "messages", "clients"], &["duration", "messages", "clients"]),
    (&["payload"], &["size", "payload-kind", "varied"]),
    (&["size", "payload-kind", "varied"], &["payload"]),
    (&["text", "binary"], &["text", "binary"]),
    (&["echo", "expect", "expect-body"], &["echo", "expect", "expect-body"]),
    (&["ca", "insecure"], &["ca", "insecure"]),
];

/// A field of options: set or not.
trait Field {
    fn is_set(&self) -> bool;
    fn or(self, lower: Self) -> Self;
}

impl<T> Field for Option<T> {
    fn is_set(&self) -> bool {
        self.is_some()
    }

    fn or(self, lower: Self) -> Self {
        self.or(lower)
    }
}

impl<T> Field for Vec<T> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn or(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

impl Field for bool {
    fn is_set(&self) -> bool {
        *self
    }

    fn or(self, lower: Self) -> Self {
        self || lower
    }
}

/// Every field of [`Options`], once, with its name as it is typed.
macro_rules! fields {
    ($($field:ident = $name:literal),* $(,)?) => {
        impl Options {
            /// The names of the options that are set.
            pub fn set(&self) -> Vec<&'static str> {
                // If a field is missing here, this does not compile.
                let Self { $($field),* } = self;
                [$(Field::is_set($field).then_some($name)),*].into_iter().flatten().collect()
            }

            pub(super) fn clear(&mut self, name: &str) {
                match name {
                    $($name => self.$field = Default::default(),)*
                    _ => unreachable!("the names are those of the fields"),
                }
            }

            fn or(self, lower: Self) -> Self {
                Self { $($field: Field::or(self.$field, lower.$field)),* }
            }
        }
    };
}

fields! {
    connections = "connections", duration = "duration", messages = "messages", rate = "rate", bots = "bots",
    every = "every", closed = "closed", sessions = "sessions", publish = "publish", rooms = "rooms",
    receivers = "receivers", publishers = "publishers", publish_to = "publish-to", publish_with = "publish-with",
    slow_receivers = "slow-receivers", away = "away", storm = "storm", restart = "restart",
    restart_of = "restart-of",
    messages_each = "messages-each", think = "think",
    spacing = "spacing", clients = "clients", concurrency = "concurrency", round_trips = "round-trips",
    in_flight = "in-flight", in_flight_max = "in-flight-max", conversation = "conversation", size = "size", payload = "payload",
    payload_kind = "payload-kind", varied = "varied", text = "text", binary = "binary", deflate = "deflate", expect = "expect",
    echo = "echo", expect_status = "expect-status", redirects = "redirects", expect_body = "expect-body", oracle = "oracle", method = "method", header = "header", contact = "contact", keep_going = "keep-going", subprotocol = "subprotocol", close = "close",
    connect_rate = "connect-rate", source_ip = "source-ip", threads = "threads", busy_poll = "busy-poll",
    sleepy = "sleepy", memory_max = "memory-max", warm_up = "warm-up", timeout = "timeout", drain = "drain", last_replies = "last-replies", ca = "ca", insecure = "insecure",
    server_name = "server-name", client_cert = "client-cert", client_key = "client-key", tls_version = "tls-version",
    tls_suite = "tls-suite", tls_resumption = "tls-resumption", alpn = "alpn", lobby = "lobby",
    first_player = "first-player", event_delay = "event-delay", codec = "codec",
}

impl Options {
    fn is_any_set(&self, fields: &[&str]) -> bool {
        self.set().iter().any(|set| fields.contains(set))
    }
}
