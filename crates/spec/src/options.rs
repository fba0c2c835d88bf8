//! The options of a workload, each of them optional: as flags, as keys of a file, as defaults of a project.
//!
//! One [`Options`] is laid over another ([`Options::over`]). The result is resolved into workloads
//! ([`Options::workloads`]), where every value is checked once.
//!
//! Start reading at [`Options`], then [`Options::workloads`].

mod conversation;
mod layers;
mod load;
mod message;
mod tls;

pub(crate) use load::{outstanding_max, publish};
pub(crate) use tls::PEM_MAX;

use crate::conversation::Status;
use crate::lists::one_or_more;
use crate::{
    Away, Bots, Carries, Closing, Header, Http, PayloadKind, Problem, Profile, Server, SourceRange,
    Spacing, Timeouts, Workload,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use units::{Bytes, Count, Nanos, Rate, Share};

/// The options of a workload. Each has one name: `--in-flight-max` as a flag, `in-flight-max` in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[rustfmt::skip]
pub struct Options {
    /// Connections to hold open [default: 50]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "COUNT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Count>,
    /// Time to measure [default: 10s]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Nanos>,
    /// Messages to measure, instead of a time
    #[cfg_attr(feature = "cli", arg(short = 'n', long, value_name = "COUNT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Count>,
    /// Open loop: messages that are due, e.g. 2000/s
    ///
    /// A rate may change: '100/s..10k/s over 1m, 10k/s for 5m'. Messages are due whatever happens to those before, and
    /// the connections take turns. A message that cannot be sent when it is due is sent late, and its response time
    /// counts from the instant at which it was due.
    #[cfg_attr(feature = "cli", arg(long, value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Profile>,
    /// Bots, each with a connection of its own
    ///
    /// Each sends one message per --every, beginning at a random moment of it (--spacing). Several counts are measured
    /// one after the other, in this order, each for --duration.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT,…", value_delimiter = ','))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<Count>")]
    pub bots: Vec<Count>,
    /// Bots: the time from one message of a bot to its next [default: 1s]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
    /// Bots: wait --every after each reply before sending again (a closed loop)
    ///
    /// A bot whose replies take long sends less, so the load adapts to the server that is measured. There are no
    /// response times, only round trips.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub closed: bool,
    /// Sessions that begin, e.g. 50/s
    ///
    /// Each has a connection of its own, on which it sends --messages-each, the next one --think after each reply: a
    /// partly open loop. At most --connections of them exist at a time; any further one does not begin, and its
    /// messages count as unsent.
    #[cfg_attr(feature = "cli", arg(long, value_name = "RATE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Profile>,
    /// Sessions: messages that each sends [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_each: Option<Count>,
    /// Sessions: the time from a reply to the next message [default: 1s]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Nanos>,
    /// Rooms: messages that are published in each, e.g. 10/s
    ///
    /// They are due as with --rate. Each goes through the server to all --receivers of its room, and is timed from the
    /// instant at which it was due until each of them has it: the delivery time. A --conversation says how connections
    /// publish and receive (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "RATE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<Profile>,
    /// Rooms: their number [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Count>,
    /// Rooms: connections of each that receive [default: 10]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Count>,
    /// Rooms: connections of each that publish, in turn [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publishers: Option<Count>,
    /// Rooms: where publishers connect to, if not to the server that pushes, e.g. tcp://127.0.0.1:6379
    ///
    /// They speak as the `[publishers]` of the --conversation say, to an application or a broker that the server
    /// listens to (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "URL", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_to: Option<String>,
    /// Rooms: a program that publishes instead of connections, e.g. 'php publish.php'
    ///
    /// A shell command, which is started once. Whenever a message is due, it gets a line of JSON on its stdin: the
    /// room, and the text to publish there in its own way (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "COMMAND", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_with: Option<String>,
    /// Rooms: receivers of each that read nothing while it is measured, e.g. 1%, at least one
    ///
    /// From the beginning of the measurement to its end; then they read what waits for them. Their deliveries are
    /// counted separately, and are in no times: the result is what they cost the others (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_receivers: Option<Share>,
    /// Rooms: each receiver leaves and comes back, e.g. 'every 15s for 2s'
    ///
    /// Once in each such period of the measurement its connection is cut, at a random instant of its own (--seed), and
    /// it connects again after that time. What is published meanwhile is counted separately (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIMES", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Away>,
    /// Rooms: disconnect all receivers at once, this long after the measurement begins, e.g. 3s
    ///
    /// They connect again with the back-off and jitter of socket.io-client. The time until 50 %, 99 % and all of them
    /// receive again is the recovery time (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storm: Option<Nanos>,
    /// Rooms: kill the server this long after the measurement begins, and start it again at its port, e.g. 3s
    ///
    /// For a server that wirebench starts: one with `start` in a file, a subject, or an embedded one. Receivers come
    /// back as after --storm. The recovery time is the time from the kill until 99 % of them receive again
    /// (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Nanos>,
    /// Rooms: kill only those processes of the server that run this program, e.g. redis-server
    ///
    /// Whatever started them must start them again. Receivers stay connected, and what does not reach them is lost. The
    /// recovery time is the time from the kill until 99 % of them receive a message that was due after it
    /// (docs/PUSH.md).
    #[cfg_attr(feature = "cli", arg(long, value_name = "PROGRAM", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_of: Option<String>,
    /// Spacing of messages or sessions that are due [default: phases for bots, else uniform]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SPACING", value_enum, hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// Short-lived clients in total
    ///
    /// Each connects, makes its --round-trips, and closes; --concurrency of them at the same time. With --duration
    /// instead of --clients new ones follow until that time is over.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Count>,
    /// Short-lived clients at the same time [default: 10]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Count>,
    /// Short-lived clients: round trips of each [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<Count>,
    /// Messages in flight on each connection [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Count>,
    /// Most messages in flight on all connections together
    ///
    /// In a closed loop there is no such limit by default; with many connections and few messages in flight, the
    /// connections take turns of 32 messages. In an open loop it limits outstanding messages, that is, due and neither
    /// answered nor given up; those due beyond it are not sent, and count as unsent. Its default there is the number
    /// that would be outstanding if the server fell silent for --timeout, at least one for each connection, and at most
    /// 1 Mi.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<Count>,
    /// Conversation to hold instead of an echo
    ///
    /// It says how a connection opens, which requests are sent, how each finds its reply and which messages are
    /// unsolicited (docs/CONVERSATIONS.md, which lists those that are ready-made, e.g. graphql-ws, json-rpc, mqtt and
    /// socketio). A FILE has a slash in its path, or `.toml` at its end.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME|FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Length of each message [default: 64B]
    ///
    /// Its content is of the --payload-kind, and follows from the seed. In a --conversation it is `${payload}`.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Content of each message, instead of random content
    ///
    /// `@FILE` stands for the content of a file, `@-` for stdin; a text that begins with `@` is written `@@…`. Over
    /// WebSocket a text is sent as text and a file as binary, unless --text or --binary says otherwise.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT|@FILE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Kind of the generated content, which decides how well it compresses [default: random]
    ///
    /// The `${payload}` of a --conversation is text or json [default: text].
    ///
    /// Over WebSocket json and text are sent as text, unless --binary says otherwise. With --deflate many different
    /// messages are sent in turn, so that none is repeated within the window of a compressor.
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND", value_enum, hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_kind: Option<PayloadKind>,
    /// Send different messages in turn, as --deflate does: none is repeated within the window of a compressor
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub varied: bool,
    /// Send WebSocket messages as text
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub text: bool,
    /// Send messages of WebSocket or Socket.IO as binary
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub binary: bool,
    /// Compress WebSocket messages (permessage-deflate), with PARAMS as in RFC 7692
    ///
    /// PARAMS are any of server_no_context_takeover, client_no_context_takeover, server_max_window_bits=8..15 and
    /// client_max_window_bits[=9..15], separated by commas, and level=1..9, which is for wirebench alone and not sent.
    /// Every message is compressed, even a short one. If the server does not agree, the run ends.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PARAMS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deflate: Option<String>,
    /// The reply that each message should get [default: the message]
    ///
    /// `@FILE` stands for the content of a file. On tcp:// and unix:// its length is the length of a reply.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT|@FILE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// HTTP: send each message with POST, and compare the reply with it, byte for byte
    ///
    /// For servers that echo, as `wirebench serve http` does. Those that are started for a run, by a ladder or a lab,
    /// are always asked for an echo.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub echo: bool,
    /// HTTP: a status that counts as a reply, not as a refusal, e.g. 200 or 4xx; repeatable [default: 2xx]
    #[cfg_attr(feature = "cli", arg(long, value_name = "STATUS", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<Status>")]
    pub expect_status: Vec<Status>,
    /// HTTP: follow at most this many redirects of a request, up to 10, to the same server [default: 0]
    ///
    /// A reply then takes until the last response. After a 303, and after a 301 or 302 of a POST, the next request is a
    /// GET; 307 and 308 keep method and body.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Count>,
    /// HTTP: a text that each reply contains, or the digest of each reply
    ///
    /// `@FILE` stands for the content of a file, and sha256:DIGEST for whole replies with this digest, 64 hexadecimal
    /// digits. To compare whole replies byte for byte, use --expect.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "TEXT|@FILE|sha256:DIGEST", hide_short_help = true)
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_body: Option<String>,
    /// The server is `wirebench serve oracle`: read from each reply how long it was really delayed
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub oracle: bool,
    /// Method of HTTP requests [default: GET; POST where there is a body to send]
    ///
    /// A body is what --payload or --size says; GET and HEAD send none. A response whose status is 2xx is a reply,
    /// whatever its body is, unless --expect-status, --expect-body or --expect say more.
    #[cfg_attr(feature = "cli", arg(long, value_name = "METHOD", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Add a header field for HTTP and WebSocket, e.g. `Origin: http://a.example`; repeatable
    ///
    /// `@FILE` is a file with one field per line: the place for secrets, which a command line shows to everyone who
    /// lists processes. Values of headers are never recorded.
    #[cfg_attr(feature = "cli", arg(short = 'H', long, value_name = "NAME: VALUE|@FILE", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more", skip_serializing)]
    #[schemars(with = "OneOrMore<String>")]
    pub header: Vec<String>,
    /// Say in the User-Agent of HTTP and WebSocket whom to ask about this load, e.g. a mail address
    ///
    /// For a target with a public address the User-Agent always names the program and its version.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Go on even if nearly everything fails
    ///
    /// Without it the load ends when 95 % of what ended in the last 5 s has failed, and the record says so.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub keep_going: bool,
    /// Offer a WebSocket subprotocol; repeatable, in order of preference
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<String>")]
    pub subprotocol: Vec<String>,
    /// Way in which WebSocket connections are closed [default: complete]
    #[cfg_attr(feature = "cli", arg(long, value_name = "HOW", value_enum, hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close: Option<Closing>,
    /// Connections to open per second, at most [default: as fast as possible]
    #[cfg_attr(feature = "cli", arg(long, value_name = "RATE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_rate: Option<Rate>,
    /// Source of connections: an address of this machine, or a range A-B; repeatable
    ///
    /// Connections take turns with the addresses. Without it the system chooses; to 127.0.0.1, connections come from as
    /// many loopback addresses as they need to have enough ports.
    #[cfg_attr(feature = "cli", arg(long, value_name = "ADDRESS|A-B", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<SourceRange>")]
    pub source_ip: Vec<SourceRange>,
    /// Threads that send [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<Count>,
    /// Time to poll for replies before sleeping [default: 0s]
    ///
    /// Saves a server on the same machine the CPU time of waking the generator, and costs the generator's own: for
    /// servers on other cores.
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<Nanos>,
    /// Sleep until a message is due, and be as late as timers are
    ///
    /// Without it, where server and generator have a core each, the generator wakes up a little earlier and watches the
    /// clock from then on: with a rate, bots or sessions, for at most a twelfth of its time, which the page and the
    /// record show.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub sleepy: bool,
    /// Memory for unsent messages and incomplete replies [default: a quarter of the machine's, at most 1GiB]
    ///
    /// In an open loop, messages due beyond half of it are not sent, and count as unsent. The longest reply that is
    /// accepted follows from it and from --connections.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZE", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<Bytes>,
    /// Time in which messages are exchanged before any is measured [default: 1s; none with --messages or --clients]
    #[cfg_attr(feature = "cli", arg(long, alias = "settle", value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Nanos>,
    /// Time limit of each name lookup, connect, handshake, reply and close [default: 5s]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Nanos>,
    /// Time to wait for replies after the last message was sent [default: 1s]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Nanos>,

    /// Average the last 1000 replies of each block too, as a published test did
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    #[serde(skip_serializing_if = "is_false")]
    pub last_replies: bool,

    /// Trust the authority in FILE (PEM) instead of those of the system; repeatable
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", hide_short_help = true, help_heading = "TLS"))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<String>")]
    pub ca: Vec<String>,
    /// Do not verify the server's certificate; the record says so
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = "TLS"))]
    #[serde(skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// Name or address that the server's certificate must have [default: that in the URL]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", hide_short_help = true, help_heading = "TLS"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Show this certificate, followed by the chain to its authority (PEM), to servers that ask for one
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", hide_short_help = true, help_heading = "TLS"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<String>,
    /// Key of --client-cert (PEM: PKCS #8, SEC 1 or PKCS #1)
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", hide_short_help = true, help_heading = "TLS"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// Offer this version, 1.2 or 1.3; repeatable [default: both]
    #[cfg_attr(feature = "cli", arg(long, value_name = "VERSION", hide_short_help = true, help_heading = "TLS"))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<String>")]
    pub tls_version: Vec<String>,
    /// Offer this cipher suite, by its IANA name; repeatable, in order of preference [default: all]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SUITE", hide_short_help = true, help_heading = "TLS"))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<String>")]
    pub tls_suite: Vec<String>,
    /// Resumption of earlier TLS sessions: tickets or none [default: tickets]
    ///
    /// With tickets each connection resumes the session of an earlier one, if the server hands tickets out. With none,
    /// every handshake is a full one. Full and resumed handshakes are counted and timed separately.
    #[cfg_attr(feature = "cli", arg(long, value_name = "HOW", value_enum, hide_short_help = true, help_heading = "TLS"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_resumption: Option<Resumption>,
    /// Offer this protocol (ALPN); repeatable, best first [default: http/1.1 for wss:// and https://, else none]
    #[cfg_attr(feature = "cli", arg(long, value_name = "PROTOCOL", hide_short_help = true, help_heading = "TLS"))]
    #[serde(deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMore<String>")]
    pub alpn: Vec<String>,

    /// Bots that subscribe to the lobby too, e.g. 10%
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", hide_short_help = true, help_heading = "Games"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lobby: Option<Share>,
    /// Player id of the first bot; each next one has the next [default: 1]
    ///
    /// Bots that replace lost ones continue the numbering, and so does each further count of --bots. Whoever is logged
    /// in with the same id elsewhere is logged out.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NUMBER", hide_short_help = true, help_heading = "Games"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_player: Option<u32>,
    /// Time that the game keeps each event before it answers, in whole milliseconds [default: 0ms]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true, help_heading = "Games"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_delay: Option<Nanos>,
    /// Pack --payload, which is JSON, by the definition of packets in FILE (XML)
    ///
    /// For styx:// and styx-tls://, where it is sent packed, and ws:// and wss://, where it is sent as JSON in the
    /// order of the definition.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Games"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
}

