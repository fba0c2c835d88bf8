//! A client on tokio-websockets; all but its connection is in `rust-tokio/client.rs`.

#[path = "../rust-tokio/client.rs"]
mod client;

use bytes::Bytes;
use client::{AnyError, Message};
use futures_util::{SinkExt as _, StreamExt as _};
use http::Uri;
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, Message as Frame, WebSocketStream};

struct Socket(WebSocketStream<TcpStream>);

impl client::Connection for Socket {
    async fn open(url: &str, stream: TcpStream, _: usize) -> Result<Self, AnyError> {
        Ok(Self(ClientBuilder::from_uri(url.parse::<Uri>()?).connect_on(stream).await?.0))
    }

    async fn round_trip(&mut self, message: Message) -> Result<Message, AnyError> {
        self.0.send(frame(message)?).await?;
        loop {
            let reply = self.0.next().await.ok_or("closed by the server")??;
            if reply.is_text() || reply.is_binary() {
                let is_text = reply.is_text();
                return Ok(Message { is_text, payload: Bytes::from(reply.into_payload()) });
            }
        }
    }

    async fn close(mut self) -> Result<(), AnyError> {
        self.0.close().await?;
        while let Some(Ok(_)) = self.0.next().await {}
        Ok(())
    }
}

fn frame(message: Message) -> Result<Frame, AnyError> {
    if message.is_text {
        return Ok(Frame::text(String::from_utf8(message.payload.to_vec())?));
    }
    Ok(Frame::binary(message.payload))
}

fn main() -> Result<(), AnyError> {
    client::main::<Socket>("tokio-websockets", include_str!("../Cargo.lock"))
}
