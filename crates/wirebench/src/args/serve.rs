//! `wirebench serve`: one of the embedded servers, by hand. Runs start it in the same way.

use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::Terminal;
use anyhow::Context;
use clap::ArgMatches;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, ConnectionError, Engine};
use run::url::Place;
use run::{Scheme, Url};
use serve::{Server, Speaks, Totals};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use units::Bytes;
use wire::{framed, http1, websocket};

/// As it is typed.
pub(crate) const NAME: &str = "serve";

/// Answer every message with the same message
///
/// Prints one line, `ready URL`, once it listens; ends on SIGINT or SIGTERM, and prints its totals then.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Serve {
    /// What to speak
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: Scheme,
    /// Where: an address with a port, or a path [default: 127.0.0.1:0]
    ///
    /// Port 0 is chosen by the system. `serve unix` takes the path of the socket.
    #[arg(long, value_name = "ADDRESS|PATH")]
    listen: Option<String>,
    /// The longest message that is answered
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = message_size)]
    message_max: Bytes,
    /// Agree to a WebSocket subprotocol; repeatable
    #[arg(long, value_name = "NAME")]
    subprotocol: Vec<String>,
    /// Print the totals as JSON
    #[arg(long)]
    json: bool,
    /// End when the process that started this one does
    #[arg(long, hide = true)]
    die_with_parent: bool,
    /// Stay on this CPU
    #[arg(long, hide = true, value_name = "NUMBER")]
    cpu: Option<usize>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench serve ws                     on a port that the system chooses
  wirebench serve http --listen 127.0.0.1:8080
  wirebench serve unix --listen /tmp/echo.sock";

/// Whether a run started this server: then it is what the run wants, whatever the environment says.
pub(crate) fn is_embedded(given: &ArgMatches) -> bool {
    given.get_flag("die_with_parent")
}

impl Serve {
    /// Listens, says so, serves until a signal comes, says what it has done.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        self.settle_down()?;
        let address = self.address().map_err(Failure::usage)?;
        let speaks = self.speaks()?;
        let wish =
            if self.die_with_parent { signals::listen_as_child() } else { signals::listen() }?;
        let mut engine = Epoll::new(Clock::start()).map_err(anyhow::Error::from)?;
        let address = engine.listen(&address).map_err(|error| cannot_listen(&address, error))?;
        terminal.result(&format!("ready {}\n", self.url(&address)))?;
        let mut server = Server::new(speaks, wish.asked);
        engine::run(&mut engine, &mut server);
        if let Address::Unix(path) = &address {
            std::fs::remove_file(path).ok();
        }
        terminal.result(&self.report(server.totals()))?;
        Ok(Exit::DONE)
    }

    /// What a run wants of its servers.
    fn settle_down(&self) -> anyhow::Result<()> {
        if self.die_with_parent {
            let signal = Some(rustix::process::Signal::TERM);
            rustix::process::set_parent_process_death_signal(signal)
                .context("cannot ask to end with the parent process")?;
        }
        if let Some(cpu) = self.cpu {
            probe::pin_current_thread(&[cpu])?;
        }
        Ok(())
    }

    /// Where to listen.
    fn address(&self) -> Result<Address, String> {
        let listen = match &self.listen {
            Some(listen) => listen,
            None if self.kind == Scheme::Unix => {
                return Err("serve unix needs a path: --listen /tmp/echo.sock".to_owned());
            }
            None => return Ok(Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))),
        };
        if self.kind == Scheme::Unix {
            // Read as a URL is, so that what is listened at can be said as one.
            let url: Url =
                format!("unix:{listen}").parse().map_err(|error| format!("--listen {error}"))?;
            return match url.place {
                Place::Path(path) => Ok(Address::Unix(path)),
                Place::Host { .. } => Err("--listen takes a path".to_owned()),
            };
        }
        listen.parse().map(Address::Tcp).map_err(|_| not_an_address(listen))
    }

    /// How connections are spoken to.
    fn speaks(&self) -> Result<Speaks, Failure> {
        let max = usize::try_from(self.message_max.0).unwrap_or(usize::MAX);
        if self.kind != Scheme::WebSocket && !self.subprotocol.is_empty() {
            return Err(Failure::usage("--subprotocol means nothing but to ws; leave it out"));
        }
        Ok(match self.kind {
            Scheme::Http => {
                Speaks::Http(http1::Limits { body_len_max: max, ..http1::Limits::default() })
            }
            Scheme::Tcp | Scheme::Unix => Speaks::Raw,
            Scheme::TcpFramed => Speaks::Framed(framed::Limits {
                frame_len_max: u32::try_from(max).unwrap_or(u32::MAX),
            }),
            Scheme::WebSocket => {
                let subprotocols = self.subprotocol.clone();
                let options = websocket::handshake::ServerOptions { subprotocols };
                let limits = websocket::Limits {
                    frame_len_max: max,
                    message_len_max: max,
                    ..websocket::Limits::default()
                };
                Speaks::WebSocket(Arc::new(options), limits)
            }
        })
    }

    /// What to pass to `wirebench run`.
    fn url(&self, address: &Address) -> Url {
        let place = match address {
            Address::Tcp(address) => {
                Place::Host { name: address.ip().to_string(), port: address.port() }
            }
            Address::Unix(path) => Place::Path(PathBuf::from(path)),
        };
        Url { scheme: self.kind, place, path: "/".to_owned() }
    }

    /// What the server has done, as one line.
    fn report(&self, totals: Totals) -> String {
        let Totals { connections, broken, messages, bytes_received, bytes_sent } = totals;
        if self.json {
            let json = serde_json::json!({
                "connections": connections,
                "broken_connections": broken,
                "messages": messages,
                "received_bytes": bytes_received,
                "sent_bytes": bytes_sent,
            });
            return format!("{json}\n");
        }
        format!(
            "served {connections} connections ({broken} broke the protocol), {messages} messages, \
             {bytes_received} bytes in, {bytes_sent} bytes out\n"
        )
    }
}