/// Resumption of TLS sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Every handshake is a full one
    None,
    /// With tickets that the server hands out
    Tickets,
}

/// A value, or a list of values.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema of a list that may be one value")]
pub(crate) enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Everything besides the options that is needed to resolve workloads.
pub struct Context<'a> {
    /// Reads a file that an option names, or stdin for `-`; at most the given number of bytes.
    pub read: &'a Read<'a>,
    /// Reads an environment variable, in which a conversation may keep a secret.
    pub environment: &'a Environment<'a>,
    /// Packs the JSON of `--payload` by the definition in the text of `--codec`; the flag asks for JSON as the result.
    pub pack: &'a Pack<'a>,
    /// The origin of all random choices.
    pub seed: u64,
}

/// A reader of files.
pub type Read<'a> = dyn Fn(&str, Bytes) -> Result<Vec<u8>, String> + 'a;
/// A reader of environment variables.
pub type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;
/// A packer of JSON.
pub type Pack<'a> = dyn Fn(&str, &[u8], bool) -> Result<Vec<u8>, String> + 'a;

impl Options {
    /// The workloads that these options describe on `server`: one, or one for each count of bots.
    ///
    /// # Errors
    ///
    /// The first option that is not possible, or not possible beside another.
    pub fn workloads(
        &self,
        name: &str,
        server: &Server,
        context: &Context<'_>,
    ) -> Result<Vec<Workload>, Problem> {
        self.check_places(server)?;
        let http = self.http(server, context)?;
        let conversation = self.conversation_of(server, context)?;
        let (message, expect) = match &conversation {
            Some(conversation) => {
                (self.payload_of(conversation, context)?, crate::Expect::Anything)
            }
            None => self.messages_and_replies(server, &http, context)?,
        };
        let timeout = some_time("timeout", self.timeout)?.unwrap_or(TIMEOUT);
        let workload = Workload {
            name: name.to_owned(),
            server: server.clone(),
            client: None,
            load: crate::Load::Closed {
                connections: NonZeroU32::MIN,
                in_flight: NonZeroU32::MIN,
                in_flight_max: None,
            },
            connect_rate: self.connect_rate,
            closing: self.close.unwrap_or_default(),
            message,
            expect,
            phases: self.phases()?,
            timeouts: Timeouts::all(timeout),
            threads: at_most("threads", self.threads, 1024)?.unwrap_or(NonZeroU32::MIN),
            sources: self.sources(server)?,
            busy_poll: self.busy_poll.unwrap_or(Nanos::ZERO),
            sleepy: self.sleepy,
            memory_max: self.memory_max,
            contact: self.contact.clone(),
            keep_going: self.keep_going,
            http,
            subprotocols: self.subprotocol.clone(),
            deflate: self.deflate.clone(),
            tls: self.tls(server.scheme(), context)?,
            bots: self.bots_of(server)?,
            publish_to: None,
            publish_with: self.publish_with.clone(),
            restart_of: None,
            conversation,
            seed: context.seed,
            baseline: None,
            last_replies: self.last_replies,
        };
        let loads = self.loads(server.scheme(), timeout)?;
        if let Some(conversation) = &workload.conversation {
            loads.iter().try_for_each(|(_, load)| conversation.check_load(load))?;
        }
        if self.restart.is_some() && matches!(server, Server::Given(_)) {
            let message = "only a server that wirebench starts itself can be started again by it; describe the server \
                           in a file, with `url` and `start`, or with `server` (docs/EXPERIMENTS.md)";
            return Err(Problem::new("restart", message));
        }
        let publish_to = self.publish_to(workload.conversation.as_ref(), server)?;
        let workload = Workload { publish_to, restart_of: self.restart_of(server)?, ..workload };
        let several = loads.len() > 1;
        let named = |(step, load): (String, crate::Load)| Workload {
            name: if several { step } else { name.to_owned() },
            load,
            ..workload.clone()
        };
        Ok(loads.into_iter().map(named).collect())
    }

