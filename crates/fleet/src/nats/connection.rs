//! The connection to a NATS server, and the reasons why there is none.

use crate::join::Join;
use crate::keys::inbox;
use async_nats::{Client, ClientError, ConnectErrorKind, ConnectOptions, Event};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};

/// A connection, and what the server says about it.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) events: mpsc::UnboundedReceiver<Event>,
    /// Texts of refused permissions.
    pub(super) denied: broadcast::Sender<String>,
}

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody answers there.
    #[error(
        "no coordination server answers at {url}: {reason}; `wirebench fleet up --local 4` starts one"
    )]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The server does not know the key.
    #[error(
        "the coordination server {url} does not let {name} in: its users have no such key; does it include the users.conf that was written with this join file?"
    )]
    ShutOut {
        /// The address.
        url: String,
        /// The name.
        name: String,
    },
    /// The server's certificate cannot be trusted.
    #[error(
        "the coordination server {url} cannot be trusted: {reason}; is the authority in the join file the one that signed its certificate?"
    )]
    Tls {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The server's certificate is not valid now.
    #[error(
        "the certificate of the coordination server {url} is not valid now: {reason}; `wirebench fleet keys` writes new \
         ones with new join files; or is the clock of this machine wrong?"
    )]
    Expired {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The server is too old.
    #[error(
        "the coordination server {url} is nats-server {found}, but at least {wanted} is needed; `go install github.com/nats-io/nats-server/v2@v2.15.2` builds one"
    )]
    TooOld {
        /// The address.
        url: String,
        /// Its version.
        found: String,
        /// The minimum version.
        wanted: &'static str,
    },
    /// The server has no JetStream, and cannot keep the log.
    #[error(
        "the coordination server {url} has no JetStream: add `jetstream {{ sync_interval: always }}` to its configuration"
    )]
    NoJetStream {
        /// The address.
        url: String,
    },
    /// The permissions of this key do not cover its task.
    #[error(
        "the coordination server {url} refuses {name}: {refusal}; is the join file the one for this name and task, and \
         users.conf the one that was written with it?"
    )]
    Denied {
        /// The address.
        url: String,
        /// The name.
        name: String,
        /// The words of the server, with the subject.
        refusal: String,
    },
    /// The server has no log.
    #[error(
        "the coordination server {url} has no stream {stream} yet; a controller creates it: `wirebench fleet status JOIN`"
    )]
    NoLog {
        /// The address.
        url: String,
        /// The name of the stream.
        stream: &'static str,
    },
    /// The stream is not one whose subjects can be written only once.
    #[error(
        "the stream {stream} on {url} {fault}; remove it, and a controller will create it again"
    )]
    OtherLog {
        /// The address.
        url: String,
        /// The name of the stream.
        stream: &'static str,
        /// The fault.
        fault: String,
    },
    /// The stream cannot be created.
    #[error(
        "the stream {stream} on {url} cannot be created: {error}; check the limits of its JetStream and the \
         permissions of this user"
    )]
    LogNotCreated {
        /// The address.
        url: String,
        /// The name of the stream.
        stream: &'static str,
        /// The reason.
        error: String,
    },
    /// The thread of the connection cannot be started.
    #[error("cannot start the thread of the connection: {0}")]
    Thread(String),
}

