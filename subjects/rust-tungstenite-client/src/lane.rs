//! One of the places for a connection: there are as many as connections at a time, each driven by a thread of its
//! own.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::pem::PemObject;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, Message, Utf8Bytes, WebSocket};

use crate::contract::{self, AnyError, Block, Result, Seen, variable};

/// Enough for TLS and a frame, and small enough for several thousand threads.
pub(crate) const STACK_SIZE: usize = 256 << 10;

pub(crate) struct Settings {
    pub(crate) connections: usize,
    /// Round trips of a connection; without it, the connection stays.
    pub(crate) life: Option<u64>,
    url: Uri,
    host: String,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    message: Message,
    expect: Message,
}

pub(crate) struct Lane {
    settings: Arc<Settings>,
    block: Arc<Block>,
    peer: Option<WebSocket<Stream>>,
    seen: Seen,
}

enum Stream {
    Plain(TcpStream),
    Secure(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Settings {
    pub(crate) fn new(settings: contract::Settings) -> Result<Self> {
        let contract::Settings { url, connections, life, is_text, payload, expect } = settings;
        let url: Uri = url.parse()?;
        let secure = match url.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            other => return Err(format!("neither ws nor wss: {other:?}").into()),
        };
        let message = |bytes: Vec<u8>| -> Result<Message> {
            Ok(if is_text {
                Message::Text(Utf8Bytes::try_from(bytes)?)
            } else {
                Message::Binary(Bytes::from(bytes))
            })
        };
        Ok(Self {
            connections,
            life,
            host: url.host().ok_or("a URL without a host")?.trim_matches(['[', ']']).to_owned(),
            port: url.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            url,
            tls: if secure { Some(tls()?) } else { None },
            message: message(payload)?,
            expect: message(expect)?,
        })
    }
}

impl Lane {
    pub(crate) fn new(settings: &Arc<Settings>, block: &Arc<Block>) -> Self {
        let (settings, block) = (Arc::clone(settings), Arc::clone(block));
        Self { settings, block, peer: None, seen: Seen::default() }
    }

    /// Opens the connection that stays.
    pub(crate) fn open(&mut self) {
        match self.connect(true) {
            Ok(peer) => self.peer = Some(peer),
            Err(error) => self.failed(&error),
        }
    }

    /// Waits until the gate is open, then runs until the block is over.
    pub(crate) fn drive(mut self, gate: &RwLock<()>) -> Self {
        drop(gate.read());
        if let Some(life) = self.settings.life {
            let mut now = self.block.now();
            while self.block.may_live(now) {
                if let Err(error) = self.live(now, life) {
                    self.failed(&error);
                    // Counts as a message, so that the block ends if the server is gone.
                    self.block.may_send(now);
                }
                now = self.block.now();
            }
        } else if self.peer.is_some()
            && let Err(error) = self.exchange(u64::MAX)
        {
            self.failed(&error);
        }
        self
    }

    /// Closes the connection that stayed, if it is still open.
    pub(crate) fn close(&mut self) {
        let Some(peer) = self.peer.take() else { return };
        let before = self.block.now();
        match close(peer) {
            Ok(()) => self.seen.closes.push(self.block.now() - before),
            Err(error) => self.failed(&error),
        }
    }

    pub(crate) fn into_seen(self) -> Seen {
        self.seen
    }

    fn live(&mut self, began: u64, life: u64) -> Result<()> {
        let counts = self.block.counts(began);
        self.peer = Some(self.connect(counts)?);
        let whole = self.exchange(life)?;
        let over = self.block.now();
        if let Some(peer) = self.peer.take() {
            close(peer)?;
        }
        if counts {
            self.seen.closes.push(self.block.now() - over);
            if whole {
                self.seen.lives.push(over - began);
            }
        }
        Ok(())
    }

    /// Makes `count` round trips, one after the other; false: the block was over before.
    fn exchange(&mut self, count: u64) -> Result<bool> {
        let Some(peer) = &mut self.peer else { return Ok(false) };
        for _ in 0..count {
            let sent = self.block.now();
            if !self.block.may_send(sent) {
                return Ok(false);
            }
            peer.send(self.settings.message.clone())?;
            let good = loop {
                match peer.read()? {
                    Message::Ping(_) | Message::Pong(_) => {}
                    message => break message == self.settings.expect,
                }
            };
            let received = self.block.now();
            if !good {
                return Err("another reply than was expected".into());
            }
            if self.block.counts(sent) {
                self.seen.round_trips.push(received - sent);
                self.seen.last = received;
            }
        }
        Ok(true)
    }

    fn connect(&mut self, counts: bool) -> Result<WebSocket<Stream>> {
        let settings = &self.settings;
        let mut before = self.block.now();
        let mut phase = |times: &mut Vec<u64>| {
            let now = self.block.now();
            if counts {
                times.push(now - before);
            }
            before = now;
        };
        let addresses: Vec<_> =
            (settings.host.as_str(), settings.port).to_socket_addrs()?.collect();
        phase(&mut self.seen.resolves);
        let stream = TcpStream::connect(&addresses[..])?;
        stream.set_nodelay(true)?;
        phase(&mut self.seen.connects);
        let stream = match &settings.tls {
            None => Stream::Plain(stream),
            Some(config) => {
                let name = ServerName::try_from(settings.host.clone())?;
                let mut secure =
                    StreamOwned::new(ClientConnection::new(Arc::clone(config), name)?, stream);
                while secure.conn.is_handshaking() {
                    secure.conn.complete_io(&mut secure.sock)?;
                }
                phase(&mut self.seen.tls);
                Stream::Secure(Box::new(secure))
            }
        };
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (peer, _) =
            tungstenite::client::client_with_config(&settings.url, stream, Some(config))
                .map_err(|error| error.to_string())?;
        phase(&mut self.seen.handshakes);
        Ok(peer)
    }

    fn failed(&mut self, error: &AnyError) {
        self.peer = None;
        self.seen.failed(error);
    }
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secure(stream) => &stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}

/// Closes properly, and waits until the other end has closed too.
fn close(mut peer: WebSocket<Stream>) -> Result<()> {
    peer.get_ref().tcp().set_read_timeout(Some(Duration::from_secs(5)))?;
    peer.close(None)?;
    loop {
        match peer.read() {
            Ok(_) => {}
            Err(tungstenite::Error::ConnectionClosed) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn tls() -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(variable("WIREBENCH_CA")?)? {
        roots.add(certificate?)?;
    }
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}