    /// The program whose processes are killed instead of the whole server.
    fn restart_of(&self, server: &Server) -> Result<Option<String>, Problem> {
        let Some(program) = &self.restart_of else { return Ok(None) };
        let problem = |message: String| Err(Problem::new("restart-of", message));
        if self.restart.is_none() {
            return problem(
                "it names what --restart kills; add that, e.g. --restart 3s".to_owned(),
            );
        }
        if program.is_empty() || program.contains(['/', ' ', '\n']) {
            return problem(format!(
                "`{program}` is not the name of a program; one is redis-server"
            ));
        }
        if matches!(server, Server::Embedded(_)) {
            return problem(
                "wirebench's own server has no other processes; leave it out, or describe the server and what belongs to \
                 it in a file, with `url` and `start` (docs/PUSH.md)"
                    .to_owned(),
            );
        }
        Ok(Some(program.clone()))
    }

    /// Refuses options that do not apply to the protocol.
    fn check_places(&self, server: &Server) -> Result<(), Problem> {
        let scheme = server.scheme();
        let facts = scheme.facts();
        let is_game = facts.carries == Carries::Events;
        let over_websocket = scheme.over_websocket();
        let websocket = "ws:// and wss://, and protocols over them";
        let game = "bots of a game, as in game://127.0.0.1:4123";
        let in_tls = match facts.secured {
            Some(secured) => format!("{secured}:// and other schemes inside TLS"),
            None => "schemes inside TLS, as in wss://".to_owned(),
        };
        let has_tls = self.given_tls().filter(|_| !scheme.tls);
        #[rustfmt::skip]
        let all = [
            ("header",       "schemes over HTTP and WebSocket", facts.path.is_none() && !self.header.is_empty()),
            ("contact",      "schemes over HTTP and WebSocket", facts.path.is_none() && self.contact.is_some()),
            ("subprotocol",  websocket, !over_websocket && !self.subprotocol.is_empty()),
            ("deflate",      websocket, !over_websocket && self.deflate.is_some()),
            ("close",        websocket, !over_websocket && self.close == Some(Closing::AtOnce)),
            ("text",         websocket, !facts.carries.has_text() && self.text),
            ("echo",         "http:// and https://; over others it is the default", facts.carries != Carries::Requests && self.echo),
            ("expect-status", "http:// and https://", facts.carries != Carries::Requests && !self.expect_status.is_empty()),
            ("redirects",    "http:// and https://", facts.carries != Carries::Requests && self.redirects.is_some()),
            ("expect-body",  "http:// and https://", facts.carries != Carries::Requests && self.expect_body.is_some()),
            ("method",       "http:// and https://", facts.carries != Carries::Requests && self.method.is_some()),
            ("lobby",        game, !is_game && self.lobby.is_some()),
            ("first-player", game, !is_game && self.first_player.is_some()),
            ("event-delay",  game, !is_game && self.event_delay.is_some()),
            (has_tls.unwrap_or("ca"), &in_tls, has_tls.is_some()),
        ];
        for (field, place, is_misplaced) in all {
            if is_misplaced {
                return Err(Problem::new(
                    field,
                    format!("does not apply to {scheme}://, only to {place}; leave it out"),
                ));
            }
        }
        Ok(())
    }

