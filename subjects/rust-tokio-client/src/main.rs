//! A TCP client on tokio; all but its connection is in `rust-tokio/client.rs`.

#[path = "../rust-tokio/client.rs"]
mod client;

use bytes::BytesMut;
use client::{AnyError, Message};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

struct Socket {
    stream: TcpStream,
    reply_len: usize,
}

impl client::Connection for Socket {
    const SCHEME: &str = "tcp";
    const SHAKES_HANDS: bool = false;

    async fn open(_: &str, stream: TcpStream, reply_len: usize) -> Result<Self, AnyError> {
        Ok(Self { stream, reply_len })
    }

    async fn round_trip(&mut self, message: Message) -> Result<Message, AnyError> {
        self.stream.write_all(&message.payload).await?;
        let mut reply = BytesMut::zeroed(self.reply_len);
        self.stream.read_exact(&mut reply).await?;
        Ok(Message { payload: reply.freeze(), ..message })
    }

    async fn close(mut self) -> Result<(), AnyError> {
        self.stream.shutdown().await?;
        while self.stream.read(&mut [0; 64]).await? > 0 {}
        Ok(())
    }
}

fn main() -> Result<(), AnyError> {
    client::main::<Socket>("tokio", include_str!("../Cargo.lock"))
}
