//! A WebSocket echo server on tokio-tungstenite, plain and inside TLS (rustls with ring).
//!
//! A task for each connection on tokio's default runtime, each message sent back as it came, as in the library's
//! example. Chosen: `TCP_NODELAY`, the backlog and the longest message that are asked for.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Bytes, Message, Utf8Bytes};

type AnyError = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
struct Echo {
    config: WebSocketConfig,
    reply: Option<Utf8Bytes>,
    /// The time for which a message keeps the processor busy before it is answered.
    work: Duration,
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    if env::args().nth(1).is_some() {
        println!("{}", locked("tokio-tungstenite"));
        return Ok(());
    }
    let message_max = variable("WIREBENCH_MESSAGE_MAX", "16777216").parse()?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(message_max))
        .max_frame_size(Some(message_max));
    let reply = env::var("WIREBENCH_REPLY").ok().map(Into::into);
    let echo = Echo { config, reply, work: work()? };

    let plain = listen(variable("WIREBENCH_PORT", "0").parse()?)?;
    println!("ready ws://{}/", plain.local_addr()?);
    tokio::spawn(accept(plain, None, echo.clone()));
    if let (Ok(certificate), Ok(key)) =
        (env::var("WIREBENCH_TLS_CERT"), env::var("WIREBENCH_TLS_KEY"))
    {
        let secure = listen(0)?;
        println!("ready wss://{}/", secure.local_addr()?);
        tokio::spawn(accept(secure, Some(acceptor(&certificate, &key)?), echo));
    }
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, echo: Echo) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, tls.clone(), echo.clone()));
            }
            Err(error) => eprintln!("accept: {error}"),
        }
    }
}

/// An error is the other end's business: it closed in the middle of something, or broke the protocol.
async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    echo: Echo,
) -> Result<(), AnyError> {
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(talk(stream, echo).await?),
        Some(tls) => Ok(talk(tls.accept(stream).await?, echo).await?),
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(stream: S, echo: Echo) -> tungstenite::Result<()> {
    let mut peer = tokio_tungstenite::accept_async_with_config(stream, Some(echo.config)).await?;
    while let Some(message) = peer.next().await {
        let message = message?;
        if message.is_text() || message.is_binary() {
            keep_busy(echo.work);
        }
        match (&echo.reply, message) {
            (None, message @ (Message::Text(_) | Message::Binary(_))) => peer.send(message).await?,
            (Some(reply), Message::Text(_)) => peer.send(Message::Text(reply.clone())).await?,
            (Some(reply), Message::Binary(_)) => {
                peer.send(Message::Binary(Bytes::from(reply.clone()))).await?;
            }
            // The library answers these by itself.
            (_, Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {}
        }
    }
    Ok(())
}

fn listen(port: u16) -> Result<TcpListener, AnyError> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(
        (variable("WIREBENCH_HOST", "127.0.0.1").parse::<std::net::Ipv4Addr>()?, port).into(),
    )?;
    Ok(socket.listen(variable("WIREBENCH_BACKLOG", "4096").parse()?)?)
}

fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor, AnyError> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The time for which a message keeps the processor busy.
fn work() -> Result<Duration, std::num::ParseIntError> {
    Ok(Duration::from_nanos(variable("WIREBENCH_WORK_NS", "0").parse()?))
}

fn keep_busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}

/// The version of a library as the lock file has it, which is what was built.
fn locked(library: &str) -> &'static str {
    include_str!("../Cargo.lock")
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?")
}