    /// These options without those that do not apply to the protocol of `server`, for defaults that several servers
    /// share.
    #[must_use]
    pub fn where_it_applies(mut self, server: &Server) -> Self {
        while let Err(problem) = self.check_places(server) {
            self.clear(problem.field);
        }
        self
    }

    fn http(&self, server: &Server, context: &Context<'_>) -> Result<Http, Problem> {
        let is_post = self.has_body(server);
        let method = self.method.as_deref().unwrap_or(if is_post { "POST" } else { "GET" });
        Ok(Http {
            method: method.to_ascii_uppercase(),
            headers: headers(&self.header, context.read)?,
            statuses: self.expect_status.clone(),
            redirects: self.redirects_max()?,
        })
    }

    fn redirects_max(&self) -> Result<u8, Problem> {
        let max = crate::conversation::REDIRECTS_MAX;
        let Count(count) = self.redirects.unwrap_or(Count(0));
        u8::try_from(count).ok().filter(|count| *count <= max).ok_or_else(|| {
            Problem::new("redirects", format!("{count} is too many; at most {max} are followed"))
        })
    }

    /// True if the server is to echo: one that wirebench starts does, and over most protocols a user's has to.
    fn is_echoed(&self, server: &Server) -> bool {
        let is_asked = self.echo || self.oracle || server.is_ours();
        is_asked || server.scheme().facts().carries != Carries::Requests
    }

