//! Scripted servers, each connection on a thread of its own.
//!
//! Their WebSocket handshakes and frames are those of tungstenite; anything that breaks a protocol is written by hand.
//! The first connection of every run verifies, before anything is measured, that the server answers at all.

use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

#[expect(clippy::disallowed_types, reason = "the other end is no engine of ours")]
pub(crate) type Stream = std::net::TcpStream;

/// A server that runs until the test process ends.
pub(crate) struct Peer {
    address: SocketAddr,
}

impl Peer {
    /// Starts a server. `script` handles each connection, and gets the number of connections before it.
    pub(crate) fn start(
        script: impl Fn(&mut Stream, usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::of_so_many(usize::MAX, script)
    }

    /// As [`Peer::start`], but stops listening after `count` connections, which it goes on serving.
    pub(crate) fn of_so_many(
        count: usize,
        script: impl Fn(&mut Stream, usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for number in 0..count {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                let script = Arc::clone(&script);
                std::thread::spawn(move || {
                    script(&mut stream, number).ok();
                    end(&mut stream);
                });
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }
}

/// Ends the connection properly: closing it with unread bytes would cut it, and lose what was sent last.
fn end(stream: &mut Stream) {
    stream.shutdown(Shutdown::Write).ok();
    silence(stream).ok();
}

/// Sends nothing until the other side ends.
pub(crate) fn silence(stream: &mut Stream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Echoes all bytes until the other side ends.
pub(crate) fn echo(stream: &mut Stream) -> io::Result<()> {
    io::copy(&mut stream.try_clone()?, stream).map(drop)
}

/// Echoes `count` messages of `len` bytes, and only reads the one after them.
pub(crate) fn echo_some(stream: &mut Stream, count: usize, len: usize) -> io::Result<()> {
    let mut message = vec![0; len];
    for _ in 0..count {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
    stream.read_exact(&mut message)
}

/// A WebSocket echo until the other side ends.
pub(crate) fn websocket_echo(stream: &mut Stream) -> io::Result<()> {
    websocket_echo_some(stream, usize::MAX)
}

/// A WebSocket echo of `count` messages, which only reads the one after them.
pub(crate) fn websocket_echo_some(stream: &mut Stream, count: usize) -> io::Result<()> {
    let mut socket = open_websocket(stream)?;
    for _ in 0..count {
        let message = next_message(&mut socket)?;
        socket.send(message).map_err(io::Error::other)?;
    }
    next_message(&mut socket).map(drop)
}

/// A WebSocket echo until the other side sends a Close, which is not answered.
pub(crate) fn websocket_echo_until_close(stream: &Stream) -> io::Result<()> {
    let mut socket = open_websocket(stream)?;
    loop {
        // The next call would send the answer to a Close.
        let message = socket.read().map_err(io::Error::other)?;
        if message.is_close() {
            return Ok(());
        }
        socket.send(message).map_err(io::Error::other)?;
    }
}

pub(crate) fn open_websocket(stream: &Stream) -> io::Result<WebSocket<Stream>> {
    tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)
}

/// The next binary or text message; tungstenite answers all others.
fn next_message(socket: &mut WebSocket<Stream>) -> io::Result<Message> {
    loop {
        let message = socket.read().map_err(io::Error::other)?;
        if message.is_binary() || message.is_text() {
            return Ok(message);
        }
    }
}

/// The relay of docs/PUSH.md that has two servers: receivers subscribe to channels over SockJS at the first, and
/// publishers post to channels at the second.
pub(crate) fn relay() -> [Peer; 2] {
    let members = Arc::new(Mutex::new(Vec::<(String, WebSocket<Stream>)>::new()));
    let all = Arc::clone(&members);
    let receivers = Peer::start(move |stream, _| {
        let mut socket = open_websocket(stream)?;
        socket.send(Message::text("o")).map_err(io::Error::other)?;
        let said = next_message(&mut socket)?;
        let [said] = serde_json::from_slice::<[String; 1]>(&said.into_data())?;
        let said: Value = serde_json::from_str(&said)?;
        let channel = said["data"]["channel"].as_str().unwrap_or_default().to_owned();
        let own = WebSocket::from_raw_socket(stream.try_clone()?, Role::Server, None);
        all.lock().unwrap().push((channel, own));
        next_message(&mut socket).map(drop)
    });
    let publishers = Peer::start(move |stream, _| {
        loop {
            let (path, body) = request(stream)?;
            let said: Value = serde_json::from_slice(&body)?;
            let event = json!({ "event": "message", "data": said["text"] }).to_string();
            let message = Message::text(format!("a{}", json!([event])));
            let channel = path.trim_start_matches("/publish/");
            members.lock().unwrap().retain_mut(|(of, socket)| {
                of.as_str() != channel || socket.send(message.clone()).is_ok()
            });
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        }
    });
    [receivers, publishers]
}

/// The path and the body of the next request.
fn request(stream: &mut Stream) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut next = [0];
        stream.read_exact(&mut next)?;
        head.extend(next);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let len = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; len.and_then(|len| len.trim().parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok((path, body))
}

/// An HTTP echo of requests with 64 bytes until the other side ends.
pub(crate) fn http_echo(stream: &mut Stream) -> io::Result<()> {
    http_echo_some(stream, usize::MAX)
}

/// An HTTP echo of `count` requests with 64 bytes, which only reads the one after them.
pub(crate) fn http_echo_some(stream: &mut Stream, count: usize) -> io::Result<()> {
    for _ in 0..count {
        head(stream)?;
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n".to_vec();
        let head_len = answer.len();
        answer.resize(head_len + 64, 0);
        stream.read_exact(&mut answer[head_len..])?;
        stream.write_all(&answer)?;
    }
    head(stream)?;
    stream.read_exact(&mut [0; 64])
}

/// Reads the head of a request, to the empty line.
pub(crate) fn head(stream: &mut Stream) -> io::Result<()> {
    let mut last = [0; 4];
    while last != *b"\r\n\r\n" {
        last.rotate_left(1);
        stream.read_exact(&mut last[3..])?;
    }
    Ok(())
}
