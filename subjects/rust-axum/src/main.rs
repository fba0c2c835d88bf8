//! An echo server on axum: WebSocket at `GET /`, and HTTP at `POST /`, on one port.
//!
//! Extractors and handlers as in axum's own examples, on tokio's default runtime. Chosen: `TCP_NODELAY`, the
//! backlog and the longest message and body that are asked for (axum's own limit for a body is 2 MB).

use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpSocket;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Clone)]
struct Echo {
    message_max: usize,
    reply: Option<Utf8Bytes>,
    /// The time for which a message keeps the processor busy before it is answered.
    work: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).is_some() {
        println!("{}", locked("axum"));
        return Ok(());
    }
    let echo = Echo {
        message_max: variable("WIREBENCH_MESSAGE_MAX", "16777216").parse()?,
        reply: env::var("WIREBENCH_REPLY").ok().map(Into::into),
        work: work()?,
    };
    let socket = TcpSocket::new_v4()?;
    let host: std::net::Ipv4Addr = variable("WIREBENCH_HOST", "127.0.0.1").parse()?;
    socket.bind((host, variable("WIREBENCH_PORT", "0").parse()?).into())?;
    let listener = socket.listen(variable("WIREBENCH_BACKLOG", "4096").parse()?)?;
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
    keep_busy(echo.work);
    echo.reply.map_or(body, Bytes::from)
}

async fn upgrade(State(echo): State<Echo>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(echo.message_max)
        .max_frame_size(echo.message_max)
        .on_upgrade(|peer| talk(peer, echo))
}

/// An error is the other end's business: it closed in the middle of something, or broke the protocol.
async fn talk(mut peer: WebSocket, echo: Echo) {
    while let Some(Ok(message)) = peer.recv().await {
        let answer = match (&echo.reply, message) {
            (None, message @ (Message::Text(_) | Message::Binary(_))) => message,
            (Some(reply), Message::Text(_)) => Message::Text(reply.clone()),
            (Some(reply), Message::Binary(_)) => Message::Binary(Bytes::from(reply.clone())),
            // The library answers these by itself.
            (_, Message::Ping(_) | Message::Pong(_) | Message::Close(_)) => continue,
        };
        keep_busy(echo.work);
        if peer.send(answer).await.is_err() {
            return;
        }
    }
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