    /// True if messages have content, unless the HTTP method forbids it.
    fn has_body(&self, server: &Server) -> bool {
        let is_given = self.payload.is_some() || self.size.is_some() || self.payload_kind.is_some();
        is_given || self.varied || self.is_echoed(server)
    }

    fn sources(&self, server: &Server) -> Result<Vec<SourceRange>, Problem> {
        let problem = |message: String| Problem::new("source-ip", message);
        if server.scheme().protocol == crate::Protocol::Unix && !self.source_ip.is_empty() {
            return Err(problem(
                "does not apply to unix://, which has no addresses; leave it out".to_owned(),
            ));
        }
        let is_v4 = |range: &SourceRange| matches!(range, SourceRange::V4(..));
        if self.source_ip.iter().any(|range| is_v4(range) != is_v4(&self.source_ip[0])) {
            return Err(problem(
                "names IPv4 and IPv6 addresses; a run connects from one family".to_owned(),
            ));
        }
        let count = |range: &SourceRange| range.addresses().take(SOURCES_MAX + 1).count();
        let count: usize = self.source_ip.iter().map(count).sum();
        if count > SOURCES_MAX {
            return Err(problem(format!("more than {SOURCES_MAX} addresses; name fewer")));
        }
        Ok(self.source_ip.clone())
    }

