//! One workload: a server, its client, and the load, with every default resolved.

use crate::conversation::Status;
use crate::{
    Closing, Content, Conversation, Endpoint, Expect, Load, Message, Phases, Scheme, Stop, Timeouts,
};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;
use units::{Bytes, Nanos, Rate, Share};

/// One thing that is measured: a product of independent parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The name in tables, unique in its experiment.
    pub name: String,
    /// The server.
    pub server: Server,
    /// The client library that sends; `null`: this program.
    #[serde(default)]
    pub client: Option<ClientSubject>,
    /// The rule by which messages are sent.
    pub load: Load,
    /// Connections that are opened per unit of time, at most; `null`: as fast as a bounded number of simultaneous
    /// attempts allows.
    #[serde(default)]
    pub connect_rate: Option<Rate>,
    /// The way in which connections are ended by us.
    #[serde(default)]
    pub closing: Closing,
    /// The content of messages.
    pub message: Message,
    /// The reply that each message is due.
    pub expect: Expect,
    /// Warm-up, measurement, drain.
    pub phases: Phases,
    /// The times after which a peer is given up.
    pub timeouts: Timeouts,
    /// Threads that send, at most.
    pub threads: NonZeroU32,
    /// Source addresses that connections take turns with; empty: the system chooses, and on loopback we spread by
    /// ourselves when the ports of one address would run out.
    #[serde(default)]
    pub sources: Vec<SourceRange>,
    /// Time in which a worker looks for replies again and again before it sleeps; zero: not at all.
    #[serde(default)]
    pub busy_poll: Nanos,
    /// True if a worker sleeps until a message is due; otherwise it wakes up earlier, and looks, where it has a core.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sleepy: bool,
    /// Memory for what waits to be sent and for replies of which only a part has come; `null`: a quarter of the
    /// machine's, at most 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<Bytes>,
    /// The contact in the User-Agent of HTTP and of WebSocket's opening request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// True if the load goes on though nearly everything fails.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep_going: bool,
    /// The method and header fields of HTTP and of WebSocket's opening request.
    #[serde(default)]
    pub http: Http,
    /// WebSocket: the subprotocols that are offered, the best first.
    #[serde(default)]
    pub subprotocols: Vec<String>,
    /// WebSocket: the parameters of permessage-deflate that are offered (RFC 7692, and `level=1..9`); `null`: messages
    /// are not compressed.
    #[serde(default)]
    pub deflate: Option<String>,
    /// TLS around the protocol; `null` where nothing is inside TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The bots of a game; `null` where connections are no bots.
    #[serde(default)]
    pub bots: Option<Bots>,
    /// Rooms: the place that publishers connect to; `null`: the server, which a subject says for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_to: Option<Endpoint>,
    /// Rooms: the line of a shell that starts a program which publishes, in place of connections; `null`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_with: Option<String>,
    /// Rooms: the program of the server whose processes the restart is of; `null`: all of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_of: Option<String>,
    /// The conversation that connections hold; `null` where each message is answered by one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The origin of all random choices of the workload: payload, mask keys, arrivals.
    pub seed: u64,
    /// The workload (its index) that this one is compared with; `null`: the baseline of the experiment.
    #[serde(default)]
    pub baseline: Option<usize>,
    /// True if the last 1000 replies of each block are averaged, as a published test did.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last_replies: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Workload {
    /// `load` on `server` and nothing else: one message without content, whose reply is not checked.
    pub fn new(name: &str, server: Server, load: Load) -> Self {
        Self {
            name: name.to_owned(),
            server,
            client: None,
            load,
            connect_rate: None,
            closing: Closing::Complete,
            message: Message { text: false, content: Content::Nothing },
            expect: Expect::Anything,
            phases: Phases {
                warm_up: Nanos::ZERO,
                stop: Stop::Messages(NonZeroU64::MIN),
                drain: Nanos::ZERO,
            },
            timeouts: Timeouts::all(Nanos::ZERO),
            threads: NonZeroU32::MIN,
            sources: Vec::new(),
            busy_poll: Nanos::ZERO,
            sleepy: false,
            memory_max: None,
            contact: None,
            keep_going: false,
            http: Http::default(),
            subprotocols: Vec::new(),
            deflate: None,
            tls: None,
            bots: None,
            publish_to: None,
            publish_with: None,
            restart_of: None,
            conversation: None,
            seed: 0,
            baseline: None,
            last_replies: false,
        }
    }

    /// The protocol that is spoken, inside TLS or not.
    pub const fn scheme(&self) -> Scheme {
        self.server.scheme()
    }

    /// True if the certificate of the server is verified: always that of an embedded server or a subject, whatever else
    /// is trusted.
    pub fn is_verified(&self) -> bool {
        self.server.is_ours() || self.tls.as_ref().is_none_or(|tls| tls.trust != Trust::Anyone)
    }

    /// The same without secrets, and without the content of files and of a given payload.
    #[must_use]
    pub fn bare(&self) -> Self {
        let mut bare = self.clone();
        if let Content::Given { bytes, .. } = &mut bare.message.content {
            bytes.0.clear();
        }
        bare.http.headers.iter_mut().for_each(|header| header.value = None);
        bare.conversation = bare.conversation.map(|conversation| conversation.bare());
        if let Some(tls) = &mut bare.tls {
            if let Trust::Authorities(files) = &mut tls.trust {
                files.iter_mut().for_each(|file| file.text.clear());
            }
            if let Some(identity) = &mut tls.identity {
                identity.certificate.text.clear();
                identity.key = None;
            }
        }
        bare
    }

    /// The approximate time of one block: its phases, with an estimate of the measurement if it does not end after a
    /// time.
    pub fn block_time(&self) -> Nanos {
        let per = |count: u64, each: Nanos| Nanos(count.saturating_mul(each.0));
        let measured = match self.phases.stop {
            Stop::After(time) => time,
            Stop::Clients(clients) => per(clients.get(), LIFE),
            Stop::Messages(messages) => per(messages.get(), MESSAGE),
        };
        let besides = if self.client.is_some() { CLIENT } else { Nanos::ZERO };
        // Messages that a program held when it was killed never arrive, so that the drain takes all of its time.
        let drain = if self.restart_of.is_some() { self.phases.drain } else { Nanos::ZERO };
        self.phases.warm_up + measured + drain + besides
    }
}

