//! A closed loop of the client of tokio-websockets.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, Message, WebSocketStream};

struct Socket(WebSocketStream<TcpStream>);

impl peers::Connection for Socket {
    async fn upgrade(url: String, stream: TcpStream) -> Result<Self> {
        Ok(Self(ClientBuilder::from_uri(url.parse::<http::Uri>()?).connect_on(stream).await?.0))
    }

    async fn round_trip(&mut self, message: Bytes) -> Result<Bytes> {
        self.0.send(Message::binary(message)).await?;
        Ok(self.0.next().await.context("closed")??.into_payload().into())
    }
}

fn main() -> Result<()> {
    peers::main::<Socket>()
}