impl Connection {
    /// Connects, and checks that the server can keep the log.
    pub(super) async fn open(join: &Join) -> Result<Self, ConnectError> {
        let (tell, events) = mpsc::unbounded_channel();
        let (denied, _) = broadcast::channel(DENIED_KEPT);
        let refusals = denied.clone();
        let failures = tell.clone();
        let mut options = ConnectOptions::new()
            .name(join.name.as_str())
            .custom_inbox_prefix(inbox(&join.name))
            .connection_timeout(CONNECT_MAX)
            .ping_interval(PING_EVERY)
            .request_timeout(Some(crate::bus::OPERATION_MAX.into()))
            .reconnect_delay_callback(|attempt| {
                RECONNECT_LEAST + Duration::from_millis(attempt as u64 * 37 % 100)
            })
            // The library's event of a failed attempt has no reason, but its list of servers does. `None` leaves the
            // choice of server to it.
            .reconnect_to_server_callback(move |servers, _| {
                for reason in servers.into_iter().filter_map(|server| server.last_error) {
                    drop(failures.send(Event::ClientError(ClientError::Other(reason))));
                }
                std::future::ready(None)
            })
            .event_callback(move |event| {
                if let Event::ServerError(async_nats::ServerError::Other(text)) = &event {
                    drop(refusals.send(text.clone()));
                }
                drop(tell.send(event));
                std::future::ready(())
            });
        if let Some(seed) = &join.seed {
            options = options.nkey(seed.clone());
        }
        if let Some(ca) = &join.ca {
            options = options.require_tls(true).add_root_certificates(ca.clone());
        }
        let client = options.connect(&join.url).await.map_err(|error| failed(join, &error))?;
        let info = client.server_info();
        let url = || join.url.clone();
        if !is_enough(&info.version) {
            return Err(ConnectError::TooOld {
                url: url(),
                found: info.version,
                wanted: VERSION_LEAST,
            });
        }
        if !info.jetstream {
            return Err(ConnectError::NoJetStream { url: url() });
        }
        Ok(Self { client, events, denied })
    }

    /// The address, for errors.
    pub(super) fn url(&self) -> String {
        let info = self.client.server_info();
        format!("{}:{}", info.host, info.port)
    }
}

fn failed(join: &Join, error: &async_nats::ConnectError) -> ConnectError {
    let (url, reason) = (join.url.clone(), error.to_string());
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            ConnectError::ShutOut { url, name: join.name.to_string() }
        }
        ConnectErrorKind::Tls | ConnectErrorKind::Io if is_of_time(&reason) => {
            ConnectError::Expired { url, reason }
        }
        ConnectErrorKind::Tls => ConnectError::Tls { url, reason },
        ConnectErrorKind::Io if is_of_tls(&reason) => ConnectError::Tls { url, reason },
        ConnectErrorKind::Dns
        | ConnectErrorKind::Io
        | ConnectErrorKind::MaxReconnects
        | ConnectErrorKind::ServerParse
        | ConnectErrorKind::TimedOut => ConnectError::Unreachable { url, reason },
    }
}

/// True if a certificate has expired, or is not valid yet.
pub(super) fn is_of_time(reason: &str) -> bool {
    ["certificate expired", "certificate not valid yet"].iter().any(|words| reason.contains(words))
}

fn is_of_tls(reason: &str) -> bool {
    ["certificate", "tls", "TLS"].iter().any(|word| reason.contains(word))
}

/// True if the server refuses our credentials permanently with this error. The library would retry for ever.
pub(super) fn is_shut_out(error: &str) -> bool {
    let error = error.to_lowercase();
    [
        "authorization violation",
        "authentication expired",
        "account authentication expired",
        "authentication revoked",
    ]
    .iter()
    .any(|words| error.contains(words))
}

/// True for a server of this version or later.
fn is_enough(version: &str) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let mut parts = version.split(['.', '-']);
    let found = (number(parts.next()), number(parts.next()));
    found >= (Some(2), Some(11))
}

const VERSION_LEAST: &str = "2.11";
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The time between two pings. A connection ends after two unanswered ones.
const PING_EVERY: Duration = Duration::from_millis(500);
/// The shortest pause before a reconnect. Up to 99 ms are added, a different number for each attempt.
const RECONNECT_LEAST: Duration = Duration::from_millis(100);
/// The most refusals that are kept until their operations have seen them.
const DENIED_KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_new_enough_from_2_11_on() {
        for (version, expected) in [
            ("2.11.0", true),
            ("2.15.2", true),
            ("3.0.0", true),
            ("2.11.0-RC.1", true),
            ("2.10.22", false),
            ("2.9.25", false),
            ("1.99.0", false),
            ("", false),
            ("new", false),
        ] {
            assert_eq!(is_enough(version), expected, "{version}");
        }
    }

    #[test]
    fn the_words_of_a_server_that_shuts_us_out_are_known() {
        for words in
            ["authorization violation", "User Authentication Expired", "Authorization Violation"]
        {
            assert!(is_shut_out(words), "{words}");
        }
        assert!(!is_shut_out("Permissions Violation for Publish to \"wb.log.r.plan\""));
    }
}