/// The approximate times of the life of a short-lived client, of a message, and of the opening and report of a client
/// subject.
const LIFE: Nanos = Nanos::from_micros(500);
const MESSAGE: Nanos = Nanos::from_micros(30);
const CLIENT: Nanos = Nanos::from_millis(200);

/// A server that is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// A server of the user's, which listens already.
    Given(Endpoint),
    /// A server of the user's, started for the run.
    Started(Started),
    /// One of our own servers, started for the run as a process of its own.
    Embedded(Embedded),
    /// A program that others wrote, started for the run.
    Subject(ServerSubject),
}

impl Server {
    /// The protocol that is spoken, inside TLS or not.
    pub const fn scheme(&self) -> Scheme {
        match self {
            Self::Given(endpoint) => endpoint.scheme(),
            Self::Started(started) => started.url.scheme(),
            Self::Embedded(embedded) => embedded.scheme,
            Self::Subject(subject) => subject.scheme,
        }
    }

    /// True if it keeps the contract of subjects: it echoes, and its certificate is one that the run made.
    pub const fn is_ours(&self) -> bool {
        match self {
            Self::Embedded(_) | Self::Subject(_) => true,
            Self::Given(_) | Self::Started(_) => false,
        }
    }

    /// The URL of a user's server.
    pub const fn url(&self) -> Option<&Endpoint> {
        match self {
            Self::Given(url) | Self::Started(Started { url, .. }) => Some(url),
            Self::Embedded(_) | Self::Subject(_) => None,
        }
    }

    /// The same, mutable.
    pub const fn url_mut(&mut self) -> Option<&mut Endpoint> {
        match self {
            Self::Given(url) | Self::Started(Started { url, .. }) => Some(url),
            Self::Embedded(_) | Self::Subject(_) => None,
        }
    }

    /// The number of CPUs that a subject may use; `None`: one, or those that others have chosen.
    pub const fn cpus(&self) -> Option<NonZeroU32> {
        match self {
            Self::Given(_) | Self::Started(_) | Self::Embedded(_) => None,
            Self::Subject(subject) => subject.cpus,
        }
    }

