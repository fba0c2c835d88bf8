//! A WebSocket echo server on tokio-tungstenite, plain and inside TLS (rustls with ring).
//!
//! A task for each connection on tokio's default runtime, each message sent back as it came, as in the library's
//! example. Chosen: `TCP_NODELAY`, the backlog and the longest message that are asked for.

use std::env;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use server::{AnyError, Work};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Bytes, Message, Utf8Bytes};

#[path = "../rust-server/server.rs"]
mod server;

#[derive(Clone)]
struct Echo {
    config: WebSocketConfig,
    reply: Option<Utf8Bytes>,
    work: Work,
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    if server::says_version("tokio-tungstenite", include_str!("../Cargo.lock")) {
        return Ok(());
    }
    let message_max = server::message_max()?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(message_max))
        .max_frame_size(Some(message_max));
    let echo = Echo { config, reply: server::reply().map(Into::into), work: Work::read()? };

    let plain = server::listen()?;
    println!("ready ws://{}/", plain.local_addr()?);
    tokio::spawn(accept(plain, None, echo.clone()));
    if let (Ok(certificate), Ok(key)) =
        (env::var("WIREBENCH_TLS_CERT"), env::var("WIREBENCH_TLS_KEY"))
    {
        let secure = server::listen_at(0)?;
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

/// An error is caused by the other end: it closed in the middle of something, or broke the protocol.
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
            echo.work.keep_busy();
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

fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor, AnyError> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