    fn bots_of(&self, server: &Server) -> Result<Option<Bots>, Problem> {
        if server.scheme().facts().carries != Carries::Events {
            return Ok(None);
        }
        let usual = Bots::default();
        let first_player = match self.first_player {
            None => usual.first_player,
            Some(first) if first <= FIRST_PLAYER_MAX => {
                i32::try_from(first).expect("it is below 2^31")
            }
            Some(first) => {
                return Err(Problem::new(
                    "first-player",
                    format!("{first} is too large; at most {FIRST_PLAYER_MAX}"),
                ));
            }
        };
        Ok(Some(Bots { first_player, lobby: self.lobby.unwrap_or(usual.lobby) }))
    }
}

/// The time, unless it is zero, which is refused.
fn some_time(field: &'static str, time: Option<Nanos>) -> Result<Option<Nanos>, Problem> {
    match time {
        Some(Nanos::ZERO) => Err(Problem::new(field, "0s is too short; use a longer time")),
        time => Ok(time),
    }
}

/// A count from 1 to `max`.
fn at_most(
    field: &'static str,
    count: Option<Count>,
    max: u32,
) -> Result<Option<NonZeroU32>, Problem> {
    let small = |count: Count| {
        if count == Count(0) {
            return Err(Problem::new(field, "must be at least 1"));
        }
        let small =
            u32::try_from(count.0).ok().filter(|small| *small <= max).and_then(NonZeroU32::new);
        small.ok_or_else(|| {
            Problem::new(field, format!("{count} is too many; at most {max} are possible"))
        })
    };
    count.map(small).transpose()
}