    /// Its answer to each message, if it keeps the contract of subjects.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Given(_) | Self::Started(_) => Answer::default(),
            Self::Embedded(Embedded { reply, work, .. })
            | Self::Subject(ServerSubject { reply, work, .. }) => {
                Answer { reply: reply.clone(), work: *work }
            }
        }
    }
}

/// The answer to each message of a server that keeps the contract of subjects. By default it sends the message back at
/// once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The text that it answers with; `None`: the message.
    pub reply: Option<String>,
    /// The time for which it keeps its processor busy before its reply leaves.
    pub work: Option<Nanos>,
}

/// A server of the user's that is started for the run. Workloads that agree in all of it share its process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The name of its row: two rows of the same command have a process each.
    pub row: String,
    /// The URL at which it listens when it is ready. Where the command has [`Started::PORT`], the port is one that is
    /// free in place of this one.
    pub url: Endpoint,
    /// The line of a shell that starts it.
    pub command: String,
    /// The folder that it is started in; `null`: that of the run.
    #[serde(default)]
    pub folder: Option<String>,
    /// The text that a line of its output has in it when it is ready; `null`: it is ready as soon as it listens.
    #[serde(default)]
    pub ready_line: Option<String>,
    /// The longest time until it is ready.
    #[serde(default = "Started::timeout")]
    pub start_timeout: Nanos,
}

impl Started {
    /// The default of [`Started::start_timeout`]: a JVM on a busy machine takes 15 s.
    pub const START_TIMEOUT: Nanos = Nanos::from_secs(60);

    const fn timeout() -> Nanos {
        Self::START_TIMEOUT
    }

    /// The place of the port in a command.
    pub const PORT: &str = "{port}";

    /// True if it is given a free port.
    pub fn takes_port(&self) -> bool {
        self.command.contains(Self::PORT)
    }
}

/// One of our own servers. Workloads that want the same one share its process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    /// The protocol that it speaks.
    pub scheme: Scheme,
    /// Options of `wirebench serve` besides the place to listen at.
    #[serde(default)]
    pub options: Vec<String>,
    /// The answer to every message, in place of an echo.
    #[serde(default)]
    pub reply: Option<String>,
    /// The time for which it keeps its processor busy for each message, before its reply leaves.
    #[serde(default)]
    pub work: Option<Nanos>,
}

impl From<Scheme> for Embedded {
    fn from(scheme: Scheme) -> Self {
        Self { scheme, options: Vec::new(), reply: None, work: None }
    }
}

/// A server that others wrote. Workloads that want the same one, with the same answer, share its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSubject {
    /// The name of the subject.
    pub name: String,
    /// The protocol that it is spoken to in.
    pub scheme: Scheme,
    /// The path that is asked for in place of the one that the server says, e.g. `/64`.
    #[serde(default)]
    pub path: Option<String>,
    /// The answer to every message, in place of an echo.
    #[serde(default)]
    pub reply: Option<String>,
    /// The time for which it keeps its processor busy for each message, before its reply leaves.
    #[serde(default)]
    pub work: Option<Nanos>,
    /// The number of CPUs that it may use, each on a core of its own; `null`: one.
    #[serde(default)]
    pub cpus: Option<NonZeroU32>,
}

impl ServerSubject {
    /// The subject called `name`, which echoes over `scheme` on one CPU.
    pub fn new(name: &str, scheme: Scheme) -> Self {
        let name = name.to_owned();
        Self { name, scheme, path: None, reply: None, work: None, cpus: None }
    }
}

/// A client library that others wrote, with the small program that drives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSubject {
    /// The name of the subject.
    pub name: String,
    /// The host that it connects to in place of the one that the server says, e.g. `localhost`.
    #[serde(default)]
    pub host: Option<String>,
}

/// The requests of HTTP, and the opening request of WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// The method of each request; `GET` and `HEAD` send no body.
    pub method: String,
    /// Header fields besides the protocol's own.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// The statuses of responses that are replies, and no refusals; empty: `2xx`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<Status>,
    /// The most redirects of one request that are followed, one after the other; 0: none is.
    #[serde(default, skip_serializing_if = "crate::conversation::is_zero")]
    pub redirects: u8,
}