fn cannot_listen(address: &Address, error: ConnectionError) -> Failure {
    let cures = [
        (ConnectionError::AddressInUse, "; try port 0, or another path"),
        (ConnectionError::AddressNotAvailable, "; it is not an address of this machine"),
        (ConnectionError::NotFound, "; its folder does not exist"),
    ];
    let cure = cures.iter().find(|(of, _)| *of == error).map_or("", |(_, cure)| cure);
    Failure::usage(format!("cannot listen at {address}: {error}{cure}"))
}

fn not_an_address(listen: &str) -> String {
    let near = match listen.rsplit_once(':') {
        Some(("" | "localhost", port)) => format!("; did you mean 127.0.0.1:{port}?"),
        None if listen.parse::<u16>().is_ok() => format!("; did you mean 127.0.0.1:{listen}?"),
        _ => String::new(),
    };
    format!(
        "--listen {listen}: not an address with a port, as 127.0.0.1:8080 or [::1]:8080 is{near}"
    )
}

fn message_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    if size > MESSAGE_MAX {
        return Err(format!("{size} is too large; messages have at most {MESSAGE_MAX}"));
    }
    Ok(size)
}

fn kinds() -> impl TypedValueParser<Value = Scheme> {
    let about = |scheme: Scheme| match scheme {
        Scheme::Http => "HTTP/1.1: the body of each request comes back",
        Scheme::Tcp => "bytes without framing",
        Scheme::TcpFramed => "messages with a 32-bit length before them",
        Scheme::Unix => "bytes without framing, over a Unix socket",
        Scheme::WebSocket => "WebSocket, binary and text",
    };
    let kinds = Scheme::ALL.map(|scheme| PossibleValue::new(scheme.name()).help(about(scheme)));
    PossibleValuesParser::new(kinds).try_map(|name| name.parse())
}

/// The longest message that a server can be asked to answer; a connection may hold that much.
const MESSAGE_MAX: Bytes = Bytes(1 << 30);