/// Reads `Name: value`. Control characters are refused: a line end would turn one field into several.
fn header(text: &str) -> Result<Header, String> {
    if let Some(control) = text.chars().find(|letter| letter.is_control() && *letter != '\t') {
        return Err(format!("a header field cannot have `{}` in it", control.escape_default()));
    }
    let (name, value) = text
        .split_once(':')
        // The value may be a secret.
        .ok_or("it has no colon; a header field is `Name: value`")?;
    if name.is_empty() || name.contains([' ', '\t']) {
        return Err(format!("`{name}` is not the name of a header field"));
    }
    let value = Some(value.trim_matches([' ', '\t']).to_owned());
    Ok(Header { name: name.to_owned(), value })
}

/// Reads header fields as in options: `Name: value`, or `@FILE` with one on each line.
pub(crate) fn headers(fields: &[String], read: &Read<'_>) -> Result<Vec<Header>, Problem> {
    let mut headers = Vec::new();
    for text in fields {
        match text.strip_prefix('@') {
            Some(path) => headers.extend(headers_of_file(path, read)?),
            None => headers.push(header(text).map_err(|problem| Problem::new("header", problem))?),
        }
    }
    Ok(headers)
}

fn headers_of_file(path: &str, read: &Read<'_>) -> Result<Vec<Header>, Problem> {
    let problem = |problem: String| Problem::new("header", format!("@{path}: {problem}"));
    let bytes = read(path, HEADERS_MAX).map_err(problem)?;
    let text = String::from_utf8(bytes).map_err(|_| problem("is not UTF-8".to_owned()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            // The line itself may be a secret.
            header(line).map_err(|_| problem(format!("line {} is not `Name: value`", index + 1)))
        })
        .collect()
}

/// The default time that each phase of a connection may take.
const TIMEOUT: Nanos = Nanos::from_secs(5);
/// The most source addresses; more would have more ports than a machine has memory for connections.
const SOURCES_MAX: usize = 65_536;
/// The largest file of header fields; real ones are much smaller.
const HEADERS_MAX: Bytes = Bytes(1 << 20);
/// The largest id of a first player; it leaves a billion ids for those that follow.
const FIRST_PLAYER_MAX: u32 = 1_000_000_000;

#[cfg(test)]
pub(crate) mod tests;