impl Default for Http {
    fn default() -> Self {
        Self { method: "POST".to_owned(), headers: Vec::new(), statuses: Vec::new(), redirects: 0 }
    }
}

/// A header field. Its value may be a secret: it is read, and never written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value; absent in what is written down.
    #[serde(default, skip_serializing)]
    pub value: Option<String>,
}

/// The TLS of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The versions that are offered, `1.2` and `1.3`; empty: both.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The cipher suites that are offered, by their IANA names; empty: all.
    #[serde(default)]
    pub suites: Vec<String>,
    /// True if sessions are resumed with the tickets that the server gave.
    pub resumption: bool,
    /// The protocols that are offered (ALPN), the best first.
    #[serde(default)]
    pub alpn: Vec<String>,
    /// The authorities whose certificates are trusted. Of a server that we start, its own authority is trusted, and no
    /// other.
    pub trust: Trust,
    /// The name or address that the server's certificate is to have; `null`: that of the URL.
    #[serde(default)]
    pub server_name: Option<String>,
    /// The certificate of our own for servers that ask for one.
    #[serde(default)]
    pub identity: Option<Identity>,
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The authorities of the system.
    System,
    /// These authorities, and none of the system.
    Authorities(Vec<Pem>),
    /// Anyone: certificates are not verified.
    Anyone,
}

/// A file of certificates, with the text that it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pem {
    /// The path of the file.
    pub file: String,
    /// The text.
    pub text: String,
}

/// A certificate of our own and its key. The text of the key is a secret: it is read, and never written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The certificate, with the chain to its authority behind it.
    pub certificate: Pem,
    /// The path of the file of the key.
    pub key_file: String,
    /// The text of the key; absent in what is written down.
    #[serde(default, skip_serializing)]
    pub key: Option<String>,
}

/// The bots of a game: who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bots {
    /// The player id of the first; each next one has the next.
    pub first_player: i32,
    /// The share of the bots that subscribe to the lobby.
    pub lobby: Share,
}

impl Default for Bots {
    /// Bots with player ids from 1 on, none in the lobby.
    fn default() -> Self {
        Self { first_player: 1, lobby: Share::NONE }
    }
}

/// One source address, or all from one to another of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRange {
    /// The addresses from the first to the last, both included.
    V4(Ipv4Addr, Ipv4Addr),
    /// The addresses from the first to the last, both included.
    V6(Ipv6Addr, Ipv6Addr),
}

impl SourceRange {
    /// The addresses, from the first on.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let (v4, v6) = match *self {
            Self::V4(first, last) => (Some(u32::from(first)..=u32::from(last)), None),
            Self::V6(first, last) => (None, Some(u128::from(first)..=u128::from(last))),
        };
        let v4 = v4.into_iter().flatten().map(|bits| IpAddr::V4(bits.into()));
        let v6 = v6.into_iter().flatten().map(|bits| IpAddr::V6(bits.into()));
        v4.chain(v6)
    }
}

impl FromStr for SourceRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |text: &str| {
            text.parse::<IpAddr>().map_err(|_| {
                format!("`{text}` is not an address; try 127.0.0.2, or 127.0.0.2-127.0.0.9")
            })
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (address(first)?, address(last)?) {
            (first, last) if first.is_ipv4() == last.is_ipv4() && first > last => {
                Err(format!("`{text}` goes backwards; did you mean {last}-{first}?"))
            }
            (IpAddr::V4(first), IpAddr::V4(last)) => Ok(Self::V4(first, last)),
            (IpAddr::V6(first), IpAddr::V6(last)) => Ok(Self::V6(first, last)),
            _ => Err(format!("`{text}` begins in one family of addresses and ends in another")),
        }
    }
}

impl fmt::Display for SourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(first, last) if first == last => first.fmt(f),
            Self::V4(first, last) => write!(f, "{first}-{last}"),
            Self::V6(first, last) if first == last => first.fmt(f),
            Self::V6(first, last) => write!(f, "{first}-{last}"),
        }
    }
}

crate::text::as_text!(SourceRange, "an address, or a range of them", "127.0.0.2-127.0.0.9");
crate::text::as_text!(Scheme, "a protocol, inside TLS or not", "wss");
