//! A closed loop of the client of tokio-tungstenite.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

struct Socket(WebSocketStream<TcpStream>);

impl peers::Connection for Socket {
    async fn upgrade(url: String, stream: TcpStream) -> Result<Self> {
        Ok(Self(tokio_tungstenite::client_async(url, stream).await?.0))
    }

    async fn round_trip(&mut self, message: Bytes) -> Result<Bytes> {
        self.0.send(Message::Binary(message)).await?;
        Ok(self.0.next().await.context("closed")??.into_data())
    }
}

fn main() -> Result<()> {
    peers::main::<Socket>()
}
