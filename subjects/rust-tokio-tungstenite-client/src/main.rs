//! A client on tokio-tungstenite; all but its connection is in `rust-tokio/client.rs`.

#[path = "../rust-tokio/client.rs"]
mod client;

use client::{AnyError, Message};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message as Frame, Utf8Bytes};

struct Socket(WebSocketStream<TcpStream>);

impl client::Connection for Socket {
    async fn open(url: &str, stream: TcpStream, _: usize) -> Result<Self, AnyError> {
        Ok(Self(tokio_tungstenite::client_async(url, stream).await?.0))
    }

    async fn round_trip(&mut self, message: Message) -> Result<Message, AnyError> {
        let Message { is_text, payload } = message;
        let frame = if is_text {
            Frame::Text(Utf8Bytes::try_from(payload)?)
        } else {
            Frame::Binary(payload)
        };
        self.0.send(frame).await?;
        loop {
            match self.0.next().await.ok_or("closed by the server")?? {
                Frame::Text(text) => return Ok(Message { is_text: true, payload: text.into() }),
                Frame::Binary(payload) => return Ok(Message { is_text: false, payload }),
                Frame::Ping(_) | Frame::Pong(_) | Frame::Close(_) | Frame::Frame(_) => {}
            }
        }
    }

    async fn close(mut self) -> Result<(), AnyError> {
        self.0.close(None).await?;
        while let Some(Ok(_)) = self.0.next().await {}
        Ok(())
    }
}

fn main() -> Result<(), AnyError> {
    client::main::<Socket>("tokio-tungstenite", include_str!("../Cargo.lock"))
}
