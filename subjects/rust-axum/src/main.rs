//! An echo server on axum: WebSocket at `GET /`, and HTTP at `POST /`, on one port.
//!
//! Extractors and handlers as in axum's own examples, on tokio's default runtime. Chosen: `TCP_NODELAY`, the
//! backlog and the longest message and body that are asked for (axum's own limit for a body is 2 MB).

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use server::{AnyError, Work};
use tokio::signal::unix::{SignalKind, signal};

#[path = "../rust-server/server.rs"]
mod server;

#[derive(Clone)]
struct Echo {
    message_max: usize,
    reply: Option<Utf8Bytes>,
    work: Work,
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    if server::says_version("axum", include_str!("../Cargo.lock")) {
        return Ok(());
    }
    let echo = Echo {
        message_max: server::message_max()?,
        reply: server::reply().map(Into::into),
        work: Work::read()?,
    };
    let listener = server::listen()?;
    let address = listener.local_addr()?;
    println!("ready ws://{address}/\nready http://{address}/");

    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("TCP_NODELAY: {error}");
        }
    });
    let router = Router::new()
        .route("/", get(upgrade).post(post))
        .layer(DefaultBodyLimit::max(echo.message_max))
        .with_state(echo);
    tokio::spawn(async move { axum::serve(listener, router).await });
    // Connections that stay open are not waited for.
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

/// A body of bytes goes out as `application/octet-stream`.
async fn post(State(echo): State<Echo>, body: Bytes) -> Bytes {
    echo.work.keep_busy();
    echo.reply.map_or(body, Bytes::from)
}

async fn upgrade(State(echo): State<Echo>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(echo.message_max)
        .max_frame_size(echo.message_max)
        .on_upgrade(|peer| talk(peer, echo))
}

/// An error is caused by the other end: it closed in the middle of something, or broke the protocol.
async fn talk(mut peer: WebSocket, echo: Echo) {
    while let Some(Ok(message)) = peer.recv().await {
        let answer = match (&echo.reply, message) {
            (None, message @ (Message::Text(_) | Message::Binary(_))) => message,
            (Some(reply), Message::Text(_)) => Message::Text(reply.clone()),
            (Some(reply), Message::Binary(_)) => Message::Binary(Bytes::from(reply.clone())),
            // The library answers these by itself.
            (_, Message::Ping(_) | Message::Pong(_) | Message::Close(_)) => continue,
        };
        echo.work.keep_busy();
        if peer.send(answer).await.is_err() {
            return;
        }
    }
}
